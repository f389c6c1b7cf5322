//! `memory plugins check`: runs the conformance kit in a child process, because a plugin may end or hang its process.

use std::{
    env,
    io::{BufRead as _, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args as ClapArgs;
use memory_plugins::conformance::{Check, CheckOptions, Verdict, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{globals::Globals, terminal};

/// Bound on the calls of a check that run one after the other; `REST` covers the remaining time.
const CALLS: u32 = 40;
const REST: Duration = Duration::from_secs(10);

/// The longest line of a child that is read as one.
const LONGEST_LINE: u64 = 64 << 10;

/// Interval between looks at a child whose output has ended.
const TICK: Duration = Duration::from_millis(20);

/// Run a plugin's file against the contract of its kind, in a process of its own.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The library
    file: PathBuf,
    /// Its configuration, JSON text
    #[arg(long, value_name = "JSON")]
    configuration: Option<String>,
    /// Deadline of each call
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    deadline: u32,
    /// Run the checks in this process, and print each verdict as a line of JSON
    #[arg(long, hide = true)]
    here: bool,
}

/// A plugin that was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Path of the library.
    file: String,
    /// The checks, in order.
    checks: &'a [Finding],
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Finding {
    /// Name of the check.
    check: String,
    /// Verdict of the check.
    verdict: VerdictName,
    /// Reason for the verdict.
    why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictName {
    Kept,
    Broken,
    Skipped,
}

/// A line of the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum ChildLine {
    Verdict(Finding),
    Failed { error: String },
}

impl Finding {
    fn of(check: Check, verdict: VerdictName, why: Option<&str>) -> Self {
        Self { check: check.name().to_owned(), verdict, why: why.map(str::to_owned) }
    }
}

impl VerdictName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Skipped => "skipped",
        }
    }
}

impl Args {
    fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline.max(1).into())
    }
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    if args.here {
        return check_here(args);
    }
    let mut child = start(args)?;
    let findings = findings(args, &mut child);
    drop(child.kill());
    drop(child.wait());
    let findings = findings?;
    if globals.output.json {
        globals.output.value(&Answer { file: args.file.display().to_string(), checks: &findings })?;
    } else {
        let row = |finding: &Finding| {
            let why = finding.why.clone().unwrap_or_default();
            [finding.check.clone(), finding.verdict.as_str().to_owned(), why]
        };
        globals.output.table(["check", "verdict", "why"], findings.iter().map(row))?;
    }
    let broken = findings.iter().filter(|finding| finding.verdict == VerdictName::Broken);
    let broken: Vec<_> = broken.map(|finding| finding.check.as_str()).collect();
    if !broken.is_empty() {
        bail!("{} breaks its contract: {}", args.file.display(), broken.join(", "));
    }
    Ok(())
}

/// Runs the checks and prints each verdict.
fn check_here(args: &Args) -> anyhow::Result<()> {
    let mut options = CheckOptions::default();
    options.deadline = args.deadline();
    options.configuration.clone_from(&args.configuration);
    let mut end = |check: Check, verdict: &Verdict| {
        let (verdict, why) = match verdict {
            Verdict::Kept => (VerdictName::Kept, None),
            Verdict::Skipped(why) => (VerdictName::Skipped, Some(*why)),
            Verdict::Broken(why) => (VerdictName::Broken, Some(why.as_str())),
        };
        if tell(&ChildLine::Verdict(Finding::of(check, verdict, why))).is_err() {
            // The parent no longer waits for the other checks.
            std::process::exit(1);
        }
    };
    if let Err(error) = check(&args.file, &options, &mut |_| {}, &mut end) {
        tell(&ChildLine::Failed { error: error.to_string() })?;
    }
    Ok(())
}

/// Prints a line, after one that the plugin may have left open.
fn tell(line: &ChildLine) -> std::io::Result<()> {
    terminal::exactly(format!("\n{}\n", serde_json::to_string(line)?).as_bytes())
}

/// Starts the process that checks the plugin. Its standard output is the channel of the verdicts.
fn start(args: &Args) -> anyhow::Result<Child> {
    let mut command = Command::new(env::current_exe().context("this program has no path")?);
    command.args(["plugins", "check", "--here", "--deadline", &args.deadline.to_string()]);
    if let Some(configuration) = &args.configuration {
        command.args(["--configuration", configuration]);
    }
    command.arg("--").arg(&args.file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().context("cannot start a process for the plugin")
}

/// A verdict for each check, in order. The check during which the child ends, or stops sending, is broken; the checks
/// after it are skipped.
fn findings(args: &Args, child: &mut Child) -> anyhow::Result<Vec<Finding>> {
    let lines = lines(child.stdout.take().context("no pipe to the process of the plugin")?);
    let all_until = Instant::now() + args.deadline() * CALLS * 3 + REST;
    let mut findings = Vec::new();
    let mut ended = false;
    for check in Check::ALL {
        if ended {
            let why = "the process of the plugin had ended";
            findings.push(Finding::of(check, VerdictName::Skipped, Some(why)));
            continue;
        }
        // The first check opens the library and makes the strategy; the others run up to `CALLS` jobs.
        let calls = if check == Check::Configuration { 3 } else { CALLS };
        let until = all_until.min(Instant::now() + args.deadline() * calls + REST);
        let why = match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(ChildLine::Verdict(finding)) if finding.check == check.name() => {
                findings.push(finding);
                continue;
            }
            Ok(ChildLine::Verdict(finding)) => format!("a verdict on something else was given: {}", finding.check),
            Ok(ChildLine::Failed { error }) => bail!("{error}"),
            Err(RecvTimeoutError::Timeout) => LATE.to_owned(),
            Err(RecvTimeoutError::Disconnected) => how_it_ended(child, until)?,
        };
        findings.push(Finding::of(check, VerdictName::Broken, Some(&why)));
        ended = true;
    }
    Ok(findings)
}

const LATE: &str = "it gave no answer in time and its process was ended";

/// Verdicts and errors among the lines of `output`. Other lines are a plugin's, and may be endless.
fn lines(output: impl Read + Send + 'static) -> Receiver<ChildLine> {
    let (send, lines) = sync_channel(1);
    let mut output = BufReader::new(output);
    thread::spawn(move || {
        let mut line = Vec::new();
        while matches!(output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
            if serde_json::from_slice(&line).is_ok_and(|line| send.send(line).is_err()) {
                break;
            }
            line.clear();
        }
    });
    lines
}

/// End of a child that has closed its output. A plugin may close it and run on.
fn how_it_ended(child: &mut Child, until: Instant) -> anyhow::Result<String> {
    loop {
        if let Some(status) = child.try_wait().context("waiting for the process of the plugin")? {
            return Ok(format!("it ended the process: {status}"));
        }
        if Instant::now() >= until {
            return Ok(LATE.to_owned());
        }
        thread::sleep(TICK);
    }
}
