//! Adoption of summaries that another program wrote of the messages of a conversation.

use std::sync::Arc;

use memory_core::{
    Hash, Level, NodeOutline, NodeRange, SummaryDraft, SummaryId, SummaryMetadata, SummaryOutline, WrittenBy,
    plan::Tree,
    port::{Event, Recorded},
};

use crate::{Conversation, MemoryError, ports::Ports, snapshot_cache::Snapshot};

/// A summary of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignSummary {
    /// Id of the summary in that program.
    pub id: String,
    /// Level of the summary: SUMMARY, META or ARCHIVE.
    pub level: Level,
    /// Messages that the summary covers; a SUMMARY may cover several.
    pub span: NodeRange,
    /// Recorded summaries that it was made from, in order; empty at level SUMMARY.
    pub children: Vec<SummaryId>,
    /// Words of the summary.
    pub text: String,
    /// Name of the program, and its version or model.
    pub written_by: WrittenBy,
}

impl ForeignSummary {
    /// A summary without children.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        level: Level,
        span: NodeRange,
        text: impl Into<String>,
        written_by: WrittenBy,
    ) -> Self {
        Self { id: id.into(), level, span, children: Vec::new(), text: text.into(), written_by }
    }

    memory_core::setters! { children: Vec<SummaryId> }
}

/// Outcome of adopting a summary of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adopted {
    /// The summary was recorded.
    New(SummaryId),
    /// A summary of the same messages and children existed.
    Existing(SummaryId),
    /// The summary cannot stand for its messages; nothing was recorded.
    Unfit(Misfit),
}

/// Reasons why a summary cannot stand for its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The conversation lacks messages of the span, or the children do not tile the span.
    #[error("of messages that are not there")]
    Missing,
    /// The span would separate a tool call from its result.
    #[error("that parts a call of a tool from its result")]
    Parted,
    /// Another summary covers some of the messages.
    #[error("of messages that are summarized already")]
    Covered,
    /// The span holds erased messages, whose words the summary may repeat.
    #[error("of messages that were erased")]
    Erased,
    /// The span holds messages that are excluded from summaries.
    #[error("of messages that are excluded from summaries")]
    Excluded,
    /// The summary is no shorter than the messages or summaries below it.
    #[error("that is no shorter than what it covers")]
    Long,
}

impl Conversation {
    /// Records summaries that another program wrote, under its name, as if a strategy of this memory had written them:
    /// views show them, and compaction continues above them. No summary of a call can be a child of another, since
    /// children are recorded before. Repeating a call changes nothing.
    ///
    /// # Errors
    /// If the conversation does not exist; if other background work on the store is under way
    /// ([`StoreError::Locked`](memory_core::port::StoreError::Locked), [`MemoryError::AtWork`]); if the store fails.
    pub async fn adopt(&self, summaries: &[ForeignSummary]) -> Result<Vec<Adopted>, MemoryError> {
        let summaries = summaries.to_vec();
        self.call(move |this| async move {
            let ports: &Ports = &this.parts;
            let Some(_turn) = ports.compacting.take(&this.id) else {
                return Err(MemoryError::AtWork { conversation: this.id.clone() });
            };
            let _lease = ports.store.lease().await?;
            let mut tree = Snapshot::read(ports, &this.id).await?.tree;
            let (mut adopted, mut events) = (Vec::with_capacity(summaries.len()), Vec::new());
            for summary in &summaries {
                if let Some(there) = existing(&tree, summary) {
                    adopted.push(Adopted::Existing(there));
                    continue;
                }
                let draft = this.draft(&tree, summary).await?;
                if let Some(misfit) = misfit(&tree, &draft) {
                    adopted.push(Adopted::Unfit(misfit));
                    continue;
                }
                let id = SummaryId::from_index(tree.next_summary());
                Arc::make_mut(&mut tree).add(SummaryOutline::of(id, &draft));
                adopted.push(Adopted::New(id));
                events.push(Event::Summary(draft));
            }
            if events.is_empty() {
                return Ok(adopted);
            }
            // The store assigns the numbers.
            let recorded = ports.store.record(&this.id, events).await?;
            let new = adopted.iter_mut().filter_map(|adopted| match adopted {
                Adopted::New(id) => Some(id),
                Adopted::Existing(_) | Adopted::Unfit(_) => None,
            });
            for (id, recorded) in new.zip(recorded) {
                if let Recorded::Summary(number) = recorded {
                    *id = number;
                }
            }
            Ok(adopted)
        })
        .await
    }

    async fn draft(&self, tree: &Tree, summary: &ForeignSummary) -> Result<SummaryDraft, MemoryError> {
        let ForeignSummary { id, level, span, children, text, written_by } = summary;
        // The input of the summary: the messages, or the summaries below it.
        let mut inputs = vec![b"taken over".to_vec(), vec![level.number()], id.clone().into_bytes()];
        inputs.extend([written_by.strategy.clone().into_bytes(), written_by.version.clone().into_bytes()]);
        inputs.extend(children.iter().map(|child| child.get().to_le_bytes().to_vec()));
        if children.is_empty() && span.last().get() <= tree.total() {
            let proofs = self.parts.store.proofs(&self.id, *span).await?;
            inputs.extend(proofs.iter().map(|proof| proof.leaf.as_bytes().to_vec()));
        }
        let outlines = || span.iter().filter_map(|node| tree.node(node));
        let metadata = SummaryMetadata::default()
            .importance(outlines().map(NodeOutline::importance).fold(0.0, f32::max))
            .line_count(outlines().map(|outline| u64::from(outline.line_count)).sum());
        let input = Hash::of_parts(inputs.iter().map(Vec::as_slice));
        let tokens = self.parts.counter.count(text);
        let draft = SummaryDraft::new(*level, *span, text.as_str(), tokens, written_by.clone(), input);
        Ok(draft.children(children.clone()).metadata(metadata))
    }
}

/// The recorded summary of the same messages and children, if any.
fn existing(tree: &Tree, summary: &ForeignSummary) -> Option<SummaryId> {
    let place = match summary.children.first() {
        Some(child) => tree.parent(*child)?,
        None => tree.leaf(summary.span.first())?,
    };
    let there = tree.summary(place)?;
    let is_same = there.span == summary.span && *there.children == *summary.children.as_slice();
    is_same.then_some(place)
}

/// The reason why a summary cannot stand in a conversation, if any.
fn misfit(tree: &Tree, draft: &SummaryDraft) -> Option<Misfit> {
    let SummaryDraft { span, children, tokens, .. } = draft;
    let span_of = |child| tree.summary(child).map(|there| there.span);
    if memory_core::plan::check_summary(draft, tree.total(), span_of).is_err() {
        return Some(Misfit::Missing);
    }
    if tree.erased_in(*span) > 0 {
        return Some(Misfit::Erased);
    }
    let turn = |node| tree.turn_of(node);
    let begins = turn(span.first()).is_none_or(|turn| turn.first() == span.first());
    let ends = turn(span.last()).is_none_or(|turn| turn.last() == span.last());
    if !begins || !ends {
        return Some(Misfit::Parted);
    }
    let is_free = match children.as_slice() {
        [] => span.iter().all(|node| tree.leaf(node).is_none()),
        children => children.iter().all(|child| tree.height(*child).is_some() && tree.parent(*child).is_none()),
    };
    if !is_free {
        return Some(Misfit::Covered);
    }
    if span.iter().filter_map(|node| tree.node(node)).any(|outline| outline.keep_out_of_summaries) {
        return Some(Misfit::Excluded);
    }
    let covered: u64 = match children.as_slice() {
        [] => span.iter().filter_map(|node| tree.node(node)).map(|outline| u64::from(outline.tokens)).sum(),
        children => children.iter().filter_map(|child| tree.summary(*child)).map(|there| u64::from(there.tokens)).sum(),
    };
    (u64::from(*tokens) >= covered).then_some(Misfit::Long)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use memory_core::{
        ContentBlock, Json, Message, NodeId, Role, Timestamp,
        port::Store,
        testing::{MemoryStore, WordCounter},
    };

    use super::*;
    use crate::Memory;

    fn run(first: u64, last: u64) -> NodeRange {
        NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
    }

    fn conversation() -> Conversation {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let memory = Memory::builder().store(store).token_counter(Arc::new(WordCounter)).build().unwrap();
        let trip = memory.conversation(memory_core::ConversationId::new("trip").unwrap());
        let mut batch: Vec<_> = (1..=6).map(|n| Message::user(format!("remark {n} of the long day"))).collect();
        let call = ContentBlock::ToolUse { id: "t".into(), name: "look".into(), input: Json::new("{}").unwrap() };
        batch.push(Message::new(Role::Assistant, vec![call]));
        let result = ContentBlock::ToolResult { tool_use_id: "t".into(), content: vec![], is_error: false };
        batch.push(Message::new(Role::Tool, vec![result]));
        batch.push(Message::user("hidden remark of the long day").keep_out_of_summaries(true));
        let batch = batch.into_iter().map(|message| (message, Timestamp::default())).collect();
        pollster::block_on(trip.append_batch(batch)).unwrap();
        trip
    }

    fn summary(id: &str, first: u64, last: u64, text: &str) -> ForeignSummary {
        ForeignSummary::new(id, Level::Summary, run(first, last), text, WrittenBy::new("other", "m"))
    }

    fn adopt(conversation: &Conversation, summaries: &[ForeignSummary]) -> Vec<Adopted> {
        pollster::block_on(conversation.adopt(summaries)).unwrap()
    }

    #[test]
    fn summaries_of_another_program_stand_for_their_messages() {
        let trip = conversation();
        let leaves = [summary("a", 1, 3, "three remarks"), summary("b", 4, 6, "three more")];
        let recorded = adopt(&trip, &leaves);
        let [Adopted::New(a), Adopted::New(b)] = recorded[..] else { panic!("{recorded:?}") };
        let meta = ForeignSummary::new("m", Level::Meta, run(1, 6), "six", WrittenBy::new("other", "m"));
        let meta = meta.children(vec![a, b]);
        let [Adopted::New(m)] = adopt(&trip, std::slice::from_ref(&meta))[..] else { panic!() };
        assert_eq!(adopt(&trip, &leaves), [Adopted::Existing(a), Adopted::Existing(b)]);
        assert_eq!(adopt(&trip, &[meta]), [Adopted::Existing(m)]);
        let page = pollster::block_on(trip.levels(crate::LevelsRequest::default())).unwrap();
        assert_eq!(page.entries[0].text, "six");
        assert_eq!(page.entries[0].written_by, Some(WrittenBy::new("other", "m")));
        assert_eq!(page.entries.len(), 4);
    }

    #[test]
    fn a_summary_that_cannot_stand_is_refused_with_the_reason() {
        let trip = conversation();
        let [Adopted::New(there)] = adopt(&trip, &[summary("a", 1, 3, "three")])[..] else { panic!() };
        let check = |summary: ForeignSummary, expected| {
            assert_eq!(adopt(&trip, &[summary]), [Adopted::Unfit(expected)]);
        };
        check(summary("b", 3, 5, "more"), Misfit::Covered);
        check(summary("b", 6, 7, "more"), Misfit::Parted);
        check(summary("b", 9, 9, "more"), Misfit::Excluded);
        check(summary("b", 9, 12, "more"), Misfit::Missing);
        check(summary("b", 4, 4, "more words than the remark itself has, and then some"), Misfit::Long);
        let of = |children| {
            ForeignSummary::new("m", Level::Meta, run(1, 6), "six", WrittenBy::new("o", "m")).children(children)
        };
        check(of(vec![there]), Misfit::Missing);
    }
}
