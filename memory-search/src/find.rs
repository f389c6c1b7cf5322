//! Regular-expression search in the messages of conversations.

mod plain;

use std::{
    collections::BTreeMap,
    future::poll_fn,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId, Node, NodeId, NodeOutline, NodeRange,
    port::{Losses, Scope, Source, StoreError},
    text::{ceil_char_boundary, floor_char_boundary},
};
use regex::{Regex, RegexBuilder};

use crate::shared_prefix::seen_before;
use plain::Plain;

/// Maximum nodes per read from the store, and maximum tokens, which a single node may exceed.
const CHUNK: u64 = 512;
const CHUNK_TOKENS: u64 = 1 << 18;
/// Maximum bytes shown of a line before and after a match, and of the match itself.
const MAX_CONTEXT: usize = 120;

/// Pattern to search for, and the scope; see [`find`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FindRequest {
    /// A regular expression in the [syntax](https://docs.rs/regex/latest/regex/#syntax) of the `regex` crate; `^`
    /// and `$` match at the ends of each line.
    pub pattern: String,
    /// Conversations to search.
    pub scope: Scope,
    /// Nodes to search; `None`, the default, for all. Nodes after the last one are ignored. Requires a scope of exactly
    /// one conversation.
    pub range: Option<NodeRange>,
    /// Maximum matches in all conversations together; unlimited by default.
    pub limit: usize,
    /// Approximate time limit for all conversations together; `None`, the default, for no limit.
    pub max_time: Option<Duration>,
    /// Ends the search like the time limit, once it becomes true; `None` by default.
    pub stop: Option<Arc<AtomicBool>>,
    /// True to search disabled messages, too.
    pub disabled: bool,
}

impl FindRequest {
    /// All matches of a pattern in a scope.
    #[must_use]
    pub fn new(pattern: &str, scope: Scope) -> Self {
        Self {
            pattern: pattern.to_owned(),
            scope,
            range: None,
            limit: usize::MAX,
            max_time: None,
            stop: None,
            disabled: false,
        }
    }

    memory_core::setters! {
        into range: Option<NodeRange>,
        const limit: usize,
        into max_time: Option<Duration>,
        into stop: Option<Arc<AtomicBool>>,
        const disabled: bool,
    }
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Match {
    /// The conversation.
    pub conversation: ConversationId,
    /// The node.
    pub node: NodeId,
    /// The byte range in [`Message::text`](memory_core::Message::text); never empty.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub span: Range<usize>,
    /// Line on which the match begins, from 1.
    pub line: u32,
    /// Text before the match on its line, shortened.
    pub before: String,
    /// Matched text, shortened, up to the end of its first line.
    pub matched: String,
    /// Text after the match on its line, shortened.
    pub after: String,
}

/// The result of [`find`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Found {
    /// Matches in order of conversation, node and position.
    pub matches: Vec<Match>,
    /// True if there are more matches than [`FindRequest::limit`].
    pub more: bool,
    /// Place to continue from if time ran out. Never the first node of the request, so that every call makes progress.
    pub stopped_at: Option<StoppedAt>,
    /// Rest of the first readable message, if that message alone exceeded the time limit.
    pub left_out: Option<LeftOut>,
    /// Number of searched messages.
    pub scanned: u64,
    /// Unreadable messages in the searched ranges, by conversation, without empty entries.
    pub losses: BTreeMap<ConversationId, Losses>,
}

/// First node that was not searched.
///
/// To continue, search from this node in its conversation, then the conversations after it by name. The second search
/// repeats messages that its conversations share, through forks, with those before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct StoppedAt {
    /// Conversation of the node. All conversations before it by name were searched.
    pub conversation: ConversationId,
    /// Node whose matches are not reported.
    pub node: NodeId,
}

/// Rest of a message that was not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftOut {
    /// The conversation.
    pub conversation: ConversationId,
    /// Node of the message. Matches before `from` are reported.
    pub node: NodeId,
    /// Byte offset in the text at which the search stopped.
    pub from: usize,
    /// Length of the text in bytes.
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
        /// Error of the parser over several lines, with the position.
        why: regex::Error,
    },
    /// The request has a range of nodes, but its scope does not have exactly one conversation.
    #[error("a range of nodes can be searched in one conversation, not in {conversations}")]
    RangeOfSeveral {
        /// Number of conversations in the scope.
        conversations: usize,
    },
    /// The store failed, or has no such conversation or node.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FindError {
    /// The fault of an invalid pattern without the picture of its place; `None` for other errors.
    #[must_use]
    pub fn pattern_fault(&self) -> Option<String> {
        let Self::Pattern { why, .. } = self else { return None };
        let why = why.to_string();
        let last = why.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        Some(last.strip_prefix("error: ").unwrap_or(last).to_owned())
    }
}

/// A compiled pattern of [`find`], for texts that are not messages.
#[derive(Debug)]
pub struct TextPattern(Pattern);

impl TextPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`FindError::Pattern`] for an invalid pattern.
    pub fn compile(pattern: &str) -> Result<Self, FindError> {
        Pattern::compile(pattern).map(Self)
    }

    /// True if the pattern matches somewhere in `text`, and the match is not empty.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let (mut from, no_limit) = (0, Deadline { begun: Instant::now(), max: None, stop: None });
        let plain = self.0.plain(text);
        let text = &*plain.text;
        while from < text.len() {
            if self.0.next_match(text, &mut from, &no_limit).is_some() {
                return true;
            }
        }
        false
    }
}

/// Searches for a pattern, reading the conversations in chunks, in the order of their names.
///
/// Unreadable messages are skipped and reported in [`Found::losses`]. A message that conversations of the scope share
/// through forks is searched once, in the oldest of them.
///
/// Letters match whether or not their accents are composed with them, all kinds of spaces match a space, and invisible
/// characters (soft hyphens, zero-width spaces, marks of direction) match nothing. A pattern that names characters by
/// `\x`, `\u` or `\p` matches the text as it is.
///
/// A match lies within one message, and within a window of it, as if the text ended there; matches up to half a window
/// long are always found. The window is 64 KiB for a pattern that compiles to at most 16 KiB, as names, numbers and
/// `.*` do, and shrinks in proportion to 1 KiB for the maximum of 1 MiB.
///
/// So a window takes some tenths of a second at worst, because the engine's time is proportional to the text and at
/// most to the size of the pattern. The time limit is checked between windows. At least one window of the first message
/// is searched. If that whole message takes too long, [`Found::left_out`] reports the rest, and the search may continue
/// after it. Dropping the future stops the search between messages.
///
/// # Errors
/// [`FindError::Pattern`] for an invalid pattern; [`FindError::RangeOfSeveral`]; [`FindError::Store`] if a conversation
/// is missing or another owner's, the range begins after the last node, or the store fails.
pub async fn find(source: &dyn Source, request: &FindRequest) -> Result<Found, FindError> {
    let pattern = Pattern::compile(&request.pattern)?;
    let mut runs = runs(source, request).await?.into_iter();
    let deadline = Deadline { begun: Instant::now(), max: request.max_time, stop: request.stop.clone() };
    let found = Found::default();
    let FindRequest { limit, disabled, .. } = *request;
    let mut search = Search { source, pattern, limit, disabled, deadline, is_first: true, found };
    while let Some((conversation, run)) = runs.next() {
        match search.conversation(&conversation, run).await? {
            End::Reached => {}
            End::LimitPassed => {
                search.found.more = true;
                break;
            }
            End::OutOfTime { next } => {
                let here = run.contains(next).then_some((conversation, next));
                let there = here.or_else(|| runs.next().map(|(conversation, run)| (conversation, run.first())));
                search.found.stopped_at = there.map(|(conversation, node)| StoppedAt { conversation, node });
                break;
            }
        }
    }
    Ok(search.found)
}

/// Nodes to search, sorted by the names of their conversations.
async fn runs(source: &dyn Source, request: &FindRequest) -> Result<Vec<(ConversationId, NodeRange)>, FindError> {
    let states = request.scope.states(source).await?;
    if let Some(asked) = request.range {
        let [state] = states.as_slice() else {
            return Err(FindError::RangeOfSeveral { conversations: states.len() });
        };
        let Some(all) = NodeRange::first_n(state.nodes) else { return Ok(Vec::new()) };
        let run = NodeRange::new(asked.first(), asked.last().min(all.last()));
        let run = run.ok_or_else(|| StoreError::UnknownNode {
            conversation: state.id.clone(),
            node: asked.first(),
            nodes: state.nodes,
        })?;
        return Ok(vec![(state.id.clone(), run)]);
    }
    let seen = seen_before(source, &states, None).await?;
    let own = states.into_iter().zip(seen).filter_map(|(state, seen)| {
        let run = NodeRange::new(NodeId::new(seen + 1)?, NodeId::new(state.nodes)?)?;
        Some((state.id, run))
    });
    Ok(own.collect())
}

/// A search under way.
struct Search<'a> {
    source: &'a dyn Source,
    pattern: Pattern,
    limit: usize,
    disabled: bool,
    deadline: Deadline,
    /// True until a message was searched.
    is_first: bool,
    found: Found,
}

/// End of the search of a conversation or a message.
enum End {
    /// Everything was searched.
    Reached,
    /// One match more than the limit was found.
    LimitPassed,
    /// `next` is the first node that was not searched.
    OutOfTime { next: NodeId },
}

impl Search<'_> {
    async fn conversation(&mut self, id: &ConversationId, run: NodeRange) -> Result<End, StoreError> {
        let outline = self.source.outline(id).await?;
        let mut rest = Some(run);
        while let Some(left) = rest {
            let piece = piece(&outline, left);
            let read = match self.disabled {
                true => self.source.whole_nodes(id, piece).await?,
                false => self.source.readable_nodes(id, piece).await?,
            };
            if !read.losses.is_empty() {
                self.found.losses.entry(id.clone()).or_default().extend(&read.losses);
            }
            let is_searched = |node: &Node| !node.is_erased && (self.disabled || !node.is_disabled);
            for node in read.nodes.into_iter().filter(is_searched).collect::<Vec<_>>() {
                yield_now().await;
                match self.message(id, &node) {
                    End::Reached => {}
                    end => return Ok(end),
                }
            }
            rest = NodeRange::new(piece.last().next(), run.last());
        }
        Ok(End::Reached)
    }

    fn message(&mut self, conversation: &ConversationId, node: &Node) -> End {
        let text = node.message.text();
        let plain = self.pattern.plain(&text);
        let (begun, mut from) = (self.found.matches.len(), 0);
        // Offset and line of the last match.
        let (mut place, mut line) = (0, 1u32);
        while from < plain.text.len() {
            if self.is_first && from > 0 && self.deadline.is_over() {
                let (conversation, from) = (conversation.clone(), plain.original(&(from..from + 1)).start);
                self.found.left_out = Some(LeftOut { conversation, node: node.id, from, length: text.len() });
                return End::OutOfTime { next: node.id.next() };
            }
            if !self.is_first && self.deadline.is_over() {
                self.found.matches.truncate(begun);
                return End::OutOfTime { next: node.id };
            }
            let Some(span) = self.pattern.next_match(&plain.text, &mut from, &self.deadline) else { continue };
            let span = plain.original(&span);
            if self.found.matches.len() == self.limit {
                return End::LimitPassed;
            }
            let passed = text.get(place..span.start).unwrap_or_default().matches('\n').count();
            line = line.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
            place = span.start;
            self.found.matches.push(describe(conversation, node.id, line, &text, span));
        }
        self.found.scanned += 1;
        self.is_first = false;
        End::Reached
    }
}

/// Limits on the duration of a search.
struct Deadline {
    begun: Instant,
    max: Option<Duration>,
    stop: Option<Arc<AtomicBool>>,
}

impl Deadline {
    fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
            || self.max.is_some_and(|max| self.begun.elapsed() >= max)
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

/// First nodes of a run, to be read together.
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

fn describe(conversation: &ConversationId, node: NodeId, line: u32, text: &str, span: Range<usize>) -> Match {
    let (before, from) = text.split_at_checked(span.start).unwrap_or((text, ""));
    let (matched, after) = from.split_at_checked(span.len()).unwrap_or((from, ""));
    let ends_on_its_line = !matched.contains('\n');
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let before_on_line = before.get(line_start..).unwrap_or_default();
    let after_on_line = if ends_on_its_line { first_line(after) } else { "" };
    Match {
        conversation: conversation.clone(),
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

/// Size limits of a compiled pattern in bytes, tried in order.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Maximum product of text bytes and pattern bytes between two checks of the deadline. In the worst case the engine
/// follows every state of the pattern at every byte, which takes some tenths of a second for this product.
const WORK: usize = 1 << 30;

/// A regular expression with its window size.
#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// Bytes of text that are searched at once.
    reach: usize,
    /// True if it names characters by their codes, which are searched for as they are.
    is_exact: bool,
}

impl Pattern {
    fn compile(pattern: &str) -> Result<Self, FindError> {
        let is_exact = ["\\x", "\\u", "\\U", "\\p", "\\P"].iter().any(|code| pattern.contains(code));
        let plain = if is_exact { Plain::unchanged(pattern) } else { Plain::of(pattern) };
        let mut why = regex::Error::CompiledTooBig(0);
        for size in SIZES {
            match RegexBuilder::new(&plain.text).multi_line(true).size_limit(size).build() {
                Ok(regex) => return Ok(Self { regex, reach: WORK / size, is_exact }),
                Err(error) => why = error,
            }
            if !matches!(why, regex::Error::CompiledTooBig(_)) {
                break;
            }
        }
        Err(FindError::Pattern { pattern: pattern.to_owned(), why })
    }

    /// The form of a text in which it is searched.
    fn plain<'a>(&self, text: &'a str) -> Plain<'a> {
        if self.is_exact { Plain::unchanged(text) } else { Plain::of(text) }
    }

    /// Next non-empty match that begins at `from` or in the window after it. Sets `from` to the start of the next
    /// search.
    fn next_match(&self, text: &str, from: &mut usize, deadline: &Deadline) -> Option<Range<usize>> {
        let window = self.reach / 2;
        let end = ceil_char_boundary(text, (*from).saturating_add(window));
        // Only the end is cut, because a pattern may look behind `from`.
        let seen = text.get(..ceil_char_boundary(text, end.saturating_add(window))).unwrap_or(text);
        let mut at = *from;
        let span = loop {
            let span = self.regex.find_at(seen, at).map(|found| found.range()).filter(|span| span.start < end);
            match span {
                Some(span) if span.is_empty() => at = ceil_char_boundary(text, span.end + 1),
                other => break other,
            }
            // Otherwise many empty matches, each found by scanning the whole window, would take quadratic time.
            if at >= end || deadline.is_over() {
                *from = at;
                return None;
            }
        };
        *from = span.as_ref().map_or(end, |span| span.end);
        span
    }
}

#[cfg(test)]
mod tests;
