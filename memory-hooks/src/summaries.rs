//! The recorded summaries of a conversation, page by page, superseded ones included.

use std::{cmp::Reverse, collections::HashMap};

use memory_core::{Level, NodeId, NodeRange, Summary, SummaryId, SummaryOutline, Timestamp, WrittenBy, plan::Tree};

use crate::{Conversation, MemoryError, RepairError, snapshot_cache::Snapshot};

/// Selection of summaries, which must meet every condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummariesRequest {
    /// Level of the summaries; `None` for all levels.
    pub level: Option<Level>,
    /// First node; only summaries of this node or of later ones are listed.
    pub from: NodeId,
    /// Last node; only summaries of this node or of earlier ones are listed; `None` for the end of the conversation.
    pub to: Option<NodeId>,
    /// True to list also summaries whose words were replaced.
    pub replaced: bool,
    /// Last summary of the previous page, after which this page begins.
    pub after: Option<SummaryId>,
    /// Most summaries, at least 1.
    pub limit: usize,
}

impl Default for SummariesRequest {
    /// The first fifty current summaries.
    fn default() -> Self {
        Self { level: None, from: NodeId::FIRST, to: None, replaced: false, after: None, limit: 50 }
    }
}

impl SummariesRequest {
    memory_core::setters! {
        into level: Option<Level>,
        const from: NodeId,
        into to: Option<NodeId>,
        const replaced: bool,
        into after: Option<SummaryId>,
        const limit: usize,
    }

    fn admits(&self, place: &SummaryOutline) -> bool {
        self.level.is_none_or(|level| level == place.level)
            && place.span.last() >= self.from
            && self.to.is_none_or(|to| place.span.first() <= to)
    }
}

/// A recorded summary.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ListedSummary {
    /// Number of the summary.
    pub summary: SummaryId,
    /// Number of the first summary that stood in its place, which stays the same.
    pub place: SummaryId,
    /// Level of the summary.
    pub level: Level,
    /// Messages that the summary covers.
    pub nodes: NodeRange,
    /// Tokens of the words.
    pub tokens: u32,
    /// Words of the summary; empty if it dissolves its place, or cannot be read.
    pub text: String,
    /// Author of the summary; `None` if it cannot be read.
    pub written_by: Option<WrittenBy>,
    /// Times of the first and the last covered message with a known time.
    pub said: Option<[Timestamp; 2]>,
    /// True if the summary stands in its place now.
    #[cfg_attr(feature = "serde", serde(rename = "current"))]
    pub is_current: bool,
    /// True if the summary dissolves its place, so that its parts are shown instead.
    #[cfg_attr(feature = "serde", serde(rename = "dissolved"))]
    pub is_dissolved: bool,
    /// True if the summary was written for views of a small budget, before it was due.
    pub for_view: bool,
}

/// A page of summaries in order of the messages: wider ones before those inside of them, those of one place by number.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct SummaryPage {
    /// The summaries.
    pub summaries: Vec<ListedSummary>,
    /// [`SummariesRequest::after`] of the next page; `None` after the last one.
    pub next: Option<SummaryId>,
    /// Number of summaries on all pages.
    pub total: u64,
}

impl Conversation {
    /// A recorded summary, current or superseded.
    ///
    /// # Errors
    /// [`RepairError::NoSummary`] if there is no such summary, or it cannot be read; otherwise if the store fails.
    pub async fn summary(&self, summary: SummaryId) -> Result<Summary, MemoryError> {
        self.call(move |this| async move {
            let read = this.parts.store.summaries_of(&this.id, &[summary]).await?;
            let unknown = || RepairError::NoSummary { conversation: this.id.clone(), summary };
            Ok(read.into_iter().next().ok_or_else(unknown)?)
        })
        .await
    }

    /// A page of the summaries that were recorded of the conversation.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn summaries(&self, request: SummariesRequest) -> Result<SummaryPage, MemoryError> {
        self.call(move |this| async move {
            let tree = Snapshot::read(&this.parts, &this.id).await?.tree;
            let admitted = |(number, place): (SummaryId, SummaryId)| {
                let is_current = tree.words_for(place) == number;
                let place = tree.summary(place).filter(|place| request.admits(place))?;
                (is_current || request.replaced).then_some(Row { number, place, is_current })
            };
            let mut rows: Vec<_> = tree.recorded().filter_map(admitted).collect();
            rows.sort_by_key(Row::order);
            let total = rows.len() as u64;
            let begin = match request.after.and_then(|after| Row::of(&tree, after)) {
                Some(after) => rows.partition_point(|row| row.order() <= after.order()),
                None => 0,
            };
            let end = begin.saturating_add(request.limit.max(1)).min(rows.len());
            let shown = rows.get(begin..end).unwrap_or_default();
            let next = shown.last().map(|last| last.number).filter(|_| end < rows.len());
            let ids: Vec<_> = shown.iter().map(|row| row.number).collect();
            let read = if ids.is_empty() { Vec::new() } else { this.parts.store.summaries_of(&this.id, &ids).await? };
            let mut words: HashMap<_, _> = read.into_iter().map(|summary| (summary.id, summary)).collect();
            let mut summaries: Vec<_> = shown.iter().map(|row| row.listed(&tree, words.remove(&row.number))).collect();
            this.show_short_messages(&tree, &mut summaries).await?;
            Ok(SummaryPage { summaries, next, total })
        })
        .await
    }

    /// Shows a message that is too short to be summarized in place of a fragment of it.
    async fn show_short_messages(&self, tree: &Tree, listed: &mut [ListedSummary]) -> Result<(), MemoryError> {
        let is_fragment = |one: &ListedSummary| {
            one.text.ends_with('…') && tree.summary(one.place).is_some_and(|place| tree.is_short(place))
        };
        let runs = listed.iter().filter(|one| is_fragment(one)).map(|one| one.nodes).collect();
        let messages = self.messages_in(runs).await?;
        for one in listed.iter_mut().filter(|one| is_fragment(one) && one.nodes.count() == 1) {
            if let Some(node) = messages.get(&one.nodes.first()) {
                one.text = format!("{}: {}", node.message.voice(), node.message.text());
            }
        }
        Ok(())
    }
}

/// A summary before its words are read.
struct Row<'a> {
    number: SummaryId,
    place: &'a SummaryOutline,
    is_current: bool,
}

impl<'a> Row<'a> {
    /// The row of a number, listed or not.
    fn of(tree: &'a Tree, number: SummaryId) -> Option<Self> {
        let place = tree.summary(tree.place_of(number)?)?;
        Some(Self { number, place, is_current: false })
    }

    fn order(&self) -> (NodeId, bool, Reverse<NodeId>, Reverse<SummaryId>, SummaryId) {
        let span = self.place.span;
        // The later of the places with the same span stands over the earlier.
        (span.first(), self.place.for_view, Reverse(span.last()), Reverse(self.place.id), self.number)
    }

    fn listed(&self, tree: &Tree, words: Option<Summary>) -> ListedSummary {
        let nodes = self.place.span;
        let known = || nodes.iter().filter_map(|node| tree.node(node)).map(|node| node.at).filter(|at| at.is_known());
        let said = known().min().zip(known().max()).map(|(first, last)| [first, last]);
        let body = words.map(|words| words.body);
        ListedSummary {
            summary: self.number,
            place: self.place.id,
            level: self.place.level,
            nodes,
            tokens: body.as_ref().map_or(0, |body| body.tokens),
            written_by: body.as_ref().map(|body| body.written_by.clone()),
            text: body.map(|body| body.text).unwrap_or_default(),
            said,
            is_current: self.is_current,
            is_dissolved: tree.dissolves(self.number),
            for_view: self.place.for_view,
        }
    }
}
