//! Writes planned summaries without recording them.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::atomic::{AtomicUsize, Ordering},
};

use memory_core::{
    ContentBlock, ConversationId, DISABLED, ERASED, Hash, Level, Message, Node, NodeId, NodeRange, Role, Summary,
    SummaryDraft, SummaryId, SummaryMetadata, WrittenBy,
    plan::{Compaction, Merge, Tree},
    port::{
        BoxFuture, Event, Excluded, ImportanceScorer, Losses, ScoreJob, SummarizeError, Summarizer, SummaryJob,
        SummarySource, WrittenSummary,
    },
    time::with_dates,
};
use memory_strategies::is_small_talk;

use super::{
    density::most_of_words,
    failing::{FailureCount, in_a_line},
    merged_sources::hidden_text,
};
use crate::{MemoryError, kept_out::Redactor, ports::Ports, render};

/// Text shown for a message that is excluded from summaries.
pub(super) const KEPT_OUT: &str = "(kept out of summaries)";
/// Text shown for a message that cannot be read any more.
///
/// Recorded like any SUMMARY. Lost messages without one would split their neighbours, which no META could then cover
/// together, and the view would grow with each of them.
const LOST: &str = "(lost)";
/// Most tokens of a SUMMARY, a META and an ARCHIVE.
const SUMMARY_TOKENS: u32 = 48;
const META_TOKENS: u32 = 128;
const ARCHIVE_TOKENS: u32 = 192;
/// Nodes read at once, to bound memory.
pub(super) const CHUNK: usize = 256;

/// The most tokens of a summary of this level for `of` tokens: at most half of them, since a summary that saves no
/// tokens is not worth writing.
pub(crate) fn most_tokens(level: Level, of: u32) -> u32 {
    let cap = match level {
        Level::Full | Level::Summary => SUMMARY_TOKENS,
        Level::Meta => META_TOKENS,
        Level::Archive => ARCHIVE_TOKENS,
    };
    (of / 2).clamp(1, cap)
}

/// True for a summary that leaves out all of its message: "…", "Ben: …".
fn is_omission(text: &str) -> bool {
    text.trim().strip_suffix('…').is_some_and(|head| head.is_empty() || head.ends_with(": "))
}

/// True if this is the SUMMARY of a message that cannot be read any more.
pub(super) fn is_of_a_lost_message(draft: &SummaryDraft) -> bool {
    draft.input_hash == input_of(lost_input(), draft.for_view)
}

fn lost_input() -> Hash {
    Hash::of_parts([LOST.as_bytes()])
}

/// The recorded hash of an input. The store takes equal hashes for the same record, so a summary for a view gets
/// another hash than a due one.
fn input_of(input: Hash, for_view: bool) -> Hash {
    if for_view { Hash::of_parts([b"for a view".as_slice(), input.as_bytes()]) } else { input }
}

/// True if "yesterday" in a message means the day before it. A model does not know the day, the words of a tool may be
/// older, and dates would pass for the content of small talk.
fn is_dated(message: &Message) -> bool {
    let is_by_person = match message.role {
        Role::User => true,
        Role::Assistant => message.speaker.is_some() && message.model().is_none(),
        Role::System | Role::Tool => false,
    };
    let is_text = message.content.iter().all(|block| matches!(block, ContentBlock::Text(_)));
    is_by_person && is_text && !is_small_talk(&message.text())
}

/// The text of a message, or of its summary, with the dates of words such as "yesterday".
pub(super) fn dated(node: &Node, text: &str) -> String {
    let offset = node.message.utc_offset().unwrap_or_default();
    if is_dated(&node.message) { with_dates(text, node.at, offset) } else { text.to_owned() }
}

/// Writes summaries for one conversation.
pub(super) struct Writer<'a> {
    pub(super) ports: &'a Ports,
    pub(super) conversation: &'a ConversationId,
    /// Tree of the conversation, which knows the words shown for a summary.
    pub(super) tree: &'a Tree,
    /// Summaries that are not recorded yet, in order of their numbers.
    pub(super) written: &'a [Summary],
    pub(super) redactor: &'a Redactor,
    /// Author of this compaction, until it fails.
    pub(super) author: &'a dyn Summarizer,
    /// Failures of the summarizer and the scorer in this compaction.
    pub(super) summarizer: &'a FailureCount,
    pub(super) scorer: &'a FailureCount,
    /// True if the summaries are written for one view.
    pub(super) for_view: bool,
    /// Number of answers that had to be awaited.
    pub(super) awaited: AtomicUsize,
    /// Awaited answers after which nothing more is written, so that paid work is recorded soon.
    pub(super) most_awaited: usize,
}

impl Writer<'_> {
    /// Appends the events of a plan to `events`: summaries, and the importance scores found on the way. After an error,
    /// or once most answers were awaited, `events` holds the part written so far.
    pub(super) async fn write(&self, plan: &Compaction, events: &mut Vec<Event>) -> Result<(), MemoryError> {
        for chunk in plan.summarize.chunks(CHUNK) {
            if self.is_enough() {
                return Ok(());
            }
            self.write_leaves(chunk, events).await?;
        }
        for merge in &plan.merge {
            if self.is_enough() {
                return Ok(());
            }
            events.push(Event::Summary(self.write_merge(merge).await?));
        }
        Ok(())
    }

    fn is_enough(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) >= self.most_awaited
    }

    async fn write_leaves(&self, ids: &[NodeId], events: &mut Vec<Event>) -> Result<(), MemoryError> {
        for run in NodeRange::merge(ids.iter().copied().map(NodeRange::single).collect()) {
            if self.is_enough() {
                return Ok(());
            }
            let (mut nodes, leaves, losses) = self.read(run).await?;
            // Scores of a view would change later views.
            if !self.for_view {
                self.score(&mut nodes, events).await;
            }
            let lost = losses.runs().iter().flat_map(|run| run.iter());
            let mut drafts: Vec<_> = lost.map(|node| self.lost_leaf(node)).collect();
            let outcome = self.write_nodes(&nodes, &leaves, &mut drafts).await;
            drafts.sort_by_key(|draft| draft.span);
            events.extend(drafts.into_iter().map(Event::Summary));
            outcome?;
        }
        Ok(())
    }

    /// The messages of a run with their leaves, each read once, and the unreadable ones.
    async fn read(&self, run: NodeRange) -> Result<(Vec<Node>, Vec<Hash>, Losses), MemoryError> {
        let store = &self.ports.store;
        let (read, losses) = match store.nodes_with_proofs(self.conversation, run).await {
            Ok(read) => (read, Losses::default()),
            Err(error) if error.is_damage() => {
                let losses = store.readable_nodes(self.conversation, run).await?.losses;
                let mut read = Vec::new();
                for run in losses.rest_of(run) {
                    read.extend(store.nodes_with_proofs(self.conversation, run).await?);
                }
                (read, losses)
            }
            Err(error) => return Err(error.into()),
        };
        let (nodes, leaves) = read.into_iter().map(|(node, proof)| (node, proof.leaf)).unzip();
        Ok((nodes, leaves, losses))
    }

    fn lost_leaf(&self, node: NodeId) -> SummaryDraft {
        let metadata = SummaryMetadata::default();
        let written = WrittenSummary::new(LOST).metadata(metadata);
        self.draft(Level::Summary, NodeRange::single(node), Vec::new(), (written, self.identity()), lost_input())
    }

    /// Scores nodes without a score. If no scorer answers, they keep their importance.
    async fn score(&self, nodes: &mut [Node], events: &mut Vec<Event>) {
        let texts: Vec<_> = nodes.iter().map(|node| self.clean_text(node)).collect();
        let jobs: Vec<_> = nodes.iter().zip(&texts).map(|(node, text)| self.score_job(node, text)).collect();
        let Some((scores, identity)) = self.scores(&jobs).await else { return };
        // The scorer gets all nodes, since scores depend on the other jobs. But an existing score stays, and the score
        // of a message that the scorer could not read is ignored.
        let counts = |node: &Node| {
            let is_unweighed = node.importance.to_bits() == Node::NEUTRAL_IMPORTANCE.to_bits();
            is_unweighed && !node.message.keep_out_of_summaries && !node.is_hidden()
        };
        for (node, importance) in nodes.iter_mut().zip(scores).filter(|(node, _)| counts(node)) {
            node.importance = importance;
            events.push(Event::Importance { node: node.id, importance, scored_by: identity.clone() });
        }
    }

    /// Scores of the scorer or its fallback, and their author.
    async fn scores(&self, jobs: &[ScoreJob<'_>]) -> Option<(Vec<f32>, WrittenBy)> {
        let fallback = self.ports.fallback_scorer.as_deref();
        let scorer = self.ports.scorer.as_deref()?;
        if self.scorer.is_left() {
            match checked_scores(scorer, jobs) {
                Ok(answer) => {
                    self.scorer.answered();
                    return Some(answer);
                }
                Err(cause) => {
                    self.scorer.failed();
                    self.tell(scorer.identity(), fallback.map(ImportanceScorer::identity), cause).await;
                }
            }
        }
        let fallback = fallback?;
        match checked_scores(fallback, jobs) {
            Ok(answer) => Some(answer),
            Err(cause) => {
                self.tell(fallback.identity(), None, cause).await;
                None
            }
        }
    }

    async fn tell(&self, strategy: WrittenBy, answered_by: Option<WrittenBy>, cause: String) {
        self.ports.said.tell(self.ports.hooks(), self.conversation, strategy, answered_by, cause).await;
    }

    /// Author of texts that no strategy writes.
    fn identity(&self) -> WrittenBy {
        self.ports.summarizer.identity()
    }

    fn score_job<'t>(&self, node: &Node, text: &'t str) -> ScoreJob<'t> {
        let uses = self.ports.uses.of(self.conversation, node.id);
        ScoreJob::new(node.message.role, text).node(node.id).said_at(node.at).uses(uses)
    }

    /// Text of a message that a strategy may read: nothing that is excluded from summaries.
    fn clean_text(&self, node: &Node) -> String {
        if node.message.keep_out_of_summaries || node.is_hidden() {
            String::new()
        } else {
            self.redactor.redact(&node.message.text())
        }
    }

    /// Appends the SUMMARYs of nodes to `drafts`. After an error, or once most answers were awaited, it holds the part
    /// written so far.
    async fn write_nodes(
        &self,
        nodes: &[Node],
        leaves: &[Hash],
        drafts: &mut Vec<SummaryDraft>,
    ) -> Result<(), MemoryError> {
        let most = self.author.most_at_once().max(1);
        for (nodes, leaves) in nodes.chunks(most).zip(leaves.chunks(most)) {
            if self.is_enough() {
                break;
            }
            let mut given = if most == 1 { HashMap::new() } else { self.write_at_once(nodes).await };
            for (node, leaf) in nodes.iter().zip(leaves) {
                drafts.push(self.write_leaf(node, *leaf, given.remove(&node.id)).await?);
            }
        }
        Ok(())
    }

    /// Summaries of nodes that the author writes together; none for nodes that need none of its words.
    async fn write_at_once(&self, nodes: &[Node]) -> HashMap<NodeId, Result<WrittenSummary, SummarizeError>> {
        let mut asked = Vec::new();
        for node in nodes.iter().filter(|node| !node.is_hidden() && !node.message.keep_out_of_summaries) {
            let (source, most) = self.leaf_source(node);
            let span = NodeRange::single(node.id);
            if self.for_view || self.known(Level::Summary, span, &[], most).await.is_none() {
                asked.push((node.id, [source], most));
            }
        }
        if asked.len() < 2 || !self.summarizer.is_left() {
            return HashMap::new();
        }
        let counter = self.ports.counter.as_ref();
        let excluded: &dyn Excluded = self.redactor;
        let mut jobs = Vec::with_capacity(asked.len());
        for (_, source, most) in &asked {
            jobs.push(SummaryJob::new(Level::Summary, source, *most, counter).excluded(Some(excluded)));
        }
        let answers = self.author.summarize_many(&jobs).await;
        self.awaited.fetch_add(jobs.len(), Ordering::Relaxed);
        asked.iter().map(|(node, ..)| *node).zip(answers).collect()
    }

    /// A message as the source of its SUMMARY, and the most tokens of that.
    fn leaf_source(&self, node: &Node) -> (SummarySource, u32) {
        let metadata = SummaryMetadata::default()
            .importance(node.importance)
            .topics(self.redactor.clean_topics(&node.topics))
            .line_count(u64::from(node.line_count));
        let source = self.message(node, metadata);
        let most = (node.tokens / 2).clamp(1, most_of_words(SUMMARY_TOKENS, &source.text, node.tokens));
        (source, most)
    }

    async fn write_leaf(
        &self,
        node: &Node,
        leaf: Hash,
        given: Option<Result<WrittenSummary, SummarizeError>>,
    ) -> Result<SummaryDraft, MemoryError> {
        let span = NodeRange::single(node.id);
        let (source, max_tokens) = self.leaf_source(node);
        if node.is_hidden() {
            // A summary of the message had only the leaf as its input.
            let text = if node.is_erased { ERASED } else { DISABLED };
            let input = Hash::of_parts([text.as_bytes(), leaf.as_bytes().as_slice()]);
            let written = WrittenSummary::new(text).metadata(source.metadata);
            return Ok(self.draft(Level::Summary, span, Vec::new(), (written, self.identity()), input));
        }
        if node.message.keep_out_of_summaries {
            // Topics are content too.
            let metadata = source.metadata.topics(Vec::new());
            let input = Hash::of_parts([leaf.as_bytes().as_slice()]);
            let written = WrittenSummary::new(KEPT_OUT).metadata(metadata);
            return Ok(self.draft(Level::Summary, span, Vec::new(), (written, self.identity()), input));
        }
        let mut draft = self.ask(Level::Summary, vec![source.clone()], Vec::new(), max_tokens, &[leaf], given).await?;
        if is_omission(&draft.text) && !source.text.trim().is_empty() {
            // A message of one sentence is better somewhat too long than left out.
            let most = max_tokens + max_tokens / 2;
            draft = self.ask(Level::Summary, vec![source], Vec::new(), most, &[leaf], None).await?;
        }
        let text = render::without_name(draft.text.clone(), node.message.voice());
        // A prompt shows the day above the line of one message, so a date may not displace what was said.
        let text = Some(dated(node, &text)).filter(|text| self.ports.counter.count(text) <= max_tokens).unwrap_or(text);
        if text != draft.text {
            draft.tokens = self.ports.counter.count(&text);
            draft.text = text;
        }
        Ok(draft)
    }

    /// A message as a source.
    pub(super) fn message(&self, node: &Node, metadata: SummaryMetadata) -> SummarySource {
        SummarySource::new(NodeRange::single(node.id), render::escape_names(&self.clean_text(node)))
            .role(node.message.role)
            .speaker(node.message.voice().to_owned())
            .metadata(metadata)
    }

    /// The newest words of the summaries to be merged, in order of the nodes they cover; for a dissolved one, those of
    /// its parts.
    async fn children(&self, merge: &Merge) -> Result<Vec<Summary>, MemoryError> {
        let parts = self.tree.undissolved(merge.children.iter().copied());
        let words: Vec<_> = parts.into_iter().map(|part| self.tree.words_for(part)).collect();
        let number = |id: &SummaryId| self.written.binary_search_by_key(id, |summary| summary.id);
        let written = words.iter().filter_map(|id| self.written.get(number(id).ok()?).cloned());
        let recorded: Vec<_> = words.iter().filter(|id| number(id).is_err()).copied().collect();
        let mut children: Vec<_> = written.collect();
        children.extend(self.ports.store.summaries_of(self.conversation, &recorded).await?);
        children.sort_by_key(|child| child.body.span);
        Ok(children)
    }

    async fn write_merge(&self, merge: &Merge) -> Result<SummaryDraft, MemoryError> {
        let children = self.children(merge).await?;
        let sources = self.merged_sources(merge.level, &children).await?;
        let tokens: u32 = children.iter().map(|child| child.body.tokens).sum();
        let inputs: Vec<_> = children.iter().map(|child| child.body.input_hash).collect();
        let hidden: Vec<_> = children.iter().map_while(hidden_text).collect();
        let given =
            hidden.first().filter(|_| hidden.len() == children.len()).map(|text| Ok(WrittenSummary::new(*text)));
        let text: String = children.iter().map(|child| child.body.text.as_str()).collect::<Vec<_>>().join(" ");
        let most = most_of_words(most_tokens(merge.level, tokens), &text, tokens).min(tokens / 2).max(1);
        self.ask(merge.level, sources, merge.children.clone(), most, &inputs, given).await
    }

    /// The words of a summary that an earlier view needed before it was due, if the same author wrote them.
    async fn known(
        &self,
        level: Level,
        span: NodeRange,
        children: &[SummaryId],
        max_tokens: u32,
    ) -> Option<(WrittenSummary, WrittenBy)> {
        let id = self.tree.words_for(self.tree.written_for_view(level, span, children)?);
        let read = self.ports.store.summaries_of(self.conversation, &[id]).await.ok()?;
        let SummaryDraft { text, metadata, written_by, .. } = read.into_iter().next()?.body;
        let written = self.redacted(WrittenSummary::new(text).metadata(metadata), max_tokens);
        let is_usable = written_by == self.author.identity() && self.ports.counter.count(&written.text) <= max_tokens;
        is_usable.then_some((written, written_by))
    }

    async fn ask(
        &self,
        level: Level,
        sources: Vec<SummarySource>,
        children: Vec<SummaryId>,
        max_tokens: u32,
        inputs: &[Hash],
        given: Option<Result<WrittenSummary, SummarizeError>>,
    ) -> Result<SummaryDraft, MemoryError> {
        let counter = self.ports.counter.as_ref();
        let job = SummaryJob::new(level, &sources, max_tokens, counter).excluded(Some(self.redactor as &dyn Excluded));
        let Some(span) = job.span() else {
            let breach = format!("a {level} without sources was planned");
            return Err(MemoryError::Contract { strategy: self.identity(), breach });
        };
        let known = if self.for_view { None } else { self.known(level, span, &children, max_tokens).await };
        let (mut written, written_by) = match known {
            Some(known) => known,
            None => self.answer(job, span, given).await?,
        };
        let metadata = &mut written.metadata;
        metadata.line_count = sources.iter().map(|source| source.metadata.line_count).sum();
        metadata.importance =
            sources.iter().map(|source| source.metadata.importance).fold(metadata.importance, f32::max).clamp(0.0, 1.0);
        let inputs = inputs.iter().map(|hash| hash.as_bytes().as_slice());
        let mut shape = vec![level.number()];
        shape.extend(max_tokens.to_le_bytes());
        // A child that was lost and rewritten has another number. Without it in the hash the store would treat the
        // parent as the old one, whose child is gone.
        shape.extend(children.iter().flat_map(|child| child.get().to_le_bytes()));
        let input_hash = Hash::of_parts(std::iter::once(shape.as_slice()).chain(inputs));
        Ok(self.draft(level, span, children, (written, written_by), input_hash))
    }

    /// Summary of the summarizer, which may be given already, or of its fallback, and its author.
    async fn answer(
        &self,
        job: SummaryJob<'_>,
        span: NodeRange,
        given: Option<Result<WrittenSummary, SummarizeError>>,
    ) -> Result<(WrittenSummary, WrittenBy), MemoryError> {
        let (summarizer, fallback) = (self.author, self.ports.fallback_summarizer.as_ref());
        if given.is_some() || self.summarizer.is_left() {
            match self.checked(summarizer, job, span, given).await {
                Ok(answer) => {
                    self.summarizer.answered();
                    return Ok(answer);
                }
                Err(error) => {
                    self.summarizer.failed();
                    self.tell(summarizer.identity(), Some(fallback.identity()), in_a_line(&error)).await;
                }
            }
        }
        self.checked(fallback, job, span, None).await
    }

    /// The checked output of `summarizer`, without excluded content, and its author.
    async fn checked(
        &self,
        summarizer: &dyn Summarizer,
        job: SummaryJob<'_>,
        span: NodeRange,
        given: Option<Result<WrittenSummary, SummarizeError>>,
    ) -> Result<(WrittenSummary, WrittenBy), MemoryError> {
        let identity = summarizer.identity();
        let mut written = match given {
            Some(given) => given?,
            None => {
                let (written, is_awaited) = awaiting(summarizer.summarize(job)).await;
                self.awaited.fetch_add(usize::from(is_awaited && written.is_ok()), Ordering::Relaxed);
                written?
            }
        };
        let breach = |breach: String| MemoryError::Contract { strategy: identity.clone(), breach };
        // The identity after the call may be that of the next author already.
        let written_by = match written.written_by.take() {
            Some(written_by) => written_by,
            None if summarizer.identity() == identity => identity.clone(),
            None => return Err(breach("an answer of an author that it does not name".to_owned())),
        };
        let written = self.redacted(written, job.max_tokens);
        let tokens = job.counter.count(&written.text);
        if tokens > job.max_tokens {
            let most = job.max_tokens;
            return Err(breach(format!("{tokens} tokens for nodes {span} where at most {most} were allowed")));
        }
        if written.text.trim().is_empty() && !job.may_be_blank() {
            return Err(breach(format!("a blank {} for nodes {span}", job.level)));
        }
        Ok((written, written_by))
    }

    /// The output without excluded content, which a strategy may know from other sources than its job.
    fn redacted(&self, written: WrittenSummary, max_tokens: u32) -> WrittenSummary {
        let mut text = self.redactor.redact(&written.text);
        // A placeholder may cost more than the term.
        if text != written.text && self.ports.counter.count(&text) > max_tokens {
            text = self.redactor.strike(&written.text);
        }
        let topics = self.redactor.clean_topics(&written.metadata.topics);
        WrittenSummary::new(text).metadata(written.metadata.topics(topics))
    }

    fn draft(
        &self,
        level: Level,
        span: NodeRange,
        children: Vec<SummaryId>,
        (written, written_by): (WrittenSummary, WrittenBy),
        input: Hash,
    ) -> SummaryDraft {
        let WrittenSummary { text, metadata, .. } = written;
        let tokens = self.ports.counter.count(&text);
        let input_hash = input_of(input, self.for_view);
        SummaryDraft::new(level, span, text, tokens, written_by, input_hash)
            .children(children)
            .metadata(metadata)
            .for_view(self.for_view)
            .erased(self.tree.erased_in(span))
    }
}

/// Output of a future, and true if it had to be awaited.
async fn awaiting<T>(mut work: BoxFuture<'_, T>) -> (T, bool) {
    let mut is_awaited = false;
    let output = poll_fn(|context| {
        let polled = work.as_mut().poll(context);
        is_awaited |= polled.is_pending();
        polled
    });
    (output.await, is_awaited)
}

/// A score for each job, all in range, and their author; otherwise the breach.
fn checked_scores(scorer: &dyn ImportanceScorer, jobs: &[ScoreJob<'_>]) -> Result<(Vec<f32>, WrittenBy), String> {
    let identity = scorer.identity();
    let scores = scorer.score(jobs).map_err(|error| in_a_line(&error))?;
    if scores.len() != jobs.len() || scores.iter().any(|score| !(0.0..=1.0).contains(score)) {
        return Err(format!("{} scores for {} messages, not all in 0..=1", scores.len(), jobs.len()));
    }
    if scorer.identity() != identity {
        return Err("scores of an author that is not known: its identity changed meanwhile".to_owned());
    }
    Ok((scores, identity))
}
