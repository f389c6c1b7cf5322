//! Detects goals and wishes in messages.

use std::sync::LazyLock;

use crate::{
    phrases::{MONTHS, Phrases, WEEKDAYS, word_lists},
    sentences::whole_sentences,
    spoken::{offset, spoken_lines},
    terms::is_common,
    title::is_let,
    words::{Form, Word, key, words},
};

/// Phrases that state a goal.
const STATED: &str = "my goal is | the goal is | our goal is | the aim is | our aim is | my aim is | the objective is | \
                      our objective is | the task is | my task is | our task is | das ziel ist | mein ziel ist | \
                      unser ziel ist | l'objectif est | el objetivo es";
/// Phrases that state a goal of all who speak.
const SHARED: &str = "our goal is | our aim is | our objective is | our task is | goal of this meeting is | goal of this meeting | \
                      aim of this meeting | aim of the meeting | goal of the meeting | purpose of this meeting | \
                      goal for today | aim for today | unser ziel ist";
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
    /// First words of a request, and words that stand for something said before.
    REQUESTS = "can could would will please help";
    POINTS = "this these those it them that";
    /// Words behind "I want to" that make it a check or a question.
    CHECKS = "know verify check ask see double-check confirm";
    /// Words before "help me" that make it a statement, unless "you" precedes them.
    WILLS = "will would could can might may to";
    /// First words of phrases about oneself, which begin a clause.
    OWN = "i i'm i'd we we're we'd ich wir je";
    /// Words before a date.
    BEFORE_DATES = "on by until till before from of the at am bis zum vom der den le avant el antes";
    /// Words before a clause.
    LEADS = "and so but hi hey hello well now ok okay yes because today also then";
}

static LEXICON: LazyLock<Phrases<bool>> = LazyLock::new(|| Phrases::listed(&[(true, STATED), (false, WISHED)]));

static SHARED_GOALS: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), SHARED)]));

/// Maximum bytes of a goal; a longer one is a brief.
const LONGEST: usize = 320;
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
    /// True for a goal that is stated for all who speak: "Our goal is", "Goal: …".
    pub is_shared: bool,
}

/// True if a word is the name of a month.
pub(crate) fn is_month(word: &Word<'_>) -> bool {
    // "May" and "march" are also verbs.
    word.text == "May" || MONTHS.contains(&word.key) && word.text != "march"
}

/// True if a word is of a date or an amount, which is no subject.
pub(crate) fn is_of_date(word: &Word<'_>) -> bool {
    word.form == Form::Figure && !word.text.contains(char::is_alphabetic)
        || is_month(word)
        || WEEKDAYS.contains(&word.key)
}

/// A goal without its date, which has changed since: "rate limits before the launch on 19 May". `None` without a date,
/// and if the goal goes on behind it.
#[must_use]
pub fn without_date(text: &str) -> Option<String> {
    let all: Vec<Word<'_>> = words(text).collect();
    let is_month = |index: usize| all.get(index).is_some_and(is_month);
    let is_figure = |index: usize| all.get(index).is_some_and(|word| word.form == Form::Figure);
    let iso = |index: usize| {
        all.get(index).is_some_and(|word| {
            word.text.len() == 10 && word.text.matches('-').count() == 2 && word.form == Form::Figure
        })
    };
    let at = (0..all.len()).find(|index| {
        iso(*index) || is_month(*index) && (is_figure(index + 1) || index.checked_sub(1).is_some_and(is_figure))
    })?;
    let first = at.checked_sub(1).filter(|before| is_month(at) && is_figure(*before)).unwrap_or(at);
    let mut last = at;
    while is_figure(last + 1) {
        last += 1;
    }
    let leads = |index: usize| {
        all.get(index).is_some_and(|word| BEFORE_DATES.contains(&word.key) || WEEKDAYS.contains(&word.key))
    };
    let mut begin = first;
    while begin > 0 && leads(begin - 1) {
        begin -= 1;
    }
    let from = all.get(begin)?.at;
    let to = all.get(last).map(|word| word.at + word.text.len())?;
    let (head, tail) = (text.get(..from)?.trim_end().trim_end_matches(','), text.get(to..)?.trim_start_matches(','));
    words(tail).next().is_none().then(|| format!("{head}{tail}").trim().to_owned())
}

/// The goal in a user's message: the last stated goal, otherwise the first wish.
#[must_use]
pub fn goal(text: &str) -> Option<Goal> {
    let (mut stated, mut wished) = (None, None);
    let lines = spoken_lines(text).flat_map(|line| whole_sentences(line.text));
    for sentence in lines.filter(|sentence| is_quotable(sentence) && !points(sentence)) {
        let Some(is_stated) = states(sentence) else { continue };
        let labelled = labelled(sentence);
        let is_shared = is_stated && (labelled.is_some() || SHARED_GOALS.are_in(&crate::words::keys(sentence)));
        let matter = labelled.unwrap_or(sentence);
        let goal = Goal { at: offset(text, matter), bytes: matter.len(), is_stated, is_shared };
        if is_stated { stated = Some(goal) } else { wished = wished.or(Some(goal)) }
    }
    stated.or(wished)
}

/// True for a request about what another sentence says: "Can you help me find the root of this function?"
fn points(sentence: &str) -> bool {
    let mut all = words(sentence);
    let requests = all.next().is_some_and(|first| REQUESTS.contains(&first.key));
    requests && all.any(|word| POINTS.contains(&word.key))
}

/// True if a sentence can stand for itself: short, no example or formula, and no announcement of a list.
fn is_quotable(sentence: &str) -> bool {
    let is_open = sentence.ends_with([':', '：', '"', '”']) || sentence.starts_with(['"', '“', '„', '«', '[', '(']);
    sentence.len() <= LONGEST && !is_open && !sentence.contains(['\\', '^', '=', '{', '}'])
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
        // "I want to make sure that I understand it" checks a step.
        let is_sure = keys.get(after + 1).is_some_and(|second| [key("sure"), key("certain")].contains(second));
        if is_sure || keys.get(after).is_some_and(|key| CHECKS.contains(key)) {
            return false;
        }
        let informative = |word: &&Word<'_>| word.form == Form::Figure || !is_common(word);
        all.iter().skip(after).filter(informative).count() >= FEWEST
    };
    // "Do I need to", "if we want to", "this habit will help me"
    let is_free = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| keys.get(at));
        let is_by_you = at.checked_sub(2).and_then(|at| keys.get(at)) == Some(&key("you"));
        before.is_none_or(|before| !DEPENDS.contains(before) && (is_by_you || !WILLS.contains(before)))
    };
    // "A project I am working on" is an aside.
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        let ends = before.map_or(0, |before| before.at + before.text.len());
        let gap = all.get(at).and_then(|word| sentence.get(ends..word.at)).unwrap_or_default();
        let is_own = all.get(at).is_some_and(|word| OWN.contains(&word.key));
        !is_own || gap.trim() != "" || before.is_none_or(|before| LEADS.contains(&before.key))
    };
    // A label: "Goal: 100 requests a minute"
    let labelled = labelled(sentence).filter(|_| has_matter(1)).map(|_| true);
    let found = found
        .filter(|(at, after, _)| is_free(*at) && begins(*at) && has_matter(*after))
        .map(|(_, _, is_stated)| is_stated);
    found.max().max(labelled)
}

/// The goal behind a label, which would stand twice where goals are shown: "**Goal: 100 requests a minute.** Go."
fn labelled(sentence: &str) -> Option<&str> {
    let (label, matter) = sentence.trim_start_matches('*').split_once(':')?;
    let names = ["goal", "our goal", "my goal", "aim", "ziel", "objectif", "objetivo"];
    let is_goal = names.iter().any(|name| name.eq_ignore_ascii_case(label.trim()));
    let matter = matter.trim_start_matches(['*', ' ']);
    is_goal.then(|| matter.split_once("**").map_or(matter, |(inner, _)| inner))
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
        check("**Goal: 100 requests per minute.** Go.", Some(("100 requests per minute.", true)));
        check(
            "We’re trying to halve the latency of the search.",
            Some(("We’re trying to halve the latency of the search.", false)),
        );
    }

    #[test]
    fn a_goal_of_a_meeting_is_one_of_all() {
        let is_shared = |text: &str| goal(text).is_some_and(|goal| goal.is_shared);
        for shared in ["Our goal is a remote control under 25 euros.", "Goal: 100 requests per minute."] {
            assert!(is_shared(shared), "{shared}");
        }
        for own in ["The goal is to connect pet owners with dog walkers.", "I want to sell the old boat in Ghent."] {
            assert!(goal(own).is_some() && !is_shared(own), "{own}");
        }
    }

    #[test]
    fn a_goal_may_lose_its_date() {
        for (text, expected) in [
            ("Rate limits before the Lumen launch on 19 May.", "Rate limits before the Lumen launch."),
            ("Move by 2026-05-03.", "Move."),
            ("Der Umzug bis zum 3. Juni.", "Der Umzug."),
        ] {
            assert_eq!(without_date(text).as_deref(), Some(expected));
        }
        for none in ["I may sell the boat.", "Sell 3 boats.", "Sell the boat by May 3, 2024, for 900 euros."] {
            assert_eq!(without_date(none), None, "{none}");
        }
    }

    #[test]
    fn a_goal_is_whole_or_none() {
        let long =
            format!("I want to move the invoices to the ledger{}.", ", then the letters and the photos".repeat(9));
        check(&long, None);
        check("I want to take these along on the ferry:\n- the boat\n- the dog", None);
        check("\"I want to sell the old boat in Ghent.\" is what Ben wrote.", None);
        check("I drew the curve. Can you help me find the roots of this curve?", None);
        check("I want to solve x^2 = 16 for the roots of the curve.", None);
        check("I'm trying to save $900 for the old boat.", Some(("I'm trying to save $900 for the old boat.", false)));
    }

    #[test]
    fn help_that_is_told_of_is_not_wished_for() {
        for step in ["I want to make sure that the roof holds.", "I need to know the price of the boat in Ghent."] {
            check(step, None);
        }
        check("I want to make a garden in Ghent.", Some(("I want to make a garden in Ghent.", false)));
        check("This habit will help me sleep in the winter.", None);
        check("I wonder if a lamp could help me read in the cellar.", None);
        check(
            "I wonder if you could help me paint the cellar.",
            Some(("I wonder if you could help me paint the cellar.", false)),
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
