//! Draws recall against queries a second.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::{
    prelude::{
        ChartBuilder, Circle, Color, IntoDrawingArea, IntoLogRange, LineSeries, Palette, Palette99, PathElement,
        SVGBackend,
    },
    style::{BLACK, WHITE},
};

use super::curve::Curve;

const SIZE: (u32, u32) = (860, 480);
/// Where the axis of recall begins; lower recall is not useful.
const LOWEST: f64 = 0.8;

/// Draws the curves to an SVG file.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn draw(path: &Path, what: &str, curves: &[Curve]) -> Result<()> {
    try_draw(path, what, curves).map_err(|error| anyhow!("drawing {}: {error}", path.display()))
}

fn try_draw(path: &Path, what: &str, curves: &[Curve]) -> Result<(), Box<dyn std::error::Error>> {
    let rates = || curves.iter().flat_map(|curve| &curve.points).map(|point| 1e6 / point.us);
    let (slowest, fastest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(1.0, f64::max));
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{what}, one thread"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(LOWEST..1.0, (slowest * 0.7..fastest * 1.4).log_scale())?;
    chart.configure_mesh().x_desc("recall@10").y_desc("queries a second").light_line_style(WHITE).draw()?;
    for (number, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let shown = || curve.points.iter().filter(|point| point.recall >= LOWEST);
        let points: Vec<_> = shown().map(|point| (point.recall, 1e6 / point.us)).collect();
        chart
            .draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?
            .label(curve.name.clone())
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(points.into_iter().map(|at| Circle::new(at, 3, color.filled())))?;
    }
    chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::curve::Point, *};

    #[test]
    fn a_drawing_names_every_backend() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plot.svg");
        let point = |ef, recall, us| Point { ef, recall, us };
        let curve = |name: &str| Curve {
            name: name.to_owned(),
            points: vec![point(1, 0.7, 10.0), point(2, 0.9, 20.0), point(3, 0.99, 40.0)],
        };
        draw(&path, "three vectors", &[curve("first"), curve("second")]).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && ["first", "second", "three vectors"].iter().all(|name| svg.contains(name)));
    }
}
