//! The product's index: its scans, its choice between scan and graph, and its opening time.

use std::{
    fs::{self, File},
    hint::black_box,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{VectorAnswer, VectorIndex, VectorPart, VectorQuery},
};
use memory_store::{AutoIndex, AutoOptions, Method};

use super::{
    Figures,
    data::{DIMENSIONS, Data, MILLION, ROWS, TOP, threads},
    graph::HnswRs,
};
use crate::figure::{Entrant, Figure, Samples, Spread, interleave};

pub(super) const CHOICE: &str = "auto_choice_vs_best";
const TEN_THOUSAND: usize = 10_000;
/// Sizes at which the choice is measured.
const SIZES: [usize; 4] = [1_000, TEN_THOUSAND, ROWS, MILLION];
/// Vectors per insert.
const BATCH: usize = 10_000;
/// Duration of a round, which runs as many queries as fit.
const ROUND: Duration = Duration::from_millis(200);
/// Minimum number of queries of a round, for indexes where one query reads hundreds of megabytes.
const FEWEST: usize = 15;
/// Queries whose exact answers among a million vectors are computed.
const ASKED_OF_MILLION: usize = 100;
/// One vector in this many passes the filter.
const FILTERED: u32 = 100;

/// One conversation with a vector for each message, and three ways to search it.
struct Opened {
    rows: usize,
    directory: PathBuf,
    conversation: ConversationId,
    fastest: AutoIndex,
    scan: AutoIndex,
    graph: AutoIndex,
}

fn open(directory: &Path, method: Method) -> AutoIndex {
    AutoIndex::open(directory, ModelId::new("bench"), DIMENSIONS, AutoOptions::default().method(method))
}

/// Puts the first `rows` into an index in `directory`, with its graph.
fn fill(directory: &Path, data: &Data, rows: usize) -> Result<ConversationId> {
    let conversation = ConversationId::new("bench")?;
    let index = open(directory, Method::Graph);
    let nodes: Vec<usize> = (0..rows).collect();
    for batch in nodes.chunks(BATCH) {
        let node = |row: &usize| Some((NodeId::new(*row as u64 + 1)?, vec![data.row(*row).to_vec()]));
        let batch: Vec<_> = batch.iter().filter_map(node).collect();
        pollster::block_on(index.insert(&conversation, &batch))?;
    }
    // Only rows on disk can be in a saved graph.
    pollster::block_on(index.flush())?;
    index.build_graph(&conversation, &());
    Ok(conversation)
}

/// Reads all files below a directory into the page cache.
fn read_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(&path)?;
        } else {
            io::copy(&mut File::open(path)?, &mut io::sink())?;
        }
    }
    Ok(())
}

impl Opened {
    fn open(directory: PathBuf, data: &Data, rows: usize) -> Result<Self> {
        let conversation = fill(&directory, data, rows)?;
        let method = |method| open(&directory, method);
        let (fastest, scan, graph) = (method(Method::Fastest), method(Method::Scan), method(Method::Graph));
        // Reading and verifying files for the first time is not part of a search. The system may have dropped pages
        // that were written minutes ago.
        read_all(&directory)?;
        for index in [&fastest, &scan, &graph] {
            index.build_graph(&conversation, &());
            data.queries().take(3).try_for_each(|query| search(index, &conversation, query, None).map(drop))?;
        }
        Ok(Self { rows, directory, conversation, fastest, scan, graph })
    }

    /// The median microseconds of a search.
    fn time(&self, index: &AutoIndex, data: &Data, only: Option<&NodeSet>) -> Result<[f64; 1]> {
        median(data, |query| search(index, &self.conversation, query, only).map(drop))
    }

    #[expect(clippy::cast_precision_loss, reason = "some thousand hits")]
    fn recall(&self, index: &AutoIndex, data: &Data, truth: &[Vec<u32>]) -> Result<f64> {
        let mut hits = 0;
        for (query, truth) in data.queries().zip(truth) {
            let answer = search(index, &self.conversation, query, None)?;
            hits += rows(&answer).filter(|row| truth.contains(row)).count();
        }
        Ok(hits as f64 / (truth.len() * TOP) as f64)
    }
}

fn search(
    index: &AutoIndex,
    conversation: &ConversationId,
    query: &[f32],
    only: Option<&NodeSet>,
) -> Result<VectorAnswer> {
    let parts = [VectorPart::new(conversation).only(only)];
    let query = VectorQuery::new(query, TOP, &parts);
    Ok(pollster::block_on(index.search(&query))?)
}

fn rows(answer: &VectorAnswer) -> impl Iterator<Item = u32> {
    answer.hits.iter().filter_map(|hit| u32::try_from(hit.slot.node.index()).ok())
}

/// The median microseconds of the searches of one round.
fn median(data: &Data, search: impl Fn(&[f32]) -> Result<()>) -> Result<[f64; 1]> {
    let (mut times, begin) = (Vec::new(), Instant::now());
    for query in data.queries().cycle() {
        if times.len() >= FEWEST && begin.elapsed() >= ROUND {
            break;
        }
        let start = Instant::now();
        search(query)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok([Spread::of(&times).median])
}

/// Indexes of up to a hundred thousand vectors.
pub(super) struct Indexes {
    opened: Vec<Opened>,
}

impl Indexes {
    pub(super) fn open(scratch: &Path, data: &Data) -> Result<Self> {
        let [thousand, ten, hundred, _] = SIZES;
        let sizes = [thousand, ten, hundred].map(|rows| rows.min(data.rows().len()));
        eprintln!("vectors: indexes of {sizes:?}");
        let directory = |rows: usize| scratch.join(format!("vectors-{rows}"));
        let opened = sizes.map(|rows| Opened::open(directory(rows), data, rows));
        Ok(Self { opened: opened.into_iter().collect::<Result<_>>()? })
    }

    fn largest(&self) -> Result<&Opened> {
        self.opened.last().context("no index")
    }

    /// Measures the scan, the choice, and the opening time.
    pub(super) fn measure(&self, data: &Data, truth: &[Vec<u32>], figures: &mut Figures) -> Result<()> {
        let large = self.largest()?;
        let recall = large.recall(&large.scan, data, truth)?;
        figures.push(Figure::single("exact_recall10", recall, "", format!("{}, beside an f32 scan", data.what)));

        let recall = large.recall(&large.graph, data, truth)?;
        let note = format!("{}, with the defaults, ef {}", data.what, AutoOptions::default().ef);
        figures.push(Figure::single("graph_recall10", recall, "", note));

        let mut scans = Vec::new();
        for index in self.opened.iter().skip(1) {
            scans.push(exact(index, data)?);
        }
        if let Some(worst) = Figure::smallest(scans) {
            figures.push(worst);
        }
        figures.push(reopen(data, large)?);
        for index in &self.opened {
            figures.push(choice(index, data)?);
        }
        Ok(())
    }

    /// Searches in which one vector in a hundred passes the filter.
    pub(super) fn filtered(&self, data: &Data, hnsw_rs: &HnswRs) -> Result<Figure> {
        filtered(self.largest()?, data, hnsw_rs)
    }
}

/// Our scan compared with an `f32` scan by one thread or by all cores, whichever is faster in a round.
fn exact(index: &Opened, data: &Data) -> Result<Figure> {
    let timed = |scan: fn(&Data, &[f32], usize) -> Vec<u32>| {
        median(data, |query| {
            black_box(scan(data, query, index.rows));
            Ok(())
        })
    };
    let [[own], [one], [all]] = interleave([
        Entrant::new("int8 scan, rescored", ["us"], || index.time(&index.scan, data, None)),
        Entrant::new("f32 scan", ["us"], || timed(Data::nearest_of_first)),
        Entrant::new("f32 scan", ["us"], || timed(Data::nearest_on_all_cores)),
    ])?;
    let values = one.values.iter().zip(&all.values).map(|(one, all)| one.min(*all)).collect();
    let note = format!(
        "the same kernels; the peer by one thread ({:.0} us) or by {} ({:.0} us), whichever is faster; the worse of \
         {TEN_THOUSAND} and {ROWS}, {}",
        one.median(),
        threads(),
        all.median(),
        index.rows
    );
    Ok(Figure::speedup("exact_vs_f32", &own, &Samples { values, ..one }, note))
}

fn filtered(index: &Opened, data: &Data, hnsw_rs: &HnswRs) -> Result<Figure> {
    let mut rng = Rng::with_seed(5);
    let passes: Vec<bool> = (0..index.rows).map(|_| rng.u32(0..FILTERED) == 0).collect();
    let nodes = (1u64..).zip(&passes).filter(|(_, passes)| **passes).filter_map(|(node, _)| NodeId::new(node));
    let only: NodeSet = nodes.collect();
    let truth: Vec<Vec<u32>> = data.queries().take(50).map(|query| data.nearest_of(query, &passes)).collect();
    let recall = |found: &dyn Fn(&[f32]) -> Result<Vec<u32>>| -> Result<f64> {
        let mut hits = 0u32;
        for (query, truth) in data.queries().zip(&truth) {
            hits += found(query)?.iter().map(|row| u32::from(truth.contains(row))).sum::<u32>();
        }
        Ok(f64::from(hits) / f64::from(u32::try_from(truth.len() * TOP)?))
    };
    let ours = recall(&|query| Ok(rows(&search(&index.fastest, &index.conversation, query, Some(&only))?).collect()))?;
    let mut ef = TOP;
    let mut theirs = 0.0;
    while theirs < 0.99 && ef < 512 {
        ef *= 2;
        theirs = recall(&|query| Ok(hnsw_rs.search_among(query, ef, &passes)))?;
    }
    let [[own], [peer]] = interleave([
        Entrant::new("memory-store", ["us"], || index.time(&index.fastest, data, Some(&only))),
        Entrant::new("hnsw_rs", ["us"], || {
            median(data, |query| {
                black_box(hnsw_rs.search_among(query, ef, &passes));
                Ok(())
            })
        }),
    ])?;
    let note = format!("1 % of {} vectors may answer; recall {ours:.3} and {theirs:.3} at ef {ef}", index.rows);
    Ok(Figure::speedup("filtered_1pct_vs_hnsw_rs", &own, &peer, note))
}

/// The time from opening the files to the first answer.
fn reopen(data: &Data, index: &Opened) -> Result<Figure> {
    let query = data.queries().next().context("no query")?;
    let [[opened]] = interleave([Entrant::new("memory-store", ["ms"], || {
        let start = Instant::now();
        let answer = search(&open(&index.directory, Method::Fastest), &index.conversation, query, None)?;
        let took = start.elapsed();
        ensure!(answer.hits.len() == TOP, "an index that was opened again answered {:?}", answer);
        Ok([took.as_secs_f64() * 1e3])
    })])?;
    let note = format!("{} vectors, files in the page cache, to the first answer", index.rows);
    Ok(Figure::absolute("reopen_100k_ms", &opened, note))
}

/// The chosen method compared with the faster of both.
fn choice(index: &Opened, data: &Data) -> Result<Figure> {
    let [[chosen], [scan], [graph]] = interleave([
        Entrant::new("chosen", ["us"], || index.time(&index.fastest, data, None)),
        Entrant::new("scan", ["us"], || index.time(&index.scan, data, None)),
        Entrant::new("graph", ["us"], || index.time(&index.graph, data, None)),
    ])?;
    let best = if scan.median() <= graph.median() { &scan } else { &graph };
    let note = format!(
        "the worst of {SIZES:?} vectors, {}; scan {:.0} us, graph {:.0} us",
        index.rows,
        scan.median(),
        graph.median()
    );
    Ok(Figure::ratio(CHOICE, &chosen, best, note))
}

/// Measurements on a million generated vectors.
pub(super) fn measure_million(scratch: &Path, figures: &mut Figures) -> Result<()> {
    eprintln!("vectors: making up {MILLION} vectors");
    let data = Data::made_up(MILLION, 11);
    let truth = data.truth(ASKED_OF_MILLION);
    eprintln!("vectors: indexing them");
    let start = Instant::now();
    let index = Opened::open(scratch.join("vectors-million"), &data, MILLION)?;
    let took = start.elapsed();
    let recall = index.recall(&index.graph, &data, &truth)?;
    eprintln!("vectors: searching them");
    let [[graph], [scan], [bandwidth]] = interleave([
        Entrant::new("graph", ["us"], || index.time(&index.graph, &data, None)),
        Entrant::new("int8 scan", ["us"], || index.time(&index.scan, &data, None)),
        Entrant::new("reading", ["GB/s"], || Ok([read_bandwidth(MILLION * DIMENSIONS)])),
    ])?;
    let note = format!("{}; recall {recall:.4}, indexed in {:.0} s", data.what, took.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "some hundred megabytes")]
    let bytes = (MILLION * DIMENSIONS) as f64;
    let rate = |us: &f64| bytes / us / 1e3;
    let read = Samples { name: "int8 scan".to_owned(), unit: "GB/s", values: scan.values.iter().map(rate).collect() };
    figures.push(Figure::ratio("graph_1m_vs_exact_p50", &graph, &scan, note));
    figures.push(bandwidth_share(&read, &bandwidth));
    figures.push(choice(&index, &data)?);
    Ok(())
}

/// Share of the memory bandwidth that a search uses. A search that reads faster than the measuring kernels proves that
/// they miss the true bandwidth, so the quotient gets another name.
fn bandwidth_share(read: &Samples, bandwidth: &Samples) -> Figure {
    let note = "codes read a second by a whole search, all cores, beside as many bytes read by the fastest of some runs of four \
                kernels: sums over 1, 2, 4 and 8 places in turn";
    let share = Figure::ratio("exact_1m_bandwidth_share", read, bandwidth, note);
    if share.value <= 1.0 {
        return share;
    }
    let note = format!("no share of the bandwidth: the search reads faster than what it is measured by; {note}");
    Figure { key: "exact_1m_search_vs_reading".to_owned(), note, ..share }
}

/// Words per step: independent sums, which the compiler keeps in wide registers.
const LANES: usize = 32;
/// Kernels by the number of places that each core reads in turn. One place is a plain sum; with several, more reads are
/// in flight.
const KERNELS: [fn(&[u64]); 4] = [sum::<1>, sum::<2>, sum::<4>, sum::<8>];

/// Times that each kernel runs.
const RUNS: usize = 4;

/// Reads a block of this many bytes on all cores with several kernels, after a warm-up; returns the gigabytes per
/// second of the fastest run.
#[expect(clippy::cast_precision_loss, reason = "some hundred megabytes")]
pub(super) fn read_bandwidth(bytes: usize) -> f64 {
    let block = vec![1u64; bytes / size_of::<u64>()];
    sum::<1>(&block);
    let rate = |kernel: fn(&[u64])| {
        let start = Instant::now();
        kernel(&block);
        bytes as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    std::iter::repeat_n(KERNELS, RUNS).flatten().map(rate).fold(0.0, f64::max)
}

/// Sums up a block. Each core reads its part at `PLACES` places in turn.
fn sum<const PLACES: usize>(block: &[u64]) {
    let share = block.len().div_ceil(threads().get()).max(1);
    thread::scope(|scope| {
        for part in block.chunks(share) {
            scope.spawn(move || {
                let steps = part.as_chunks::<LANES>().0;
                let stride = steps.len() / PLACES;
                let places: [_; PLACES] = std::array::from_fn(|place| steps.split_at(place * stride).1);
                let mut sums = [0u64; LANES];
                for at in 0..stride {
                    for words in places.iter().filter_map(|place| place.get(at)) {
                        sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                    }
                }
                black_box(sums)
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_more_than_all_is_no_share() {
        let samples = |value| Samples::one("", "GB/s", value);
        assert_eq!(bandwidth_share(&samples(9.0), &samples(10.0)).key, "exact_1m_bandwidth_share");
        assert_eq!(bandwidth_share(&samples(11.0), &samples(10.0)).key, "exact_1m_search_vs_reading");
    }
}
