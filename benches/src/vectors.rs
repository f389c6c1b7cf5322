//! The group `vectors`: the cost of finding the nearest vectors, compared with other libraries.

mod backends;
mod curve;
mod data;
mod figures;
mod graph;
mod index;
mod plot;
mod read_bandwidth;
mod sizes;
mod texts;
#[cfg(feature = "usearch")]
mod usearch;

use std::path::Path;

use anyhow::Result;

use crate::figure::Figure;
use backends::HnswRs;
use data::Data;
use figures::Figures;
use index::Indexes;
use sizes::ROWS;

/// Measures the group.
///
/// # Errors
/// When a library fails, or a file cannot be read or written.
pub(crate) fn measure(scratch: &Path, eval: Option<&Path>, plot: Option<&Path>) -> Result<Vec<Figure>> {
    let data = Data::embedded(eval, ROWS)?;
    eprintln!("vectors: {}, exact answers", data.what);
    let truth = data.truth(usize::MAX);
    let mut figures = Figures::default();
    let indexes = Indexes::open(scratch, &data)?;
    indexes.measure(&data, &truth, &mut figures)?;
    eprintln!("vectors: building hnsw_rs");
    let hnsw_rs = HnswRs::build(&data);
    figures.push(indexes.filtered(&data, &hnsw_rs)?);
    drop(indexes);
    graph::measure(&data, &truth, hnsw_rs, plot, &mut figures)?;
    drop((data, truth));
    index::measure_million(scratch, &mut figures)?;
    // The choice is measured with few vectors and with many; the worst result counts.
    let (choices, mut figures): (Vec<_>, Vec<_>) =
        figures.0.into_iter().partition(|figure| figure.key == index::CHOICE);
    figures.extend(Figure::largest(choices));
    Ok(figures)
}
