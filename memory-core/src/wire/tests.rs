//! Values are read back as they were written, in one shape, and impossible values are refused.

use std::sync::Arc;

use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    ContentBlock, ConversationId, Hash, Json, Level, Mark, Message, MessageKey, ModelId, Node, NodeId, NodeKind,
    NodeRange, OwnerId, Relation, RelationKind, Role, Summary, SummaryDraft, SummaryId, SummaryMetadata, Timestamp,
    ViewId, WrittenBy,
    json::message_to_json,
    port::{
        Breakpoint, ChatRequest, ConversationState, ForkedFrom, HeldBack, Hit, Notice, Retrieved, Scope, Score,
        ScoreScale, Signal, Verification, VerifiedConversation,
    },
    testing::messages,
};

/// Checks the shape, and that both a value and a text are read back as what was written.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(what: &T, shape: &serde_json::Value) {
    assert_eq!(serde_json::to_value(what).unwrap(), *shape);
    assert_eq!(serde_json::from_value::<T>(shape.clone()).unwrap(), *what);
    assert_eq!(serde_json::from_str::<T>(&serde_json::to_string(what).unwrap()).unwrap(), *what);
}

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn range(first: u64, last: u64) -> NodeRange {
    NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
}

#[test]
fn a_small_value_is_one_value_on_the_wire() {
    check(&talk(), &json!("talk"));
    check(&MessageKey::new("key").unwrap(), &json!("key"));
    check(&ModelId::new("all-MiniLM-L6-v2/int8"), &json!("all-MiniLM-L6-v2/int8"));
    check(&NodeId::FIRST, &json!(1));
    check(&SummaryId::new(3).unwrap(), &json!(3));
    check(&ViewId::new(4).unwrap(), &json!(4));
    check(&range(3, 7), &json!([3, 7]));
    check(&Hash::from_bytes([0xAB; 32]), &json!("ab".repeat(32)));
    check(&Timestamp::from_millis(1_772_442_840_123), &json!("2026-03-02T09:14:00.123Z"));
    check(&Timestamp::from_millis(i64::MAX), &json!(i64::MAX));
    check(&Role::Assistant, &json!("assistant"));
    check(&Level::Meta, &json!("META"));
    check(&NodeKind::Ai, &json!("ai"));
    check(&Json::new("{\"b\":1,\"a\":[null,2.5]}").unwrap(), &json!({"b": 1, "a": [null, 2.5]}));
    check(&ContentBlock::Text("hi".into()), &json!({"type": "text", "text": "hi"}));
}

#[test]
fn what_no_value_can_be_is_refused() {
    fn refused<T: DeserializeOwned + std::fmt::Debug>(shape: serde_json::Value, why: &str) {
        let error = serde_json::from_value::<T>(shape).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    refused::<NodeId>(json!(0), "begin at 1");
    refused::<NodeRange>(json!([7, 3]), "3 comes before 7");
    refused::<ConversationId>(json!("a b"), "cannot name a conversation");
    refused::<Role>(json!("robot"), "`robot` is none of user, assistant, system, tool");
    refused::<Level>(json!("meta"), "is none of FULL, SUMMARY, META, ARCHIVE");
    refused::<Timestamp>(json!("yesterday"), "is not a time");
    refused::<Timestamp>(json!(1.5), "RFC 3339 or milliseconds");
    refused::<Hash>(json!("ab"), "64 hexadecimal digits");
    refused::<Message>(json!({"content": "x"}), "role: missing");
    refused::<ContentBlock>(json!({"text": "x"}), "type: missing");
}

#[test]
fn a_node_holds_its_message_in_the_one_shape_of_messages() {
    let message = Message::user("The budget is 4,200 euros.").speaker("Maya");
    let relation = Relation { to: NodeId::FIRST, kind: RelationKind::FollowUp };
    let node = Node::new(NodeId::new(2).unwrap(), message.clone(), Timestamp::from_millis(1_000))
        .tokens(8)
        .topics(vec!["budget".into()])
        .relates_to(relation);
    let shape = json!({
        "node": 2, "message": message_to_json(&message), "at": "1970-01-01T00:00:01Z", "lines": 1, "tokens": 8,
        "importance": 0.5, "topics": ["budget"], "relates_to": {"to": 1, "kind": "follow_up"}, "pinned": false,
    });
    check(&node, &shape);
}

#[test]
fn summaries_hits_and_states_are_read_back() {
    fn again<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(what: &T) {
        check(what, &serde_json::to_value(what).unwrap());
    }
    let metadata = SummaryMetadata::default().importance(0.1).has_decision(true);
    let draft =
        SummaryDraft::new(Level::Meta, range(1, 20), "words", 3, WrittenBy::new("spans", "1"), Hash::of_parts([]))
            .children(vec![SummaryId::new(1).unwrap()])
            .metadata(metadata);
    again(&Summary::new(SummaryId::new(2).unwrap(), draft));
    let score = Score { value: 0.3, scale: ScoreScale::Bm25 };
    let node = Arc::new(Node::new(NodeId::FIRST, Message::user("hi"), Timestamp::from_millis(7)));
    let hit = Hit::new(talk(), Arc::clone(&node), score).signals(vec![Signal::new("words", 1.5, 0.1)]);
    let shape = json!({
        "conversation": "talk", "node": 1, "at": "1970-01-01T00:00:00.007Z", "speaker": "user", "text": "hi",
        "score": {"value": 0.3, "scale": "bm25"}, "relevance": null,
        "signals": [{"name": "words", "value": 1.5, "share": 0.1}],
    });
    // Numbers have no digits of a conversion from 32 bits.
    assert_eq!(serde_json::from_str::<serde_json::Value>(&serde_json::to_string(&hit).unwrap()).unwrap(), shape);
    let request = ChatRequest::new(vec![Message::user("hi"), Message::assistant("ho")])
        .system("Be brief.".to_owned())
        .breakpoints(vec![Breakpoint { message: 1, block: 0 }]);
    check(&request, &request.to_json());
    let found = serde_json::to_value(Retrieved::new(vec![hit.clone()]).notices(vec![Notice::NoRetriever])).unwrap();
    assert_eq!((&found["hits"][0], &found["notices"][0]["code"]), (&json!(hit), &json!("no-retriever")));
    assert_eq!(found["notices"][0]["text"], Notice::NoRetriever.to_string());
    again(&HeldBack::new(3, score));
    let forked = ForkedFrom { conversation: talk(), node: NodeId::FIRST };
    again(&Scope::one(&talk()).owner(OwnerId::new("ana").ok()));
    let state = ConversationState::new(talk()).nodes(5).tags(vec!["a".into(), Mark::Archived.tag().into()]);
    let state = serde_json::to_value(state.forked_from(forked)).unwrap();
    assert_eq!(
        (&state["conversation"], &state["tags"], &state["archived"]),
        (&json!("talk"), &json!(["a"]), &json!(true))
    );
    assert_eq!(state["forked_from"], json!({"conversation": "talk", "node": 1}));
    again(&Verification::of(vec![VerifiedConversation::new(talk(), Hash::of_parts([]))], vec!["damage".into()]));
}

proptest! {
    #[test]
    fn every_message_has_the_shape_of_message_to_json_and_is_read_back(message in messages()) {
        let value = serde_json::to_value(&message).unwrap();
        prop_assert_eq!(&value, &message_to_json(&message));
        prop_assert_eq!(&serde_json::from_str::<Message>(&serde_json::to_string(&message).unwrap()).unwrap(), &message);
        for block in message.content {
            let value = serde_json::to_value(&block).unwrap();
            prop_assert_eq!(serde_json::from_value::<ContentBlock>(value).unwrap(), block);
        }
    }
}
