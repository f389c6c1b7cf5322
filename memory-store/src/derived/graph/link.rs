//! Links nodes into the graph, in batches, on several threads, deterministically.

use std::{
    cmp::Reverse,
    num::NonZero,
    ops::Range,
    sync::{PoisonError, atomic::Ordering},
};

use super::{
    super::parallel::parallel,
    Codes, Graph,
    pool::Pool,
    select::{Candidate, Selection},
    walk::{Layer, Walk},
};

/// A batch has at most one `SHARE`-th of the nodes that are linked already.
const SHARE: usize = 50;
/// Maximum nodes of a batch, because each is compared with all others.
const LONGEST: usize = 1024;
/// Maximum candidates from its own batch for the neighbours of a node.
const WITHIN: usize = 32;
/// Nodes, or lists, that a thread takes at once.
const NODES: usize = 16;
const LISTS: usize = 64;

/// New neighbours of a node on a layer.
#[derive(Debug)]
struct List {
    node: u32,
    layer: usize,
    neighbours: Vec<u32>,
}

/// A link back from a chosen neighbour to the node that chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Back {
    layer: usize,
    from: u32,
    to: u32,
}

#[derive(Debug, Default)]
struct Linker {
    walk: Walk,
    selection: Selection,
    /// Other nodes of the batch, reduced to the nearest.
    others: Vec<u32>,
    within: Pool,
    products: Vec<i32>,
}

impl Graph {
    /// Links the unlinked rows for which there is [room](Self::grow).
    ///
    /// Algorithm 1, in batches as in ParlayANN (Manohar et al., 2024, arXiv 2305.04359, section 3): all nodes of a
    /// batch search their neighbours in the graph without the batch; then their lists are written; then every list that
    /// gets links back is rewritten once. No step depends on the order of work, so the graph is the same on any number
    /// of threads. A batch has at most a fiftieth of the nodes before it. Unlike in ParlayANN, a node is also compared
    /// with all of its batch, because consecutive messages are often about one subject, and a node without links to
    /// them is hard to find.
    ///
    /// Searches may run at the same time. A second call waits for the first.
    pub fn link(&self, codes: &Codes<'_>, threads: NonZero<usize>) {
        let _turn = self.linking.lock().unwrap_or_else(PoisonError::into_inner);
        let end = codes.len().min(self.room());
        let mut from = self.len();
        while from < end {
            let batch = (from / SHARE).clamp(1, LONGEST).min(end - from);
            let (Ok(first), Ok(last)) = (u32::try_from(from), u32::try_from(from + batch)) else { return };
            self.link_batch(codes, first..last, threads);
            from += batch;
        }
    }

    fn link_batch(&self, codes: &Codes<'_>, nodes: Range<u32>, threads: NonZero<usize>) {
        let entry = self.entry();
        let lists: Vec<List> = match entry {
            None => Vec::new(),
            Some(entry) => parallel(threads, nodes.clone(), NODES, Linker::default, |linker, node, lists| {
                self.choose_neighbours(codes, node, (&nodes, entry), linker, lists);
            }),
        };
        // A node's own lists are written before any link to it, so that a walk that reaches the node can go on.
        for list in &lists {
            self.write(list.node, list.layer, &list.neighbours);
        }
        let mut back: Vec<Back> = Vec::new();
        for List { node, layer, neighbours } in &lists {
            back.extend(neighbours.iter().map(|from| Back { layer: *layer, from: *from, to: *node }));
        }
        back.sort_unstable();
        let groups: Vec<&[Back]> = back.chunk_by(|a, b| (a.layer, a.from) == (b.layer, b.from)).collect();
        let _: Vec<()> = parallel(threads, groups, LISTS, Linker::default, |linker, group, _| {
            self.lead_back(codes, group, linker);
        });
        let top = nodes.clone().max_by_key(|node| (self.level(*node), Reverse(*node)));
        if let Some(top) = top.filter(|top| entry.is_none_or(|entry| self.level(*top) > self.level(entry))) {
            self.entry.store(top, Ordering::Release);
        }
        self.linked.store(nodes.end as usize, Ordering::Release);
    }

    /// Algorithm 1, lines 5 to 11 and 17, for one node.
    fn choose_neighbours(
        &self,
        codes: &Codes<'_>,
        node: u32,
        (batch, entry): (&Range<u32>, u32),
        linker: &mut Linker,
        lists: &mut Vec<List>,
    ) {
        let Linker { walk, selection, others, within, products } = linker;
        let query = codes.row(node);
        let top = self.level(entry).min(self.level(node));
        let mut entries = vec![walk.descend(self, codes, query, entry, top)];
        for number in (0..=top).rev() {
            let layer = Layer { number, entries: &entries };
            walk.search_layer(self, codes, query, layer, self.options.ef_construction, |_| true);
            selection.candidates.clear();
            selection.candidates.extend(walk.pool.results().map(|(node, likeness)| Candidate { node, likeness }));
            entries.clear();
            entries.extend(selection.candidates.iter().map(|candidate| candidate.node));
            others.clear();
            others.extend(batch.clone().filter(|other| *other != node && self.level(*other) >= number));
            within.clear(WITHIN);
            for (other, likeness) in others.iter().zip(codes.likenesses(query, others, products)) {
                within.push(*other, likeness, true);
            }
            selection.candidates.extend(within.results().map(|(node, likeness)| Candidate { node, likeness }));
            selection.choose(codes, node, self.options.degree);
            lists.push(List { node, layer: number, neighbours: selection.chosen.clone() });
        }
    }

    /// Algorithm 1, lines 12 to 16, for one neighbour and all nodes of a batch that chose it.
    fn lead_back(&self, codes: &Codes<'_>, group: &[Back], linker: &mut Linker) {
        let Some(&Back { layer, from, .. }) = group.first() else { return };
        let Linker { selection, products, .. } = linker;
        let list = &mut selection.chosen;
        list.clear();
        self.neighbours(from, layer, |node| list.push(node));
        list.extend(group.iter().map(|back| back.to));
        let at_most = self.options.capacity(layer);
        if list.len() > at_most {
            let likenesses = codes.likenesses(codes.row(from), list, products);
            let candidates = list.iter().zip(likenesses);
            selection.candidates.clear();
            selection.candidates.extend(candidates.map(|(node, likeness)| Candidate { node: *node, likeness }));
            selection.choose(codes, from, at_most);
        }
        self.write(from, layer, &selection.chosen);
    }
}
