//! The parsed sources of a summary job: segments, terms, and the weight of each segment.

use memory_core::{SummaryMetadata, port::SummaryJob, text::floor_char_boundary};

use crate::{
    cues::Cues,
    fit::fit,
    language::Language,
    markup::push_folded,
    rules::Signs,
    said::said,
    sections::Section,
    segments::{Kind, Segment, cut},
    terms::{Terms, to_f32},
    words::is_unspaced,
};

/// Maximum topics of one summary.
pub(crate) const TOPICS: usize = 5;

/// All sources of a job, read once.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    job: &'a SummaryJob<'a>,
    /// In the order of the sources.
    pub segments: Vec<Segment>,
    /// The terms of the segments.
    pub terms: Terms,
    /// The first segment of each part, in order; for an empty part, that of the next.
    pub parts: Vec<usize>,
    /// The language of each part.
    languages: Vec<Language>,
    tokens_per_byte: f32,
}

impl<'a> Reading<'a> {
    /// Reads parts of the sources of `job`: source index, section and text of each.
    pub(crate) fn of_parts<'p>(
        job: &'a SummaryJob<'a>,
        parts: impl Iterator<Item = (usize, Section, &'p str)>,
    ) -> Self {
        let (mut segments, mut firsts) = (Vec::new(), Vec::new());
        for (index, section, text) in parts {
            let first = segments.len();
            firsts.push(first);
            cut(index, text, &mut segments);
            if section == Section::Also {
                segments.iter_mut().skip(first).for_each(|segment| segment.kind = Kind::Keywords);
            }
        }
        let terms = Terms::read(&segments, job.sources.len());
        let tokens_per_byte = tokens_per_byte(job, &segments);
        let end = |part: usize| firsts.get(part + 1).copied().unwrap_or(segments.len());
        let of_part = |(part, first): (usize, &usize)| {
            let segments = segments.get(*first..end(part)).unwrap_or_default().iter();
            segments.map(|segment| Language::of(&segment.text)).fold(Language::default(), Language::with)
        };
        let languages = firsts.iter().enumerate().map(of_part).collect();
        Self { job, segments, terms, parts: firsts, languages, tokens_per_byte }
    }

    /// The language of the part that a segment belongs to.
    pub(crate) fn language_around(&self, segment: usize) -> Language {
        let part = self.parts.partition_point(|first| *first <= segment).checked_sub(1);
        part.and_then(|part| self.languages.get(part)).copied().unwrap_or_default()
    }

    /// The approximate cost in tokens of this many bytes, at least 1.
    pub(crate) fn cost(&self, bytes: usize) -> f32 {
        (to_f32(u32::try_from(bytes).unwrap_or(u32::MAX)) * self.tokens_per_byte).max(1.0)
    }

    /// Metadata of the summary. Its importance is the highest of the sources' and the rules'; above SUMMARY it lies
    /// between that and the mean, so that one message does not make a whole archive important.
    pub(crate) fn metadata(&self) -> SummaryMetadata {
        let (sources, segments, terms) = (self.job.sources, &self.segments, &self.terms);
        let mut signs = vec![Signs::default(); sources.len()];
        let mut found = SummaryMetadata::default().topics(terms.topics(segments, sources, TOPICS));
        for (index, segment) in segments.iter().enumerate() {
            let cues = terms.cues(index);
            found.has_decision |= cues.has(Cues::DECISION) && segment.kind != Kind::Code;
            found.has_code |= segment.kind == Kind::Code;
            if let Some(signs) = signs.get_mut(segment.source) {
                let (figures, others) = terms.figures_and_others(index);
                signs.add(cues, figures, others);
                if segment.kind == Kind::Code {
                    signs.code = true;
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
}

/// Factor for text that is hardly language, below 1: mostly punctuation, or one very long word.
pub(crate) fn noise(text: &str) -> f32 {
    let (mut letters, mut others, mut blanks, mut unspaced) = (0u32, 0u32, 0u32, false);
    if text.is_ascii() {
        for byte in text.bytes() {
            letters += u32::from(byte.is_ascii_alphanumeric());
            blanks += u32::from(byte == b' ');
            others += u32::from(!byte.is_ascii_alphanumeric() && byte != b' ');
        }
    } else {
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

/// Tokens per byte, estimated from samples spread over the texts.
fn tokens_per_byte(job: &SummaryJob<'_>, segments: &[Segment]) -> f32 {
    const SAMPLES: usize = 16;
    let sampled = segments.iter().step_by((segments.len() / SAMPLES).max(1)).take(SAMPLES);
    let mut sample = String::with_capacity(sampled.clone().map(|segment| segment.text.len() + 1).sum());
    for segment in sampled {
        sample.push_str(&segment.text);
        sample.push(' ');
    }
    let bytes = to_f32(u32::try_from(sample.len()).unwrap_or(u32::MAX)).max(1.0);
    (to_f32(job.counter.count(&sample)) / bytes).max(0.01)
}

/// Beginning of sources of which no letter or digit is said; blank only if the sources are.
pub(crate) fn unsegmented(job: &SummaryJob<'_>) -> String {
    const ENOUGH: usize = 4096;
    let mut text = String::new();
    for source in job.sources {
        let said = said(&source.text);
        push_folded(said.get(..floor_char_boundary(&said, ENOUGH)).unwrap_or_default(), &mut text);
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
    // Nothing can be shown (control characters, or every character is too expensive), so a sign stands for it.
    ["…", "."].into_iter().find(|sign| job.counter.count(sign) <= job.max_tokens).unwrap_or_default().to_owned()
}
