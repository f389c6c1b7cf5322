//! The fence around hnsw_rs, and what it finds.

use std::{collections::HashSet, thread};

use fastrand::Rng;

use super::*;

const DIMENSIONS: usize = 24;

fn vectors(count: usize) -> Vec<Vec<f32>> {
    let rng = &mut Rng::with_seed(1);
    let unit = |_| {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| rng.f32() - 0.5).collect();
        let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
        vector.into_iter().map(|component| component / length).collect()
    };
    (0..count).map(unit).collect()
}

fn index(vectors: &[Vec<f32>], batch: usize) -> HnswRs {
    let index = HnswRs::new(DIMENSIONS, vectors.len());
    for batch in vectors.chunks(batch) {
        index.insert(&batch.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    }
    index
}

fn recall(index: &HnswRs, vectors: &[Vec<f32>], keep: impl Fn(u32) -> bool) -> f64 {
    let (mut hits, mut all) = (0u32, 0u32);
    for query in vectors.iter().step_by(37) {
        let mut exact: Vec<(u32, f32)> = (0u32..)
            .zip(vectors)
            .filter(|(row, _)| keep(*row))
            .map(|(row, vector)| (row, query.iter().zip(vector).map(|(a, b)| a * b).sum()))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found: HashSet<u32> = index.search(query, 10, 200, &keep).unwrap().iter().map(|near| near.row).collect();
        hits += exact.iter().take(10).map(|(row, _)| u32::from(found.contains(row))).sum::<u32>();
        all += 10;
    }
    f64::from(hits) / f64::from(all)
}

#[test]
fn nearly_all_of_the_nearest_are_found() {
    let vectors = vectors(2000);
    for batch in [1, 7, 2000] {
        let index = index(&vectors, batch);
        assert_eq!(index.len(), 2000);
        assert!(recall(&index, &vectors, |_| true) >= 0.97);
        assert!(recall(&index, &vectors, |row| row.is_multiple_of(3)) >= 0.97);
    }
}

#[test]
fn bad_vectors_are_refused_before_the_crate_sees_them() {
    let good = vectors(3);
    let index = index(&good, 3);
    let mut nan = good[0].clone();
    nan[3] = f32::NAN;
    let mut infinite = good[0].clone();
    infinite[0] = f32::INFINITY;
    let long: Vec<f32> = good[0].iter().map(|component| component * 1.1).collect();
    for bad in [&nan, &infinite, &long, &vec![0.0; DIMENSIONS]] {
        assert_eq!(index.insert(&[&good[0], bad]), Err(HnswRsError::BadVector));
        assert_eq!(index.search(bad, 1, 10, |_| true), Err(HnswRsError::BadVector));
    }
    let short = HnswRsError::Dimensions { expected: DIMENSIONS, found: 2 };
    assert_eq!(index.insert(&[&[0.6, 0.8]]), Err(short.clone()));
    assert_eq!(index.search(&[0.6, 0.8], 1, 10, |_| true), Err(short));
    assert_eq!(index.len(), 3);
}

#[test]
fn nothing_and_too_much_can_be_asked_for() {
    let vectors = vectors(30);
    let empty = index(&[], 1);
    assert!(empty.len() == 0 && empty.search(&vectors[0], 5, 10, |_| true).unwrap().is_empty());
    let index = index(&vectors, 30);
    assert_eq!(index.search(&vectors[0], 1000, 1000, |_| true).unwrap().len(), 30);
    assert!(index.search(&vectors[0], 0, 10, |_| true).unwrap().is_empty());
    assert!(index.search(&vectors[0], 5, 10, |_| false).unwrap().is_empty());
}

#[test]
fn a_panic_is_an_error_from_then_on() {
    let vectors = vectors(30);
    let index = index(&vectors, 30);
    // The filter is called in the midst of the crate's walk.
    let error = index.search(&vectors[0], 5, 10, |_| panic!("in the walk")).unwrap_err();
    assert_eq!(error, HnswRsError::Panicked { message: "in the walk".to_owned() });
    assert_eq!(index.search(&vectors[0], 5, 10, |_| true), Err(error.clone()));
    assert_eq!(index.insert(&[&vectors[0]]), Err(error));
}

#[test]
fn searches_and_inserts_take_turns() {
    let vectors = vectors(1000);
    let index = index(&vectors[..100], 100);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while index.len() < 1000 {
                    assert_eq!(index.search(&vectors[5], 5, 50, |_| true).unwrap().len(), 5);
                }
            });
        }
        for batch in vectors[100..].chunks(50) {
            index.insert(&batch.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        }
    });
    assert!(recall(&index, &vectors, |_| true) >= 0.97);
}
