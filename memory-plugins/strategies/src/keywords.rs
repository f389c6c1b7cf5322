//! Keywords: names, figures and rare words in their original form, most informative first.

use memory_core::SummaryJob;

use crate::{
    cues::is_negation,
    reading::Reading,
    segments::Segment,
    sentences::closes,
    terms::{at_least_one, is_common, to_f32},
    words::{Form, words},
};

/// A piece of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keyword {
    segment: usize,
    from: usize,
    to: usize,
}

/// Maximum keywords of one summary.
const MOST: usize = 512;

/// Maximum bytes of punctuation kept between two adjacent keywords.
const LONGEST_SIGNS: usize = 3;

/// Maximum bytes of a word that is kept with the figure before it: `1,850 euros`, `12 March`.
const LONGEST_UNIT: usize = 12;

/// The terms that these segments contain.
pub(crate) fn covered(reading: &Reading<'_>, kept: &[usize]) -> Vec<bool> {
    let mut covered = vec![false; reading.terms.len()];
    for term in kept.iter().flat_map(|&segment| reading.terms.of_segment(segment)) {
        if let Some(covered) = usize::try_from(*term).ok().and_then(|term| covered.get_mut(term)) {
            *covered = true;
        }
    }
    covered
}

/// The terms in the first `bytes` of a segment.
pub(crate) fn covered_within(reading: &Reading<'_>, segment: usize, bytes: usize) -> Vec<bool> {
    let within = |(of, from, length)| of == segment && from + length <= bytes;
    (0..reading.terms.len()).map(|term| reading.terms.place(term).is_some_and(within)).collect()
}

/// Keywords of the reading, by value per cost, without those already `covered` (by term number). Each is at its first
/// occurrence.
pub(crate) fn ranked(reading: &Reading<'_>, covered: &[bool]) -> Vec<Keyword> {
    let mut factors: Vec<Option<f32>> = vec![None; reading.segments.len()];
    let mut rated = Vec::new();
    for term in (0..reading.terms.len()).filter(|&term| covered.get(term) != Some(&true)) {
        let Some((segment, from, length)) = reading.terms.place(term) else { continue };
        let (Some(of), Some(factor)) = (reading.segments.get(segment), factors.get_mut(segment)) else { continue };
        let factor = *factor.get_or_insert_with(|| reading.factor(segment));
        let weight = u32::try_from(term).map_or(0.0, |term| reading.terms.weight(term));
        let keyword = widened(&of.text, Keyword { segment, from, to: from + length });
        // The separator costs a token too; the word after a figure is worth its cost.
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

/// `ranked` with the question of the last segment first, unless it is among the `kept`: the whole question if it takes
/// at most a quarter of the tokens ("What do you think?" has no keyword), else its most informative keyword.
pub(crate) fn question_first(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    kept: &[usize],
    mut ranked: Vec<Keyword>,
) -> Vec<Keyword> {
    let Some((segment, last)) = reading.segments.iter().enumerate().next_back() else { return ranked };
    if !asks(last) || kept.contains(&segment) {
        return ranked;
    }
    let question = last.text.trim_end_matches(closes).trim_end_matches('?');
    if reading.cost(question.len()) <= to_f32(job.max_tokens) / 4.0 {
        ranked.insert(0, Keyword { segment, from: 0, to: question.len() });
    } else if let Some(best) = ranked.iter().position(|keyword| keyword.segment == segment) {
        ranked.get_mut(..=best).unwrap_or_default().rotate_right(1);
    }
    ranked
}

fn asks(segment: &Segment) -> bool {
    segment.text.trim_end_matches(closes).ends_with('?')
}

/// Extends a figure by its unit, and any word by the negation before it.
fn widened(text: &str, keyword: Keyword) -> Keyword {
    let figure = text.get(keyword.from..keyword.to).is_some_and(|word| word.contains(char::is_numeric));
    let after = text.get(keyword.to..).filter(|after| figure && after.starts_with(' ')).unwrap_or_default();
    let unit = words(after).next().filter(|word| {
        // "4 May", though "may" is a common word.
        let is_informative = word.form == Form::Capital || (word.form == Form::Plain && !is_common(word));
        word.at == 1 && is_informative && word.text.len() <= LONGEST_UNIT
    });
    Keyword {
        from: negation_before(text, keyword.from).unwrap_or(keyword.from),
        to: keyword.to + unit.map_or(0, |word| 1 + word.text.len()),
        ..keyword
    }
}

/// Where the negation begins that affects the byte `from`: "doesn't really work" must not become "work".
fn negation_before(text: &str, from: usize) -> Option<usize> {
    /// The number of words that a negation affects, whatever they are, and if all before the last are common.
    const REACH: usize = 3;
    const REACH_OVER_COMMON: usize = 4;
    let mut start = from;
    for distance in 1..=REACH_OVER_COMMON {
        if distance > REACH && !words(text.get(start..from)?).all(|word| is_common(&word)) {
            return None;
        }
        let before = text.get(..start)?.strip_suffix(' ')?;
        let word = before.rsplit(' ').next()?;
        start = before.len() - word.len();
        if is_negation(word.trim_start_matches(|sign: char| !sign.is_alphanumeric())) {
            return Some(start);
        }
        if word.ends_with([',', ';', ':', '.', '!', '?', ')']) {
            return None;
        }
    }
    None
}

/// `lead` followed by `mark` and as many of the `ranked` keywords as fit, in their original order; `None` if not even
/// `lead` fits. Adjacent keywords keep the punctuation between them.
pub(crate) fn fill(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    ranked: &[Keyword],
    lead: &str,
    mark: &str,
) -> Option<String> {
    let lead_tokens = job.counter.count(lead);
    let mut left = to_f32(job.max_tokens.checked_sub(lead_tokens)?);
    let costs = ranked.iter().map(|keyword| reading.cost(keyword.to - keyword.from + 1));
    let mut guess = costs
        .take_while(|cost| {
            left -= cost;
            left >= 0.0
        })
        .count();
    let room = lead.len() + usize::try_from(job.max_tokens).unwrap_or(usize::MAX).min(MOST) * BYTES_PER_TOKEN;
    let (mut best, mut text) = (String::with_capacity(room), String::with_capacity(room));
    best.push_str(lead);
    let (mut least, mut most) = (0, ranked.len());
    for probe in 0.. {
        if least >= most {
            break;
        }
        // Cost is nearly linear, so that interpolation converges fast; bisection ends the search in any case.
        let count = if probe < GUESSES { guess.clamp(least + 1, most) } else { (least + most).div_ceil(2) };
        text.clear();
        text.push_str(lead);
        text.push_str(mark);
        push_line(&reading.segments, ranked.get(..count).unwrap_or(ranked), &mut text);
        let tokens = job.counter.count(&text);
        let more = |keywords: f32| usize::try_from(at_least_one(keywords)).unwrap_or(usize::MAX);
        let per_token =
            to_f32(u32::try_from(count).unwrap_or(u32::MAX)) / to_f32(tokens.saturating_sub(lead_tokens)).max(1.0);
        if tokens <= job.max_tokens {
            guess = count + more(to_f32(job.max_tokens - tokens) * per_token);
            least = count;
            std::mem::swap(&mut best, &mut text);
        } else {
            guess = count.saturating_sub(more(to_f32(tokens - job.max_tokens) * per_token));
            most = count - 1;
        }
    }
    Some(best)
}

/// The initial buffer size.
const BYTES_PER_TOKEN: usize = 8;

/// Interpolation steps before the search bisects.
const GUESSES: usize = 4;

/// The separator between keywords of two sentences: "Changed both. And no page came." must not become "Changed no
/// page".
const SENTENCE_END: &str = "; ";

/// The separator after keywords of a question.
const QUESTION_END: &str = "? ";

/// Appends keywords in their original order.
fn push_line(segments: &[Segment], keywords: &[Keyword], text: &mut String) {
    let asks = |segment: usize| segments.get(segment).is_some_and(asks);
    let mut last: Option<(usize, &str)> = None;
    for run in runs(segments, keywords) {
        let said = segments.get(run.segment).and_then(|of| of.text.get(run.from..run.to)).unwrap_or_default();
        match last {
            Some((segment, before)) if segment == run.segment => text.push_str(separator(before, said)),
            Some((segment, _)) => text.push_str(if asks(segment) { QUESTION_END } else { SENTENCE_END }),
            None => {}
        }
        text.push_str(said);
        last = Some((run.segment, said));
    }
    if last.is_some_and(|(segment, _)| asks(segment)) {
        text.push_str(QUESTION_END.trim_end());
    }
}

/// Keywords in their original order; those without a word between them are merged.
fn runs(segments: &[Segment], keywords: &[Keyword]) -> Vec<Keyword> {
    let text = |of: &Keyword| segments.get(of.segment).map_or("", |of| of.text.as_str());
    let mut runs = keywords.to_vec();
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let joins = run.segment == next.segment && is_side_by_side(text(run).get(run.to..next.from));
        if joins {
            run.to = run.to.max(next.to);
        }
        joins
    });
    for run in &mut runs {
        run.to += closing(text(run), *run);
    }
    runs
}

/// Whether only a few punctuation marks are between two keywords; `None` if they overlap.
fn is_side_by_side(between: Option<&str>) -> bool {
    between.is_none_or(|between| between.len() <= LONGEST_SIGNS && !between.contains(char::is_alphanumeric))
}

/// The bytes of a bracket right after `run` that closes one in it, so that `open(7, Mode::Shared)` stays whole.
fn closing(text: &str, run: Keyword) -> usize {
    let (open, close) = match text.as_bytes().get(run.to) {
        Some(b')') => (b'(', b')'),
        Some(b']') => (b'[', b']'),
        Some(b'}') => (b'{', b'}'),
        _ => return 0,
    };
    let said = text.as_bytes().get(run.from..run.to).unwrap_or_default();
    let count = |sign| said.iter().filter(|&&byte| byte == sign).count();
    usize::from(count(open) > count(close))
}

/// The separator between two keywords of a sentence with omitted words between them: a comma only where they would be
/// read as one, after a figure, and between a name and a name or figure. Commas everywhere would take a third of the
/// tokens.
fn separator(before: &str, next: &str) -> &'static str {
    let last = before.rsplit(' ').next().unwrap_or_default();
    let is_name = |word: &str| word.starts_with(char::is_uppercase);
    let is_figure = |word: &str| word.contains(char::is_numeric);
    let next = next.split(' ').next().unwrap_or_default();
    if is_figure(last) || (is_name(last) && (is_name(next) || is_figure(next))) { ", " } else { " " }
}
