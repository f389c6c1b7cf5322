//! Made-up sessions of Claude Code, line by line as it writes them: questions, thoughts, calls of tools, what those give,
//! and answers.

use serde_json::{Value, json};

use crate::corpus::Corpus;

/// Lines of a turn, each of which is a message but that of the thought, which belongs to the call after it.
const TURN: usize = 5;
/// Messages of a turn.
pub(super) const MESSAGES_OF_A_TURN: usize = 4;

/// A session that goes on as long as it is asked.
#[derive(Debug)]
pub(super) struct Session {
    id: String,
    corpus: Corpus,
    written: usize,
    /// Bytes of what a tool gives.
    given: usize,
}

impl Session {
    /// The session of this number, whose tools give so many bytes.
    pub(super) fn new(number: u64, given: usize) -> Self {
        let id = format!("{number:08x}-6d0f-4a55-9c39-1a2b3c4d5e6f");
        Self { id, corpus: Corpus::new(number), written: 0, given }
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.jsonl", self.id)
    }

    /// The lines of the next turn.
    pub(super) fn turn(&mut self) -> String {
        (0..TURN).map(|_| format!("{}\n", self.line())).collect()
    }

    fn line(&mut self) -> Value {
        let number = self.written;
        self.written += 1;
        let of = |line: usize| format!("{line:08x}-{}", self.id.get(..8).unwrap_or_default());
        let (parent, call) = (number.checked_sub(1).map(of), format!("toolu_{}", number / TURN));
        let text = self.corpus.text(if number % TURN == 3 { self.given } else { 240 });
        let user = |content: Value| ("user", json!({"role": "user", "content": content}));
        let said = |part: usize, block: Value| {
            let id = format!("msg_{}_{part}", number / TURN);
            let usage = json!({"input_tokens": 12, "output_tokens": 90, "cache_read_input_tokens": 41_000});
            let message = json!({"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-7",
                                 "content": [block], "stop_reason": null, "usage": usage});
            ("assistant", message)
        };
        let (kind, message) = match number % TURN {
            0 => user(json!(text)),
            1 => said(0, json!({"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl"})),
            2 => said(
                0,
                json!({"type": "tool_use", "id": call, "name": "Bash",
                       "input": {"command": "cargo test", "description": text}}),
            ),
            3 => user(json!([{"type": "tool_result", "tool_use_id": call, "content": text}])),
            _ => said(1, json!({"type": "text", "text": text})),
        };
        let (minute, second) = (number / 60 % 60, number % 60);
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/trip",
               "sessionId": self.id, "version": "2.1.4", "gitBranch": "main", "type": kind, "message": message,
               "uuid": of(number), "timestamp": format!("2026-03-02T09:{minute:02}:{second:02}.250Z")})
    }
}
