//! Titles of meetings, from the sentence that opens them.

use std::sync::LazyLock;

use crate::{
    phrases::{Phrases, phrase_lists, word_lists},
    spoken::spoken,
    terms::is_common,
    title::{is_noise_word, shortened},
    words::{Form, Word, key, words},
};

phrase_lists! {
    /// Phrases behind which the matter of a meeting follows.
    ABOUT = "goal of this project is | aim of this project is | purpose of this project is | purpose of this meeting is | purpose of the meeting is | purpose of today's meeting is | aim of this meeting is | \
        aim of the meeting is | goal of this meeting is | goal of the meeting is | goal of today's meeting is | \
        topic of this meeting is | topic of the meeting is | topic of today is | topic for today is | \
        subject of this meeting is | subject of the meeting is | today we talk about | today we will talk about | \
        today we'll talk about | today we're going to talk about | today we are going to talk about | today we discuss | \
        today we will discuss | today we'll discuss | today we're going to discuss | today we are going to discuss | \
        we're here to discuss | we are here to discuss | we're here to talk about | we are here to talk about | \
        we're here today to discuss | we are here today to discuss | we're here today to talk about | \
        we are here today to talk about | we're meeting to discuss | we are meeting to discuss | \
        heute geht es um | heute sprechen wir über | thema heute ist | wir besprechen heute";
    /// Phrases behind which the name of a meeting follows, or what it works on.
    NAMED = "welcome to the | welcome to our | welcome to this | we're designing | we are designing | we're making | \
        we are making | willkommen zum | willkommen zur";
}

word_lists! {
    /// Words that end the name of a meeting.
    MEETINGS = "meeting session call standup workshop retrospective besprechung sitzung";
    /// Words before the name of a meeting.
    BEFORE_NAMES = "the our this a an is are my today's of for to welcome und die der das unser unsere right okay so";
    /// Words that say which meeting it is, and not what it is about.
    GENERAL = "kick-off kickoff first second third fourth fifth last next final project today general little quick short \
        regular usual weekly monthly daily session meeting call item agenda this's everyone everybody start big real \
        team group good particular following bit let's have having";
    /// Words that end what a meeting is about.
    ENDS = "this today and but so which where because um uh welcome";
}

/// The surest kind of opening first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// "Item 2 this morning is the school bill."
    Matter,
    /// "This is our functional design meeting."
    Name,
    /// "Welcome to the Committee on Fisheries", "So we're designing a new kettle."
    Hint,
}

/// Maximum words between the number of an item and its verb: "Item 2, then, this morning is".
const OF_ITEM: usize = 5;
/// Maximum words of the name of a meeting before "meeting".
const OF_NAME: usize = 4;

/// A title for a meeting in which these texts are said first: what its opening names as its matter, or else the name that
/// it gives itself. `None` where no sentence does.
#[must_use]
pub fn opening<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<String> {
    let mut best: Option<(Rank, String)> = None;
    for sentence in texts.into_iter().flat_map(spoken) {
        let plain = without_noise(sentence);
        let Some((rank, matter)) = named(&plain) else { continue };
        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            best = Some((rank, shortened(matter)));
        }
    }
    best.map(|(_, title)| title)
}

/// Matter or name that a sentence gives to a meeting.
fn named(sentence: &str) -> Option<(Rank, &str)> {
    let all: Vec<Word<'_>> = words(sentence).collect();
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    if sentence.ends_with('?') {
        return None;
    }
    let behind = |phrases: &LazyLock<Phrases<()>>| {
        (0..keys.len()).find_map(|at| Some(at + phrases.at(keys.get(at..)?).map(|(length, ())| length).max()?))
    };
    let rest = |from: usize| {
        let from = from + usize::from(all.get(from).is_some_and(|word| ARTICLES.contains(&word.text)));
        let begin = all.get(from)?.at;
        let ends = |at: &usize| {
            let Some(word) = all.get(*at) else { return false };
            let gap = sentence.get(..word.at).unwrap_or_default().trim_end();
            let is_clause = || all.get(at + 1).is_some_and(|next| SUBJECTS.contains(&next.key));
            ENDS.contains(&word.key) && (word.key != key("and") || gap.ends_with(',') || is_clause())
        };
        let end = (from + 1..all.len()).find(ends).and_then(|at| all.get(at)).map_or(sentence.len(), |word| word.at);
        let clause = sentence.get(begin..end)?.trim_end();
        let clause = clause.strip_prefix("to ").unwrap_or(clause);
        says_something(clause).then_some(clause)
    };
    let of_item = || {
        let at = keys.iter().position(|of| *of == key("item"))?;
        all.get(at + 1).filter(|number| number.form == Form::Figure)?;
        let verb = keys.iter().skip(at + 2).take(OF_ITEM).position(|of| *of == key("is"))?;
        rest(at + 2 + verb + 1)
    };
    let of_name = || {
        let at = keys.iter().position(|of| MEETINGS.contains(of))?;
        let first = (at.saturating_sub(OF_NAME)..at).rfind(|before| {
            all.get(*before).is_some_and(|word| BEFORE_NAMES.contains(&word.key) || is_after_mark(sentence, word))
        });
        // "In the budget session we lost an hour" is about another.
        let is_welcome = keys.contains(&key("welcome"));
        let leads = |the: usize| {
            the.checked_sub(1).and_then(|before| keys.get(before)).is_none_or(|key| HELD.contains(key) || is_welcome)
        };
        let first = match first {
            Some(before) if all.get(before).is_some_and(|word| ["the", "a", "an"].contains(&word.text)) => {
                Some(before + 1).filter(|_| leads(before))?
            }
            Some(before) if all.get(before).is_some_and(|word| BEFORE_NAMES.contains(&word.key)) => before + 1,
            Some(before) => before,
            None if at <= OF_NAME => 0,
            None => return None,
        };
        let next = all.get(at + 1);
        let ends = all.get(at).map(|word| word.at + word.text.len())?;
        // "The meeting room", "the meetings"
        let is_part = next.is_some_and(|next| sentence.get(ends..next.at) == Some(" ") && !is_common(next));
        let is_one = all.get(at).is_some_and(|word| !word.text.ends_with('s'));
        let is_told = keys.get(..at)?.iter().any(|of| TOLD.contains(of)) || is_part || !is_one;
        // "The kick-off meeting of the plan of a new kettle"
        let end = if next.is_some_and(|next| GOES_ON.contains(&next.text)) {
            rest(first)?.len() + all.get(first)?.at
        } else {
            ends
        };
        let name = sentence.get(all.get(first)?.at..end)?;
        (!is_told && says_something(name)).then_some(name)
    };
    behind(&ABOUT)
        .and_then(rest)
        .or_else(of_item)
        .map(|matter| (Rank::Matter, matter))
        .or_else(|| of_name().map(|name| (Rank::Name, name)))
        .or_else(|| behind(&NAMED).and_then(rest).map(|matter| (Rank::Hint, matter)))
}

const ARTICLES: [&str; 6] = ["a", "an", "the", "our", "die", "der"];
/// Words behind "meeting" that go on with its name.
const GOES_ON: [&str; 7] = ["of", "for", "on", "about", "to", "zum", "über"];

word_lists! {
    /// Words before a meeting that is not the one held.
    TOLD = "last next before after another previous was had were other yesterday tomorrow until gotta forget have has need \
        get got want attend attended can could will would do did i you they";
    /// Words before the article of a meeting that is held: "This is the", "We are here for the".
    HELD = "is this's for to with start begin welcome having have";
    /// First words of a clause behind "and".
    SUBJECTS = "oh i we you it they he she so then just like this that there";
}

/// True if a word begins its sentence or follows a mark.
fn is_after_mark(sentence: &str, word: &Word<'_>) -> bool {
    let before = sentence.get(..word.at).unwrap_or_default().trim_end();
    before.is_empty() || before.ends_with([',', ';', ':', '-', '–', '—', '.'])
}

/// True if a name has a word that says what it is about.
fn says_something(name: &str) -> bool {
    words(name).any(|word| !is_common(&word) && !GENERAL.contains(&word.key) && !ENDS.contains(&word.key))
        && words(name).nth(1).is_some()
}

/// A sentence of speech without noise and repeated words: "uh the the kettle ." becomes "the kettle."
fn without_noise(sentence: &str) -> String {
    let mut plain = String::with_capacity(sentence.len());
    let mut last = "";
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if is_noise_word(bare) || !bare.is_empty() && bare.eq_ignore_ascii_case(last) {
            continue;
        }
        // A transcript parts marks and endings from their words.
        let is_joined = bare.is_empty() && word.len() == 1 || word.starts_with(['\'', '’']);
        if !plain.is_empty() && !is_joined {
            plain.push(' ');
        }
        plain.push_str(word);
        if !bare.is_empty() {
            last = bare;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], expected: Option<&str>) {
        assert_eq!(opening(texts.iter().copied()).as_deref(), expected, "{texts:?}");
    }

    #[test]
    fn the_matter_of_a_meeting_is_its_title() {
        check(
            &["Good morning.", "Item 2, then, this morning is an inquiry into river pollution."],
            Some("Inquiry into river pollution"),
        );
        check(&["The purpose of this meeting is to choose a roof."], Some("Choose a roof"));
        check(&["Today we're going to talk about the ferry to Dover."], Some("Ferry to Dover"));
    }

    #[test]
    fn a_meeting_that_names_itself_is_called_so() {
        check(&["Okay um so this is our our colour scheme meeting ."], Some("Colour scheme meeting"));
        check(&["Right . Detailed lighting meeting . Right ."], Some("Detailed lighting meeting"));
        check(
            &["So we are here for the kick-off meeting of uh the plan of building a new kettle ."],
            Some("Kick-off meeting of the plan of building a new kettle"),
        );
        check(&["Welcome to the Committee on Fisheries this morning."], Some("Committee on Fisheries"));
        check(&["Um so we're designing a new kettle and um oh."], Some("New kettle"));
    }

    #[test]
    fn what_names_nothing_is_no_title() {
        for none in [
            "This is our first meeting .",
            "In the last budget meeting we lost an hour.",
            "They rang during the conference call.",
            "I have another marketing meeting soon.",
            "What is this meeting about?",
            "Welcome to everyone.",
            "They have a nice and bright meeting room .",
            "I do design workshops on Mondays.",
            "Is the design meeting today?",
        ] {
            check(&[none], None);
        }
    }
}
