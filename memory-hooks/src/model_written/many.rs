//! SUMMARYs of many messages by one request, with a repair of what the reply lacks.

use std::collections::HashMap;

use memory_core::{
    ContentBlock, Level, Message, SummaryMetadata,
    port::{ChatError, SummaryJob, WrittenSummary},
};
use memory_strategies::Spans;
use serde_json::Value;

use super::{
    FILLED, ModelSummarizer, ModelSummaryError, answer,
    chunks::{Block, blocks},
    most_reply, words,
};

/// Most messages of one request.
pub(super) const MOST: usize = 20;
/// Tokens of a reply's entry next to its summary: names of members, importance and topics.
const ENTRY: u32 = 48;
/// Most topics of an entry, and characters of one.
const TOPICS: usize = 5;
const LONGEST_TOPIC: usize = 40;
/// Most bytes of a failed reply that are shown to the model again.
const SHOWN_AGAIN: usize = 4096;

type Outcome = Result<WrittenSummary, ModelSummaryError>;

/// A message to summarize.
struct Entry<'j> {
    /// Index of the job.
    index: usize,
    job: &'j SummaryJob<'j>,
    block: Block,
    /// Tokens of its line and of its share of the reply.
    cost: u32,
}

impl ModelSummarizer {
    /// The summaries of jobs, in their order. Messages that fit a window together share a request.
    pub(super) async fn write_many(&self, jobs: &[SummaryJob<'_>]) -> Vec<Outcome> {
        let mut outcomes: HashMap<usize, Outcome> = HashMap::new();
        let mut together: Vec<Entry<'_>> = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(offline) = Self::offline(job) {
                outcomes.insert(index, Ok(offline));
                continue;
            }
            match <[Block; 1]>::try_from(Vec::from(blocks(job.sources))) {
                Ok([block]) if job.level == Level::Summary && block.nodes.count() == 1 => {
                    let cost = job.counter.count(&block.line()).saturating_add(entry_tokens(job));
                    together.push(Entry { index, job, block, cost });
                }
                _ => drop(outcomes.insert(index, self.one(job).await)),
            }
        }
        let mut groups = self.groups(together);
        groups.reverse();
        while let Some(mut group) = groups.pop() {
            if let [entry] = group.as_slice() {
                outcomes.insert(entry.index, self.one(entry.job).await);
                continue;
            }
            match self.ask_group(&group).await {
                Ok(written) => outcomes.extend(written),
                Err(ModelSummaryError::Chat(ChatError::ContextOverflow { .. })) => {
                    let rest = group.split_off(group.len() / 2);
                    groups.extend([rest, group]);
                }
                // The same would happen to the next group.
                Err(error) => {
                    let failed = groups.drain(..).flatten().chain(group).map(|entry| (entry.index, Err(same(&error))));
                    outcomes.extend(failed);
                }
            }
        }
        (0..jobs.len()).map(|index| outcomes.remove(&index).unwrap_or(Err(ModelSummaryError::Blank))).collect()
    }

    pub(super) async fn one(&self, job: &SummaryJob<'_>) -> Outcome {
        let text = self.write(job).await?;
        Ok(WrittenSummary::new(text).metadata(Spans.write(job).metadata))
    }

    /// Divides messages into groups whose request and reply fit the window.
    fn groups<'j>(&self, entries: Vec<Entry<'j>>) -> Vec<Vec<Entry<'j>>> {
        let mut groups: Vec<Vec<Entry<'j>>> = Vec::new();
        let mut left = 0;
        for entry in entries {
            let frame = entry.job.counter.count(&self.system_prompt).saturating_add(words::MANY_TOKENS);
            match groups.last_mut() {
                Some(group) if group.len() < self.together.min(MOST) && entry.cost <= left => {
                    left -= entry.cost;
                    group.push(entry);
                }
                _ => {
                    let room = (self.model.context_window() / 100 * FILLED).saturating_sub(frame);
                    left = room.saturating_sub(entry.cost);
                    groups.push(vec![entry]);
                }
            }
        }
        groups
    }

    /// Asks about a group, and once again about the messages whose entries are missing or wrong.
    async fn ask_group(&self, group: &[Entry<'_>]) -> Result<Vec<(usize, Outcome)>, ModelSummaryError> {
        let Some(first) = group.first() else { return Ok(Vec::new()) };
        let asked = request(group.iter());
        let most =
            |group: &[&Entry<'_>]| group.iter().map(|entry| entry_tokens(entry.job)).fold(0, u32::saturating_add);
        let all: Vec<&Entry<'_>> = group.iter().collect();
        let mut messages = vec![Message::user(&asked)];
        let reply = self.reply(first.job, messages.clone(), most(&all)).await?;
        let mut written = Vec::new();
        let mut wrong = Vec::new();
        let mut take = |entries: Vec<&'_ Entry<'_>>, reply: &Message, wrong: &mut Vec<(usize, ModelSummaryError)>| {
            let given = read(reply);
            for entry in entries {
                match self.accepted(entry, given.as_ref(), reply, &asked) {
                    Ok(summary) => written.push((entry.index, Ok(summary))),
                    Err(error) => wrong.push((entry.index, error)),
                }
            }
        };
        take(all, &reply, &mut wrong);
        if !wrong.is_empty() {
            let left: Vec<&Entry<'_>> =
                group.iter().filter(|entry| wrong.iter().any(|(index, _)| *index == entry.index)).collect();
            let text = reply.text();
            let shown = text.get(..memory_core::text::floor_char_boundary(&text, SHOWN_AGAIN)).unwrap_or_default();
            messages.push(Message::assistant(if shown.trim().is_empty() { "{}" } else { shown }));
            let reasons = left.iter().zip(&wrong).map(|(entry, (_, error))| (entry.block.nodes, error.to_string()));
            messages.push(Message::user(words::repair(reasons)));
            // A failure of the repair leaves what was written.
            if let Ok(repaired) = self.reply(first.job, messages, most(&left)).await {
                wrong.clear();
                take(left, &repaired, &mut wrong);
            }
        }
        written.extend(wrong.into_iter().map(|(index, error)| (index, Err(error))));
        Ok(written)
    }

    /// The summary of a message in a reply, if it is one.
    fn accepted(
        &self,
        entry: &Entry<'_>,
        given: Option<&HashMap<u64, Value>>,
        reply: &Message,
        asked: &str,
    ) -> Outcome {
        let Entry { job, block, .. } = entry;
        let chunk = std::slice::from_ref(block);
        let Some(given) = given else {
            // A reply that is no JSON may be a refusal, whose type matters more.
            answer::read(reply, chunk, job.excluded)?;
            return Err(ModelSummaryError::NotAsAsked);
        };
        let given = given.get(&block.nodes.first().get()).ok_or(ModelSummaryError::NotAsAsked)?;
        let text = given["summary"].as_str().ok_or(ModelSummaryError::NotAsAsked)?;
        let text = self.read(&Message::assistant(text), asked, chunk, job)?;
        let tokens = job.counter.count(&text);
        let fitting = answer::fitting(&text, job.max_tokens, 1, job.counter);
        let text = fitting.ok_or(ModelSummaryError::TooLong { tokens, most: job.max_tokens })?;
        let by_rules = Spans.write(job).metadata;
        Ok(WrittenSummary::new(text).metadata(with_fields(by_rules, given, &block.text)))
    }
}

/// Tokens of the reply about one message.
fn entry_tokens(job: &SummaryJob<'_>) -> u32 {
    most_reply(job.max_tokens).saturating_add(ENTRY)
}

fn request<'e>(group: impl Iterator<Item = &'e Entry<'e>> + Clone) -> String {
    let lines: String = group.clone().map(|entry| entry.block.line()).collect();
    words::many(&lines, group.map(|entry| (entry.block.nodes, entry.job.max_tokens)))
}

/// Entries of a reply by the numbers of their messages; `None` if it has no JSON object with a list of them.
fn read(reply: &Message) -> Option<HashMap<u64, Value>> {
    let texts = reply.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let said = texts.collect::<Vec<_>>().join("\n");
    let said = said.rsplit_once("</think>").map_or(said.as_str(), |(_, after)| after);
    let object = said.get(said.find('{')?..=said.rfind('}')?)?;
    let value: Value = serde_json::from_str(object).ok()?;
    // A single entry may come without its list.
    let list = value.get("summaries").and_then(Value::as_array).cloned();
    let entries = list.unwrap_or_else(|| vec![value]);
    let number = |entry: &Value| entry["message"].as_u64().or_else(|| entry["message"].as_str()?.trim().parse().ok());
    Some(entries.into_iter().filter_map(|entry| Some((number(&entry)?, entry))).collect())
}

/// Metadata by rules, with the fields of an entry. A topic counts only if the text has one of its words.
fn with_fields(by_rules: SummaryMetadata, given: &Value, text: &str) -> SummaryMetadata {
    #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    let importance = given["importance"].as_f64().filter(|value| (0.0..=1.0).contains(value)).map(|value| value as f32);
    let text = text.to_lowercase();
    let is_of_text = |topic: &str| topic.to_lowercase().split_whitespace().any(|word| text.contains(word));
    let mut topics: Vec<String> = Vec::new();
    let given_topics = given["topics"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::trim);
    let given_topics = given_topics.filter(|topic| topic.chars().count() <= LONGEST_TOPIC && is_of_text(topic));
    for topic in given_topics.map(str::to_owned).chain(by_rules.topics) {
        if topics.len() < TOPICS && !topics.iter().any(|known| known.eq_ignore_ascii_case(&topic)) {
            topics.push(topic);
        }
    }
    let says = |name: &str| given[name].as_bool().unwrap_or_default();
    SummaryMetadata::default()
        .importance(importance.unwrap_or(by_rules.importance))
        .topics(topics)
        .has_decision(by_rules.has_decision || says("decision"))
        .has_code(by_rules.has_code || says("code"))
        .line_count(by_rules.line_count)
}

/// The same error for another message of the same request.
fn same(error: &ModelSummaryError) -> ModelSummaryError {
    let again = |error: &ChatError| match error {
        ChatError::Exhausted { model, detail } => ChatError::Exhausted { model: model.clone(), detail: detail.clone() },
        ChatError::RateLimited { model, detail, retry_after } => {
            ChatError::RateLimited { model: model.clone(), detail: detail.clone(), retry_after: *retry_after }
        }
        ChatError::Unauthorized { model, detail } => {
            ChatError::Unauthorized { model: model.clone(), detail: detail.clone() }
        }
        ChatError::Refused { model, detail } => ChatError::Refused { model: model.clone(), detail: detail.clone() },
        ChatError::Backend { model, source } => {
            ChatError::Backend { model: model.clone(), source: source.to_string().into() }
        }
        _ => ChatError::Backend { model: String::new(), source: error.to_string().into() },
    };
    match error {
        ModelSummaryError::Chat(error) => ModelSummaryError::Chat(again(error)),
        ModelSummaryError::Exhausted(exhausted) => ModelSummaryError::Exhausted(*exhausted),
        _ => ModelSummaryError::NotAsAsked,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_found_in_what_surrounds_them() {
        let numbers = |text: &str| {
            let mut numbers: Vec<_> = read(&Message::assistant(text))?.into_keys().collect();
            numbers.sort_unstable();
            Some(numbers)
        };
        let list = r#"{"summaries": [{"message": 1, "summary": "a"}, {"message": "2", "summary": "b"}, {"x": 1}]}"#;
        assert_eq!(numbers(list), Some(vec![1, 2]));
        assert_eq!(numbers(&format!("<think>{{}}</think>Here:\n```json\n{list}\n```")), Some(vec![1, 2]));
        assert_eq!(numbers(r#"{"message": 3, "summary": "c"}"#), Some(vec![3]));
        for text in ["", "no", "{\"summaries\": [", "} {"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }

    #[test]
    fn fields_are_taken_if_they_are_plausible() {
        let rules = SummaryMetadata::default().importance(0.5).topics(vec!["hall".into()]).has_code(true);
        let given =
            json!({"importance": 0.9, "topics": ["Hall", "rent of it", "moon"], "decision": true, "code": false});
        let fields = with_fields(rules.clone(), &given, "We rent the hall.");
        let expected = SummaryMetadata::default().importance(0.9).has_decision(true).has_code(true);
        assert_eq!(fields, expected.topics(vec!["Hall".into(), "rent of it".into()]));
        let wild = json!({"importance": 7, "topics": "hall", "decision": "yes"});
        assert_eq!(with_fields(rules.clone(), &wild, "We rent the hall."), rules);
    }
}
