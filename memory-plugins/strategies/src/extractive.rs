//! Summarizes by the sentences that say most.

mod themes;

use memory_core::{
    BoxFuture, Level, Role, SummarizeError, Summarizer, SummaryJob, SummaryMetadata, SummarySource, WrittenBy,
    WrittenSummary,
};

use crate::{
    cues::Cues,
    fit::fit,
    markup::push_folded,
    rules::Signs,
    segments::{Kind, Segment, cut},
    select::{Candidate, Limits, select},
    sentences::closes,
    terms::Terms,
    words::is_unspaced,
};

/// Summarizes by whole sentences of the sources, in their order, chosen for what they tell per token.
///
/// A sentence tells its words, weighed by tf-idf over the sources; figures and names weigh more, and so do
/// sentences that announce a decision, a promise, a preference, an error or its fix. What one sentence tells, the next
/// is not paid for. Sentences are quoted, never rewritten, apart from their markup. The work is linear in the text
/// (one pass, no comparison of sentences by pairs), and all of it is read.
///
/// - SUMMARY: at most two sentences.
/// - META, ARCHIVE: `topics: a, b, c; ` and as many sentences as fit.
///
/// The greedy choice by value per cost under a budget is that of Lin and Bilmes, "Multi-document summarization via
/// budgeted maximization of submodular functions" (2010).
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

/// "One or two sentences a node."
const SENTENCES_OF_SUMMARY: usize = 2;

/// Topics of one summary.
const TOPICS: usize = 5;

impl Summarizer for Extractive {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "extractive".into(), version: "1".into() }
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl Extractive {
    /// Writes the summary at once.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let mut segments = Vec::new();
        for (index, source) in job.sources.iter().enumerate() {
            cut(index, themes::strip(source), &mut segments);
        }
        let terms = Terms::read(&segments, job.sources.len());
        let metadata = metadata(job.sources, &segments, &terms);
        let text = if segments.is_empty() {
            unsegmented(job)
        } else {
            let picks = select(candidates(job, &segments, &terms), &terms, limits(job));
            let themes = if job.level >= Level::Meta { themes::prefix(&metadata.topics, job) } else { String::new() };
            compose(job, &segments, &picks, &themes)
        };
        WrittenSummary { text, metadata }
    }
}

fn limits(job: &SummaryJob<'_>) -> Limits {
    // Costs are estimated while choosing; a little too much is offered, and what fits is kept.
    let tokens = to_f32(job.max_tokens) * 1.15;
    if job.level >= Level::Meta {
        Limits { tokens, segments: usize::MAX, thrift: 1.0 }
    } else {
        Limits { tokens, segments: SENTENCES_OF_SUMMARY + 2, thrift: 0.5 }
    }
}

fn candidates(job: &SummaryJob<'_>, segments: &[Segment], terms: &Terms) -> Vec<Candidate> {
    let tokens_per_byte = tokens_per_byte(job, segments);
    let source_of = |index: usize| segments.get(index).map(|segment| segment.source);
    let candidate = |(index, segment): (usize, &Segment)| {
        let first = index == 0 || source_of(index - 1) != Some(segment.source);
        let last = source_of(index + 1) != Some(segment.source);
        let place = if first { 1.2 } else { 1.0 } * if last { 1.05 } else { 1.0 };
        let source = job.sources.get(segment.source);
        let factor = place * factor(segment, terms.cues(index), source, job.level);
        let bytes = to_f32(u32::try_from(segment.text.len()).unwrap_or(u32::MAX));
        Candidate { segment: index, factor, cost: (bytes * tokens_per_byte).max(1.0) }
    };
    let talk = |index: usize| terms.cues(index) == Cues::SMALL_TALK && terms.of_segment(index).is_empty();
    let only_talk = (0..segments.len()).all(talk);
    segments.iter().enumerate().filter(|&(index, _)| only_talk || !talk(index)).map(candidate).collect()
}

/// What the words of a segment are multiplied by, for what it is and does.
fn factor(segment: &Segment, cues: Cues, source: Option<&SummarySource>, level: Level) -> f32 {
    let kind = match segment.kind {
        Kind::Sentence => 1.0,
        Kind::Heading | Kind::Row => 0.6,
        Kind::Data => 0.5,
        Kind::Code => 0.45,
    };
    let announced = [
        (Cues::DECISION, 0.6),
        (Cues::COMMITMENT, 0.3),
        (Cues::PREFERENCE, 0.35),
        (Cues::PROBLEM, 0.3),
        (Cues::FIX, 0.35),
        (Cues::EMPHASIS, 0.4),
        (Cues::PERSONAL, 0.2),
    ];
    let more: f32 = announced.iter().filter(|(cue, _)| cues.has(*cue)).map(|(_, weight)| weight).sum();
    let role = source.and_then(|source| source.role);
    let less = if cues.has(Cues::SMALL_TALK) { 0.4 } else { 1.0 }
        * if cues.has(Cues::QUESTION) && role == Some(Role::Assistant) { 0.6 } else { 1.0 };
    let importance = source.map_or(0.0, |source| source.metadata.importance);
    let weight = if level >= Level::Meta && importance > 0.0 { 0.6 + 0.8 * importance.min(1.0) } else { 1.0 };
    // "Next steps:" tells nothing by itself.
    let label = if segment.text.ends_with([':', '：']) { 0.2 } else { 1.0 };
    kind * (1.0 + more) * less * label * noise(&segment.text) * weight
}

/// Below 1 for what is hardly language: mostly signs, or one endless word.
fn noise(text: &str) -> f32 {
    let (mut letters, mut others, mut blanks, mut unspaced) = (0u32, 0u32, 0u32, false);
    for c in text.chars() {
        if c.is_whitespace() {
            blanks += 1;
        } else if c.is_alphanumeric() {
            letters += 1;
            unspaced |= is_unspaced(c);
        } else {
            others += 1;
        }
    }
    let endless = !unspaced && letters > 40 * (blanks + 1);
    if endless {
        0.2
    } else if others > letters {
        0.3
    } else if others * 2 > letters {
        0.6
    } else {
        1.0
    }
}

/// What a byte of these texts costs, measured on a sample from all over them.
fn tokens_per_byte(job: &SummaryJob<'_>, segments: &[Segment]) -> f32 {
    const SAMPLES: usize = 16;
    let mut sample = String::new();
    for segment in segments.iter().step_by((segments.len() / SAMPLES).max(1)).take(SAMPLES) {
        sample.push_str(&segment.text);
        sample.push(' ');
    }
    let bytes = to_f32(u32::try_from(sample.len()).unwrap_or(u32::MAX)).max(1.0);
    (to_f32(job.counter.count(&sample)) / bytes).max(0.01)
}

#[expect(clippy::cast_precision_loss, reason = "estimates of costs")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

/// Joins the picks, best first as long as they fit, in the order in which they were said.
fn compose(job: &SummaryJob<'_>, segments: &[Segment], picks: &[usize], themes: &str) -> String {
    let most = if job.level >= Level::Meta { usize::MAX } else { SENTENCES_OF_SUMMARY };
    let fits = |text: &str| job.counter.count(text) <= job.max_tokens;
    let mut left = job.max_tokens.saturating_sub(job.counter.count(themes));
    let mut kept: Vec<usize> = Vec::new();
    for &pick in picks {
        let cost = segments.get(pick).map_or(0, |segment| job.counter.count(&segment.text));
        if kept.len() < most && cost <= left {
            left -= cost;
            kept.push(pick);
        }
    }
    // Parts and whole differ by what the counter makes of the seams: the last and least go until the whole fits.
    while !kept.is_empty() {
        let mut ordered = kept.clone();
        ordered.sort_unstable();
        let text = join(themes, segments, &ordered);
        if fits(&text) {
            return text;
        }
        kept.pop();
    }
    // Not even one fits whole: the best one is shortened.
    let best = picks.first().and_then(|&pick| segments.get(pick)).map_or("", |segment| segment.text.as_str());
    let cut = fit(best, job.max_tokens, job.counter);
    if cut.trim().is_empty() { unsegmented(job) } else { cut }
}

fn join(themes: &str, segments: &[Segment], kept: &[usize]) -> String {
    let mut text = themes.to_owned();
    let mut first = true;
    for segment in kept.iter().filter_map(|&index| segments.get(index)) {
        if !std::mem::take(&mut first) {
            text.push_str(separator(&text));
        }
        text.push_str(&segment.text);
    }
    text
}

/// What goes between `before` and the next segment.
fn separator(before: &str) -> &'static str {
    let ended = before
        .trim_end_matches(closes)
        .ends_with(['.', '!', '?', '…', ':', ';', ',', '{', '。', '！', '？', '।', '؟', '۔']);
    if ended { " " } else { "; " }
}

/// The beginning of sources without any letter or digit; blank only if they are.
fn unsegmented(job: &SummaryJob<'_>) -> String {
    const ENOUGH: usize = 4096;
    let mut text = String::new();
    for source in job.sources {
        let head = source.text.get(..source.text.floor_char_boundary(ENOUGH)).unwrap_or_default();
        push_folded(head, &mut text);
        text.push(' ');
        if text.len() > ENOUGH {
            break;
        }
    }
    let cut = fit(&text, job.max_tokens, job.counter);
    let silent = job.sources.iter().all(|source| source.text.trim().is_empty());
    if !cut.trim().is_empty() || silent {
        return cut;
    }
    // Nothing of it can be shown (control characters, or every character costs too much): at least a sign.
    ["…", "."].into_iter().find(|sign| job.counter.count(sign) <= job.max_tokens).unwrap_or_default().to_owned()
}

/// What is known beside the words. The importance is the highest that the sources carry or the rules find; above
/// SUMMARY it lies between that and the mean, so that one loud message does not make a whole archive important.
fn metadata(sources: &[SummarySource], segments: &[Segment], terms: &Terms) -> SummaryMetadata {
    let mut signs = vec![Signs::default(); sources.len()];
    let mut found = SummaryMetadata { topics: terms.topics(segments, sources, TOPICS), ..SummaryMetadata::default() };
    for (index, segment) in segments.iter().enumerate() {
        let cues = terms.cues(index);
        found.has_decision |= cues.has(Cues::DECISION) && segment.kind != Kind::Code;
        found.has_code |= segment.kind == Kind::Code;
        if let Some(signs) = signs.get_mut(segment.source) {
            let (figures, others) = terms.figures_and_others(index);
            signs.add(cues, figures, others);
            if segment.kind == Kind::Code {
                signs.add_code();
            }
        }
    }
    let (mut highest, mut sum) = (0f32, 0f32);
    for (source, signs) in sources.iter().zip(&signs) {
        let known =
            if source.metadata.importance.is_finite() { source.metadata.importance.clamp(0.0, 1.0) } else { 0.0 };
        let importance = if source.role.is_some() { known.max(signs.score(source.role)) } else { known };
        highest = highest.max(importance);
        sum += importance;
        found.has_decision |= source.metadata.has_decision;
        found.has_code |= source.metadata.has_code;
        found.line_count += source.metadata.line_count;
    }
    let mean = sum / to_f32(u32::try_from(sources.len()).unwrap_or(u32::MAX)).max(1.0);
    let of_messages = sources.iter().all(|source| source.role.is_some());
    found.importance = if of_messages { highest } else { f32::midpoint(highest, mean) };
    found
}

#[cfg(test)]
mod tests;
