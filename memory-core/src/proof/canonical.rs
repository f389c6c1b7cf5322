//! The canonical bytes of a message: the input of its hash, independent of any codec.

mod read;

pub use read::{InvalidCanonical, message_from_canonical};

use crate::{ContentBlock, Json, Media, Message, Role, Timestamp};

/// Version of the canonical form, its first byte.
const VERSION: u8 = 1;

/// The bytes that represent `message`, said at `at`, in a Merkle leaf. `docs/format.md` defines them.
///
/// Every variable part is preceded by its length as a little-endian `u64` and every choice by a tag
/// byte, so two different messages never give the same bytes.
#[must_use]
pub fn canonical_bytes(message: &Message, at: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    push_canonical_bytes(&mut out, message, at);
    out
}

/// Appends the [`canonical_bytes`] of `message` to `out`.
pub(crate) fn push_canonical_bytes(out: &mut Vec<u8>, message: &Message, at: Timestamp) {
    let mut out = Canonical(out);
    // Destructured in full: a new field is hashed here, and written by the codec of every store.
    let Message { role, speaker, content, key, metadata, keep_out_of_summaries } = message;
    out.tag(VERSION);
    out.tag(match role {
        Role::User => 1,
        Role::Assistant => 2,
        Role::System => 3,
        Role::Tool => 4,
    });
    out.0.extend_from_slice(&at.as_millis().to_le_bytes());
    out.option(speaker.as_deref());
    out.option(key.as_ref().map(|key| key.as_str()));
    out.tag(u8::from(*keep_out_of_summaries));
    out.blocks(content);
    out.length(metadata.len());
    for (name, value) in metadata {
        out.text(name);
        out.json(value);
    }
}

struct Canonical<'a>(&'a mut Vec<u8>);

impl Canonical<'_> {
    fn tag(&mut self, tag: u8) {
        self.0.push(tag);
    }

    fn length(&mut self, length: usize) {
        self.0.extend_from_slice(&(length as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn json(&mut self, json: &Json) {
        self.text(json.as_str());
    }

    fn option(&mut self, text: Option<&str>) {
        self.tag(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn blocks(&mut self, blocks: &[ContentBlock]) {
        self.length(blocks.len());
        blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text(text) => {
                self.tag(1);
                self.text(text);
            }
            ContentBlock::ToolUse { id, name, input } => {
                self.tag(2);
                self.text(id);
                self.text(name);
                self.json(input);
            }
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                self.tag(3);
                self.text(tool_use_id);
                self.tag(u8::from(*is_error));
                self.blocks(content);
            }
            ContentBlock::Image(media) => {
                self.tag(4);
                self.media(media);
            }
            ContentBlock::Document { title, media } => {
                self.tag(5);
                self.option(title.as_deref());
                self.media(media);
            }
            ContentBlock::Reasoning { text, signature } => {
                self.tag(6);
                self.text(text);
                self.option(signature.as_deref());
            }
            ContentBlock::Unknown(json) => {
                self.tag(7);
                self.json(json);
            }
        }
    }

    fn media(&mut self, media: &Media) {
        match media {
            Media::Url(url) => {
                self.tag(1);
                self.text(url);
            }
            Media::Text { media_type, text } => {
                self.tag(2);
                self.text(media_type);
                self.text(text);
            }
            Media::Bytes { media_type, data } => {
                self.tag(3);
                self.text(media_type);
                self.bytes(data);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::messages;

    /// Golden bytes: a change here changes every root that was ever published.
    #[test]
    fn the_canonical_form_of_version_1_never_changes() {
        let message = Message::user("hi").speaker("Ann").keep_out_of_summaries(true);
        let bytes = canonical_bytes(&message, Timestamp::from_millis(258));
        let mut golden = vec![1, 1, 2, 1, 0, 0, 0, 0, 0, 0];
        golden.extend([1, 3, 0, 0, 0, 0, 0, 0, 0]);
        golden.extend(b"Ann");
        golden.extend([0, 1]);
        golden.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0]);
        golden.extend(b"hi");
        golden.extend([0; 8]);
        assert_eq!(bytes, golden);
    }

    proptest! {
        #[test]
        fn different_messages_have_different_bytes(a in messages(), b in messages()) {
            let at = Timestamp::from_millis(0);
            prop_assert_eq!(a == b, canonical_bytes(&a, at) == canonical_bytes(&b, at));
        }
    }
}
