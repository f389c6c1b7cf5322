//! Port: counting tokens.

use std::fmt;

/// Counts tokens as a model would.
///
/// Contract: never fails, for any text. The empty text costs 0. Appending text lowers the count by at most a few tokens
/// (merges across the seam). Equal texts cost the same.
pub trait TokenCounter: fmt::Debug + Send + Sync {
    /// Name of the encoding, such as `cl100k_base`.
    fn name(&self) -> &str;

    /// Number of tokens of `text`. Special tokens count as ordinary text.
    fn count(&self, text: &str) -> u32;

    /// True if a text costs exactly the sum of its parts whenever every part but the last ends with a line end, and
    /// every part but the first begins with a letter, `[` or `-`. A caller that counts a growing text then counts only
    /// the new parts.
    fn adds_up_at_lines(&self) -> bool {
        false
    }

    /// Tokens that a message costs in addition to its text.
    fn per_message(&self) -> u32 {
        8
    }
}
