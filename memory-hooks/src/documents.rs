//! Small named texts, kept in the log: each change is a note of one conversation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::{
    ConversationId, NodeId, NodeRange, NoteId, Timestamp,
    port::{ConversationState, Event, Note, NoteChange, Query, Retrieved, Store, StoreError},
};

use crate::{Conversation, Memory, MemoryError, text_search::TextSearch};

/// Most notes that are read at once; each may be as long as the longest document.
pub(crate) const CHUNK: u64 = 16;
/// Attempts at a change, each of which another process may forestall.
const TRIES: usize = 64;

/// Named texts that a model or a program writes, reads and changes. Each change is recorded in one conversation as a
/// [note](memory_core::port::Note), so that every earlier text is backed up, exported, owned and erased like the rest.
///
/// Several processes may change the same documents at once: a change is decided on the current documents, and decided
/// again if another process was first. Reading continues where the last read ended.
#[derive(Clone, Debug)]
pub struct Documents {
    pub(crate) conversation: Conversation,
    /// Conversation in which versions without notes kept these documents, if it is another one.
    earlier: Option<ConversationId>,
    /// True if no redaction changes the texts.
    is_own: bool,
    known: Arc<Mutex<Arc<Known>>>,
    /// Texts at the last search.
    searched: Arc<Mutex<Option<Arc<Present>>>>,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Text of the document.
    pub text: String,
    /// The note with the text, or with the last addition to it.
    pub note: NoteId,
    /// Time of the last write.
    pub at: Timestamp,
}

/// The documents after some note.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Number of the last note that was read of each conversation.
    read: BTreeMap<ConversationId, u64>,
    documents: BTreeMap<String, Document>,
}

/// The current documents, by name, on which a change is decided.
#[derive(Clone, Copy, Debug)]
pub struct DocumentsNow<'a>(&'a BTreeMap<String, Document>);

impl<'a> DocumentsNow<'a> {
    /// The document with that name, if any.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Document> {
        self.0.get(name)
    }

    /// All documents, by name.
    pub fn all(self) -> impl Iterator<Item = (&'a str, &'a Document)> {
        self.0.iter().map(|(name, document)| (name.as_str(), document))
    }

    /// True if names of documents continue with `/` after this one.
    #[must_use]
    pub fn is_directory(self, name: &str) -> bool {
        self.below(name).next().is_some()
    }

    /// Documents whose names continue with `/` after this one, by name.
    pub fn below(self, name: &str) -> impl Iterator<Item = (&'a str, &'a Document)> + use<'a> {
        let prefix = format!("{name}/");
        let from = self.0.range(prefix.clone()..);
        from.take_while(move |(name, _)| name.starts_with(&prefix)).map(|(name, document)| (name.as_str(), document))
    }
}

impl Memory {
    /// The documents in the conversation `id`, which begins with the first change if it is not there.
    #[must_use]
    pub fn documents(&self, id: ConversationId) -> Documents {
        let conversation = self.conversation(id);
        Documents { conversation, earlier: None, is_own: false, known: Arc::default(), searched: Arc::default() }
    }
}

impl Documents {
    /// The conversation that holds the changes.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The same documents, going on from those that versions without notes kept in another conversation.
    #[must_use]
    pub fn following(self, earlier: ConversationId) -> Self {
        Self { earlier: Some(earlier), ..self }
    }

    /// The same documents as a program's own, whose texts the memory's [redaction](crate::MemoryBuilder::redaction) leaves
    /// as they are.
    #[must_use]
    pub fn own(self) -> Self {
        Self { is_own: true, ..self }
    }

    /// Result of `look` at the current documents.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(DocumentsNow<'_>) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.call(|this| async move { Ok(look(DocumentsNow(&this.read().await?.documents))) }).await
    }

    /// Makes the change that `decide` returns for the current documents, with its text under the memory's
    /// [redaction](crate::MemoryBuilder::redaction). `decide` is called again if another process changed something first,
    /// so that every change follows from the state before it. A refusal changes nothing.
    ///
    /// # Errors
    /// [`MemoryError::Refused`], if the store fails, or every attempt lost the race against another process.
    pub async fn change<T, E>(
        &self,
        decide: impl FnMut(DocumentsNow<'_>) -> Result<(NoteChange, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, MemoryError>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.call(|this| async move { this.decided(decide).await }).await
    }

    async fn decided<T, E>(
        &self,
        mut decide: impl FnMut(DocumentsNow<'_>) -> Result<(NoteChange, T), E>,
    ) -> Result<Result<T, E>, MemoryError> {
        for _ in 0..TRIES {
            let known = self.read().await?;
            let (change, answer) = match decide(DocumentsNow(&known.documents)) {
                Ok(decided) => decided,
                Err(refused) => return Ok(Err(refused)),
            };
            let (parts, id) = (&self.conversation.parts, &self.conversation.id);
            let last = known.read.get(id).copied().unwrap_or_default();
            let change = if self.is_own { change } else { redacted(parts, change)? };
            let note = Note::new(NoteId::after(last), parts.clock.now(), change);
            match parts.store.record(id, vec![Event::Note(Box::new(note))]).await {
                Ok(_) => return Ok(Ok(answer)),
                Err(StoreError::NoteConflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended { tries: TRIES })
    }

    /// The current texts that answer a question best, by words, under the filter and limit of `query`. No index holds
    /// documents, since most of their texts are outdated. A hit has the whole text, under the number of its last
    /// change.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn search(&self, query: Query) -> Result<Retrieved, MemoryError> {
        self.call(|this| async move {
            let state = match this.conversation.overview().await {
                Err(error) if error.is_not_found() => return Ok(Retrieved::default()),
                state => state?,
            };
            let known = this.searched().clone().filter(|known| known.is_of(&state));
            let present = match known {
                Some(known) => known,
                None => Arc::new(Present::new(state, DocumentsNow(&this.read().await?.documents))),
            };
            *this.searched() = Some(Arc::clone(&present));
            let mut found = present.texts.search(query).await?;
            for hit in &mut found.hits {
                hit.conversation.clone_from(&present.state.id);
                if let Some(changed) = present.changed.get(hit.node.id.index()) {
                    Arc::make_mut(&mut hit.node).id = *changed;
                }
            }
            Ok(found)
        })
        .await
    }

    fn searched(&self) -> MutexGuard<'_, Option<Arc<Present>>> {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies notes recorded since the last read.
    async fn read(&self) -> Result<Arc<Known>, MemoryError> {
        let mut known = Arc::clone(&self.known());
        let store = &*self.conversation.parts.store;
        for id in self.earlier.iter().chain([&self.conversation.id]) {
            let Some(state) = state_of(store, id).await? else { continue };
            id.check_notes_of(state.owner.as_ref())?;
            let (mut done, last) = (known.read.get(id).copied().unwrap_or_default(), state.last_note());
            while done < last {
                let until = last.min(done + CHUNK);
                let notes = notes_of(store, &state, done + 1, until).await?;
                let grown = Arc::make_mut(&mut known);
                notes.into_iter().for_each(|note| grown.apply(note));
                grown.read.insert(id.clone(), until);
                done = until;
            }
        }
        let mut kept = self.known();
        let read = |known: &Known| known.read.values().sum::<u64>();
        if read(&kept) < read(&known) {
            *kept = Arc::clone(&known);
        }
        Ok(known)
    }

    fn known(&self) -> MutexGuard<'_, Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The documents after some change, ready to search.
#[derive(Debug)]
struct Present {
    /// State of the conversation that holds the changes.
    state: ConversationState,
    texts: TextSearch,
    /// Number of the last change of each text.
    changed: Vec<NodeId>,
}

impl Present {
    fn new(state: ConversationState, now: DocumentsNow<'_>) -> Self {
        let mut documents: Vec<_> = now.all().map(|(_, document)| document).collect();
        documents.sort_by_key(|document| document.note);
        let changed = documents.iter().map(|of| NodeId::new(of.note.get()).unwrap_or(NodeId::FIRST)).collect();
        let texts = TextSearch::new(&state, documents.iter().map(|of| (of.text.as_str(), of.at)));
        Self { state, texts, changed }
    }

    /// True if nothing changed since.
    fn is_of(&self, state: &ConversationState) -> bool {
        self.state.last_note() == state.last_note() && self.state.tags == state.tags
    }
}

impl Known {
    /// Applies a note.
    fn apply(&mut self, note: Note) {
        let Note { id, at, .. } = note;
        match note.change {
            NoteChange::Write { name, text } => drop(self.documents.insert(name, Document { text, note: id, at })),
            NoteChange::Append { name, text } => {
                let blank = || Document { text: String::new(), note: id, at };
                let document = self.documents.entry(name).or_insert_with(blank);
                document.text.push_str(&text);
                (document.note, document.at) = (id, at);
            }
            NoteChange::Remove { name } => drop(self.take(&name)),
            NoteChange::Rename { from, to } => {
                for (name, document) in self.take(&from) {
                    let rest = name.strip_prefix(&from).unwrap_or_default();
                    self.documents.insert(format!("{to}{rest}"), document);
                }
            }
        }
    }

    /// Removes a document and those below it.
    fn take(&mut self, name: &str) -> Vec<(String, Document)> {
        let below: Vec<_> = DocumentsNow(&self.documents).below(name).map(|(name, _)| name.to_owned()).collect();
        let names = below.into_iter().chain([name.to_owned()]);
        names.filter_map(|name| self.documents.remove_entry(&name)).collect()
    }
}

impl Conversation {
    /// Records the change that `make` returns for the number of its note, whatever others have recorded.
    pub(crate) async fn note(
        &self,
        sources: Vec<NodeRange>,
        make: impl Fn(NoteId) -> NoteChange + Send,
    ) -> Result<NoteId, MemoryError> {
        let store = &*self.parts.store;
        let mut next = NoteId::after(state_of(store, &self.id).await?.map_or(0, |state| state.last_note()));
        for _ in 0..TRIES {
            let note = Note::new(next, self.parts.clock.now(), make(next)).sources(sources.clone());
            match store.record(&self.id, vec![Event::Note(Box::new(note))]).await {
                Ok(_) => return Ok(next),
                Err(StoreError::NoteConflict { next: now, .. }) => next = now,
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended { tries: TRIES })
    }
}

/// A change with its text as it is kept. Names stay, since texts are asked for by them.
fn redacted(parts: &crate::parts::Parts, change: NoteChange) -> Result<NoteChange, MemoryError> {
    Ok(match change {
        NoteChange::Write { name, text } => NoteChange::Write { name, text: parts.redacted(text)? },
        NoteChange::Append { name, text } => NoteChange::Append { name, text: parts.redacted(text)? },
        change => change,
    })
}

/// The state of a conversation, if it exists.
pub(crate) async fn state_of(store: &dyn Store, id: &ConversationId) -> Result<Option<ConversationState>, StoreError> {
    match store.conversation(id).await {
        Ok(state) => Ok(Some(state)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The readable notes with numbers from `first` to `last`, those included that are messages of an old store.
pub(crate) async fn notes_of(
    store: &dyn Store,
    state: &ConversationState,
    mut first: u64,
    last: u64,
) -> Result<Vec<Note>, StoreError> {
    let mut notes = Vec::new();
    let run = NodeId::new(first).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
    if let Some(run) = run.filter(|_| state.has_notes_as_messages()) {
        for node in store.readable_nodes(&state.id, run).await?.nodes {
            let id = NoteId::after(node.id.get() - 1);
            if let Some(note) = Note::of_message(id, &node.message, node.at) {
                // A vacuum may make notes of the messages meanwhile, under their numbers.
                first = node.id.get() + 1;
                notes.push(note);
            }
        }
    }
    if first <= last {
        notes.extend(store.notes(&state.id, NoteId::after(first - 1), NoteId::after(last - 1)).await?);
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use memory_core::{
        Json, Mark, Message, NodeDraft,
        testing::{MemoryStore, WordCounter},
    };

    use super::*;

    fn memory(store: &Arc<MemoryStore>) -> Memory {
        let store: Arc<dyn Store> = store.clone();
        Memory::builder().store(store).token_counter(Arc::new(WordCounter)).build().unwrap()
    }

    fn documents(store: &Arc<MemoryStore>) -> Documents {
        memory(store).documents(ConversationId::new("notes").unwrap())
    }

    fn done(documents: &Documents, change: &NoteChange) {
        let change = change.clone();
        let changed = pollster::block_on(documents.change(move |_| Ok::<_, Infallible>((change.clone(), ()))));
        changed.unwrap().unwrap();
    }

    fn write(documents: &Documents, name: &str, text: &str) {
        done(documents, &NoteChange::Write { name: name.to_owned(), text: text.to_owned() });
    }

    fn texts(documents: &Documents) -> Vec<(String, String)> {
        let all = |now: DocumentsNow<'_>| now.0.iter().map(|(name, one)| (name.clone(), one.text.clone())).collect();
        pollster::block_on(documents.look(all)).unwrap()
    }

    fn expected(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn documents_follow_from_the_log() {
        let store = Arc::new(MemoryStore::default());
        let ours = documents(&store);
        assert_eq!(texts(&ours), []);
        write(&ours, "a", "one");
        write(&ours, "d/x", "");
        write(&ours, "d/y/z", "two");
        write(&ours, "d2", "three");
        write(&ours, "a", "four");
        for (name, text) in [("a", ""), ("a", " and five"), ("new", "six")] {
            done(&ours, &NoteChange::Append { name: name.to_owned(), text: text.to_owned() });
        }
        done(&ours, &NoteChange::Rename { from: "d".to_owned(), to: "e/f".to_owned() });
        done(&ours, &NoteChange::Remove { name: "d2".to_owned() });
        let left = expected(&[("a", "four and five"), ("e/f/x", ""), ("e/f/y/z", "two"), ("new", "six")]);
        assert_eq!(texts(&ours), left);
        assert_eq!(texts(&documents(&store)), left, "another process reads the same");
        let state = pollster::block_on(ours.conversation().overview()).unwrap();
        assert!(state.is_of_notes() && state.tags.is_empty(), "{state:?}");
    }

    #[test]
    fn documents_go_on_from_messages_of_an_old_store() {
        let store = Arc::new(MemoryStore::default());
        let old = |name: &str, texts: &[&str]| {
            let id = ConversationId::new(name).unwrap();
            let draft = |text: &&str| {
                let metadata = [("document".to_owned(), Json::new(r#"{"append":"a"}"#).unwrap())].into();
                NodeDraft::new(Message::assistant(*text).metadata(metadata), Timestamp::default(), 1)
            };
            pollster::block_on(store.append(&id, texts.iter().map(draft).collect())).unwrap();
            let tags = vec![Mark::Companion.tag().to_owned()];
            pollster::block_on(store.record(&id, vec![Event::Tags(tags)])).unwrap();
            id
        };
        // Documents of the same conversation.
        let words: Vec<_> = (0..40).map(|number| format!("{number} ")).collect();
        old("notes", &words.iter().map(String::as_str).collect::<Vec<_>>());
        let (ours, theirs) = (documents(&store), documents(&store));
        let all = words.concat();
        assert_eq!(texts(&ours), expected(&[("a", &all)]));
        let append = |text: &str| NoteChange::Append { name: "a".to_owned(), text: text.to_owned() };
        done(&ours, &append("new"));
        done(&theirs, &append("er"));
        let state = pollster::block_on(ours.conversation().overview()).unwrap();
        assert_eq!((state.nodes, state.notes, state.is_of_notes()), (40, 42, true));
        let whole = format!("{all}newer");
        assert_eq!((texts(&ours), texts(&documents(&store))), (expected(&[("a", &whole)]), expected(&[("a", &whole)])));
        // Documents of another one.
        let earlier = old("retracted:list", &["1", "2"]);
        let list = || memory(&store).documents(ConversationId::new("list").unwrap()).following(earlier.clone());
        done(&list(), &append("3"));
        assert_eq!(texts(&list()), expected(&[("a", "123")]));
        assert_eq!(pollster::block_on(list().conversation().overview()).unwrap().notes, 1);
    }

    #[test]
    fn a_change_is_decided_again_if_another_process_was_first() {
        let store = Arc::new(MemoryStore::default());
        let (ours, theirs) = (documents(&store), documents(&store));
        write(&ours, "count", "0");
        let mut tries = 0;
        let other = theirs.clone();
        let changed = pollster::block_on(ours.change(move |now| {
            tries += 1;
            if tries == 1 {
                write(&other, "count", "1");
            }
            let before: u32 = now.get("count").unwrap().text.parse().unwrap();
            let text = (before + 1).to_string();
            Ok::<_, Infallible>((NoteChange::Write { name: "count".to_owned(), text }, tries))
        }));
        let tries = changed.unwrap().unwrap();
        assert_eq!((tries, texts(&theirs)), (2, expected(&[("count", "2")])));
    }
}
