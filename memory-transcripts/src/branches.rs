//! Conversations from a tree of messages, in which chat applications keep edits and regenerations.

use std::collections::HashMap;

use memory_core::{Message, MessageKey, Timestamp};

use crate::{
    Conversation,
    item::ForkPoint,
    names::{conversation_id, key, short},
    out::Out,
    tree::{TreeNode, paths},
};

#[derive(Debug)]
pub(crate) struct BranchNode<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
    /// Messages of the node, in order; empty for a node that only joins others.
    pub(crate) said: Vec<Message>,
    pub(crate) at: Option<Timestamp>,
}

/// Chats of a file, to number those that share an id.
#[derive(Debug, Default)]
pub(crate) struct Chats {
    /// First message node of each chat, by the chat's id.
    begun: HashMap<String, Vec<String>>,
}

impl Chats {
    /// Name of a chat: its id, followed by a number if another chat of the file has the same id and another first
    /// message.
    pub(crate) fn name(&mut self, id: &str, nodes: &[BranchNode<'_>]) -> String {
        let Some(first) = nodes.iter().find(|node| !node.said.is_empty()) else { return id.to_owned() };
        let begun = self.begun.entry(id.to_owned()).or_default();
        let number = begun.iter().position(|begun| begun == first.id).unwrap_or_else(|| {
            begun.push(first.id.to_owned());
            begun.len() - 1
        });
        if number == 0 { id.to_owned() } else { format!("{id}-{}", number + 1) }
    }
}

/// Emits a conversation for the path to `main`, and a fork for each other leaf. Returns how many nodes are on no path.
pub(crate) fn give(
    conversation: &str,
    title: Option<&str>,
    mut nodes: Vec<BranchNode<'_>>,
    main: Option<&str>,
    out: &mut Out,
) -> usize {
    let tree: Vec<_> = nodes.iter().map(|node| TreeNode { id: node.id, parent: node.parent }).collect();
    let paths = paths(&tree, main);
    let on_paths: usize = paths.iter().map(|path| path.nodes.len()).sum();
    let left = nodes.len() - on_paths;
    let id = conversation_id(&[conversation]);
    // For each node, its last message so far and the conversation of that message.
    let mut tips: Vec<Option<ForkPoint>> = vec![None; nodes.len()];
    let mut is_first = true;
    for path in paths {
        let after = path.after.and_then(|node| tips.get(node).cloned().flatten());
        let mut tip = after.clone();
        let mut begun = None;
        for index in path.nodes {
            let Some(node) = nodes.get_mut(index) else { continue };
            for (number, message) in std::mem::take(&mut node.said).into_iter().enumerate() {
                let of = begun.get_or_insert_with(|| {
                    let of = if is_first { id.clone() } else { conversation_id(&[conversation, &short(node.id)]) };
                    let begun = Conversation::new(of.clone()).fork(after.clone());
                    out.begin(begun.title(title.filter(|_| is_first).and_then(crate::out::usable_title)));
                    of
                });
                let key = part_key(node.id, number);
                out.say(of, key.clone(), message, node.at);
                tip = Some(ForkPoint::new(of.clone(), key));
            }
            if let Some(known) = tips.get_mut(index) {
                known.clone_from(&tip);
            }
        }
        is_first &= begun.is_none();
    }
    left
}

/// Key of a message of a node; the first one has the node's own key.
fn part_key(id: &str, number: usize) -> MessageKey {
    if number == 0 { key(id) } else { key(&format!("{id}.{number}")) }
}
