//! The group `vectors`: what finding the nearest vectors costs, beside the libraries one might use instead.

mod backends;
mod curve;
mod data;
mod graph;
mod index;
mod plot;
mod read_bandwidth;
mod texts;
#[cfg(feature = "usearch")]
mod usearch;

use std::path::Path;

use anyhow::Result;

use crate::{figure::Figure, group::Inputs};
use backends::HnswRs;
use data::Data;
use index::Indexes;

/// Vectors of the large set, and of the one that figures call 1m.
const ROWS: usize = 100_000;
const MILLION: usize = 1_000_000;
/// The results that recall is counted over.
const TOP: usize = 10;

/// Measures the group.
///
/// # Errors
/// When a library fails, or a file cannot be read or written.
pub(crate) fn measure(scratch: &Path, inputs: &Inputs) -> Result<Vec<Figure>> {
    let data = Data::embedded(inputs.eval.as_deref(), ROWS)?;
    eprintln!("vectors: {}, exact answers", data.what);
    let truth = data.truth(usize::MAX);
    let mut figures = Figures::default();
    let indexes = Indexes::open(scratch, &data)?;
    indexes.measure(&data, &truth, &mut figures)?;
    eprintln!("vectors: building hnsw_rs");
    let hnsw_rs = HnswRs::build(&data);
    figures.push(indexes.filtered(&data, &hnsw_rs)?);
    drop(indexes);
    graph::measure(&data, &truth, hnsw_rs, inputs.plot.as_deref(), &mut figures)?;
    drop((data, truth));
    index::measure_million(scratch, &mut figures)?;
    // The choice is looked at with few vectors and with many: the worst of all counts.
    let (choices, mut figures): (Vec<_>, Vec<_>) =
        figures.0.into_iter().partition(|figure| figure.key == index::CHOICE);
    figures.extend(Figure::largest(choices));
    Ok(figures)
}

/// The figures so far. Each is said as it comes, since all of them take a quarter of an hour.
#[derive(Debug, Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn push(&mut self, figure: Figure) {
        let Figure { key, value, spread, unit, note, .. } = &figure;
        eprintln!("vectors: {key} {value:.3} ± {spread:.3} {unit} ({note})");
        self.0.push(figure);
    }
}
