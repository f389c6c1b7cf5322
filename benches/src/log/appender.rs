//! Appending in a process of its own: whatever a store does meanwhile and afterwards is counted as its own.

use std::{
    io::{self, BufRead, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use cpu_time::{ProcessTime, ThreadTime};
use tempfile::TempDir;

use super::{
    bare::Bare,
    contender::Contender,
    filled::texts,
    ours::Ours,
    peers::{Fjall, Redb},
    sqlite::Sqlite,
};
use crate::{corpus::Corpus, stats::quantile};

/// Records of a batch.
pub(super) const BATCH: usize = 100;
/// Bytes of texts that a round appends. What a store puts off falls into each round: 64 MiB fill a table in memory of
/// a log-structured merge tree, and a segment of ours.
const ROUND_BYTES: usize = 64 << 20;
/// Batches of different texts; a round appends them over and over.
const DIFFERENT: usize = 40;
/// A store is made anew after so many rounds, and its files are removed: stores that only grow would soon be measured by
/// what it costs to find memory for the page cache, which on a virtual machine is more than all else.
const RENEWED: usize = 2;
/// A store is at rest that used next to no processor time for so long, this often in a row: whoever waits for the disk
/// uses none either, but goes on before long.
const QUIET: Duration = Duration::from_millis(100);
const TIMES: u32 = 4;
/// What it may use then: looking at the clock costs some.
const NEXT_TO_NOTHING: Duration = Duration::from_millis(2);
/// How long rest is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store to append to.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Appender {
    /// Ours.
    Ours,
    /// A file and a hash.
    Bare,
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
            Self::Bare => Bare::NAME,
            Self::Fjall => Fjall::NAME,
            Self::Redb => Redb::NAME,
            Self::Sqlite => Sqlite::NAME,
        }
    }
}

/// Makes a store under `directory`, appends a round of texts of `bytes` each for every line that is read, and answers
/// with the microseconds of processor time a record and the tenth percentile of the batches' milliseconds.
///
/// # Errors
/// When the store fails, or does not come to rest.
pub fn serve_appends(store: Appender, bytes: usize, directory: &Path) -> Result<()> {
    match store {
        Appender::Ours => serve::<Ours>(bytes, directory),
        Appender::Bare => serve::<Bare>(bytes, directory),
        Appender::Fjall => serve::<Fjall>(bytes, directory),
        Appender::Redb => serve::<Redb>(bytes, directory),
        Appender::Sqlite => serve::<Sqlite>(bytes, directory),
    }
}

fn serve<C: Contender>(bytes: usize, directory: &Path) -> Result<()> {
    let mut store: Option<(C, TempDir)> = None;
    for (round, line) in io::stdin().lock().lines().enumerate() {
        line?;
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
        let mut answers = io::stdout().lock();
        writeln!(answers, "{cpu} {p10}")?;
        answers.flush()?;
        store = Some((made, home));
    }
    Ok(())
}

/// Appends a round's batches and waits until the store is at rest.
fn measure_round<C: Contender>(store: &mut C, bytes: usize) -> Result<[f64; 2]> {
    let mut corpus = Corpus::new(2);
    let different: Vec<_> = (0..DIFFERENT).map(|_| texts(&mut corpus, BATCH, bytes)).collect();
    let batches = ROUND_BYTES / (BATCH * bytes);
    let made: Vec<_> = different.iter().cycle().take(batches).map(|texts| C::batch(texts)).collect();
    let mut took = Vec::with_capacity(batches);
    store.begin_round();
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

/// Waits until this process is at rest.
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
