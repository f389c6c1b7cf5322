//! What reading checked texts costs at least: the checksum, UTF-8 and a copy of each record, and nothing else.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::contender::Contender;

/// Texts in a row in memory, with where each ends and its checksum. There is no index to search, no file to map, no lock,
/// and no message to build: whoever checks what he gives out pays this and more. Checksum
/// and UTF-8 are those that ours has, the fastest that we know.
#[derive(Debug, Default)]
pub(super) struct Copied {
    texts: Vec<u8>,
    /// Behind each text, and its checksum.
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
        let texts = (first..first + count).map(|position| self.text(position)).collect::<Result<Vec<_>>>()?;
        Ok(texts.iter().map(String::len).sum())
    }
}
