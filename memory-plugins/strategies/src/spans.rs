//! The span summarizer: quotes whole sentences.

mod beginning;
mod calls;
mod choose;
mod compose;
mod outline;
mod speakers;

use memory_core::{
    Level, WrittenBy,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, WrittenSummary},
};

use crate::{
    markup::push_folded,
    reading::{Reading, unsegmented},
    said::said,
    sections::SEPARATOR,
};

use self::{choose::choose, compose::Composer};

/// Summarizes by quoting whole sentences: `Maya: We decided to rent the hall. | Ben: Who cooks?`.
///
/// - Sentences are quoted whole. If none fits, the beginning of an English sentence stands for it, with `…`: at least
///   four words, cut after a clause or a word, and never before a word that may invert its meaning. A sentence of
///   another language is cut only before a last clause that begins with a conjunction and denies nothing, since its
///   verb or negation may come last.
/// - A model's reply of at least three labelled parts is the sentence that leads it, and their labels.
/// - A message of tool calls is the name of each tool with its path or command. Times of a plan, examples and headings
///   lead no summary, and a row of a table names its columns.
/// - Words that programs put into a message are left out ([`said`](crate::said())). Tool results, code, tables and titles
///   are quoted only if there is nothing else.
/// - Of several messages, a sentence that a later one changes is left out: "We use Redis", "Scratch Redis, we use
///   RabbitMQ".
/// - A SUMMARY begins with the speaker. A META or ARCHIVE separates the messages by ` | `; consecutive ones of one speaker
///   share the name. No word is added but the name.
/// - Sources that fit are quoted in full.
///
/// Sentences are chosen greedily by marginal value per cost (Lin and Bilmes, "Multi-document summarization via budgeted
/// maximization of submodular functions", 2010): names, dates and figures first; more for decisions, wishes, questions
/// and problems; little for greetings, formulas, and sentences that lean on the one before. Above SUMMARY a model's
/// sentences count less. The work is linear in the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spans;

impl Summarizer for Spans {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("spans", "9")
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
        let composer = Composer::new(&reading, &names);
        let over = choose::superseded(job, &reading, &composer);
        // A message that fits is shown as it is; among others, what is over would pass for current.
        let is_told_whole = job.level < Level::Meta || !over.contains(&true);
        if let Some(text) = is_told_whole.then(|| whole(job, &parts, &names)).flatten() {
            return WrittenSummary::new(text).metadata(metadata);
        }
        let text = choose(job, &reading, &composer, &over);
        let text = text.or_else(|| calls::written(job, &parts, &names)).or_else(|| composer.omitted(job));
        let text = text.unwrap_or_else(|| unsegmented(job));
        WrittenSummary::new(text).metadata(metadata)
    }
}

/// The full text of the sources, if it fits.
fn whole(job: &SummaryJob<'_>, parts: &[(usize, speakers::SpeakerPart<'_>)], names: &[String]) -> Option<String> {
    /// No token is longer.
    const BYTES_PER_TOKEN: usize = 128;
    let texts: Vec<_> = parts.iter().map(|(_, part)| said(part.text)).collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    if bytes > usize::try_from(job.max_tokens).ok()?.saturating_mul(BYTES_PER_TOKEN) {
        return None;
    }
    let mut text = String::with_capacity(bytes);
    let mut last: Option<&str> = None;
    for (part, name) in texts.iter().zip(names) {
        let mut folded = String::with_capacity(part.len());
        push_folded(part.trim(), &mut folded);
        let said = folded.replace(SEPARATOR, " / ");
        if said.trim().is_empty() {
            continue;
        }
        match last {
            None => text.push_str(name),
            Some(before) if before == name && !speakers::is_named(said.trim()) => text.push_str(SEPARATOR),
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
mod omissions;
#[cfg(test)]
mod tests;
