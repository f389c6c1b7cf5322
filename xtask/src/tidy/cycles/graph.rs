//! The graph of uses between files, and its cycles.

use std::collections::{BTreeMap, BTreeSet};

/// For each file the files that it uses, each with the first name that it uses there.
#[derive(Debug, Default)]
pub(super) struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    pub(super) fn add(&mut self, from: &str, to: &str, name: &str) {
        if from == to {
            return;
        }
        let names = self.0.entry(from.to_owned()).or_default();
        let first = names.entry(to.to_owned()).or_insert_with(|| name.to_owned());
        if name < first.as_str() {
            name.clone_into(first);
        }
    }

    /// Groups of more than `most` files that all use each other, directly or not; in order.
    pub(super) fn cycles(&self, most: usize) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<_, _> = self.0.keys().map(|file| (file.as_str(), self.reached_from(file))).collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
        let mut cycles: Vec<BTreeSet<&str>> = Vec::new();
        for file in reached.keys() {
            if cycles.iter().any(|cycle| cycle.contains(file)) {
                continue;
            }
            let cycle: BTreeSet<_> = reached.keys().copied().filter(|o| reaches(file, o) && reaches(o, file)).collect();
            if cycle.len() > most {
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// The uses among some files: from, to, name.
    pub(super) fn edges<'g>(&'g self, among: &'g BTreeSet<&str>) -> impl Iterator<Item = (&'g str, &'g str, &'g str)> {
        let of_file = |from: &'g str| self.0.get(from).into_iter().flatten().map(move |(to, name)| (from, to, name));
        let edges = among.iter().flat_map(move |from| of_file(from));
        edges
            .filter(|(_, to, _)| among.contains(to.as_str()))
            .map(|(from, to, name)| (from, to.as_str(), name.as_str()))
    }

    fn reached_from<'g>(&'g self, file: &'g str) -> BTreeSet<&'g str> {
        let mut reached = BTreeSet::new();
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            let used = self.0.get(file).into_iter().flat_map(BTreeMap::keys);
            next.extend(used.map(String::as_str).filter(|file| reached.insert(*file)));
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &str) -> Graph {
        let mut graph = Graph::default();
        for edge in edges.split(' ') {
            let (from, to) = edge.split_once('>').unwrap();
            graph.add(from, to, "X");
        }
        graph
    }

    #[test]
    fn a_cycle_is_found_with_what_hangs_on_it_left_out() {
        let graph = graph("a>b b>c c>a c>d e>a b>b");
        assert_eq!(graph.cycles(2), [BTreeSet::from(["a", "b", "c"])]);
        assert!(graph.cycles(3).is_empty());
    }

    #[test]
    fn cycles_that_meet_are_one_and_others_are_not() {
        assert_eq!(graph("a>b b>a b>c c>b").cycles(1), [BTreeSet::from(["a", "b", "c"])]);
        let parted = graph("a>b b>a b>c c>d d>c");
        assert_eq!(parted.cycles(1), [BTreeSet::from(["a", "b"]), BTreeSet::from(["c", "d"])]);
    }
}
