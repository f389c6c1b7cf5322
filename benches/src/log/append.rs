//! Appending in durable batches: processor time for each record, and the duration of a batch.

use std::{env, io::Write, path::Path, process::Command};

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::{
    appender::{Appender, BATCH},
    sizes::SIZES,
};
use crate::{
    figure::{Figure, worst_size},
    rounds::{Entrant, interleave},
    subprocess::Subprocess,
};

/// About as many bytes as all stores write until their files are removed.
const ROOM: usize = 1 << 30;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut sizes = Vec::new();
    for bytes in SIZES {
        eprintln!("log: appending records of {bytes} B");
        // Files that the processes leave are removed before the next size begins.
        let directory = &tempfile::tempdir_in(directory)?;
        make_room(directory.path())?;
        let entrant = |store: Appender| -> Result<_> {
            Ok(Entrant::new(store.name(), ["us", "ms"], rounds_of(store, bytes, directory.path())?))
        };
        let [[ours_cpu, ours_p10], [bare_cpu, _], [fjall_cpu, fjall_p10], [redb_cpu, _], [sqlite_cpu, sqlite_p10]] =
            interleave([
                entrant(Appender::Ours)?,
                entrant(Appender::Bare)?,
                entrant(Appender::Fjall)?,
                entrant(Appender::Redb)?,
                entrant(Appender::Sqlite)?,
            ])?;
        let size = format!("the worse of two sizes, {bytes} B");
        let cpu = format!(
            "processor time a record, all threads of a process of its own until it is at rest, synced batches of {BATCH}, \
             64 MiB a round, so that flushing and rolling over are in it; {size}"
        );
        let floor = format!(
            "{}, as a share of the peer: no store that does both can be below; of the size that is worse for ours, {bytes} B",
            Appender::Bare.name()
        );
        let latency = format!("tenth percentile of a batch; {size}");
        sizes.push([
            vec![
                Figure::ratio("append_cpu_vs_fjall", &ours_cpu, &fjall_cpu, &*cpu),
                Figure::ratio("append_cpu_floor_vs_fjall", &bare_cpu, &fjall_cpu, &*floor),
            ],
            vec![
                Figure::ratio("append_cpu_vs_redb", &ours_cpu, &redb_cpu, &*cpu),
                Figure::ratio("append_cpu_floor_vs_redb", &bare_cpu, &redb_cpu, floor),
            ],
            vec![Figure::ratio("batch100_durable_p10_vs_fjall", &ours_p10, &fjall_p10, &*latency)],
            vec![Figure::ratio("append_cpu_vs_sqlite", &ours_cpu, &sqlite_cpu, cpu)],
            vec![Figure::ratio("batch100_durable_p10_vs_sqlite", &ours_p10, &sqlite_p10, latency)],
        ]);
    }
    Ok(worst_size(sizes))
}

/// Writes a file and removes it, so that a virtual machine has the memory that the page cache will need.
fn make_room(directory: &Path) -> Result<()> {
    let mut file = tempfile::tempfile_in(directory)?;
    let zeros = vec![0; 1 << 20];
    (0..ROOM).step_by(zeros.len()).try_for_each(|_| file.write_all(&zeros)).context("writing a file of zeros")
}

/// Starts a process that appends to a store. Returns a function that measures a round of it: microseconds of processor
/// time for each record, and the tenth percentile of the batches' milliseconds.
fn rounds_of(store: Appender, bytes: usize, directory: &Path) -> Result<impl FnMut() -> Result<[f64; 2]>> {
    let mut command = Command::new(env::current_exe()?);
    let argument = store.to_possible_value().context("every store can be asked for")?;
    command.args(["append", argument.get_name(), &bytes.to_string()]).arg(directory);
    let mut process = Subprocess::start(store.name(), &mut command)?;
    Ok(move || {
        let answer = process.ask("round")?;
        let (cpu, p10) = answer.trim().split_once(' ').with_context(|| format!("{answer:?} is not two numbers"))?;
        Ok([cpu.parse()?, p10.parse()?])
    })
}
