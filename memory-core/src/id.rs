//! Names of conversations, nodes, summaries, views and notes.

use std::{fmt, num::NonZeroU64, str::FromStr, sync::Arc};

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::{
    Timestamp,
    text::{is_hidden, one_line},
};

/// The name of a conversation: 1 to 200 bytes, without white space, control characters, `/` or `\`.
///
/// These rules hold for every name in a store. The name of a *new* conversation must meet stricter ones
/// ([`Self::check_new`]), which a store checks when it begins a conversation.
///
/// Generated names are UUIDv7 ([RFC 9562](https://www.rfc-editor.org/rfc/rfc9562)), so that they sort by the time of
/// their creation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(Arc<str>);

/// Why a text cannot name a conversation, or cannot name a new one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name a conversation: {why}", one_line(name))]
pub struct InvalidConversationId {
    /// The refused text, shortened.
    pub name: String,
    /// The fault.
    pub why: UnfitName,
}

/// Fault of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitName {
    /// The name has no characters.
    #[error("it is empty")]
    Empty,
    /// The name has more than [`ConversationId::MAX_BYTES`].
    #[error("it is longer than {} bytes", ConversationId::MAX_BYTES)]
    TooLong,
    /// The name has white space, a control character, `/` or `\`.
    #[error("white space, control characters, `/` and `\\` are not allowed, as {} at byte {at}", escaped(*character))]
    Forbidden {
        /// The first such character.
        character: char,
        /// Its first byte in the name.
        at: usize,
    },
    /// The name has an invisible character, so that two names would look the same.
    #[error("a new one has no characters that cannot be seen, as {} at byte {at}", escaped(*character))]
    Hidden {
        /// The first such character.
        character: char,
        /// Its first byte in the name.
        at: usize,
    },
    /// The name is not normalized, so that two names would look the same.
    #[error(
        "a new one is written in normalization form C (NFC), and this is not from byte {at} on: write `{composed}`"
    )]
    NotComposed {
        /// The first byte that differs in normalization form C.
        at: usize,
        /// The name as it should be written.
        composed: String,
    },
}

fn escaped(character: char) -> impl fmt::Display {
    character.escape_unicode()
}

impl ConversationId {
    /// Longest name, in bytes.
    pub const MAX_BYTES: usize = 200;

    /// A valid name for an existing conversation.
    ///
    /// # Errors
    /// When it is empty, longer than [`Self::MAX_BYTES`], or holds white space, control characters, `/` or `\`.
    pub fn new(name: &str) -> Result<Self, InvalidConversationId> {
        match check_name(name) {
            Ok(()) => Ok(Self(name.into())),
            Err(why) => Err(InvalidConversationId { name: shortened(name), why }),
        }
    }

    /// Checks that a new conversation may have this name: no other name may look the same. A store checks this
    /// when it begins a conversation or a fork, and never for an existing one.
    ///
    /// # Errors
    /// When it holds invisible characters ([`is_hidden`], and the blank of Braille), or is not in normalization form C
    /// ([UAX 15](https://www.unicode.org/reports/tr15/)).
    pub fn check_new(&self) -> Result<(), InvalidConversationId> {
        check_new_name(&self.0).map_err(|why| InvalidConversationId { name: shortened(&self.0), why })
    }

    /// A new UUIDv7 name from the time and 10 random bytes.
    #[must_use]
    pub fn generate(at: Timestamp, random: [u8; 10]) -> Self {
        const VERSION_7: u128 = 7 << 76;
        const VARIANT: u128 = 0b10 << 62;
        let millis = u128::try_from(at.as_millis()).unwrap_or(0) << 80;
        let random = random.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        let bits = millis | VERSION_7 | VARIANT | random & !(0xF << 76 | 0b11 << 62);
        let part = |end: u32, digits: u32| bits >> end & ((1 << (4 * digits)) - 1);
        let parts = (part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12));
        Self(format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", parts.0, parts.1, parts.2, parts.3, parts.4).into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Rules for every name in a store.
pub(crate) fn check_name(name: &str) -> Result<(), UnfitName> {
    if name.is_empty() {
        return Err(UnfitName::Empty);
    }
    if name.len() > ConversationId::MAX_BYTES {
        return Err(UnfitName::TooLong);
    }
    let bad = |c: char| c.is_whitespace() || c.is_control() || c == '/' || c == '\\';
    match name.char_indices().find(|(_, c)| bad(*c)) {
        Some((at, character)) => Err(UnfitName::Forbidden { character, at }),
        None => Ok(()),
    }
}

/// Additional rules for a new name: no other may look the same.
pub(crate) fn check_new_name(name: &str) -> Result<(), UnfitName> {
    if let Some((at, character)) = name.char_indices().find(|(_, c)| is_hidden(*c) || *c == '\u{2800}') {
        return Err(UnfitName::Hidden { character, at });
    }
    if is_nfc(name) {
        return Ok(());
    }
    let composed: String = name.nfc().collect();
    let same = |((_, a), b): &((usize, char), char)| a == b;
    let at = name.char_indices().zip(composed.chars()).take_while(same).last();
    let at = at.map_or(0, |((at, c), _)| at + c.len_utf8());
    Err(UnfitName::NotComposed { at, composed })
}

/// The beginning of a refused name.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ConversationId {
    type Err = InvalidConversationId;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

/// The position of a message in its conversation: dense, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    /// The first message of a conversation.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The node at `position`; `None` for 0.
    #[must_use]
    pub fn new(position: u64) -> Option<Self> {
        NonZeroU64::new(position).map(Self)
    }

    /// The node at a zero-based index.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(NonZeroU64::MIN.saturating_add(index as u64))
    }

    /// The position, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The position from 0, to index a slice with.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }

    /// The node after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The node before this one; `None` at the first.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        Self::new(self.get() - 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a summary in its conversation: dense, from 1, independent of node numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SummaryId(NonZeroU64);

impl SummaryId {
    /// The summary numbered `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The summary at a zero-based index.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(NonZeroU64::MIN.saturating_add(index as u64))
    }

    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The number from 0, to index a slice with.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for SummaryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// The number of a recorded view in its conversation: dense, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(NonZeroU64);

impl ViewId {
    /// The first recorded view of a conversation.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The view numbered `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The view after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The number of a note in its conversation: from 1, independent of node numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoteId(NonZeroU64);

impl NoteId {
    /// The first note of a conversation.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The note numbered `number`; `None` for 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The note after the one numbered `last`, or the first for 0.
    #[must_use]
    pub fn after(last: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(last))
    }
}

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// The name of an embedding model, so that vectors of two models are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(Arc<str>);

impl ModelId {
    /// Any text; by convention `name/variant`, as in `all-MiniLM-L6-v2/int8`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_a_directory_are_refused() {
        for bad in ["", "a b", "a/b", "a\\b", "a\nb", "a\0b", &"x".repeat(201)] {
            assert!(ConversationId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "locomo-43", "qmsum-test-Bed003", "日本", &"x".repeat(200)] {
            assert_eq!(ConversationId::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_new_name_is_seen_as_what_it_is() {
        let refused = |name: &str| ConversationId::new(name).unwrap().check_new().unwrap_err();
        for (name, character, at) in [
            ("a\u{202e}b", '\u{202e}', 1),
            ("日\u{200b}", '\u{200b}', 3),
            ("\u{2066}", '\u{2066}', 0),
            ("talk\u{feff}", '\u{feff}', 4),
            ("talk\u{e0041}", '\u{e0041}', 4),
            ("talk\u{2065}", '\u{2065}', 4),
            ("می\u{200c}خواهم", '\u{200c}', 4),
            ("talk\u{2800}", '\u{2800}', 4),
        ] {
            let error = refused(name);
            assert_eq!(error.why, UnfitName::Hidden { character, at }, "{name:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("\\u{{{:x}}} at byte {at}", u32::from(character))), "{text}");
            assert!(!text.chars().any(|c| is_hidden(c) && c != '\u{200c}'), "{text:?}");
        }
        let error = refused("le-cafe\u{301}");
        assert_eq!(error.why, UnfitName::NotComposed { at: 6, composed: "le-caf\u{e9}".into() });
        assert!(error.to_string().contains("write `le-caf\u{e9}`"), "{error}");
        // A single character may also differ from its composed form.
        assert!(matches!(refused("5\u{212a}").why, UnfitName::NotComposed { at: 1, .. }));
        for good in ["talk", "caf\u{e9}", "日本", "locomo-43", "q\u{323}\u{307}", "🏔"] {
            ConversationId::new(good).unwrap().check_new().unwrap();
        }
    }

    #[test]
    fn a_generated_name_is_the_uuid_of_rfc_9562_with_its_time_and_random_bits() {
        // RFC 9562, appendix A.6.
        let random = [0x0C, 0xC3, 0x18, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F];
        let name = ConversationId::generate(Timestamp::from_millis(0x017F_22E2_79B0), random);
        assert_eq!(name.as_str(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
        let ones = ConversationId::generate(Timestamp::from_millis(i64::MAX), [255; 10]);
        assert_eq!(ones.as_str(), "ffffffff-ffff-7fff-bfff-ffffffffffff");
        let before_the_epoch = ConversationId::generate(Timestamp::from_millis(-1), [0; 10]);
        assert_eq!(before_the_epoch.as_str(), "00000000-0000-7000-8000-000000000000");
    }

    #[test]
    fn generated_names_sort_by_time() {
        let early = ConversationId::generate(Timestamp::from_millis(1_000), [255; 10]);
        let late = ConversationId::generate(Timestamp::from_millis(2_000), [0; 10]);
        assert!(early < late);
    }
}
