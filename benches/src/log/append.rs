//! Appending in durable batches: processor time a record, and how long a batch takes.

use std::{path::Path, time::Instant};

use anyhow::Result;

use super::{
    SIZES,
    contender::{Contender, cpu_time_of},
    filled::{create, texts},
    ours::Ours,
    peers::{Fjall, Redb},
};
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::{Entrant, interleave},
    stats::quantile,
};

/// Records of a batch.
const BATCH: usize = 100;
/// Batches of a round.
const BATCHES: usize = 40;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let (mut cpu_fjall, mut cpu_redb, mut latency) = (Vec::new(), Vec::new(), Vec::new());
    for bytes in SIZES {
        eprintln!("log: appending records of {bytes} B");
        let mut ours = create::<Ours>(directory)?;
        let mut fjall = create::<Fjall>(directory)?;
        let mut redb = create::<Redb>(directory)?;
        let [[ours_cpu, ours_p10], [fjall_cpu, fjall_p10], [redb_cpu, _]] = interleave([
            Entrant::new(Ours::NAME, ["us", "ms"], || round(&mut ours, bytes)),
            Entrant::new(Fjall::NAME, ["us", "ms"], || round(&mut fjall, bytes)),
            Entrant::new(Redb::NAME, ["us", "ms"], || round(&mut redb, bytes)),
        ])?;
        let size = format!("the worse of two sizes, {bytes} B");
        let cpu = format!("processor time a record, all threads, synced batches of {BATCH}; {size}");
        cpu_fjall.push(Figure::ratio("append_cpu_vs_fjall", &ours_cpu, &fjall_cpu, &*cpu));
        cpu_redb.push(Figure::ratio("append_cpu_vs_redb", &ours_cpu, &redb_cpu, cpu));
        latency.push(Figure::ratio("batch100_durable_p10_vs_fjall", &ours_p10, &fjall_p10, size));
    }
    Ok([cpu_fjall, cpu_redb, latency].into_iter().filter_map(Figure::largest).collect())
}

/// Appends a round's batches; gives microseconds of processor time a record, and the tenth percentile of the batches'
/// milliseconds.
fn round<C: Contender>(store: &mut C, bytes: usize) -> Result<[f64; 2]> {
    let mut corpus = Corpus::new(2);
    let batches: Vec<_> = (0..BATCHES).map(|_| C::batch(&texts(&mut corpus, BATCH, bytes))).collect();
    let mut took = Vec::with_capacity(BATCHES);
    let cpu = cpu_time_of(|| {
        batches.into_iter().try_for_each(|batch| {
            let start = Instant::now();
            store.append(batch)?;
            took.push(start.elapsed().as_secs_f64() * 1e3);
            Ok(())
        })
    })?;
    took.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand records")]
    let records = (BATCH * BATCHES) as f64;
    Ok([cpu.as_secs_f64() * 1e6 / records, quantile(&took, 0.1)])
}
