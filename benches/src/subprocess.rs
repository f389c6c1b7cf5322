//! Processes that answer one line with another.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A running process; its drop ends it.
#[derive(Debug)]
pub(crate) struct Subprocess {
    name: &'static str,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Subprocess {
    /// Starts a process, which errors call `name`.
    pub(crate) fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().with_context(|| format!("starting {name}"))?;
        let (questions, answers) = (child.stdin.take(), child.stdout.take());
        let questions = questions.context("no way to ask")?;
        Ok(Self { name, child, questions, answers: BufReader::new(answers.context("no way to answer")?) })
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line that has no answer.
    pub(crate) fn tell(&mut self, line: &str) -> io::Result<()> {
        // At once, since a reader may take what is written in parts.
        self.questions.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.questions.flush())
    }

    /// Sends a line and returns the answer.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String> {
        let mut answer = String::new();
        let answered = self.tell(question).and_then(|()| self.answers.read_line(&mut answer));
        if let Ok(1..) = answered {
            return Ok(answer);
        }
        // Both pipes are closed only by the process itself: it has ended, or is about to end.
        let status = self.child.wait()?;
        bail!("{} was asked and has ended: {status}", self.name)
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
