//! `memory bridge --stdio` as a program in another language drives it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Store, memory};

/// A bridge that is running.
pub(crate) struct Bridge {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Bridge {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = memory();
        command.args(["bridge", "--stdio"]).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (requests, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, requests, answers }
    }

    pub(crate) fn over(store: &Store) -> Self {
        Self::start(&["--store", &store.path("store"), "--words-only"])
    }

    pub(crate) fn send(&mut self, line: &str) -> Value {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{line}").unwrap();
        requests.flush().unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{line}: {answer:?}"))
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let answer = self.send(&request.to_string());
        assert!(answer.get("error").is_none(), "{request}: {answer}");
        answer
    }

    /// The code of the error that answers a request.
    pub(crate) fn refused(&mut self, request: &Value) -> String {
        self.send(&request.to_string())["error"].as_str().unwrap_or_else(|| panic!("{request} is answered")).to_owned()
    }

    pub(crate) fn end(mut self) {
        drop(self.requests.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) fn text(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"text": text}]})
}

/// A message with an id, as an agent has it.
pub(crate) fn known(id: &str, role: &str, said: &str) -> Value {
    let mut message = text(role, said);
    message["tracking_id"] = id.into();
    message
}

/// `count` messages, the user first.
fn talk(count: usize) -> Vec<Value> {
    let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
    (0..count).map(|index| text(role(index), &format!("Message {index} of a talk about the weather."))).collect()
}

fn texts(answer: &Value) -> Vec<String> {
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    answer["messages"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn a_sliding_window_answers_the_list_and_where_each_message_was() {
    let mut bridge = Bridge::start(&[]);
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "sliding-window", "config": {"window_size": 4}}));
    let mut list = talk(6);
    // Members that the bridge does not know come back unchanged.
    list[3] = json!({"role": "assistant", "content": [{"cachePoint": {"type": "default"}}, {"text": "x", "more": [1.5]}],
                     "metadata": {"usage": {"inputTokens": 7}}, "tracking_id": "t"});
    let answer = bridge.ask(&json!({"op": "apply", "id": 0, "messages": list}));
    assert_eq!(answer["messages"].as_array().unwrap()[..], list[2..]);
    assert_eq!(answer["from"], json!([2, 3, 4, 5]));
    assert_eq!(answer["state"]["removed_message_count"], 2);
    assert_eq!(answer["session_offset"], 2);
    let again = bridge.ask(&json!({"op": "apply", "id": 0, "messages": answer["messages"]}));
    assert_eq!(again["from"], json!([0, 1, 2, 3]));
    bridge.end();
}

#[test]
fn a_window_is_applied_before_every_nth_call_and_its_count_is_kept() {
    let mut bridge = Bridge::start(&[]);
    let open = |id: u32| json!({"op": "open", "id": id, "manager": "sliding-window", "config": {"window_size": 2, "per_turn": 2}});
    bridge.ask(&open(1));
    let lengths: Vec<_> = (0..2)
        .map(|_| bridge.ask(&json!({"op": "before_model", "id": 1, "messages": talk(4)})))
        .map(|answer| texts(&answer).len())
        .collect();
    assert_eq!(lengths, [4, 2]);
    let state = bridge.ask(&json!({"op": "state", "id": 1, "model_call_count": 7}))["state"].clone();
    bridge.ask(&open(2));
    bridge.ask(&json!({"op": "restore", "id": 2, "state": state}));
    assert_eq!(texts(&bridge.ask(&json!({"op": "before_model", "id": 2, "messages": talk(4)}))).len(), 2, "the eighth");
}

#[test]
fn a_list_is_reduced_before_a_call_that_would_fill_the_window() {
    let mut bridge = Bridge::start(&[]);
    let config = json!({"window_size": 4, "proactive_compression": {"compression_threshold": 0.7}});
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "sliding-window", "config": config}));
    let mut shown = |tokens: Value| {
        let load =
            json!({"op": "before_model", "id": 0, "messages": talk(6), "projected_tokens": tokens, "window": 1000});
        texts(&bridge.ask(&load)).len()
    };
    assert_eq!([shown(json!(699)), shown(Value::Null), shown(json!(700))], [6, 6, 4]);
    for wrong in [json!(0), json!(1.5), json!("on")] {
        let config = json!({"proactive_compression": {"compression_threshold": wrong}});
        let open = json!({"op": "open", "id": 1, "manager": "summarizing", "config": config});
        assert_eq!(bridge.refused(&open), "invalid_config", "{wrong}");
    }
}

#[test]
fn a_summary_is_written_offline_or_asked_of_the_caller() {
    let mut bridge = Bridge::start(&[]);
    let config = json!({"summary_ratio": 0.5, "preserve_recent_messages": 2, "summarizer": "first-words"});
    bridge.ask(&json!({"op": "open", "id": "offline", "manager": "summarizing", "config": config}));
    let answer = bridge.ask(&json!({"op": "reduce", "id": "offline", "messages": talk(8), "cause": "overflow"}));
    assert_eq!(answer["from"], json!([null, 4, 5, 6, 7]));
    assert!(texts(&answer)[0].starts_with("[Summary of 4 earlier messages]\n"), "{answer}");

    let config = json!({"summary_ratio": 0.5, "preserve_recent_messages": 2, "summarizer": "caller"});
    bridge.ask(&json!({"op": "open", "id": "caller", "manager": "summarizing", "config": config}));
    let asked = bridge.ask(&json!({"op": "reduce", "id": "caller", "messages": talk(8), "cause": null}));
    assert_eq!((&asked["remove"], asked["summarize"].as_array().unwrap().len()), (&json!([0, 1, 2, 3]), 4));
    let state = bridge.ask(&json!({"op": "state", "id": "caller"}))["state"].clone();
    assert_eq!(state["removed_message_count"], 0, "nothing is counted before the summary is there");
    let done = bridge.ask(&json!({"op": "summary", "id": "caller", "message": text("user", "Summary")}));
    assert_eq!((texts(&done)[0].as_str(), &done["state"]["removed_message_count"]), ("Summary", &json!(4)));
    let twice = json!({"op": "summary", "id": "caller", "message": text("user", "Summary")});
    assert_eq!(bridge.refused(&twice), "no_summary_due");
}

#[test]
fn no_summary_of_a_list_holds_what_is_excluded() {
    let mut bridge = Bridge::start(&[]);
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "summarizing", "config": {"preserve_recent_messages": 2, "summary_ratio": 0.8}}));
    let mut list = talk(10);
    list[2] = text("user", "Keep this out of all summaries: the code is QX-4471.");
    list[3] = text("assistant", "QX-4471 is noted, and the ferry leaves on Monday from the harbour as you asked.");
    let answer = bridge.ask(&json!({"op": "reduce", "id": 0, "messages": list, "cause": "overflow"}));
    assert!(!answer["messages"].to_string().contains("4471"), "{answer}");
}

#[test]
fn a_restore_runs_no_second_summary_and_pins_survive_it() {
    let mut bridge = Bridge::start(&[]);
    let config = json!({"summary_ratio": 0.5, "preserve_recent_messages": 2, "summarizer": "caller", "pin_first": 1});
    let open = |id: u32| json!({"op": "open", "id": id, "manager": "summarizing", "config": config});
    bridge.ask(&open(1));
    bridge.ask(&json!({"op": "reduce", "id": 1, "messages": talk(8), "cause": "overflow"}));
    let done = bridge.ask(&json!({"op": "summary", "id": 1, "message": text("user", "Paid for")}));
    bridge.ask(&open(2));
    let restored = bridge.ask(&json!({"op": "restore", "id": 2, "state": done["state"]}));
    assert_eq!(texts(&restored), ["Message 0 of a talk about the weather.", "Paid for"]);
    assert_eq!(restored["session_offset"], 4, "three removed and one pinned stand before the rest of the session");
    let list: Vec<_> = restored["messages"].as_array().unwrap().iter().cloned().chain(talk(8).split_off(4)).collect();
    let applied = bridge.ask(&json!({"op": "apply", "id": 2, "messages": list}));
    assert_eq!(applied["messages"], done["messages"]);
    let state = &applied["state"]["data"];
    assert_eq!((&state["pin_first_applied"], state["lifted"].as_array().unwrap().len()), (&json!(true), 1));
}

#[test]
fn errors_are_answers_with_a_code_and_the_bridge_goes_on() {
    let mut bridge = Bridge::start(&["--max-line", "1"]);
    for (line, code) in [
        ("{", "malformed"),
        ("[]", "malformed"),
        ("\u{0}", "malformed"),
        (r#"{"op": "fly"}"#, "malformed"),
        (r#"{"op": "state"}"#, "malformed"),
        (r#"{"op": "state", "id": 9}"#, "not_open"),
        (r#"{"op": "open", "id": 1, "manager": "other"}"#, "unknown_manager"),
        (r#"{"op": "open", "id": 1, "manager": "sliding-window", "config": {"per_turn": 0}}"#, "invalid_config"),
        (r#"{"op": "open", "id": 1, "manager": "summarizing", "config": {"summary_ratio": 0.95}}"#, "invalid_config"),
        (r#"{"op": "open", "id": 1, "manager": "summarizing", "config": {"summarizer": "nobody"}}"#, "invalid_config"),
        (r#"{"op": "split", "messages": [], "split": 3}"#, "split_beyond_end"),
    ] {
        let answer = bridge.send(line);
        assert_eq!(answer["error"], code, "{line}: {answer}");
        assert!(!answer["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(bridge.send(&format!(r#"{{"op": "{}"}}"#, "x".repeat(2 << 20)))["error"], "too_long");
    bridge.ask(&json!({"op": "open", "id": 1, "manager": "none"}));
    assert_eq!(
        bridge.refused(&json!({"op": "reduce", "id": 1, "messages": talk(2), "cause": "overflow"})),
        "not_managed"
    );
    bridge.ask(&json!({"op": "reduce", "id": 1, "messages": talk(2)}));
    bridge.ask(&json!({"op": "open", "id": 2, "manager": "sliding-window", "config": {"window_size": 3}}));
    bridge.ask(&json!({"op": "open", "id": 3, "manager": "summarizing"}));
    let state = bridge.ask(&json!({"op": "state", "id": 2}))["state"].clone();
    assert_eq!(bridge.refused(&json!({"op": "restore", "id": 3, "state": state})), "other_manager");
    assert_eq!(bridge.refused(&json!({"op": "restore", "id": 3, "state": {}})), "invalid_state");
    assert_eq!(
        bridge.refused(&json!({"op": "reduce", "id": 3, "messages": talk(3), "cause": "x"})),
        "insufficient_messages"
    );
    bridge.ask(&json!({"op": "close", "id": 3}));
    assert_eq!(bridge.refused(&json!({"op": "close", "id": 3})), "not_open");
    bridge.end();
}

#[test]
fn compaction_that_cannot_shrink_says_so_once_and_asks_for_no_summary() {
    let mut bridge = Bridge::start(&[]);
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "summarizing", "config": {"summarizer": "caller"}}));
    let mut list = json!(talk(40));
    let mut lengths = Vec::new();
    loop {
        let answer = bridge.ask(&json!({"op": "reduce", "id": 0, "messages": list}));
        if answer.get("summarize").is_none() {
            assert_eq!(answer["notices"][0]["code"], "exhausted");
            break;
        }
        let id = format!("summary {}", lengths.len());
        let done = bridge.ask(&json!({"op": "summary", "id": 0, "message": known(&id, "user", "S")}));
        list = done["messages"].clone();
        lengths.push(list.as_array().unwrap().len());
    }
    assert_eq!(lengths, [29, 22, 17, 13, 11]);
    let silent = bridge.ask(&json!({"op": "reduce", "id": 0, "messages": list}));
    assert_eq!((&silent["notices"], &silent["messages"]), (&json!([]), &list));
    assert_eq!(bridge.refused(&json!({"op": "reduce", "id": 0, "messages": list, "cause": "overflow"})), "exhausted");
}

/// Text of turn `turn`, long enough to fill a small budget.
fn remark(turn: usize) -> String {
    format!("Remark {turn}: a long walk along the river, past the market and the old town hall, before dinner. ")
        .repeat(3)
}

/// One turn of an agent: the user asks, the model replies.
fn turn(bridge: &mut Bridge, list: &mut Vec<Value>, turn: usize, said: &str) {
    list.push(known(&format!("u{turn}"), "user", said));
    let before = bridge.ask(&json!({"op": "before_model", "id": 0, "messages": list}));
    *list = before["messages"].as_array().unwrap().clone();
    list.push(known(&format!("a{turn}"), "assistant", &format!("Answer {turn}.")));
    let after = bridge.ask(&json!({"op": "apply", "id": 0, "messages": list}));
    *list = after["messages"].as_array().unwrap().clone();
}

fn open_stored(bridge: &mut Bridge, manager: &str) {
    let config = json!({"conversation": "trip", "budget": 900});
    bridge.ask(&json!({"op": "open", "id": 0, "manager": manager, "config": config}));
}

/// The texts of the log.
fn logged(store: &Store) -> Vec<String> {
    let shown = store.json(&["show", "trip", "1-1000", "--limit", "1000"]);
    let text = |node: &Value| {
        node["message"]["content"].as_str().map(str::to_owned).unwrap_or_else(|| node["message"]["content"].to_string())
    };
    shown["messages"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn the_log_has_every_message_once_and_a_killed_agent_goes_on() {
    for manager in ["hierarchical", "semantic"] {
        let store = Store::new();
        let mut bridge = Bridge::over(&store);
        open_stored(&mut bridge, manager);
        let mut list = Vec::new();
        turn(&mut bridge, &mut list, 0, "My locker has the number QX-4471 and opens with the blue key.");
        for number in 1..12 {
            turn(&mut bridge, &mut list, number, &remark(number));
        }
        bridge.kill();

        let mut bridge = Bridge::over(&store);
        open_stored(&mut bridge, manager);
        list = bridge.ask(&json!({"op": "resume", "id": 0}))["messages"].as_array().unwrap().clone();
        for number in 12..20 {
            turn(&mut bridge, &mut list, number, &remark(number));
        }
        // The same list again: nothing is appended twice.
        bridge.ask(&json!({"op": "apply", "id": 0, "messages": list}));
        list.push(known("last", "user", "What number has my locker?"));
        let asked = bridge.ask(&json!({"op": "before_model", "id": 0, "messages": list}));
        let last = asked["messages"].as_array().unwrap().last().unwrap().clone();
        assert!(last.to_string().contains("QX-4471"), "{manager}: {last:#}");
        assert!(
            last["content"]
                .as_array()
                .unwrap()
                .iter()
                .any(|block| block.to_string().contains("What number has my locker?"))
        );
        assert_eq!(last["tracking_id"], "last");
        bridge.end();

        let found = logged(&store);
        let expected: Vec<_> = (0..20)
            .flat_map(|number| {
                let said = if number == 0 {
                    "My locker has the number QX-4471 and opens with the blue key.".to_owned()
                } else {
                    remark(number)
                };
                [said, format!("Answer {number}.")]
            })
            .chain(["What number has my locker?".to_owned()])
            .collect();
        assert_eq!(found, expected, "{manager}: clean words, each once");
    }
}

#[test]
fn a_view_takes_the_place_of_a_list_that_is_too_long_and_is_never_appended() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    open_stored(&mut bridge, "hierarchical");
    let mut list = Vec::new();
    let mut longest = 0;
    for number in 0..30 {
        turn(&mut bridge, &mut list, number, &remark(number));
        longest = longest.max(json!(list).to_string().len());
    }
    assert!(longest < 15_000, "{longest}: the list stays within its budget");
    let roles: Vec<_> = list.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles[0], "user");
    assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
    bridge.end();
    assert_eq!(logged(&store).len(), 60);
}

#[test]
fn trap_d_one_oversized_message_is_reduced_and_the_log_has_it_whole() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    open_stored(&mut bridge, "hierarchical");
    let huge = "The whole report, line after line, without an end in sight. ".repeat(400);
    let list = [known("1", "user", &huge)];
    let reduced = bridge.ask(&json!({"op": "reduce", "id": 0, "messages": list, "cause": "overflow"}));
    assert!(reduced["messages"].to_string().len() < huge.len() / 4);
    bridge.end();
    assert_eq!(logged(&store), [huge]);
}

#[test]
fn a_log_that_ends_in_a_tool_use_resumes() {
    let store = Store::new();
    let call = json!({"role": "assistant", "tracking_id": "c", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}]});
    for filler in [2, 20] {
        let store = if filler == 2 { &store } else { &Store::new() };
        let mut bridge = Bridge::over(store);
        open_stored(&mut bridge, "hierarchical");
        let mut list = Vec::new();
        for number in 0..filler {
            turn(&mut bridge, &mut list, number, &remark(number));
        }
        list.extend([known("q", "user", "Look it up."), call.clone()]);
        let kept = bridge.ask(&json!({"op": "apply", "id": 0, "messages": list}));
        assert_eq!(kept["messages"].as_array().unwrap().last().unwrap()["content"], call["content"]);
        bridge.kill();
        let mut bridge = Bridge::over(store);
        open_stored(&mut bridge, "hierarchical");
        let resumed = bridge.ask(&json!({"op": "resume", "id": 0}))["messages"].clone();
        let last = resumed.as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["content"], call["content"], "after {filler} turns");
        let mut list = resumed.as_array().unwrap().clone();
        list.push(json!({"role": "user", "tracking_id": "r", "content": [
            {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "found"}]}}]}));
        let answered = bridge.ask(&json!({"op": "before_model", "id": 0, "messages": list}));
        assert!(answered["messages"].to_string().contains("toolResult"));
        bridge.end();
    }
}

#[test]
fn messages_of_a_stored_manager_need_an_id() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    open_stored(&mut bridge, "semantic");
    assert_eq!(bridge.refused(&json!({"op": "apply", "id": 0, "messages": talk(1)})), "no_tracking_id");
    let config = json!({"op": "open", "id": 1, "manager": "semantic", "config": {"conversation": "a b"}});
    assert_eq!(bridge.refused(&config), "invalid_config");
}

#[test]
fn a_session_is_kept_in_the_log_and_read_by_another_process() {
    let store = Store::new();
    let of = |request: Value| {
        let mut request = request;
        request["session_id"] = "s 1".into();
        request
    };
    let record = |id: u64, message: Value| {
        json!({"message": message, "message_id": id, "redact_message": null,
        "created_at": "2026-11-25T10:00:00.123456+00:00", "updated_at": "2026-11-25T10:00:00.123456+00:00"})
    };
    let said =
        json!({"role": "user", "tracking_id": "m0", "content": [{"text": "hi"}, {"cachePoint": {"type": "default"}}]});
    let mut bridge = Bridge::over(&store);
    assert_eq!(bridge.ask(&of(json!({"op": "read_session"})))["session"], Value::Null);
    let agent = of(json!({"op": "create_agent", "agent_id": "a", "agent": {"state": 1}}));
    assert_eq!(bridge.refused(&agent), "no_session");
    let session = of(json!({"op": "create_session", "session": {"session_id": "s 1", "session_type": "AGENT"}}));
    bridge.ask(&session);
    assert_eq!(bridge.refused(&session), "session_exists");
    bridge.ask(&agent);
    bridge.ask(&of(json!({"op": "create_message", "agent_id": "a", "message": record(0, said.clone())})));
    bridge.ask(&of(
        json!({"op": "create_message", "agent_id": "a", "message": record(1, known("m1", "assistant", "hello"))}),
    ));
    let gap = of(json!({"op": "create_message", "agent_id": "a", "message": record(1, known("other", "user", "x"))}));
    assert_eq!(bridge.refused(&gap), "message_exists");
    bridge.kill();

    let mut bridge = Bridge::over(&store);
    bridge.ask(&of(json!({"op": "update_agent", "agent_id": "a", "agent": {"state": 2}})));
    assert_eq!(bridge.ask(&of(json!({"op": "read_agent", "agent_id": "a"})))["agent"], json!({"state": 2}));
    let mut changed = record(0, said.clone());
    changed["redact_message"] = text("user", "redacted");
    let all =
        |bridge: &mut Bridge| bridge.ask(&of(json!({"op": "list_messages", "agent_id": "a"})))["messages"].clone();
    assert_eq!(all(&mut bridge)[0], record(0, said.clone()));
    bridge.ask(&of(json!({"op": "update_message", "agent_id": "a", "message": changed})));
    assert_eq!(all(&mut bridge)[0], changed);
    let one = bridge.ask(&of(json!({"op": "list_messages", "agent_id": "a", "limit": 1, "offset": 1})));
    assert_eq!(one["messages"].as_array().unwrap().len(), 1);
    assert_eq!(one["messages"][0]["message"], known("m1", "assistant", "hello"));
    bridge.ask(&of(json!({"op": "write_multi_agent", "multi_agent_id": "graph", "state": {"done": [1]}})));
    let read = bridge.ask(&of(json!({"op": "read_multi_agent", "multi_agent_id": "graph"})));
    assert_eq!(read["state"], json!({"done": [1]}));
    let missing = bridge.ask(&of(json!({"op": "read_message", "agent_id": "a", "message_id": 9})));
    assert_eq!(missing["message"], Value::Null);
    bridge.end();
}

#[test]
fn every_request_is_in_the_manual_and_no_other() {
    const MANUAL: &str = include_str!("../../../docs/strands.md");
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let described: BTreeSet<_> = rows.filter(|name| !name.contains(' ')).collect();
    let mut bridge = Bridge::start(&[]);
    let complaint = bridge.send(r#"{"op": "?"}"#)["message"].as_str().unwrap().to_owned();
    let known: BTreeSet<_> = complaint.split('`').skip(3).step_by(2).collect();
    assert!(known.len() > 10 && known.is_subset(&described), "{known:?} {described:?}");
}

/// A conversation long enough to be summarized, with ids.
fn long_talk(count: usize) -> Vec<Value> {
    let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
    let said = |index: usize| {
        format!(
            "Turn {index}: we spoke of the ferries, of the market and of what had to be mended before the winter came. "
        )
        .repeat(3)
    };
    (0..count).map(|index| known(&format!("m{index}"), role(index), &said(index))).collect()
}

/// Sends a request, and sends `reply` to each question. Returns the final answer and the questions.
fn asking(bridge: &mut Bridge, request: &Value, reply: &Value) -> (Value, Vec<Value>) {
    let (mut asked, mut answer) = (Vec::new(), bridge.ask(request));
    while answer.get("ask").is_some() {
        asked.push(answer["ask"].take());
        let mut replied = reply.clone();
        replied["op"] = "reply".into();
        answer = bridge.ask(&replied);
    }
    (answer, asked)
}

#[test]
fn the_model_of_the_caller_writes_the_summaries_of_a_conversation_where_that_is_chosen() {
    let store = Store::new();
    let over = |more: &[&str]| {
        Bridge::start(&[&["--store", &store.path("store"), "--words-only", "--summarizer", "caller"], more].concat())
    };
    let mut bridge = over(&["--caller-model", "mocked", "--caller-requests", "12"]);
    let open = |name: &str| json!({"op": "open", "id": 0, "manager": "hierarchical", "config": {"conversation": name, "budget": 1000}});
    bridge.ask(&open("talk"));
    let apply = json!({"op": "apply", "id": 0, "messages": long_talk(40)});
    let reply = json!({"message": text("assistant", "They spoke of the ferries.")});
    let (answer, asked) = asking(&mut bridge, &apply, &reply);
    assert!((12..=24).contains(&asked.len()), "what is due, and what makes the view fit: {}", asked.len());
    assert!(answer["messages"].to_string().contains("They spoke of the ferries."), "{answer}");
    let first = asked[0]["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("---Previous Context---\n[Message 1, user]: Turn 0: "), "{first}");
    assert!(asked[0]["system"].as_str().unwrap().contains("It is data."), "{}", asked[0]);
    // Another process asks for none of them again.
    bridge.end();
    let mut bridge = over(&[]);
    bridge.ask(&open("talk"));
    let (_, asked) = asking(&mut bridge, &json!({"op": "resume", "id": 0}), &reply);
    let again = json!({"op": "apply", "id": 0, "messages": long_talk(40)});
    let (_, more) = asking(&mut bridge, &again, &reply);
    assert_eq!((asked.len(), more.len()), (0, 0));
    bridge.end();
}

#[test]
fn a_caller_that_fails_or_says_something_else_stops_nothing() {
    let store = Store::new();
    let mut bridge = Bridge::start(&["--store", &store.path("store"), "--words-only", "--summarizer", "caller"]);
    assert_eq!(bridge.refused(&json!({"op": "reply", "error": "why?"})), "nothing_asked");
    for (name, reply) in [
        ("fails", json!({"error": "no model is there"})),
        ("overflows", json!({"overflow": true})),
        ("refuses", json!({"message": text("assistant", "I cannot help with that.")})),
        ("nonsense", json!({"message": {"role": "assistant", "content": 7}})),
    ] {
        bridge.ask(
            &json!({"op": "open", "id": 0, "manager": "semantic", "config": {"conversation": name, "budget": 1000}}),
        );
        let apply = json!({"op": "apply", "id": 0, "messages": long_talk(40)});
        let (answer, asked) = asking(&mut bridge, &apply, &reply);
        assert!((1..100).contains(&asked.len()), "{name}: {}", asked.len());
        assert!(answer["messages"].to_string().contains("ferries"), "{name}: {answer}");
    }
    // A question waits for its reply, and other requests are refused.
    bridge.ask(
        &json!({"op": "open", "id": 0, "manager": "hierarchical", "config": {"conversation": "waits", "budget": 1000}}),
    );
    let asked = bridge.ask(&json!({"op": "apply", "id": 0, "messages": long_talk(40)}));
    assert!(asked.get("ask").is_some(), "{asked}");
    assert_eq!(bridge.refused(&json!({"op": "state", "id": 0})), "reply_expected");
    assert_eq!(bridge.send("nonsense")["error"], "malformed");
    // The bridge ends while it waits for a reply, and the log has all messages.
    bridge.end();
    let shown = store.json(&["show", "waits", "1-40", "--limit", "40"]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 40);
}

#[test]
fn without_that_choice_nothing_is_asked() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    bridge.ask(
        &json!({"op": "open", "id": 0, "manager": "hierarchical", "config": {"conversation": "talk", "budget": 1000}}),
    );
    let answer = bridge.ask(&json!({"op": "apply", "id": 0, "messages": long_talk(40)}));
    assert!(answer.get("ask").is_none() && answer["messages"].is_array(), "{answer}");
    bridge.end();
}

fn item(text: &str) -> Value {
    let role = if text.ends_with('?') { "user" } else { "assistant" };
    let message = json!({"role": role, "content": [{"text": text}]});
    json!({"item": {"role": role, "content": text, "n": 1.50}, "message": message, "key": text})
}

fn listed(bridge: &mut Bridge, limit: Option<u64>) -> Vec<String> {
    let answer = bridge.ask(&json!({"op": "list_items", "conversation": "talk", "limit": limit}));
    answer["items"].as_array().unwrap().iter().map(|item| item["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_of_items_is_kept_in_the_log_and_what_leaves_it_is_recorded() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    assert_eq!(listed(&mut bridge, None), [""; 0]);
    let items: Vec<_> = ["What is on Tuesday?", "The dentist.", "And on Friday?", "Nothing."].map(item).into();
    let add = json!({"op": "add_items", "conversation": "talk", "items": items});
    bridge.ask(&add);
    // The client repeats a request, as if its answer was lost.
    bridge.ask(&add);
    assert_eq!(listed(&mut bridge, Some(2)), ["And on Friday?", "Nothing."]);
    let pop = json!({"op": "pop_item", "conversation": "talk"});
    assert_eq!(bridge.ask(&pop)["item"], items[3]["item"]);
    bridge.kill();

    let mut again = Bridge::over(&store);
    assert_eq!(listed(&mut again, None), ["What is on Tuesday?", "The dentist.", "And on Friday?"]);
    assert_eq!(again.ask(&pop)["item"]["content"], "And on Friday?");
    again.ask(&json!({"op": "clear_items", "conversation": "talk"}));
    assert_eq!(again.ask(&pop)["item"], Value::Null);
    again.ask(&json!({"op": "add_items", "conversation": "talk", "items": [item("Who is there?")]}));
    assert_eq!(listed(&mut again, None), ["Who is there?"]);
    assert_eq!(again.refused(&json!({"op": "add_items", "conversation": "talk", "items": [{"item": 1}]})), "malformed");
    again.end();

    // The log still has every item, including removed ones.
    for text in ["The dentist.", "Nothing.", "Who is there?"] {
        assert!(store.succeed(&["find", "-c", "talk", text]).contains(text), "{text}");
    }
}

#[test]
fn notes_are_found_and_counted_only_where_they_are_named() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    bridge.ask(&json!({"op": "create_session", "session_id": "trip", "session": {"note": "zeppelin"}}));
    bridge.ask(&json!({"op": "create_agent", "session_id": "trip", "agent_id": "a", "agent": {"state": "zeppelin"}}));
    let record = json!({"message_id": 0, "message": text("user", "A walk along the river.")});
    bridge.ask(&json!({"op": "create_message", "session_id": "trip", "agent_id": "a", "message": record}));
    let item = |key: &str| json!({"item": {"n": key}, "message": text("user", "An item of a list."), "key": key});
    bridge.ask(&json!({"op": "add_items", "conversation": "list", "items": [item("1"), item("2")]}));
    assert_eq!(bridge.ask(&json!({"op": "pop_item", "conversation": "list"}))["item"]["n"], "2");
    // Another process continues from the state that this one has kept.
    let mut other = Bridge::over(&store);
    assert_eq!(other.ask(&json!({"op": "read_session", "session_id": "trip"}))["session"]["note"], "zeppelin");
    assert_eq!(other.ask(&json!({"op": "list_items", "conversation": "list"}))["items"].as_array().unwrap().len(), 1);
    let again = json!({"op": "create_session", "session_id": "trip", "session": {}});
    assert_eq!(other.refused(&again), "session_exists");
    other.ask(&json!({"op": "clear_items", "conversation": "list"}));
    other.end();
    assert_eq!(bridge.ask(&json!({"op": "list_items", "conversation": "list"}))["items"], json!([]));
    bridge.end();
    let names = |value: &Value| -> BTreeSet<String> {
        let of = value["conversations"].as_array().unwrap_or_else(|| panic!("{value:#}"));
        of.iter().map(|one| one["conversation"].as_str().unwrap_or_else(|| one.as_str().unwrap()).to_owned()).collect()
    };
    let spoken = BTreeSet::from(["list".to_owned(), "strands:trip:a".to_owned()]);
    assert_eq!(names(&store.json(&["list"])), spoken);
    assert_eq!(names(&store.json(&["stats"])), spoken);
    assert_eq!(names(&store.json(&["list", "--archived"])), spoken);
    let hits =
        |args: &[&str]| store.json(&[&["search"], args, &["zeppelin"]].concat())["hits"].as_array().unwrap().len();
    assert_eq!(hits(&["--all"]), 0, "no search over all finds what is kept");
    assert!(hits(&["-c", "strands-documents:trip"]) > 0, "one that names it does");
    let found = store.command(&["find", "zeppelin"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&found.stdout).contains("zeppelin"), "{found:?}");
    let shown = store.succeed(&["context", "-c", "list", "--scope", "all", "Where is the zeppelin?"]);
    assert!(!shown.replace("Where is the zeppelin?", "").contains("zeppelin"), "{shown}");
    // A copy of everything has it.
    let all = store.json(&["export", "--all", "-o", &store.path("all")]);
    assert_eq!(all["exported"].as_array().unwrap().len(), 3, "{all:#}");
}

/// A store of a version that kept notes as messages, with a session and a list of which an item was popped.
fn old_store() -> Store {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/tests/golden/format-1-documents");
    let store = Store::new();
    std::fs::create_dir_all(store.path("store/log")).unwrap();
    for file in ["FORMAT", "log/0001.seg"] {
        std::fs::copy(golden.join(file), store.path(&format!("store/{file}"))).unwrap();
    }
    store
}

#[test]
fn documents_of_an_old_store_are_the_same_before_and_after_a_vacuum() {
    let store = old_store();
    let read = || {
        let mut bridge = Bridge::over(&store);
        let mut ask = |request: Value| bridge.ask(&request);
        let answers = [
            ask(json!({"op": "read_session", "session_id": "trip"})),
            ask(json!({"op": "read_agent", "session_id": "trip", "agent_id": "a"})),
            ask(json!({"op": "list_messages", "session_id": "trip", "agent_id": "a"})),
            ask(json!({"op": "list_items", "conversation": "list"})),
        ];
        bridge.end();
        answers
    };
    let before = read();
    assert_eq!(before[0]["session"]["session_type"], "AGENT");
    assert_eq!(before[1]["agent"]["state"]["step"], 2);
    assert_eq!(before[2]["messages"][0]["message"]["content"][0]["text"], "A walk along the [redacted].");
    assert_eq!(before[3]["items"].as_array().unwrap().len(), 3);
    let listed = |args: &[&str]| store.json(args)["conversations"].as_array().unwrap().len();
    assert_eq!((listed(&["list"]), listed(&["list", "--archived"])), (2, 2));
    let report = store.json(&["vacuum"]);
    assert_eq!(report["noted"], 14, "{report:#}");
    assert_eq!(read(), before);
    assert_eq!((listed(&["list"]), listed(&["stats"])), (2, 2));
    assert_eq!(store.json(&["vacuum"])["noted"], 0);
    // The list still lacks its retracted items, and continues in its own conversation.
    let mut bridge = Bridge::over(&store);
    assert_eq!(bridge.ask(&json!({"op": "pop_item", "conversation": "list"}))["item"]["n"], "3");
    bridge.end();
    let mut bridge = Bridge::over(&store);
    let left = bridge.ask(&json!({"op": "list_items", "conversation": "list"}));
    assert_eq!(left["items"], json!([{"n": "1"}, {"n": "2"}]));
    bridge.end();
    assert!(store.succeed(&["verify"]).contains("verified 6 of 6 nodes"));
}

#[test]
fn an_export_of_documents_is_imported_as_notes() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/tests/golden/export-1-documents.jsonl");
    let store = Store::new();
    for new in [8, 0] {
        let imported = store.json(&["import", golden.to_str().unwrap()]);
        let row = &imported["conversations"][0];
        assert_eq!((&row["nodes"], &row["notes"], &row["new_notes"]), (&json!(0), &json!(8), &json!(new)), "{row:#}");
    }
    let hits = store.json(&["search", "-c", "memory-notes", "Where is the hotel booked?"]);
    assert!(hits["hits"][0]["text"].as_str().unwrap().contains("Seagull"), "{hits:#}");
}

#[test]
fn a_bridge_backs_its_store_up_where_a_directory_is_configured() {
    let store = Store::new();
    let backup = store.path("backup");
    let mut bridge = Bridge::start(&["--store", &store.path("store"), "--words-only", "--backup-directory", &backup]);
    bridge.ask(&json!({"op": "append", "conversation": "trip", "message": {"role": "user", "content": "Bring tea."}}));
    // The backup is made in the background; the test's own deadline ends the wait.
    while !Path::new(&backup).join("MANIFEST").exists() {
        std::thread::yield_now();
    }
    bridge.end();
    store.succeed(&["restore", &backup, &store.path("restored")]);
}
