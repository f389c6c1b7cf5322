//! The least cost of reading checked texts: the checksum, UTF-8 and a copy of each record, and nothing else.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use memory_core::{ContentBlock, Message, Node, NodeId, Role, Timestamp};

use super::{contender::Contender, ours::text_bytes};

/// Texts in a row in memory, with the end and the checksum of each. There is no index to search, no file to map, no
/// lock, and no message to build. A store that checks what it returns takes at least this time. Checksum and UTF-8
/// validation are the same as ours, the fastest that we know.
#[derive(Debug, Default)]
pub(super) struct Copied {
    texts: Vec<u8>,
    /// The end of each text, and its checksum.
    ends: Vec<(usize, u32)>,
}

impl Copied {
    fn text(&self, position: u64) -> Result<String> {
        let position = usize::try_from(position)?;
        let begin = position.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        let (end, checksum) = *self.ends.get(position).context("no such text")?;
        let text = self.texts.get(begin..end).context("a text is cut short")?;
        ensure!(crc_fast::crc32_iscsi(text) == checksum, "a text was changed");
        Ok(simdutf8::basic::from_utf8(text)?.to_owned())
    }
}

impl Contender for Copied {
    type Batch = Vec<String>;

    const NAME: &'static str = "checksum, UTF-8 and copy alone";

    fn create(_: &Path) -> Result<Self> {
        Ok(Self::default())
    }

    fn batch(texts: &[String]) -> Vec<String> {
        texts.to_vec()
    }

    fn append(&mut self, batch: Vec<String>) -> Result<()> {
        for text in batch {
            self.texts.extend_from_slice(text.as_bytes());
            self.ends.push((self.texts.len(), crc_fast::crc32_iscsi(text.as_bytes())));
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn read(&self, position: u64) -> Result<usize> {
        Ok(self.text(position)?.len())
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let mut texts = Vec::with_capacity(usize::try_from(count)?);
        for position in first..first + count {
            texts.push(self.text(position)?);
        }
        Ok(texts.iter().map(String::len).sum())
    }
}

/// The same, with each text returned as a [`Node`]: with the list of its message's blocks, and in a list of nodes if
/// there are several. Everything else in a node is invented and costs nothing to find.
#[derive(Debug, Default)]
pub(super) struct Built(Copied);

const EMPTY: ContentBlock = ContentBlock::Text(String::new());
/// Filled in place, as ours is: a node that is built first and then moved costs more.
const BLANK: Node =
    Node::new(NodeId::FIRST, Message::new(Role::User, Vec::new()), Timestamp::from_millis(0)).tokens(50);

impl Built {
    fn fill_in(&self, position: u64, node: &mut Node) -> Result<()> {
        node.id = NodeId::new(position + 1).context("positions begin at 0")?;
        node.message.content.reserve_exact(1);
        node.message.content.push(EMPTY);
        if let Some(ContentBlock::Text(place)) = node.message.content.last_mut() {
            *place = self.0.text(position)?;
        }
        Ok(())
    }
}

impl Contender for Built {
    type Batch = Vec<String>;

    const NAME: &'static str = "checksum, UTF-8, copy and a node";

    fn create(directory: &Path) -> Result<Self> {
        Copied::create(directory).map(Self)
    }

    fn batch(texts: &[String]) -> Vec<String> {
        Copied::batch(texts)
    }

    fn append(&mut self, batch: Vec<String>) -> Result<()> {
        self.0.append(batch)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn read(&self, position: u64) -> Result<usize> {
        let mut node = BLANK;
        self.fill_in(position, &mut node)?;
        Ok(text_bytes(&node))
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let mut nodes = Vec::with_capacity(usize::try_from(count)?);
        for position in first..first + count {
            nodes.push(BLANK);
            if let Some(node) = nodes.last_mut() {
                self.fill_in(position, node)?;
            }
        }
        Ok(nodes.iter().map(text_bytes).sum())
    }
}
