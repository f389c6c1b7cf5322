//! JSON for reading: a parsed value, or raw text.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{quoted::unquoted, source::Source};
use crate::{InvalidJson, Json};

/// The members of an object, in order.
pub(super) type Members<'a, J> = Vec<(Cow<'a, str>, J)>;

/// JSON in either form.
pub(super) trait AnyJson<'a>: Copy {
    /// Whether reading must restore exactly what was written.
    const EXACT: bool;

    fn text(self) -> Option<Cow<'a, str>>;

    fn flag(self) -> Option<bool>;

    fn is_null(self) -> bool;

    fn items(self) -> Option<Vec<Self>>;

    /// The members; `None` for a value that is not an object, or that has a member twice.
    fn members(self) -> Option<Members<'a, Self>>;

    fn source(self) -> Option<Source<'static>>;

    /// The quoted text, if this is a quote.
    fn unquoted(self) -> Option<String>;

    /// The value itself, of any kind.
    fn json(self) -> Result<Json, InvalidJson>;
}

impl<'a> AnyJson<'a> for &'a Value {
    const EXACT: bool = false;

    fn text(self) -> Option<Cow<'a, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn flag(self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(self) -> bool {
        Value::is_null(self)
    }

    fn items(self) -> Option<Vec<Self>> {
        Some(self.as_array()?.iter().collect())
    }

    fn members(self) -> Option<Members<'a, Self>> {
        Some(self.as_object()?.iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), value)).collect())
    }

    fn source(self) -> Option<Source<'static>> {
        // A list would be read as an object without names.
        if self.is_object() { Source::deserialize(self).ok() } else { None }
    }

    fn unquoted(self) -> Option<String> {
        None
    }

    fn json(self) -> Result<Json, InvalidJson> {
        Ok(Json::from_value(self))
    }
}

impl<'a> AnyJson<'a> for &'a RawValue {
    const EXACT: bool = true;

    fn text(self) -> Option<Cow<'a, str>> {
        let is_text = self.get().starts_with('"');
        if is_text { serde_json::from_str(self.get()).ok().map(|Text(text)| text) } else { None }
    }

    fn flag(self) -> Option<bool> {
        serde_json::from_str(self.get()).ok()
    }

    fn is_null(self) -> bool {
        self.get() == "null"
    }

    fn items(self) -> Option<Vec<Self>> {
        let is_list = self.get().starts_with('[');
        if is_list { serde_json::from_str(self.get()).ok() } else { None }
    }

    fn members(self) -> Option<Members<'a, Self>> {
        let members: RawMembers<'a> = serde_json::from_str(self.get()).ok()?;
        let mut names = HashSet::with_capacity(members.0.len());
        let is_new = |(name, _): &(Cow<'a, str>, _)| names.insert(name.clone());
        if members.0.iter().all(is_new) { Some(members.0) } else { None }
    }

    fn source(self) -> Option<Source<'static>> {
        serde_json::from_str(self.get()).ok()
    }

    fn unquoted(self) -> Option<String> {
        unquoted(self.get())
    }

    fn json(self) -> Result<Json, InvalidJson> {
        Json::new(self.get())
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct RawMembers<'a>(Members<'a, &'a RawValue>);

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
