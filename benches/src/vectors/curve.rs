//! Recall against time, and the time at one recall.

use std::{hint::black_box, time::Instant};

use anyhow::Result;

use super::{backends::Backend, data::Data, sizes::TOP};

/// The numbers of candidates in a sweep.
const SWEEP: [usize; 14] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

/// Result of a backend with one number of candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) ef: usize,
    pub(super) recall: f64,
    /// Microseconds for each query.
    pub(super) us: f64,
}

/// The points of one backend, in order of rising recall.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// Runs all queries one after the other, on one thread.
#[expect(clippy::cast_precision_loss, reason = "some thousand hits")]
pub(super) fn point(backend: &dyn Backend, data: &Data, truth: &[Vec<u32>], ef: usize) -> Result<Point> {
    let mut found = Vec::with_capacity(truth.len());
    let start = Instant::now();
    for query in data.queries() {
        found.push(black_box(backend.search(query, ef)?));
    }
    let us = start.elapsed().as_secs_f64() * 1e6 / found.len() as f64;
    let hits: usize =
        found.iter().zip(truth).map(|(found, truth)| found.iter().filter(|row| truth.contains(row)).count()).sum();
    Ok(Point { ef, recall: hits as f64 / (truth.len() * TOP) as f64, us })
}

/// Sweeps the candidates until recall is above `enough`.
pub(super) fn sweep(backend: &dyn Backend, data: &Data, truth: &[Vec<u32>], enough: f64) -> Result<Curve> {
    let mut points: Vec<Point> = Vec::new();
    for ef in SWEEP {
        // The first round warms up.
        point(backend, data, truth, ef)?;
        points.push(point(backend, data, truth, ef)?);
        if points.last().is_some_and(|point| point.recall >= enough) {
            break;
        }
    }
    Ok(Curve { name: backend.name(), points })
}

impl Curve {
    /// The highest recall.
    pub(super) fn best(&self) -> f64 {
        self.points.iter().map(|point| point.recall).fold(0.0, f64::max)
    }

    /// The numbers of candidates below and above a given recall. If it is not reached, twice the largest number: more
    /// candidates would take even longer.
    pub(super) fn around(&self, recall: f64) -> [usize; 2] {
        let last = self.points.len().saturating_sub(1);
        let above = self.points.iter().position(|point| point.recall >= recall);
        let below = above.map_or(last, |above| above.saturating_sub(1));
        [below, above.unwrap_or(last)].map(|at| self.points.get(at).map_or(0, |point| point.ef))
    }
}

/// The microseconds at a recall between two points, interpolated.
pub(super) fn time_at(recall: f64, [below, above]: [Point; 2]) -> f64 {
    let share = (recall - below.recall) / (above.recall - below.recall);
    if share.is_finite() { below.us + (above.us - below.us) * share.clamp(0.0, 1.0) } else { above.us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_at_a_recall_lies_between_the_points_around_it() {
        let point = |ef, recall, us| Point { ef, recall, us };
        let (low, high) = (point(32, 0.98, 100.0), point(48, 1.0, 200.0));
        assert!((time_at(0.99, [low, high]) - 150.0).abs() < 1e-6);
        assert_eq!(time_at(0.99, [high, high]), 200.0);
        let curve = Curve { name: "a".to_owned(), points: vec![low, high] };
        assert_eq!(curve.around(0.99), [32, 48]);
        assert_eq!(curve.around(0.5), [32, 32]);
        let short = Curve { name: "a".to_owned(), points: vec![low] };
        assert_eq!((short.best(), short.around(0.99)), (0.98, [32, 32]));
        assert_eq!(time_at(0.99, [low, low]), 100.0);
    }
}
