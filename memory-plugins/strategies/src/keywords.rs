//! Names, figures and rare words as they were said, most telling first.

use memory_core::SummaryJob;

use crate::{
    reading::Reading,
    segments::Segment,
    terms::is_common,
    words::{Form, words},
};

/// A piece of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keyword {
    segment: usize,
    from: usize,
    to: usize,
}

/// The most keywords of one summary.
const MOST: usize = 512;

/// What parts one keyword from the next.
const SEPARATOR: &str = ", ";

/// Longest word in bytes that is shown with the figure before it: `1,850 euros`, `12 March`.
const LONGEST_UNIT: usize = 12;

/// Keywords of what is read, most telling for their cost first, without those `told` already (by the number of their
/// term). Each stands where it was said first.
pub(crate) fn ranked(reading: &Reading<'_>, told: &[bool]) -> Vec<Keyword> {
    let mut factors: Vec<Option<f32>> = vec![None; reading.segments.len()];
    let mut rated = Vec::new();
    for term in (0..reading.terms.len()).filter(|&term| told.get(term) != Some(&true)) {
        let Some((segment, from, length)) = reading.terms.place(term) else { continue };
        let (Some(of), Some(factor)) = (reading.segments.get(segment), factors.get_mut(segment)) else { continue };
        let factor = *factor.get_or_insert_with(|| reading.factor(segment));
        let weight = u32::try_from(term).map_or(0.0, |term| reading.terms.weight(term));
        let keyword = widened(&of.text, Keyword { segment, from, to: from + length });
        // What parts it from its neighbours costs a token too; the word that a figure brings along is worth its cost.
        let rate = weight * factor / (reading.cost(length) + 1.0);
        rated.push((rate, keyword));
    }
    let best_first = |a: &(f32, Keyword), b: &(f32, Keyword)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if rated.len() > MOST {
        rated.select_nth_unstable_by(MOST, best_first);
        rated.truncate(MOST);
    }
    rated.sort_by(best_first);
    rated.into_iter().map(|(_, keyword)| keyword).collect()
}

/// A figure with the word that says of what.
fn widened(text: &str, keyword: Keyword) -> Keyword {
    let figure = text.get(keyword.from..keyword.to).is_some_and(|word| word.contains(char::is_numeric));
    let behind = text.get(keyword.to..).filter(|behind| figure && behind.starts_with(' ')).unwrap_or_default();
    let unit = words(behind).next().filter(|word| {
        // "4 May", though "may" is a common word.
        let tells = word.form == Form::Capital || (word.form == Form::Plain && !is_common(word));
        word.at == 1 && tells && word.text.len() <= LONGEST_UNIT
    });
    Keyword { to: keyword.to + unit.map_or(0, |word| 1 + word.text.len()), ..keyword }
}

/// `lead` and behind it as many of the `ranked` keywords as fit, in the order in which they were said; nothing where
/// not even `lead` fits. What stands side by side in a text stays so.
pub(crate) fn fill(
    job: &SummaryJob<'_>,
    segments: &[Segment],
    ranked: &[Keyword],
    lead: &str,
    mark: &str,
) -> Option<String> {
    let with = |count: usize| {
        let mut text = lead.to_owned();
        if count > 0 {
            text.push_str(mark);
            push_line(segments, ranked.get(..count).unwrap_or(ranked), &mut text);
        }
        text
    };
    let fits = |count: usize| job.counter.count(&with(count)) <= job.max_tokens;
    let (mut least, mut most) = (0, ranked.len());
    while least < most {
        let middle = (least + most).div_ceil(2);
        if fits(middle) { least = middle } else { most = middle - 1 }
    }
    // A counter is nearly monotone, and two keywords that were apart may become one: what was found is looked at again.
    (0..=least).rev().find(|&count| fits(count)).map(with)
}

/// Appends keywords in the order in which they were said, parted by commas.
fn push_line(segments: &[Segment], keywords: &[Keyword], text: &mut String) {
    let mut ordered = keywords.to_vec();
    ordered.sort_unstable();
    let mut last: Option<Keyword> = None;
    let push = |run: Keyword, text: &mut String, first: bool| {
        if !first {
            text.push_str(SEPARATOR);
        }
        text.push_str(segments.get(run.segment).and_then(|of| of.text.get(run.from..run.to)).unwrap_or_default());
    };
    let mut first = true;
    for keyword in ordered {
        let joined = last.filter(|run| {
            let between = segments.get(run.segment).and_then(|of| of.text.get(run.to..keyword.from.max(run.to)));
            run.segment == keyword.segment && matches!(between, Some("" | " "))
        });
        if let Some(run) = joined {
            last = Some(Keyword { to: run.to.max(keyword.to), ..run });
            continue;
        }
        if let Some(run) = last.replace(keyword) {
            push(run, text, std::mem::take(&mut first));
        }
    }
    if let Some(run) = last {
        push(run, text, first);
    }
}
