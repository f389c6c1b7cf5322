//! Conversations from a tree of messages, in which chat applications keep edits and regenerations.

use std::collections::HashMap;

use memory_core::{Message, MessageKey, Timestamp};

use crate::{
    Conversation, Why,
    item::ForkPoint,
    names::{conversation_id, key, short},
    out::{ItemQueue, usable_title},
};

/// A node of a tree, in the order of the source.
#[derive(Debug)]
pub(crate) struct BranchNode<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
    /// Messages of the node, in order; empty for a node that only joins others.
    pub(crate) messages: Vec<Message>,
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
    fn name(&mut self, id: &str, nodes: &[BranchNode<'_>]) -> String {
        let Some(first) = nodes.iter().find(|node| !node.messages.is_empty()) else { return id.to_owned() };
        let begun = self.begun.entry(id.to_owned()).or_default();
        let number = begun.iter().position(|begun| begun == first.id).unwrap_or_else(|| {
            begun.push(first.id.to_owned());
            begun.len() - 1
        });
        if number == 0 { id.to_owned() } else { format!("{id}-{}", number + 1) }
    }

    /// Emits a chat: a conversation for the path to `main`, and a fork for each other leaf. `kind` is what the source
    /// calls a node.
    pub(crate) fn emit(
        &mut self,
        id: &str,
        title: Option<&str>,
        mut nodes: Vec<BranchNode<'_>>,
        main: Option<&str>,
        kind: &str,
        out: &mut ItemQueue,
    ) {
        let name = self.name(id, &nodes);
        let (before, mut left) = (out.report.messages, nodes.len());
        // For each node, its last message so far and the conversation of that message.
        let mut tips: Vec<Option<ForkPoint>> = vec![None; nodes.len()];
        let mut is_first = true;
        for path in paths(&nodes, main) {
            left -= path.nodes.len();
            let after = path.after.and_then(|node| tips.get(node).cloned().flatten());
            let mut tip = after.clone();
            let mut begun = None;
            for index in path.nodes {
                let Some(node) = nodes.get_mut(index) else { continue };
                for (number, message) in std::mem::take(&mut node.messages).into_iter().enumerate() {
                    let of = begun.get_or_insert_with(|| {
                        let of = if is_first {
                            conversation_id(&[&name])
                        } else {
                            conversation_id(&[&name, &short(node.id)])
                        };
                        let begun = Conversation::new(of.clone()).fork(after.clone());
                        out.begin(begun.title(title.filter(|_| is_first).and_then(usable_title)));
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
        out.count(Why::Broken, &format!("{kind} of a cycle"), left as u64);
        if out.report.messages == before {
            out.skip(Why::Empty, "conversation without messages");
        }
    }
}

/// Key of a message of a node; the first one has the node's own key.
fn part_key(id: &str, number: usize) -> MessageKey {
    if number == 0 { key(id) } else { key(&format!("{id}.{number}")) }
}

/// A run of nodes, from parent to child.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    /// Node of an earlier path after which this path leaves it; `None` for a path from the root.
    after: Option<usize>,
    nodes: Vec<usize>,
}

/// The path to the leaf `main`, then those to the other leaves in the order of the nodes. No node is on two paths.
///
/// A missing parent counts as none. A cycle ends a path before it would repeat a node; nodes that are reachable only
/// through cycles are on no path.
fn paths(nodes: &[BranchNode<'_>], main: Option<&str>) -> Vec<Path> {
    let by_id: HashMap<&str, usize> = nodes.iter().enumerate().map(|(index, node)| (node.id, index)).collect();
    let parents: Vec<Option<usize>> =
        nodes.iter().map(|node| node.parent.and_then(|parent| by_id.get(parent).copied())).collect();
    let mut is_parent = vec![false; nodes.len()];
    for parent in parents.iter().flatten() {
        if let Some(is_parent) = is_parent.get_mut(*parent) {
            *is_parent = true;
        }
    }
    let main = main.and_then(|id| by_id.get(id).copied());
    let leaves = is_parent.iter().enumerate().filter(|(_, is_parent)| !**is_parent).map(|(index, _)| index);
    let mut taken = vec![false; nodes.len()];
    let mut paths = Vec::new();
    for leaf in main.into_iter().chain(leaves) {
        let mut run = Vec::new();
        let mut next = Some(leaf);
        let mut after = None;
        while let Some(node) = next {
            match taken.get_mut(node) {
                Some(taken) if !*taken => *taken = true,
                _ => {
                    // A node of the same run closes a cycle.
                    after = Some(node).filter(|node| !run.contains(node));
                    break;
                }
            }
            run.push(node);
            next = parents.get(node).copied().flatten();
        }
        run.reverse();
        if !run.is_empty() {
            paths.push(Path { after, nodes: run });
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[(&str, Option<&str>)], main: Option<&str>, expected: &[(Option<usize>, &[usize])]) {
        let nodes: Vec<_> = nodes
            .iter()
            .map(|(id, parent)| BranchNode { id, parent: *parent, messages: Vec::new(), at: None })
            .collect();
        let found = paths(&nodes, main);
        let expected: Vec<_> =
            expected.iter().map(|(after, nodes)| Path { after: *after, nodes: nodes.to_vec() }).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_main_path_comes_first_and_the_others_leave_it() {
        let tree = [("r", None), ("a", Some("r")), ("b", Some("a")), ("c", Some("a")), ("d", Some("c"))];
        check(&tree, Some("d"), &[(None, &[0, 1, 3, 4]), (Some(1), &[2])]);
        check(&tree, None, &[(None, &[0, 1, 2]), (Some(1), &[3, 4])]);
        check(&tree, Some("gone"), &[(None, &[0, 1, 2]), (Some(1), &[3, 4])]);
    }

    #[test]
    fn cycles_and_missing_parents_end_a_path() {
        check(&[("a", Some("b")), ("b", Some("a")), ("c", Some("a"))], Some("c"), &[(None, &[1, 0, 2])]);
        check(&[("a", Some("a"))], Some("a"), &[(None, &[0])]);
        check(&[("a", Some("x")), ("b", None)], None, &[(None, &[0]), (None, &[1])]);
        check(&[("a", Some("b")), ("b", Some("a"))], None, &[]);
    }
}
