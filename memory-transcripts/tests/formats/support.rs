//! Files, and the items that are read from them.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
};

use memory_core::{Json, MessageKey};
use memory_transcripts::{Conversation, Format, Item, Limits, Position, Report, Said, Why, find, follow};
use tempfile::TempDir;

/// A directory that goes away with the value.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

/// Key, message and time of a message.
pub(crate) type Compared = (MessageKey, String, Option<i64>);

/// Items as a store would have them: the messages of each conversation by key, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    pub(crate) conversations: Vec<Conversation>,
    pub(crate) messages: BTreeMap<String, Vec<Said>>,
    pub(crate) titles: BTreeMap<String, String>,
    /// Titles in the place of which others were given.
    pub(crate) replaced: Vec<String>,
    pub(crate) report: Report,
}

impl Read {
    pub(crate) fn take(&mut self, item: Item) {
        match item {
            Item::Conversation(conversation) => {
                if let Some(title) = &conversation.title {
                    self.titles.insert(conversation.id.to_string(), title.clone());
                }
                if let Entry::Vacant(vacant) = self.messages.entry(conversation.id.to_string()) {
                    vacant.insert(Vec::new());
                    self.conversations.push(conversation);
                }
            }
            Item::Said(said) => {
                let messages = self.messages.entry(said.conversation.to_string()).or_default();
                if messages.iter().all(|there| there.message.key != said.message.key) {
                    messages.push(said);
                }
            }
            Item::Title(titled) => {
                self.titles.insert(titled.conversation.to_string(), titled.title);
                self.replaced.extend(titled.replaces);
            }
            Item::Summarized(_) => {}
            _ => panic!("another item"),
        }
    }

    /// The texts of a conversation: `user: Hello.`
    pub(crate) fn texts(&self, id: &str) -> Vec<String> {
        let text = |said: &Said| format!("{}: {}", said.message.role, said.message.text());
        self.messages
            .get(id)
            .unwrap_or_else(|| panic!("no {id} in {:?}", self.messages.keys()))
            .iter()
            .map(text)
            .collect()
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.messages.keys().map(String::as_str).collect()
    }

    pub(crate) fn skipped(&self) -> Vec<(Why, String, u64)> {
        self.report.skipped().map(|skipped| (skipped.why, skipped.what.clone(), skipped.count)).collect()
    }

    pub(crate) fn metadata(&self, id: &str, index: usize, name: &str) -> String {
        self.messages[id][index].message.metadata.get(name).map(Json::to_string).unwrap_or_default()
    }

    /// Fork points: the child, its parent, and the key of the last common message.
    pub(crate) fn forks(&self) -> Vec<(String, String, String)> {
        let fork = |conversation: &Conversation| {
            let fork = conversation.fork.as_ref()?;
            Some((conversation.id.to_string(), fork.conversation.to_string(), fork.after.to_string()))
        };
        self.conversations.iter().filter_map(fork).collect()
    }

    /// Conversations, messages and times, for comparison.
    pub(crate) fn all(&self) -> Vec<(String, Vec<Compared>)> {
        let one = |said: &Said| {
            let text = format!("{:?}", said.message);
            (said.message.key.clone().unwrap(), text, said.at.map(memory_core::Timestamp::as_millis))
        };
        self.messages.iter().map(|(id, messages)| (id.clone(), messages.iter().map(one).collect())).collect()
    }
}

/// Reads all of a path; its format is recognized.
pub(crate) fn read(path: &Path) -> Read {
    read_as(path, None)
}

pub(crate) fn read_as(path: &Path, format: Option<Format>) -> Read {
    let mut all = Read::default();
    add(&mut all, path, format);
    all
}

pub(crate) fn add(all: &mut Read, path: &Path, format: Option<Format>) {
    let found = find(path, format, Limits::default()).unwrap();
    all.report.add(&found.others);
    for transcript in found.transcripts {
        let mut reader = transcript.open().unwrap();
        while let Some(item) = reader.read().unwrap() {
            check(&item);
            all.take(item);
        }
        all.report.add(reader.report());
    }
}

/// Follows a file from a position, and returns the next position.
pub(crate) fn follow_from(all: &mut Read, path: &Path, format: Format, from: Option<&Position>) -> Position {
    let mut reader = follow(path, format, from, Limits::default()).unwrap();
    while let Some(item) = reader.read().unwrap() {
        check(&item);
        all.take(item);
    }
    let position = reader.position().unwrap();
    // A position is kept between two processes.
    serde_json::from_str(&serde_json::to_string(&position).unwrap()).unwrap()
}

fn check(item: &Item) {
    if let Item::Said(said) = item {
        assert!(said.message.key.is_some() && said.message.metadata["imported"].as_str() == "true", "{said:?}");
    }
}
