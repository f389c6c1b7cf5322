//! Compares figures with their bars.

use std::fmt;

use serde::Serialize;

use super::bars::{Bar, GroupBars};
use super::report::Figure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Holds,
    FallsShort,
    /// A bar without a figure, whose bench a later issue brings.
    Owed,
    /// A figure without a bar.
    NoBar,
}

impl Verdict {
    /// Whether a check fails; one of all groups, unlike that of one, takes what is owed.
    pub(super) fn fails(self, is_of_one_group: bool) -> bool {
        self == Self::FallsShort || self == Self::Owed && is_of_one_group
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::FallsShort => "falls short",
            Self::Owed => "owed",
            Self::NoBar => "no bar",
        })
    }
}

/// A key of the report or of the bars, with its figure and its bar.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) key: String,
    pub(super) figure: Option<Figure>,
    pub(super) bar: Option<Bar>,
    pub(super) verdict: Verdict,
}

/// The measured figures in the report's order, then the bars without a figure.
pub(super) fn judge(mut bars: GroupBars, figures: Vec<Figure>) -> Vec<Judged> {
    let mut judged: Vec<Judged> = figures
        .into_iter()
        .map(|figure| {
            let bar = bars.remove(&figure.key);
            Judged::measured(figure, bar)
        })
        .collect();
    judged.extend(bars.into_iter().map(|(key, bar)| Judged::owed(key, bar)));
    judged
}

impl Judged {
    fn measured(figure: Figure, bar: Option<Bar>) -> Self {
        let verdict = match bar {
            None => Verdict::NoBar,
            Some(bar) if bar.holds(figure.value) => Verdict::Holds,
            Some(_) => Verdict::FallsShort,
        };
        Self { key: figure.key.clone(), figure: Some(figure), bar, verdict }
    }

    fn owed(key: String, bar: Bar) -> Self {
        Self { key, figure: None, bar: Some(bar), verdict: Verdict::Owed }
    }
}
