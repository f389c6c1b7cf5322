//! Exports of chat applications.

use std::io::Write;

use memory_core::{ContentBlock, Media};
use memory_transcripts::Why;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::support::{Files, read};

fn zipped(files: &[(&str, String)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn node(id: &str, parent: Option<&str>, role: &str, content: Value) -> (String, Value) {
    let message = json!({"id": id, "author": {"role": role, "name": null, "metadata": {}}, "create_time": 1_709_370_840.25,
                         "content": content, "status": "finished_successfully", "end_turn": true, "weight": 1.0,
                         "recipient": "all", "metadata": {"model_slug": "gpt-5"}});
    (id.to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
}

fn text(text: &str) -> Value {
    json!({"content_type": "text", "parts": [text]})
}

fn chatgpt() -> Value {
    let mut call =
        node("c", Some("q2"), "assistant", json!({"content_type": "code", "language": "python", "text": "1+1"}));
    call.1["message"]["recipient"] = "python".into();
    let mut output = node("o", Some("c"), "tool", json!({"content_type": "execution_output", "text": "2"}));
    output.1["message"]["author"]["name"] = "python".into();
    let mut hidden = node("s", Some("root"), "system", text("You are"));
    hidden.1["message"]["metadata"]["is_visually_hidden_from_conversation"] = true.into();
    let mut picture = node(
        "q2",
        Some("a1"),
        "user",
        json!({"content_type": "multimodal_text", "parts": [
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "width": 3}, "What is this?"]}),
    );
    picture.1["message"]["metadata"]["attachments"] = json!([{"id": "file_1", "name": "p.png"}, {"id": "file_2", "name": "plan.pdf", "mime_type": "application/pdf"}]);
    let nodes = [
        ("root".to_owned(), json!({"id": "root", "parent": null, "children": ["s"], "message": null})),
        hidden,
        node("q1", Some("s"), "user", text("Hello.")),
        node("a1", Some("q1"), "assistant", text("Hi, Ana.")),
        node("a1b", Some("q1"), "assistant", text("Good day.")),
        picture,
        node(
            "t",
            Some("q2"),
            "assistant",
            json!({"content_type": "thoughts", "thoughts": [{"summary": "See", "content": "A plan."}]}),
        ),
        call,
        output,
        node("w", Some("o"), "assistant", json!({"content_type": "hologram", "x": 1})),
        node("a2", Some("w"), "assistant", text("It is 2.")),
        ("loop1".to_owned(), json!({"id": "loop1", "parent": "loop2", "children": ["loop2"], "message": null})),
        ("loop2".to_owned(), json!({"id": "loop2", "parent": "loop1", "children": ["loop1"]})),
    ];
    json!({"id": "chat-1", "conversation_id": "chat-1", "title": "A  plan\n", "create_time": 1_709_370_840.1,
           "update_time": 1.0, "current_node": "a2", "mapping": nodes.into_iter().collect::<serde_json::Map<_, _>>()})
}

#[test]
fn a_chatgpt_export_follows_the_current_node_and_forks_the_other_leaves() {
    let files = Files::new();
    let second = json!({"conversation_id": "chat-2", "title": null, "mapping": {}, "current_node": null});
    let export = json!([chatgpt(), second]).to_string();
    let path =
        files.write("export.zip", zipped(&[("conversations.json", export.clone()), ("chat.html", "x".to_owned())]));
    let zip = read(&path);
    assert_eq!(zip.all(), read(&files.write("conversations.json", &export)).all());
    let main = zip.texts("chat-1");
    assert_eq!(main[..2], ["user: Hello.", "assistant: Hi, Ana."]);
    assert_eq!(main[2], "user: [image: sediment://file_1]\nWhat is this?\n[document: plan.pdf, file_2]");
    assert_eq!(main[3..5], ["assistant: python({\"input\":\"1+1\"})", "tool: 2"]);
    assert_eq!(main[6], "assistant: It is 2.");
    let (call, output) = (&zip.messages["chat-1"][3].message, &zip.messages["chat-1"][4].message);
    assert!(call.tool_calls().eq(output.tool_results()));
    assert_eq!(zip.titles["chat-1"], "A plan");
    assert_eq!(zip.messages["chat-1"][0].at.unwrap().as_millis(), 1_709_370_840_250);
    assert_eq!(zip.messages["chat-1"][1].message.model().as_deref(), Some("gpt-5"));
    let fork = |id: &str, after: &str| (format!("chat-1-{id}"), "chat-1".to_owned(), after.to_owned());
    assert_eq!(zip.forks(), [fork("a1b", "q1"), fork("t", "q2")]);
    assert_eq!(zip.texts("chat-1-t"), ["assistant: See\nA plan."]);
    assert!(matches!(zip.messages["chat-1-t"][0].message.content[0], ContentBlock::Reasoning { .. }));
    let expected = [
        (Why::Unknown, "content hologram (kept as it came)", 1),
        (Why::Broken, "node of a cycle", 2),
        (Why::Note, "hidden message", 1),
        (Why::Empty, "conversation without messages", 1),
        (Why::OtherFile, "chat.html", 1),
    ];
    assert_eq!(zip.skipped(), expected.map(|(why, what, count)| (why, what.to_owned(), count)));
}

fn claude() -> Value {
    let said = |uuid: &str, parent: &str, sender: &str, more: Value| {
        let mut said = json!({"uuid": uuid, "sender": sender, "text": "", "content": [], "created_at": "2026-03-02T09:14:00.250000Z",
                              "updated_at": "x", "attachments": [], "files": [], "parent_message_uuid": parent});
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said
    };
    let block = |kind: &str, more: Value| {
        let mut block = json!({"type": kind, "start_timestamp": "a", "stop_timestamp": "b", "flags": null});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        block
    };
    let question = said(
        "m1",
        "00000000-0000-4000-8000-000000000000",
        "human",
        json!({
        "text": "What is in it?", "content": [block("text", json!({"text": "What is in it?", "citations": []}))],
        "attachments": [{"file_name": "plan.txt", "file_size": 4, "file_type": "txt", "extracted_content": "Oslo"}],
        "files": [{"file_name": "plan.txt"}, {"file_name": "p.png", "file_uuid": "f-1"}]}),
    );
    let answer = said(
        "m2",
        "m1",
        "assistant",
        json!({"content": [
            block("thinking", json!({"thinking": "Search twice.", "summaries": [{"summary": "s"}], "cut_off": false})),
            block("tool_use", json!({"name": "search", "input": {"q": "a"}, "integration_name": "Web"})),
            block("tool_use", json!({"name": "fetch", "input": {"u": "b"}})),
            block("tool_result", json!({"name": "fetch", "content": [{"type": "text", "text": "page"}], "is_error": true})),
            block("tool_result", json!({"name": "search", "content": [{"type": "text", "text": "hits"}], "is_error": false})),
            block("token_budget", json!({})),
            block("text", json!({"text": "Oslo.", "citations": [{"url": "u"}]})),
        ]}),
    );
    json!({"uuid": "conv-1", "name": "Trip", "summary": "x", "created_at": "t", "updated_at": "t", "account": {"uuid": "a"},
           "chat_messages": [question, answer,
               said("m3", "m1", "assistant", json!({"text": "Only in text."})),
               said("m4", "m3", "human", json!({})),
               json!({"uuid": 7})]})
}

#[test]
fn a_claude_export_prefers_content_and_pairs_results_by_order_and_name() {
    let files = Files::new();
    let export = json!([claude()]).to_string();
    let path = files.write("data.zip", zipped(&[("conversations.json", export), ("users.json", "[]".to_owned())]));
    let read = read(&path);
    // The last message is on the main path.
    let question = "user: What is in it?\n[document: plan.txt]\nOslo\n[document: p.png, f-1]";
    assert_eq!(read.texts("conv-1"), [question, "assistant: Only in text."]);
    assert_eq!(read.forks(), [("conv-1-m2".to_owned(), "conv-1".to_owned(), "m1".to_owned())]);
    let answers = &read.messages["conv-1-m2"];
    assert_eq!(
        read.texts("conv-1-m2"),
        [
            "assistant: Search twice.\nsearch({\"q\":\"a\"})\nfetch({\"u\":\"b\"})",
            "tool: error:\npage\nhits",
            "assistant: Oslo."
        ]
    );
    let keys: Vec<_> = answers.iter().map(|said| said.message.key.as_ref().unwrap().as_str()).collect();
    assert_eq!(keys, ["m2", "m2.1", "m2.2"]);
    let calls: Vec<_> = answers[0].message.tool_calls().collect();
    assert_eq!(answers[1].message.tool_results().collect::<Vec<_>>(), [calls[1], calls[0]]);
    let document = &read.messages["conv-1"][0].message.content[1];
    assert!(matches!(document, ContentBlock::Document { media: Media::Text { .. }, .. }), "{document:?}");
    let expected = [
        (Why::Unknown, "users.json", 1),
        (Why::Broken, "message", 1),
        (Why::View, "member summary", 1),
        (Why::Note, "token_budget", 1),
        (Why::Empty, "user", 1),
    ];
    assert_eq!(read.skipped(), expected.map(|(why, what, count)| (why, what.to_owned(), count)));
    assert_eq!(read.titles["conv-1"], "Trip");
}

#[test]
fn an_export_with_more_conversations_gives_the_same_of_the_ones_before() {
    let files = Files::new();
    let first = read(&files.write("conversations.json", json!([chatgpt()]).to_string())).all();
    let other = json!({"conversation_id": "chat-0", "mapping": {"x": node("x", None, "user", text("New.")).1}});
    let both = read(&files.write("conversations.json", json!([other, chatgpt()]).to_string())).all();
    assert_eq!(both[1..], first);
}

#[test]
fn a_chat_without_messages_is_counted_and_two_of_one_id_are_two() {
    let files = Files::new();
    let chat = |id: &str, node_id: &str, said: &str| {
        let mapping: serde_json::Map<_, _> = [node(node_id, None, "user", text(said))].into_iter().collect();
        json!({"title": said, "conversation_id": id, "current_node": node_id, "mapping": mapping})
    };
    let empty = json!({"title": "New chat", "conversation_id": "e", "mapping": {}});
    // The third repeats the first.
    let all = json!([chat("x", "n1", "One."), chat("x", "n2", "Two."), chat("x", "n1", "One."), empty]);
    let whole = read(&files.write("conversations.json", all.to_string()));
    assert_eq!(whole.ids(), ["x", "x-2"]);
    assert_eq!((whole.texts("x"), whole.texts("x-2")), (vec!["user: One.".to_owned()], vec!["user: Two.".to_owned()]));
    assert_eq!(whole.skipped(), [(Why::Empty, "conversation without messages".to_owned(), 1)]);
    let chat = |id: &str, said: &str| json!({"uuid": id, "name": said, "chat_messages": [{"uuid": said, "sender": "human", "text": said}]});
    let empty = json!({"uuid": "e", "name": "", "chat_messages": []});
    let all = json!([chat("y", "One."), chat("y", "Two."), empty]);
    let whole = read(&files.write("conversations.json", all.to_string()));
    assert_eq!(whole.ids(), ["y", "y-2"]);
    assert_eq!(whole.skipped(), [(Why::Empty, "conversation without messages".to_owned(), 1)]);
}

#[test]
fn projects_and_memories_of_claude_are_documents() {
    let files = Files::new();
    let memories = json!([{"conversations_memory": "Ana plans a trip.", "project_memories": {"p-1": "On trains."}, "account_uuid": "a"}]);
    let projects = json!([{"uuid": "p-1", "name": "Trip", "prompt_template": "Be short.", "creator": {},
        "docs": [{"uuid": "d-1", "filename": "plan.txt", "content": "Graz", "created_at": "t"}]}]);
    let path = files
        .write("data.zip", zipped(&[("memories.json", memories.to_string()), ("projects.json", projects.to_string())]));
    let read = read(&path);
    assert_eq!(
        read.texts("claude-memory"),
        [
            "assistant: [document: Memory of Claude]\nAna plans a trip.",
            "assistant: [document: Memory of a project]\nOn trains."
        ]
    );
    assert_eq!(read.texts("p-1"), ["user: [document: Instructions]\nBe short.", "user: [document: plan.txt]\nGraz"]);
    assert_eq!(read.titles["p-1"], "Trip");
}

#[test]
fn a_chat_whose_nodes_name_no_parents_is_one_conversation_in_order() {
    let files = Files::new();
    let said = |id: &str, role: &str, words: &str| {
        let (id, mut node) = node(id, None, role, text(words));
        node.as_object_mut().unwrap().retain(|name, _| name != "children");
        (id, node)
    };
    let nodes = [said("n1", "user", "Rain?"), said("n2", "assistant", "No."), said("n3", "user", "Snow?")];
    let chat = |nodes: Vec<(String, Value)>| json!([{"id": "c", "title": "Sky", "mapping": nodes.into_iter().collect::<serde_json::Map<_, _>>()}]);
    let expected = ["user: Rain?", "assistant: No.", "user: Snow?"];
    let read_all = |value: Value| read(&files.write("conversations.json", value.to_string()));
    assert_eq!(read_all(chat(nodes.to_vec())).texts("c"), expected);
    // Or they name only their children.
    let mut turned = nodes;
    turned[0].1["children"] = json!(["n2"]);
    turned[1].1["children"] = json!(["n3"]);
    turned.reverse();
    let read = read_all(chat(turned.to_vec()));
    assert_eq!((read.texts("c"), read.ids().len()), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn thinking_of_which_only_summaries_are_exported_has_their_words() {
    let files = Files::new();
    let content = json!([{"type": "thinking", "thinking": "", "summaries": [{"summary": "A plan."}, {"summary": "A step."}]},
        {"type": "text", "text": "Done."}]);
    let chat = json!([{"uuid": "c", "name": "x", "chat_messages": [{"uuid": "m", "sender": "assistant", "content": content}]}]);
    let read = read(&files.write("conversations.json", chat.to_string()));
    assert_eq!(read.texts("c"), ["assistant: A plan.\nA step.\nDone."]);
}
