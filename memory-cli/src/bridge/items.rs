//! Lists of items of other frameworks in the log: each item exactly as it came, with the message that it says.
//!
//! Nothing is deleted. An item that is removed from its list is recorded as retracted, in a conversation beside the list's.

use std::collections::BTreeMap;

use memory::{Conversation, Memory};
use memory_core::{Clock, Json, Message, MessageKey, Node, NodeId, NodeRange, Role, Timestamp, message_from_strands};
use memory_hooks::SystemClock;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BridgeError, conversation::state_of};

/// What is asked of a list of items.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ItemsRequest {
    AddItems { conversation: String, items: Vec<NewItem> },
    ListItems { conversation: String, limit: Option<u64> },
    PopItem { conversation: String },
    ClearItems { conversation: String },
}

impl ItemsRequest {
    pub(super) const OPS: [&'static str; 4] = ["add_items", "list_items", "pop_item", "clear_items"];
}

/// An item to add.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewItem {
    /// As the framework has it.
    item: Value,
    /// What it says, in Strands' shape.
    message: Value,
    /// An item under a key that the list has is not added again.
    key: String,
}

/// The retractions that were read, by list.
#[derive(Debug, Default)]
pub(super) struct Retractions(BTreeMap<String, Retracted>);

/// The retractions of a list, as far as they were read.
#[derive(Debug, Default)]
struct Retracted {
    nodes: u64,
    runs: Vec<NodeRange>,
}

/// The lists of a store.
pub(super) struct Items<'a> {
    pub(super) memory: &'a Memory,
    pub(super) retractions: &'a mut Retractions,
}

/// The member of a message's metadata that holds the item.
const ITEM: &str = "item";
/// The member of a message's metadata that names the first and the last retracted message.
const RETRACTED: &str = "retracted";
/// How many messages are read at once.
const READ: u64 = 256;

impl Items<'_> {
    pub(super) async fn answer(&mut self, request: ItemsRequest) -> Result<Value, BridgeError> {
        match request {
            ItemsRequest::AddItems { conversation, items } => {
                let now = SystemClock.now();
                let batch = (0..).zip(items).map(|(index, item)| Ok((item.into_message(index)?, now)));
                let batch = batch.collect::<Result<Vec<(Message, Timestamp)>, BridgeError>>()?;
                if !batch.is_empty() {
                    self.conversation(&conversation)?.append_batch(batch).await?;
                }
                Ok(json!({}))
            }
            ItemsRequest::ListItems { conversation, limit } => {
                let items = self.newest(&conversation, limit.unwrap_or(u64::MAX)).await?;
                Ok(json!({"items": items.into_iter().map(|(_, item)| item).collect::<Vec<_>>()}))
            }
            ItemsRequest::PopItem { conversation } => {
                let Some((node, item)) = self.newest(&conversation, 1).await?.pop() else {
                    return Ok(json!({"item": null}));
                };
                self.retract(&conversation, NodeRange::single(node)).await?;
                Ok(json!({"item": item}))
            }
            ItemsRequest::ClearItems { conversation } => {
                let nodes = state_of(&self.conversation(&conversation)?).await?.map_or(0, |state| state.nodes);
                let has_items = !self.newest(&conversation, 1).await?.is_empty();
                if let Some(all) = NodeRange::first_n(nodes).filter(|_| has_items) {
                    self.retract(&conversation, all).await?;
                }
                Ok(json!({}))
            }
        }
    }

    /// The conversation of this name.
    fn conversation(&self, name: &str) -> Result<Conversation, BridgeError> {
        self.memory.conversation(name).map_err(|error| BridgeError::Config(error.to_string()))
    }

    /// The newest items that are not retracted, at most `limit`, oldest first.
    async fn newest(&mut self, name: &str, limit: u64) -> Result<Vec<(NodeId, Value)>, BridgeError> {
        let conversation = self.conversation(name)?;
        let retracted = self.retracted(name).await?;
        let mut last = state_of(&conversation).await?.map_or(0, |state| state.nodes);
        let mut items = Vec::new();
        while last > 0 && (items.len() as u64) < limit {
            let first = last.saturating_sub(READ) + 1;
            let range = NodeId::new(first).zip(NodeId::new(last));
            let Some(range) = range.and_then(|(first, last)| NodeRange::new(first, last)) else { break };
            last = first - 1;
            if retracted.iter().any(|run| run.covers(range)) {
                continue;
            }
            let is_there = |node: &Node| !retracted.iter().any(|run| run.contains(node.id));
            let read = conversation.messages(range).await?;
            items.extend(read.into_iter().rev().filter(is_there).filter_map(|node| Some((node.id, item_of(&node)?))));
        }
        items.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        items.reverse();
        Ok(items)
    }

    /// The retracted messages of a list, those of other processes included.
    async fn retracted(&mut self, name: &str) -> Result<Vec<NodeRange>, BridgeError> {
        let conversation = self.conversation(&retractions_of(name))?;
        let nodes = state_of(&conversation).await?.map_or(0, |state| state.nodes);
        let read = self.retractions.0.entry(name.to_owned()).or_default();
        let new = NodeId::new(read.nodes + 1).zip(NodeId::new(nodes));
        if let Some(new) = new.and_then(|(first, last)| NodeRange::new(first, last)) {
            read.runs.extend(conversation.messages(new).await?.iter().filter_map(run_of));
            read.runs = NodeRange::merge(std::mem::take(&mut read.runs));
            read.nodes = nodes;
        }
        Ok(read.runs.clone())
    }

    /// Records that messages are not in their list any more.
    async fn retract(&mut self, name: &str, nodes: NodeRange) -> Result<(), BridgeError> {
        let [first, last] = [nodes.first().get(), nodes.last().get()];
        let metadata = BTreeMap::from([(RETRACTED.to_owned(), Json::from_value(&json!([first, last])))]);
        let text = format!("Retracted from {name}: messages {first} to {last}");
        let message = Message::text_of(Role::System, text).metadata(metadata).keep_out_of_summaries(true);
        self.conversation(&retractions_of(name))?.append(message).await?;
        Ok(())
    }
}

impl NewItem {
    fn into_message(self, index: usize) -> Result<Message, BridgeError> {
        let read = message_from_strands(&self.message).map_err(|source| BridgeError::Message { index, source })?;
        let key = MessageKey::new(&self.key).map_err(|error| BridgeError::Malformed(error.to_string()))?;
        let mut message = read.key(key);
        message.metadata.insert(ITEM.to_owned(), Json::from_value(&self.item));
        Ok(message)
    }
}

fn item_of(node: &Node) -> Option<Value> {
    node.message.metadata.get(ITEM).map(Json::to_value)
}

fn run_of(node: &Node) -> Option<NodeRange> {
    let run = node.message.metadata.get(RETRACTED)?.to_value();
    let end = |index: usize| run.get(index).and_then(Value::as_u64).and_then(NodeId::new);
    NodeRange::new(end(0)?, end(1)?)
}

/// The conversation that holds the retractions of a list.
fn retractions_of(list: &str) -> String {
    format!("retracted:{list}")
}
