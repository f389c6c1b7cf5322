//! Runs of nodes that stand or fall together: a tool call and its results.

use crate::{NodeId, NodeOutline, NodeRange, Role};

/// Splits a conversation into runs that must not be parted: a message that calls tools, everything up to
/// the last of their results, and else each message alone. The runs tile the conversation.
///
/// A call that is never answered (the agent died, a tool was given up) binds nothing beyond the next message
/// that may begin a prompt, nor beyond the model's next message once a result came: providers take no later one.
#[must_use]
pub fn turns(nodes: &[NodeOutline]) -> Vec<NodeRange> {
    let mut runs = Vec::new();
    let mut start = NodeId::FIRST;
    let mut open_calls = 0u32;
    let mut answered = false;
    for (index, node) in nodes.iter().enumerate() {
        let here = NodeId::from_index(index);
        let goes_on = answered && node.role == Role::Assistant;
        if open_calls > 0 && (node.begins_prompt() || goes_on) {
            runs.extend(here.previous().and_then(|last| NodeRange::new(start, last)));
            start = here;
            open_calls = 0;
        }
        answered = open_calls > 0 && (answered || node.answers > 0);
        open_calls = open_calls.saturating_sub(u32::from(node.answers)) + u32::from(node.calls);
        if open_calls == 0 {
            runs.extend(NodeRange::new(start, here));
            start = here.next();
        }
    }
    let last = NodeId::new(nodes.len() as u64);
    runs.extend(last.and_then(|last| NodeRange::new(start, last)));
    runs
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
    }

    #[test]
    fn an_outline_of_the_test_alphabet_is_what_it_says() {
        assert_eq!((outline('2').calls, outline('R').answers), (2, 2));
        assert!(!outline('r').begins_prompt());
    }
}
