//! Rewrites of existing summaries: their places stay, their words are superseded.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicUsize},
};

use memory_core::{
    ConversationId, Hash, Level, Node, NodeRange, Summary, SummaryDraft, SummaryId, WrittenBy,
    plan::{Compaction, Merge, Tree},
    port::{Event, Progress, StoreError, Summarizer},
};

use super::{
    failing::FailureCount,
    writing::{KEPT_OUT, Writer, is_of_a_lost_message},
};
use crate::{MemoryError, ports::Ports, snapshot_cache::Snapshot};

/// Most summaries that are written before they are recorded, which limits the loss when the process is interrupted.
const BATCH: usize = 128;

/// Selection of summaries to rewrite: those that meet every condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resummarize {
    /// Nodes, at least one of which a summary must cover.
    pub nodes: Option<NodeRange>,
    /// Level of the summaries.
    pub level: Option<Level>,
    /// True to include summaries that a person wrote or dissolved.
    pub also_by_person: bool,
    /// True to select only summaries that the present summarizer did not write: those of its fallback, of another
    /// model, or of the time before it was chosen.
    pub fallbacks: bool,
}

impl Resummarize {
    memory_core::setters! {
        into nodes: Option<NodeRange>,
        into level: Option<Level>,
        const also_by_person: bool,
        const fallbacks: bool,
    }
}

/// The result of rewriting summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ResummarizeReport {
    /// Summaries with new words.
    pub rewritten: u64,
    /// Rewritten summaries that the fallback wrote, since the summarizer failed.
    pub by_fallback: u64,
    /// Unchanged summaries: the same words were written, there is no source for them, or a person wrote them.
    pub unchanged: u64,
    /// Unchanged summaries that a person wrote or dissolved.
    pub by_person: u64,
    /// Tokens of all of these summaries before.
    pub tokens_before: u64,
    /// Tokens of all of these summaries after.
    pub tokens_after: u64,
}

/// Rewrites summaries bottom up, so that a merged one is written from the newest words below it. Recorded rewrites stay
/// after a failure or a cancellation.
pub(crate) async fn resummarize(
    ports: &Ports,
    conversation: &ConversationId,
    what: Resummarize,
    progress: &dyn Progress,
) -> Result<ResummarizeReport, MemoryError> {
    let conversation_now = ports.store.conversation(conversation).await?;
    if let Some(node) = what.nodes.map(NodeRange::last).filter(|last| last.get() > conversation_now.nodes) {
        let (conversation, nodes) = (conversation.clone(), conversation_now.nodes);
        return Err(StoreError::UnknownNode { conversation, node, nodes }.into());
    }
    let Some(_turn) = ports.compacting.take(conversation) else {
        return Err(MemoryError::AtWork { conversation: conversation.clone() });
    };
    let _lease = ports.store.lease().await?;
    let tree = Snapshot::read(ports, conversation).await?.tree;
    let due = due(&tree, what);
    if due.is_empty() {
        let Resummarize { nodes, level, .. } = what;
        return Err(MemoryError::NothingSummarized { conversation: conversation.clone(), nodes, level });
    }
    let tokens = due.iter().filter_map(|(_, id)| tree.summary(*id)).map(|there| u64::from(there.tokens)).sum();
    drop(tree);
    let total = due.len() as u64;
    let report = ResummarizeReport { tokens_before: tokens, tokens_after: tokens, ..ResummarizeReport::default() };
    let (summarizer, scorer) = (FailureCount::default(), FailureCount::default());
    let author = ports.author();
    // Paid answers are recorded soon.
    let most = if author.most_at_once() > 1 { author.most_at_once() } else { BATCH };
    let mut rewriting = Rewriting { ports, conversation, author, what, summarizer, scorer, report };
    let mut done = 0;
    progress.report(done, total);
    // Summaries that are written together must not be sources of each other.
    for equals in due.chunk_by(|(one, _), (other, _)| one == other) {
        for batch in equals.chunks(most) {
            rewriting.write(batch).await?;
            done += batch.len() as u64;
            progress.report(done, total);
        }
    }
    let mut report = rewriting.report;
    report.unchanged = total - report.rewritten;
    tracing::debug!(%conversation, ?report, "summaries rewritten");
    Ok(report)
}

/// The selected summaries, each after its children, with their heights.
fn due(tree: &Tree, what: Resummarize) -> Vec<(u32, SummaryId)> {
    let touches = |run: NodeRange, span: NodeRange| run.first() <= span.last() && span.first() <= run.last();
    let is_meant = |level: Level, span: NodeRange| {
        what.level.is_none_or(|wanted| wanted == level) && what.nodes.is_none_or(|run| touches(run, span))
    };
    let meant = tree.placed().filter(|there| is_meant(there.level, there.span));
    let mut due: Vec<_> = meant.filter_map(|there| Some((tree.height(there.id)?, there.id))).collect();
    due.sort_unstable();
    // Each summary for views may be a source of the next.
    let for_views = tree.placed_for_views().filter(|there| is_meant(there.level, there.span));
    let above = due.last().map_or(0, |(height, _)| height + 1);
    due.extend((above..).zip(for_views.map(|there| there.id)));
    due
}

struct Rewriting<'a> {
    ports: &'a Ports,
    conversation: &'a ConversationId,
    author: Arc<dyn Summarizer>,
    what: Resummarize,
    summarizer: FailureCount,
    scorer: FailureCount,
    report: ResummarizeReport,
}

impl Rewriting<'_> {
    /// Rewrites a batch and records the changed summaries. If a batch fails, the part written before is recorded.
    async fn write(&mut self, batch: &[(u32, SummaryId)]) -> Result<(), MemoryError> {
        // Read again for each batch: new messages may exclude more content.
        let snapshot = Snapshot::read(self.ports, self.conversation).await?;
        let words: Vec<_> = batch.iter().map(|(_, id)| snapshot.tree.words_for(*id)).collect();
        let there = self.ports.store.summaries_of(self.conversation, &words).await?;
        let there: HashMap<SummaryId, Summary> = there.into_iter().map(|summary| (summary.id, summary)).collect();
        let writer_of =
            |place: SummaryId| there.get(&snapshot.tree.words_for(place)).map(|there| &there.body.written_by);
        let is_by_person = |place: SummaryId| writer_of(place).is_some_and(WrittenBy::is_person);
        let mut meant = batch.to_vec();
        meant.retain(|(_, id)| self.what.also_by_person || !is_by_person(*id));
        self.report.by_person += (batch.len() - meant.len()) as u64;
        if self.what.fallbacks {
            let own = self.author.identity();
            meant.retain(|(_, id)| writer_of(*id) != Some(&own));
        }
        if meant.is_empty() {
            return Ok(());
        }
        let writer = Writer {
            ports: self.ports,
            conversation: self.conversation,
            tree: &snapshot.tree,
            written: &[],
            redactor: &snapshot.redactor,
            author: &*self.author,
            summarizer: &self.summarizer,
            scorer: &self.scorer,
            for_view: batch.iter().any(|(_, id)| snapshot.tree.summary(*id).is_some_and(|there| there.for_view)),
            awaited: AtomicUsize::new(0),
            most_awaited: usize::MAX,
        };
        let mut written = Vec::new();
        let outcome = writer.write(&plan(&snapshot.tree, &meant), &mut written).await;
        let mut events = Vec::new();
        for event in written {
            match event {
                Event::Summary(draft) => events.extend(self.superseding(&snapshot.tree, &there, draft)),
                // A neutral score for a message without a score adds nothing.
                Event::Importance { importance, .. } if importance.to_bits() == Node::NEUTRAL_IMPORTANCE.to_bits() => {}
                other => events.push(other),
            }
        }
        if !events.is_empty() {
            self.ports.store.record(self.conversation, events).await?;
        }
        outcome
    }

    /// The event that supersedes the words in a place; `None` if they stay.
    fn superseding(
        &mut self,
        tree: &Tree,
        there: &HashMap<SummaryId, Summary>,
        mut draft: SummaryDraft,
    ) -> Option<Event> {
        let place = match draft.children.first() {
            _ if draft.for_view => tree.written_for_view(draft.level, draft.span, &draft.children)?,
            Some(child) => tree.parent(*child)?,
            None => tree.leaf(draft.span.first())?,
        };
        let words = tree.words_for(place);
        let summarizer = self.ports.summarizer.identity();
        if there.get(&words).is_some_and(|there| stays(&there.body, &draft, &summarizer)) {
            return None;
        }
        let before = tree.summary(place)?.tokens;
        self.report.rewritten += 1;
        self.report.by_fallback += u64::from(draft.written_by != summarizer);
        self.report.tokens_after = (self.report.tokens_after + u64::from(draft.tokens)).saturating_sub(before.into());
        draft.input_hash = superseding_input(words, &draft);
        Some(Event::Summary(draft))
    }
}

/// The plan that writes these summaries. A SUMMARY of several messages, which no manager writes, stays.
fn plan(tree: &Tree, batch: &[(u32, SummaryId)]) -> Compaction {
    let mut plan = Compaction::default();
    for there in batch.iter().filter_map(|(_, id)| tree.summary(*id)) {
        if there.level != Level::Summary {
            plan.merge.push(Merge::new(there.level, there.children.to_vec(), there.span));
        } else if there.span == NodeRange::single(there.span.first()) {
            plan.summarize.push(there.span.first());
        }
    }
    plan
}

/// True if the existing words stay: the new ones are equal, or not better.
fn stays(there: &SummaryDraft, draft: &SummaryDraft, summarizer: &WrittenBy) -> bool {
    let is_same = draft.text == there.text && (draft.written_by == there.written_by || draft.text == KEPT_OUT);
    // For a lost message, the earlier words are all that remains.
    // Words of the fallback do not replace words of the summarizer.
    let is_worse = draft.written_by != *summarizer && there.written_by == *summarizer;
    is_same || is_worse || is_of_a_lost_message(draft)
}

/// The input hash of words that supersede others. A store treats a summary of the same level, span and input as the
/// existing one. So the input includes the author and the superseded words, and repeating the same rewrite after an
/// interruption adds nothing.
pub(super) fn superseding_input(words: SummaryId, draft: &SummaryDraft) -> Hash {
    let WrittenBy { strategy, version, .. } = &draft.written_by;
    let words = words.get().to_le_bytes();
    let parts =
        [b"supersedes".as_slice(), &words, strategy.as_bytes(), version.as_bytes(), draft.input_hash.as_bytes()];
    Hash::of_parts(parts)
}
