//! JSON for reading, as raw text.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{quoted::unquoted, source::Source};
use crate::{Json, json::InvalidJson};

/// The members of an object, in order.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Raw<'a>)>;

/// A JSON value in its original spelling.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) json: &'a RawValue,
    /// True if reading must restore exactly what [`message_to_raw_json`](super::message_to_raw_json) wrote.
    pub(super) exact: bool,
    /// True if blocks in the shapes of other interfaces are read as ours.
    pub(super) foreign: bool,
}

impl<'a> Raw<'a> {
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        self.begins_with('"')?;
        self.read().map(|Text(text)| text)
    }

    /// True if the value is a text, though perhaps one that cannot be read.
    pub(super) fn is_text(self) -> bool {
        self.begins_with('"').is_some()
    }

    pub(super) fn flag(self) -> Option<bool> {
        self.read()
    }

    pub(super) fn is_null(self) -> bool {
        self.json.get() == "null"
    }

    pub(super) fn items(self) -> Option<Vec<Self>> {
        self.begins_with('[')?;
        let items: Vec<&RawValue> = self.read()?;
        Some(items.into_iter().map(|json| Self { json, ..self }).collect())
    }

    /// The members; `None` for a value that is not an object, or that has a member twice.
    pub(super) fn members(self) -> Option<Members<'a>> {
        let RawMembers(members) = self.read()?;
        let mut names = HashSet::with_capacity(members.len());
        if !members.iter().all(|(name, _)| names.insert(name)) {
            return None;
        }
        Some(members.into_iter().map(|(name, json)| (name, Self { json, ..self })).collect())
    }

    /// The first member that an object has twice.
    pub(super) fn given_twice(self) -> Option<String> {
        let RawMembers(members) = self.read()?;
        let mut names = HashSet::with_capacity(members.len());
        members.iter().find(|(name, _)| !names.insert(name.as_ref())).map(|(name, _)| name.to_string())
    }

    pub(super) fn source(self) -> Option<Source<'static>> {
        // A list would be read as an object without names.
        self.begins_with('{')?;
        self.read()
    }

    /// The quoted text, if this is a quote; only exact JSON has quotes.
    pub(super) fn unquoted(self) -> Option<String> {
        if self.exact { unquoted(self.json.get()) } else { None }
    }

    /// The value itself, of any kind.
    pub(super) fn json(self) -> Result<Json, InvalidJson> {
        Json::new(self.json.get())
    }

    fn begins_with(self, first: char) -> Option<()> {
        self.json.get().starts_with(first).then_some(())
    }

    fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.json.get()).ok()
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct RawMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(RawMembers(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
