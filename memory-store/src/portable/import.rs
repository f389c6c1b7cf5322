//! From the lines of a file into a store.

use std::collections::{BTreeSet, HashMap};

use memory_core::{
    ConversationId, Disabling, Mark, NodeDraft, NodeId, NodeRange, NoteId, OwnerId, SummaryId, Timestamp,
    port::{ConversationState, Event, Note, Progress, Recorded, Store, StoreError, TokenCounter},
};

use super::{
    ExchangeError, ExportFile, NOTES, RUN, RUN_BYTES,
    file::{Entry, Lines},
    line::Header,
    run,
};

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
    /// Notes of the file, with messages that are notes counted as such; all of them are in the conversation now.
    pub notes: u64,
    /// Notes that were not there before.
    pub new_notes: u64,
}

/// Brings an export into a store, under its own name or another. The conversation gets the owner that the file names;
/// in an [`OwnedStore`](memory_core::port::OwnedStore), that store's owner.
///
/// If the conversation exists and begins with the messages of the file, or is a part of them, what is missing is added
/// and nothing is changed. So an interrupted import is completed by importing again. Memory is bounded by a batch of
/// lines, a number for each pinned node and two for each summary.
///
/// Notes are numbered anew. Where all messages of the file are notes, as versions without notes kept them, they are
/// recorded as notes, unless the conversation is there with messages.
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
    let as_notes = file.has_notes_as_messages() && nodes_before == 0;
    let (nodes, notes) = if as_notes { (0, header.nodes + header.notes) } else { (header.nodes, header.notes) };
    let file_name = file.name().to_owned();

    let target = Target { store, counter, owner: header.owner(), conversation: &conversation, file: &file_name };
    let known_notes = match &there {
        // Messages of the file that are notes have the numbers of notes there.
        Some(state) if state.notes > 0 && state.has_notes_as_messages() && nodes > nodes_before => {
            return Err(ExchangeError::OtherNotes { conversation, file: file_name, note: nodes_before + 1 });
        }
        Some(state) if state.notes > 0 && notes > 0 => target.compare_notes(file, as_notes, state).await?,
        _ => 0,
    };
    let mut lines = file.lines()?;
    let mut orphaned_summaries = 0;
    if !as_notes {
        let mut marked = target.compare(&mut lines, nodes_before.min(nodes)).await?;
        let Marked { pinned, erased, disabled } = target.append(&mut lines, nodes_before, nodes, progress).await?;
        marked.pinned.extend(pinned);
        marked.erased.extend(erased);
        marked.disabled.extend(disabled);
        target.pin(marked.pinned, nodes_before).await?;
        // Summaries of the file were made without what is disabled, so they are recorded afterwards.
        target.disable(&marked.disabled, nodes_before).await?;
        let erased = marked.erased.into_iter().chain(marked.disabled.iter().map(|(node, _)| *node)).collect();
        orphaned_summaries = target.summarize(&mut lines, header.summaries, &erased).await?;
    }
    let mut noted = FileNotes::new(&mut lines, &header, as_notes);
    target.note(&mut noted, known_notes, there.as_ref().map_or(0, |state| state.notes), progress).await?;
    let mut events = Vec::new();
    if let Some(title) = header.title.clone()
        && there.as_ref().is_none_or(|state| state.title.is_none())
    {
        events.push(Event::Title(title));
    }
    let mut tags = header.tags.clone();
    if as_notes {
        tags.retain(|tag| ![Mark::Companion, Mark::Archived].map(Mark::tag).contains(&tag.as_str()));
    }
    if !tags.is_empty() && there.as_ref().is_none_or(|state| state.tags.is_empty()) {
        events.push(Event::Tags(tags));
    }
    let counts = |new_summaries| ImportedExport {
        conversation: conversation.clone(),
        nodes,
        new_nodes: nodes.saturating_sub(nodes_before),
        summaries: header.summaries,
        new_summaries,
        orphaned_summaries,
        notes,
        new_notes: notes - known_notes,
    };
    if there.is_none() && nodes == 0 && notes == 0 {
        // A conversation begins with its first message or note: one that has lost all of them cannot be made.
        return Ok(counts(0));
    }
    target.record(events).await?;
    let after = store.conversation(&conversation).await?;
    Ok(counts(after.summaries.saturating_sub(summaries_before)))
}

/// The notes of a file in order, with messages that are notes.
struct FileNotes<'l, 'f> {
    lines: &'l mut Lines<'f>,
    /// Messages that are notes, before the notes.
    messages: u64,
    /// Messages and notes.
    total: u64,
    done: u64,
}

impl<'l, 'f> FileNotes<'l, 'f> {
    fn new(lines: &'l mut Lines<'f>, header: &Header, as_notes: bool) -> Self {
        let messages = if as_notes { header.nodes } else { 0 };
        Self { lines, messages, total: messages + header.notes, done: 0 }
    }

    /// The next note with the bytes of its line. Its number is that in the file.
    fn next(&mut self) -> Result<Option<(Note, usize)>, ExchangeError> {
        if self.done == self.total {
            return Ok(None);
        }
        self.done += 1;
        if self.done > self.messages {
            let (mut note, bytes) = self.lines.note(self.done - self.messages)?;
            if self.messages > 0 {
                note.sources.clear();
            }
            return Ok(Some((note, bytes)));
        }
        let entry = self.lines.node(self.done)?;
        let note = Note::of_message(NoteId::after(self.done - 1), &entry.draft.message, entry.draft.at);
        // The whole file was checked.
        Ok(note.map(|note| (note, entry.bytes)))
    }
}

/// Nodes of a file that are pinned, those that are erased, and those that are disabled with the time since when.
#[derive(Default)]
struct Marked {
    pinned: Vec<NodeId>,
    erased: Vec<NodeId>,
    disabled: Vec<(NodeId, Timestamp)>,
}

impl Marked {
    fn add(&mut self, node: NodeId, entry: &Entry) {
        self.pinned.extend(entry.pinned.then_some(node));
        self.erased.extend(entry.draft.erased.map(|_| node));
        self.disabled.extend(entry.disabled.map(|at| (node, at)));
    }
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
    /// Compares the first nodes of the file with the existing ones, before anything is written. A message that was erased
    /// here stays erased. Returns the nodes among them that the file has marked.
    async fn compare(&self, lines: &mut Lines<'_>, nodes: u64) -> Result<Marked, ExchangeError> {
        let mut marked = Marked::default();
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
                marked.add(node, &entry);
            }
            done = run.last().get();
        }
        Ok(marked)
    }

    /// Appends the nodes of the file after the first `done`. Returns the nodes that the file has marked.
    async fn append(
        &self,
        lines: &mut Lines<'_>,
        done: u64,
        nodes: u64,
        progress: &dyn Progress,
    ) -> Result<Marked, ExchangeError> {
        let mut marked = Marked::default();
        let mut batch: Vec<NodeDraft> = Vec::new();
        let mut bytes = 0;
        let Some(missing) = run(done, u64::MAX, nodes) else { return Ok(marked) };
        let mut first = missing.first();
        for node in missing.iter() {
            let mut entry = lines.node(node.get())?;
            marked.add(node, &entry);
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
        Ok(marked)
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

    /// Compares the first notes of the file with the existing ones, before anything is written. Returns the number of
    /// the file's notes that exist.
    async fn compare_notes(
        &self,
        file: &mut ExportFile,
        as_notes: bool,
        there: &ConversationState,
    ) -> Result<u64, ExchangeError> {
        let header = file.header().clone();
        let mut lines = file.lines()?;
        if !as_notes {
            lines.skip(header.nodes + header.summaries)?;
        }
        let mut noted = FileNotes::new(&mut lines, &header, as_notes);
        let (mut done, mut same) = (0, 0);
        while done < there.notes {
            let last = there.notes.min(done + NOTES);
            for there in self.store.notes(self.conversation, NoteId::after(done), NoteId::after(last - 1)).await? {
                let Some((note, _)) = noted.next()? else { return Ok(same) };
                if (note.at, &note.change, &note.sources) != (there.at, &there.change, &there.sources) {
                    let (conversation, file) = (self.conversation.clone(), self.file.to_owned());
                    return Err(ExchangeError::OtherNotes { conversation, file, note: same + 1 });
                }
                same += 1;
            }
            done = last;
        }
        Ok(same)
    }

    /// Records the notes of the file after the first `known`; `last` is the number of the last one there.
    async fn note(
        &self,
        noted: &mut FileNotes<'_, '_>,
        known: u64,
        mut last: u64,
        progress: &dyn Progress,
    ) -> Result<(), ExchangeError> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        while let Some((mut note, length)) = noted.next()? {
            if noted.done <= known {
                continue;
            }
            note.id = NoteId::after(last);
            last = note.id.get();
            events.push(Event::Note(Box::new(note)));
            bytes += length;
            if events.len() >= RUN || bytes >= RUN_BYTES || noted.done == noted.total {
                self.store.record_for(self.owner, self.conversation, std::mem::take(&mut events)).await?;
                bytes = 0;
                progress.report(noted.done, noted.total);
            }
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

    /// Disables nodes that the file has disabled; the first `known` were there before, and stay as they are.
    async fn disable(&self, disabled: &[(NodeId, Timestamp)], known: u64) -> Result<(), ExchangeError> {
        let new: Vec<_> = disabled.iter().filter(|(node, _)| node.get() > known).collect();
        let mut events = Vec::new();
        for run in new.chunk_by(|(_, before), (_, at)| before == at) {
            let Some((_, at)) = run.first() else { continue };
            let nodes = run.iter().map(|(node, _)| NodeRange::single(*node)).collect();
            events.push(Event::Disabled(Box::new(Disabling::new(*at, true).nodes(nodes))));
        }
        self.record(events).await.map(drop)
    }

    /// Records the summaries of the file, of which these nodes are erased; returns the number of those left out because
    /// their children are missing, or messages that they cover were erased here.
    async fn summarize(
        &self,
        lines: &mut Lines<'_>,
        summaries: u64,
        erased: &BTreeSet<NodeId>,
    ) -> Result<u64, ExchangeError> {
        let outlines = if summaries > 0 { self.store.outline(self.conversation).await? } else { Vec::new() };
        let erased_here: BTreeSet<NodeId> = (0..)
            .zip(&outlines)
            .filter(|(_, outline)| outline.is_hidden())
            .map(|(index, _)| NodeId::from_index(index))
            .collect();
        // The store numbers summaries itself, so children are named by their new numbers.
        let mut numbers: HashMap<SummaryId, SummaryId> = HashMap::new();
        let mut waiting = Waiting::default();
        let mut orphaned = 0;
        for number in 1..=summaries {
            let (summary, bytes) = lines.summary(number, summaries)?;
            let mut body = summary.body;
            let within = body.span.first()..=body.span.last();
            body.erased = erased_here.range(within.clone()).count() as u64;
            if body.erased > erased.range(within).count() as u64 {
                orphaned += 1;
                continue;
            }
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
            if summary.is_disabled {
                // Summaries above it were made without it, and are recorded afterwards.
                self.record_summaries(&mut waiting, &mut numbers).await?;
                if let Some(number) = numbers.get(&summary.id) {
                    let change = Disabling::new(Timestamp::default(), true).summaries(vec![*number]);
                    self.record(vec![Event::Disabled(Box::new(change))]).await?;
                }
            }
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
