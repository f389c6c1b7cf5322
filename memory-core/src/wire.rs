//! `Serialize` and `Deserialize` for types that are one value on the wire: ids, names, times, hashes, JSON and messages.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::Error as _};
use serde_json::Value;

use crate::{
    ContentBlock, ConversationId, Hash, Json, Level, Message, MessageKey, ModelId, NodeId, NodeRange, OwnerId, Role,
    SummaryId, Timestamp, ViewId, message_from_json,
    message_json::{block_from_json, serialize_block, serialize_message},
};

/// Types that are written as they are shown, and read as the expression reads a text.
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

/// The value that is shown as `text`.
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

#[derive(Serialize, Deserialize)]
#[serde(rename = "NodeRange", deny_unknown_fields)]
struct Ends {
    first: NodeId,
    last: NodeId,
}

impl Serialize for NodeRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ends { first: self.first(), last: self.last() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NodeRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Ends { first, last } = Ends::deserialize(deserializer)?;
        Self::new(first, last).ok_or_else(|| D::Error::custom(format!("{last} comes before {first}")))
    }
}

impl Serialize for Timestamp {
    /// RFC 3339 in UTC; milliseconds since 1970 where that is outside the calendar.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
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
    /// As [`message_to_json`](crate::message_to_json) writes it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_message(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    /// As [`message_from_json`] reads it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        message_from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for ContentBlock {
    /// As in the list `content` of a message.
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
