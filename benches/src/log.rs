//! The group `log`: the cost of appending and reading records, compared with other stores.

mod appender;
pub(crate) mod privacy;
mod stores;

use std::{fs, hint::black_box, io::Write, path::Path, thread, time::Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use fastrand::Rng;
use memory_core::{ConversationId, port::Store};
use memory_store::{CompressionOptions, VacuumOptions};

use self::{
    appender::BATCH,
    stores::{Contender, Fjall, Ours, Redb, Sqlite, create, draft, fill, filled, texts},
};
use crate::{
    corpus::Corpus,
    figure::{Entrant, Figure, interleave, worst_size},
    process::{self, Subprocess},
};

pub use appender::Appender;
pub(crate) use appender::serve_appends;

/// Bytes of a record's text: a short message, and a long one.
const SIZES: [usize; 2] = [SHORT, 2_000];
const SHORT: usize = 200;
/// Records of a store that is read, opened again or measured on disk.
const RECORDS: usize = 100_000;
/// Approximate bytes that all stores write before their files are removed.
const ROOM: usize = 1 << 30;
/// Reads of single records in a round.
const POINTS: u64 = 20_000;
/// Reads of runs in a round.
const RUNS: u64 = 1_000;
/// Records of a run.
const RUN: u64 = 50;
/// Writers at once.
const WRITERS: usize = 64;
/// Records of each of several writers in a round.
const EACH: usize = 50;
/// Records of a writer alone in a round.
const ALONE: usize = 200;
/// Records of a small conversation.
const SMALL: usize = 10_000;
/// Records of a large conversation.
const LARGE: usize = 1_000_000;
/// Records that a round appends to a small or a large conversation.
const APPENDED: usize = 2_000;

/// Measures the group, with its files under `directory`.
///
/// # Errors
/// When a store fails.
pub(crate) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut figures = appends(directory)?;
    figures.push(group_commit(directory)?);
    figures.extend(reads(directory)?);
    figures.push(reopen(directory)?);
    eprintln!("log: room on disk");
    figures.extend(worst_of_sizes(|bytes| disk(directory, bytes))?);
    figures.extend(worst_of_sizes(|bytes| compressed(directory, RECORDS, bytes))?);
    figures.extend(growth(directory)?);
    Ok(figures)
}

fn worst_of_sizes(measure: impl FnMut(usize) -> Result<Figure>) -> Result<Option<Figure>> {
    Ok(Figure::largest(SIZES.into_iter().map(measure).collect::<Result<_>>()?))
}

/// Durable batches: processor time for each record, and the duration of a batch.
fn appends(directory: &Path) -> Result<Vec<Figure>> {
    let mut sizes = Vec::new();
    for bytes in SIZES {
        eprintln!("log: appending records of {bytes} B");
        // Files that the processes leave are removed before the next size begins.
        let directory = &tempfile::tempdir_in(directory)?;
        make_room(directory.path())?;
        let entrant = |store: Appender| -> Result<_> {
            Ok(Entrant::new(store.name(), ["us", "ms"], rounds_of(store, bytes, directory.path())?))
        };
        let [[ours_cpu, ours_p10], [fjall_cpu, fjall_p10], [redb_cpu, _], [sqlite_cpu, sqlite_p10]] = interleave([
            entrant(Appender::Ours)?,
            entrant(Appender::Fjall)?,
            entrant(Appender::Redb)?,
            entrant(Appender::Sqlite)?,
        ])?;
        let size = format!("the worse of two sizes, {bytes} B");
        let cpu = format!(
            "processor time a record, all threads of a process of its own until it is at rest, synced batches of {BATCH}, \
             64 MiB a round, so that flushing and rolling over are in it; {size}"
        );
        let latency = format!("tenth percentile of a batch; {size}");
        sizes.push([
            Figure::ratio("append_cpu_vs_fjall", &ours_cpu, &fjall_cpu, &*cpu),
            Figure::ratio("append_cpu_vs_redb", &ours_cpu, &redb_cpu, &*cpu),
            Figure::ratio("batch100_durable_p10_vs_fjall", &ours_p10, &fjall_p10, &*latency),
            Figure::ratio("append_cpu_vs_sqlite", &ours_cpu, &sqlite_cpu, cpu),
            Figure::ratio("batch100_durable_p10_vs_sqlite", &ours_p10, &sqlite_p10, latency),
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
    let argument = store.to_possible_value().context("every store can be asked for")?;
    let mut command = process::task(["append", argument.get_name(), &bytes.to_string()])?;
    let mut process = Subprocess::start(store.name(), command.arg(directory))?;
    Ok(move || process::parse(&process.ask("round")?))
}

/// Reading records back: one at a random position, and runs of fifty.
fn reads(directory: &Path) -> Result<Vec<Figure>> {
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
        let [[ours, ours_range], [active, active_range], [fjall, _], [redb, redb_range], [sqlite, sqlite_range]] =
            interleave([
                Entrant::new(Ours::NAME, units, || read_round(&ours, bytes)),
                Entrant::new("memory-store, just appended", units, || read_round(&active, bytes)),
                Entrant::new(Fjall::NAME, units, || read_round(&fjall, bytes)),
                Entrant::new(Redb::NAME, units, || read_round(&redb, bytes)),
                Entrant::new(Sqlite::NAME, units, || read_round(&sqlite, bytes)),
            ])?;
        let size = format!("ours checked and decoded; the worse of two sizes, {bytes} B");
        let settled = format!("{RECORDS} records in the page cache, all stores settled, our segments sealed; {size}");
        let fresh = format!("{RECORDS} records in the page cache, read by position as far as not sealed yet; {size}");
        sizes.push([
            Figure::ratio("point_read_vs_redb", &ours, &redb, &*settled),
            Figure::ratio("point_read_vs_fjall", &ours, &fjall, &*settled),
            Figure::ratio("range50_vs_redb", &ours_range, &redb_range, &*settled),
            Figure::ratio("point_read_vs_sqlite", &ours, &sqlite, &*settled),
            Figure::ratio("range50_vs_sqlite", &ours_range, &sqlite_range, settled),
            Figure::ratio("point_read_appended_vs_redb", &active, &redb, &*fresh),
            Figure::ratio("range50_appended_vs_redb", &active_range, &redb_range, fresh),
        ]);
    }
    Ok(worst_size(sizes))
}

/// Microseconds for a point read, and for a run.
fn read_round<C: Contender>(store: &C, bytes: usize) -> Result<[f64; 2]> {
    Ok([points(store, RECORDS, bytes, POINTS)?, runs(store, bytes)?])
}

/// Microseconds for a read at random positions of a store with `records` texts of `bytes` each.
fn points<C: Contender>(store: &C, records: usize, bytes: usize, reads: u64) -> Result<f64> {
    let mut rng = Rng::with_seed(4);
    let positions: Vec<_> = (0..reads).map(|_| rng.u64(0..records as u64)).collect();
    timed::<C>(&positions, bytes as u64, |position| store.read(position))
}

fn runs<C: Contender>(store: &C, bytes: usize) -> Result<f64> {
    let mut rng = Rng::with_seed(5);
    let firsts: Vec<_> = (0..RUNS).map(|_| rng.u64(0..RECORDS as u64 - RUN)).collect();
    timed::<C>(&firsts, RUN * bytes as u64, |first| store.read_run(first, RUN))
}

/// Microseconds per read, each of which must return `bytes` bytes.
fn timed<C: Contender>(positions: &[u64], bytes: u64, read: impl Fn(u64) -> Result<usize>) -> Result<f64> {
    let (start, mut all) = (Instant::now(), 0);
    for &position in positions {
        all += black_box(read(position)?);
    }
    let took = start.elapsed();
    ensure!(all as u64 == positions.len() as u64 * bytes, "{} gave back {all} bytes", C::NAME);
    #[expect(clippy::cast_precision_loss, reason = "some thousand reads")]
    Ok(took.as_secs_f64() * 1e6 / positions.len() as f64)
}

/// Many writers at once: their durable records a second with shared syncs.
fn group_commit(directory: &Path) -> Result<Figure> {
    eprintln!("log: {WRITERS} writers");
    let ours = create::<Ours>(directory)?;
    let [[many], [one]] = interleave([
        Entrant::new(format!("{WRITERS} writers"), ["records/s"], || Ok([rate(&ours, WRITERS, EACH)?])),
        Entrant::new("1 writer", ["records/s"], || Ok([rate(&ours, 1, ALONE)?])),
    ])?;
    let note = "each writer appends one record of 200 B to a conversation of its own and waits until it is on disk";
    Ok(Figure::ratio("group_commit_64_vs_1", &many, &one, note))
}

/// Durable records a second of `writers` writers, each with its own thread and conversation.
fn rate(ours: &Ours, writers: usize, records: usize) -> Result<f64> {
    let mut corpus = Corpus::new(3);
    let conversations: Vec<_> =
        (0..writers).map(|writer| ConversationId::new(&format!("writer-{writer}"))).collect::<Result<_, _>>()?;
    let texts: Vec<_> = conversations.iter().map(|_| texts(&mut corpus, records, SHORT)).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        let writers: Vec<_> = conversations
            .iter()
            .zip(&texts)
            .map(|(conversation, texts)| {
                scope.spawn(move || -> Result<()> {
                    for text in texts {
                        pollster::block_on(ours.store().append(conversation, vec![draft(text)]))?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().ok().context("a writer panicked")?)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand records")]
    Ok((writers * records) as f64 / start.elapsed().as_secs_f64())
}

/// The cost of a record in a small conversation and in a large one.
fn growth(directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("log: growing to a million records");
    let [mut small, mut large] = [create::<Ours>(directory)?, create::<Ours>(directory)?];
    fill(&mut small, SMALL, SHORT)?;
    fill(&mut large, LARGE, SHORT)?;
    let units = ["us", "us"];
    let [[large_append, large_read], [small_append, small_read]] = interleave([
        Entrant::new("1,000,000 records", units, || grow_and_read(&mut large, LARGE)),
        Entrant::new("10,000 records", units, || grow_and_read(&mut small, SMALL)),
    ])?;
    let appended = format!("time a record of 200 B, synced batches of {BATCH}");
    let read = "time a point read, all in the page cache, segments as appending leaves them: the last one not sealed";
    Ok(vec![
        Figure::ratio("append_1m_vs_10k", &large_append, &small_append, appended),
        Figure::ratio("read_1m_vs_10k", &large_read, &small_read, read),
    ])
}

/// Microseconds to append a record, and to read one.
fn grow_and_read(store: &mut Ours, records: usize) -> Result<[f64; 2]> {
    Ok([grow(store, SHORT)?, points(store, records, SHORT, POINTS)?])
}

/// Microseconds to append a record of `bytes`.
fn grow<C: Contender>(store: &mut C, bytes: usize) -> Result<f64> {
    let mut corpus = Corpus::new(7);
    let batches: Vec<_> = (0..APPENDED / BATCH).map(|_| C::batch(&texts(&mut corpus, BATCH, bytes))).collect();
    let start = Instant::now();
    batches.into_iter().try_for_each(|batch| store.append(batch))?;
    #[expect(clippy::cast_precision_loss, reason = "some thousand records")]
    Ok(start.elapsed().as_secs_f64() * 1e6 / APPENDED as f64)
}

/// Opening an existing store.
fn reopen(directory: &Path) -> Result<Figure> {
    eprintln!("log: reopening");
    let path = filled::<Ours>(directory, RECORDS, SHORT)?.store().path().to_owned();
    let reopen = || {
        let start = Instant::now();
        let ours = Ours::open(&path)?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        let found = ours.store().report().nodes;
        ensure!(found == RECORDS as u64, "{found} of {RECORDS} records were there again");
        Ok([took])
    };
    let [[took]] = interleave([Entrant::new("memory-store", ["ms"], reopen)])?;
    Ok(Figure::absolute("reopen_100k_ms", &took, "records of 200 B in the page cache, until the store answers"))
}

/// Disk space against the encoded records.
fn disk(directory: &Path, bytes: usize) -> Result<Figure> {
    let mut ours = create::<Ours>(directory)?;
    fill(&mut ours, RECORDS, bytes)?;
    let path = ours.store().path().to_owned();
    drop(ours);
    let records = record_bytes(&path.join("log"))?;
    ensure!(records > RECORDS * bytes, "{records} bytes of records cannot hold {RECORDS} texts of {bytes}");
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let ratio = bytes_below(&path)? as f64 / records as f64;
    // Nothing here depends on time; only the salts are random.
    let note = format!(
        "all files of a closed store of {RECORDS} records, which is the log alone, as nothing was indexed, summarized or \
         shown, against the records as they are encoded, without the headers of records, frames and segments; the worse \
         of two sizes, {bytes} B"
    );
    Ok(Figure::single("disk_vs_payload", ratio, "x", note))
}

/// Bytes of all encoded records of a log, counted in its segments as in `docs/format.md`. After a header of 64 bytes
/// come frames: 52 bytes and a payload, whose length is at offset 36. A payload holds records: 8 bytes, which begin
/// with the length of the body, and the body.
fn record_bytes(log: &Path) -> Result<usize> {
    const SEGMENT: usize = 64;
    const FRAME: usize = 52;
    const RECORD: usize = 8;

    let length = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>()).context("a segment is cut short")?;
        Ok::<_, anyhow::Error>(u32::from_le_bytes(*field) as usize)
    };
    let mut total = 0;
    for entry in fs::read_dir(log)? {
        let bytes = fs::read(entry?.path())?;
        let mut frame = SEGMENT;
        while frame < bytes.len() {
            let mut record = frame + FRAME;
            frame = record + length(&bytes, frame + 36)?;
            while record < frame {
                let body = length(&bytes, record)?;
                total += body;
                record += RECORD + body;
            }
        }
    }
    Ok(total)
}

fn bytes_below(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Disk space of compressed segments against the encoded records.
fn compressed(directory: &Path, count: usize, bytes: usize) -> Result<Figure> {
    let mut ours = create::<Ours>(directory)?;
    fill(&mut ours, count, bytes)?;
    ours.settle()?;
    let path = ours.store().path().to_owned();
    drop(ours);
    let records = record_bytes(&path.join("log"))?;
    let ours = Ours::open(&path)?;
    let report = ours.store().vacuum(VacuumOptions::compress(CompressionOptions::default()), &())?;
    ensure!(report.replaced == report.segments && report.dropped == 0, "not all segments were compressed: {report:?}");
    drop(ours);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let ratio = bytes_below(&path)? as f64 / records as f64;
    let ours = Ours::open(&path)?;
    for position in (0..count as u64).step_by(997) {
        ensure!(ours.read(position)? == bytes, "the compressed store does not give back record {position}");
    }
    let note = format!(
        "all files of a closed store of {count} records, all segments compressed by default options, against the \
         records as they are encoded; the worse of two sizes, {bytes} B"
    );
    Ok(Figure::single("disk_compressed_vs_payload", ratio, "x", note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_store_is_smaller_and_gives_its_records_back() {
        let directory = tempfile::tempdir().unwrap();
        let figure = compressed(directory.path(), 3_000, 200).unwrap();
        assert!((0.1..0.6).contains(&figure.value), "{}", figure.value);
    }
}
