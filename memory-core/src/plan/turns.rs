//! Turns: runs of nodes that must stay together, such as a tool call and its results.

use super::chunks::Chunks;
use crate::{NodeId, NodeOutline, NodeRange, Role};

/// Splits a conversation into turns: a message with tool calls together with everything up to the last of their
/// results, and each other message by itself. The turns tile the conversation.
///
/// A call without a result (the agent died, a tool was given up) extends its turn only to the next message that may
/// begin a prompt, or to the model's next message after a result, since providers accept no later result.
#[must_use]
pub fn turns(nodes: &[NodeOutline]) -> Vec<NodeRange> {
    let mut starts = Vec::new();
    let mut splitter = Splitter::default();
    let begun = nodes.iter().enumerate().filter(|(_, node)| splitter.begins_turn(node));
    starts.extend(begun.map(|(index, _)| NodeId::from_index(index)));
    let ends = starts.iter().skip(1).filter_map(|next| next.previous()).chain(NodeId::new(nodes.len() as u64));
    starts.iter().zip(ends).filter_map(|(start, end)| NodeRange::new(*start, end)).collect()
}

/// State of the last turn.
#[derive(Clone, Copy, Debug, Default)]
struct Splitter {
    open_calls: u32,
    answered: bool,
}

impl Splitter {
    /// True if the next node begins a new turn.
    fn begins_turn(&mut self, node: &NodeOutline) -> bool {
        let goes_on = self.answered && node.role == Role::Assistant;
        if node.begins_prompt() || goes_on {
            self.open_calls = 0;
        }
        let begins = self.open_calls == 0;
        self.answered = self.open_calls > 0 && (self.answered || node.answers > 0);
        self.open_calls = self.open_calls.saturating_sub(u32::from(node.answers)) + u32::from(node.calls);
        begins
    }
}

/// The turns of a growing conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// The first node of each turn.
    starts: Chunks<NodeId>,
    nodes: usize,
    splitter: Splitter,
}

impl Turns {
    /// Adds the next node; `false` if it continues the last turn.
    pub(super) fn push(&mut self, node: &NodeOutline) -> bool {
        let here = NodeId::from_index(self.nodes);
        self.nodes += 1;
        let begins = self.splitter.begins_turn(node);
        if begins {
            self.starts.push(here);
        }
        begins
    }

    fn at(&self, index: usize) -> Option<NodeRange> {
        let start = *self.starts.get(index)?;
        let end = match self.starts.get(index + 1) {
            Some(next) => next.previous(),
            None => NodeId::new(self.nodes as u64),
        };
        NodeRange::new(start, end?)
    }

    /// The turns, starting with the one that contains `node`.
    pub(super) fn from(&self, node: NodeId) -> impl Iterator<Item = NodeRange> {
        let first = self.starts.partition_point(|start| *start <= node).saturating_sub(1);
        let there = node.index() < self.nodes;
        (first..).map_while(move |index| self.at(index).filter(|_| there))
    }
}
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::testing::{outline, outlines};

    fn check(shape: &str, expected: &[&str]) {
        let nodes = outlines(shape);
        let runs: Vec<_> = turns(&nodes).iter().map(ToString::to_string).collect();
        assert_eq!(runs, expected, "{shape}");
    }

    /// `u` user, `a` assistant, `1`–`9` assistant with that many calls, `r` one result, `R` two results.
    #[test]
    fn tool_pairs_are_never_split() {
        check("", &[]);
        check("ua", &["1", "2"]);
        check("u1ra", &["1", "2-3", "4"]);
        check("u2Ra", &["1", "2-3", "4"]);
        check("u2rra", &["1", "2-4", "5"]);
        check("u1r1ra", &["1", "2-3", "4-5", "6"]);
        check("u2rua", &["1", "2-3", "4", "5"]);
        check("u1", &["1", "2"]);
        check("u2r1r1ra", &["1", "2-3", "4-5", "6-7", "8"]);
        check("u11rra", &["1", "2-5", "6"]);
        check("ru", &["1", "2"]);
    }

    proptest! {
        #[test]
        fn turns_tile_the_conversation(shape in "[uarR12]{0,40}") {
            let nodes = outlines(&shape);
            let runs = turns(&nodes);
            let covered: Vec<_> = runs.iter().flat_map(|run| run.iter()).collect();
            let all: Vec<_> = (0..nodes.len()).map(NodeId::from_index).collect();
            prop_assert_eq!(covered, all);
        }

        #[test]
        fn turns_that_grow_are_those_of_the_whole(shape in "[uarR12]{1,40}", from in 0usize..40) {
            let nodes = outlines(&shape);
            let mut growing = Turns::default();
            for (index, node) in nodes.iter().enumerate() {
                let begins = growing.push(node);
                let whole = turns(&nodes[..=index]);
                let start = NodeId::from_index(index);
                prop_assert_eq!(begins, whole.last().unwrap().first() == start);
                prop_assert!(growing.from(NodeId::FIRST).eq(whole.iter().copied()));
            }
            let from = NodeId::from_index(from);
            let expected = turns(&nodes).into_iter().filter(|turn| turn.last() >= from);
            prop_assert!(growing.from(from).eq(expected));
        }
    }

    #[test]
    fn an_outline_of_the_test_alphabet_is_what_it_says() {
        assert_eq!((outline('2').calls, outline('R').answers), (2, 2));
        assert!(!outline('r').begins_prompt());
    }
}
