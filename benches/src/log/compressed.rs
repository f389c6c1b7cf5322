//! Disk space of compressed sealed segments.

use std::path::Path;

use anyhow::{Result, ensure};
use memory_store::{CompressionOptions, VacuumOptions};

use super::{
    contender::Contender,
    disk::{bytes_below, record_bytes},
    filled::{create, fill},
    ours::Ours,
    sizes::SIZES,
};
use crate::{figure::Figure, rounds::Samples};

const RECORDS: usize = 100_000;

pub(super) fn measure(directory: &Path) -> Result<Option<Figure>> {
    eprintln!("log: room on disk, compressed");
    let figures = SIZES.into_iter().map(|bytes| of_size(directory, RECORDS, bytes)).collect::<Result<_>>()?;
    Ok(Figure::largest(figures))
}

fn of_size(directory: &Path, count: usize, bytes: usize) -> Result<Figure> {
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
    let samples = Samples { name: Ours::NAME.to_owned(), unit: "x", values: vec![ratio] };
    let note = format!(
        "all files of a closed store of {count} records, all segments compressed by default options, against the \
         records as they are encoded; the worse of two sizes, {bytes} B"
    );
    Ok(Figure::absolute("disk_compressed_vs_payload", &samples, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_store_is_smaller_and_gives_its_records_back() {
        let directory = tempfile::tempdir().unwrap();
        let figure = of_size(directory.path(), 3_000, 200).unwrap();
        assert!((0.1..0.6).contains(&figure.value), "{}", figure.value);
    }
}
