//! The `memory` binary, called as users and agents call it, and a client of its server.

use std::{
    env::{self, consts::EXE_SUFFIX},
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::process::Subprocess;

/// The binary.
#[derive(Clone, Debug)]
pub(super) struct Binary(PathBuf);

/// The binary and a store.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    binary: PathBuf,
    store: PathBuf,
}

impl Binary {
    /// The binary at `path`, by default the one next to the running binary.
    pub(super) fn find(path: Option<&Path>) -> Result<Self> {
        let own = env::current_exe()?;
        let path = path.map_or_else(|| own.with_file_name(format!("memory{EXE_SUFFIX}")), Path::to_owned);
        ensure!(path.is_file(), "no binary at {}: cargo build --release -p memory-cli --bin memory", path.display());
        Ok(Self(path))
    }

    /// The binary with a store.
    pub(super) fn with_store(&self, store: &Path) -> Memory {
        Memory { binary: self.0.clone(), store: store.to_owned() }
    }
}

impl Memory {
    /// A call with these arguments and without the caller's settings.
    pub(super) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MEMORY_")) {
            command.env_remove(name);
        }
        command.env("MEMORY_CONFIG", "none").arg("--store").arg(&self.store).args(args);
        command
    }

    /// Runs a call to its end; returns the output for an input.
    pub(super) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &[u8]) -> Result<Output> {
        let piped = Stdio::piped;
        let mut child = self.command(args).stdin(piped()).stdout(piped()).stderr(piped()).spawn()?;
        child.stdin.take().context("no standard input")?.write_all(input)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        Ok(output)
    }
}

/// A client of a running server.
#[derive(Debug)]
pub(super) struct Client {
    server: Subprocess,
    requests: u64,
}

impl Client {
    /// Starts a server with flags of the binary and of `mcp`, and begins the protocol.
    pub(super) fn begin(memory: &Memory, globals: &[&str], flags: &[&str]) -> Result<Self> {
        let mut command = memory.command([globals, &["mcp"], flags].concat());
        let server = Subprocess::start("memory mcp", command.stderr(Stdio::inherit()))?;
        let mut client = Self { server, requests: 0 };
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                           "clientInfo": {"name": "memory-benches", "version": "1"}});
        client.ask("initialize", &about)?;
        client.server.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(client)
    }

    /// The id of the server's process.
    pub(super) fn process(&self) -> u32 {
        self.server.id()
    }

    /// The result of a request.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        let (answer, _) = self.timed(method, params)?;
        let answer: Value = serde_json::from_str(&answer)?;
        let is_answered = answer.get("id") == Some(&json!(self.requests)) && answer.get("error").is_none();
        let result = answer.get("result").filter(|_| is_answered);
        result.cloned().with_context(|| format!("{method} was answered by {answer}"))
    }

    /// Structured answer of a tool, and the milliseconds until its line arrived.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Value, f64)> {
        let (answer, took) = self.timed("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let mut answer: Value = serde_json::from_str(&answer)?;
        let result = answer.get_mut("result").filter(|result| result["isError"] != true);
        let result = result.and_then(|result| result.get_mut("structuredContent")).map(Value::take);
        Ok((result.with_context(|| format!("{tool} was answered by {answer}"))?, took))
    }

    fn timed(&mut self, method: &str, params: &Value) -> Result<(String, f64)> {
        self.requests += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}).to_string();
        let start = Instant::now();
        let answer = self.server.ask(&request)?;
        Ok((answer, start.elapsed().as_secs_f64() * 1e3))
    }
}
