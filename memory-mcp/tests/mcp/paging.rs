//! Paging to the end of ten thousand messages.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use rmcp::model::{PaginatedRequestParams, ReadResourceRequestParams};
use serde_json::{Value, json};

use crate::support::{Client, Store, everything, say};

#[tokio::test]
async fn ten_thousand_messages_are_paged_through_to_the_end() {
    let store = Store::new();
    let memory = store.memory();
    say(&memory, "long", (1..=10_000).map(|number| format!("Remark {number}."))).await;
    let client = Client::new(&memory, everything()).await;
    let (mut seen, mut cursor, mut pages) = (0, Value::Null, 0);
    loop {
        let arguments = json!({"conversation_id": "long", "level": 0, "cursor": cursor, "max_tokens": 30_000});
        let page = client.ask("browse_hierarchy", arguments).await;
        for entry in page.get("entries").and_then(Value::as_array).unwrap() {
            seen += 1;
            assert_eq!(entry.get("nodes"), Some(&json!([seen, seen])));
            assert_eq!(entry.get("text"), Some(&json!(format!("Remark {seen}."))));
        }
        pages += 1;
        let Some(next) = page.get("next_cursor") else { break };
        cursor = next.clone();
    }
    assert_eq!(seen, 10_000);
    assert!(pages > 10, "{pages}");
    // The last part of the resource says that it is the last.
    let last = ReadResourceRequestParams::new("memory://conversation/long?from=9990");
    let read = client.0.read_resource(last).await.unwrap();
    let text = serde_json::to_string(&read).unwrap();
    assert!(text.contains("Remark 10000.") && !text.contains("It goes on at"), "{text}");
}

#[tokio::test]
async fn conversations_are_paged_as_resources_and_as_a_tool() {
    let store = Store::new();
    let memory = store.memory();
    for number in 0..250 {
        say(&memory, &format!("talk-{number}"), ["Hello there".to_owned()]).await;
    }
    let client = Client::new(&memory, everything()).await;
    let resources = client.0.list_all_resources().await.unwrap();
    let mut uris: Vec<_> = resources.into_iter().map(|resource| resource.uri).collect();
    uris.sort_unstable();
    uris.dedup();
    assert_eq!(uris.len(), 250);
    let (mut listed, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = client.ask("list_conversations", json!({"cursor": cursor, "max_tokens": 900})).await;
        let ids = page.get("conversations").and_then(Value::as_array).unwrap();
        listed.extend(ids.iter().map(|one| one.get("conversation").unwrap().to_string()));
        let Some(next) = page.get("next_cursor") else { break };
        cursor = next.clone();
    }
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), 250);
    let wrong = PaginatedRequestParams::default().with_cursor(Some("../etc".to_owned()));
    let error = client.0.list_resources(Some(wrong)).await.unwrap_err();
    assert!(error.to_string().contains("no cursor of this tool"), "{error}");
}

/// Every hit of a search, page by page.
async fn hits(client: &Client, arguments: &Value) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = arguments.clone();
        arguments.as_object_mut().unwrap().insert("cursor".to_owned(), cursor);
        let page = client.ask("search_memory", arguments).await;
        let messages = page.get("messages").and_then(Value::as_array).unwrap();
        all.extend(messages.iter().map(|hit| format!("{} {}", hit["conversation"], hit["node"])));
        match page.get("next_cursor") {
            Some(next) => cursor = next.clone(),
            None => return all,
        }
    }
}

#[tokio::test]
async fn a_search_is_paged_through_without_repeating_or_losing_a_hit() {
    let store = Store::new();
    let memory = store.memory();
    let text = |number: usize| match number % 3 {
        0 => format!("The gate code of room {number} is {}.", number * 37 % 1_000),
        1 => "Code code code, and a gate that nobody opens before noon.".to_owned(),
        _ => format!("Somebody asked for the code of gate {} again.", number % 7),
    };
    for talk in ["north", "south"] {
        say(&memory, talk, (1..=230).map(text)).await;
    }
    let client = Client::new(&memory, everything()).await;
    let mut pages = Vec::new();
    for (limit, max_tokens) in [(10, 2_000), (37, 700), (100, 50_000)] {
        let arguments = json!({"query": "gate code", "limit": limit, "max_tokens": max_tokens});
        let all = hits(&client, &arguments).await;
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (460, 460), "limit {limit}");
        pages.push(all);
    }
    assert!(pages.iter().all(|one| *one == pages[0]), "the order is one, whatever the size of a page");
}
