//! Imports of transcripts: messages a second, and the memory that a gigabyte takes.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::binary::Binary;
use crate::{
    corpus::Corpus,
    figure::{Entrant, Figure, interleave},
    process,
};

/// Sessions of a round.
const SESSIONS: u64 = 50;
/// Turns of a session.
const TURNS: usize = 250;
/// Bytes of all transcripts whose import is monitored.
const GIGABYTE: u64 = 1_000_000_000;
/// Bytes of one of these transcripts.
const FILE: u64 = 20_000_000;
/// Pause between two samples of the import's memory.
const PAUSE: Duration = Duration::from_millis(2);

/// Rates of an import as a user runs it and of one without summaries, each round into a new store.
pub(super) fn rates(binary: &Binary, scratch: &Path) -> Result<[Figure; 2]> {
    let directory = scratch.join("sessions");
    fs::create_dir_all(&directory)?;
    let mut bytes = 0;
    for number in 0..SESSIONS {
        let mut session = Session::new(number, 800);
        let text: String = (0..TURNS).map(|_| session.turn()).collect();
        bytes += text.len();
        fs::write(directory.join(session.file()), text)?;
    }
    let messages = usize::try_from(SESSIONS)? * TURNS * MESSAGES_OF_A_TURN;
    let import = |flags: &[&str]| -> Result<[f64; 1]> {
        let store = scratch.join("imported");
        let memory = binary.with_store(&store);
        let args = [&["--json", "import", "--no-embed"], flags].concat().into_iter().map(Into::into);
        let start = Instant::now();
        let output = memory.run(args.chain([directory.clone().into_os_string()]), b"")?;
        let took = start.elapsed().as_secs_f64();
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let all = said.get("conversations").and_then(Value::as_array).into_iter().flatten();
        let new = all.filter_map(|one| one.get("new")?.as_u64());
        ensure!(new.sum::<u64>() == messages as u64, "not {messages} messages were imported: {said}");
        fs::remove_dir_all(&store)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        Ok([messages as f64 / took])
    };
    let [[usual], [bare]] = interleave([
        Entrant::new("memory import", ["messages/s"], || import(&[])),
        Entrant::new("memory import --no-summaries", ["messages/s"], || import(&["--no-summaries"])),
    ])?;
    fs::remove_dir_all(&directory)?;
    let note = |flags: &str| {
        format!(
            "{messages} messages of {SESSIONS} sessions of Claude Code, {} MB, from the start of `memory import {flags}` to its \
             end, each batch synced",
            bytes / 1_000_000
        )
    };
    Ok([
        Figure::absolute("import_messages_per_s", &usual, note("--no-embed")),
        Figure::absolute("import_bare_messages_per_s", &bare, note("--no-embed --no-summaries")),
    ])
}

/// Memory of the import of a gigabyte, or of a tenth if `is_short`; measured once.
pub(super) fn resident(binary: &Binary, scratch: &Path, is_short: bool) -> Result<Figure> {
    let wanted = if is_short { GIGABYTE / 10 } else { GIGABYTE };
    eprintln!("tools: importing {} MB of transcripts", wanted / 1_000_000);
    let directory = scratch.join("gigabyte");
    fs::create_dir_all(&directory)?;
    let (mut bytes, mut messages, mut number) = (0, 0, 1_000);
    while bytes < wanted {
        let (written, turns) = write(&directory, number)?;
        (bytes, messages, number) = (bytes + written, messages + turns * MESSAGES_OF_A_TURN, number + 1);
    }
    let memory = binary.with_store(&scratch.join("of-a-gigabyte"));
    let args = ["--json", "import", "--no-embed"].map(Into::into);
    let mut command = memory.command(args.into_iter().chain([directory.clone().into_os_string()]));
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let mut most = 0.0_f64;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // A process that has just ended reports no memory.
        most = most.max(process::megabytes(Some(child.id()), "RssAnon").unwrap_or_default());
        thread::sleep(PAUSE);
    };
    let took = start.elapsed().as_secs_f64();
    ensure!(status.success(), "the import of a gigabyte ended by {status}");
    ensure!(most > 0.0, "this system reports no memory of a process");
    fs::remove_dir_all(&directory)?;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = messages as f64 / took;
    let note = format!(
        "RssAnon at its highest, looked at every {} ms, {} MB in {} transcripts of Claude Code, {messages} messages, \
         summaries included; {rate:.0} messages a second",
        PAUSE.as_millis(),
        bytes / 1_000_000,
        number - 1_000
    );
    Ok(Figure::single("import_1gb_rss_mb", most, "MB", note))
}

/// Writes a long session; returns its bytes and turns.
fn write(directory: &Path, number: u64) -> Result<(u64, usize)> {
    let mut session = Session::new(number, 6_000);
    let path: PathBuf = directory.join(session.file());
    let mut file = BufWriter::new(File::create(&path).with_context(|| format!("making {}", path.display()))?);
    let (mut bytes, mut turns) = (0, 0);
    while bytes < FILE {
        let turn = session.turn();
        file.write_all(turn.as_bytes())?;
        (bytes, turns) = (bytes + turn.len() as u64, turns + 1);
    }
    file.flush()?;
    Ok((bytes, turns))
}

/// Lines of a turn. Each is a message, except that the thought belongs to the call after it.
const TURN: usize = 5;
/// Messages of a turn.
pub(super) const MESSAGES_OF_A_TURN: usize = 4;

/// An endless session.
#[derive(Debug)]
pub(super) struct Session {
    id: String,
    corpus: Corpus,
    written: usize,
    /// Bytes of a tool's result.
    given: usize,
}

impl Session {
    /// Session `number`, whose tools return results of `given` bytes.
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
