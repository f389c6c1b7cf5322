//! The span summarizer: quotes clauses and phrases, with a sign for omissions.

mod choose;
mod clauses;
mod compose;
mod lexis;
mod quotes;
mod speakers;
mod units;
mod verbs;

use memory_core::{
    Level, WrittenBy,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, WrittenSummary},
};

use crate::{
    markup::push_folded,
    reading::{Reading, unsegmented},
    sections::SEPARATOR,
};

use self::{choose::choose, clauses::choose_clauses, compose::Composer, units::Units};

/// Summarizes by quoting clauses and phrases of the text: `Maya: We decided to rent the hall … for 1,850 euros. Who
/// cooks…?`.
///
/// - A sentence is split into clauses (at punctuation, conjunctions, subjects after a comma) and phrases (at
///   prepositions, commas, "and"). A negation keeps all that it governs, a condition its main clause, a verb of wanting
///   or saying its complement. Phrases are never split, and no word is added but the speaker's name.
/// - `…` marks an omission within a sentence, at its beginning and end too, `…?` a truncated question; whole sentences
///   follow each other without a sign.
/// - A sentence that is not English for certain is quoted whole or left out.
/// - A SUMMARY begins with the speaker. A META or ARCHIVE separates the speakers by ` | `; consecutive messages of one
///   speaker share the name.
/// - A META or ARCHIVE consists of whole sentences, or of clauses with a verb: few intelligible statements rather than
///   fragments of many. Titles, labels, formulas and small talk are used only if there is nothing else.
/// - Sources that fit are quoted in full.
///
/// Phrases are chosen greedily by marginal value per cost (Lin and Bilmes, "Multi-document summarization via budgeted
/// maximization of submodular functions", 2010): names, dates and figures first, then long words; more for decisions,
/// wishes, questions and problems; little for greetings, code, tables and formulas. A message that ends with a question
/// keeps a piece of it. The remaining tokens are filled with the beginning of one more phrase. Above SUMMARY, clauses
/// are chosen the same way; first-person statements count more, a model's messages only by their beginning and end, and
/// each further piece of one message less. The work is linear in the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spans;

impl Summarizer for Spans {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("spans", "4")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl Spans {
    /// Writes the summary synchronously.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let parts: Vec<(usize, speakers::SpeakerPart<'_>)> = job
            .sources
            .iter()
            .enumerate()
            .flat_map(|(index, source)| speakers::parts(source).into_iter().map(move |part| (index, part)))
            .collect();
        let reading = Reading::of_parts(job, parts.iter().map(|(index, part)| (*index, part.section, part.text)));
        let metadata = reading.metadata();
        let names: Vec<String> = parts.iter().map(|(_, part)| speakers::label(&part.name, job)).collect();
        if let Some(text) = whole(job, &parts, &names) {
            return WrittenSummary::new(text).metadata(metadata);
        }
        if reading.segments.is_empty() {
            return WrittenSummary::new(unsegmented(job)).metadata(metadata);
        }
        let units = Units::of(&reading);
        let merges = job.level >= Level::Meta;
        let composer = Composer::new(&reading, &units, &names, merges);
        let clauses = merges.then(|| choose_clauses(job, &reading, &units, &composer)).flatten();
        let text = clauses.or_else(|| choose(job, &reading, &units, &composer));
        let text = text.unwrap_or_else(|| composer.cut(job, &reading));
        WrittenSummary::new(text).metadata(metadata)
    }
}

/// The full text of the sources, if it fits.
fn whole(job: &SummaryJob<'_>, parts: &[(usize, speakers::SpeakerPart<'_>)], names: &[String]) -> Option<String> {
    /// No token is longer.
    const BYTES_PER_TOKEN: usize = 128;
    let bytes: usize = parts.iter().map(|(_, part)| part.text.len()).sum();
    if bytes > usize::try_from(job.max_tokens).ok()?.saturating_mul(BYTES_PER_TOKEN) {
        return None;
    }
    let mut text = String::with_capacity(bytes);
    let mut last: Option<&str> = None;
    for ((_, part), name) in parts.iter().zip(names) {
        let mut said = String::with_capacity(part.text.len());
        push_folded(part.text.trim(), &mut said);
        let said = said.replace(SEPARATOR, " / ");
        if said.trim().is_empty() {
            continue;
        }
        match last {
            None => text.push_str(name),
            Some(before) if before == name => text.push(' '),
            Some(_) => {
                text.push_str(SEPARATOR);
                text.push_str(name);
            }
        }
        text.push_str(said.trim());
        last = Some(name);
    }
    (!text.is_empty() && job.counter.count(&text) <= job.max_tokens).then_some(text)
}

#[cfg(test)]
mod tests;
