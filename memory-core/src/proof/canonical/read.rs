//! Reading a message from its canonical bytes.

use std::collections::BTreeMap;

use super::VERSION;
use crate::{ContentBlock, Json, Media, Message, MessageKey, Role, Timestamp};

/// Maximum nesting of tool results: far deeper than in any real message, and far less than the stack allows.
const DEEPEST: u32 = 64;

/// Reason why bytes are not those of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a canonical message: {why} at byte {offset}")]
pub struct InvalidCanonical {
    /// Offset at which reading stopped.
    pub offset: usize,
    /// The fault.
    pub why: &'static str,
}

/// Reads the output of [`canonical_bytes`](crate::proof::canonical_bytes): the message and its time.
///
/// Only canonical bytes are accepted: writing the message again gives the same bytes. Memory use is bounded by their
/// number.
///
/// # Errors
/// When the bytes are not canonical, or tool results are nested more than 64 deep.
pub fn message_from_canonical(bytes: &[u8]) -> Result<(Message, Timestamp), InvalidCanonical> {
    let mut reader = Reader { rest: bytes, depth: 0 };
    let read = reader.message();
    let at_end = read.and_then(|read| match reader.rest {
        [] => Ok(read),
        [..] => Err("more follows"),
    });
    at_end.map_err(|why| InvalidCanonical { offset: bytes.len() - reader.rest.len(), why })
}

type Read<T> = Result<T, &'static str>;

struct Reader<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    fn message(&mut self) -> Read<(Message, Timestamp)> {
        if self.tag()? != VERSION {
            return Err("another version of the canonical form");
        }
        let role = match self.tag()? {
            1 => Role::User,
            2 => Role::Assistant,
            3 => Role::System,
            4 => Role::Tool,
            _ => return Err("an unknown role"),
        };
        let at = Timestamp::from_millis(i64::from_le_bytes(self.array()?));
        let speaker = self.option()?;
        let key = match self.option()? {
            Some(key) => Some(MessageKey::new(&key).map_err(|_| "a key of a wrong length")?),
            None => None,
        };
        let keep_out_of_summaries = self.flag()?;
        let content = self.blocks()?;
        let metadata = self.metadata()?;
        Ok((Message { role, speaker, content, key, metadata, keep_out_of_summaries }, at))
    }

    fn metadata(&mut self) -> Read<BTreeMap<String, Json>> {
        let mut metadata = BTreeMap::new();
        for _ in 0..self.number()? {
            let (name, value) = (self.text()?, self.json()?);
            if metadata.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return Err("metadata out of order");
            }
            metadata.insert(name, value);
        }
        Ok(metadata)
    }

    fn blocks(&mut self) -> Read<Vec<ContentBlock>> {
        let count = self.number()?;
        // The list grows block by block, since the count is not trusted.
        (0..count).map(|_| self.block()).collect::<Result<Vec<_>, _>>()
    }

    fn block(&mut self) -> Read<ContentBlock> {
        Ok(match self.tag()? {
            1 => ContentBlock::Text(self.text()?),
            2 => ContentBlock::ToolUse { id: self.text()?, name: self.text()?, input: self.json()? },
            3 => self.tool_result()?,
            4 => ContentBlock::Image(self.media()?),
            5 => ContentBlock::Document { title: self.option()?, media: self.media()? },
            6 => ContentBlock::Reasoning { text: self.text()?, signature: self.option()? },
            7 => ContentBlock::Unknown(self.json()?),
            _ => return Err("an unknown kind of block"),
        })
    }

    fn tool_result(&mut self) -> Read<ContentBlock> {
        let (tool_use_id, is_error) = (self.text()?, self.flag()?);
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("tool results nested too deep");
        }
        let content = self.blocks()?;
        self.depth -= 1;
        Ok(ContentBlock::ToolResult { tool_use_id, content, is_error })
    }

    fn media(&mut self) -> Read<Media> {
        Ok(match self.tag()? {
            1 => Media::Url(self.text()?),
            2 => Media::Text { media_type: self.text()?, text: self.text()? },
            3 => Media::Bytes { media_type: self.text()?, data: self.bytes()?.into() },
            _ => return Err("an unknown kind of media"),
        })
    }

    fn json(&mut self) -> Read<Json> {
        let text = self.str()?;
        // Space around the value would get lost and so change the leaf.
        Json::new(text).ok().filter(|json| json.as_str() == text).ok_or("a text that is not JSON")
    }

    fn option(&mut self) -> Read<Option<String>> {
        self.flag()?.then(|| self.text()).transpose()
    }

    fn text(&mut self) -> Read<String> {
        self.str().map(str::to_owned)
    }

    fn str(&mut self) -> Read<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "a text that is not UTF-8")
    }

    fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| ENDS)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ENDS)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Read<bool> {
        match self.tag()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("neither 0 nor 1"),
        }
    }

    fn tag(&mut self) -> Read<u8> {
        self.array().map(|[tag]| tag)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(ENDS)?;
        self.rest = rest;
        Ok(*array)
    }
}

const ENDS: &str = "it ends too early";

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::*;
    use crate::{proof::canonical_bytes, testing::messages};

    fn written_anew(bytes: &[u8]) -> Option<Vec<u8>> {
        message_from_canonical(bytes).ok().map(|(message, at)| canonical_bytes(&message, at))
    }

    #[test]
    fn counts_that_claim_everything_take_no_memory() {
        let mut bytes = canonical_bytes(&Message::user(""), Timestamp::default());
        let blocks = bytes.len() - 8 - 17;
        bytes[blocks..blocks + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(message_from_canonical(&bytes).is_err());
    }

    #[test]
    fn tool_results_without_end_are_refused() {
        let nested = |depth| {
            let result = |content| ContentBlock::ToolResult { tool_use_id: String::new(), content, is_error: false };
            let block = (0..depth).fold(ContentBlock::Text(String::new()), |inner, _| result(vec![inner]));
            canonical_bytes(&Message { content: vec![block], ..Message::user("") }, Timestamp::default())
        };
        assert!(message_from_canonical(&nested(DEEPEST)).is_ok());
        let error = message_from_canonical(&nested(DEEPEST + 1)).unwrap_err();
        assert_eq!(error.why, "tool results nested too deep");
    }

    #[test]
    fn space_around_json_and_metadata_out_of_order_are_refused() {
        let block = ContentBlock::Unknown(Json::new(r#"{"a":1}"#).unwrap());
        let mut bytes = canonical_bytes(&Message { content: vec![block], ..Message::user("") }, Timestamp::default());
        let at = bytes.windows(7).position(|window| window == br#"{"a":1}"#).unwrap();
        bytes[at..at + 7].copy_from_slice(br#"{"a":} "#);
        assert_eq!(message_from_canonical(&bytes).unwrap_err().why, "a text that is not JSON");
        bytes[at..at + 7].copy_from_slice(br#"{"a":1}"#);
        assert!(message_from_canonical(&bytes).is_ok());
        bytes[at..at + 7].copy_from_slice(br#" "a:1" "#);
        assert_eq!(message_from_canonical(&bytes).unwrap_err().why, "a text that is not JSON");

        let mut message = Message::user("");
        message.metadata = [("a", 1), ("b", 2)].map(|(n, v)| (n.to_owned(), Json::from_value(&v.into()))).into();
        let mut bytes = canonical_bytes(&message, Timestamp::default());
        let at = bytes.iter().rposition(|byte| *byte == b'b').unwrap();
        bytes[at] = b'a';
        assert_eq!(message_from_canonical(&bytes).unwrap_err().why, "metadata out of order");
    }

    proptest! {
        #[test]
        fn a_message_comes_back_from_its_bytes(message in messages(), at: i64) {
            let at = Timestamp::from_millis(at);
            prop_assert_eq!(message_from_canonical(&canonical_bytes(&message, at)), Ok((message, at)));
        }

        #[test]
        fn changed_bytes_are_refused_or_are_those_of_another_message(
            message in messages(), at: Index, byte: u8, cut: bool,
        ) {
            let mut bytes = canonical_bytes(&message, Timestamp::default());
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
                prop_assert!(message_from_canonical(&bytes).is_err());
            } else {
                bytes[at] = byte;
                prop_assert!(written_anew(&bytes).is_none_or(|anew| anew == bytes));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(written_anew(&bytes).is_none_or(|anew| anew == bytes));
        }
    }
}
