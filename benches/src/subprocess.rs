//! Processes that answer one line with another.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// A running process; it is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Subprocess {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Subprocess {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().with_context(|| format!("starting {command:?}"))?;
        let (questions, answers) = (child.stdin.take(), child.stdout.take());
        let questions = questions.context("no way to ask")?;
        Ok(Self { child, questions, answers: BufReader::new(answers.context("no way to answer")?) })
    }

    /// What is answered to a line.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String> {
        writeln!(self.questions, "{question}")?;
        self.questions.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(!answer.is_empty(), "the process that was asked has ended");
        Ok(answer)
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
