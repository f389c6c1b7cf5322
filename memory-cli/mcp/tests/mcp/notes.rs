//! Whose notes are whose.

use serde_json::json;

use crate::support::{Client, Store, everything, say};

#[tokio::test]
async fn no_owner_reads_or_locks_the_notes_of_another() {
    let store = Store::new();
    let (bob, nobody) = (store.memory_of("bob"), store.memory());
    let bobs = Client::new(&bob, everything()).await;
    let message = json!([{"role": "user", "text": "x"}]);
    for name in ["memory-notes", "memory-notes.dave", "memory-notes.bob"] {
        let refused = bobs.refused("append_messages", json!({"conversation_id": name, "messages": message})).await;
        assert!(refused.contains("is for notes"), "{name}: {refused}");
        // Nor by another door.
        let by_hand = bob.conversation(name).unwrap().append(memory::Message::user("x")).await.unwrap_err();
        assert!(by_hand.to_string().contains("is kept for notes"), "{name}: {by_hand}");
    }
    let nobodys = Client::new(&nobody, everything()).await;
    nobodys.ask("scratchpad_set", json!({"text": "SECRET"})).await;
    nobodys.ask("memory", json!({"command": "create", "path": "/memories/k", "file_text": "KEY"})).await;
    for (name, arguments) in [
        ("find", json!({"pattern": "SECRET|KEY"})),
        ("search_memory", json!({"query": "SECRET KEY"})),
        ("scratchpad_read", json!({})),
    ] {
        let said = bobs.said(name, arguments).await;
        assert!(!said.contains("SECRET") && !said.contains("KEY"), "{name}: {said}");
    }
    let daves = Client::new(&store.memory_of("dave"), everything()).await;
    daves.ask("scratchpad_set", json!({"text": "dave's"})).await;
    assert!(daves.said("scratchpad_read", json!({})).await.contains("dave's"));
    let poisoned = json!({"conversation_id": "memory-notes.dave", "messages": message});
    assert!(nobodys.refused("append_messages", poisoned).await.contains("is for notes"));
    let by_hand = nobody.conversation("memory-notes.dave").unwrap().append(memory::Message::user("x")).await;
    assert!(by_hand.is_err());
}

#[tokio::test]
async fn messages_go_to_no_conversation_that_was_not_meant() {
    let store = Store::new();
    let memory = store.memory();
    say(&memory, "ledger", ["Hello there".to_owned()]).await;
    let client = Client::new(&memory, everything()).await;
    let append = |name: &str| json!({"conversation_id": name, "messages": [{"role": "user", "text": "x"}]});
    let refused = client.refused("append_messages", append("last")).await;
    assert!(refused.contains("a whole id, and `last` is none"), "{refused}");
    let refused = client.refused("append_messages", append("ledg")).await;
    assert!(refused.contains("there is no `ledg`, but `ledger`"), "{refused}");
    client.ask("append_messages", append("ledger")).await;
    client.ask("append_messages", append("another")).await;
    assert_eq!(memory.conversations().await.unwrap().len(), 2);
}
