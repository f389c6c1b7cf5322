//! The Python peers: their environment, and their processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::process::Subprocess;

const REQUIREMENTS: &str = include_str!("requirements.txt");
const PEER: &str = include_str!("peer.py");

/// Name of a file that marks a complete environment.
const COMPLETE: &str = "complete";

/// Path of the Python of the environment in `parent`, which is made if it is missing: minutes, and some gigabytes.
pub(super) fn environment(parent: &Path) -> Result<PathBuf> {
    let digest = blake3::hash(REQUIREMENTS.as_bytes()).to_hex();
    let directory = parent.join(format!("python-peers-{}", digest.get(..8).unwrap_or_default()));
    let python = directory.join("bin").join("python");
    if directory.join(COMPLETE).exists() {
        return Ok(python);
    }
    eprintln!("embed: making an environment for the Python peers in {}", directory.display());
    fs::create_dir_all(parent)?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory))?;
    let requirements = directory.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements))?;
    fs::write(directory.join(COMPLETE), "")?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Arguments of a peer's process.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) kind: &'static str,
    pub(super) directory: &'a Path,
    pub(super) graph: &'a Path,
    pub(super) max_tokens: usize,
    pub(super) threads: usize,
}

/// A running peer.
#[derive(Debug)]
pub(super) struct Peer(Subprocess);

impl Peer {
    pub(super) fn start(python: &Path, job: &Job<'_>) -> Result<Self> {
        let arguments = json!({
            "kind": job.kind, "directory": job.directory, "graph": job.graph,
            "max_tokens": job.max_tokens, "threads": job.threads,
        });
        let mut command = Command::new(python);
        command.args(["-c", PEER, &arguments.to_string()]).env("TRANSFORMERS_VERBOSITY", "error").stderr(Stdio::null());
        Ok(Self(Subprocess::start(job.kind, &mut command)?))
    }

    /// Texts a second of one run.
    pub(super) fn rate(&mut self, texts: &[String]) -> Result<f64> {
        let answer = self.ask(&json!({"texts": texts}))?;
        let seconds = answer.get("seconds").and_then(Value::as_f64).context("no time was reported")?;
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        Ok(texts.len() as f64 / seconds)
    }

    pub(super) fn vectors(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let mut answer = self.ask(&json!({"vectors": texts}))?;
        Ok(serde_json::from_value(answer.get_mut("vectors").context("no vectors were reported")?.take())?)
    }

    fn ask(&mut self, question: &Value) -> Result<Value> {
        let answer = self.0.ask(&question.to_string())?;
        serde_json::from_str(&answer).with_context(|| format!("the peer answered {answer:?}"))
    }
}
