//! The table of `bench`: a row for each figure.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, Table};

use super::JudgedGroup;
use super::figures::{Figure, Judged, Measure};

const HEADER: [&str; 6] = ["figure", "ours", "peers", "measured", "bar", "verdict"];

pub(super) fn render(groups: &[JudgedGroup]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(HEADER);
    for group in groups {
        for judged in &group.figures {
            table.add_row(row(group, judged));
        }
    }
    table
}

/// The table of one group in Markdown, for a document.
pub(super) fn markdown(group: &JudgedGroup) -> String {
    let line = |cells: [String; 6]| format!("| {} |\n", cells.map(|cell| in_cell(&cell)).join(" | "));
    let mut lines = line(HEADER.map(str::to_owned));
    lines.push_str("|---|---|---|---|---|---|\n");
    lines.extend(group.figures.iter().map(|judged| line(cells(group, judged))));
    lines
}

/// The text of a Markdown cell, on one line and without bare vertical bars, which would end the cell.
fn in_cell(text: &str) -> String {
    text.replace('\n', "<br>").replace('|', "\\|")
}

fn row(group: &JudgedGroup, judged: &Judged) -> Vec<Cell> {
    cells(group, judged).map(Cell::new).into()
}

fn cells(group: &JudgedGroup, judged: &Judged) -> [String; 6] {
    let figure = judged.figure.as_ref();
    let ours = figure.and_then(|figure| figure.ours.as_ref());
    let peers: Vec<String> = figure.into_iter().flat_map(|figure| figure.peers.iter().map(measure)).collect();
    [
        format!("{}.{}", group.group, judged.key),
        ours.map(measure).unwrap_or_default(),
        peers.join("\n"),
        figure.map(measured).unwrap_or_default(),
        judged.bar.map(|bar| bar.to_string()).unwrap_or_default(),
        judged.verdict.to_string(),
    ]
}

fn measure(measure: &Measure) -> String {
    format!("{} {} {}", measure.name, short(measure.value), measure.unit)
}

/// The median with its spread or the single reading, and the note of the benchmark below it.
fn measured(figure: &Figure) -> String {
    let spread = figure.spread.map(|spread| format!("± {} ", short(spread))).unwrap_or_default();
    let value = format!("{} {spread}{}", short(figure.value), figure.unit);
    if figure.note.is_empty() { value } else { format!("{value}\n{}", figure.note) }
}

/// A value with enough digits to distinguish figures.
fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else if size >= 10.0 {
        format!("{value:.2}")
    } else if size >= 0.001 || value == 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_markdown_is_one_line() {
        assert_eq!(in_cell("1 ± 2 x\nhow|why"), "1 ± 2 x<br>how\\|why");
    }

    #[test]
    fn a_single_reading_has_no_spread() {
        let figure = |spread| Figure {
            key: String::new(),
            value: 3.0,
            unit: "MB".to_owned(),
            spread,
            ours: None,
            peers: Vec::new(),
            note: String::new(),
        };
        assert_eq!(measured(&figure(None)), "3.000 MB");
        assert_eq!(measured(&figure(Some(0.5))), "3.000 ± 0.500 MB");
    }

    #[test]
    fn numbers_are_short_and_still_tell_apart() {
        for (value, expected) in [
            (0.0, "0.000"),
            (0.000_02, "2.0e-5"),
            (0.41, "0.410"),
            (0.999, "0.999"),
            (29.5, "29.50"),
            (250.25, "250.2"),
            (214_000.0, "214000"),
        ] {
            assert_eq!(short(value), expected);
        }
    }
}
