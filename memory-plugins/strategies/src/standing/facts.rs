//! Detects facts that people state about themselves: where they live, what they do, who is called what, what is due.

use std::sync::LazyLock;

use super::{decisions, sentence::Sentence};
use crate::{
    goal::is_of_date,
    phrases::{Phrases, phrase_lists, word_lists},
    spoken::asks,
    terms::is_common,
    words::{Form, Word, key},
};

/// What a fact of the speaker is about.
#[derive(Clone, Copy, Debug)]
enum About {
    Home,
    Employer,
    Occupation,
    Birthday,
    Name,
}

/// Phrases before the value, separated by `|`.
const ABOUT: &[(About, &str)] = &[
    (
        About::Home,
        "i live in | we live in | i now live in | we now live in | i'm living in | i moved to | we moved to | \
         ich wohne in | wir wohnen in | ich lebe in | wir leben in",
    ),
    (About::Employer, "i work for | i work at | i'm working for | i'm working at | ich arbeite bei | ich arbeite für"),
    (About::Occupation, "i work as | i'm working as | ich arbeite als"),
    (About::Birthday, "my birthday is | my birthday's | mein geburtstag ist"),
    (About::Name, "my name is | my name's | ich heiße | mein name ist"),
];

static ABOUT_PHRASES: LazyLock<Phrases<About>> = LazyLock::new(|| Phrases::listed(ABOUT));

phrase_lists! {
    /// Requests to keep in mind what follows.
    REMEMBER = "please remember that | remember that | please remember | please keep in mind that | keep in mind that | \
        bitte merk dir dass | merk dir dass | bitte merke dir dass";
}

word_lists! {
    /// Owners of somebody who is named.
    OWNERS = "my our mein meine unser unsere";
    IS = "is ist";
    CALLED = "called named";
    /// Things that are due or given: "Our budget is 400 euros."
    GIVEN = "deadline budget frist abgabetermin";
    /// Verbs of a change of such a thing: "Budget changed: we now have 22,000 euros."
    CHANGED = "changed grew rose dropped raised increased reduced cut extended moved shifted";
    /// First words of a sentence about such a thing.
    ARTICLES = "the our my die der das unser unsere mein meine deadline budget";
    /// Units of a time from now.
    UNITS = "minute hour day week month year minuten stunden tage tagen wochen monate monaten";
}

/// Most words of a sentence with a fact; a longer one tells a story.
const LONGEST: usize = 24;
/// Most words of a value.
const VALUE: usize = 4;
/// Most words before a value that say what it is of.
const SUBJECT: usize = 6;

/// Place of the words of a fact in its sentence, and a key of what it says something about: of two facts with one key,
/// the later one holds.
pub(super) fn fact(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    if asks(sentence.text) || sentence.words.len() > LONGEST {
        return None;
    }
    let found = of_speaker(sentence).or_else(|| called(sentence)).or_else(|| given(sentence));
    found.filter(|(at, _)| !decisions::is_doubtful(sentence, *at))
}

/// "I live in Bergen.", "I work as a nurse."
fn of_speaker(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    let stated = |at: usize| {
        let phrases = ABOUT_PHRASES.at(sentence.keys.get(at..)?);
        let (length, about) = phrases.max_by_key(|(length, _)| *length)?;
        let (of, is_value): (_, fn(&Word<'_>) -> bool) = match about {
            About::Home => ("home", is_name),
            About::Employer => ("work", is_name),
            About::Occupation => ("work", |word| !is_common(word)),
            About::Birthday => ("birthday", is_date),
            About::Name => ("name", is_name),
        };
        let is_stated = decisions::begins_clause(sentence, at) && has(sentence, at + length, is_value);
        is_stated.then(|| (at, key(of)))
    };
    (0..sentence.keys.len()).find_map(stated)
}

/// "My manager is called Tom.", "Meine Chefin heißt Eva."
fn called(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    let keys = &sentence.keys;
    let at = keys.iter().position(|word| OWNERS.contains(word))?;
    let within = at + 2..keys.len().min(at + 1 + VALUE);
    let names = |verb: usize| {
        let is_called = keys
            .get(verb..verb + 2)
            .is_some_and(|pair| matches!(pair, [is, called] if IS.contains(is) && CALLED.contains(called)));
        if is_called {
            Some((verb, verb + 2))
        } else {
            (keys.get(verb) == Some(&key("heißt"))).then_some((verb, verb + 1))
        }
    };
    let (verb, behind) = within.filter_map(names).next()?;
    let is_stated = decisions::begins_clause(sentence, at) && sentence.words.get(behind).is_some_and(is_name);
    is_stated.then(|| keys.get(verb - 1).map(|who| (at, *who))).flatten()
}

/// "The deadline for the grant is 5 May.", "Our budget is 400 euros."
fn given(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    let keys = &sentence.keys;
    let Some(is) = keys.iter().position(|word| IS.contains(word)).filter(|is| (1..=SUBJECT).contains(is)) else {
        return given_briefly(sentence);
    };
    let subject = keys.get(..is)?;
    let is_stated = ARTICLES.contains(subject.first()?) && subject.iter().any(|word| GIVEN.contains(word));
    // "in 3 days" is another day tomorrow.
    let is_relative = keys.iter().skip(is + 1).take(VALUE).any(|word| UNITS.contains(word));
    let of = subject.iter().filter(|word| !ARTICLES.contains(word) || GIVEN.contains(word));
    (is_stated && !is_relative && has(sentence, is + 1, is_date))
        .then(|| (0, of.fold(0, |all: u64, word| all.rotate_left(7) ^ word)))
}

/// "Please remember that I am left-handed."
pub(super) fn remembered(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    let (length, ()) = REMEMBER.at(&sentence.keys).max_by_key(|(length, ())| *length)?;
    let behind = sentence.words.get(length..)?;
    let is_stated = behind.len() >= 3 && behind.iter().any(|word| !is_common(word));
    is_stated.then(|| (0, sentence.keys.iter().fold(1, |all: u64, word| all.rotate_left(7) ^ word)))
}

/// "I got an extension, new deadline 31 October!"
fn given_briefly(sentence: &Sentence<'_>) -> Option<(usize, u64)> {
    let given = sentence.keys.iter().position(|word| GIVEN.contains(word))?;
    let is_changed = sentence.keys.get(given + 1).is_some_and(|verb| CHANGED.contains(verb))
        && sentence.keys.get(..given)?.iter().all(|word| ARTICLES.contains(word));
    if is_changed && sentence.words.iter().any(is_date) {
        return sentence.keys.get(given).map(|word| (0, *word));
    }
    let begin = given - usize::from(given > 0 && sentence.keys.get(given - 1) == Some(&key("new")));
    let value = sentence.words.iter().skip(given + 1).take(2);
    let is_stated = decisions::begins_clause(sentence, begin) && value.clone().any(is_date);
    is_stated.then(|| sentence.keys.get(given).map(|word| (begin, *word))).flatten()
}

/// True if the words of a value have such a word.
fn has(sentence: &Sentence<'_>, behind: usize, is_value: fn(&Word<'_>) -> bool) -> bool {
    sentence.words.iter().skip(behind).take(VALUE).any(is_value)
}

fn is_name(word: &Word<'_>) -> bool {
    word.form == Form::Capital && !is_common(word)
}

fn is_date(word: &Word<'_>) -> bool {
    word.form == Form::Figure || is_of_date(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(text: &str) -> Option<u64> {
        fact(&Sentence::of(text)).map(|(_, of)| of)
    }

    #[test]
    fn people_say_where_they_live_and_who_is_who() {
        for text in [
            "I live in Bergen.",
            "By the way, I work as a nurse.",
            "Ich arbeite bei Siemens.",
            "My birthday is June 12.",
            "My name is Eva.",
            "My manager is called Tom.",
            "Unsere Katze heißt Minka.",
            "The deadline for the grant is 5 May.",
            "Our budget is 400 euros.",
            "I got an extension, new deadline 31 October!",
        ] {
            assert!(value_of(text).is_some(), "{text}");
        }
        assert_eq!(value_of("We live in Bergen."), value_of("We moved to Oslo."));
        assert_eq!(value_of("Our budget is 400 euros."), value_of("The budget is now 500 euros."));
        assert_ne!(value_of("My manager is called Tom."), value_of("My dog is called Rex."));
    }

    #[test]
    fn moods_questions_and_what_may_be_are_no_facts() {
        for text in [
            "I live in fear.",
            "I work at night.",
            "If I live in Bergen, what changes?",
            "Do you know where I live in Bergen?",
            "She said I live in Narnia.",
            "The budget is tight.",
            "The deadline is in 3 days.",
            "My point is called into question.",
        ] {
            assert_eq!(value_of(text), None, "{text}");
        }
    }
}
