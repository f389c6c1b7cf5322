//! One run of a program for a named step: its command line is shown, and a failure names the step.

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// A command in the workspace root, ready to run.
pub(crate) struct Invocation {
    step: &'static str,
    line: String,
    command: Command,
}

/// The output stream of a program that is read while it is passed on.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Invocation {
    /// The cargo that runs this xtask, otherwise the one on the path.
    pub(crate) fn cargo(workspace: &Workspace, step: &'static str) -> Self {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(workspace.root(), step, "cargo".to_owned(), &program)
    }

    /// Another program, by name or by path.
    pub(crate) fn program(workspace: &Workspace, step: &'static str, program: impl AsRef<Path>) -> Self {
        let program = program.as_ref();
        let shown = program.strip_prefix(workspace.root()).unwrap_or(program);
        let shown = shown.display().to_string();
        Self::new(workspace.root(), step, shown, program.as_os_str())
    }

    fn new(root: &Path, step: &'static str, line: String, program: &OsStr) -> Self {
        let mut command = Command::new(program);
        // The binary reads no configuration of this user.
        command.current_dir(root).env("MEMORY_CONFIG", "none");
        Self { step, line, command }
    }

    /// Runs in the directory of the caller, where relative paths are those that the caller wrote.
    pub(crate) fn here(mut self) -> Result<Self> {
        self.command.current_dir(env::current_dir().context("finding the current directory")?);
        Ok(self)
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        for arg in args {
            self.line.push(' ');
            self.line.push_str(&quoted(arg.as_ref()));
            self.command.arg(arg);
        }
        self
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.line = format!("{key}={} {}", quoted(value.as_ref()), self.line);
        self.command.env(key, value);
        self
    }

    /// Runs the program with the terminal's input and output.
    pub(crate) fn run(mut self) -> Result<()> {
        self.announce();
        let status = self.command.status().with_context(|| self.unstarted())?;
        self.judge(status)
    }

    /// Runs the program and returns its standard output; errors still go to the terminal.
    pub(crate) fn capture(mut self) -> Result<String> {
        self.announce();
        self.command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = self.command.output().with_context(|| self.unstarted())?;
        self.judge(output.status)?;
        String::from_utf8(output.stdout)
            .with_context(|| format!("{}: `{}` printed invalid UTF-8", self.step, self.line))
    }

    /// Runs the program, passes its output on, and also shows each line of one stream to `seen`.
    pub(crate) fn watch(mut self, stream: Stream, seen: impl FnMut(&str)) -> Result<()> {
        let (mut child, output) = self.piped(stream)?;
        let passed_on = match stream {
            Stream::Stdout => pass_on(output, io::stdout(), seen),
            Stream::Stderr => pass_on(output, io::stderr(), seen),
        };
        let status = child.wait().with_context(|| self.unstarted())?;
        passed_on.with_context(|| self.unread())?;
        self.judge(status)
    }

    /// Runs the program until `enough` is true of a printed line, and then kills it; `false` if the program ended
    /// before.
    pub(crate) fn watch_and_kill(mut self, mut enough: impl FnMut(&str) -> bool) -> Result<bool> {
        let (mut child, printed) = self.piped(Stream::Stdout)?;
        for line in BufReader::new(printed).lines() {
            if enough(line.with_context(|| self.unread())?.trim_end()) {
                child.kill().with_context(|| format!("{}: killing `{}`", self.step, self.line))?;
                child.wait().with_context(|| self.unstarted())?;
                return Ok(true);
            }
        }
        let status = child.wait().with_context(|| self.unstarted())?;
        self.judge(status).map(|()| false)
    }

    /// Starts the program and waits for a line of `stream` in which `found` finds a value. The program runs until the
    /// first returned value is dropped.
    pub(crate) fn start<T>(mut self, stream: Stream, mut found: impl FnMut(&str) -> Option<T>) -> Result<(Running, T)> {
        let (child, output) = self.piped(stream)?;
        let (running, mut lines) = (Running(child), BufReader::new(output).lines());
        while let Some(line) = lines.next() {
            if let Some(found) = found(line.with_context(|| self.unread())?.trim_end()) {
                // Later lines are drained, so that they do not fill the pipe.
                thread::spawn(move || lines.by_ref().for_each(drop));
                return Ok((running, found));
            }
        }
        bail!("{}: `{}` ended before it was ready", self.step, self.line)
    }

    /// Starts the program without input, and with a pipe from one of its streams.
    fn piped(&mut self, stream: Stream) -> Result<(Child, Box<dyn Read + Send>)> {
        self.announce();
        self.command.stdin(Stdio::null());
        match stream {
            Stream::Stdout => self.command.stdout(Stdio::piped()),
            Stream::Stderr => self.command.stderr(Stdio::piped()),
        };
        let mut child = self.command.spawn().with_context(|| self.unstarted())?;
        let output: Option<Box<dyn Read + Send>> = match stream {
            Stream::Stdout => child.stdout.take().map(|output| Box::new(output) as _),
            Stream::Stderr => child.stderr.take().map(|output| Box::new(output) as _),
        };
        Ok((child, output.with_context(|| self.unstarted())?))
    }

    /// True if the program starts and succeeds; shows no output.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn announce(&self) {
        if io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none() {
            eprintln!("\x1b[2m$ {}\x1b[0m", self.line);
        } else {
            eprintln!("$ {}", self.line);
        }
    }

    fn unstarted(&self) -> String {
        format!("{}: `{}` did not start", self.step, self.line)
    }

    fn unread(&self) -> String {
        format!("{}: reading what `{}` prints", self.step, self.line)
    }

    fn judge(&self, status: ExitStatus) -> Result<()> {
        if !status.success() {
            bail!("{} failed: `{}` ended with {status}", self.step, self.line);
        }
        Ok(())
    }
}

/// A program that is killed on drop.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A program may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn pass_on(from: impl Read, mut to: impl Write, mut seen: impl FnMut(&str)) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        seen(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    to.flush()
}

fn quoted(arg: &OsStr) -> String {
    let arg = arg.to_string_lossy();
    if arg.is_empty() || arg.contains(char::is_whitespace) { format!("\"{arg}\"") } else { arg.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cargo(args: &[&str]) -> Invocation {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Invocation::new(Path::new("."), "probe", "cargo".to_owned(), &program).args(args)
    }

    #[test]
    fn a_failure_names_the_step_and_the_command_line() {
        let error = cargo(&["no-such-command"]).run().unwrap_err().to_string();
        assert!(error.starts_with("probe failed: `cargo no-such-command` ended with "), "{error}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let program = OsStr::new("no-such-program-anywhere");
        let invocation = Invocation::new(Path::new("."), "probe", "absent".to_owned(), program);
        let error = invocation.run().unwrap_err().to_string();
        assert_eq!(error, "probe: `absent` did not start");
    }

    #[test]
    fn capture_returns_standard_output() {
        let version = cargo(&["--version"]).capture().unwrap();
        assert!(version.starts_with("cargo "), "{version}");
    }

    #[test]
    fn watch_sees_each_line_of_the_stream() {
        let mut lines = Vec::new();
        cargo(&["--version"]).watch(Stream::Stdout, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("cargo "), "{lines:?}");
    }

    #[test]
    fn watch_fails_when_the_program_fails() {
        let watched = cargo(&["no-such-command"]).watch(Stream::Stdout, |_| {});
        assert!(watched.is_err());
        assert!(!cargo(&["no-such-command"]).succeeds());
        assert!(cargo(&["--version"]).succeeds());
    }

    #[test]
    fn lines_pass_on_unchanged_even_without_a_last_newline() {
        let mut out = Vec::new();
        let mut lines = Vec::new();
        pass_on(&b"one\r\ntwo \xff"[..], &mut out, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(out, b"one\r\ntwo \xff");
        assert_eq!(lines, ["one", "two \u{fffd}"]);
    }

    #[test]
    fn the_shown_line_quotes_what_holds_spaces() {
        let shown = cargo(&["doc", "a b"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown.line, "RUSTDOCFLAGS=\"-D warnings\" cargo doc \"a b\"");
    }
}
