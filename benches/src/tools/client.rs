//! A client of `memory mcp` on standard input and output.

use std::{process::Stdio, time::Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::binary::Memory;
use crate::subprocess::Subprocess;

/// A running server and what it was asked.
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

    /// The number of the server's process.
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

    /// What a tool answers in structure, and the milliseconds until its line had come.
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
