//! Calls of a running server, its start, the list of its tools, a hook, and a document that is rewritten many times.

use std::{
    cell::{Cell, RefCell},
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use memory_core::port::TokenCounter as _;
use memory_embed::TiktokenCounter;
use serde_json::{Value, json};

use super::{
    CONVERSATION, MESSAGES,
    binary::{Binary, Client, Memory},
    import::{MESSAGES_OF_A_TURN, Session},
};
use crate::{
    Corpus,
    figure::{Entrant, Figure, Samples, interleave, median_of},
    process,
    talks::{KINDS, Talk},
};

/// Calls of a round.
const SEARCHES: usize = 60;
const EXPANDED: usize = 200;
/// Messages of a talk; the conversation consists of talks in sequence.
const OF_EACH: usize = 100;
/// Distance between the talks of two questions; a prime, so that it shares no factor with the number of talks.
const STEP: usize = 37;

/// Imports the messages by the binary, which embeds them.
pub(super) fn fill(memory: &Memory, scratch: &Path) -> Result<()> {
    let mut lines = String::new();
    for talk in (0..u32::try_from(MESSAGES / OF_EACH)?).map(Talk::of) {
        for index in 0..OF_EACH {
            let (message, at) = talk.message(index);
            let line = json!({"role": message.role.as_str(), "speaker": message.speaker, "content": message.text(),
                              "at": at.as_millis()});
            lines.push_str(&format!("{line}\n"));
        }
    }
    let file = scratch.join("ten-thousand.jsonl");
    fs::write(&file, lines).with_context(|| format!("writing {}", file.display()))?;
    let args = ["import", "--format", "jsonl", "--conversation", CONVERSATION].map(Into::into);
    memory.run(args.into_iter().chain([file.into_os_string()]), b"")?;
    Ok(())
}

/// A question for each number, which one message of the conversation answers.
fn question(number: usize) -> Result<String> {
    let talk = u32::try_from(number * STEP % (MESSAGES / OF_EACH))?;
    Ok(Talk::of(talk).question(number % KINDS).text)
}

/// Checks that a search was answered, with a model also by meaning. A question may have no likely answer.
fn check(found: &Value) -> Result<()> {
    let is_whole = !found["notices"].to_string().contains("recall is by words only");
    ensure!(found["messages"].is_array() && is_whole, "a search was answered by {found}");
    Ok(())
}

pub(super) fn calls(memory: &Memory) -> Result<Vec<Figure>> {
    let client = RefCell::new(Client::begin(memory, &[], &[])?);
    let number = RefCell::new(0);
    let next = || number.replace_with(|number| *number + 1);
    let search = |scope: &[&str]| -> Result<[f64; 1]> {
        median_of(SEARCHES, || {
            let asked = json!({"query": question(next())?, "conversations": scope});
            let (found, took) = client.borrow_mut().call("search_memory", &asked)?;
            check(&found)?;
            Ok(took)
        })
    };
    let expand = || -> Result<[f64; 1]> {
        median_of(EXPANDED, || {
            let node = 1 + next() * 7_919 % MESSAGES;
            let asked = json!({"conversation_id": CONVERSATION, "node_id": node});
            let (found, took) = client.borrow_mut().call("expand_node", &asked)?;
            ensure!(found.get("node") == Some(&json!(node)), "message {node} is {found}");
            Ok(took)
        })
    };
    let [[all], [one], [expanded]] = interleave([
        Entrant::new("without a scope", ["ms"], || search(&[])),
        Entrant::new("one conversation", ["ms"], || search(&[CONVERSATION])),
        Entrant::new("expand_node", ["ms"], expand),
    ])?;
    let how = format!("a running `memory mcp` on standard input and output, {MESSAGES} messages in one conversation");
    let of_search = |scope: &str| format!("{how}, model loaded, {SEARCHES} questions a round, {scope}, ten hits");
    let searched = |samples: &Samples, scope| Figure::absolute("mcp_search_10k_p50_ms", samples, of_search(scope));
    let worse = Figure::largest(vec![
        searched(&all, "without a scope, which is the slower way"),
        searched(&one, "of that conversation, which is the slower way"),
    ]);
    let of_expand = format!("{how}, {EXPANDED} messages a round");
    Ok(vec![worse.context("no search was measured")?, Figure::absolute("mcp_expand_p50_ms", &expanded, of_expand)])
}

/// Tokens of the sent list, including tools that are off by default.
pub(super) fn tools_list(memory: &Memory) -> Result<Figure> {
    let listed = |flags: &[&str]| -> Result<(usize, u32)> {
        let all = [&["--profile", "compact"], flags].concat();
        let list = Client::begin(memory, &["--words-only"], &all)?.ask("tools/list", &json!({}))?;
        let tools = list.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
        Ok((tools, TiktokenCounter::cl100k().count(&list.to_string())))
    };
    let (usual, usual_tokens) = listed(&[])?;
    let (all, tokens) = listed(&["--allow-append", "--memory-tool"])?;
    let note = format!(
        "the whole result of tools/list in the compact profile, {all} tools with those that are off by default; \
         {usual_tokens} for the {usual} that are on"
    );
    Ok(Figure::single("tools_list_tokens", f64::from(tokens), "tokens", note))
}

/// Processes of a round.
const PROCESSES: usize = 5;

pub(super) fn starts(memory: &Memory) -> Result<[Figure; 2]> {
    let number = Cell::new(0);
    let started = |globals: &[&str]| {
        median_of(PROCESSES, || {
            let asked = json!({"query": question(number.replace(number.get() + 1))?});
            let start = Instant::now();
            let (found, _) = Client::begin(memory, globals, &[])?.call("search_memory", &asked)?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            check(&found)?;
            Ok(took)
        })
    };
    let [[words], [model]] = interleave([
        Entrant::new("by words", ["ms"], || started(&["--words-only"])),
        Entrant::new("with a model", ["ms"], || started(&[])),
    ])?;
    let note = |how: &str| {
        format!(
            "from the start of `memory mcp` to the answer to its first search {how}, {MESSAGES} messages, files in the page \
             cache, {PROCESSES} processes a round"
        )
    };
    Ok([
        Figure::absolute("start_no_model_ms", &words, note("by words")),
        Figure::absolute("start_with_model_ms", &model, note("by words and meaning")),
    ])
}

/// Calls of a round.
const CALLS: usize = 40;
/// Turns of the session before the first call of the hook.
const TURNS_BEFORE: usize = 50;

/// Time of a hook call; each captures one new turn of the session's transcript.
pub(super) fn hook_calls(memory: &Memory, scratch: &Path) -> Result<Figure> {
    let mut session = Session::new(1, 1_500);
    let directory = scratch.join("projects");
    fs::create_dir_all(&directory)?;
    let path = directory.join(session.file());
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    for _ in 0..TURNS_BEFORE {
        file.write_all(session.turn().as_bytes())?;
    }
    let event = json!({"session_id": path.file_stem().map(|name| name.to_string_lossy()), "transcript_path": path,
                       "cwd": "/trip", "permission_mode": "default", "hook_event_name": "Stop"});
    let event = event.to_string();
    let call = || memory.run(["hook", "claude-code", "--strict"], event.as_bytes());
    call()?;
    let [[calls]] = interleave([Entrant::new("memory hook claude-code", ["ms"], || {
        median_of(CALLS, || {
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

/// Bytes of the document.
const BYTES: usize = 60_000;
/// Rewrites after which the memory use is read.
const FEW: usize = 1_000;
const MANY: usize = 20_000;
/// Rewrites between two searches.
const PER_SEARCH: usize = 250;

/// The resident memory after many rewrites against that after few; a tenth of both if it `is_short`.
pub(super) fn growth(binary: &Binary, scratch: &Path, is_short: bool) -> Result<Figure> {
    let [few, many] = [FEW, MANY].map(|rewrites| if is_short { rewrites / 10 } else { rewrites });
    eprintln!("tools: rewriting a document {many} times");
    let mut client = Client::begin(&binary.with_store(&scratch.join("notes")), &[], &[])?;
    let (mut corpus, mut searches, mut after_few) = (Corpus::new(7), Vec::new(), None);
    for rewrite in 1..=many {
        client.call("scratchpad_set", &json!({"text": corpus.text(BYTES)}))?;
        if rewrite % PER_SEARCH == 0 {
            searches.push(client.call("search_memory", &json!({"query": corpus.question()}))?.1);
        }
        if rewrite == few {
            after_few = Some(process::megabytes(Some(client.process()), "VmRSS")?);
        }
    }
    let samples = |rewrites: usize, megabytes| Samples::one(format!("{rewrites} rewrites"), "MB", megabytes);
    let last = samples(many, process::megabytes(Some(client.process()), "VmRSS")?);
    let first = samples(few, after_few.unwrap_or(f64::NAN));
    let note = format!(
        "resident memory of `memory mcp` while a scratchpad of {BYTES} B is set anew, searched after every {PER_SEARCH}; the last \
         search took {:.1} ms",
        searches.last().copied().unwrap_or(f64::NAN)
    );
    Ok(Figure::ratio("notes_20k_vs_1k_rss", &last, &first, note))
}
