//! Earlier conversations that a question mentions: "as we discussed in the Rome trip", "last week we talked about …".

use std::cmp::Reverse;

use memory_core::{ConversationId, Timestamp, port::ConversationState, time::TimeWords};
use memory_strategies::{Gist, speaks_of_earlier};

use crate::{
    MemoryError,
    parts::Parts,
    title::{self, by_last_update},
};

/// Most conversations that one question refers to.
const MOST: usize = 3;
/// Conversations whose titles are derived, since none was set: the last ones.
const DERIVED: usize = 500;

/// An earlier conversation that a question mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) conversation: ConversationId,
    /// Words of the question that name the conversation.
    pub(super) by: String,
}

/// A conversation that may be mentioned.
#[derive(Debug)]
struct Titled {
    state: ConversationState,
    title: Option<String>,
}

/// The earlier conversations that a question asked at `now` mentions, at most three, the most recent first. All have
/// the owner of `conversation`, or none if it has none.
pub(super) async fn mentioned(
    parts: &Parts,
    conversation: &ConversationId,
    question: &str,
    now: Timestamp,
) -> Result<Vec<Mention>, MemoryError> {
    if !speaks_of_earlier(question) {
        return Ok(Vec::new());
    }
    let owner = parts.store.conversation(conversation).await?.owner;
    let is_other = |state: &ConversationState| {
        state.id != *conversation && state.owner == owner && state.nodes > 0 && state.is_talk()
    };
    let states = by_last_update(parts.store.conversations().await?).into_iter().filter(is_other);
    let mut known = Vec::new();
    for (place, state) in states.enumerate() {
        let title = match state.own_title() {
            Some(title) => Some(title.to_owned()),
            None if place < DERIVED => title::title(parts, &state).await?.map(|title| title.text),
            None => None,
        };
        known.push(Titled { state, title });
    }
    Ok(chosen(question, now, &known))
}

/// Conversations the question refers to: by title, narrowed by any date; or only by date.
fn chosen(question: &str, now: Timestamp, known: &[Titled]) -> Vec<Mention> {
    let asked = Gist::of(question);
    let ranges = TimeWords::of(question).ranges(now);
    let was_spoken_in = |one: &&Titled| {
        let [first, last] = [one.state.first_at, one.state.last_at].map(Option::unwrap_or_default);
        let is_within = |range: &memory_core::time::TimeRange| {
            range.since().is_none_or(|since| since <= last) && range.before().is_none_or(|before| first < before)
        };
        last.is_known() && ranges.iter().any(is_within)
    };
    let rated: Vec<_> = known.iter().map(|one| (words_of_title(one, &asked), one)).collect();
    let most = rated.iter().map(|(words, _)| *words).max().unwrap_or_default();
    let titled: Vec<_> = rated.iter().filter(|(words, _)| most > 0 && *words == most).map(|(_, one)| *one).collect();
    if titled.is_empty() {
        let by = |one: &Titled| Mention {
            conversation: one.state.id.clone(),
            by: ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        return latest(known.iter().filter(|one| was_spoken_in(one))).into_iter().map(by).collect();
    }
    let then: Vec<_> = titled.iter().copied().filter(|one| was_spoken_in(one)).collect();
    let by = |one: &Titled| Mention {
        conversation: one.state.id.clone(),
        by: one.title.clone().unwrap_or_else(|| one.state.id.to_string()),
    };
    let meant = if then.is_empty() { titled } else { then };
    latest(meant.into_iter()).into_iter().map(by).collect()
}

/// The most recent conversations.
fn latest<'a>(found: impl Iterator<Item = &'a Titled>) -> Vec<&'a Titled> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|one| Reverse(one.state.last_at));
    found.truncate(MOST);
    found
}

/// Number of informative words that a question shares with a title or an id: all of its words, or two and at least
/// half.
fn words_of_title(one: &Titled, asked: &Gist) -> usize {
    let id = one.state.id.as_str().replace(['-', '_', '.'], " ");
    let named = |text: &str| {
        let title = Gist::of(text);
        let shared = title.shared(asked);
        let is_named = shared > 0 && (shared == title.len() || (shared >= 2 && 2 * shared >= title.len()));
        if is_named { shared } else { 0 }
    };
    one.title.as_deref().map_or(0, named).max(named(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(id: &str, title: &str, first: &str, last: &str) -> Titled {
        let [first, last] = [first, last].map(|at| at.parse::<Timestamp>().unwrap());
        let state = ConversationState::new(ConversationId::new(id).unwrap()).nodes(3).first_at(first).last_at(last);
        Titled { state, title: Some(title.to_owned()) }
    }

    fn check(question: &str, expected: &[&str]) {
        let known = [
            titled("a1", "Trip to Rome", "2023-04-01", "2023-04-03"),
            titled("a2", "Trip to Rome", "2023-05-03", "2023-05-04"),
            titled("a3", "The budget of the kitchen", "2023-05-02", "2023-05-02"),
            titled("tax-return", "What may I deduct?", "2022-01-01", "2022-02-01"),
        ];
        let now = "2023-05-10".parse().unwrap();
        let found = chosen(question, now, &known);
        let ids: Vec<_> = found.iter().map(|mention| mention.conversation.as_str()).collect();
        assert_eq!(ids, expected, "{question}");
    }

    #[test]
    fn a_conversation_is_named_by_its_title_and_the_time_chooses_among_several() {
        check("As we discussed in the Rome trip, which hotel was it?", &["a2", "a1"]);
        check("In April we talked about the Rome trip: which hotel was it?", &["a1"]);
        check("Do you remember the kitchen budget?", &["a3"]);
        check("You told me about the tax return.", &["tax-return"]);
    }

    #[test]
    fn a_time_alone_names_those_that_were_spoken_in_then() {
        check("Last week we talked about a plumber, who was it?", &["a2", "a3"]);
        check("As we discussed, the plumber comes.", &[]);
    }

    #[test]
    fn one_word_of_a_longer_title_names_nothing() {
        check("As we discussed, the kitchen is too small.", &[]);
    }
}
