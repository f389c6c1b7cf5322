//! Descriptions of tools, and their cost in tokens for a client.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use memory_mcp::{Options, Profile, Server};
use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::support::{Client, Store, everything};

fn listed(options: Options) -> Vec<Tool> {
    let store = Store::new();
    Server::new(store.memory(), options).unwrap().tools()
}

/// `tools_list_tokens` of `[tools]` in figures.toml: of all tools, with those that are off by default.
#[test]
fn the_compact_profile_takes_at_most_2500_tokens() {
    let memory = Store::new().memory();
    let tokens = |options| memory.count_tokens(&json!({"tools": listed(options)}).to_string());
    let all = tokens(everything().profile(Profile::Compact));
    let usual = tokens(Options::default());
    let full = tokens(Options::default().profile(Profile::Full));
    assert!(all <= 2_500, "compact: {usual} as usual, {all} with everything; full: {full}");
    assert!(full > usual);
}

#[test]
fn every_tool_has_schemas_and_says_whether_it_writes() {
    for tool in listed(everything()) {
        let name = &*tool.name;
        assert_eq!(tool.input_schema.get("type"), Some(&json!("object")), "{name}");
        let output = tool.output_schema.as_ref().unwrap();
        assert_eq!(output.get("type"), Some(&json!("object")), "{name}");
        let annotations = tool.annotations.as_ref().unwrap();
        let writes = [
            "scratchpad_set",
            "scratchpad_append",
            "correct_fact",
            "append_messages",
            "disable_messages",
            "erase_messages",
            "memory",
            "quarantine_source",
        ]
        .contains(&name);
        assert_eq!(annotations.read_only_hint, Some(!writes), "{name}");
        assert_eq!(annotations.open_world_hint, Some(false), "{name}");
        assert_eq!(annotations.destructive_hint.is_some(), writes, "{name}");
        let properties = tool.input_schema.get("properties").and_then(Value::as_object).unwrap();
        // Tools are stateless.
        let names = [
            "scratchpad_read",
            "scratchpad_set",
            "scratchpad_append",
            "memory",
            "list_conversations",
            "quarantine_source",
        ];
        if !names.contains(&name) {
            assert!(properties.contains_key("conversation_id") || properties.contains_key("conversations"), "{name}");
        }
    }
}

/// The order in which tools are listed is that of every run, so that a client's cache of prompts stays.
#[tokio::test]
async fn tools_are_listed_in_the_same_order_with_the_same_words() {
    let store = Store::new();
    let memory = store.memory();
    let (one, other) = (Client::new(&memory, everything()).await, Client::new(&memory, everything()).await);
    let [one, other] = [one.0.list_all_tools().await.unwrap(), other.0.list_all_tools().await.unwrap()];
    assert_eq!(json!(one).to_string(), json!(other).to_string());
    assert_eq!(one.len(), 20);
}

/// Some clients check answers against the schema of a tool.
#[tokio::test]
async fn answers_have_the_members_that_their_schemas_require() {
    let store = Store::new();
    let memory = store.memory();
    crate::support::trip(&memory, 60).await;
    memory.catch_up().await.unwrap();
    let client = Client::new(&memory, everything()).await;
    let trip = json!({"conversation_id": "trip"});
    for (name, arguments) in [
        ("search_memory", json!({"query": "museum"})),
        ("context", json!({"question": "Which museum?", "max_tokens": 500})),
        ("resume", json!({})),
        ("expand_node", json!({"node_id": 1})),
        ("find", json!({"pattern": "museum"})),
        ("browse_hierarchy", trip.clone()),
        ("show_summaries", json!({"conversation_id": "trip", "start": 1, "end": 60})),
        ("get_recent_nodes", trip.clone()),
        ("list_facts", json!({"all": true})),
        ("list_conversations", json!({})),
        ("get_conversation_stats", trip),
        ("scratchpad_read", json!({})),
        ("memory", json!({"command": "view", "path": "/memories"})),
    ] {
        let tools = client.0.list_all_tools().await.unwrap();
        let schema = tools.iter().find(|tool| tool.name == name).and_then(|tool| tool.output_schema.clone()).unwrap();
        let answer = client.ask(name, arguments).await;
        check(&Value::Object((*schema).clone()), &answer, name);
    }
}

/// Checks the part of JSON Schema that the schemas use.
fn check(schema: &Value, value: &Value, place: &str) {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let value = value.as_object().unwrap_or_else(|| unreachable!("{place} is no object"));
            let properties = schema.get("properties").and_then(Value::as_object).unwrap();
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                assert!(value.contains_key(name.as_str().unwrap()), "{place}: {name} is missing");
            }
            for (name, value) in value {
                let schema = properties.get(name).unwrap_or_else(|| unreachable!("{place}: {name} is in no schema"));
                check(schema, value, &format!("{place}.{name}"));
            }
        }
        Some("array") => {
            let items = schema.get("items");
            for item in value.as_array().unwrap() {
                items.into_iter().for_each(|schema| check(schema, item, &format!("{place}[]")));
            }
        }
        Some("string") => assert!(value.is_string(), "{place}"),
        Some("integer") => assert!(value.is_u64() || value.is_i64(), "{place}"),
        Some("number") => assert!(value.is_number(), "{place}"),
        Some("boolean") => assert!(value.is_boolean(), "{place}"),
        other => unreachable!("{place}: a schema of type {other:?}"),
    }
}
