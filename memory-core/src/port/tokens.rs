//! Port: how many tokens a text costs.

use std::fmt;

/// Counts tokens as a model would.
///
/// Contract: never fails, whatever the text; the empty text costs 0; appending text never lowers the
/// count by more than a few tokens (merges across the seam); equal texts cost the same.
pub trait TokenCounter: fmt::Debug + Send + Sync {
    /// The encoding's name, as in `cl100k_base`.
    fn name(&self) -> &str;

    /// Tokens of `text`, special tokens counted as the ordinary text they are.
    fn count(&self, text: &str) -> u32;

    /// Tokens that a message costs beside its text.
    fn per_message(&self) -> u32 {
        8
    }
}
