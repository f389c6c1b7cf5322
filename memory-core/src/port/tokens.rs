//! Port: how many tokens a text costs.

use std::fmt;

/// Counts tokens as a model would.
///
/// Contract: never fails, whatever the text. The empty text costs 0. Appending text never lowers the count by more than
/// a few tokens (merges across the seam). Equal texts cost the same.
pub trait TokenCounter: fmt::Debug + Send + Sync {
    /// The encoding's name, as in `cl100k_base`.
    fn name(&self) -> &str;

    /// Tokens of `text`, special tokens counted as the ordinary text they are.
    fn count(&self, text: &str) -> u32;

    /// True if a text costs what its parts cost together, if every part but the last ends with a line end and every
    /// part but the first begins with a letter, `[` or `-`. A caller that counts a growing text then counts only the
    /// new parts. `false` unless the sum is exact.
    fn adds_up_at_lines(&self) -> bool {
        false
    }

    /// Tokens that a message costs in addition to its text.
    fn per_message(&self) -> u32 {
        8
    }
}
