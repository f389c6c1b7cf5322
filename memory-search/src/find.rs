//! Regular expressions over the messages of a conversation.

use std::ops::Range;

use memory_core::{ConversationId, Losses, NodeId, NodeRange, Store, StoreError};
use regex::{Regex, RegexBuilder};

/// Nodes read from the store at a time.
const CHUNK: u64 = 512;
/// Bytes that a compiled pattern may take.
const MAX_COMPILED: usize = 1 << 20;
/// Bytes of a line shown before and after a match, and of the match itself.
const MAX_CONTEXT: usize = 120;

/// What to find, and where.
#[derive(Clone, Debug)]
pub struct FindRequest<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// A regular expression in the [syntax](https://docs.rs/regex/latest/regex/#syntax) of the `regex` crate; `^`
    /// and `$` match at the ends of each line.
    pub pattern: &'a str,
    /// From which node to which; `None` for the whole conversation. What reaches past the last node is cut off.
    pub range: Option<NodeRange>,
    /// The most matches to give.
    pub limit: usize,
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The node.
    pub node: NodeId,
    /// Where in [`Message::text`](memory_core::Message::text), in bytes; never empty.
    pub span: Range<usize>,
    /// The line of that text on which the match begins, from 1.
    pub line: u32,
    /// What stands before it on that line, shortened.
    pub before: String,
    /// What matched; shortened where it is long, and at the end of its first line.
    pub matched: String,
    /// What stands behind it on that line, shortened.
    pub after: String,
}

/// The answer to a [`FindRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In order of node and place.
    pub matches: Vec<Match>,
    /// Whether there are more than were asked for.
    pub more: bool,
    /// How many messages were read.
    pub scanned: u64,
    /// Messages on the way that cannot be read.
    pub losses: Losses,
}

/// Why nothing could be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The pattern is no regular expression, or too large a one. The text shows where.
    #[error("`{pattern}` cannot be searched for: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it, over several lines.
        why: regex::Error,
    },
    /// The store failed, or has no such conversation or node.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds the matches of a pattern, reading the conversation from its store piece by piece.
///
/// Messages that cannot be read are passed over and named in the answer. Matching takes time proportional to the text, whatever the pattern. A match lies within one message.
///
/// # Errors
/// When the pattern cannot be compiled, the range begins behind the last node, or the store fails.
pub async fn find(store: &dyn Store, request: &FindRequest<'_>) -> Result<Found, FindError> {
    let pattern = compile(request.pattern)?;
    let conversation = request.conversation;
    let nodes = store.conversation(conversation).await?.nodes;
    let Some(mut rest) = NodeRange::first_n(nodes) else {
        return Ok(Found::default());
    };
    if let Some(asked) = request.range {
        let last = asked.last().min(rest.last());
        rest = NodeRange::new(asked.first(), last).ok_or_else(|| StoreError::UnknownNode {
            conversation: conversation.clone(),
            node: asked.first(),
            nodes,
        })?;
    }
    let mut found = Found::default();
    loop {
        let piece = rest.first().get().saturating_add(CHUNK - 1).min(rest.last().get());
        let piece = NodeId::new(piece).and_then(|last| NodeRange::new(rest.first(), last)).unwrap_or(rest);
        let read = store.readable_nodes(conversation, piece).await?;
        found.losses.extend(&read.losses);
        for node in read.nodes {
            found.scanned += 1;
            let text = node.message.text();
            for span in pattern.find_iter(&text).map(|found| found.range()).filter(|span| !span.is_empty()) {
                if found.matches.len() == request.limit {
                    found.more = true;
                    return Ok(found);
                }
                found.matches.push(describe(node.id, &text, span));
            }
        }
        match NodeRange::new(piece.last().next(), rest.last()) {
            Some(remaining) => rest = remaining,
            None => return Ok(found),
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, FindError> {
    let built = RegexBuilder::new(pattern).multi_line(true).size_limit(MAX_COMPILED).build();
    built.map_err(|why| FindError::Pattern { pattern: pattern.to_owned(), why })
}

fn describe(node: NodeId, text: &str, span: Range<usize>) -> Match {
    let (before, from) = text.split_at_checked(span.start).unwrap_or((text, ""));
    let (matched, after) = from.split_at_checked(span.len()).unwrap_or((from, ""));
    let ends_on_its_line = !matched.contains('\n');
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let before_on_line = before.get(line_start..).unwrap_or_default();
    let after_on_line = if ends_on_its_line { first_line(after) } else { "" };
    Match {
        node,
        span,
        line: u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX),
        before: tail(before_on_line),
        matched: head(first_line(matched)),
        after: head(after_on_line),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn head(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_CONTEXT);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", text.get(..end).unwrap_or_default())
}

fn tail(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_CONTEXT));
    let cut = if start > 0 { "…" } else { "" };
    format!("{cut}{}", text.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests;
