//! Other processes of a test: this program again, which runs one test of it as a child and nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    env,
    error::Error,
    io::{BufRead, BufReader, Write, stdout},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Holds the arguments of a child, a line each; only a child has it.
const ARGUMENTS: &str = "MEMORY_CHILD_ARGUMENTS";
/// The first line that a child prints; the test runner prints others before it.
const OPEN: &str = "open";

/// Starts the child whose entry is the test `entry`, and waits until it has its store open.
pub(crate) fn start(entry: &str, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", entry, "--nocapture"])
        .env(ARGUMENTS, arguments.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim_end() != OPEN {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "{entry} is gone before it began");
    }
    (child, output)
}

/// Runs `work` with the arguments of this process if it is a child, and ends the process; does nothing in a test run.
pub(crate) fn run(work: impl FnOnce(&[&str]) -> Result<(), Failure>) {
    let Ok(arguments) = env::var(ARGUMENTS) else { return };
    let arguments: Vec<&str> = arguments.lines().collect();
    if let Err(error) = work(&arguments) {
        eprintln!("child with {arguments:?}: {error}");
        std::process::exit(1);
    }
    std::process::exit(0);
}

/// Reports that the store is open, on a line of its own.
pub(crate) fn opened() -> Result<(), Failure> {
    say(&format!("\n{OPEN}\n"))
}

/// One write for a line: a pipe keeps it whole, and in it the line outlives this process.
pub(crate) fn say(line: &str) -> Result<(), Failure> {
    Ok(stdout().lock().write_all(line.as_bytes())?)
}

/// Any error that ends a child.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;
