//! Random messages for property tests.

use proptest::prelude::*;
use serde_json::json;

use crate::{ContentBlock, Json, Media, Message, MessageKey, Role};

/// Texts of all kinds: empty, blank, several lines, several scripts.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n\t".to_owned()),
        "[a-z ,.]{0,80}",
        "\\PC{0,40}",
        "(.|\n){0,60}",
        "[あ-ん漢字仮名。]{0,200}",
    ]
}

fn values() -> impl Strategy<Value = Json> {
    prop_oneof![
        texts().prop_map(|text| Json::string(&text)),
        any::<i64>().prop_map(|n| Json::from_value(&json!(n))),
        texts().prop_map(|text| Json::from_value(&json!({"z": [1, null], "a": text}))),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    prop_oneof![
        texts().prop_map(Media::Url),
        texts().prop_map(|text| Media::Text { media_type: "text/plain".into(), text }),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|data| Media::Bytes { media_type: "image/png".into(), data: data.into() }),
    ]
}

fn blocks() -> impl Strategy<Value = ContentBlock> {
    let leaf = prop_oneof![
        texts().prop_map(ContentBlock::Text),
        (texts(), texts(), values()).prop_map(|(id, name, input)| ContentBlock::ToolUse { id, name, input }),
        media().prop_map(ContentBlock::Image),
        (prop::option::of(texts()), media()).prop_map(|(title, media)| ContentBlock::Document { title, media }),
        (texts(), prop::option::of(texts())).prop_map(|(text, signature)| ContentBlock::Reasoning { text, signature }),
        texts().prop_map(|text| ContentBlock::Unknown(Json::from_value(&json!({"type": "x", "more": text})))),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        (texts(), prop::collection::vec(inner, 0..3), any::<bool>())
            .prop_map(|(tool_use_id, content, is_error)| ContentBlock::ToolResult { tool_use_id, content, is_error })
    })
}

/// Messages with every kind of block.
pub(crate) fn messages() -> impl Strategy<Value = Message> {
    let roles = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System), Just(Role::Tool)];
    (
        roles,
        prop::option::of(texts()),
        prop::collection::vec(blocks(), 0..4),
        prop::option::of("[a-z]{1,8}"),
        prop::collection::btree_map("[a-z]{1,6}", values(), 0..3),
        any::<bool>(),
    )
        .prop_map(|(role, speaker, content, key, metadata, keep_out_of_summaries)| Message {
            role,
            speaker,
            content,
            key: key.and_then(|key| MessageKey::new(&key).ok()),
            metadata,
            keep_out_of_summaries,
        })
}
