//! Warnings of the log as sentences for a person.

use super::take_held_events;

/// An event of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// Sentence for a person.
    pub(super) text: String,
    /// Conversation that the event is about, if it names one.
    pub(super) conversation: Option<String>,
}

/// Messages of the log, and sentences in their place.
const SENTENCES: [(&str, &str); 2] = [
    (
        "a strategy failed and its fallback answered",
        "a model or plugin of the memory failed, and the built-in one answered in its place",
    ),
    (
        "a strategy failed and no fallback answered",
        "a model or plugin of the memory failed, and nothing stands in its place yet",
    ),
];
/// Fields that state a cause.
const CAUSES: [&str; 3] = ["error", "cause", "why"];

/// New sentences of the events that wait, in order, without those about another conversation.
pub(crate) fn take_warnings(conversation: &str) -> Vec<String> {
    let events = take_held_events();
    sentences(&events, |of| of == conversation)
}

/// Different sentences of events that are about no conversation, or one that `is_here`.
pub(super) fn sentences(events: &[String], is_here: impl Fn(&str) -> bool) -> Vec<String> {
    let mut sentences = Vec::new();
    for Warning { text, conversation } in events.iter().map(|event| Warning::of(event)) {
        if conversation.is_none_or(|of| is_here(&of)) && !sentences.contains(&text) {
            sentences.push(text);
        }
    }
    sentences
}

impl Warning {
    /// Reads a line such as ` WARN memory_hooks::ports: compaction failed conversation=trip error="no model"`.
    pub(super) fn of(line: &str) -> Self {
        let line = line.trim_start();
        let words = line.split_once(' ').filter(|(level, _)| ["WARN", "ERROR"].contains(level));
        let words = words.and_then(|(_, rest)| rest.split_once(": ")).filter(|(target, _)| !target.contains(' '));
        let (message, fields) = fields(words.map_or(line, |(_, words)| words));
        let field = |names: &[&str]| fields.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
        let sentence = SENTENCES.iter().find(|(said, _)| *said == message);
        let text = match (sentence, field(&CAUSES)) {
            (Some((_, sentence)), _) => (*sentence).to_owned(),
            (None, Some(cause)) => format!("{message}: {cause}"),
            (None, None) => message.to_owned(),
        };
        Self { text, conversation: field(&["conversation"]).map(str::to_owned) }
    }
}

/// The message of an event, and its fields after it.
fn fields(words: &str) -> (&str, Vec<(&str, &str)>) {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let begins = words.match_indices(' ').map(|(at, _)| at);
    let begins = begins
        .filter(|at| words.get(at + 1..).and_then(|rest| rest.split_once('=')).is_some_and(|(name, _)| is_name(name)));
    let begins: Vec<_> = begins.collect();
    let message = words.get(..begins.first().copied().unwrap_or(words.len())).unwrap_or_default();
    let ends = begins.iter().skip(1).copied().chain([words.len()]);
    let field = |(begin, end): (&usize, usize)| words.get(begin + 1..end)?.split_once('=');
    let fields = begins.iter().zip(ends).filter_map(field);
    (message, fields.map(|(name, value)| (name, value.trim_matches('"'))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_sentence_once_without_fields_and_other_conversations() {
        let fell_back = " WARN memory_hooks::manager::failing: a strategy failed and its fallback answered \
            conversation=trip strategy=model:scripted 8c5a41ef answered_by=spans 9 cause=\"the reply has no text\"";
        let events = [
            fell_back,
            &fell_back.replace("no text", "no words"),
            "ERROR memory_store::log: a lock could not be let go path=/tmp/a b error=denied (os error 13)",
            " WARN memory_hooks::ports: compaction failed conversation=garden error=\"no model\"",
            "a line of another form",
        ];
        let events = events.map(str::to_owned);
        let [failed, lock, other] = [
            "a model or plugin of the memory failed, and the built-in one answered in its place",
            "a lock could not be let go: denied (os error 13)",
            "a line of another form",
        ];
        assert_eq!(sentences(&events, |of| of == "trip"), [failed, lock, other]);
        assert_eq!(sentences(&events, |of| of == "garden"), [lock, "compaction failed: no model", other]);
    }
}
