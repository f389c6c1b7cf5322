//! Regular expressions over the messages of a conversation.

mod pattern;

use std::{
    future::poll_fn,
    ops::Range,
    task::Poll,
    time::{Duration, Instant},
};

use memory_core::{ConversationId, Losses, NodeId, NodeOutline, NodeRange, Store, StoreError};
use pattern::Pattern;

/// Nodes read from the store at a time, at most; and tokens of them, but for a node that alone has more.
const CHUNK: u64 = 512;
const CHUNK_TOKENS: u64 = 1 << 18;
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
    /// How long to look, more or less; `None` for as long as it takes.
    pub max_time: Option<Duration>,
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
    /// The node to go on from, where time ran out; its own matches are not given.
    pub stopped_at: Option<NodeId>,
    /// How many messages were looked through.
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
/// Messages that cannot be read are passed over and named in the answer. A match lies within one message, and within a
/// window of it, as if the text ended there: it reaches at least half a window far. A window has 64 KiB for a pattern that
/// compiles to at most 16 KiB, as names, numbers and `.*` do, a quarter of that for one of four times the size, and so
/// on down to 1 KiB for one of 1 MiB, the most that is allowed.
///
/// So a look at a window takes some tenths of a second at worst, whatever the pattern: the engine takes time proportional
/// to the text, and at most to the size of the pattern. The clock is asked between them, and where the time runs out, the
/// answer says where. Dropping the future stops it between messages.
///
/// # Errors
/// When the pattern cannot be compiled, the range begins behind the last node, or the store fails.
pub async fn find(store: &dyn Store, request: &FindRequest<'_>) -> Result<Found, FindError> {
    let pattern = Pattern::compile(request.pattern)?;
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
    let clock = Clock { begun: Instant::now(), max: request.max_time };
    let outline = store.outline(conversation).await?;
    let mut found = Found::default();
    loop {
        let piece = piece(&outline, rest);
        let read = store.readable_nodes(conversation, piece).await?;
        found.losses.extend(&read.losses);
        for node in read.nodes {
            yield_now().await;
            let text = node.message.text();
            let (begun, mut from) = (found.matches.len(), 0);
            // Where the last match begins, and on which line.
            let (mut place, mut line) = (0, 1u32);
            while from < text.len() {
                if clock.is_over() {
                    found.matches.truncate(begun);
                    found.stopped_at = Some(node.id);
                    return Ok(found);
                }
                let Some(span) = pattern.next_match(&text, &mut from, &clock) else { continue };
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
        }
        match NodeRange::new(piece.last().next(), rest.last()) {
            Some(remaining) => rest = remaining,
            None => return Ok(found),
        }
    }
}

/// When to stop.
struct Clock {
    begun: Instant,
    max: Option<Duration>,
}

impl Clock {
    fn is_over(&self) -> bool {
        self.max.is_some_and(|max| self.begun.elapsed() >= max)
    }
}

/// Lets other work go on, and a future that was dropped end.
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

/// The nodes at the beginning of a run that are read at once.
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
