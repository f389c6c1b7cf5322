//! Appending in durable batches: processor time a record, and how long a batch takes.

use std::{path::Path, time::Instant};

use anyhow::Result;

use super::{
    SIZES,
    bare::Bare,
    contender::{Contender, cpu_time_of},
    filled::{create, texts},
    ours::Ours,
    peers::{Fjall, Redb},
    sqlite::Sqlite,
};
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::{Entrant, interleave},
    stats::quantile,
};

/// Records of a batch.
const BATCH: usize = 100;
/// Bytes of texts that a round appends. What a store puts off falls into each round: 64 MiB fill a table in memory of
/// a log-structured merge tree, and a segment of ours.
const ROUND_BYTES: usize = 64 << 20;
/// Batches of different texts; a round appends them over and over.
const DIFFERENT: usize = 40;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut figures: [Vec<Figure>; 7] = Default::default();
    for bytes in SIZES {
        eprintln!("log: appending records of {bytes} B");
        let mut ours = create::<Ours>(directory)?;
        let mut bare = create::<Bare>(directory)?;
        let mut fjall = create::<Fjall>(directory)?;
        let mut redb = create::<Redb>(directory)?;
        let mut sqlite = create::<Sqlite>(directory)?;
        let units = ["us", "ms"];
        let [[ours_cpu, ours_p10], [bare_cpu, _], [fjall_cpu, fjall_p10], [redb_cpu, _], [sqlite_cpu, sqlite_p10]] =
            interleave([
                Entrant::new(Ours::NAME, units, || round(&mut ours, bytes)),
                Entrant::new(Bare::NAME, units, || {
                    bare.restart();
                    round(&mut bare, bytes)
                }),
                Entrant::new(Fjall::NAME, units, || round(&mut fjall, bytes)),
                Entrant::new(Redb::NAME, units, || round(&mut redb, bytes)),
                Entrant::new(Sqlite::NAME, units, || round(&mut sqlite, bytes)),
            ])?;
        let size = format!("the worse of two sizes, {bytes} B");
        let cpu = format!(
            "processor time a record, all threads, synced batches of {BATCH}, 64 MiB a round, so that flushing and \
             rolling over are in it; {size}"
        );
        let floor = format!("{}, as a share of the peer: no store that does both can be below; {size}", Bare::NAME);
        let latency = format!("tenth percentile of a batch; {size}");
        let [cpu_fjall, cpu_redb, p10_fjall, cpu_sqlite, p10_sqlite, floor_fjall, floor_redb] = &mut figures;
        cpu_fjall.push(Figure::ratio("append_cpu_vs_fjall", &ours_cpu, &fjall_cpu, &*cpu));
        cpu_redb.push(Figure::ratio("append_cpu_vs_redb", &ours_cpu, &redb_cpu, &*cpu));
        p10_fjall.push(Figure::ratio("batch100_durable_p10_vs_fjall", &ours_p10, &fjall_p10, &*latency));
        cpu_sqlite.push(Figure::ratio("append_cpu_vs_sqlite", &ours_cpu, &sqlite_cpu, cpu));
        p10_sqlite.push(Figure::ratio("batch100_durable_p10_vs_sqlite", &ours_p10, &sqlite_p10, latency));
        floor_fjall.push(Figure::ratio("append_cpu_floor_vs_fjall", &bare_cpu, &fjall_cpu, &*floor));
        floor_redb.push(Figure::ratio("append_cpu_floor_vs_redb", &bare_cpu, &redb_cpu, floor));
    }
    Ok(figures.into_iter().filter_map(Figure::largest).collect())
}

/// Appends a round's batches; gives microseconds of processor time a record, and the tenth percentile of the batches'
/// milliseconds.
fn round<C: Contender>(store: &mut C, bytes: usize) -> Result<[f64; 2]> {
    let mut corpus = Corpus::new(2);
    let different: Vec<_> = (0..DIFFERENT).map(|_| texts(&mut corpus, BATCH, bytes)).collect();
    let batches = ROUND_BYTES / (BATCH * bytes);
    let made: Vec<_> = different.iter().cycle().take(batches).map(|texts| C::batch(texts)).collect();
    let mut took = Vec::with_capacity(batches);
    let cpu = cpu_time_of(|| {
        made.into_iter().try_for_each(|batch| {
            let start = Instant::now();
            store.append(batch)?;
            took.push(start.elapsed().as_secs_f64() * 1e3);
            Ok(())
        })
    })?;
    took.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand records")]
    let records = (BATCH * batches) as f64;
    Ok([cpu.as_secs_f64() * 1e6 / records, quantile(&took, 0.1)])
}
