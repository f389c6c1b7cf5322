//! Reading records back: one at a random position, and runs of fifty.

use std::{hint::black_box, path::Path, time::Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;

use super::{
    contender::Contender,
    copied::{Built, Copied},
    filled::{create, fill, filled},
    ours::Ours,
    peers::{Fjall, Redb},
    sizes::SIZES,
    sqlite::Sqlite,
};
use crate::{
    figure::{Figure, worst_size},
    rounds::{Entrant, interleave},
};

const RECORDS: usize = 100_000;
/// Reads in a round.
const POINTS: u64 = 20_000;
/// Runs in a round, and the records of each.
const RUNS: u64 = 1_000;
const RUN: u64 = 50;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut sizes = Vec::new();
    for bytes in SIZES {
        eprintln!("log: reading records of {bytes} B");
        let ours = filled::<Ours>(directory, RECORDS, bytes)?;
        let mut active = create::<Ours>(directory)?;
        fill(&mut active, RECORDS, bytes)?;
        let fjall = filled::<Fjall>(directory, RECORDS, bytes)?;
        let redb = filled::<Redb>(directory, RECORDS, bytes)?;
        let sqlite = filled::<Sqlite>(directory, RECORDS, bytes)?;
        let units = ["us", "us"];
        let floor = filled::<Copied>(directory, RECORDS, bytes)?;
        let built = filled::<Built>(directory, RECORDS, bytes)?;
        let [
            [ours, ours_range],
            [active, active_range],
            [fjall, _],
            [redb, redb_range],
            [sqlite, sqlite_range],
            [floor, floor_range],
            [built, built_range],
        ] = interleave([
            Entrant::new(Ours::NAME, units, || round(&ours, bytes)),
            Entrant::new("memory-store, just appended", units, || round(&active, bytes)),
            Entrant::new(Fjall::NAME, units, || round(&fjall, bytes)),
            Entrant::new(Redb::NAME, units, || round(&redb, bytes)),
            Entrant::new(Sqlite::NAME, units, || round(&sqlite, bytes)),
            Entrant::new(Copied::NAME, units, || round(&floor, bytes)),
            Entrant::new(Built::NAME, units, || round(&built, bytes)),
        ])?;
        let size = format!("ours checked and decoded; the worse of two sizes, {bytes} B");
        let settled = format!("{RECORDS} records in the page cache, all stores settled, our segments sealed; {size}");
        let fresh = format!("{RECORDS} records in the page cache, read by position as far as not sealed yet; {size}");
        let least = format!(
            "{RECORDS} texts in a row in memory, each with its checksum, and what a read of one costs at least, as a share of \
             the peer: no store that checks what it gives out can be below; of the size that is worse for ours, {bytes} B"
        );
        let as_nodes = format!("{least}; each text given out as a node of this library");
        sizes.push([
            vec![
                Figure::ratio("point_read_vs_redb", &ours, &redb, &*settled),
                Figure::ratio("point_read_floor_vs_redb", &floor, &redb, &*least),
                Figure::ratio("point_read_node_floor_vs_redb", &built, &redb, &*as_nodes),
            ],
            vec![
                Figure::ratio("point_read_vs_fjall", &ours, &fjall, &*settled),
                Figure::ratio("point_read_floor_vs_fjall", &floor, &fjall, &*least),
            ],
            vec![
                Figure::ratio("range50_vs_redb", &ours_range, &redb_range, &*settled),
                Figure::ratio("range50_floor_vs_redb", &floor_range, &redb_range, least),
                Figure::ratio("range50_node_floor_vs_redb", &built_range, &redb_range, as_nodes),
            ],
            vec![Figure::ratio("point_read_vs_sqlite", &ours, &sqlite, &*settled)],
            vec![Figure::ratio("range50_vs_sqlite", &ours_range, &sqlite_range, settled)],
            vec![Figure::ratio("point_read_appended_vs_redb", &active, &redb, &*fresh)],
            vec![Figure::ratio("range50_appended_vs_redb", &active_range, &redb_range, fresh)],
        ]);
    }
    Ok(worst_size(sizes))
}

/// Microseconds for a point read, and for a run.
fn round<C: Contender>(store: &C, bytes: usize) -> Result<[f64; 2]> {
    Ok([points(store, RECORDS, bytes, POINTS)?, runs(store, bytes)?])
}

/// Microseconds for a read at random positions of a store with `records` texts of `bytes` each.
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
