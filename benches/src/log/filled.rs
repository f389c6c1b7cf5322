//! Stores filled with records.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::contender::Contender;
use crate::corpus::Corpus;

/// Records appended at once while a store is filled.
pub(super) const BATCH: usize = 1_000;

/// A store with `records` texts of `bytes` each, in a new directory under `parent`.
pub(super) fn filled<C: Contender>(parent: &Path, records: usize, bytes: usize) -> Result<C> {
    let mut store = create::<C>(parent)?;
    fill(&mut store, records, bytes)?;
    store.settle()?;
    let read = store.read(0)?;
    ensure!(read == bytes, "{} gave back {read} bytes of {bytes}", C::NAME);
    Ok(store)
}

/// An empty store in a new directory under `parent`.
pub(super) fn create<C: Contender>(parent: &Path) -> Result<C> {
    let directory = tempfile::Builder::new().prefix(C::NAME).tempdir_in(parent)?.keep();
    C::create(&directory).with_context(|| format!("making a store of {}", C::NAME))
}

/// Appends `records` texts of `bytes` each.
pub(super) fn fill<C: Contender>(store: &mut C, records: usize, bytes: usize) -> Result<()> {
    let mut corpus = Corpus::new(1);
    let mut left = records;
    while left > 0 {
        let texts = texts(&mut corpus, left.min(BATCH), bytes);
        left -= texts.len();
        store.append(C::batch(&texts)).with_context(|| format!("filling {}", C::NAME))?;
    }
    Ok(())
}

/// `count` texts of `bytes` each.
pub(super) fn texts(corpus: &mut Corpus, count: usize, bytes: usize) -> Vec<String> {
    (0..count).map(|_| corpus.text(bytes)).collect()
}
