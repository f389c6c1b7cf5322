//! Imports of transcripts: how many messages a second, and how much memory a gigabyte takes.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};

use super::{
    binary::Binary,
    sessions::{MESSAGES_OF_A_TURN, Session},
};
use crate::{
    figure::Figure,
    process_memory,
    rounds::{Entrant, Samples, interleave},
};

/// Sessions of a round, and their turns.
const SESSIONS: u64 = 50;
const TURNS: usize = 250;
/// Bytes of the transcripts whose import is watched, and of one of them.
const GIGABYTE: u64 = 1_000_000_000;
const FILE: u64 = 20_000_000;
/// Between two looks at the memory of the import.
const PAUSE: Duration = Duration::from_millis(2);

/// As a user imports and without summaries, each round into a store of its own.
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
        let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let all = said.get("conversations").and_then(serde_json::Value::as_array).into_iter().flatten();
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

/// A gigabyte, once; a tenth if it `is_short`.
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
        // A process that has just ended has none.
        most = most.max(process_memory::megabytes_of(child.id(), "RssAnon").unwrap_or_default());
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
    let samples = Samples { name: "memory import".to_owned(), unit: "MB", values: vec![most] };
    Ok(Figure::absolute("import_1gb_rss_mb", &samples, note))
}

/// Writes a long session; its bytes and turns.
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
