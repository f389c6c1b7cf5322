//! Appends in a separate process, so that all processor time of a store is counted, including that after an append.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use cpu_time::{ProcessTime, ThreadTime};
use tempfile::TempDir;

use super::stores::{Contender, Fjall, Ours, Redb, Sqlite, texts};
use crate::{corpus::Corpus, figure::quantile, process};

/// Records of a batch.
pub(super) const BATCH: usize = 100;
/// Bytes of text that a round appends. Deferred work of a store must fall into each round: 64 MiB fill an in-memory
/// table of a log-structured merge tree, and a segment of ours.
const ROUND_BYTES: usize = 64 << 20;
/// Batches with different texts; a round appends them repeatedly.
const DIFFERENT: usize = 40;
/// Rounds after which a store is recreated and its files are removed. Otherwise the growing page cache, whose memory is
/// expensive on a virtual machine, would soon dominate the measurement.
const RENEWED: usize = 2;
/// Duration without processor time after which a store counts as idle, several times in a row. A store that waits for
/// the disk uses none either, but soon continues.
const QUIET: Duration = Duration::from_millis(100);
const TIMES: u32 = 4;
/// Processor time of an idle store; reading the clock takes some.
const NEXT_TO_NOTHING: Duration = Duration::from_millis(2);
/// Maximum wait for an idle store.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store to append to.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Appender {
    /// Our log.
    Ours,
    /// A log-structured merge tree.
    Fjall,
    /// A copy-on-write B-tree.
    Redb,
    /// A B-tree behind a write-ahead log.
    Sqlite,
}

impl Appender {
    /// The name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => Ours::NAME,
            Self::Fjall => Fjall::NAME,
            Self::Redb => Redb::NAME,
            Self::Sqlite => Sqlite::NAME,
        }
    }
}

/// Creates a store under `directory`. For each input line, appends a round of texts of `bytes` bytes and prints the
/// processor time per record in microseconds and the tenth percentile of the batch times in milliseconds.
///
/// # Errors
/// If the store fails, or does not become idle.
pub(crate) fn serve_appends(store: Appender, bytes: usize, directory: &Path) -> Result<()> {
    match store {
        Appender::Ours => serve::<Ours>(bytes, directory),
        Appender::Fjall => serve::<Fjall>(bytes, directory),
        Appender::Redb => serve::<Redb>(bytes, directory),
        Appender::Sqlite => serve::<Sqlite>(bytes, directory),
    }
}

fn serve<C: Contender>(bytes: usize, directory: &Path) -> Result<()> {
    let (mut store, mut round): (Option<(C, TempDir)>, usize) = (None, 0);
    process::serve(|_| {
        let (mut made, home) = match store.take() {
            Some(there) if !round.is_multiple_of(RENEWED) => there,
            old => {
                drop(old);
                let home = tempfile::tempdir_in(directory)?;
                (C::create(home.path())?, home)
            }
        };
        rest()?;
        let [cpu, p10] = measure_round(&mut made, bytes)?;
        (store, round) = (Some((made, home)), round + 1);
        Ok(format!("{cpu} {p10}"))
    })
}

/// Appends a round's batches and waits until the store is idle.
fn measure_round<C: Contender>(store: &mut C, bytes: usize) -> Result<[f64; 2]> {
    let mut corpus = Corpus::new(2);
    let different: Vec<_> = (0..DIFFERENT).map(|_| texts(&mut corpus, BATCH, bytes)).collect();
    let batches = ROUND_BYTES / (BATCH * bytes);
    let made: Vec<_> = different.iter().cycle().take(batches).map(|texts| C::batch(texts)).collect();
    let mut took = Vec::with_capacity(batches);
    let start = ProcessTime::try_now()?;
    for batch in made {
        let start = Instant::now();
        store.append(batch)?;
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let waiting = ThreadTime::try_now()?;
    rest()?;
    let cpu = start.try_elapsed()?.saturating_sub(waiting.try_elapsed()?);
    took.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand records")]
    let records = (BATCH * batches) as f64;
    Ok([cpu.as_secs_f64() * 1e6 / records, quantile(&took, 0.1)])
}

/// Waits until this process is idle.
fn rest() -> Result<()> {
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < TIMES {
        ensure!(start.elapsed() < PATIENCE, "the store does not come to rest");
        let used = ProcessTime::try_now()?;
        thread::sleep(QUIET);
        quiet = if used.try_elapsed()? < NEXT_TO_NOTHING { quiet + 1 } else { 0 };
    }
    Ok(())
}
