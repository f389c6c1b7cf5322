//! How much smaller the smallest view of a history is.

use anyhow::Result;

use super::talk::Talk;
use crate::{figure::Figure, rounds::Samples};

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(super) fn measure(compacted: &Talk) -> Result<Figure> {
    let stats = compacted.stats()?;
    let value = stats.tokens as f64 / stats.view_tokens as f64;
    // Nothing here depends on time or chance.
    let samples = Samples { name: "memory-hooks".to_owned(), unit: "x", values: vec![value] };
    let note = format!(
        "{} tokens of messages, {} of the coarsest view under the default thresholds, headers included",
        stats.tokens, stats.view_tokens
    );
    Ok(Figure::absolute("reduction_10k", &samples, note))
}
