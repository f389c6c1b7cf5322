//! A summary tree over a conversation that is too long to be compacted in a bench.

use anyhow::{Context, Result};
use memory_core::{
    Hash, Level, NodeId, NodeRange, SummaryDraft, SummaryId, SummaryMetadata,
    port::{Event, Recorded, Summarizer},
    text::FirstWords,
};

use super::{QuarterOfBytes, Talk};

/// Nodes without a summary, as compaction leaves them.
const RECENT: usize = 10;
/// Nodes under a META, between the 20 and 40 that compaction puts there.
const META: usize = 30;
/// Summaries under an ARCHIVE.
const FAN_OUT: usize = 8;
/// Summaries recorded at once.
const BATCH: usize = 1_000;
/// Tokens of a summary at each level, by the level's number.
const TOKENS: [u32; 4] = [0, 24, 128, 192];

/// Appends `messages` and records a tree of the shape that compaction produces, with invented words.
pub(super) fn grow(talk: &Talk, messages: usize) -> Result<()> {
    // A million exact counts take a minute, and no measurement depends on them.
    talk.say(messages, &QuarterOfBytes)?;
    let mut tree = Growing { talk, recorded: 0 };
    let nodes = (0..messages.saturating_sub(RECENT)).map(NodeId::from_index).map(NodeRange::single);
    let leaves: Vec<_> = nodes.map(|span| Branch { span, id: None }).collect();
    let summaries = tree.record(Level::Summary, leaves.chunks(1))?;
    let mut layer = tree.record(Level::Meta, summaries.chunks(META))?;
    while layer.len() > FAN_OUT {
        layer = tree.record(Level::Archive, layer.chunks(FAN_OUT).filter(|group| group.len() > 1))?;
    }
    Ok(())
}

/// A part of the tree that a summary may cover: a summary, or a single node.
#[derive(Clone, Copy, Debug)]
struct Branch {
    span: NodeRange,
    id: Option<SummaryId>,
}

struct Growing<'a> {
    talk: &'a Talk,
    recorded: u64,
}

impl Growing<'_> {
    /// Puts a summary over each group; returns the summaries.
    fn record<'b>(&mut self, level: Level, groups: impl Iterator<Item = &'b [Branch]>) -> Result<Vec<Branch>> {
        let drafts: Vec<_> = groups.filter_map(|group| self.draft(level, group)).collect();
        let mut branches = Vec::with_capacity(drafts.len());
        for batch in drafts.chunks(BATCH) {
            let events = batch.iter().cloned().map(Event::Summary).collect();
            let recorded = pollster::block_on(self.talk.store.record(self.talk.conversation.id(), events))?;
            for (draft, recorded) in batch.iter().zip(recorded) {
                let Recorded::Summary(id) = recorded else { continue };
                branches.push(Branch { span: draft.span, id: Some(id) });
            }
        }
        let missing = || format!("{} of {} summaries at level {level} were recorded", branches.len(), drafts.len());
        (branches.len() == drafts.len()).then_some(()).with_context(missing)?;
        Ok(branches)
    }

    fn draft(&mut self, level: Level, group: &[Branch]) -> Option<SummaryDraft> {
        let span = group.iter().map(|branch| branch.span).reduce(NodeRange::hull)?;
        self.recorded += 1;
        let tokens = TOKENS.get(usize::from(level.number())).copied().unwrap_or_default();
        // Four bytes a token, as the text of a real summary has.
        let text = "sum ".repeat(tokens as usize);
        let input_hash = Hash::of_parts([self.recorded.to_le_bytes().as_slice()]);
        let draft = SummaryDraft::new(level, span, text, tokens, FirstWords.identity(), input_hash)
            .children(group.iter().filter_map(|branch| branch.id).collect())
            .metadata(SummaryMetadata::default().importance(0.5).line_count(span.count()));
        Some(draft)
    }
}
