//! Room on disk.

use std::{fs, path::Path};

use anyhow::Result;
use memory_core::{Hash, Salt, Timestamp};

use super::{
    SIZES,
    contender::Contender,
    filled::{BATCH, create, texts},
    ours::Ours,
};
use crate::{corpus::Corpus, figure::Figure, rounds::Samples};

const RECORDS: usize = 100_000;

pub(super) fn measure(directory: &Path) -> Result<Option<Figure>> {
    eprintln!("log: room on disk");
    let figures = SIZES.into_iter().map(|bytes| of_size(directory, bytes)).collect::<Result<_>>()?;
    Ok(Figure::largest(figures))
}

fn of_size(directory: &Path, bytes: usize) -> Result<Figure> {
    let mut ours = create::<Ours>(directory)?;
    let mut corpus = Corpus::new(6);
    let mut payload = 0;
    for _ in 0..RECORDS / BATCH {
        let texts = texts(&mut corpus, BATCH, bytes);
        payload += texts.iter().map(|text| kept_bytes(text)).sum::<usize>();
        ours.append(Ours::batch(&texts))?;
    }
    let path = ours.store().path().to_owned();
    drop(ours);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let ratio = bytes_below(&path)? as f64 / payload as f64;
    // Nothing here depends on time, and on chance no more than salts do.
    let samples = Samples { name: Ours::NAME.to_owned(), unit: "x", values: vec![ratio] };
    let note = format!(
        "all files of a closed store of {RECORDS} records against their texts, times, salts and leaves; the worse of \
         two sizes, {bytes} B"
    );
    Ok(Figure::absolute("disk_vs_payload", &samples, note))
}

/// What has to be kept of a message: its text, its time, its salt and its leaf.
///
/// Everything else on disk counts as overhead, the record's other fields too. The canonical bytes would not do: their
/// lengths are of fixed width, so that a record on disk is shorter than they are.
fn kept_bytes(text: &str) -> usize {
    text.len() + size_of::<Timestamp>() + size_of::<Salt>() + size_of::<Hash>()
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
