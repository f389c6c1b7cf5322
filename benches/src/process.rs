//! Processes that answer lines or print one result, and their memory use.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

/// This binary with the arguments of a [`Task`](crate::Task).
pub(crate) fn task<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(args);
    Ok(command)
}

/// Runs a task that prints `N` numbers.
pub(crate) fn numbers<const N: usize>(mut command: Command) -> Result<[f64; N]> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    parse(&String::from_utf8(output.stdout)?)
}

/// The `N` numbers of a line.
pub(crate) fn parse<const N: usize>(line: &str) -> Result<[f64; N]> {
    let numbers = line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.with_context(|| format!("{line:?} is not {N} numbers"))
}

/// Answers each line of standard input by a line.
///
/// # Errors
/// When an answer fails, or a stream is closed.
pub(crate) fn serve(mut answer: impl FnMut(&str) -> Result<String>) -> Result<()> {
    for line in io::stdin().lock().lines() {
        let answer = answer(&line?)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// A running process that answers one line with another, killed on drop.
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

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line that has no answer.
    pub(crate) fn tell(&mut self, line: &str) -> io::Result<()> {
        // One write, because a reader may otherwise get a part of the line.
        self.questions.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.questions.flush())
    }

    /// Sends a line and returns the answer.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String> {
        let mut answer = String::new();
        let answered = self.tell(question).and_then(|()| self.answers.read_line(&mut answer));
        if let Ok(1..) = answered {
            return Ok(answer);
        }
        // Only the process itself closes the pipes, so it has ended or is about to end.
        let status = self.child.wait()?;
        bail!("{} was asked and has ended: {status}", self.name)
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        // A process may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A field of `/proc/PROCESS/status` such as `RssAnon` (memory that no file backs) or `VmHWM` (peak resident memory),
/// in megabytes; `None` means this process.
///
/// # Errors
/// When the process has ended, or the system has no such report.
pub(crate) fn megabytes(process: Option<u32>, field: &str) -> Result<f64> {
    let process = process.map_or_else(|| "self".to_owned(), |process| process.to_string());
    let status = fs::read_to_string(Path::new("/proc").join(process).join("status"));
    let status = status.context("this system reports no memory of a process")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes: f64 =
        line.with_context(|| format!("no {field} is reported"))?.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_many_as_are_wanted() {
        assert_eq!(parse("1 2.5\n").unwrap(), [1.0, 2.5]);
        assert!(parse::<1>("1 2").is_err() && parse::<1>("one").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_has_memory_and_no_field_of_another_name() {
        let (anonymous, most) = (megabytes(None, "RssAnon").unwrap(), megabytes(None, "VmHWM").unwrap());
        assert!(0.1 < anonymous && anonymous < most, "{anonymous} {most}");
        assert!(megabytes(None, "Rss").is_err());
    }
}
