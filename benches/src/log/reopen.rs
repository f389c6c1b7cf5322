//! Opening an existing store.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};

use super::{filled, ours::Ours};
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

const RECORDS: usize = 100_000;
const BYTES: usize = 200;

pub(super) fn measure(directory: &Path) -> Result<Figure> {
    eprintln!("log: reopening");
    let path = {
        let ours = filled::filled::<Ours>(directory, RECORDS, BYTES)?;
        ours.store().path().to_owned()
    };
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
