//! The conformance suite of [`VectorIndex`]: one set of checks that every backend passes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a suite of tests: a breach panics")]

mod plain;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use self::plain::{Plain, Random, cosine};
use crate::{
    ConversationId, NodeId, NodeSet,
    port::{
        AnsweredBy, BoxFuture, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats, VectorPart,
        VectorQuery,
    },
};

/// Components of every vector in the suite.
pub const DIMENSIONS: usize = 48;
/// The largest difference between two ways of summing a cosine.
const TOLERANCE: f32 = 1e-5;
const QUERIES: usize = 50;
const LIMIT: usize = 10;

/// Opens indexes under test.
pub trait IndexUnderTest: Sync {
    /// The index number `case`, which is empty when opened first. When it is opened again, the earlier handle was
    /// dropped, and flushed data is present if the index [keeps](Self::keeps) it.
    fn open(&self, case: u32) -> Arc<dyn VectorIndex>;

    /// True if a flush outlives the handle.
    fn keeps(&self) -> bool;

    /// Minimum share of the ten nearest vectors that are found among clustered ones.
    fn recall(&self) -> f64;

    /// True if a graph answers for the suite's largest conversation after it was [prepared](VectorIndex::prepare).
    fn prepares_graphs(&self) -> bool {
        false
    }

    /// Runs a future to its end.
    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T
    where
        Self: Sized;
}

/// Checks the whole contract of [`VectorIndex`].
///
/// # Panics
/// When the index breaks the contract.
pub fn vector_index_conformance<I: IndexUnderTest>(under_test: &I) {
    let suite = Suite { under_test };
    suite.an_unknown_conversation_is_empty(0);
    suite.bad_vectors_are_refused_whole(1);
    suite.bad_queries_are_refused(2);
    suite.equal_vectors_are_ordered_by_place(3);
    suite.the_nearest_of_clustered_vectors_are_found(4);
    suite.a_selection_answers_alone(5);
    suite.parts_are_searched_together(6);
    suite.inserts_and_removals_interleave(7);
    suite.searches_run_while_vectors_are_inserted(8);
    suite.a_reopened_index_is_what_was_flushed(9);
}

struct Suite<'a, I> {
    under_test: &'a I,
}

type Nodes = Vec<(NodeId, Vec<Vec<f32>>)>;

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).expect("a valid name")
}

fn axis(number: usize) -> Vec<f32> {
    (0..DIMENSIONS).map(|at| if at == number { 1.0 } else { 0.0 }).collect()
}

fn is_ordered(hits: &[VectorHit]) -> bool {
    let key = |hit: &VectorHit| (hit.part, hit.slot);
    hits.iter().zip(hits.iter().skip(1)).all(|(a, b)| a.cosine > b.cosine || a.cosine == b.cosine && key(a) < key(b))
}

impl<I: IndexUnderTest> Suite<'_, I> {
    fn open(&self, case: u32) -> Arc<dyn VectorIndex> {
        let index = self.under_test.open(case);
        assert_eq!(index.dimensions(), DIMENSIONS, "the suite's vectors have {DIMENSIONS} components");
        index
    }

    fn insert(&self, index: &dyn VectorIndex, id: &ConversationId, nodes: &Nodes) -> Result<(), VectorError> {
        self.under_test.block_on(index.insert(id, nodes))
    }

    fn search(&self, index: &dyn VectorIndex, query: &VectorQuery<'_>) -> Result<VectorAnswer, VectorError> {
        let answer = self.under_test.block_on(index.search(query))?;
        let place = |hit: &VectorHit| (hit.part, hit.slot);
        let is_as_said =
            if query.limit == usize::MAX { answer.hits.is_sorted_by_key(place) } else { is_ordered(&answer.hits) };
        assert!(is_as_said, "hits come best first, equal ones and all that there are by place: {:?}", answer.hits);
        assert!(answer.hits.len() <= query.limit, "more hits than were asked for");
        assert_eq!(answer.answered_by.len(), query.parts.len(), "how each part was searched is said");
        Ok(answer)
    }

    fn search_one(&self, index: &dyn VectorIndex, id: &ConversationId, vector: &[f32], limit: usize) -> Vec<VectorHit> {
        let query = VectorQuery { vector, limit, parts: &[VectorPart::new(id)] };
        self.search(index, &query).expect("it can be searched").hits
    }

    /// Checks that every hit is an expected vector with its own cosine. Returns the number of nearest vectors that were
    /// found.
    fn check(
        &self,
        index: &dyn VectorIndex,
        id: &ConversationId,
        plain: &Plain,
        vector: &[f32],
        only: Option<&NodeSet>,
    ) -> usize {
        let query = VectorQuery { vector, limit: LIMIT, parts: &[VectorPart { conversation: id, only }] };
        let hits = self.search(index, &query).expect("it can be searched").hits;
        let nearest = plain.nearest(vector, LIMIT, only);
        assert_eq!(hits.len(), nearest.len(), "as many hits as there are, up to the limit");
        for hit in &hits {
            let expected = plain.cosine(hit.slot, vector);
            let right = expected.is_some_and(|expected| (expected - hit.cosine).abs() < TOLERANCE);
            assert!(right, "{hit:?} is there with cosine {expected:?}");
            assert!(only.is_none_or(|only| only.contains(hit.slot.node)), "{hit:?} was not to answer");
        }
        // A vector as near as the last one is equally good.
        let last = nearest.last().map_or(1.0, |(cosine, _)| cosine - TOLERANCE);
        hits.iter().filter(|hit| hit.cosine >= last).count()
    }

    /// Prepares first, so that the answer does not depend on the progress of background work.
    fn check_recall(&self, index: &dyn VectorIndex, id: &ConversationId, plain: &Plain, queries: &[Vec<f32>]) {
        self.under_test.block_on(index.prepare(id, &())).unwrap();
        let found: usize = queries.iter().map(|query| self.check(index, id, plain, query, None)).sum();
        let there: usize = queries.iter().map(|query| plain.nearest(query, LIMIT, None).len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let recall = if there == 0 { 1.0 } else { found as f64 / there as f64 };
        assert!(recall >= self.under_test.recall(), "recall {recall} of {} vectors", plain.vectors.len());
    }

    fn an_unknown_conversation_is_empty(&self, case: u32) {
        let index = self.open(case);
        assert_eq!(index.stats(&id("nobody")), VectorIndexStats::default());
        assert_eq!(self.search_one(&*index, &id("nobody"), &axis(0), 3), []);
        let none = VectorQuery { vector: &axis(0), limit: 3, parts: &[] };
        assert_eq!(self.search(&*index, &none).unwrap(), VectorAnswer::default());
    }

    fn bad_vectors_are_refused_whole(&self, case: u32) {
        let (index, a) = (self.open(case), id("a"));
        let with = |change: &dyn Fn(&mut Vec<f32>)| {
            let mut vector = axis(0);
            change(&mut vector);
            vec![(NodeId::FIRST, vec![axis(1)]), (NodeId::FIRST.next(), vec![axis(1), vector])]
        };
        let set = |value: f32| with(&|vector| vector.iter_mut().take(1).for_each(|component| *component = value));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 0.9, 1.1, f32::MAX, f32::MIN_POSITIVE] {
            let refused = self.insert(&*index, &a, &set(bad));
            assert!(matches!(refused, Err(VectorError::BadVector { .. })), "{bad}: {refused:?}");
        }
        let changes: [fn(&mut Vec<f32>); 3] = [|vector| vector.truncate(9), |vector| vector.push(0.0), Vec::clear];
        for change in changes {
            let refused = self.insert(&*index, &a, &with(&change));
            assert!(matches!(refused, Err(VectorError::Dimensions { expected: DIMENSIONS, .. })), "{refused:?}");
        }
        let late = self.insert(&*index, &a, &vec![(NodeId::FIRST.next(), vec![])]);
        assert!(matches!(late, Err(VectorError::OutOfOrder { expected: NodeId::FIRST, .. })), "{late:?}");
        let twice = vec![(NodeId::FIRST, vec![axis(0)]), (NodeId::FIRST, vec![axis(0)])];
        assert!(matches!(self.insert(&*index, &a, &twice), Err(VectorError::OutOfOrder { .. })));
        assert_eq!(index.stats(&a), VectorIndexStats::default(), "of a refused batch nothing is kept");
        assert_eq!(self.search_one(&*index, &a, &axis(1), 3), []);
    }

    fn bad_queries_are_refused(&self, case: u32) {
        let (index, a) = (self.open(case), id("a"));
        self.insert(&*index, &a, &vec![(NodeId::FIRST, vec![axis(0)])]).unwrap();
        let parts = [VectorPart::new(&a)];
        let ask = |vector: &[f32]| self.search(&*index, &VectorQuery { vector, limit: 1, parts: &parts });
        for bad in [f32::NAN, f32::INFINITY, 0.0] {
            let vector: Vec<f32> = axis(0).iter().map(|component| component * bad).collect();
            assert!(matches!(ask(&vector), Err(VectorError::BadQuery)), "{bad}");
        }
        assert!(matches!(ask(&[1.0]), Err(VectorError::Dimensions { expected: DIMENSIONS, found: 1 })));
        let long: Vec<f32> = axis(0).iter().map(|component| component * 40.0).collect();
        assert!((ask(&long).unwrap().hits.first().unwrap().cosine - 1.0).abs() < TOLERANCE);
    }

    fn equal_vectors_are_ordered_by_place(&self, case: u32) {
        let (index, ids) = (self.open(case), [id("a"), id("b")]);
        let nodes: Nodes = (1..=20).filter_map(NodeId::new).map(|node| (node, vec![axis(0), axis(0)])).collect();
        for id in &ids {
            self.insert(&*index, id, &nodes).unwrap();
        }
        let parts = ids.each_ref().map(VectorPart::new);
        let query = VectorQuery { vector: &axis(0), limit: usize::MAX, parts: &parts };
        assert_eq!(self.search(&*index, &query).unwrap().hits.len(), 80, "no limit is no limit");
        let query = VectorQuery { limit: 0, ..query };
        assert_eq!(self.search(&*index, &query).unwrap().hits, []);
    }

    fn the_nearest_of_clustered_vectors_are_found(&self, case: u32) {
        let (index, a, mut random) = (self.open(case), id("a"), Random(4));
        let (centres, mut plain) = (random.centres(40), Plain::default());
        for batch in 0..8 {
            let nodes = random.nodes(&centres, batch * 400 + 1, 400);
            self.insert(&*index, &a, &nodes).unwrap();
            plain.insert(&nodes);
        }
        let stats = index.stats(&a);
        assert_eq!((stats.vectors, stats.through), (plain.vectors.len() as u64, plain.through));
        let queries: Vec<_> = centres.iter().cycle().take(QUERIES).map(|centre| random.near(centre)).collect();
        self.check_recall(&*index, &a, &plain, &queries);
        self.under_test.block_on(index.flush()).unwrap();
        self.check_recall(&*index, &a, &plain, &queries);
        if self.under_test.prepares_graphs() {
            let query = VectorQuery { vector: queries.first().unwrap(), limit: LIMIT, parts: &[VectorPart::new(&a)] };
            let answered_by = self.search(&*index, &query).unwrap().answered_by;
            assert!(matches!(answered_by[..], [AnsweredBy::Graph { .. }]), "it was a graph: {answered_by:?}");
        }
    }

    fn a_selection_answers_alone(&self, case: u32) {
        let (index, a, mut random) = (self.open(case), id("a"), Random(5));
        let (centres, mut plain) = (random.centres(10), Plain::default());
        let nodes = random.nodes(&centres, 1, 1_500);
        self.insert(&*index, &a, &nodes).unwrap();
        plain.insert(&nodes);
        for one_in in [1, 2, 20, 300, u64::MAX] {
            let only: NodeSet = (1..=1_600).filter_map(NodeId::new).filter(|_| random.below(one_in) == 0).collect();
            for query in &centres {
                let found = self.check(&*index, &a, &plain, query, Some(&only));
                // With a tenth of the vectors or fewer, these are compared one by one.
                assert!(one_in < 20 || found == plain.nearest(query, LIMIT, Some(&only)).len(), "one in {one_in}");
            }
        }
        let far = NodeSet::from_iter([NodeId::new(u64::MAX).unwrap()]);
        self.check(&*index, &a, &plain, &axis(0), Some(&far));
    }

    fn parts_are_searched_together(&self, case: u32) {
        let (index, mut random) = (self.open(case), Random(6));
        let ids = ["c", "a", "unknown", "b"].map(id);
        let centres = random.centres(5);
        let mut all = Vec::new();
        for (part, id) in ids.iter().enumerate().filter(|(part, _)| *part != 2) {
            let nodes = random.nodes(&centres, 1, 200);
            self.insert(&*index, id, &nodes).unwrap();
            let mut plain = Plain::default();
            plain.insert(&nodes);
            all.extend(plain.vectors.into_iter().map(|(slot, vector)| (part, slot, vector)));
        }
        let only: NodeSet = (50..150).filter_map(NodeId::new).collect();
        let mut parts = ids.each_ref().map(VectorPart::new);
        parts.iter_mut().skip(3).for_each(|part| part.only = Some(&only));
        all.retain(|(part, slot, _)| *part != 3 || only.contains(slot.node));
        let query = VectorQuery { vector: &random.near(centres.first().unwrap()), limit: usize::MAX, parts: &parts };
        let hits = self.search(&*index, &query).unwrap().hits;
        assert_eq!(hits.len(), all.len());
        for (part, slot, vector) in &all {
            let hit = hits.iter().find(|hit| (hit.part, hit.slot) == (*part, *slot)).expect("all are found");
            assert!((hit.cosine - cosine(query.vector, vector)).abs() < TOLERANCE, "{hit:?}");
        }
        let best = self.search(&*index, &VectorQuery { limit: 1, ..query }).unwrap().hits;
        assert_eq!(best.first().map(|hit| hit.cosine), hits.iter().map(|hit| hit.cosine).max_by(f32::total_cmp));
    }

    fn inserts_and_removals_interleave(&self, case: u32) {
        let (mut index, a, mut random) = (self.open(case), id("a"), Random(7));
        let (centres, mut plain) = (random.centres(12), Plain::default());
        for step in 0..40 {
            if step % 4 == 3 {
                let gone: NodeSet =
                    (1..=plain.through).filter_map(NodeId::new).filter(|_| random.below(9) == 0).collect();
                let removed = self.under_test.block_on(index.remove(&a, &gone)).unwrap();
                assert_eq!(removed, plain.remove(&gone), "as many as were there");
                assert_eq!(self.under_test.block_on(index.remove(&a, &gone)).unwrap(), 0, "they are gone");
            } else {
                let count = 1 + random.below(60);
                let nodes = random.nodes(&centres, plain.through + 1, count);
                self.insert(&*index, &a, &nodes).unwrap();
                plain.insert(&nodes);
            }
            if self.under_test.keeps() && step % 2 == 1 {
                self.under_test.block_on(index.flush()).unwrap();
                drop(index);
                index = self.open(case);
            }
            let stats = index.stats(&a);
            assert_eq!((stats.vectors, stats.through), (plain.vectors.len() as u64, plain.through), "step {step}");
            self.check_recall(&*index, &a, &plain, &centres);
        }
    }

    fn searches_run_while_vectors_are_inserted(&self, case: u32) {
        let (index, a, mut random) = (self.open(case), id("a"), Random(8));
        let (centres, mut plain) = (random.centres(8), Plain::default());
        let batches: Vec<_> = (0..60).map(|batch| random.nodes(&centres, batch * 20 + 1, 20)).collect();
        batches.iter().for_each(|batch| plain.insert(batch));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for centre in centres.iter().take(2) {
                scope.spawn(|| {
                    // One more round when all are inserted.
                    let mut last = false;
                    while !last {
                        last = done.load(Ordering::Acquire);
                        let before = index.stats(&a);
                        let hits = self.search_one(&*index, &a, centre, LIMIT);
                        let least = usize::try_from(before.vectors).unwrap().min(LIMIT);
                        assert!(hits.len() >= least, "{} of {least} hits", hits.len());
                        for hit in hits {
                            let expected = plain.cosine(hit.slot, centre).expect("no other slots");
                            assert!((hit.cosine - expected).abs() < TOLERANCE, "{hit:?} has cosine {expected}");
                        }
                    }
                });
            }
            for batch in &batches {
                self.insert(&*index, &a, batch).unwrap();
                // An inserted vector is found at once.
                for (node, vectors) in batch.iter().filter(|(_, vectors)| !vectors.is_empty()).take(1) {
                    let hits = self.search_one(&*index, &a, vectors.first().unwrap(), 1);
                    assert_eq!(hits.first().map(|hit| hit.slot.node), Some(*node));
                }
            }
            done.store(true, Ordering::Release);
        });
        self.check_recall(&*index, &a, &plain, &centres);
    }
    fn a_reopened_index_is_what_was_flushed(&self, case: u32) {
        if !self.under_test.keeps() {
            return;
        }
        let (mut index, a, mut random) = (self.open(case), id("a"), Random(9));
        let centres = random.centres(12);
        let (mut plain, mut flushed) = (Plain::default(), Plain::default());
        for step in 0..60 {
            match random.below(6) {
                0 => {
                    self.under_test.block_on(index.flush()).unwrap();
                    flushed = plain.clone();
                }
                1 => {
                    let first = random.below(plain.through + 1);
                    let gone: NodeSet = (first..=plain.through).step_by(5).filter_map(NodeId::new).collect();
                    let removed = self.under_test.block_on(index.remove(&a, &gone)).unwrap();
                    assert_eq!(removed, plain.remove(&gone), "as many as were there");
                }
                _ => {
                    let count = 1 + random.below(40);
                    let nodes = random.nodes(&centres, plain.through + 1, count);
                    self.insert(&*index, &a, &nodes).unwrap();
                    plain.insert(&nodes);
                }
            }
            // A restart at any point loses unflushed vectors, which the owner inserts again.
            if random.below(2) == 0 {
                drop(index);
                index = self.open(case);
                plain = flushed.clone();
            }
            let stats = index.stats(&a);
            assert_eq!((stats.vectors, stats.through), (plain.vectors.len() as u64, plain.through), "step {step}");
            self.check_recall(&*index, &a, &plain, &centres);
        }
    }
}
