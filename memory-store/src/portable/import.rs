//! From the lines of a file into a store.

use std::collections::HashMap;

use memory_core::{
    ConversationId, NodeDraft, NodeId, OwnerId, SummaryId,
    port::{Event, Progress, Recorded, Store, StoreError, TokenCounter},
};

use super::{ExchangeError, ExportFile, RUN, RUN_BYTES, file::Lines, run};

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedExport {
    /// The conversation that it went into.
    pub conversation: ConversationId,
    /// Messages of the file; all of them are in the conversation now.
    pub nodes: u64,
    /// Messages that were not there before.
    pub new_nodes: u64,
    /// Summaries of the file.
    pub summaries: u64,
    /// Summaries that were not there before.
    pub new_summaries: u64,
    /// Summaries whose children the exporting store had lost: they cannot be recorded.
    pub orphaned_summaries: u64,
}

/// Brings an export into a store, under its own name or another. The conversation gets the owner that the file names;
/// in an [`OwnedStore`](memory_core::port::OwnedStore), that store's owner.
///
/// If the conversation exists and begins with the messages of the file, or is a part of them, what is missing is added
/// and nothing is changed. So an interrupted import is completed by importing again. Memory is bounded by a batch of
/// lines, a number for each pinned node and two for each summary.
///
/// The root does not cover the file's counts of tokens. So `counter`, if there is one, counts again what is added.
///
/// # Errors
/// [`ExchangeError::Differs`] when the conversation has other contents; nothing was written then. Any other error may
/// leave a part of the import, which importing again completes.
pub async fn import(
    store: &dyn Store,
    file: &mut ExportFile,
    name: Option<&ConversationId>,
    counter: Option<&dyn TokenCounter>,
    progress: &dyn Progress,
) -> Result<ImportedExport, ExchangeError> {
    let header = file.header().clone();
    let conversation = name.unwrap_or(&header.conversation).clone();
    let there = match store.conversation(&conversation).await {
        Ok(state) => Some(state),
        Err(StoreError::UnknownConversation { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (nodes_before, summaries_before) = there.as_ref().map_or((0, 0), |state| (state.nodes, state.summaries));
    let file_name = file.name().to_owned();
    let mut lines = file.lines()?;

    let target = Target { store, counter, owner: header.owner(), conversation: &conversation, file: &file_name };
    let mut pinned = target.compare(&mut lines, nodes_before.min(header.nodes)).await?;
    pinned.extend(target.append(&mut lines, nodes_before, header.nodes, progress).await?);
    target.pin(pinned, nodes_before).await?;
    let orphaned_summaries = target.summarize(&mut lines, header.summaries).await?;
    let mut events = Vec::new();
    if let Some(title) = header.title.clone()
        && there.as_ref().is_none_or(|state| state.title.is_none())
    {
        events.push(Event::Title(title));
    }
    if !header.tags.is_empty() && there.as_ref().is_none_or(|state| state.tags.is_empty()) {
        events.push(Event::Tags(header.tags.clone()));
    }
    if nodes_before == 0 && header.nodes == 0 {
        // A conversation begins with its first message: one that has lost all messages cannot be made.
        let summaries = header.summaries;
        return Ok(ImportedExport {
            nodes: 0,
            new_nodes: 0,
            summaries,
            new_summaries: 0,
            orphaned_summaries,
            conversation,
        });
    }
    target.record(events).await?;

    let after = store.conversation(&conversation).await?;
    Ok(ImportedExport {
        nodes: header.nodes,
        new_nodes: header.nodes.saturating_sub(nodes_before),
        summaries: header.summaries,
        new_summaries: after.summaries.saturating_sub(summaries_before),
        orphaned_summaries,
        conversation,
    })
}

/// The conversation that a file is imported into.
struct Target<'a> {
    store: &'a dyn Store,
    counter: Option<&'a dyn TokenCounter>,
    owner: Option<&'a OwnerId>,
    conversation: &'a ConversationId,
    file: &'a str,
}

impl Target<'_> {
    /// Compares the first nodes of the file with those that are there, before anything is written. Gives those of them
    /// that the file has pinned.
    async fn compare(&self, lines: &mut Lines<'_>, nodes: u64) -> Result<Vec<NodeId>, ExchangeError> {
        let mut pinned = Vec::new();
        let mut done = 0;
        while let Some(run) = run(done, RUN as u64, nodes) {
            let proofs = self.store.proofs(self.conversation, run).await?;
            let mut proofs = proofs.into_iter();
            for node in run.iter() {
                let entry = lines.node(node.get())?;
                if proofs.next().is_none_or(|proof| proof.leaf != entry.leaf) {
                    let (conversation, file) = (self.conversation.clone(), self.file.to_owned());
                    return Err(ExchangeError::Differs { conversation, file, node });
                }
                pinned.extend(entry.pinned.then_some(node));
            }
            done = run.last().get();
        }
        Ok(pinned)
    }

    /// Appends the nodes of the file after the first `done`. Gives those that the file has pinned.
    async fn append(
        &self,
        lines: &mut Lines<'_>,
        done: u64,
        nodes: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<NodeId>, ExchangeError> {
        let mut pinned = Vec::new();
        let mut batch: Vec<NodeDraft> = Vec::new();
        let mut bytes = 0;
        let Some(missing) = run(done, u64::MAX, nodes) else { return Ok(pinned) };
        let mut first = missing.first();
        for node in missing.iter() {
            let mut entry = lines.node(node.get())?;
            pinned.extend(entry.pinned.then_some(node));
            bytes += entry.bytes;
            if let Some(counter) = self.counter {
                entry.draft.tokens = counter.count(&entry.draft.message.text());
            }
            batch.push(entry.draft);
            if batch.len() >= RUN || bytes >= RUN_BYTES || node == missing.last() {
                self.append_batch(first, std::mem::take(&mut batch)).await?;
                (first, bytes) = (node.next(), 0);
                progress.report(node.get(), nodes);
            }
        }
        Ok(pinned)
    }

    async fn append_batch(&self, first: NodeId, batch: Vec<NodeDraft>) -> Result<(), ExchangeError> {
        let appended = self.store.append_for(self.owner, self.conversation, batch).await?;
        let mut expected = first;
        for appended in appended {
            if appended.node != expected || !appended.is_new {
                return Err(ExchangeError::Interleaved { conversation: self.conversation.clone(), node: expected });
            }
            expected = expected.next();
        }
        Ok(())
    }

    /// Pins nodes that are not pinned; the first `known` were there before.
    async fn pin(&self, mut pinned: Vec<NodeId>, known: u64) -> Result<(), ExchangeError> {
        if known > 0 && !pinned.is_empty() {
            let outlines = self.store.outline(self.conversation).await?;
            pinned.retain(|node| outlines.get(node.index()).is_none_or(|outline| !outline.pinned));
        }
        for run in pinned.chunks(RUN) {
            self.record(run.iter().map(|node| Event::Pin { node: *node, pinned: true }).collect()).await?;
        }
        Ok(())
    }

    /// Records the summaries of the file; gives how many cannot be recorded because their children are missing.
    async fn summarize(&self, lines: &mut Lines<'_>, summaries: u64) -> Result<u64, ExchangeError> {
        // The store numbers summaries itself, so children are named by their new numbers.
        let mut numbers: HashMap<SummaryId, SummaryId> = HashMap::new();
        let mut waiting = Waiting::default();
        let mut orphaned = 0;
        for number in 1..=summaries {
            let (summary, bytes) = lines.summary(number, summaries)?;
            let mut body = summary.body;
            if waiting.is_full() || body.children.iter().any(|child| waiting.ids.contains(child)) {
                self.record_summaries(&mut waiting, &mut numbers).await?;
            }
            let children: Option<_> = body.children.iter().map(|child| numbers.get(child).copied()).collect();
            let Some(children) = children else {
                orphaned += 1;
                continue;
            };
            body.children = children;
            if let Some(counter) = self.counter {
                body.tokens = counter.count(&body.text);
            }
            waiting.push(summary.id, Event::Summary(body), bytes);
        }
        self.record_summaries(&mut waiting, &mut numbers).await?;
        Ok(orphaned)
    }

    async fn record_summaries(
        &self,
        waiting: &mut Waiting,
        numbers: &mut HashMap<SummaryId, SummaryId>,
    ) -> Result<(), ExchangeError> {
        let Waiting { ids, events, .. } = std::mem::take(waiting);
        let recorded = self.record(events).await?;
        for (id, recorded) in ids.into_iter().zip(recorded) {
            if let Recorded::Summary(number) = recorded {
                numbers.insert(id, number);
            }
        }
        Ok(())
    }

    async fn record(&self, events: Vec<Event>) -> Result<Vec<Recorded>, ExchangeError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.store.record(self.conversation, events).await?)
    }
}

/// Summaries that have no number yet.
#[derive(Default)]
struct Waiting {
    ids: Vec<SummaryId>,
    events: Vec<Event>,
    bytes: usize,
}

impl Waiting {
    fn push(&mut self, id: SummaryId, event: Event, bytes: usize) {
        self.ids.push(id);
        self.events.push(event);
        self.bytes += bytes;
    }

    fn is_full(&self) -> bool {
        self.ids.len() >= RUN || self.bytes >= RUN_BYTES
    }
}
