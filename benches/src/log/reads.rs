//! Reading records back: one at a random position, and runs of fifty.

use std::{hint::black_box, path::Path, time::Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;

use super::{
    SIZES,
    contender::Contender,
    filled::filled,
    ours::Ours,
    peers::{Fjall, Redb},
};
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

const RECORDS: usize = 100_000;
/// Reads of a round.
const POINTS: u64 = 20_000;
/// Runs of a round, and the records of each.
const RUNS: u64 = 1_000;
const RUN: u64 = 50;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let (mut point_redb, mut point_fjall, mut range_redb) = (Vec::new(), Vec::new(), Vec::new());
    for bytes in SIZES {
        eprintln!("log: reading records of {bytes} B");
        let ours = filled::<Ours>(directory, RECORDS, bytes)?;
        let fjall = filled::<Fjall>(directory, RECORDS, bytes)?;
        let redb = filled::<Redb>(directory, RECORDS, bytes)?;
        let units = ["us", "us"];
        let [[ours, ours_range], [fjall, _], [redb, redb_range]] = interleave([
            Entrant::new(Ours::NAME, units, || round(&ours, bytes)),
            Entrant::new(Fjall::NAME, units, || round(&fjall, bytes)),
            Entrant::new(Redb::NAME, units, || round(&redb, bytes)),
        ])?;
        let note =
            format!("{RECORDS} records in the page cache, ours checked and decoded; the worse of two sizes, {bytes} B");
        point_redb.push(Figure::ratio("point_read_vs_redb", &ours, &redb, &*note));
        point_fjall.push(Figure::ratio("point_read_vs_fjall", &ours, &fjall, &*note));
        range_redb.push(Figure::ratio("range50_vs_redb", &ours_range, &redb_range, note));
    }
    Ok([point_redb, point_fjall, range_redb].into_iter().filter_map(Figure::largest).collect())
}

/// Microseconds a point read, and a run.
fn round<C: Contender>(store: &C, bytes: usize) -> Result<[f64; 2]> {
    Ok([points(store, RECORDS, bytes, POINTS)?, runs(store, bytes)?])
}

/// Microseconds a read at random positions of a store with `records` texts of `bytes` each.
pub(super) fn points<C: Contender>(store: &C, records: usize, bytes: usize, reads: u64) -> Result<f64> {
    let mut rng = Rng::with_seed(4);
    let positions: Vec<_> = (0..reads).map(|_| rng.u64(0..records as u64)).collect();
    let start = Instant::now();
    let mut read = 0;
    for &position in &positions {
        read += black_box(store.read(position)?);
    }
    let took = start.elapsed();
    ensure!(read as u64 == reads * bytes as u64, "{} gave back {read} bytes", C::NAME);
    #[expect(clippy::cast_precision_loss, reason = "some thousand reads")]
    Ok(took.as_secs_f64() * 1e6 / reads as f64)
}

fn runs<C: Contender>(store: &C, bytes: usize) -> Result<f64> {
    let mut rng = Rng::with_seed(5);
    let firsts: Vec<_> = (0..RUNS).map(|_| rng.u64(0..RECORDS as u64 - RUN)).collect();
    let start = Instant::now();
    let mut read = 0;
    for &first in &firsts {
        read += black_box(store.read_run(first, RUN)?);
    }
    let took = start.elapsed();
    ensure!(read as u64 == RUNS * RUN * bytes as u64, "{} gave back {read} bytes", C::NAME);
    #[expect(clippy::cast_precision_loss, reason = "some thousand runs")]
    Ok(took.as_secs_f64() * 1e6 / RUNS as f64)
}
