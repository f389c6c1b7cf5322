//! The figures of the group, printed as they are measured.

use crate::figure::Figure;

/// The figures so far. Each is printed at once, because all of them take a quarter of an hour.
#[derive(Debug, Default)]
pub(super) struct Figures(pub(super) Vec<Figure>);

impl Figures {
    pub(super) fn push(&mut self, figure: Figure) {
        let Figure { key, value, spread, unit, note, .. } = &figure;
        let spread = spread.map(|spread| format!("± {spread:.3} ")).unwrap_or_default();
        eprintln!("vectors: {key} {value:.3} {spread}{unit} ({note})");
        self.0.push(figure);
    }
}
