//! Paging to the end of ten thousand messages.

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
            assert_eq!(entry.get("first"), Some(&json!(seen)));
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
