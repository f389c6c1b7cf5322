//! Paths through a tree of messages: the main one, and the part of each other branch that is not on an earlier path.

use std::collections::HashMap;

/// A node of a tree, in the order of the source.
#[derive(Debug)]
pub(crate) struct TreeNode<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
}

/// A run of nodes, from parent to child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// Node of an earlier path after which this path leaves it; `None` for a path from the root.
    pub(crate) after: Option<usize>,
    pub(crate) nodes: Vec<usize>,
}

/// The path to the leaf `main`, then those to the other leaves in the order of the nodes. No node is on two paths.
///
/// A missing parent counts as none. A cycle ends a path before it would repeat a node; nodes that are reachable only
/// through cycles are on no path.
pub(crate) fn paths(nodes: &[TreeNode<'_>], main: Option<&str>) -> Vec<Path> {
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
        let nodes: Vec<_> = nodes.iter().map(|(id, parent)| TreeNode { id, parent: *parent }).collect();
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
