//! Lists of items of other frameworks in the log: each item verbatim, with the message that it stands for.
//!
//! Nothing is deleted. An item removed from its list is recorded as retracted, by a note of the list's conversation.

use std::collections::BTreeMap;

use memory::{Conversation, Memory};
use memory_core::{
    ConversationId, Json, Message, MessageKey, Node, NodeId, NodeRange, Timestamp,
    json::message_from_strands,
    port::{Clock, NoteChange},
};
use memory_hooks::{DocumentsNow, SystemClock};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BridgeError, conversation::state_of};

/// Request to a list of items.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ItemsRequest {
    AddItems {
        conversation: String,
        items: Vec<NewItem>,
    },
    ListItems {
        conversation: String,
        limit: Option<u64>,
    },
    PopItem {
        conversation: String,
        /// True if items that leave the list are also kept out of every view and search.
        #[serde(default)]
        disable: bool,
    },
    ClearItems {
        conversation: String,
        #[serde(default)]
        disable: bool,
    },
}

impl ItemsRequest {
    pub(super) const OPS: [&'static str; 4] = ["add_items", "list_items", "pop_item", "clear_items"];
}

/// An item to add.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewItem {
    /// Item as the framework has it.
    item: Value,
    /// The message of the item, in Strands' shape.
    message: Value,
    /// Key of the item. An item under a known key is not added again.
    key: String,
}

/// The retractions of each list that was read, so that reading continues where it ended.
pub(super) type Retractions = BTreeMap<String, memory::Documents>;

/// The lists of a store.
pub(super) struct Items<'a> {
    pub(super) memory: &'a Memory,
    pub(super) retractions: &'a mut Retractions,
}

/// The member of a message's metadata that holds the item.
const ITEM: &str = "item";
/// Name of the document with the first and the last message of each retracted run.
const RETRACTED: &str = "retracted";
/// Number of messages that are read at once.
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
            ItemsRequest::PopItem { conversation, disable } => {
                while let Some((node, item)) = self.newest(&conversation, 1).await?.pop() {
                    if self.retract(&conversation, NodeRange::single(node), disable).await? {
                        return Ok(json!({"item": item}));
                    }
                }
                Ok(json!({"item": null}))
            }
            ItemsRequest::ClearItems { conversation, disable } => {
                let nodes = state_of(&self.conversation(&conversation)?).await?.map_or(0, |state| state.nodes);
                let has_items = !self.newest(&conversation, 1).await?.is_empty();
                if let Some(all) = NodeRange::first_n(nodes).filter(|_| has_items) {
                    self.retract(&conversation, all, disable).await?;
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

    /// The retractions of a list.
    fn retractions(&mut self, list: &str) -> Result<memory::Documents, BridgeError> {
        if let Some(known) = self.retractions.get(list) {
            return Ok(known.clone());
        }
        let documents = self.memory.documents(list).map_err(|error| BridgeError::Config(error.to_string()))?;
        // A list of a version without notes may have a name that is too long for its retractions, and then has none.
        let documents = match ConversationId::new(&format!("retracted:{list}")) {
            Ok(earlier) => documents.following(earlier),
            Err(_) => documents,
        };
        self.retractions.insert(list.to_owned(), documents.clone());
        Ok(documents)
    }

    /// The retracted messages of a list, those of other processes included.
    async fn retracted(&mut self, list: &str) -> Result<Vec<NodeRange>, BridgeError> {
        Ok(self.retractions(list)?.look(runs_of).await?)
    }

    /// Records that messages left their list; `false` if all of them had left it already.
    async fn retract(&mut self, list: &str, nodes: NodeRange, disable: bool) -> Result<bool, BridgeError> {
        let change = move |now: DocumentsNow<'_>| {
            let mut runs = runs_of(now);
            if runs.iter().any(|run| run.covers(nodes)) {
                return Err(());
            }
            runs.push(nodes);
            let runs: Vec<_> = NodeRange::merge(runs).iter().map(|run| [run.first().get(), run.last().get()]).collect();
            let (name, text) = (RETRACTED.to_owned(), json!(runs).to_string());
            Ok((NoteChange::Write { name, text }, ()))
        };
        let is_first = self.retractions(list)?.change(change).await?.is_ok();
        if disable {
            self.conversation(list)?.disable(vec![nodes], "").await?;
        }
        Ok(is_first)
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

/// The retracted runs, from the document that holds them.
fn runs_of(now: DocumentsNow<'_>) -> Vec<NodeRange> {
    let text = now.get(RETRACTED).map_or("[]", |document| document.text.as_str());
    let runs: Vec<[u64; 2]> = serde_json::from_str(text).unwrap_or_default();
    runs.into_iter().filter_map(|[first, last]| NodeRange::new(NodeId::new(first)?, NodeId::new(last)?)).collect()
}
