//! The graph against an exact search: with removed rows, while it grows, and over equal vectors.
#![expect(clippy::cast_possible_truncation, reason = "blocks of some thousand rows")]

mod damage;

use std::{
    collections::HashSet,
    num::NonZero,
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use fastrand::Rng;
use proptest::prelude::*;

use super::*;
use crate::quantize;

const ONE: NonZero<usize> = NonZero::<usize>::MIN;

/// Vectors and their codes.
#[derive(Clone, Debug, Default)]
struct Block {
    dimensions: usize,
    components: Vec<f32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Block {
    fn new(dimensions: usize) -> Self {
        Self { dimensions, ..Self::default() }
    }

    fn push(&mut self, vector: &[f32]) {
        self.components.extend_from_slice(vector);
        self.scales.push(quantize(vector, &mut self.codes));
    }

    fn codes(&self) -> Codes<'_> {
        Codes::new(self.dimensions, &self.codes, &self.scales)
    }

    fn vector(&self, row: u32) -> &[f32] {
        &self.components[row as usize * self.dimensions..][..self.dimensions]
    }

    fn likeness(&self, query: &[f32], row: u32) -> f32 {
        query.iter().zip(self.vector(row)).map(|(a, b)| a * b).sum()
    }

    /// The truly nearest rows, by components and not by codes.
    fn nearest(&self, query: &[f32], limit: usize, keep: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.scales.len() as u32).filter(|row| keep(*row)).collect();
        rows.sort_by(|a, b| self.likeness(query, *b).total_cmp(&self.likeness(query, *a)).then(a.cmp(b)));
        rows.truncate(limit);
        rows
    }
}

fn unit(vector: impl IntoIterator<Item = f32>) -> Vec<f32> {
    let mut vector: Vec<f32> = vector.into_iter().collect();
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt().max(1e-6);
    vector.iter_mut().for_each(|component| *component /= length);
    vector
}

fn noise(rng: &mut Rng) -> f32 {
    // Nearly normal, as a sum of uniform numbers is.
    (0..4).map(|_| rng.f32() - 0.5).sum()
}

/// Vectors around some centres, in runs of one cluster, as the messages of a conversation are.
fn clustered(rng: &mut Rng, dimensions: usize, rows: usize, clusters: usize) -> Block {
    let mut block = Block::new(dimensions);
    let centres: Vec<Vec<f32>> = (0..clusters).map(|_| unit((0..dimensions).map(|_| noise(rng)))).collect();
    for row in 0..rows {
        let centre = &centres[row * clusters / rows.max(1)];
        let spread = 0.7 / (dimensions as f32).sqrt();
        block.push(&unit(centre.iter().map(|component| component + spread * 2.0 * noise(rng))));
    }
    block
}

fn built(options: GraphOptions, block: &Block, threads: usize) -> Graph {
    let mut graph = Graph::new(options);
    graph.grow(block.scales.len());
    graph.link(&block.codes(), NonZero::new(threads).unwrap());
    graph
}

fn found(graph: &Graph, block: &Block, query: &[f32], limit: usize, ef: usize, keep: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut codes = Vec::new();
    let _ = quantize(query, &mut codes);
    let near = graph.search(&block.codes(), &codes, 2 * limit, ef, keep);
    let mut rows: Vec<u32> = near.into_iter().map(|near| near.row).collect();
    rows.sort_by(|a, b| block.likeness(query, *b).total_cmp(&block.likeness(query, *a)).then(a.cmp(b)));
    rows.truncate(limit);
    rows
}

/// Share of the truly nearest rows that a search finds, over queries near the rows.
fn recall(graph: &Graph, block: &Block, rng: &mut Rng, ef: usize, keep: impl Fn(u32) -> bool) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for _ in 0..100 {
        let near = block.vector(rng.u32(0..block.scales.len() as u32)).to_vec();
        let query = unit(near.iter().map(|component| component + 0.03 * noise(rng)));
        let nearest = block.nearest(&query, 10, &keep);
        let found: HashSet<u32> = found(graph, block, &query, 10, ef, &keep).into_iter().collect();
        hits += nearest.iter().filter(|row| found.contains(row)).count();
        all += nearest.len();
    }
    f64::from(hits as u32) / f64::from(all as u32)
}

#[test]
fn recall_is_nearly_that_of_an_exact_search() {
    let rng = &mut Rng::with_seed(1);
    let block = clustered(rng, 64, 6000, 40);
    let graph = built(GraphOptions::default(), &block, 2);
    assert!(recall(&graph, &block, rng, 80, |_| true) >= 0.99);
    assert!(recall(&graph, &block, rng, 80, |row| row.is_multiple_of(3)) >= 0.99);
}

#[test]
fn rows_linked_one_by_one_are_found() {
    let rng = &mut Rng::with_seed(2);
    let block = clustered(rng, 32, 3000, 30);
    let mut graph = Graph::new(GraphOptions::default());
    for rows in 1..=block.scales.len() {
        graph.grow(rows);
        graph.link(&Codes::new(32, &block.codes[..rows * 32], &block.scales[..rows]), ONE);
        assert_eq!(graph.len(), rows);
    }
    assert!(recall(&graph, &block, rng, 80, |_| true) >= 0.99);
}

#[test]
fn the_graph_is_the_same_on_any_number_of_threads() {
    let block = clustered(&mut Rng::with_seed(3), 48, 3000, 20);
    let binding = damage::binding(&block);
    let bytes = |threads, seed| built(GraphOptions::default().seed(seed), &block, threads).encode(&binding);
    let one = bytes(1, 7);
    assert!((2..=4).all(|threads| bytes(threads, 7) == one));
    assert_ne!(bytes(1, 8), one);
}

#[test]
fn a_graph_of_nothing_finds_nothing() {
    let block = Block::new(8);
    let graph = built(GraphOptions::default(), &block, 2);
    assert!(graph.is_empty() && graph.search(&block.codes(), &[1; 8], 5, 50, |_| true).is_empty());
}

#[test]
fn a_limit_beyond_the_rows_gives_all_of_them() {
    let block = clustered(&mut Rng::with_seed(4), 16, 300, 3);
    let graph = built(GraphOptions::default(), &block, 1);
    let query = block.vector(5).to_vec();
    let all = found(&graph, &block, &query, 1000, 10, |_| true);
    assert_eq!(all, block.nearest(&query, 1000, |_| true));
    assert!(graph.search(&block.codes(), &[1; 16], 0, 10, |_| true).is_empty());
    // The query has another length than the rows.
    assert!(graph.search(&block.codes(), &[1; 15], 5, 10, |_| true).is_empty());
}

#[test]
fn vectors_of_any_number_of_dimensions_are_linked() {
    for dimensions in [1, 2, 3, 15, 16, 17, 63, 64, 65, 384, 1000, 1536] {
        let rng = &mut Rng::with_seed(dimensions as u64);
        let block = clustered(rng, dimensions, 300, 5);
        let graph = built(GraphOptions::default(), &block, 2);
        let query = block.vector(17).to_vec();
        let best = found(&graph, &block, &query, 1, 50, |_| true);
        assert!((block.likeness(&query, best[0]) - 1.0).abs() < 1e-3, "{dimensions} dimensions: {best:?}");
    }
}

#[test]
fn a_thousand_equal_vectors_hide_nothing() {
    let rng = &mut Rng::with_seed(5);
    let mut block = Block::new(32);
    let others = clustered(rng, 32, 3000, 30);
    let twin = unit((0..32).map(|_| noise(rng)));
    // The twins in the middle, so that rows come before and after them.
    for row in 0..4000u32 {
        match row {
            1500..2500 => block.push(&twin),
            0..1500 => block.push(others.vector(row)),
            _ => block.push(others.vector(row - 1000)),
        }
    }
    for threads in [1, 2] {
        let graph = built(GraphOptions::default(), &block, threads);
        let twins = found(&graph, &block, &twin, 300, 300, |_| true);
        let distinct: HashSet<_> = twins.iter().filter(|row| (1500..2500).contains(*row)).collect();
        assert_eq!(distinct.len(), 300);
        let others = |row| !(1500..2500).contains(&row);
        assert!(recall(&graph, &block, rng, 80, others) >= 0.99);
        // Walks that begin among the twins get away from them.
        let mut hits = 0;
        for row in (0..1500).chain(2500..4000).step_by(15) {
            hits += usize::from(found(&graph, &block, block.vector(row), 1, 80, |_| true) == [row]);
        }
        assert!(hits >= 198, "{hits} of 200");
    }
}

#[test]
fn only_equal_vectors_are_all_found() {
    let mut block = Block::new(4);
    (0..700).for_each(|_| block.push(&[0.5; 4]));
    let graph = built(GraphOptions::default(), &block, 2);
    let all = found(&graph, &block, &[0.5; 4], 700, 700, |_| true);
    assert_eq!(all, (0..700).collect::<Vec<u32>>());
}

#[test]
fn removed_rows_are_walked_through_and_never_found() {
    let rng = &mut Rng::with_seed(6);
    let block = clustered(rng, 32, 4000, 20);
    let graph = built(GraphOptions::default(), &block, 2);
    // A whole cluster and more: the walk to its neighbours goes through it.
    let removed = |row: u32| (1000..1200).contains(&row) || row.is_multiple_of(5);
    assert!(recall(&graph, &block, rng, 80, |row| !removed(row)) >= 0.99);
    for row in [1000, 1100, 5] {
        let near = found(&graph, &block, block.vector(row), 50, 80, |row| !removed(row));
        assert!(near.len() == 50 && near.iter().all(|row| !removed(*row)));
    }
}

#[test]
fn searches_go_on_while_rows_are_linked() {
    const STEP: usize = 100;
    let block = clustered(&mut Rng::with_seed(7), 32, 4000, 20);
    let graph = RwLock::new(Graph::new(GraphOptions::default()));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let searchers: Vec<_> = (0..3)
            .map(|seed| {
                let (block, graph, done) = (&block, &graph, &done);
                scope.spawn(move || {
                    let (rng, mut searches) = (&mut Rng::with_seed(seed), 0);
                    while !done.load(Ordering::Acquire) || searches == 0 {
                        let graph = graph.read().unwrap();
                        let linked = graph.len();
                        if linked == 0 {
                            continue;
                        }
                        // Rows that are linked now must be found while others are being linked.
                        let row = rng.u32(0..linked as u32);
                        let near = found(&graph, block, block.vector(row), 5, 150, |_| true);
                        assert_eq!(near.len(), 5.min(graph.room()));
                        assert_eq!(near.iter().collect::<HashSet<_>>().len(), near.len());
                        assert!(near.contains(&row), "row {row} of {linked}: {near:?}");
                        searches += 1;
                    }
                    searches
                })
            })
            .collect();
        for rows in (STEP..=4000).step_by(STEP) {
            graph.write().unwrap().grow(rows);
            let codes = Codes::new(32, &block.codes[..rows * 32], &block.scales[..rows]);
            graph.read().unwrap().link(&codes, ONE);
        }
        done.store(true, Ordering::Release);
        assert!(searchers.into_iter().all(|searcher| searcher.join().unwrap() > 0));
    });
    let graph = graph.into_inner().unwrap();
    assert!(recall(&graph, &block, &mut Rng::with_seed(8), 80, |_| true) >= 0.99);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<[i8; 3]>),
    Remove(prop::sample::Index),
    Reopen,
    Search([i8; 3], usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few different numbers, so that many vectors are equal.
    let vector = || prop::array::uniform3(-3i8..=3).prop_filter("no zeros", |vector| *vector != [0; 3]);
    let step = prop_oneof![
        4 => prop::collection::vec(vector(), 1..40).prop_map(Step::Insert),
        3 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => Just(Step::Reopen),
        4 => (vector(), 1usize..40).prop_map(|(query, limit)| Step::Search(query, limit)),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn inserts_and_removals_in_any_order_find_what_a_scan_finds(steps in steps()) {
        let options = GraphOptions::default().degree(8);
        let (mut graph, mut block, mut removed) = (Graph::new(options), Block::new(3), HashSet::new());
        for step in steps {
            let rows = block.scales.len();
            match step {
                Step::Insert(vectors) => {
                    vectors.iter().for_each(|vector| block.push(&unit(vector.map(f32::from))));
                    graph.grow(block.scales.len());
                    graph.link(&block.codes(), ONE);
                }
                Step::Remove(row) if rows > 0 => {
                    let row = row.index(rows) as u32;
                    removed.insert(row);
                }
                Step::Remove(_) => {}
                Step::Reopen => {
                    let bytes = graph.encode(&damage::binding(&block));
                    graph = Graph::decode(std::sync::Arc::new(bytes), &damage::binding(&block), options).unwrap();
                }
                Step::Search(query, limit) => {
                    let query = unit(query.map(f32::from));
                    // A search as wide as the graph is exact, except for the codes.
                    let near = found(&graph, &block, &query, limit, rows, |row| !removed.contains(&row));
                    let exact = block.nearest(&query, limit, |row| !removed.contains(&row));
                    prop_assert_eq!(near.len(), exact.len());
                    for (near, exact) in near.iter().zip(&exact) {
                        let difference = block.likeness(&query, *near) - block.likeness(&query, *exact);
                        prop_assert!(difference.abs() < 0.02, "{} instead of {}", near, exact);
                        prop_assert!(!removed.contains(near));
                    }
                }
            }
            prop_assert_eq!(graph.len(), block.scales.len());
        }
    }
}
