//! Requests to erase for good, the receipts of it, and requests to disable.

use memory::{
    FindRequest, InvalidSource, Memory, QuarantineSource, Scope,
    erasing::{EraseOptions, EraseRequest, ErasurePlan},
};
use memory_core::{ConversationId, NodeId, NodeRange, OwnerId, SummaryId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::BridgeError;

/// Request about what is kept.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum PrivacyRequest {
    /// Asks what an erasure would erase.
    PlanErasure { what: What },
    /// Erases for good, and answers the receipt.
    Erase {
        what: What,
        #[serde(default)]
        by: String,
        #[serde(default)]
        backups: Vec<std::path::PathBuf>,
    },
    /// Keeps messages or summaries out of every view and search.
    Disable(Change),
    /// Brings them back.
    Enable(Change),
    /// Takes a source out of every view and search, with all that was derived from it, or brings it back.
    Quarantine {
        source: String,
        #[serde(default)]
        undo: bool,
        #[serde(default)]
        by: String,
    },
    /// Asks for the receipts of all erasures, the last one first.
    Receipts {},
}

/// Selection for an erasure: messages, all or a named text of a conversation; messages that a pattern matches in;
/// everything of an owner.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct What {
    conversation: Option<String>,
    /// Numbers of messages, or `[first, last]` of a run.
    nodes: Vec<Nodes>,
    all: bool,
    document: Option<String>,
    matching: Option<String>,
    owner: Option<String>,
}

/// Messages or summaries to disable or enable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    conversation: String,
    #[serde(default)]
    nodes: Vec<Nodes>,
    #[serde(default)]
    summaries: Vec<SummaryId>,
    #[serde(default)]
    by: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Nodes {
    One(NodeId),
    Run(NodeRange),
}

impl PrivacyRequest {
    pub(super) const OPS: [&'static str; 6] = ["plan_erasure", "erase", "disable", "enable", "quarantine", "receipts"];

    pub(super) async fn answer(self, memory: &Memory) -> Result<Value, BridgeError> {
        match self {
            Self::PlanErasure { what } => Ok(json!({"plan": what.plan(memory).await?})),
            Self::Erase { what, by, backups } => {
                let plan = what.plan(memory).await?;
                if plan.is_empty() {
                    return Ok(json!({"plan": plan, "receipt": null}));
                }
                let options = EraseOptions::default().by(by).backups(backups);
                let receipt = memory.erase(plan.clone(), options).await?;
                Ok(json!({"plan": plan, "receipt": receipt}))
            }
            Self::Disable(change) => change.perform(memory, true).await,
            Self::Enable(change) => change.perform(memory, false).await,
            Self::Quarantine { source, undo, by } => {
                let source: QuarantineSource =
                    source.parse().map_err(|error: InvalidSource| BridgeError::Malformed(error.to_string()))?;
                Ok(json!(match undo {
                    true => memory.lift_quarantine(source, &by).await?,
                    false => memory.quarantine(source, &by).await?,
                }))
            }
            Self::Receipts {} => Ok(json!({"receipts": memory.receipts().await?})),
        }
    }
}

impl Change {
    async fn perform(self, memory: &Memory, is_disabled: bool) -> Result<Value, BridgeError> {
        let Self { conversation, nodes, summaries, by } = self;
        let conversation =
            memory.conversation(&conversation).map_err(|error| BridgeError::Config(error.to_string()))?;
        let mut changes = Vec::new();
        if !nodes.is_empty() {
            changes.push(match is_disabled {
                true => conversation.disable(runs(nodes), &by).await?,
                false => conversation.enable(runs(nodes), &by).await?,
            });
        }
        if !summaries.is_empty() {
            changes.push(match is_disabled {
                true => conversation.disable_summaries(summaries, &by).await?,
                false => conversation.enable_summaries(summaries, &by).await?,
            });
        }
        Ok(json!({"changes": changes}))
    }
}

pub(super) fn runs(nodes: Vec<Nodes>) -> Vec<NodeRange> {
    nodes.into_iter().map(Nodes::run).collect()
}

impl What {
    async fn plan(self, memory: &Memory) -> Result<ErasurePlan, BridgeError> {
        Ok(memory.plan_erasure(self.request()?).await?)
    }

    fn request(self) -> Result<EraseRequest, BridgeError> {
        let malformed = |why: &str| BridgeError::Malformed(format!("`what`: {why}"));
        let nodes = runs(self.nodes);
        let id = self.conversation.map(|name| ConversationId::new(&name)).transpose();
        let id = id.map_err(|error| BridgeError::Config(error.to_string()))?;
        match (id, nodes.is_empty(), self.all, self.document, self.matching, self.owner) {
            (Some(conversation), false, false, None, None, None) => Ok(EraseRequest::Nodes { conversation, nodes }),
            (Some(conversation), true, true, None, None, None) => Ok(EraseRequest::Conversation(conversation)),
            (Some(conversation), true, false, Some(name), None, None) => {
                Ok(EraseRequest::Document { conversation, name })
            }
            (id, true, false, None, Some(pattern), None) => {
                let scope = id.map_or_else(Scope::all, |one| Scope::one(&one));
                Ok(EraseRequest::Matching(FindRequest::new(&pattern, scope)))
            }
            (None, true, true, None, None, Some(owner)) => {
                let owner = OwnerId::new(&owner).map_err(|error| BridgeError::Config(error.to_string()))?;
                Ok(EraseRequest::Owner(owner))
            }
            _ => Err(malformed(
                "give a `conversation` with `nodes`, `all` or `document`; or `matching`, with or without a `conversation`; \
                 or an `owner` with `all`",
            )),
        }
    }
}

impl Nodes {
    fn run(self) -> NodeRange {
        match self {
            Self::One(node) => NodeRange::single(node),
            Self::Run(run) => run,
        }
    }
}
