//! Detects goals and wishes in messages.

use std::sync::LazyLock;

use crate::{
    phrases::{Phrases, word_lists},
    spoken::{offset, spoken},
    terms::is_common,
    title::is_let,
    words::{Form, Word, words},
};

/// Phrases that state a goal.
const STATED: &str = "my goal is | the goal is | our goal is | the aim is | our aim is | my aim is | the objective is | \
                      our objective is | the task is | my task is | our task is | das ziel ist | mein ziel ist | \
                      unser ziel ist | l'objectif est | el objetivo es";
/// Phrases that express a wish.
const WISHED: &str = "i want to | i'd like to | i would like to | we want to | we'd like to | we would like to | i need to | \
                      we need to | help me | help us | i'm planning | we're planning | i am planning | we are planning | \
                      i plan to | we plan to | i have to | we have to | i need help | i'm starting | i am starting | \
                      we're starting | we are starting | i'm building | i am building | we're building | we are building | \
                      i'm trying to | i am trying to | we're trying to | we are trying to | i'm working on | \
                      we're working on | i am working on | we are working on | the plan is to | \
                      we need help | i'm looking for | i am looking for | we're looking for | ich möchte | \
                      ich will | wir wollen | wir möchten | ich baue | wir bauen | je veux | quiero";

word_lists! {
    /// Words before a phrase that make it a question or a condition.
    DEPENDS = "do did does should would if when why what how that because where whether given considering since of";
    /// First words of phrases about oneself, which begin a clause.
    OWN = "i i'm i'd we we're we'd ich wir je";
    /// Words before a clause.
    LEADS = "and so but hi hey hello well now ok okay yes because today also then";
}

static LEXICON: LazyLock<Phrases<bool>> = LazyLock::new(|| Phrases::listed(&[(true, STATED), (false, WISHED)]));

/// Minimum informative words of a goal; "Let's do that" has none.
const FEWEST: usize = 2;

/// A goal in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Goal {
    /// Its byte offset in the text of the message.
    pub at: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// True for a stated goal ("The goal is"), false for a wish ("I want to").
    pub is_stated: bool,
}

/// The goal in a user's message: the last stated goal, otherwise the first wish.
#[must_use]
pub fn goal(text: &str) -> Option<Goal> {
    let (mut stated, mut wished) = (None, None);
    for sentence in spoken(text) {
        let Some(is_stated) = states(sentence) else { continue };
        let goal = Goal { at: offset(text, sentence), bytes: sentence.len(), is_stated };
        if is_stated { stated = Some(goal) } else { wished = wished.or(Some(goal)) }
    }
    stated.or(wished)
}

/// `true` if a sentence states a goal, `false` if it expresses a wish; `None` for neither.
fn states(sentence: &str) -> Option<bool> {
    let all = &words(sentence).collect::<Vec<Word<'_>>>();
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    let found = (0..keys.len()).flat_map(|at| {
        let said = move |(length, _): &(usize, &bool)| !is_let(all.get(at..at + length).unwrap_or_default(), at > 0);
        let of = move |(length, is_stated): (usize, &bool)| (at, at + length, *is_stated);
        LEXICON.at(keys.get(at..).unwrap_or_default()).filter(said).map(of)
    });
    let has_matter = |after: usize| {
        let informative = |word: &&Word<'_>| word.form == Form::Figure || !is_common(word);
        all.iter().skip(after).filter(informative).count() >= FEWEST
    };
    // "Do I need to", "if we want to"
    let is_free = |at: usize| at.checked_sub(1).and_then(|at| keys.get(at)).is_none_or(|key| !DEPENDS.contains(key));
    // "A project I am working on" tells something by the way.
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        let ends = before.map_or(0, |before| before.at + before.text.len());
        let gap = all.get(at).and_then(|word| sentence.get(ends..word.at)).unwrap_or_default();
        let is_own = all.get(at).is_some_and(|word| OWN.contains(&word.key));
        !is_own || gap.trim() != "" || before.is_none_or(|before| LEADS.contains(&before.key))
    };
    // A label: "Goal: 100 requests a minute"
    let is_labelled = sentence.trim_start_matches('*').split_once(':').is_some_and(|(label, _)| is_goal(label.trim()));
    let labelled = Some(true).filter(|_| is_labelled && has_matter(1));
    let found = found
        .filter(|(at, after, _)| is_free(*at) && begins(*at) && has_matter(*after))
        .map(|(_, _, is_stated)| is_stated);
    found.max().max(labelled)
}

fn is_goal(label: &str) -> bool {
    ["goal", "our goal", "my goal", "aim", "ziel", "objectif", "objetivo"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, bool)>) {
        let found = goal(text).map(|goal| (text.get(goal.at..goal.at + goal.bytes).unwrap(), goal.is_stated));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_goal_is_what_is_called_so_or_else_wished_for() {
        check(
            "Hi. I want to book a hotel in Rome. The goal is a quiet week with the children.",
            Some(("The goal is a quiet week with the children.", true)),
        );
        check(
            "Hi. I'd like to move the invoices to Postgres.",
            Some(("I'd like to move the invoices to Postgres.", false)),
        );
        check("**Goal: 100 requests per minute.** Go.", Some(("**Goal: 100 requests per minute.** Go.", true)));
        check(
            "We’re trying to halve the latency of the search.",
            Some(("We’re trying to halve the latency of the search.", false)),
        );
    }

    #[test]
    fn a_wish_without_a_matter_is_no_goal() {
        check("Let's do that.", None);
        check("Let me see the invoices in Postgres.", None);
        check("The airline lets me rebook the flight to Lisbon.", None);
        check("Can you run the tests of the parser?", None);
        check("Do I need to hire a driver for the harbour?", None);
        check("The train leaves at 7:42.", None);
        check("> I want to sell the old boat\nNo.", None);
    }
}
