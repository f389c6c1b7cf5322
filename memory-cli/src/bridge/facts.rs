//! Requests about what is known: entries of the ledger, and changes of them.

use memory::{
    Conversation, Memory, Scope,
    ledger::{EntryAuthor, EntryId, EntryKind, LedgerRequest, NewEntry, Which},
};
use memory_core::{ConversationId, NodeRange};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BridgeError,
    privacy::{Nodes, runs},
};

/// Request about what is known.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum FactsRequest {
    /// Asks for the entries of a conversation, or of all.
    Facts {
        conversation: Option<String>,
        question: Option<String>,
        #[serde(default)]
        kinds: Vec<String>,
        /// Also what was replaced or disabled.
        #[serde(default)]
        all: bool,
    },
    /// Records an entry.
    AddFact {
        conversation: String,
        kind: String,
        text: String,
        #[serde(default)]
        nodes: Vec<Nodes>,
        #[serde(default)]
        by: String,
    },
    /// Records other words in the place of an entry.
    CorrectFact {
        conversation: String,
        id: String,
        text: String,
        #[serde(default)]
        nodes: Vec<Nodes>,
        #[serde(default)]
        by: String,
    },
    /// Disables an entry, or enables it again.
    DisableFact {
        conversation: String,
        id: String,
        #[serde(default)]
        enable: bool,
    },
}

impl FactsRequest {
    pub(super) const OPS: [&'static str; 4] = ["facts", "add_fact", "correct_fact", "disable_fact"];

    pub(super) async fn answer(self, memory: &Memory) -> Result<Value, BridgeError> {
        match self {
            Self::Facts { conversation, question, kinds, all } => {
                let scope = match conversation {
                    Some(name) => Scope::one(&ConversationId::new(&name).map_err(config)?),
                    None => Scope::all(),
                };
                let kinds = kinds.iter().map(|name| kind(name)).collect::<Result<_, _>>()?;
                let which = if all { Which::All } else { Which::Current };
                let request = LedgerRequest::default().kinds(kinds).which(which).question(question);
                Ok(json!(memory.ledger(&scope, &request).await?))
            }
            Self::AddFact { conversation, kind: name, text, nodes, by } => {
                let entry = NewEntry::new(kind(&name)?, &text, EntryAuthor::Program(by)).sources(sources(nodes));
                Ok(json!({"entry": of(memory, &conversation)?.add_entry(entry).await?}))
            }
            Self::CorrectFact { conversation, id, text, nodes, by } => {
                let (by, nodes) = (EntryAuthor::Program(by), sources(nodes));
                let entry = of(memory, &conversation)?.correct_entry(entry(&id)?, &text, by, nodes).await?;
                Ok(json!({"entry": entry}))
            }
            Self::DisableFact { conversation, id, enable } => {
                let conversation = of(memory, &conversation)?;
                let entry = match enable {
                    true => conversation.enable_entry(entry(&id)?).await?,
                    false => conversation.disable_entry(entry(&id)?).await?,
                };
                Ok(json!({"entry": entry}))
            }
        }
    }
}

fn config(error: impl std::fmt::Display) -> BridgeError {
    BridgeError::Config(error.to_string())
}

fn of(memory: &Memory, conversation: &str) -> Result<Conversation, BridgeError> {
    memory.conversation(conversation).map_err(config)
}

fn entry(id: &str) -> Result<EntryId, BridgeError> {
    id.parse().map_err(config)
}

fn sources(nodes: Vec<Nodes>) -> Vec<NodeRange> {
    NodeRange::merge(runs(nodes))
}

fn kind(name: &str) -> Result<EntryKind, BridgeError> {
    let unknown = || format!("{name:?} is no kind: give rule, decision, preference, fact or question");
    EntryKind::named(name).ok_or_else(|| BridgeError::Config(unknown()))
}
