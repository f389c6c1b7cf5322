//! Disk space.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::{
    contender::Contender,
    filled::{create, fill},
    ours::Ours,
    sizes::SIZES,
};
use crate::{figure::Figure, rounds::Samples};

const RECORDS: usize = 100_000;

pub(super) fn measure(directory: &Path) -> Result<Option<Figure>> {
    eprintln!("log: room on disk");
    let figures = SIZES.into_iter().map(|bytes| of_size(directory, bytes)).collect::<Result<_>>()?;
    Ok(Figure::largest(figures))
}

fn of_size(directory: &Path, bytes: usize) -> Result<Figure> {
    let mut ours = create::<Ours>(directory)?;
    fill(&mut ours, RECORDS, bytes)?;
    let path = ours.store().path().to_owned();
    drop(ours);
    let records = record_bytes(&path.join("log"))?;
    ensure!(records > RECORDS * bytes, "{records} bytes of records cannot hold {RECORDS} texts of {bytes}");
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let ratio = bytes_below(&path)? as f64 / records as f64;
    // Nothing here depends on time; only the salts are random.
    let samples = Samples { name: Ours::NAME.to_owned(), unit: "x", values: vec![ratio] };
    let note = format!(
        "all files of a closed store of {RECORDS} records, which is the log alone, as nothing was indexed, summarized or \
         shown, against the records as they are encoded, without the headers of records, frames and segments; the worse \
         of two sizes, {bytes} B"
    );
    Ok(Figure::absolute("disk_vs_payload", &samples, note))
}

/// Bytes of all encoded records of a log, counted in its segments as in `docs/format.md`. After a header of 64 bytes
/// come frames: 52 bytes and a payload, whose length is at offset 36. A payload holds records: 8 bytes, which begin
/// with the length of the body, and the body.
pub(crate) fn record_bytes(log: &Path) -> Result<usize> {
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

pub(super) fn bytes_below(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
