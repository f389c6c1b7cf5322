//! Regular-expression search in the messages of a conversation.

mod pattern;

use std::{
    future::poll_fn,
    ops::Range,
    task::Poll,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId, Losses, NodeId, NodeOutline, NodeRange, OwnerId, Scope, Source, StoreError, ceil_char_boundary,
    floor_char_boundary,
};
use pattern::Pattern;

/// Maximum nodes per read from the store, and maximum tokens; a single node may exceed the latter.
const CHUNK: u64 = 512;
const CHUNK_TOKENS: u64 = 1 << 18;
/// Maximum bytes of a line shown before and after a match, and of the match itself.
const MAX_CONTEXT: usize = 120;

/// What to search for, and where; see [`find`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FindRequest<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Whose it must be, as in a [`Scope`]; anybody's with `None`, the default.
    pub owner: Option<&'a OwnerId>,
    /// A regular expression in the [syntax](https://docs.rs/regex/latest/regex/#syntax) of the `regex` crate; `^`
    /// and `$` match at the ends of each line.
    pub pattern: &'a str,
    /// The nodes to search; `None`, the default, for the whole conversation. Nodes after the last one are ignored.
    pub range: Option<NodeRange>,
    /// The maximum number of matches; all of them by default.
    pub limit: usize,
    /// The approximate time limit; `None`, the default, for no limit.
    pub max_time: Option<Duration>,
}

impl<'a> FindRequest<'a> {
    /// All matches of a pattern in a conversation.
    #[must_use]
    pub const fn new(conversation: &'a ConversationId, pattern: &'a str) -> Self {
        Self { conversation, owner: None, pattern, range: None, limit: usize::MAX, max_time: None }
    }

    memory_core::setters! {
        into owner: Option<&'a OwnerId>,
        into range: Option<NodeRange>,
        const limit: usize,
        into max_time: Option<Duration>,
    }
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The node.
    pub node: NodeId,
    /// The byte range in [`Message::text`](memory_core::Message::text); never empty.
    pub span: Range<usize>,
    /// The line of the text on which the match begins, from 1.
    pub line: u32,
    /// The text before the match on its line, shortened.
    pub before: String,
    /// The matched text, shortened if it is long, and cut at the end of its first line.
    pub matched: String,
    /// The text after the match on its line, shortened.
    pub after: String,
}

/// The result of [`find`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The matches, in order of node and position.
    pub matches: Vec<Match>,
    /// Whether there are more matches than [`FindRequest::limit`].
    pub more: bool,
    /// The node to continue from, if time ran out; its own matches are not included. It is never the first node of the
    /// request, so that continuing there makes progress.
    pub stopped_at: Option<NodeId>,
    /// The part of the first readable message that was not searched, if that message alone exceeded the time limit.
    pub left_out: Option<LeftOut>,
    /// How many messages were searched.
    pub scanned: u64,
    /// Messages in the searched range that cannot be read.
    pub losses: Losses,
}

/// The end of a message, which was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The message. Matches before `from` are reported.
    pub node: NodeId,
    /// The byte offset in its text at which the search stopped.
    pub from: usize,
    /// The length of the text in bytes.
    pub length: usize,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The pattern is not a valid regular expression, or is too large.
    #[error("`{pattern}` cannot be searched for: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The parser's message, over several lines, which shows the position.
        why: regex::Error,
    },
    /// The store failed, or has no such conversation or node.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds the matches of a pattern, reading the conversation from the store in chunks.
///
/// Messages that cannot be read are skipped and reported in [`Found::losses`]. A match lies within one message, and
/// within a window of it, as if the text ended there; matches up to half a window long are always found. The window has
/// 64 KiB for a pattern that compiles to at most 16 KiB, as names, numbers and `.*` do, a quarter of that for a pattern
/// of four times the size, and so on down to 1 KiB for a pattern of 1 MiB, the maximum.
///
/// So searching one window takes some tenths of a second at worst: the engine's time is proportional to the text and at
/// most to the size of the pattern. The time limit is checked between windows. At least one window of the first message
/// is searched. If the whole message takes too long, [`Found::left_out`] reports the rest and the search may continue
/// after it. Dropping the future stops the search between messages.
///
/// # Errors
/// When the pattern cannot be compiled, the range begins after the last node, or the store fails.
pub async fn find(source: &dyn Source, request: &FindRequest<'_>) -> Result<Found, FindError> {
    let pattern = Pattern::compile(request.pattern)?;
    let conversation = request.conversation;
    let scope = Scope::one(conversation).owner(request.owner.cloned());
    let nodes = scope.states(source).await?.iter().map(|state| state.nodes).sum();
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
    let deadline = Deadline { begun: Instant::now(), max: request.max_time };
    let outline = source.outline(conversation).await?;
    let mut found = Found::default();
    let mut is_first = true;
    loop {
        let piece = piece(&outline, rest);
        let read = source.readable_nodes(conversation, piece).await?;
        found.losses.extend(&read.losses);
        for node in read.nodes {
            yield_now().await;
            let text = node.message.text();
            let (begun, mut from) = (found.matches.len(), 0);
            // Offset and line of the last match.
            let (mut place, mut line) = (0, 1u32);
            while from < text.len() {
                if is_first && from > 0 && deadline.is_over() {
                    found.left_out = Some(LeftOut { node: node.id, from, length: text.len() });
                    found.stopped_at = NodeRange::new(node.id.next(), rest.last()).map(NodeRange::first);
                    return Ok(found);
                }
                if !is_first && deadline.is_over() {
                    found.matches.truncate(begun);
                    found.stopped_at = Some(node.id);
                    return Ok(found);
                }
                let Some(span) = pattern.next_match(&text, &mut from, &deadline) else { continue };
                if found.matches.len() == request.limit {
                    found.more = true;
                    return Ok(found);
                }
                let passed = text.get(place..span.start).unwrap_or_default().matches('\n').count();
                line = line.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
                place = span.start;
                found.matches.push(describe(node.id, line, &text, span));
            }
            found.scanned += 1;
            is_first = false;
        }
        match NodeRange::new(piece.last().next(), rest.last()) {
            Some(remaining) => rest = remaining,
            None => return Ok(found),
        }
    }
}

/// When the search stops.
struct Deadline {
    begun: Instant,
    max: Option<Duration>,
}

impl Deadline {
    fn is_over(&self) -> bool {
        self.max.is_some_and(|max| self.begun.elapsed() >= max)
    }
}

/// Yields once, so that other tasks run and a dropped future stops.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The first nodes of a run, which are read together.
fn piece(outline: &[NodeOutline], run: NodeRange) -> NodeRange {
    let mut tokens = 0;
    let is_next = |node: &NodeId| {
        let before = tokens;
        tokens += outline.get(node.index()).map_or(0, |node| u64::from(node.tokens));
        before == 0 || tokens <= CHUNK_TOKENS
    };
    let few = usize::try_from(CHUNK).unwrap_or(usize::MAX);
    let last = run.iter().take(few).take_while(is_next).last();
    last.and_then(|last| NodeRange::new(run.first(), last)).unwrap_or(NodeRange::single(run.first()))
}

fn describe(node: NodeId, line: u32, text: &str, span: Range<usize>) -> Match {
    let (before, from) = text.split_at_checked(span.start).unwrap_or((text, ""));
    let (matched, after) = from.split_at_checked(span.len()).unwrap_or((from, ""));
    let ends_on_its_line = !matched.contains('\n');
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let before_on_line = before.get(line_start..).unwrap_or_default();
    let after_on_line = if ends_on_its_line { first_line(after) } else { "" };
    Match {
        node,
        span,
        line,
        before: tail(before_on_line),
        matched: head(first_line(matched)),
        after: head(after_on_line),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn head(text: &str) -> String {
    let end = floor_char_boundary(text, MAX_CONTEXT);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", text.get(..end).unwrap_or_default())
}

fn tail(text: &str) -> String {
    let start = ceil_char_boundary(text, text.len().saturating_sub(MAX_CONTEXT));
    let cut = if start > 0 { "…" } else { "" };
    format!("{cut}{}", text.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests;
