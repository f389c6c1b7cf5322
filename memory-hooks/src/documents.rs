//! Small named texts, kept in the log: each change is a message of one conversation.

mod present;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::{
    DOCUMENT, Json, Message, MessageKey, Node, NodeDraft, NodeId, NodeRange, Role, Timestamp,
    port::{Query, Retrieved, StoreError},
};
use serde_json::{Value, json};

use self::present::Present;
use crate::{Conversation, Memory, MemoryError};

/// Text in the log that stands for an empty one.
const EMPTY: &str = "(empty)";
/// Most messages that are read at once; each may be as long as the longest document.
const CHUNK: u64 = 16;
/// Attempts at a change, each of which another process may forestall.
const TRIES: usize = 64;

/// Named texts that a model or a program writes, reads and changes. Each change is appended to one conversation as a
/// message, so that every earlier text stays readable and is backed up, exported, owned and erased like the rest.
///
/// Several processes may change the same documents at once: a change is decided on the current documents, and decided
/// again if another process was first. The conversation is a [companion](memory_core::Mark::Companion), which is
/// neither indexed nor summarized, since most of its texts are outdated. Reading continues where the last read ended.
#[derive(Clone, Debug)]
pub struct Documents {
    pub(crate) conversation: Conversation,
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
    /// The message with the text, or with the last addition to it.
    pub node: NodeId,
    /// Time of the last write.
    pub at: Timestamp,
}

/// A change of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChange {
    /// Sets the text of a document, and creates it if it is new.
    Write {
        /// Name of the document.
        name: String,
        /// The whole text.
        text: String,
    },
    /// Appends text to a document, and creates it if it is new. The log holds only the added text.
    Append {
        /// Name of the document.
        name: String,
        /// The text to add.
        text: String,
    },
    /// Removes a document, and every document whose name continues with `/`.
    Remove {
        /// Name of the document.
        name: String,
    },
    /// Renames a document, and every document whose name continues with `/`.
    Rename {
        /// Present name of the document.
        from: String,
        /// New name of the document.
        to: String,
    },
}

/// The documents after some message.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Number of messages that were read.
    nodes: u64,
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
    /// The documents in the conversation `id`, which begins with the first change.
    #[must_use]
    pub fn documents(&self, id: memory_core::ConversationId) -> Documents {
        Documents { conversation: self.conversation(id), known: Arc::default(), searched: Arc::default() }
    }
}

impl Documents {
    /// The conversation that holds the changes.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
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

    /// Makes the change that `decide` returns for the current documents. `decide` is called again if another process
    /// changed something first, so that every change follows from the state before it. A refusal changes nothing.
    ///
    /// # Errors
    /// If the store fails, or every attempt lost the race against another process.
    pub async fn change<T, E>(
        &self,
        decide: impl FnMut(DocumentsNow<'_>) -> Result<(DocumentChange, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, MemoryError>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.call(|this| async move { this.decided(decide).await }).await
    }

    async fn decided<T, E>(
        &self,
        mut decide: impl FnMut(DocumentsNow<'_>) -> Result<(DocumentChange, T), E>,
    ) -> Result<Result<T, E>, MemoryError> {
        for _ in 0..TRIES {
            let known = self.read().await?;
            let (change, answer) = match decide(DocumentsNow(&known.documents)) {
                Ok(decided) => decided,
                Err(refused) => return Ok(Err(refused)),
            };
            // The first of all changes that follow the same message gets the key.
            let key = MessageKey::new(&format!("documents after {}", known.nodes)).ok();
            let parts = &self.conversation.parts;
            let message = message(&change).key(key);
            let tokens = parts.counter.count(&message.text());
            let draft = NodeDraft::new(message, parts.clock.now(), tokens);
            // The append bypasses the queue of compaction: there is nothing to summarize.
            match parts.store.append(&self.conversation.id, vec![draft]).await {
                Ok(appended) if appended.iter().all(|one| one.is_new) => {
                    self.conversation.hide().await?;
                    return Ok(Ok(answer));
                }
                // Another process was first, with the same change or another one.
                Ok(_) | Err(StoreError::KeyConflict { .. }) => {}
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
            Ok(present.search(query).await?)
        })
        .await
    }

    fn searched(&self) -> MutexGuard<'_, Option<Arc<Present>>> {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies messages appended since the last read.
    async fn read(&self) -> Result<Arc<Known>, MemoryError> {
        let mut known = Arc::clone(&self.known());
        let (store, id) = (&self.conversation.parts.store, &self.conversation.id);
        let nodes = match store.conversation(id).await {
            Ok(state) => {
                id.check_notes_of(state.owner.as_ref())?;
                state.nodes
            }
            Err(error) if error.is_not_found() => 0,
            Err(error) => return Err(error.into()),
        };
        while let Some(first) = NodeId::new(known.nodes + 1).filter(|first| first.get() <= nodes) {
            let last = NodeId::new(nodes.min(known.nodes + CHUNK)).unwrap_or(first);
            let Some(run) = NodeRange::new(first, last) else { break };
            let read = store.readable_nodes(id, run).await?.nodes;
            let grown = Arc::make_mut(&mut known);
            read.into_iter().for_each(|node| grown.apply(node));
            grown.nodes = last.get();
        }
        let mut kept = self.known();
        if kept.nodes < known.nodes {
            *kept = Arc::clone(&known);
        }
        Ok(known)
    }

    fn known(&self) -> MutexGuard<'_, Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Applies a message; one that changes no document is ignored.
    fn apply(&mut self, node: Node) {
        let Some(change) = node.message.metadata.get(DOCUMENT).map(Json::to_value) else { return };
        let member = |name: &str| change.get(name).and_then(Value::as_str).map(str::to_owned);
        let text = || {
            let is_empty = change.get("empty").and_then(Value::as_bool).unwrap_or_default();
            if is_empty { String::new() } else { node.message.text() }
        };
        if let Some(name) = member("append") {
            let blank = || Document { text: String::new(), node: node.id, at: node.at };
            let document = self.documents.entry(name).or_insert_with(blank);
            document.text.push_str(&text());
            (document.node, document.at) = (node.id, node.at);
            return;
        }
        match (member("write"), member("remove"), member("from").zip(member("to"))) {
            (Some(name), _, _) => {
                self.documents.insert(name, Document { text: text(), node: node.id, at: node.at });
            }
            (_, Some(name), _) => drop(self.take(&name)),
            (_, _, Some((from, to))) => {
                for (name, document) in self.take(&from) {
                    let rest = name.strip_prefix(&from).unwrap_or_default();
                    self.documents.insert(format!("{to}{rest}"), document);
                }
            }
            (None, None, None) => {}
        }
    }

    /// Removes a document and those below it.
    fn take(&mut self, name: &str) -> Vec<(String, Document)> {
        let below: Vec<_> = DocumentsNow(&self.documents).below(name).map(|(name, _)| name.to_owned()).collect();
        let names = below.into_iter().chain([name.to_owned()]);
        names.filter_map(|name| self.documents.remove_entry(&name)).collect()
    }
}

/// A change as a message of the log.
fn message(change: &DocumentChange) -> Message {
    let (text, value) = match change {
        DocumentChange::Write { name, text } if text.is_empty() => {
            (EMPTY.to_owned(), json!({"write": name, "empty": true}))
        }
        DocumentChange::Write { name, text } => (text.clone(), json!({"write": name})),
        DocumentChange::Append { name, text } if text.is_empty() => {
            (EMPTY.to_owned(), json!({"append": name, "empty": true}))
        }
        DocumentChange::Append { name, text } => (text.clone(), json!({"append": name})),
        DocumentChange::Remove { name } => (format!("Removed {name}"), json!({"remove": name})),
        DocumentChange::Rename { from, to } => (format!("Renamed {from} to {to}"), json!({"from": from, "to": to})),
    };
    Message::text_of(Role::Assistant, text)
        .metadata(BTreeMap::from([(DOCUMENT.to_owned(), Json::from_value(&value))]))
        .keep_out_of_summaries(true)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use memory_core::{
        ConversationId, Mark,
        port::Store,
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

    fn done(documents: &Documents, change: &DocumentChange) {
        let change = change.clone();
        let changed = pollster::block_on(documents.change(move |_| Ok::<_, Infallible>((change.clone(), ()))));
        changed.unwrap().unwrap();
    }

    fn write(documents: &Documents, name: &str, text: &str) {
        done(documents, &DocumentChange::Write { name: name.to_owned(), text: text.to_owned() });
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
            done(&ours, &DocumentChange::Append { name: name.to_owned(), text: text.to_owned() });
        }
        done(&ours, &DocumentChange::Rename { from: "d".to_owned(), to: "e/f".to_owned() });
        done(&ours, &DocumentChange::Remove { name: "d2".to_owned() });
        let left = expected(&[("a", "four and five"), ("e/f/x", ""), ("e/f/y/z", "two"), ("new", "six")]);
        assert_eq!(texts(&ours), left);
        assert_eq!(texts(&documents(&store)), left, "another process reads the same");
        for mark in [Mark::Archived, Mark::Companion] {
            assert!(pollster::block_on(ours.conversation().is_marked(mark)).unwrap(), "{mark}");
        }
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
            Ok::<_, Infallible>((DocumentChange::Write { name: "count".to_owned(), text }, tries))
        }));
        let tries = changed.unwrap().unwrap();
        assert_eq!((tries, texts(&theirs)), (2, expected(&[("count", "2")])));
    }
}
