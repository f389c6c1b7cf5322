//! The token counter of tiktoken vocabularies.

use std::fmt;

use memory_core::port::TokenCounter;

mod classes;
mod hash;
mod merge;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use merge::Merger;
use words::Words;

/// Bytes after which a word is cut to limit its cost. Natural texts and programs have no such words.
const LONGEST_WORD: usize = 128 << 10;

/// A vocabulary, compiled into the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// 100,000 tokens.
    Cl100kBase,
    /// 200,000 tokens.
    O200kBase,
}

impl Encoding {
    /// Its tiktoken name, as in `cl100k_base`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Counts tokens as models with a tiktoken vocabulary do.
///
/// Loads nothing, because the binary contains the vocabulary in the form of its lookup table. Special tokens such as
/// `<|endoftext|>` count as ordinary text.
///
/// Counts are exact, except that a word, or a run of blanks or marks, is cut every 128 KiB to limit its cost; each cut
/// changes the count by a few tokens.
///
/// ```
/// use memory_core::port::TokenCounter;
/// use memory_embed::TiktokenCounter;
///
/// assert_eq!(TiktokenCounter::cl100k().count("tiktoken is great!"), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiktokenCounter {
    encoding: Encoding,
}

impl TiktokenCounter {
    /// A counter by `encoding`.
    #[must_use]
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// A counter by `cl100k_base`.
    #[must_use]
    pub const fn cl100k() -> Self {
        Self::new(Encoding::Cl100kBase)
    }

    /// A counter by `o200k_base`.
    #[must_use]
    pub const fn o200k() -> Self {
        Self::new(Encoding::O200kBase)
    }

    /// Its vocabulary.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }
}

impl TokenCounter for TiktokenCounter {
    fn name(&self) -> &str {
        self.encoding.name()
    }

    // Words of both vocabularies cross a line end only in white space, and in one of them to a `/`.
    fn adds_up_at_lines(&self) -> bool {
        true
    }

    fn count(&self, text: &str) -> u32 {
        let (vocabulary, words) = match self.encoding {
            Encoding::Cl100kBase => (&vocabulary::CL100K, Words::cl100k(text)),
            Encoding::O200kBase => (&vocabulary::O200K, Words::o200k(text)),
        };
        let mut merger = Merger::new(vocabulary);
        let parts = words.flat_map(|word| word.as_bytes().chunks(LONGEST_WORD));
        let count: usize = parts.map(|part| merger.count(part)).sum();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
