//! Wire forms of types that become one value: ids, names, times, hashes, JSON, messages and notices.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::Error as _};
use serde_json::Value;

use crate::{
    Attachment, AttachmentKind, ContentBlock, ConversationId, Hash, Json, Level, Mark, Message, MessageKey, ModelId,
    NodeId, NodeRange, OwnerId, Role, SummaryId, Timestamp, ViewId,
    json::message::{block_from_json, serialize_block, serialize_message},
    json::message_from_json,
    port::{ConversationState, ForkedFrom, Hit, Notice, Score, Signal},
};

/// Schemas of types that are written inline.
macro_rules! schemas {
    ($($type:ty: $schema:tt;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    ConversationId: {"type": "string"};
    OwnerId: {"type": "string"};
    MessageKey: {"type": "string"};
    ModelId: {"type": "string"};
    Hash: {"type": "string", "pattern": "^[0-9a-f]{64}$"};
    Role: {"type": "string", "enum": ["user", "assistant", "system", "tool"]};
    Level: {"type": "string", "enum": ["FULL", "SUMMARY", "META", "ARCHIVE"]};
    NodeId: {"type": "integer", "minimum": 1};
    SummaryId: {"type": "integer", "minimum": 1};
    ViewId: {"type": "integer", "minimum": 1};
    NodeRange: {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2};
    Timestamp: {"type": ["string", "integer", "null"], "format": "date-time"};
    Json: {};
    Message: {"type": "object", "required": ["role", "content"], "properties": {
        "role": {"type": "string"}, "content": {"type": ["string", "array"]}, "speaker": {"type": "string"},
        "key": {"type": "string"}, "keep_out_of_summaries": {"type": "boolean"}, "metadata": {"type": "object"},
    }};
    ContentBlock: {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}};
    Notice: {"type": "object", "required": ["code", "text"], "properties": {
        "code": {"type": "string", "description": "kind, for programs; never renamed"},
        "text": {"type": "string", "description": "sentence, for people"},
    }};
}

/// `Serialize` and `JsonSchema` of a type by another one.
#[doc(hidden)]
#[macro_export]
macro_rules! written_as {
    ($type:ty, $written:ty: |$value:ident| $make:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                $make.serialize(serializer)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$written as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}

#[derive(Serialize, JsonSchema)]
struct WrittenHit<'a> {
    /// Its conversation.
    conversation: &'a ConversationId,
    /// The number of the message.
    node: NodeId,
    /// When it was said.
    at: Timestamp,
    /// The name or role of who said it.
    speaker: &'a str,
    /// Its text.
    text: String,
    /// True if it is disabled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
    /// How well it answers.
    score: Score,
    /// The probability that it bears on the question, 0 to 1.
    relevance: Option<f32>,
    /// The reasons for its rank, the largest share first.
    signals: &'a [Signal],
}

written_as!(Hit, WrittenHit<'_>: |hit| WrittenHit {
    conversation: &hit.conversation,
    node: hit.node.id,
    at: hit.node.at,
    speaker: hit.node.message.voice(),
    text: hit.node.message.text(),
    disabled: hit.node.is_disabled,
    score: hit.score,
    relevance: hit.relevance,
    signals: &hit.signals,
});

#[derive(Serialize, JsonSchema)]
struct WrittenState<'a> {
    /// Its name.
    conversation: &'a ConversationId,
    /// Its title.
    title: Option<&'a str>,
    /// Its tags, sorted.
    tags: Vec<String>,
    /// True if it is marked as important.
    important: bool,
    /// True if it is archived.
    archived: bool,
    /// How many messages it has.
    nodes: u64,
    /// How many of them were erased.
    erased: u64,
    /// How many of them are disabled.
    disabled: u64,
    /// Tokens of its messages.
    tokens: u64,
    /// How many summaries it has.
    summaries: u64,
    /// How many views of it were recorded.
    views: u64,
    /// When the first message was said.
    first_at: Option<Timestamp>,
    /// When the last message was said.
    last_at: Option<Timestamp>,
    /// Its owner.
    owner: Option<&'a OwnerId>,
    /// Where it was forked.
    forked_from: Option<&'a ForkedFrom>,
}

written_as!(ConversationState, WrittenState<'_>: |state| WrittenState {
    conversation: &state.id,
    title: state.title.as_deref(),
    tags: state.own_tags(),
    important: state.is_marked(Mark::Important),
    archived: state.is_marked(Mark::Archived),
    nodes: state.nodes,
    erased: state.erased,
    disabled: state.disabled,
    tokens: state.tokens,
    summaries: state.summaries,
    views: state.views,
    first_at: state.first_at,
    last_at: state.last_at,
    owner: state.owner.as_ref(),
    forked_from: state.forked_from.as_ref(),
});

#[derive(Serialize, JsonSchema)]
struct WrittenAttachment<'a> {
    /// Picture or document.
    kind: AttachmentKind,
    /// Its title or file name.
    title: Option<&'a str>,
    /// Its media type, where it is stored here.
    media_type: Option<&'a str>,
    /// Its bytes, where it is stored here.
    bytes: Option<u64>,
    /// Its address, where it is stored elsewhere.
    url: Option<&'a str>,
}

written_as!(Attachment<'_>, WrittenAttachment<'_>: |file| WrittenAttachment {
    kind: file.kind,
    title: file.title,
    media_type: file.media_type(),
    bytes: file.bytes(),
    url: file.url(),
});

/// Milliseconds of a duration.
pub(crate) fn millis<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((took.as_secs_f64() * 1e6).round() / 1e3)
}

/// Types that are written by `Display`, and parsed by the expression.
macro_rules! as_text {
    ($($type:ty: $read:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let read: fn(&str) -> Result<Self, _> = $read;
                read(&text).map_err(D::Error::custom)
            }
        }
    )*};
}

as_text! {
    ConversationId: Self::new;
    OwnerId: Self::new;
    MessageKey: Self::new;
    ModelId: |text| Ok::<_, String>(Self::new(text));
    Hash: str::parse;
    Role: |text| one_of(text, [Self::User, Self::Assistant, Self::System, Self::Tool]);
    Level: |text| one_of(text, Self::ALL);
}

/// The value whose `Display` is `text`.
fn one_of<T: fmt::Display, const N: usize>(text: &str, all: [T; N]) -> Result<T, String> {
    let names = all.each_ref().map(T::to_string).join(", ");
    all.into_iter().find(|one| one.to_string() == text).ok_or_else(|| format!("`{text}` is none of {names}"))
}

/// Numbers from 1.
macro_rules! as_number {
    ($($type:ty)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.get())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(u64::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("numbers begin at 1"))
            }
        }
    )*};
}

as_number! { NodeId SummaryId ViewId }

impl Serialize for NodeRange {
    /// `[first, last]`, both included.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.first(), self.last()].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NodeRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [first, last] = <[NodeId; 2]>::deserialize(deserializer)?;
        Self::new(first, last).ok_or_else(|| D::Error::custom(format!("{last} comes before {first}")))
    }
}

impl Serialize for Notice {
    /// `code`, `text` (the sentence), and the fields of the variant.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithText<'a> {
            #[serde(flatten, serialize_with = "Notice::serialize")]
            notice: &'a Notice,
            text: String,
        }

        WithText { notice: self, text: self.to_string() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Notice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The inherent function of the derive, which ignores `text`.
        Self::deserialize(deserializer)
    }
}

impl Serialize for Timestamp {
    /// RFC 3339 in UTC; milliseconds since 1970 for a time outside the calendar; `null` for an unknown time.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_known() {
            return serializer.serialize_unit();
        }
        let text = self.to_string();
        match text.parse() {
            Ok(same) if *self == same => serializer.serialize_str(&text),
            _ => serializer.serialize_i64(self.as_millis()),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMillis;

        impl de::Visitor<'_> for TextOrMillis {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time as RFC 3339 or milliseconds since 1970")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Timestamp, E> {
                Ok(Timestamp::default())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Timestamp, E> {
                Ok(Timestamp::from_millis(millis))
            }

            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
                i64::try_from(millis).map(Timestamp::from_millis).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(TextOrMillis)
    }
}

impl Serialize for Json {
    /// The value; numbers that no Rust number can hold are `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from_value(&value))
    }
}

impl Serialize for Message {
    /// JSON of [`message_to_json`](crate::json::message_to_json).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_message(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    /// Reads with [`message_from_json`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        message_from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for ContentBlock {
    /// JSON as in the list `content` of a message.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_block(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        block_from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
