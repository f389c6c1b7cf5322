//! The levels of a conversation, page by page.

use std::{cmp::Reverse, collections::HashMap};

use memory_core::{
    Level, Node, NodeId, NodeRange, Summary, SummaryId, SummaryOutline, Timestamp, WrittenBy, plan::Tree, port::Losses,
};

use crate::{Conversation, MemoryError, RepairError, snapshot_cache::Snapshot};

/// Text shown for a dissolved summary.
const DISSOLVED: &str = "(dissolved)";

/// Selection from a conversation's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelsRequest {
    /// Level to list; `None` for the top of the tree: summaries that no other covers, and messages without summary.
    pub level: Option<Level>,
    /// First node.
    pub from: NodeId,
    /// Last node; `None` for the end of the conversation.
    pub to: Option<NodeId>,
    /// Most entries, at least 1; ARCHIVEs that begin with the same node stay together, even beyond it.
    pub limit: usize,
}

impl Default for LevelsRequest {
    /// The first fifty entries of the top of the tree.
    fn default() -> Self {
        Self { level: None, from: NodeId::FIRST, to: None, limit: 50 }
    }
}

impl LevelsRequest {
    memory_core::setters! {
        into level: Option<Level>,
        const from: NodeId,
        into to: Option<NodeId>,
        const limit: usize,
    }
}

/// A summary, a message, or messages that are lost.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct LevelEntry {
    /// Level of the entry; FULL for messages.
    pub level: Level,
    /// Messages that the entry stands for.
    pub nodes: NodeRange,
    /// Lines of these messages.
    pub lines: u64,
    /// Tokens of the text.
    pub tokens: u32,
    /// Words of the entry.
    pub text: String,
    /// Speaker of the message; `None` for summaries and lost messages.
    pub speaker: Option<String>,
    /// Time of the message; unknown for summaries and lost messages.
    pub at: Timestamp,
    /// Number of the summary.
    pub summary: Option<SummaryId>,
    /// Strategy that wrote the summary.
    pub written_by: Option<WrittenBy>,
    /// True if the entry stands for messages that cannot be read.
    #[cfg_attr(feature = "serde", serde(rename = "lost"))]
    pub is_lost: bool,
    /// True if the parts of the summary are shown instead; the summary has no words then.
    #[cfg_attr(feature = "serde", serde(rename = "dissolved"))]
    pub is_dissolved: bool,
}

/// Entries of a level in order of the messages.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct LevelPage {
    /// The entries.
    pub entries: Vec<LevelEntry>,
    /// First node of the next page; `None` after the last page.
    pub next: Option<NodeId>,
    /// Number of messages in the conversation.
    pub nodes: u64,
    /// Messages of the page that cannot be read.
    pub losses: Losses,
}

impl Conversation {
    /// A page of a level of the conversation, or of the top of its tree.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails other than by damage of messages.
    pub async fn levels(&self, request: LevelsRequest) -> Result<LevelPage, MemoryError> {
        self.call(move |this| async move {
            let tree = Snapshot::read(&this.parts, &this.id).await?.tree;
            let to = request.to.map_or(tree.total(), |to| to.get().min(tree.total()));
            let empty = LevelPage { nodes: tree.total(), ..LevelPage::default() };
            let Some(asked) = NodeId::new(to).and_then(|to| NodeRange::new(request.from, to)) else { return Ok(empty) };
            let mut page = Page { asked, limit: request.limit.max(1), entries: Vec::new(), losses: Losses::default() };
            let is_asked = |span: NodeRange| span.last() >= asked.first() && span.first() <= asked.last();
            let places: Vec<&SummaryOutline> = match request.level {
                Some(Level::Full) => {
                    page.add_messages(&this, std::iter::once(asked)).await?;
                    Vec::new()
                }
                Some(level) => {
                    let at_level: Vec<_> = tree.placed().filter(|place| place.level == level).collect();
                    // Several ARCHIVEs may begin with the same node. A page that begins at such a node follows another
                    // page, which showed the ARCHIVEs that began earlier.
                    let follows = at_level.iter().any(|place| place.span.first() == asked.first());
                    let shown = |span: NodeRange| is_asked(span) && (!follows || span.first() >= asked.first());
                    at_level.into_iter().filter(|place| shown(place.span)).collect()
                }
                None => {
                    page.add_messages(&this, tree.full()).await?;
                    let roots = tree.undissolved(tree.roots().map(|root| root.id));
                    roots.into_iter().filter_map(|id| tree.summary(id)).filter(|root| is_asked(root.span)).collect()
                }
            };
            let mut rows: Vec<Row> = page.entries.into_iter().map(Row::Message).collect();
            rows.extend(places.into_iter().map(|place| Row::of(&tree, place)));
            rows.sort_by_key(|row| (row.nodes().first(), Reverse(row.nodes().last())));
            let first = |at: usize| rows.get(at).map(|row| row.nodes().first());
            // The next page begins at a node: entries that begin at the same node cannot be separated.
            let end = (page.limit..rows.len()).find(|&at| first(at) != first(at - 1));
            let next = end.and_then(first);
            rows.truncate(end.unwrap_or(rows.len()));
            let entries = this.with_words(&tree, rows).await?;
            Ok(LevelPage { entries, next, losses: page.losses, ..empty })
        })
        .await
    }

    /// Sources of a summary: the summaries below it, the parts of a dissolved one, and the messages below a SUMMARY.
    /// `summary` is the number of any record of its place. At most `limit` messages are read.
    ///
    /// # Errors
    /// [`RepairError::NoSummary`] if there is no such summary; otherwise as [`Self::levels`].
    pub async fn levels_below(&self, summary: SummaryId, limit: usize) -> Result<LevelPage, MemoryError> {
        self.call(move |this| async move {
            let tree = Snapshot::read(&this.parts, &this.id).await?.tree;
            let Some(place) = tree.place_of(summary).and_then(|place| tree.summary(place)) else {
                return Err(RepairError::NoSummary { conversation: this.id.clone(), summary }.into());
            };
            let mut page =
                Page { asked: place.span, limit: limit.max(1), entries: Vec::new(), losses: Losses::default() };
            if place.children.is_empty() {
                page.add_messages(&this, std::iter::once(place.span)).await?;
            }
            let mut rows: Vec<Row> = page.entries.into_iter().map(Row::Message).collect();
            let parts = tree.undissolved(place.children.iter().copied());
            let parts = parts.into_iter().filter_map(|part| tree.summary(part));
            rows.extend(parts.map(|part| Row::of(&tree, part)));
            let entries = this.with_words(&tree, rows).await?;
            Ok(LevelPage { entries, next: None, nodes: tree.total(), losses: page.losses })
        })
        .await
    }

    /// The readable messages of these runs.
    pub(crate) async fn messages_in(&self, runs: Vec<NodeRange>) -> Result<HashMap<NodeId, Node>, MemoryError> {
        let mut messages = HashMap::new();
        for run in NodeRange::merge(runs) {
            let read = self.parts.store.readable_nodes(&self.id, run).await?;
            messages.extend(read.nodes.into_iter().map(|node| (node.id, node)));
        }
        Ok(messages)
    }

    /// Reads the words of the summaries among `rows`. A summary that cannot be read is lost; that of a message that is
    /// too short to be summarized has the message's text.
    async fn with_words(&self, tree: &Tree, rows: Vec<Row<'_>>) -> Result<Vec<LevelEntry>, MemoryError> {
        let short = |row: &Row<'_>| match row {
            Row::Summary { place, is_dissolved: false, .. } if tree.is_short(place) => Some(place.span),
            Row::Summary { .. } | Row::Message(_) => None,
        };
        let whole = self.messages_in(rows.iter().filter_map(short).collect()).await?;
        let mut ids: Vec<_> = rows.iter().filter_map(Row::words).collect();
        ids.sort_unstable();
        ids.dedup();
        let read = if ids.is_empty() { Vec::new() } else { self.parts.store.summaries_of(&self.id, &ids).await? };
        let words: HashMap<_, _> = read.iter().map(|summary| (summary.id, summary)).collect();
        let entry = |row| match row {
            Row::Message(entry) => entry,
            Row::Summary { place, words: id, is_dissolved } => match words.get(&id) {
                Some(summary) => {
                    let entry = summary_entry(place, summary, is_dissolved);
                    match whole.get(&place.span.first()) {
                        Some(node) => LevelEntry { text: node.message.text(), tokens: node.tokens, ..entry },
                        None => entry,
                    }
                }
                None => LevelEntry { level: place.level, summary: Some(place.id), ..lost(place.span) },
            },
        };
        Ok(rows.into_iter().map(entry).collect())
    }
}

/// An entry whose words may still have to be read.
enum Row<'a> {
    Message(LevelEntry),
    /// Place of a summary, and the summary whose words are shown there.
    Summary {
        place: &'a SummaryOutline,
        words: SummaryId,
        is_dissolved: bool,
    },
}

impl<'a> Row<'a> {
    fn of(tree: &Tree, place: &'a SummaryOutline) -> Self {
        Self::Summary { place, words: tree.words_for(place.id), is_dissolved: tree.is_dissolved(place.id) }
    }

    fn nodes(&self) -> NodeRange {
        match self {
            Self::Message(entry) => entry.nodes,
            Self::Summary { place, .. } => place.span,
        }
    }

    fn words(&self) -> Option<SummaryId> {
        match self {
            Self::Message(_) => None,
            Self::Summary { words, .. } => Some(*words),
        }
    }
}

/// Messages of a page.
struct Page {
    asked: NodeRange,
    limit: usize,
    entries: Vec<LevelEntry>,
    losses: Losses,
}

impl Page {
    /// Adds the messages of `runs` that the page may show, and one more, which gives the start of the next page.
    async fn add_messages(
        &mut self,
        of: &Conversation,
        runs: impl Iterator<Item = NodeRange>,
    ) -> Result<(), MemoryError> {
        for run in runs {
            let mut left = NodeRange::new(run.first().max(self.asked.first()), run.last().min(self.asked.last()));
            while let Some(rest) = left.filter(|_| self.entries.len() <= self.limit) {
                let end = rest.first().get().saturating_add(self.limit as u64).min(rest.last().get());
                let Some(run) = NodeId::new(end).and_then(|end| NodeRange::new(rest.first(), end)) else { break };
                let read = of.parts.store.readable_nodes(of.id(), run).await?;
                self.losses.extend(&read.losses);
                self.entries.extend(read.nodes.into_iter().map(message));
                self.entries.extend(read.losses.runs().iter().copied().map(lost));
                left = NodeRange::new(run.last().next(), rest.last());
            }
        }
        Ok(())
    }
}

fn message(node: Node) -> LevelEntry {
    LevelEntry {
        level: Level::Full,
        nodes: NodeRange::single(node.id),
        lines: u64::from(node.line_count),
        tokens: node.tokens,
        text: node.message.text(),
        speaker: Some(node.message.voice().to_owned()),
        at: node.at,
        summary: None,
        written_by: None,
        is_lost: false,
        is_dissolved: false,
    }
}

fn lost(nodes: NodeRange) -> LevelEntry {
    LevelEntry {
        level: Level::Full,
        nodes,
        lines: 0,
        tokens: 0,
        text: "(lost)".to_owned(),
        speaker: None,
        at: Timestamp::default(),
        summary: None,
        written_by: None,
        is_lost: true,
        is_dissolved: false,
    }
}

fn summary_entry(place: &SummaryOutline, words: &Summary, is_dissolved: bool) -> LevelEntry {
    let body = &words.body;
    LevelEntry {
        level: place.level,
        nodes: place.span,
        lines: body.metadata.line_count,
        tokens: body.tokens,
        text: if is_dissolved { DISSOLVED.to_owned() } else { body.text.clone() },
        speaker: None,
        at: Timestamp::default(),
        summary: Some(words.id),
        written_by: Some(body.written_by.clone()),
        is_lost: false,
        is_dissolved,
    }
}
