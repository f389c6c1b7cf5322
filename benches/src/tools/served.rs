//! Calls of a running server, and what clients pay for the list of its tools.

use std::{cell::RefCell, fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use memory_core::TokenCounter as _;
use memory_embed::TiktokenCounter;
use serde_json::{Value, json};

use super::{
    binary::Memory,
    client::Client,
    store::{CONVERSATION, MESSAGES},
};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
    stats::quantile,
    talks::{KINDS, Talk},
};

/// Calls of a round.
const SEARCHES: usize = 60;
const EXPANDED: usize = 200;
/// Messages of a talk, which stand one after the other in the conversation.
const OF_EACH: usize = 100;
/// Between the talks of two questions; a prime, so that it shares no factor with the number of talks.
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

/// A question that a message of the conversation answers, another one for each number.
pub(super) fn question(number: usize) -> Result<String> {
    let talk = u32::try_from(number * STEP % (MESSAGES / OF_EACH))?;
    Ok(Talk::of(talk).question(number % KINDS).text)
}

/// Checks that a search was answered, and by meaning where there is a model. A question may have no likely answer.
pub(super) fn check(found: &Value) -> Result<()> {
    let is_whole = !found["notices"].to_string().contains("recall is by words only");
    ensure!(found["messages"].is_array() && is_whole, "a search was answered by {found}");
    Ok(())
}

pub(super) fn measure(memory: &Memory) -> Result<Vec<Figure>> {
    let client = RefCell::new(Client::begin(memory, &[], &[])?);
    let number = RefCell::new(0);
    let next = || number.replace_with(|number| *number + 1);
    let search = |scope: &[&str]| -> Result<[f64; 1]> {
        median(SEARCHES, || {
            let asked = json!({"query": question(next())?, "conversations": scope});
            let (found, took) = client.borrow_mut().call("search_memory", &asked)?;
            check(&found)?;
            Ok(took)
        })
    };
    let expand = || -> Result<[f64; 1]> {
        median(EXPANDED, || {
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

/// The median of so many calls.
pub(super) fn median(count: usize, mut call: impl FnMut() -> Result<f64>) -> Result<[f64; 1]> {
    let mut times = (0..count).map(|_| call()).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok([quantile(&times, 0.5)])
}

/// Tokens of the list as it is sent, with the tools that are off by default.
pub(super) fn tools_list(memory: &Memory) -> Result<Figure> {
    let listed = |flags: &[&str]| -> Result<(usize, u32)> {
        let all = [&["--profile", "compact"], flags].concat();
        let list = Client::begin(memory, &["--words-only"], &all)?.ask("tools/list", &json!({}))?;
        let tools = list.get("tools").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
        Ok((tools, TiktokenCounter::cl100k().count(&list.to_string())))
    };
    let (usual, usual_tokens) = listed(&[])?;
    let (all, tokens) = listed(&["--allow-append", "--memory-tool"])?;
    let note = format!(
        "the whole result of tools/list in the compact profile, {all} tools with those that are off by default; \
         {usual_tokens} for the {usual} that are on"
    );
    let samples = Samples { name: "tools/list".to_owned(), unit: "tokens", values: vec![f64::from(tokens)] };
    Ok(Figure::absolute("tools_list_tokens", &samples, note))
}
