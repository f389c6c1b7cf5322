//! Names of conversations and keys of messages, derived from the ids of the source.

use memory_core::{ConversationId, Hash, MessageKey};
use unicode_normalization::UnicodeNormalization;

/// Maximum bytes of a name that come from ids; a longer name ends in a hash.
const LONGEST: usize = 120;
/// Hexadecimal digits of a hash in a name.
const DIGITS: usize = 12;

/// The name of a conversation: the ids of its source, joined by `-`.
///
/// Invisible and forbidden characters become `-`. A name that is changed or too long ends in a hash of the ids, so that
/// different ids always give different names.
pub(crate) fn conversation_id(ids: &[&str]) -> ConversationId {
    let whole = ids.join("-");
    let composed: String = whole.nfc().collect();
    let mut name = String::new();
    for c in composed.chars() {
        if name.len() + c.len_utf8() > LONGEST {
            break;
        }
        name.push(if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '@' | ':' | '+' | '=' | '%') {
            c
        } else {
            '-'
        });
    }
    // A name of dots would be a path, and one that begins with a dash an option.
    let is_odd = name.is_empty() || name.starts_with(['-', '.']);
    if is_odd || name != whole {
        let parts = ids.iter().map(|id| id.as_bytes());
        let hash = digits(&Hash::of_parts(parts), DIGITS);
        let begin = name.trim_start_matches(['-', '.']);
        name = if begin.is_empty() { format!("conversation-{hash}") } else { format!("{begin}-{hash}") };
    }
    let unusual = || ConversationId::generate(memory_core::Timestamp::default(), [0; 10]);
    match ConversationId::new(&name) {
        Ok(id) if id.check_new().is_ok() => id,
        _ => {
            let hash = digits(&Hash::of_parts(ids.iter().map(|id| id.as_bytes())), 32);
            ConversationId::new(&format!("conversation-{hash}")).unwrap_or_else(|_| unusual())
        }
    }
}

/// The name of a fork of `conversation` whose own messages begin with `first`.
#[must_use]
pub fn branch_name(conversation: &ConversationId, first: &MessageKey) -> ConversationId {
    conversation_id(&[conversation.as_str(), &short(first.as_str().trim_start_matches("record-"))])
}

/// The key of the rest of a message whose first `blocks` blocks were imported while it was incomplete.
#[must_use]
pub fn rest_key(whole: &MessageKey, blocks: usize) -> MessageKey {
    key(&format!("{whole}+{blocks}"))
}

/// The key of a message with this id in the source.
pub(crate) fn key(id: &str) -> MessageKey {
    let hashed = || digits(&Hash::of_parts([id.as_bytes()]), 32);
    let fits = |id: &str| MessageKey::new(id).ok().filter(|_| !id.chars().any(memory_core::text::is_hidden));
    fits(id).or_else(|| fits(&format!("id-{}", hashed()))).unwrap_or_else(unreachable_key)
}

/// Hash over all records so far, as the key of messages in sources without ids: earlier keys stay when a file grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(pub(crate) Hash);

impl Default for Chain {
    fn default() -> Self {
        Self(Hash::of_parts([]))
    }
}

impl Chain {
    /// Adds a record.
    pub(crate) fn take(&mut self, record: &str) {
        self.0 = Hash::of_parts([self.0.as_bytes().as_slice(), record.as_bytes()]);
    }

    /// The key of the last record.
    pub(crate) fn key(&self) -> MessageKey {
        MessageKey::new(&format!("record-{}", digits(&self.0, 32))).unwrap_or_else(|_| unreachable_key())
    }
}

/// Never used: a key of fixed length is always valid.
fn unreachable_key() -> MessageKey {
    key("id")
}

fn digits(hash: &Hash, count: usize) -> String {
    hash.to_string().chars().take(count).collect()
}

/// The first characters of an id, for the name of a fork.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_usual_id_is_the_name_itself() {
        let id = "1b7e1f0a-9c1d-4a53-8e36-2f1a0c4d9b11";
        assert_eq!(conversation_id(&[id]).as_str(), id);
        assert_eq!(conversation_id(&[id, "agent", "a1"]).as_str(), format!("{id}-agent-a1"));
        assert_eq!(key(id).as_str(), id);
    }

    #[test]
    fn tricks_of_paths_and_of_sight_become_plain_names() {
        for odd in
            ["../../etc/passwd", "a/b", "..", "", "-rf", "a b", "x\u{202e}y", "a\0b", "e\u{301}", &"x".repeat(999)]
        {
            let id = conversation_id(&[odd]);
            assert!(!id.as_str().contains(['/', '\\']) && !id.as_str().starts_with(['.', '-']), "{id}");
            id.check_new().unwrap();
            assert_ne!(id, conversation_id(&[&format!("{odd}!")]));
        }
    }

    proptest! {
        #[test]
        fn every_text_gives_a_name_and_a_key(a in "\\PC{0,300}|.{0,40}", b in ".{0,20}") {
            conversation_id(&[&a, &b]).check_new().unwrap();
            prop_assert!(key(&a).as_str().len() <= 256);
            prop_assert_eq!(conversation_id(&[&a]), conversation_id(&[&a]));
        }
    }
}
