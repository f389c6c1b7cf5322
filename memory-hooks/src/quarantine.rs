//! Sources of messages and summaries, and the quarantine of a source with everything that was derived from it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    str::FromStr,
};

use memory_core::{
    ContentBlock, ConversationId, Disabling, Filter, InvalidConversationId, Node, NodeId, NodeRange, NodeSet,
    Provenance, Role, SourceClass, SummaryId, port::ConversationState,
};

use crate::{Conversation, MadeOf, Memory, MemoryError, RepairError};

/// Messages that are read at once.
const CHUNK: u64 = 256;
/// Beginning of the author of a change that a quarantine made.
const MARK: &str = "quarantine of ";

/// A source that can be put under quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuarantineSource {
    /// Results of a tool, and what the model said with them until a person spoke again.
    Tool(String),
    /// Messages of a session, by the name in their metadata.
    Session(String),
    /// Imported messages of a conversation, whose name is most often that of the file.
    Import(ConversationId),
    /// All messages of a conversation.
    Conversation(ConversationId),
}

impl fmt::Display for QuarantineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Session(name) => write!(f, "session:{name}"),
            Self::Import(id) => write!(f, "import:{id}"),
            Self::Conversation(id) => write!(f, "conversation:{id}"),
        }
    }
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    /// The kind is unknown, or nothing follows it.
    #[error("{0:?} is no source: tool:NAME, session:NAME, import:CONVERSATION or conversation:CONVERSATION")]
    Unknown(String),
    /// No conversation has such a name.
    #[error(transparent)]
    Name(#[from] InvalidConversationId),
}

impl FromStr for QuarantineSource {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':').filter(|(_, name)| !name.is_empty()) {
            Some(("tool", name)) => Ok(Self::Tool(name.to_owned())),
            Some(("session", name)) => Ok(Self::Session(name.to_owned())),
            Some(("import", name)) => Ok(Self::Import(ConversationId::new(name)?)),
            Some(("conversation", name)) => Ok(Self::Conversation(ConversationId::new(name)?)),
            _ => Err(InvalidSource::Unknown(text.to_owned())),
        }
    }
}

/// Messages of a conversation that a quarantine took out of views and recall, or brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct QuarantinedMessages {
    /// The conversation.
    pub conversation: ConversationId,
    /// The messages, as runs in order.
    pub nodes: Vec<NodeRange>,
}

/// Messages that a quarantine holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Quarantine {
    /// The source, as text.
    pub source: String,
    /// Its messages, by conversation.
    pub conversations: Vec<QuarantinedMessages>,
}

impl Memory {
    /// Puts a source under quarantine: its messages and everything that was derived from them are
    /// [disabled](Conversation::disable) in all conversations, so that no view shows them, no summary is made of them
    /// and nothing recalls them. Messages that are disabled already stay as they are, and later messages of the source
    /// are not concerned.
    ///
    /// # Errors
    /// If the conversation that the source names does not exist, or the store fails.
    pub async fn quarantine(&self, source: QuarantineSource, by: &str) -> Result<Quarantine, MemoryError> {
        let by = author(&source, by);
        self.call(move |this| async move {
            let all = this.parts.store.conversations().await?;
            let mut found: BTreeMap<ConversationId, Vec<NodeRange>> = BTreeMap::new();
            for state in this.states_of(&source).await? {
                let nodes = this.conversation(state.id.clone()).nodes_of(&source, state.nodes).await?;
                found.insert(state.id, nodes);
            }
            for made in MadeOf::documents(&*this.parts.store, &all, &found).await? {
                found.entry(made.id).or_default().extend(NodeRange::first_n(made.nodes));
            }
            let mut conversations = Vec::new();
            for (id, nodes) in found {
                if nodes.is_empty() {
                    continue;
                }
                let conversation = this.conversation(id.clone());
                let Disabling { nodes, .. } = conversation.disable(NodeRange::merge(nodes), &by).await?;
                if !nodes.is_empty() {
                    conversations.push(QuarantinedMessages { conversation: id, nodes });
                }
            }
            Ok(Quarantine { source: source.to_string(), conversations })
        })
        .await
    }

    /// Brings back what a quarantine of the source took away, and no message that is disabled for another reason.
    ///
    /// # Errors
    /// As for [`Self::quarantine`].
    pub async fn lift_quarantine(&self, source: QuarantineSource, by: &str) -> Result<Quarantine, MemoryError> {
        let by = by.to_owned();
        self.call(move |this| async move {
            let mut lifted = Quarantine { source: source.to_string(), conversations: Vec::new() };
            for held in this.held().await?.into_iter().filter(|held| held.source == lifted.source) {
                for QuarantinedMessages { conversation, nodes } in held.conversations {
                    let enabled = this.conversation(conversation.clone()).enable(nodes, &by).await?;
                    lifted.conversations.push(QuarantinedMessages { conversation, nodes: enabled.nodes });
                }
            }
            Ok(lifted)
        })
        .await
    }

    /// Sources under quarantine, with the messages that each holds.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn quarantines(&self) -> Result<Vec<Quarantine>, MemoryError> {
        self.call(|this| async move { this.held().await }).await
    }

    async fn held(&self) -> Result<Vec<Quarantine>, MemoryError> {
        let mut all: Vec<Quarantine> = Vec::new();
        for state in self.parts.store.conversations().await?.into_iter().filter(|state| state.disabled > 0) {
            let changes = self.parts.store.disablings(&state.id).await?;
            // The last change of each message decides.
            let mut reasons: HashMap<NodeId, &str> = HashMap::new();
            for change in &changes {
                for node in change.nodes.iter().flat_map(|run| run.iter()) {
                    match source_of(&change.by).filter(|_| change.is_disabled) {
                        Some(source) => drop(reasons.insert(node, source)),
                        None => drop(reasons.remove(&node)),
                    }
                }
            }
            let sources: BTreeSet<&str> = reasons.values().copied().collect();
            for source in sources {
                let nodes: NodeSet = reasons.iter().filter(|(_, of)| **of == source).map(|(node, _)| *node).collect();
                let here = QuarantinedMessages { conversation: state.id.clone(), nodes: nodes.runs().to_vec() };
                match all.iter_mut().find(|held| held.source == source) {
                    Some(held) => held.conversations.push(here),
                    None => all.push(Quarantine { source: source.to_owned(), conversations: vec![here] }),
                }
            }
        }
        Ok(all)
    }

    async fn states_of(&self, source: &QuarantineSource) -> Result<Vec<ConversationState>, MemoryError> {
        if let QuarantineSource::Import(id) | QuarantineSource::Conversation(id) = source {
            return Ok(vec![self.parts.store.conversation(id).await?]);
        }
        let mut states = self.parts.store.conversations().await?;
        states.retain(|state| !state.is_of_notes());
        Ok(states)
    }
}

impl Conversation {
    /// Sources of messages, and what each was made from.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn provenance(&self, nodes: NodeRange) -> Result<Vec<Provenance>, MemoryError> {
        self.call(move |this| async move {
            let mut lineage = Lineage::default();
            let mut found = Vec::new();
            // A message was made from others of its turn.
            let begin = this.turn_before(nodes.first()).await?;
            for run in chunks(NodeRange::new(begin, nodes.last()).unwrap_or(nodes)) {
                for node in this.parts.store.whole_nodes(&this.id, run).await?.nodes {
                    let provenance = lineage.of(&node);
                    found.extend(Some(provenance).filter(|_| nodes.contains(node.id)));
                }
            }
            Ok(found)
        })
        .await
    }

    /// Source of a summary: the least trusted of what it covers.
    ///
    /// # Errors
    /// [`RepairError`] if there is no such summary; otherwise as for [`Self::provenance`].
    pub async fn provenance_of_summary(&self, summary: SummaryId) -> Result<Provenance, MemoryError> {
        self.call(move |this| async move {
            let read = this.parts.store.whole_summaries_of(&this.id, &[summary]).await?;
            let Some(body) = read.into_iter().next().map(|read| read.body) else {
                let conversation = this.id.clone();
                return Err(RepairError::NoSummary { conversation, summary }.into());
            };
            let mut whole = Provenance::new(body.span, SourceClass::User);
            for one in this.provenance(body.span).await? {
                whole.lowest = whole.lowest.min(one.lowest);
                let new: Vec<_> = one.tools.into_iter().filter(|tool| !whole.tools.contains(tool)).collect();
                whole.tools.extend(new);
            }
            whole.source = whole.lowest;
            whole.from = vec![body.span];
            whole.written_by = Some(body.written_by.to_string());
            Ok(whole)
        })
        .await
    }

    /// The first message of the turn that a message may have been made from.
    async fn turn_before(&self, node: NodeId) -> Result<NodeId, MemoryError> {
        let outlines = self.parts.store.outline(&self.id).await?;
        let begins = outlines.iter().take(node.index()).rposition(|outline| outline.begins_prompt());
        Ok(begins.map_or(NodeId::FIRST, NodeId::from_index))
    }

    /// Messages of a source, and what was derived from them.
    async fn nodes_of(&self, source: &QuarantineSource, all: u64) -> Result<Vec<NodeRange>, MemoryError> {
        let mut lineage = Lineage::default();
        let mut found = Vec::new();
        for run in NodeRange::first_n(all).into_iter().flat_map(chunks) {
            for node in self.parts.store.whole_nodes(&self.id, run).await?.nodes {
                let Provenance { tools, session, .. } = lineage.of(&node);
                let is_of = match source {
                    QuarantineSource::Tool(name) => tools.contains(name),
                    QuarantineSource::Session(name) => session.as_ref() == Some(name),
                    QuarantineSource::Import(_) => SourceClass::is_imported(&node.message),
                    QuarantineSource::Conversation(_) => true,
                };
                found.extend(is_of.then_some(NodeRange::single(node.id)));
            }
        }
        Ok(NodeRange::merge(found))
    }
}

/// Author of a quarantine's change, from which it is undone.
fn author(source: &QuarantineSource, by: &str) -> String {
    if by.is_empty() { format!("{MARK}{source}") } else { format!("{MARK}{source} | {by}") }
}

/// The source that such an author names.
fn source_of(by: &str) -> Option<&str> {
    let source = by.strip_prefix(MARK)?;
    Some(source.split_once(" | ").map_or(source, |(source, _)| source))
}

/// State of reading a conversation in order.
#[derive(Debug, Default)]
struct Lineage {
    /// Names of the tools that calls without a result so far name, by the id of the call.
    calls: HashMap<String, String>,
    /// Results since a person last spoke: their messages, their tools and the least trusted source.
    results: Vec<NodeRange>,
    tools: Vec<String>,
    lowest: Option<SourceClass>,
}

impl Lineage {
    /// Provenance of the next message.
    fn of(&mut self, node: &Node) -> Provenance {
        let source = SourceClass::of(&node.message);
        let mut of = Provenance::new(NodeRange::single(node.id), source);
        of.session = Filter::session_of(node);
        let mut results = Vec::new();
        for block in &node.message.content {
            match block {
                ContentBlock::ToolUse { id, name, .. } => {
                    self.calls.insert(id.clone(), name.clone());
                }
                ContentBlock::ToolResult { tool_use_id, .. } => results.extend(self.calls.remove(tool_use_id)),
                _ => {}
            }
        }
        let lowest = self.lowest.map_or(source, |known| known.min(source));
        if node.message.tool_results().next().is_some() {
            self.results.push(of.nodes);
            self.tools.extend(results.iter().cloned());
            self.lowest = Some(lowest);
            of.tools = results;
        } else if node.message.role == Role::User {
            *self = Self { calls: std::mem::take(&mut self.calls), ..Self::default() };
        } else {
            of.tools.clone_from(&self.tools);
            of.from = NodeRange::merge(self.results.clone());
            of.lowest = lowest;
        }
        of
    }
}

/// A run in pieces that are read at once.
fn chunks(run: NodeRange) -> impl Iterator<Item = NodeRange> {
    let first = run.first().get();
    let begins = (first..=run.last().get()).step_by(usize::try_from(CHUNK).unwrap_or(usize::MAX));
    begins.filter_map(move |begin| {
        let end = (begin + CHUNK - 1).min(run.last().get());
        NodeRange::new(NodeId::new(begin)?, NodeId::new(end)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_as_it_is_printed_and_from_the_author_of_a_change() {
        for text in ["tool:fetch", "session:a b", "import:trip", "conversation:trip"] {
            let source: QuarantineSource = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            assert_eq!(source_of(&author(&source, "Ann")), Some(text));
            assert_eq!(source_of(&author(&source, "")), Some(text));
        }
        for wrong in ["", "fetch", "tool:", "import:a b", "mail:x"] {
            assert!(wrong.parse::<QuarantineSource>().is_err(), "{wrong}");
        }
        assert_eq!(source_of("Ann"), None);
    }
}
