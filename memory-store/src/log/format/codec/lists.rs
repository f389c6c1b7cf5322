//! The lists after the head of a message, read one item after the other.

use super::{cursor::Cursor, wire::CodecError};

/// Most blocks, topics, and metadata entries of one message.
pub(super) const MAX_ITEMS: usize = 1 << 16;
/// Most places reserved for the items of a list before any of them was read.
pub(super) const FIRST_ITEMS: usize = 16;

/// The tag of a text block.
pub(super) const TEXT: u8 = 0;

/// Lists after the head: topics; blocks, depth first, a tool result followed by its content; metadata by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists<'a>(Cursor<'a>);

impl<'a> Lists<'a> {
    pub(super) fn new(behind_the_head: Cursor<'a>) -> Self {
        Self(behind_the_head)
    }

    /// Number of items in the next list.
    #[inline]
    pub(super) fn count(&mut self) -> Result<usize, CodecError> {
        let count = self.0.varint().and_then(|count| usize::try_from(count).ok());
        count.filter(|count| *count <= MAX_ITEMS).ok_or_else(|| "a message has a list of an impossible length".into())
    }

    /// The next item of a list.
    #[inline]
    pub(super) fn item<T>(&mut self, read: impl FnOnce(&mut Cursor<'a>) -> Option<T>) -> Result<T, CodecError> {
        read(&mut self.0).ok_or_else(|| "an item of a message cannot be decoded".into())
    }

    /// The `count` texts of a list, owned.
    pub(super) fn texts(&mut self, count: usize) -> Result<Vec<String>, CodecError> {
        let mut texts = Vec::with_capacity(count.min(FIRST_ITEMS));
        for _ in 0..count {
            texts.push(self.item(Cursor::text)?.to_owned());
        }
        Ok(texts)
    }

    /// The next item of a list of blocks, if it is a text; otherwise nothing is consumed.
    #[inline]
    pub(super) fn text_block(&mut self) -> Option<&'a str> {
        let mut ahead = self.0;
        if ahead.byte()? != TEXT {
            return None;
        }
        let text = ahead.text()?;
        self.0 = ahead;
        Some(text)
    }

    pub(super) fn end(self) -> Result<(), CodecError> {
        if self.0.is_at_end() { Ok(()) } else { Err("a record has bytes after its end".into()) }
    }
}
