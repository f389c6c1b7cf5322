//! Notes of several owners and of models.

use std::{fs, path::Path};

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
        assert!(refused.contains("for notes"), "{name}: {refused}");
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
    let lea = store.memory_of("lea");
    let by_hand = nobody.documents("memory-notes.lea").unwrap();
    let change = memory::NoteChange::Write { name: "scratchpad".to_owned(), text: "poison".to_owned() };
    let poisoned = by_hand.change(move |_| Ok::<_, ()>((change.clone(), ()))).await.unwrap_err();
    assert!(poisoned.to_string().contains("is kept for notes"), "{poisoned}");
    let leas = Client::new(&lea, everything()).await;
    assert!(!leas.said("scratchpad_read", json!({})).await.contains("poison"));
}

#[tokio::test]
async fn nothing_of_notes_is_indexed_or_summarized_and_the_present_texts_are_found() {
    let store = Store::new();
    let memory = store.memory();
    say(&memory, "talk", ["The ferry sails from quay nine.".to_owned(), "Where do we dine?".to_owned()]).await;
    let client = Client::new(&memory, everything()).await;
    for version in 0..40 {
        let text = format!("Version {version}: the lighthouse opens at noon. {}", "Filling words. ".repeat(200));
        client.ask("scratchpad_set", json!({"text": text})).await;
        client.ask("search_memory", json!({"query": "when does the lighthouse open"})).await;
    }
    client
        .ask("memory", json!({"command": "create", "path": "/memories/a/quay.md", "file_text": "Quay two is closed."}))
        .await;
    memory.catch_up().await.unwrap();
    let notes = memory::ConversationId::new("memory-notes").unwrap();
    let parts = memory.parts();
    let indexed = parts.retriever.catch_up(&notes, &()).await.unwrap();
    assert_eq!((indexed.words, indexed.embedded), (0, 0));
    assert_eq!(parts.store.summaries(&notes).await.unwrap(), []);
    let held = || memory.held().iter().map(|held| held.bytes).sum::<u64>();
    assert!(held() < 100_000, "{} bytes of words are held", held());

    let found = client.ask("search_memory", json!({"query": "when does the lighthouse open"})).await;
    let first = &found["messages"][0];
    assert_eq!((first["conversation"].as_str(), first["node"].as_u64()), (Some("memory-notes"), Some(40)), "{found}");
    assert!(!found.to_string().contains("Version 38"), "{found}");
    let by_name = client.ask("search_memory", json!({"query": "quay", "conversations": ["memory-notes"]})).await;
    assert!(by_name["messages"][0]["text"].as_str().unwrap().contains("Quay two"), "{by_name}");
    let elsewhere = client.ask("search_memory", json!({"query": "quay lighthouse", "conversations": ["talk"]})).await;
    assert!(!elsewhere.to_string().contains("memory-notes"), "{elsewhere}");
    // Notes that do not bear on the question come after the message that answers it.
    let found = client.ask("search_memory", json!({"query": "Which quay does the ferry sail from?"})).await;
    assert_eq!(found["messages"][0]["conversation"], "talk", "{found}");
}

#[tokio::test]
async fn what_is_appended_to_the_scratchpad_takes_its_own_length() {
    let store = Store::new();
    let memory = store.memory();
    let client = Client::new(&memory, everything()).await;
    client.ask("scratchpad_set", json!({"text": "x".repeat(50_000)})).await;
    for line in 0..20 {
        client.ask("scratchpad_append", json!({"text": format!("line {line}")})).await;
    }
    let parts = memory.parts();
    let notes = memory::ConversationId::new("memory-notes").unwrap();
    let notes = parts.store.notes(&notes, memory::NoteId::FIRST, memory::NoteId::after(20)).await.unwrap();
    assert_eq!(notes.len(), 21);
    assert!(notes.iter().skip(1).all(|note| note.change.bytes() < 20));
    let other = Client::new(&store.memory(), everything()).await;
    let read = other.ask("scratchpad_read", json!({"max_tokens": 50_000})).await;
    assert_eq!(read["bytes"], 50_000 + (0..20).map(|line| format!("\nline {line}").len()).sum::<usize>());
    assert!(read["text"].as_str().unwrap().ends_with("\nline 18\nline 19"), "{read}");
    let refused = other.refused("scratchpad_append", json!({"text": "x".repeat(20_000)})).await;
    assert!(refused.contains("at most 65536 bytes"), "{refused}");
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

#[tokio::test]
async fn notes_of_an_old_store_are_the_same_before_and_after_a_vacuum() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/tests/golden/format-1-documents");
    let store = Store::new();
    fs::create_dir_all(store.path().join("log")).unwrap();
    for file in ["FORMAT", "log/0001.seg"] {
        fs::copy(golden.join(file), store.path().join(file)).unwrap();
    }
    let memory = store.memory();
    let read = async |memory: &memory::Memory| {
        let client = Client::new(memory, everything()).await;
        let ana = Client::new(&store.memory_of("ana"), everything()).await;
        [
            client.said("scratchpad_read", json!({})).await,
            client.said("memory", json!({"command": "view", "path": "/memories"})).await,
            client.said("memory", json!({"command": "view", "path": "/memories/harbour/quay.md"})).await,
            client.said("search_memory", json!({"query": "Where is the hotel booked?"})).await,
            ana.said("scratchpad_read", json!({})).await,
        ]
    };
    let before = read(&memory).await;
    for (said, word) in before.iter().zip(["Seagull", "harbour/quay.md", "Quay two is closed", "Seagull", "Ana's own"])
    {
        assert!(said.contains(word), "{said}");
    }
    assert!(!before[1].contains("gone.md"), "{}", before[1]);
    let report = memory.parts().log.vacuum(Default::default(), &()).unwrap();
    assert_eq!(report.noted, 14);
    assert_eq!(read(&memory).await, before);
    assert_eq!(read(&store.memory()).await, before, "another process reads the same");
    let client = Client::new(&memory, everything()).await;
    client.ask("scratchpad_append", json!({"text": "Room 7"})).await;
    assert!(client.said("scratchpad_read", json!({})).await.contains("Seagull\nRoom 7"));
}
