//! The ledger: what is known in a conversation, as entries with their sources, authors, validity and status.

mod changing;
mod derived;
mod entry;
mod error;
mod recorded;

use std::collections::BTreeSet;

use memory_core::{
    ConversationId, Timestamp,
    port::{ConversationState, Hit, Losses, Notice, Query, Scope, Signal},
};
use memory_strategies::Gist;

pub use self::{
    changing::NewEntry,
    entry::{EntryAuthor, EntryId, EntryKind, EntryStatus, InvalidEntryId, LedgerEntry, Replacement},
    error::LedgerError,
};
pub(crate) use self::{
    derived::{Known, entries},
    recorded::{LedgerNotes, Recorded, RecordedEntry},
};
use crate::{
    Conversation, Memory, MemoryError, parts::Parts, prompt::learning, snapshot_cache::Snapshot, state,
    text_search::TextSearch,
};

/// Entries by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Entries that hold.
    #[default]
    Current,
    /// Entries that were replaced, or whose validity has ended.
    Previous,
    /// All, with those that are disabled.
    All,
}

/// Selection of entries. By default all current ones, in the order of their beginnings.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LedgerRequest {
    /// Kinds of entries; empty for all.
    pub kinds: Vec<EntryKind>,
    /// Entries by their status.
    pub which: Which,
    /// Time at which the status holds: entries that began later are left out. `None` for now.
    pub as_of: Option<Timestamp>,
    /// Question, by whose words entries are found and ordered, best first.
    pub question: Option<String>,
    /// Most entries; `None` for all.
    pub limit: Option<usize>,
}

impl LedgerRequest {
    memory_core::setters! {
        kinds: Vec<EntryKind>,
        const which: Which,
        into as_of: Option<Timestamp>,
        into question: Option<String>,
        into limit: Option<usize>,
    }

    fn is_met_by(&self, entry: &LedgerEntry) -> bool {
        let has_begun = self.as_of.is_none_or(|at| entry.since.is_none_or(|since| since <= at));
        has_begun
            && match self.which {
                Which::Current => entry.status == EntryStatus::Current,
                Which::Previous => entry.status == EntryStatus::Superseded,
                Which::All => true,
            }
    }

    fn is_of(&self, kind: EntryKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    fn asks_for_questions(&self) -> bool {
        self.is_of(EntryKind::Question)
    }
}

/// Entries of conversations.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ledger {
    /// The entries: by conversation and time, or best first for a question.
    pub entries: Vec<LedgerEntry>,
    /// Number of entries beyond the limit.
    pub more: u64,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

impl Ledger {
    /// The entries on one subject, oldest first: those that replaced each other up to or from `id`. Needs the entries of
    /// [`Which::All`].
    #[must_use]
    pub fn history(&self, conversation: &ConversationId, id: EntryId) -> Vec<&LedgerEntry> {
        let of_it = || self.entries.iter().filter(|entry| entry.conversation == *conversation);
        let mut ids = BTreeSet::from([id]);
        loop {
            let before = ids.len();
            for entry in of_it() {
                let after = entry.replaced_by.as_ref().and_then(|by| by.entry);
                if ids.contains(&entry.id) {
                    ids.extend(after.into_iter().chain(entry.replaces.iter().copied()));
                } else if after.is_some_and(|after| ids.contains(&after)) {
                    ids.insert(entry.id);
                }
            }
            if ids.len() == before {
                break;
            }
        }
        let mut chain: Vec<_> = of_it().filter(|entry| ids.contains(&entry.id)).collect();
        chain.sort_by_key(|entry| (entry.since, entry.id));
        chain
    }
}

impl Conversation {
    /// Entries of the conversation: statements of its messages, found by rules without a model, and entries that
    /// were recorded. A later statement on the same subject supersedes an earlier one, which stays.
    ///
    /// Reads the messages with statements, and for questions the newest 20,000.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails. Messages that cannot be read are left out, with a
    /// notice.
    pub async fn ledger(&self, request: &LedgerRequest) -> Result<Ledger, MemoryError> {
        self.memory().ledger(&Scope::one(&self.id), request).await
    }
}

impl Memory {
    /// Entries of the conversations of a scope; see [`Conversation::ledger`].
    ///
    /// # Errors
    /// If a named conversation does not exist or is another owner's, or the store fails.
    pub async fn ledger(&self, scope: &Scope, request: &LedgerRequest) -> Result<Ledger, MemoryError> {
        let (scope, request) = (scope.clone(), request.clone());
        self.call(move |this| async move {
            let (mut ledger, mut base) = (Ledger::default(), None);
            for state in scope.states(&*this.parts.store).await?.into_iter().filter(ConversationState::is_talk) {
                let (known, losses) = of_conversation(&this.parts, &state, &request).await?;
                ledger.entries.extend(known.into_iter().map(|known| known.entry));
                ledger.notices.extend(losses.notice(&state.id));
                base.get_or_insert(state);
            }
            ledger.entries.retain(|entry| request.is_met_by(entry));
            if let Some(question) = &request.question {
                ledger.entries = match base {
                    Some(state) => best(&state, ledger.entries, question).await?,
                    None => Vec::new(),
                };
            } else {
                ledger.entries.sort_by(|a, b| (&a.conversation, a.since, a.id).cmp(&(&b.conversation, b.since, b.id)));
            }
            let most = request.limit.unwrap_or(usize::MAX);
            ledger.more = ledger.entries.len().saturating_sub(most) as u64;
            ledger.entries.truncate(most);
            Ok(ledger)
        })
        .await
    }
}

/// The entries of a conversation, and messages that cannot be read.
async fn of_conversation(
    parts: &Parts,
    state: &ConversationState,
    request: &LedgerRequest,
) -> Result<(Vec<Known>, Losses), MemoryError> {
    let snapshot = Snapshot::read(parts, &state.id).await?;
    let (asked, losses) = match request.asks_for_questions() {
        true => {
            let (reader, losses) = state::read(parts, &state.id, &snapshot, request.as_of).await?;
            (reader.open.statements(), losses)
        }
        false => (Vec::new(), Losses::default()),
    };
    let learned = learning::learned(parts, &state.id, &snapshot).await?;
    Ok((entries(parts, state, &snapshot, &learned, &asked, request).await?, losses))
}

/// The entries with words of a question, best first.
pub(crate) async fn best(
    state: &ConversationState,
    mut entries: Vec<LedgerEntry>,
    question: &str,
) -> Result<Vec<LedgerEntry>, MemoryError> {
    let at = |entry: &LedgerEntry| entry.since.unwrap_or_default();
    let texts = TextSearch::new(state, entries.iter().map(|entry| (entry.text.as_str(), at(entry))));
    let query = Query::new(question, Scope::all()).limit(entries.len().max(1));
    let found = texts.search(query).await?;
    // A ranker of messages also lifts those next to a hit.
    let asked = Gist::of(question);
    let of_words = |signal: &Signal| matches!(&*signal.name, "words" | "coverage") && signal.value > 0.0;
    let has_words =
        |hit: &&Hit| hit.signals.iter().any(of_words) || Gist::of(&hit.node.message.text()).shared(&asked) > 0;
    let order: Vec<_> = found.hits.iter().filter(has_words).map(|hit| hit.node.id.index()).collect();
    let mut taken: Vec<_> = entries.drain(..).map(Some).collect();
    Ok(order.into_iter().filter_map(|place| taken.get_mut(place)?.take()).collect())
}
