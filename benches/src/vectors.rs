//! The group `vectors`: the cost of finding the nearest vectors, compared with other libraries.

mod data;
mod graph;
mod index;
#[cfg(feature = "usearch")]
mod usearch;

use std::path::Path;

use anyhow::Result;

use crate::figure::Figure;
use data::{Data, ROWS};
use graph::HnswRs;
use index::Indexes;

/// Figures so far. Each is printed at once, because all of them take a quarter of an hour.
#[derive(Debug, Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn push(&mut self, figure: Figure) {
        let Figure { key, value, unit, note, .. } = &figure;
        eprintln!("vectors: {key} {value:.3} {unit} ({note})");
        self.0.push(figure);
    }
}

/// Measures the group.
///
/// # Errors
/// When a library fails, or a file cannot be read or written.
pub(crate) fn measure(scratch: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
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
    graph::measure(&data, &truth, hnsw_rs, &mut figures)?;
    drop((data, truth));
    index::measure_million(scratch, &mut figures)?;
    // The choice is measured with few vectors and with many; the worst result counts.
    let (choices, mut figures): (Vec<_>, Vec<_>) =
        figures.0.into_iter().partition(|figure| figure.key == index::CHOICE);
    figures.extend(Figure::largest(choices));
    Ok(figures)
}
