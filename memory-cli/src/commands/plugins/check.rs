//! `memory plugins check`: the conformance kit, in a process of its own, which a plugin may end.

use std::{
    env,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args as ClapArgs;
use memory_plugins::conformance::{Check, CheckOptions, Verdict, check};
use serde_json::{Value, json};

use crate::{cli::Globals, terminal::To};

/// Run a plugin's file against the contract of its kind, in a process of its own.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The library
    file: PathBuf,
    /// Its configuration, JSON text
    #[arg(long, value_name = "JSON")]
    configuration: Option<String>,
    /// How long each call may take
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    deadline: u32,
    /// Run the checks here and print each as a line of JSON
    #[arg(long, hide = true)]
    here: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    if args.here {
        return run_here(args);
    }
    let findings = run_in_child(args)?;
    if globals.output.json {
        globals.output.value(&json!({"file": args.file.display().to_string(), "checks": findings}))?;
    } else {
        let row =
            |finding: &Value| ["check", "verdict", "why"].map(|key| finding[key].as_str().unwrap_or("").to_owned());
        globals.output.table(["check", "verdict", "why"], findings.iter().map(row))?;
    }
    let broken: Vec<_> =
        findings.iter().filter(|finding| finding["verdict"] == "broken").filter_map(|f| f["check"].as_str()).collect();
    if !broken.is_empty() {
        bail!("{} breaks its contract: {}", args.file.display(), broken.join(", "));
    }
    Ok(())
}

fn run_here(args: &Args) -> anyhow::Result<()> {
    let mut options = CheckOptions::default();
    options.deadline = Duration::from_secs(args.deadline.max(1).into());
    options.configuration.clone_from(&args.configuration);
    // One line at once, so that whoever reads knows what had begun when the process ended.
    let mut begin = |check: Check| drop(To::Output.json_line(&json!({"begin": check.name()})));
    let mut end = |check: Check, verdict: &Verdict| {
        let (verdict, why) = match verdict {
            Verdict::Kept => ("kept", ""),
            Verdict::Skipped(why) => ("skipped", *why),
            Verdict::Broken(why) => ("broken", why.as_str()),
        };
        drop(To::Output.json_line(&json!({"check": check.name(), "verdict": verdict, "why": why})));
    };
    check(&args.file, &options, &mut begin, &mut end)?;
    Ok(())
}

/// The findings of a child, and one more where the plugin ended it.
fn run_in_child(args: &Args) -> anyhow::Result<Vec<Value>> {
    let mut command = Command::new(env::current_exe().context("this program has no path")?);
    command.args(["plugins", "check", "--here", "--deadline", &args.deadline.to_string()]);
    if let Some(configuration) = &args.configuration {
        command.args(["--configuration", configuration]);
    }
    // What panics print is no news: each is counted.
    command.arg("--").arg(&args.file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start a process for the plugin")?;
    let errors = child.stderr.take().map(|errors| {
        std::thread::spawn(move || BufReader::new(errors).lines().map_while(Result::ok).collect::<Vec<_>>())
    });
    let (mut findings, mut begun) = (Vec::new(), None);
    let lines = child.stdout.take().map(|output| BufReader::new(output).lines()).into_iter().flatten();
    for line in lines.map_while(Result::ok) {
        // What a plugin prints itself is no finding.
        let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
        if let Some(check) = line.get("begin").and_then(Value::as_str) {
            begun = Some(check.to_owned());
        } else if line.get("check").is_some_and(Value::is_string) {
            begun = None;
            findings.push(line);
        }
    }
    let status = child.wait().context("waiting for the process of the plugin")?;
    let errors = errors.and_then(|errors| errors.join().ok()).unwrap_or_default();
    match begun {
        Some(check) if check == Check::Configuration.name() && status.code() == Some(1) => {
            let error = errors.iter().find_map(|line| line.strip_prefix("error: "));
            bail!("{}", error.unwrap_or("the plugin cannot be loaded"));
        }
        Some(check) => {
            findings
                .push(json!({"check": check, "verdict": "broken", "why": format!("it ended the process: {status}")}));
        }
        None if !status.success() => bail!("the process of the plugin ended with {status}"),
        None => {}
    }
    Ok(findings)
}
