//! Messages that a context shows verbatim, and the cost of their labels, derived from its text and pieces for any
//! layout.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use memory_core::{Node, NodeId, port::TokenCounter};
use memory_hooks::{Piece, PieceKind, Prompt};

/// Messages shown by a context.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    /// Messages that are shown verbatim and in full.
    pub(super) whole: BTreeSet<NodeId>,
    /// Tokens of the parts with only full messages, including labels, dates and gaps.
    pub(super) labelled: u32,
    /// Tokens of the same messages as lines `speaker: text`.
    pub(super) bare: u32,
    /// Mean overhead of such a message in addition to its text.
    pub(super) per_message: u32,
}

impl Shown {
    /// Finds each piece in the text. Text between a piece and the one before it, such as a heading or the line of a
    /// gap, counts for that piece. Text before the first piece is not counted. For messages that are shown in part,
    /// labels cannot be separated from text, so these pieces are not counted.
    ///
    /// # Errors
    /// When a piece is not in the text.
    pub(super) fn of(context: &Prompt, nodes: &[Node], counter: &dyn TokenCounter) -> Result<Self> {
        let mut shown = Self::default();
        let (mut bare, mut texts) = (Vec::new(), 0u32);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut is_open = false;
        let mut before = None;
        for (start, piece) in places(context)? {
            let end = start + piece.text.len();
            let from = before.replace(end).unwrap_or(start);
            let (whole, is_all) = whole_in(piece, nodes);
            for node in whole.iter().filter(|_| is_all) {
                bare.push(bare_line(node));
                texts = texts.saturating_add(node.tokens);
            }
            shown.whole.extend(whole.into_iter().map(|node| node.id));
            match runs.last_mut().filter(|_| is_open) {
                Some((_, last)) if is_all => *last = end,
                _ if is_all => runs.push((from, end)),
                _ => {}
            }
            is_open = is_all;
        }
        let text = context.text();
        let count = |(from, to): &(usize, usize)| counter.count(text.get(*from..*to).unwrap_or_default().trim());
        shown.labelled = runs.iter().map(count).sum();
        shown.bare = counter.count(&bare.join("\n"));
        let messages = u32::try_from(bare.len()).unwrap_or(u32::MAX).max(1);
        shown.per_message = shown.labelled.saturating_sub(texts).div_ceil(messages);
        Ok(shown)
    }
}

/// A message with the shortest label.
fn bare_line(node: &Node) -> String {
    format!("{}: {}", node.message.speaker_or_role(), node.message.text())
}

/// True if a piece shows messages rather than summaries.
fn shows_messages(piece: &Piece) -> bool {
    matches!(piece.kind, PieceKind::Message | PieceKind::Recalled)
}

/// A text without the escapes before lines that look like the layout's own.
fn plain(text: &str) -> String {
    text.replace('\\', "")
}

/// Start of each piece in the text, in the order of the text.
fn places(context: &Prompt) -> Result<Vec<(usize, &Piece)>> {
    let text = context.text();
    let mut from = 0;
    let mut places = Vec::with_capacity(context.pieces.len());
    for piece in &context.pieces {
        let after = text.get(from..).and_then(|rest| rest.find(&piece.text)).map(|at| from + at);
        // Pieces may be listed in another order than they are written in.
        let start = after.or_else(|| text.find(&piece.text)).with_context(|| {
            format!("a piece ({}) does not stand in the text of its context: {:?}", piece.kind.as_str(), piece.text)
        })?;
        from = start + piece.text.len();
        places.push((start, piece));
    }
    places.sort_by_key(|(start, _)| *start);
    Ok(places)
}

/// Messages that a piece shows verbatim, and true if it shows nothing else.
fn whole_in<'a>(piece: &Piece, nodes: &'a [Node]) -> (Vec<&'a Node>, bool) {
    let Some(run) = piece.nodes.filter(|_| shows_messages(piece)) else { return (Vec::new(), false) };
    let text = plain(&piece.text);
    let mut rest = text.as_str();
    let mut whole = Vec::new();
    let mut is_all = true;
    for node in run.iter().filter_map(|id| nodes.get(id.index())) {
        let words = plain(&node.message.text());
        match rest.find(words.trim()).and_then(|at| rest.get(at + words.trim().len()..)) {
            Some(after) => {
                rest = after;
                whole.push(node);
            }
            None => is_all = false,
        }
    }
    (whole, is_all)
}

#[cfg(test)]
mod tests;
