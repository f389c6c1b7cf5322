//! The cost of a record in a small conversation and in a large one.

use std::{path::Path, time::Instant};

use anyhow::Result;

use super::{
    contender::Contender,
    filled::{create, fill, texts},
    ours::Ours,
    reads,
};
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::{Entrant, interleave},
};

const SMALL: usize = 10_000;
const LARGE: usize = 1_000_000;
const BYTES: usize = 200;
/// Records appended in a round, and read.
const APPENDED: usize = 2_000;
const BATCH: usize = 100;
const READ: u64 = 20_000;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("log: growing to a million records");
    let [mut small, mut large] = [create::<Ours>(directory)?, create::<Ours>(directory)?];
    fill(&mut small, SMALL, BYTES)?;
    fill(&mut large, LARGE, BYTES)?;
    let units = ["us", "us"];
    let [[large_append, large_read], [small_append, small_read]] = interleave([
        Entrant::new("1,000,000 records", units, || round(&mut large, LARGE)),
        Entrant::new("10,000 records", units, || round(&mut small, SMALL)),
    ])?;
    let appended = format!("time a record of 200 B, synced batches of {BATCH}");
    let read = "time a point read, all in the page cache, segments as appending leaves them: the last one not sealed";
    Ok(vec![
        Figure::ratio("append_1m_vs_10k", &large_append, &small_append, appended),
        Figure::ratio("read_1m_vs_10k", &large_read, &small_read, read),
    ])
}

/// Microseconds to append a record, and to read one.
fn round(store: &mut Ours, records: usize) -> Result<[f64; 2]> {
    let mut corpus = Corpus::new(7);
    let batches: Vec<_> = (0..APPENDED / BATCH).map(|_| Ours::batch(&texts(&mut corpus, BATCH, BYTES))).collect();
    let start = Instant::now();
    batches.into_iter().try_for_each(|batch| store.append(batch))?;
    #[expect(clippy::cast_precision_loss, reason = "some thousand records")]
    let appended = start.elapsed().as_secs_f64() * 1e6 / APPENDED as f64;
    Ok([appended, reads::points(store, records, BYTES, READ)?])
}
