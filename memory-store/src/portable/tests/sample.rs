//! Conversations with everything in them.

use memory_core::{
    ContentBlock, ConversationId, Hash, Json, Level, Media, Message, MessageKey, NodeDraft, NodeId, NodeRange,
    Relation, RelationKind, Role, SummaryDraft, SummaryId, SummaryMetadata, Timestamp, WrittenBy,
    port::{Event, Store},
};
use pollster::block_on;
use proptest::prelude::*;

pub(super) fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

pub(super) fn node(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

pub(super) fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

pub(super) fn said(content: Vec<ContentBlock>) -> Message {
    Message::new(Role::User, content)
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z ,.]{0,60}", "(.|\n){0,40}", "[あ-ん漢字。\u{2028}\u{85}\r\n]{0,20}"]
}

/// JSON in spellings that no printer gives, and in some that look like an export's own quotations.
fn values() -> impl Strategy<Value = Json> {
    let odd = [
        r#"{"b" : 1.50, "a":[ ], "a":1e400}"#,
        "{\n  \"a\": 1\r\n}",
        r#"{"json_text":"{}"}"#,
        r#"{"json_text" : "not JSON"}"#,
        r#"["{}"]"#,
        r#""\ud83d\ude00 \u0041""#,
        "-0.0",
        "123456789012345678901234567890",
        "null",
    ];
    prop_oneof![prop::sample::select(odd.to_vec()).prop_map(json), texts().prop_map(|text| Json::string(&text))]
}

/// Blocks that this version does not know, some of which look as if it did.
fn unknown() -> impl Strategy<Value = Json> {
    let odd = [
        r#"{"type":"text","text":"no text block"}"#,
        r#"{"type":"text","text":"cached","cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"tool_use","id":"a","name":"b","input":{}}"#,
        r#"{"type":"tool_result","tool_use_id":"a","content":3,"is_error":false}"#,
        r#"{"type":"thinking","thinking":"","signature":null}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"","data":"no base64"}}"#,
    ];
    prop_oneof![prop::sample::select(odd.to_vec()).prop_map(json), values()]
}

fn media() -> impl Strategy<Value = Media> {
    prop_oneof![
        texts().prop_map(Media::Url),
        (texts(), texts()).prop_map(|(media_type, text)| Media::Text { media_type, text }),
        (texts(), prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(media_type, data)| Media::Bytes { media_type, data: data.into() }),
    ]
}

fn blocks() -> impl Strategy<Value = ContentBlock> {
    let leaf = prop_oneof![
        texts().prop_map(ContentBlock::Text),
        (texts(), texts(), values()).prop_map(|(id, name, input)| ContentBlock::ToolUse { id, name, input }),
        media().prop_map(ContentBlock::Image),
        (prop::option::of(texts()), media()).prop_map(|(title, media)| ContentBlock::Document { title, media }),
        (texts(), prop::option::of(texts())).prop_map(|(text, signature)| ContentBlock::Reasoning { text, signature }),
        unknown().prop_map(ContentBlock::Unknown),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        (texts(), prop::collection::vec(inner, 0..3), any::<bool>())
            .prop_map(|(tool_use_id, content, is_error)| ContentBlock::ToolResult { tool_use_id, content, is_error })
    })
}

/// Messages with every kind of block; without keys, which must differ within a conversation.
pub(super) fn messages() -> impl Strategy<Value = Message> {
    let roles = prop::sample::select(&[Role::User, Role::Assistant, Role::System, Role::Tool][..]);
    (
        roles,
        prop::option::of(texts()),
        prop::collection::vec(blocks(), 0..4),
        prop::collection::btree_map(texts(), values(), 0..3),
        any::<bool>(),
    )
        .prop_map(|(role, speaker, content, metadata, keep_out)| {
            let mut message = Message::new(role, content).metadata(metadata).keep_out_of_summaries(keep_out);
            message.speaker = speaker;
            message
        })
}

/// Drafts of these messages: every second one keyed, importances, topics and relations among them.
pub(super) fn drafts(messages: Vec<Message>) -> Vec<NodeDraft> {
    let draft = |(mut message, number): (Message, u16)| {
        if number.is_multiple_of(2) {
            message.key = MessageKey::new(&format!("key {number}")).ok();
        }
        let at = Timestamp::from_millis(i64::from(number) * 1_000 - 2_500);
        NodeDraft::new(message, at, u32::from(number) * 7)
            .importance(f32::from(number % 10) / 9.0)
            .topics((0..number % 3).map(|topic| format!("topic {topic}")).collect())
            .relates_to((number > 1).then(|| Relation {
                to: node(u64::from(number - 1)),
                kind: if number.is_multiple_of(2) { RelationKind::Correction } else { RelationKind::FollowUp },
            }))
    };
    messages.into_iter().zip(1..).map(draft).collect()
}

pub(super) fn summary(level: Level, span: (u64, u64), children: &[u64]) -> Event {
    let text = format!("{level} of {} to {}\n\"quoted\"", span.0, span.1);
    let input_hash = Hash::of_parts([text.as_bytes()]);
    Event::Summary(
        SummaryDraft::new(
            level,
            NodeRange::new(node(span.0), node(span.1)).unwrap(),
            text,
            3,
            WrittenBy::new("sample", "1"),
            input_hash,
        )
        .children(children.iter().filter_map(|&child| SummaryId::new(child)).collect())
        .metadata(
            SummaryMetadata::default()
                .importance(1.0 / 3.0)
                .topics(vec!["trains".into()])
                .has_decision(span.0.is_multiple_of(2))
                .has_code(!span.0.is_multiple_of(2))
                .line_count(u64::MAX),
        ),
    )
}

/// Appends messages to `c`, at least two, and records events of every kind.
pub(super) fn fill(store: &dyn Store, messages: Vec<Message>) {
    let (conversation, count) = (id("c"), messages.len() as u64);
    block_on(store.append(&conversation, drafts(messages))).unwrap();
    let scored_by = WrittenBy::new("sample", "1");
    let record = |events| block_on(store.record(&conversation, events)).unwrap();
    record(vec![
        Event::Importance { node: node(1), importance: 0.1, scored_by },
        Event::Pin { node: node(2), pinned: true },
        Event::Title("Trains\nand more".into()),
        Event::Tags(vec!["travel".into(), "a \"tag\"".into()]),
    ]);
    record((1..=count).map(|number| summary(Level::Summary, (number, number), &[])).collect());
    record(vec![summary(Level::Meta, (1, 2), &[1, 2])]);
    record(vec![summary(Level::Archive, (1, 2), &[count + 1])]);
}

/// Every kind of block, and JSON that has to be quoted.
pub(super) fn everything() -> Message {
    let bytes = Media::Bytes { media_type: "image/png".into(), data: [0, 255, 7].as_slice().into() };
    let text = Media::Text { media_type: "text/plain".into(), text: "words".into() };
    let content = vec![
        ContentBlock::Text("line one\nline \"two\"".into()),
        ContentBlock::ToolUse { id: "t1".into(), name: "query".into(), input: json(r#"{"b" : 1.50, "a":[ ]}"#) },
        ContentBlock::ToolUse { id: "t2".into(), name: "query".into(), input: json("{\n}") },
        ContentBlock::ToolResult {
            tool_use_id: "t1".into(),
            content: vec![ContentBlock::Text("41 rows".into()), ContentBlock::Image(bytes.clone())],
            is_error: true,
        },
        ContentBlock::ToolResult { tool_use_id: "t2".into(), content: Vec::new(), is_error: false },
        ContentBlock::Image(Media::Url("https://example.com/a.png".into())),
        ContentBlock::Document { title: Some("plan".into()), media: text },
        ContentBlock::Document { title: None, media: bytes },
        ContentBlock::Reasoning { text: "hm".into(), signature: Some("sig".into()) },
        ContentBlock::Reasoning { text: "hm".into(), signature: None },
        ContentBlock::Unknown(json(r#"{"type":"new", "n":1e400}"#)),
        ContentBlock::Unknown(json(r#"{"type":"text","text":"no text block"}"#)),
    ];
    let metadata = [("session".to_owned(), json("3")), ("odd".to_owned(), json(r#"{"json_text":"1"}"#))];
    Message::new(Role::Assistant, content).speaker("Ann").metadata(metadata.into()).keep_out_of_summaries(true)
}

/// A conversation of `count` plain messages.
pub(super) fn plain(count: usize) -> Vec<Message> {
    (1..=count).map(|number| Message::user(format!("message {number}"))).collect()
}
