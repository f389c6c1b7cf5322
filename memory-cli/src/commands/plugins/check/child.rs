//! Lets a child process check a plugin, and accepts only signed lines from it.

use std::{
    env,
    io::{ErrorKind, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use memory_plugins::conformance::Check;
use serde_json::{Value, json};

use super::{
    Args,
    signed::{KEY, Signature},
};

/// How often the child's state is checked while no output comes.
const TICK: Duration = Duration::from_millis(100);

/// The longest line that is kept to check its signature.
const LONGEST_LINE: usize = 64 << 10;

/// The most unsigned bytes that a child may send.
const MOST_NOISE: usize = 1 << 20;

/// The most calls of a check that run one after the other; `REST` covers the remaining time.
const CALLS: u32 = 40;
const REST: Duration = Duration::from_secs(10);

/// Returns a verdict for each check, in order. The check during which the child ends, or stops sending, is broken; the
/// checks after it are skipped.
pub(super) fn findings(args: &Args) -> anyhow::Result<Vec<Value>> {
    let deadline = Duration::from_secs(args.deadline.max(1).into());
    let all_until = Instant::now() + deadline * CALLS * 3 + REST;
    let mut checker = Checker::start(args)?;
    let mut findings: Vec<Value> = Vec::new();
    let mut ended = false;
    for check in Check::ALL {
        if ended {
            let why = "the process of the plugin had ended";
            findings.push(json!({"check": check.name(), "verdict": "skipped", "why": why}));
            continue;
        }
        // The first check opens the library and makes the strategy; the others run up to `CALLS` jobs.
        let calls = if check == Check::Configuration { 3 } else { CALLS };
        let until = all_until.min(Instant::now() + deadline * calls + REST);
        let why = match checker.next(until)? {
            Heard::Line(line) if line.get("check").is_some_and(|named| named == check.name()) => {
                findings.push(line);
                continue;
            }
            Heard::Line(line) => match line.get("error").and_then(|error| error.as_str()) {
                Some(error) => bail!("{error}"),
                None => format!("a verdict on something else was given: {line}"),
            },
            Heard::Ended(status) => format!("it ended the process: {status}"),
            Heard::Nothing => "it gave no answer in time and its process was ended".to_owned(),
            Heard::Noise => "it floods the channel of the verdicts".to_owned(),
        };
        findings.push(json!({"check": check.name(), "verdict": "broken", "why": why}));
        ended = true;
    }
    Ok(findings)
}

/// Result of waiting for a child.
enum Heard {
    Line(Value),
    Ended(ExitStatus),
    Nothing,
    Noise,
}

/// The process of a plugin. Its drop ends the process and everything that the process started in its group.
struct Checker {
    child: Child,
    channel: UnixStream,
    signature: Signature,
    /// Received bytes that are not a whole line yet.
    heard: Vec<u8>,
    noise: usize,
}

impl Checker {
    fn start(args: &Args) -> anyhow::Result<Self> {
        let mut key = [0; KEY];
        getrandom::fill(&mut key).context("no randomness for a key")?;
        let (channel, theirs) = UnixStream::pair().context("no socket for the process of the plugin")?;
        let mut command = Command::new(env::current_exe().context("this program has no path")?);
        let (parent, deadline) = (std::process::id().to_string(), args.deadline.to_string());
        command.args(["plugins", "check", "--here", &parent, "--deadline", &deadline]);
        if let Some(configuration) = &args.configuration {
            command.args(["--configuration", configuration]);
        }
        command.arg("--").arg(&args.file);
        // Output of the plugin is discarded; it may be endless.
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = command.spawn().context("cannot start a process for the plugin")?;
        // This closes this process's copy of the child's end.
        drop(command);
        let mut checker = Self { child, channel, signature: Signature::new(key), heard: Vec::new(), noise: 0 };
        checker.channel.set_read_timeout(Some(TICK)).context("no socket for the process of the plugin")?;
        // If the child has ended already, the next read shows it.
        drop(checker.channel.write_all(&key));
        Ok(checker)
    }

    /// Waits for the next signed line.
    fn next(&mut self, until: Instant) -> anyhow::Result<Heard> {
        let mut ended = None;
        loop {
            while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                if let Some(value) = self.signature.read(line) {
                    return Ok(Heard::Line(value));
                }
                self.noise += line.len();
            }
            if self.heard.len() > LONGEST_LINE {
                self.noise += self.heard.len();
                self.heard.clear();
            }
            if self.noise > MOST_NOISE {
                return Ok(Heard::Noise);
            }
            if Instant::now() >= until {
                return Ok(Heard::Nothing);
            }
            let mut bytes = [0; 4096];
            match self.channel.read(&mut bytes) {
                // Everything that it had sent before it ended has been read by now.
                Ok(0) => return self.end(until),
                Ok(read) => self.heard.extend(bytes.iter().take(read)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if let Some(status) = ended {
                        return Ok(Heard::Ended(status));
                    }
                    // A process that it started may hold the channel open.
                    ended = self.child.try_wait().context("waiting for the process of the plugin")?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.end(until),
            }
        }
    }

    /// Waits for the end of a child that has closed the channel. A plugin may close it and run on.
    fn end(&mut self, until: Instant) -> anyhow::Result<Heard> {
        loop {
            if let Some(status) = self.child.try_wait().context("waiting for the process of the plugin")? {
                return Ok(Heard::Ended(status));
            }
            if Instant::now() >= until {
                return Ok(Heard::Nothing);
            }
            thread::sleep(TICK);
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            #[expect(unsafe_code, reason = "a call of the system's library")]
            // SAFETY: the function takes numbers and touches no memory of ours. The group is the child's: the system
            // does not reuse its number while a process of the group exists.
            unsafe {
                libc::kill(-group, libc::SIGKILL);
            }
        }
        drop(self.child.wait());
    }
}
