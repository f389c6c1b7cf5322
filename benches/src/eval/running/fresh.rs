//! Recall that is injected anew at each turn: where it costs least, and where many put it.

use memory_hooks::{Piece, Prompt, PromptTokens};

/// Our history, with the same recall anew at each turn, which is not kept.
#[derive(Debug, Default)]
pub(super) struct FreshRecall {
    /// With the recall before the last message of the user.
    pub(super) at_the_end: PromptTokens,
    /// With the recall before the history, as in a system prompt.
    pub(super) at_the_head: PromptTokens,
    /// The pieces of the history before the last message that was prompted for.
    before: Vec<Piece>,
}

impl FreshRecall {
    /// A prompt of our history and so many recalled tokens.
    pub(super) fn prompt(&mut self, ours: &Prompt, recalled: u64) {
        let history: Vec<_> = ours.pieces.iter().filter(|piece| piece.kind.is_history()).cloned().collect();
        let tokens = |pieces: &[Piece]| pieces.iter().map(|piece| u64::from(piece.tokens)).sum::<u64>();
        let same = history.iter().zip(&self.before).take_while(|(a, b)| a.text == b.text).count();
        let cached = tokens(history.get(..same).unwrap_or_default());
        self.at_the_end.add(tokens(&history) + recalled, cached);
        self.at_the_head.add(tokens(&history) + recalled, if recalled > 0 { 0 } else { cached });
        // What was recalled stood before the last message, so nothing from there on is cached next time.
        self.before = history.get(..history.len().saturating_sub(1)).unwrap_or_default().to_vec();
    }
}
