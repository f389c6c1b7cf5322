//! A call of an agent's hook, from the start of its process to its end.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    time::Instant,
};

use anyhow::{Result, ensure};
use serde_json::json;

use super::{
    binary::Memory,
    served::median,
    sessions::{MESSAGES_OF_A_TURN, Session},
    store::MESSAGES,
};
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Calls of a round.
const CALLS: usize = 40;
/// Turns of the session before the first call.
const TURNS: usize = 50;

/// Each call takes in a turn that the session's transcript has grown by.
pub(super) fn measure(memory: &Memory, scratch: &Path) -> Result<Figure> {
    let mut session = Session::new(1, 1_500);
    let directory = scratch.join("projects");
    fs::create_dir_all(&directory)?;
    let path = directory.join(session.file());
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    for _ in 0..TURNS {
        file.write_all(session.turn().as_bytes())?;
    }
    let event = json!({"session_id": path.file_stem().map(|name| name.to_string_lossy()), "transcript_path": path,
                       "cwd": "/trip", "permission_mode": "default", "hook_event_name": "Stop"});
    let event = event.to_string();
    let call = || memory.run(["hook", "claude-code", "--strict"], event.as_bytes());
    call()?;
    let [[calls]] = interleave([Entrant::new("memory hook claude-code", ["ms"], || {
        median(CALLS, || {
            file.write_all(session.turn().as_bytes())?;
            let start = Instant::now();
            let output = call()?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            ensure!(output.stdout.is_empty(), "a hook said {}", String::from_utf8_lossy(&output.stdout));
            Ok(took)
        })
    })])?;
    let note = format!(
        "`memory hook claude-code` at the end of a turn, the whole process with its fsync; it takes in {MESSAGES_OF_A_TURN} \
         messages, in a store with {MESSAGES} others; {CALLS} calls a round"
    );
    Ok(Figure::absolute("hook_call_p50_ms", &calls, note))
}
