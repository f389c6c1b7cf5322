//! Our graph compared with other graphs, at one recall.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{
    backends::{Backend, CodesScan, HnswRs, Ours, Scan},
    curve::{Curve, point, sweep, time_at},
    data::Data,
    figures::Figures,
    plot,
};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
};

/// The recall at which times are compared.
const RECALL: f64 = 0.99;
/// Where the curves end.
const ENOUGH: f64 = 0.997;
/// Vectors of the graphs that are built in every round.
const BUILT: usize = 20_000;

pub(super) fn measure(
    data: &Data,
    truth: &[Vec<u32>],
    hnsw_rs: HnswRs,
    drawn_to: Option<&Path>,
    figures: &mut Figures,
) -> Result<()> {
    eprintln!("vectors: building ours");
    let ours = Ours::build(data);
    #[cfg_attr(not(feature = "usearch"), expect(unused_mut, reason = "the other peers come with the feature"))]
    let mut backends: Vec<Box<dyn Backend + '_>> = vec![Box::new(hnsw_rs)];
    #[cfg(feature = "usearch")]
    {
        eprintln!("vectors: building usearch");
        backends.push(Box::new(super::usearch::Usearch::build_f32(data)?));
        backends.push(Box::new(super::usearch::Usearch::build_f16(data)?));
    }
    eprintln!("vectors: recall against time");
    let own_curve = sweep(&ours, data, truth, ENOUGH)?;
    ensure!(own_curve.best() >= RECALL, "ours gets to a recall of {:.4} only", own_curve.best());
    let curves = backends.iter().map(|peer| sweep(&**peer, data, truth, ENOUGH)).collect::<Result<Vec<_>>>()?;
    if let Some(path) = drawn_to {
        let scan = |backend: &dyn Backend| -> Result<Curve> {
            Ok(Curve { name: backend.name(), points: vec![point(backend, data, truth, 0)?] })
        };
        let own = [own_curve.clone(), scan(&CodesScan::build(data)?)?];
        plot::draw(path, &data.what, &[&own, curves.as_slice(), &[scan(&Scan(data))?]].concat())?;
    }

    figures.push(Figure::absolute(
        "graph_bytes_per_vector",
        &Samples { name: ours.name(), unit: "B", values: vec![ours.bytes_per_vector()] },
        "codes, scale and links; the f32 rows, 1,536 bytes, stay in a mapped file",
    ));
    for (peer, curve) in backends.iter().zip(&curves) {
        let key = match peer.name().as_str() {
            "hnsw_rs" => "graph_vs_hnsw_rs",
            "usearch f32" => "graph_vs_usearch_f32",
            _ => "graph_vs_usearch_f16",
        };
        let timed = |backend: &dyn Backend, curve: &Curve| -> Result<[f64; 1]> {
            let [low, high] = curve.around(RECALL);
            let points = [point(backend, data, truth, low)?, point(backend, data, truth, high)?];
            Ok([time_at(RECALL, points)])
        };
        let [[own], [other]] = interleave([
            Entrant::new(ours.name(), ["us"], || timed(&ours, &own_curve)),
            Entrant::new(peer.name(), ["us"], || timed(&**peer, curve)),
        ])?;
        let [low, high] = curve.around(RECALL);
        let short =
            if curve.best() < RECALL { format!(", which gets to {:.4} only", curve.best()) } else { String::new() };
        let what = &data.what;
        let note =
            format!("a query at recall {RECALL}, between ef {low} and {high} of the peer{short}; {what}, one thread");
        figures.push(Figure::speedup(key, &own, &other, note));
    }
    let once = |backend: &dyn Backend| format!("{} {:.1} s", backend.name(), backend.build_s());
    let all = std::iter::once(once(&ours)).chain(backends.iter().map(|peer| once(&**peer))).collect::<Vec<_>>();
    figures.push(build(&data.first(BUILT), &format!("built once of all {}: {}", data.rows().len(), all.join(", ")))?);
    Ok(())
}

/// Ours and hnsw_rs, both built anew in every round.
fn build(data: &Data, of_all: &str) -> Result<Figure> {
    let [[own], [peer]] = interleave([
        Entrant::new("memory-store graph", ["s"], || Ok([Ours::build(data).build_s()])),
        Entrant::new("hnsw_rs", ["s"], || Ok([HnswRs::build(data).build_s()])),
    ])?;
    let note = format!("of {} vectors, all cores; {of_all}", data.rows().len());
    Ok(Figure::speedup("graph_build_vs_hnsw_rs", &own, &peer, note))
}
