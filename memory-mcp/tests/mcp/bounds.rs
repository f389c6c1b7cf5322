//! Bounds of answers in tokens, and the statements of an answer about its parts.

use memory::{Message, Timestamp};
use serde_json::{Value, json};

use crate::support::{BEGUN, Client, Store, everything, say, text, trip};

#[tokio::test]
async fn an_answer_is_within_its_bound_however_long_ids_and_names_are() {
    let store = Store::new();
    let memory = store.memory();
    let long = format!("会話-{}", "x-9_Q.7z".repeat(8));
    for id in [long.as_str(), "110d7c25-ccf3-d0b3-5815-a3d516a91f39"] {
        let message = |number: i64| {
            let message = Message::user(format!("q {number} gate")).speaker(format!("Müller-Lüdenscheidt-{number}"));
            (message, Timestamp::from_millis(BEGUN + number * 60_000))
        };
        memory.conversation(id).unwrap().append_batch((1..=60).map(message).collect()).await.unwrap();
    }
    memory.catch_up().await.unwrap();
    let client = Client::new(&memory, everything()).await;
    for max_tokens in [400, 1_000, 3_000] {
        for id in [long.as_str(), "110d7c25-ccf3-d0b3-5815-a3d516a91f39"] {
            for (name, arguments) in [
                ("search_memory", json!({"query": "gate", "limit": 100, "conversations": [id]})),
                ("find", json!({"pattern": "gate", "conversation_id": id})),
                ("browse_hierarchy", json!({"conversation_id": id})),
                ("browse_hierarchy", json!({"conversation_id": id, "level": 0})),
                ("show_summaries", json!({"conversation_id": id, "start": 1, "end": 60})),
                ("get_recent_nodes", json!({"conversation_id": id, "count": 60})),
                ("list_conversations", json!({})),
            ] {
                let mut arguments = arguments;
                arguments["max_tokens"] = json!(max_tokens);
                let result = client.call(name, arguments).await;
                let as_text = memory.count_tokens(&text(&result));
                let as_json = memory.count_tokens(&result.structured_content.unwrap().to_string());
                assert!(as_text.max(as_json) <= max_tokens, "{name} {id}: {as_text} and {as_json} of {max_tokens}");
            }
        }
    }
}

#[tokio::test]
async fn a_match_says_who_said_it_and_when_and_a_line_is_shown_once() {
    let store = Store::new();
    let memory = store.memory();
    let long = format!("{} gate {}", "before ".repeat(60), "after ".repeat(60));
    say(&memory, "codes", ["gate 12 and gate 13".to_owned(), long]).await;
    let client = Client::new(&memory, everything()).await;
    let said = client.said("find", json!({"pattern": "gate"})).await;
    assert_eq!(
        said.matches("[Message 1 of codes, line 1, Ann, 2023-11-14T22:13:20Z]: gate 12 and gate 13").count(),
        1,
        "{said}"
    );
    assert!(said.starts_with("3 matches."), "{said}");
    let found = client.ask("find", json!({"pattern": "gate"})).await;
    assert_eq!((&found["matches"][0]["speaker"], &found["matches"][0]["shortened"]), (&json!("Ann"), &Value::Null));
    assert_eq!(found["matches"][2]["shortened"], true, "{found}");
    let beyond = client.said("find", json!({"pattern": "gate", "cursor": "match-99"})).await;
    assert_eq!(beyond, "There are no more matches.");
    let beyond = client.said("search_memory", json!({"query": "gate", "cursor": "hit-99"})).await;
    assert!(beyond.starts_with("There are no more messages."), "{beyond}");
}

#[tokio::test]
async fn a_summary_says_when_and_who_and_is_plain_in_json() {
    let store = Store::new();
    let memory = store.memory();
    let text = |number| match number {
        1 => "Decision: we use READ COMMITTED with explicit row locks. Everything else stays as it was before."
            .to_owned(),
        _ => {
            format!("Remark {number} about the weather, and the museum. It is a long walk along the river from there.")
        }
    };
    say(&memory, "ledger", (1..=80).map(text)).await;
    memory.catch_up().await.unwrap();
    let client = Client::new(&memory, everything()).await;
    let arguments = json!({"conversation_id": "ledger", "start": 1, "end": 1});
    let said = client.said("show_summaries", arguments.clone()).await;
    assert!(said.contains("[Message 1 of ledger, SUMMARY s"), "{said}");
    assert!(said.contains(", 1 line, Ann, 2023-11-14T22:13:20Z]: "), "{said}");
    let summaries = client.ask("show_summaries", arguments).await;
    assert!(!summaries["summaries"][0]["text"].as_str().unwrap().starts_with('\\'), "{summaries}");
    assert!(summaries["memory_used"].as_str().unwrap().contains("1 summary (summary s"), "{summaries}");
    let top = client.ask("browse_hierarchy", json!({"conversation_id": "ledger"})).await;
    let is_dated = |entry: &Value| entry["summary"].is_u64() && entry["at"].is_string() && entry["until"].is_string();
    assert!(top["entries"].as_array().unwrap().iter().any(is_dated), "{top}");
}

#[tokio::test]
async fn a_memory_file_is_shown_in_parts_and_exactly() {
    let store = Store::new();
    let memory = store.memory();
    let client = Client::new(&memory, everything()).await;
    let long: String = (1..=60_000).map(|number| format!("Line {number}\n")).collect();
    client.ask("memory", json!({"command": "create", "path": "/memories/long", "file_text": long})).await;
    let view = |range: Value| json!({"command": "view", "path": "/memories/long", "view_range": range});
    let first = client.ask("memory", view(Value::Null)).await["result"].as_str().unwrap().to_owned();
    assert!(memory.count_tokens(&first) < 16_100);
    let next = first.rsplit_once(": view_range [").and_then(|(_, rest)| rest.split(',').next()).unwrap();
    let next: u64 = next.parse().unwrap();
    assert!(
        first.contains(&format!("\tLine {}\n", next - 1)) && !first.contains(&format!("\tLine {next}\n")),
        "{next}"
    );
    let second = client.ask("memory", view(json!([next, -1]))).await["result"].as_str().unwrap().to_owned();
    assert!(second.contains(&format!("\tLine {next}\n")), "{second}");
    let missing =
        json!({"command": "str_replace", "path": "/memories/long", "old_str": "x".repeat(50_000), "new_str": ""});
    assert!(client.refused("memory", missing).await.len() < 1_000);
    // The content of a file is exact in JSON, and escaped in text.
    client.ask("memory", json!({"command": "create", "path": "/memories/crlf", "file_text": "a\r\nb"})).await;
    let crlf = json!({"command": "view", "path": "/memories/crlf"});
    assert!(client.ask("memory", crlf.clone()).await["result"].as_str().unwrap().contains("a\r\n"));
    assert!(client.said("memory", crlf).await.contains("a\\r\n"));
    client.ask("memory", json!({"command": "create", "path": "/memories/d/a", "file_text": "a"})).await;
    for new_path in ["/memories/d", "/memories/d/b"] {
        client.refused("memory", json!({"command": "rename", "old_path": "/memories/d", "new_path": new_path})).await;
    }
}

#[tokio::test]
async fn arguments_are_taken_as_models_write_them() {
    let store = Store::new();
    let memory = store.memory();
    trip(&memory, 12).await;
    say(&memory, "garden", ["The museum of roses.".to_owned()]).await;
    memory.conversation("garden").unwrap().set_tags(&["home".to_owned()]).await.unwrap();
    let client = Client::new(&memory, everything()).await;
    let nodes = |found: &Value| found["messages"].as_array().unwrap().len();
    for arguments in [
        json!({"query": "museum", "limit": 2.0, "conversations": null, "cursor": null}),
        json!({"query": "museum", "limit": "2", "conversations": "trip"}),
        json!({"query": "museum", "since": "2023-11-14T22:22:00Z", "until": "2023-11-14T22:23:30Z"}),
    ] {
        assert_eq!(nodes(&client.ask("search_memory", arguments.clone()).await), 2, "{arguments}");
    }
    let tagged = client.ask("search_memory", json!({"query": "museum", "tags": ["home"]})).await;
    assert_eq!((nodes(&tagged), &tagged["messages"][0]["conversation"]), (1, &json!("garden")));
    let none = client.refused("search_memory", json!({"query": "museum", "since": "yesterday"})).await;
    assert!(none.starts_with("since: "), "{none}");
    let node = client.ask("expand_node", json!({"conversation_id": "trip", "node_id": 3.0, "max_tokens": null})).await;
    assert_eq!(node["node"], 3);
    let refused = client.refused("expand_node", json!({"conversation_id": "trip", "node_id": "A3"})).await;
    assert_eq!(refused, "expand_node: node_id is \"A3\": give a whole number, not below 0");
}
