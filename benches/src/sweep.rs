//! Compressed segments: size against the time of a read, for all options.

mod corpora;

use std::{
    fmt,
    hint::black_box,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result};
use fastrand::Rng;
use memory_store::{CompressedSegment, CompressionOptions, compress_segment};

use crate::stats::Spread;
use corpora::Sealed;

const LEVELS: [i32; 3] = [3, 9, 19];
const DICTIONARIES: [u32; 4] = [0, 16 << 10, 64 << 10, 112 << 10];
const BLOCKS: [u32; 7] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Reads of one record, of which the median is taken.
const READS: usize = 4_000;

/// One segment compressed with all options.
#[derive(Debug)]
pub struct Sweep {
    name: String,
    segment: Sealed,
    rows: Vec<Row>,
}

/// One level with one dictionary.
#[derive(Debug)]
struct Row {
    level: i32,
    /// The longest dictionary that was allowed.
    dictionary: u32,
    /// One for each of [`BLOCKS`].
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The size of the file divided by that of the encoded records.
    size: f64,
    read_us: f64,
    seconds: f64,
}

/// Compresses segments of generated texts of 200 B and of 2,000 B and, if `data` names directories of evaluation data,
/// one of their conversations. Stores are created under `scratch`.
///
/// # Errors
/// When a store fails, or a file cannot be read.
pub fn sweep(scratch: &Path, data: &[PathBuf]) -> Result<Vec<Sweep>> {
    let mut sweeps = Vec::new();
    for bytes in [200, 2_000] {
        sweeps.push(Sweep::of(format!("Made-up texts of {bytes} B"), corpora::made_up(scratch, bytes)?)?);
    }
    if !data.is_empty() {
        sweeps.push(Sweep::of("Evaluation data".to_owned(), corpora::imported(scratch, data)?)?);
    }
    Ok(sweeps)
}

impl Sweep {
    fn of(name: String, segment: Sealed) -> Result<Self> {
        let mut rows = Vec::new();
        for level in LEVELS {
            for dictionary in DICTIONARIES {
                eprintln!("{name}: level {level}, dictionary {} KiB", dictionary >> 10);
                let options = CompressionOptions::default().level(level).dictionary_bytes(dictionary);
                let cells = BLOCKS.into_iter().map(|block| Cell::of(&segment, &options.block_bytes(block)));
                rows.push(Row { level, dictionary, cells: cells.collect::<Result<_>>()? });
            }
        }
        Ok(Self { name, segment, rows })
    }
}

impl Cell {
    fn of(segment: &Sealed, options: &CompressionOptions) -> Result<Self> {
        let began = Instant::now();
        let file = compress_segment(&segment.image, options)?;
        let seconds = began.elapsed().as_secs_f64();
        let compressed = CompressedSegment::open(file.as_slice())?;
        let mut rng = Rng::with_seed(3);
        let mut record = vec![0; segment.record_bytes()];
        let last = compressed.len().checked_sub(u32::try_from(record.len())?).context("the segment is too short")?;
        let mut times = Vec::with_capacity(READS);
        for _ in 0..READS {
            let offset = rng.u32(0..last);
            let began = Instant::now();
            compressed.read_at(file.as_slice(), offset, black_box(&mut record))?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
        let size = file.len() as f64 / segment.encoded_bytes as f64;
        Ok(Self { size, read_us: Spread::of(&times).median, seconds })
    }
}

impl fmt::Display for Sweep {
    /// As Markdown: size and time of a read for each block size, and the longest time that compression took.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sealed { image, records, encoded_bytes } = &self.segment;
        writeln!(f, "{}: {records} records, {encoded_bytes} B encoded, a segment of {} B.\n", self.name, image.len())?;
        write!(f, "| level | dictionary |")?;
        BLOCKS.iter().try_for_each(|block| write!(f, " {} KiB |", block >> 10))?;
        write!(f, " time |\n|---|---|{}---|", "---|".repeat(BLOCKS.len()))?;
        for Row { level, dictionary, cells } in &self.rows {
            write!(f, "\n| {level} | {} KiB |", dictionary >> 10)?;
            for Cell { size, read_us, .. } in cells {
                write!(f, " {size:.3}, {read_us:.1} us |")?;
            }
            let most = cells.iter().map(|cell| cell.seconds).fold(0.0, f64::max);
            write!(f, " {most:.1} s |")?;
        }
        writeln!(f)
    }
}
