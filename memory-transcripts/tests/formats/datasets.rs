//! Training data and collected chats.

use memory_transcripts::{Format, Limits, Why, find};
use serde_json::{Value, json};

use crate::support::{Files, Read, read};

fn of(value: &Value) -> Read {
    let files = Files::new();
    let path = files.write("x.json", value.to_string());
    assert_eq!(find(&path, None, Limits::default()).unwrap().transcripts[0].format(), Format::Dataset, "{value}");
    read(&path)
}

#[test]
fn pairs_of_prompts_and_answers_are_two_messages() {
    let check = |value: Value, expected: &[&str]| assert_eq!(of(&value).texts("x"), expected, "{value}");
    let both = ["user: q", "assistant: a"];
    check(json!({"prompt": "q", "completion": "a"}), &both);
    check(json!({"question": "q", "answer": "a"}), &both);
    check(json!({"instruction": "q", "input": "", "output": "a"}), &both);
    check(json!([{"instruction": "q", "context": "c", "response": "a"}]), &["user: q\n\nc", "assistant: a"]);
    check(json!({"input": [{"role": "user", "content": "q"}], "ideal": "a"}), &both);
    check(json!({"system_prompt": "s", "question": "q", "response": "a"}), &["system: s", "user: q", "assistant: a"]);
    check(
        json!({"instruction": "q", "output": "a", "history": [["q0", "a0"]]}),
        &["user: q0", "assistant: a0", "user: q", "assistant: a"],
    );
    let judged = of(&json!({"prompt": "q", "chosen": "a", "rejected": "b"}));
    assert_eq!(judged.texts("x"), both);
    assert_eq!(judged.skipped(), [(Why::Unknown, "member rejected".to_owned(), 1)]);
}

#[test]
fn chats_of_sharegpt_keep_roles_calls_and_results() {
    let call = json!({"name": "look", "arguments": {"q": 1}}).to_string();
    let read = of(&json!([{"id": "a", "system": "Be short.", "conversations": [
        {"from": "human", "value": "Look."}, {"from": "function_call", "value": call},
        {"from": "observation", "value": "found"}, {"from": "gpt", "value": "Here.", "weight": 1}]},
        {"conversations": [{"from": "human", "value": "Hi."}, {"from": "chatgpt", "value": "Hello."},
        {"from": "wizard", "value": "?"}]}]));
    assert_eq!(
        read.texts("x"),
        ["system: Be short.", "user: Look.", "assistant: look({\"q\":1})", "tool: found", "assistant: Here."]
    );
    let messages = &read.messages["x"];
    assert_eq!(messages[2].message.tool_calls().next(), messages[3].message.tool_results().next());
    assert!(read.metadata("x", 4, "members").contains("weight"));
    assert_eq!(read.texts("x-2"), ["user: Hi.", "assistant: Hello."]);
    assert!(read.skipped().contains(&(Why::Unknown, "message of the role wizard".to_owned(), 1)));
}

#[test]
fn parts_with_values_are_texts_reasoning_and_calls() {
    let part = |kind: &str, value: &str| json!({"type": kind, "value": value});
    let read = of(&json!({"messages": [
        {"role": "user", "content": [part("text", "Look.")]},
        {"role": "assistant", "content": [part("reasoning", "Hm."), part("tool_call", r#"{"name": "look", "arguments": {"q": 1}}"#)]},
        {"role": "tool", "content": [part("text", "found")]},
        {"role": "assistant", "content": [part("text", "Here.")], "loss_weight": 1.0}]}));
    assert_eq!(read.texts("x"), ["user: Look.", "assistant: Hm.\nlook({\"q\":1})", "tool: found", "assistant: Here."]);
    let messages = &read.messages["x"];
    assert_eq!(messages[1].message.tool_calls().next(), messages[2].message.tool_results().next());
    let turn = |from: &str, value: &str| json!({"from": from, "value": value});
    let preferred =
        of(&json!({"conversations": [turn("human", "q")], "chosen": turn("gpt", "a"), "rejected": turn("gpt", "b")}));
    assert_eq!(preferred.texts("x"), ["user: q", "assistant: a"]);
    assert_eq!(preferred.skipped(), [(Why::Unknown, "member rejected".to_owned(), 1)]);
}

#[test]
fn collected_chats_are_named_by_their_ids_and_have_models_and_times() {
    let chat = json!([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi", "toxic": true}]);
    let read = of(
        &json!({"conversation_id": "c-1", "model": "vicuna", "conversation": chat, "turn": 1, "language": "English"}),
    );
    assert_eq!(read.texts("c-1"), ["user: hello", "assistant: hi"]);
    assert_eq!(read.messages["c-1"][1].message.model().as_deref(), Some("vicuna"));
    let wild = of(
        &json!({"conversation_hash": "h-1", "model": "gpt-4", "timestamp": "2023-04-09T00:02:53Z", "conversation": chat, "turn": 1}),
    );
    assert_eq!(wild.messages["h-1"][0].at, "2023-04-09T00:02:53Z".parse().ok());
    let arena = of(
        &json!({"question_id": "q", "model_a": "m1", "model_b": "m2", "winner": "model_a", "tstamp": 1_682_351_591.5,
        "conversation_a": chat, "conversation_b": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "no"}]}),
    );
    assert_eq!((arena.texts("q-a"), arena.texts("q-b").len()), (read.texts("c-1"), 2));
    assert_eq!(arena.messages["q-b"][1].message.model().as_deref(), Some("m2"));
    assert_eq!(arena.messages["q-b"][1].at.unwrap().as_millis(), 1_682_351_591_500);
}

#[test]
fn trees_of_open_assistant_have_branches() {
    let message = |id: &str, parent: Option<&str>, role: &str| json!({"message_id": id, "parent_id": parent, "text": id, "role": role, "lang": "en", "created_date": "2023-02-05T14:23:50Z"});
    let mut root = message("r", None, "prompter");
    let mut first = message("a", Some("r"), "assistant");
    first["replies"] = json!([message("b", Some("a"), "prompter")]);
    root["replies"] = json!([first, message("c", Some("r"), "assistant")]);
    let tree = of(&json!({"message_tree_id": "t", "tree_state": "ready_for_export", "prompt": root}));
    assert_eq!(tree.texts("t"), ["user: r", "assistant: a", "user: b"]);
    assert_eq!(tree.texts("t-c"), ["assistant: c"]);
    assert_eq!(tree.forks(), [("t-c".to_owned(), "t".to_owned(), "r".to_owned())]);
    let flat: Vec<_> = [
        ("r", None, "prompter"),
        ("a", Some("r"), "assistant"),
        ("b", Some("a"), "prompter"),
        ("c", Some("r"), "assistant"),
    ]
    .into_iter()
    .map(|(id, parent, role)| {
        let mut message = message(id, parent, role);
        message["message_tree_id"] = "t".into();
        message
    })
    .collect();
    assert_eq!(of(&flat.into()).all(), tree.all());
}
