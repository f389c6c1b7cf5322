//! Writes summaries anew that are there already: their places stay, their words are superseded.

use std::collections::HashMap;

use memory_core::{
    ConversationId, Event, Hash, Level, Node, NodeRange, Progress, StoreError, Summary, SummaryDraft, SummaryId,
    WrittenBy,
    plan::{Compaction, Merge, Tree},
};

use super::{
    failing::Patience,
    writing::{KEPT_OUT, Writer, is_of_a_lost_message},
};
use crate::{MemoryError, followed::Snapshot, memory::Parts};

/// Most summaries that are written before they are recorded: what an end in the middle may cost.
const BATCH: usize = 128;

/// Which summaries to write anew: those of which everything said here is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resummarize {
    /// They stand for one of these nodes at least.
    pub nodes: Option<NodeRange>,
    /// They are of this level.
    pub level: Option<Level>,
}

/// What writing summaries anew did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResummarizeReport {
    /// Summaries that have other words now.
    pub rewritten: u64,
    /// Those of them that were written by the fallback, since the summarizer failed.
    pub by_fallback: u64,
    /// Summaries that stay: the same words were written, or there is nothing to write them from.
    pub unchanged: u64,
    /// Tokens of all of these summaries before.
    pub tokens_before: u64,
    /// Tokens of all of these summaries after.
    pub tokens_after: u64,
}

/// Writes summaries anew, bottom up, so that a merged one is made of the newest words below it. What is recorded when it
/// fails or is cut off stays.
pub(crate) async fn resummarize(
    parts: &Parts,
    conversation: &ConversationId,
    what: Resummarize,
    progress: &dyn Progress,
) -> Result<ResummarizeReport, MemoryError> {
    let conversation_now = parts.store.conversation(conversation).await?;
    if let Some(node) = what.nodes.map(NodeRange::last).filter(|last| last.get() > conversation_now.nodes) {
        let (conversation, nodes) = (conversation.clone(), conversation_now.nodes);
        return Err(StoreError::UnknownNode { conversation, node, nodes }.into());
    }
    let Some(_turn) = parts.compacting.take(conversation) else {
        return Err(MemoryError::AtWork { conversation: conversation.clone() });
    };
    let _lease = parts.store.lease().await?;
    let tree = Snapshot::read(parts, conversation).await?.tree;
    let due = due(&tree, what);
    if due.is_empty() {
        let Resummarize { nodes, level } = what;
        return Err(MemoryError::NothingSummarized { conversation: conversation.clone(), nodes, level });
    }
    let tokens = due.iter().filter_map(|(_, id)| tree.summary(*id)).map(|there| u64::from(there.tokens)).sum();
    drop(tree);
    let total = due.len() as u64;
    let report = ResummarizeReport { tokens_before: tokens, tokens_after: tokens, ..ResummarizeReport::default() };
    let (summarizer, scorer) = (Patience::default(), Patience::default());
    let mut rewriting = Rewriting { parts, conversation, summarizer, scorer, report };
    let mut done = 0;
    progress.report(done, total);
    // What is written together must not be made of each other.
    for equals in due.chunk_by(|(one, _), (other, _)| one == other) {
        for batch in equals.chunks(BATCH) {
            rewriting.write(batch).await?;
            done += batch.len() as u64;
            progress.report(done, total);
        }
    }
    let mut report = rewriting.report;
    report.unchanged = total - report.rewritten;
    tracing::debug!(%conversation, ?report, "written anew");
    Ok(report)
}

/// The summaries that are meant, each behind those that it is made of, with their heights.
fn due(tree: &Tree, what: Resummarize) -> Vec<(u32, SummaryId)> {
    let touches = |run: NodeRange, span: NodeRange| run.first() <= span.last() && span.first() <= run.last();
    let is_meant = |level: Level, span: NodeRange| {
        what.level.is_none_or(|wanted| wanted == level) && what.nodes.is_none_or(|run| touches(run, span))
    };
    let meant = tree.placed().filter(|there| is_meant(there.level, there.span));
    let mut due: Vec<_> = meant.filter_map(|there| Some((tree.height(there.id)?, there.id))).collect();
    due.sort_unstable();
    due
}

struct Rewriting<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    summarizer: Patience,
    scorer: Patience,
    report: ResummarizeReport,
}

impl Rewriting<'_> {
    /// Writes these anew and records those that say something else; of a batch that fails, what was written before.
    async fn write(&mut self, batch: &[(u32, SummaryId)]) -> Result<(), MemoryError> {
        // Anew for each batch: messages may have come meanwhile that others are to be struck of.
        let snapshot = Snapshot::read(self.parts, self.conversation).await?;
        let words: Vec<_> = batch.iter().map(|(_, id)| snapshot.tree.words_for(*id)).collect();
        let there = self.parts.store.summaries_of(self.conversation, &words).await?;
        let there: HashMap<SummaryId, Summary> = there.into_iter().map(|summary| (summary.id, summary)).collect();
        let writer = Writer {
            parts: self.parts,
            conversation: self.conversation,
            tree: &snapshot.tree,
            written: &[],
            redactor: &snapshot.redactor,
            summarizer: &self.summarizer,
            scorer: &self.scorer,
        };
        let mut written = Vec::new();
        let outcome = writer.write(&plan(&snapshot.tree, batch), &mut written).await;
        let mut events = Vec::new();
        for event in written {
            match event {
                Event::Summary(draft) => events.extend(self.superseding(&snapshot.tree, &there, draft)),
                // A scorer that finds a message as important as one that nobody has weighed says nothing new.
                Event::Importance { importance, .. } if importance.to_bits() == Node::NEUTRAL_IMPORTANCE.to_bits() => {}
                other => events.push(other),
            }
        }
        if !events.is_empty() {
            self.parts.store.record(self.conversation, events).await?;
        }
        outcome
    }

    /// The event that puts these words into the place of what stands there; `None` where that is to stay.
    fn superseding(
        &mut self,
        tree: &Tree,
        there: &HashMap<SummaryId, Summary>,
        mut draft: SummaryDraft,
    ) -> Option<Event> {
        let place = match draft.children.first() {
            Some(child) => tree.parent(*child)?,
            None => tree.leaf(draft.span.first())?,
        };
        let words = tree.words_for(place);
        let summarizer = self.parts.summarizer.identity();
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
            plan.merge.push(Merge { level: there.level, span: there.span, children: there.children.to_vec() });
        } else if there.span == NodeRange::single(there.span.first()) {
            plan.summarize.push(there.span.first());
        }
    }
    plan
}

/// Whether what stands there stays: it is the same, or nothing better was written.
fn stays(there: &SummaryDraft, draft: &SummaryDraft, summarizer: &WrittenBy) -> bool {
    let is_same = draft.text == there.text && (draft.written_by == there.written_by || draft.text == KEPT_OUT);
    // Of a message that is lost, what was written before is all that is left.
    // A fallback is better than nothing, and not better than what the summarizer wrote while it was well.
    let is_worse = draft.written_by != *summarizer && there.written_by == *summarizer;
    is_same || is_worse || is_of_a_lost_message(draft)
}

/// The input hash of words that supersede others. A store takes a summary of the same level, span and input for the one
/// that it has; so who wrote it and which words it supersedes are part of the input, and to try the same again after an
/// end in the middle adds nothing.
fn superseding_input(words: SummaryId, draft: &SummaryDraft) -> Hash {
    let WrittenBy { strategy, version } = &draft.written_by;
    let words = words.get().to_le_bytes();
    let parts =
        [b"supersedes".as_slice(), &words, strategy.as_bytes(), version.as_bytes(), draft.input_hash.as_bytes()];
    Hash::of_parts(parts)
}
