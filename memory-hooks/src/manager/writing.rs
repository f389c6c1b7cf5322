//! Turns planned summaries into written ones, without recording anything.

use memory_core::{
    ConversationId, Event, Hash, ImportanceScorer, Level, Node, NodeId, NodeRange, ReadNodes, ScoreJob, Store,
    Summarizer, Summary, SummaryDraft, SummaryId, SummaryJob, SummaryMetadata, SummarySource, TokenCounter,
    plan::{Compaction, Merge},
};

use crate::{MemoryError, kept_out::Redactor, uses::Uses};

/// What stands in the place of a message that no summary may hold.
pub(super) const KEPT_OUT: &str = "(kept out of summaries)";
/// What stands in the place of a message that cannot be read any more.
///
/// It is recorded like any SUMMARY. Were lost messages left without one, they would part their neighbours, which no
/// META may then cover together, and the view would grow with every one of them.
const LOST: &str = "(lost)";
/// Most tokens of a SUMMARY, a META and an ARCHIVE.
const SUMMARY_TOKENS: u32 = 48;
const META_TOKENS: u32 = 128;
const ARCHIVE_TOKENS: u32 = 192;
/// Nodes read at once, to bound memory.
const CHUNK: usize = 256;

/// The most tokens of a summary of this level that stands for so many: half of them, for one that saves nothing is none.
pub(crate) fn most_tokens(level: Level, of: u32) -> u32 {
    let cap = match level {
        Level::Full | Level::Summary => SUMMARY_TOKENS,
        Level::Meta => META_TOKENS,
        Level::Archive => ARCHIVE_TOKENS,
    };
    (of / 2).clamp(1, cap)
}

/// Writes summaries for one conversation.
pub(super) struct Writer<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) summarizer: &'a dyn Summarizer,
    pub(super) scorer: Option<&'a dyn ImportanceScorer>,
    pub(super) uses: &'a Uses,
    pub(super) conversation: &'a ConversationId,
    /// Summaries that are not recorded yet, in order of their numbers.
    pub(super) written: &'a [Summary],
    pub(super) redactor: &'a Redactor,
}

impl Writer<'_> {
    /// The events that carry a plan out: summaries, and the weights found on the way.
    pub(super) async fn write(&self, plan: &Compaction) -> Result<Vec<Event>, MemoryError> {
        let mut events = Vec::new();
        for chunk in plan.summarize.chunks(CHUNK) {
            self.write_leaves(chunk, &mut events).await?;
        }
        for merge in &plan.merge {
            events.push(Event::Summary(self.write_merge(merge).await?));
        }
        Ok(events)
    }

    async fn write_leaves(&self, ids: &[NodeId], events: &mut Vec<Event>) -> Result<(), MemoryError> {
        for run in NodeRange::merge(ids.iter().copied().map(NodeRange::single).collect()) {
            let ReadNodes { mut nodes, losses } = self.store.readable_nodes(self.conversation, run).await?;
            let mut proofs = Vec::with_capacity(nodes.len());
            for run in losses.rest_of(run) {
                proofs.extend(self.store.proofs(self.conversation, run).await?);
            }
            self.score(&mut nodes, events)?;
            let lost = losses.runs().iter().flat_map(|run| run.iter());
            let mut drafts: Vec<_> = lost.map(|node| self.lost_leaf(node)).collect();
            for (node, proof) in nodes.iter().zip(&proofs) {
                drafts.push(self.write_leaf(node, proof.leaf).await?);
            }
            drafts.sort_by_key(|draft| draft.span);
            events.extend(drafts.into_iter().map(Event::Summary));
        }
        Ok(())
    }

    fn lost_leaf(&self, node: NodeId) -> SummaryDraft {
        let input = Hash::of_parts([LOST.as_bytes()]);
        let metadata = SummaryMetadata::default();
        self.draft(Level::Summary, NodeRange::single(node), Vec::new(), LOST.to_owned(), metadata, input)
    }

    /// Weighs nodes that nobody has weighed.
    fn score(&self, nodes: &mut [Node], events: &mut Vec<Event>) -> Result<(), MemoryError> {
        let Some(scorer) = self.scorer else { return Ok(()) };
        let texts: Vec<_> = nodes.iter().map(|node| self.clean_text(node)).collect();
        let jobs: Vec<_> = nodes.iter().zip(&texts).map(|(node, text)| self.score_job(node, text)).collect();
        let scores = scorer.score(&jobs)?;
        let identity = scorer.identity();
        if scores.len() != nodes.len() || scores.iter().any(|score| !(0.0..=1.0).contains(score)) {
            let breach = format!("{} scores for {} messages, not all in 0..=1", scores.len(), nodes.len());
            return Err(MemoryError::Contract { strategy: identity, breach });
        }
        // The scorer is given them all, for the company matters; but a weight that somebody gave stays, and
        // of a message that it could not read it knows nothing.
        let counts = |node: &Node| {
            let is_unweighed = node.importance.to_bits() == Node::NEUTRAL_IMPORTANCE.to_bits();
            is_unweighed && !node.message.keep_out_of_summaries
        };
        for (node, importance) in nodes.iter_mut().zip(scores).filter(|(node, _)| counts(node)) {
            node.importance = importance;
            events.push(Event::Importance { node: node.id, importance, scored_by: identity.clone() });
        }
        Ok(())
    }

    fn score_job<'t>(&self, node: &Node, text: &'t str) -> ScoreJob<'t> {
        let uses = self.uses.of(self.conversation, node.id);
        ScoreJob { node: Some(node.id), said_at: Some(node.at), uses, ..ScoreJob::new(node.message.role, text) }
    }

    /// What a strategy may read of a message: nothing that is to be kept out of summaries.
    fn clean_text(&self, node: &Node) -> String {
        if node.message.keep_out_of_summaries { String::new() } else { self.redactor.redact(&node.message.text()) }
    }

    async fn write_leaf(&self, node: &Node, leaf: Hash) -> Result<SummaryDraft, MemoryError> {
        let span = NodeRange::single(node.id);
        let metadata = SummaryMetadata {
            importance: node.importance,
            topics: self.redactor.clean_topics(&node.topics),
            line_count: u64::from(node.line_count),
            ..SummaryMetadata::default()
        };
        let max_tokens = most_tokens(Level::Summary, node.tokens);
        if node.message.keep_out_of_summaries {
            // What it is about is content too.
            let metadata = SummaryMetadata { topics: Vec::new(), ..metadata };
            let input = Hash::of_parts([leaf.as_bytes().as_slice()]);
            return Ok(self.draft(Level::Summary, span, Vec::new(), KEPT_OUT.to_owned(), metadata, input));
        }
        let source = SummarySource {
            nodes: span,
            role: Some(node.message.role),
            speaker: node.message.speaker_or_role().to_owned(),
            text: self.clean_text(node),
            metadata,
        };
        self.ask(Level::Summary, vec![source], Vec::new(), max_tokens, &[leaf]).await
    }

    /// The summaries to be merged, in order of the nodes they cover.
    async fn children(&self, merge: &Merge) -> Result<Vec<Summary>, MemoryError> {
        let number = |id: &SummaryId| self.written.binary_search_by_key(id, |summary| summary.id);
        let written = merge.children.iter().filter_map(|id| self.written.get(number(id).ok()?).cloned());
        let recorded: Vec<_> = merge.children.iter().filter(|id| number(id).is_err()).copied().collect();
        let mut children: Vec<_> = written.collect();
        children.extend(self.store.summaries_of(self.conversation, &recorded).await?);
        children.sort_by_key(|child| child.body.span);
        Ok(children)
    }

    async fn write_merge(&self, merge: &Merge) -> Result<SummaryDraft, MemoryError> {
        let children = self.children(merge).await?;
        let sources = children
            .iter()
            .map(|child| SummarySource {
                nodes: child.body.span,
                role: None,
                speaker: String::new(),
                text: self.redactor.redact(&child.body.text),
                metadata: SummaryMetadata {
                    topics: self.redactor.clean_topics(&child.body.metadata.topics),
                    ..child.body.metadata.clone()
                },
            })
            .collect();
        let tokens: u32 = children.iter().map(|child| child.body.tokens).sum();
        let inputs: Vec<_> = children.iter().map(|child| child.body.input_hash).collect();
        self.ask(merge.level, sources, merge.children.clone(), most_tokens(merge.level, tokens), &inputs).await
    }

    async fn ask(
        &self,
        level: Level,
        sources: Vec<SummarySource>,
        children: Vec<SummaryId>,
        max_tokens: u32,
        inputs: &[Hash],
    ) -> Result<SummaryDraft, MemoryError> {
        let job = SummaryJob { level, sources: &sources, previous: None, max_tokens, counter: self.counter };
        let identity = self.summarizer.identity();
        let Some(span) = job.span() else {
            let breach = format!("a {level} without sources was planned");
            return Err(MemoryError::Contract { strategy: identity, breach });
        };
        let may_be_blank = job.may_be_blank();
        let written = self.summarizer.summarize(job).await?;
        let tokens = self.counter.count(&written.text);
        if tokens > max_tokens {
            let breach = format!("{tokens} tokens for nodes {span} where at most {max_tokens} were allowed");
            return Err(MemoryError::Contract { strategy: identity, breach });
        }
        if written.text.trim().is_empty() && !may_be_blank {
            let breach = format!("a blank {level} for nodes {span}");
            return Err(MemoryError::Contract { strategy: identity, breach });
        }
        let mut metadata = written.metadata;
        metadata.line_count = sources.iter().map(|source| source.metadata.line_count).sum();
        metadata.importance =
            sources.iter().map(|source| source.metadata.importance).fold(metadata.importance, f32::max).clamp(0.0, 1.0);
        let inputs = inputs.iter().map(|hash| hash.as_bytes().as_slice());
        let mut shape = vec![level.number()];
        shape.extend(max_tokens.to_le_bytes());
        // A child that was lost and written anew has another number. Without it in the hash the store would
        // take the summary over it for the old one, whose child is gone.
        shape.extend(children.iter().flat_map(|child| child.get().to_le_bytes()));
        let input_hash = Hash::of_parts(std::iter::once(shape.as_slice()).chain(inputs));
        Ok(self.draft(level, span, children, written.text, metadata, input_hash))
    }

    fn draft(
        &self,
        level: Level,
        span: NodeRange,
        children: Vec<SummaryId>,
        text: String,
        metadata: SummaryMetadata,
        input_hash: Hash,
    ) -> SummaryDraft {
        let tokens = self.counter.count(&text);
        SummaryDraft {
            level,
            span,
            children,
            text,
            tokens,
            metadata,
            written_by: self.summarizer.identity(),
            input_hash,
        }
    }
}
