//! Detects values that are stated without their matter: "2pm it is.", "3 days only."

use super::{announcing, decisions, sentence::Sentence};
use crate::{
    goal::is_of_date,
    phrases::{phrase_lists, word_lists},
    spoken::asks,
    terms::is_common,
    words::{Form, Word, key},
};

phrase_lists! {
    /// Phrases that make a value of any unit another one's successor.
    MADE = "make it | make that | it is | let's say | go for | say | lieber | doch";
}

word_lists! {
    /// Words beside a value that say nothing of its matter.
    FILLERS = "sorry only just please thanks max nur bitte";
}

/// Most words of a sentence that only states a value.
const BARE: usize = 6;

/// The unit of a value that is stated without its matter, 0 for any; `None` for any other sentence.
pub(super) fn bare_unit(sentence: &Sentence<'_>) -> Option<u64> {
    let Sentence { words, keys, .. } = sentence;
    if asks(sentence.text) || words.len() > BARE || announcing::is_hypothetical(keys) {
        return None;
    }
    let units = units(words);
    let is_of_value = |word: &Word<'_>| {
        let is_unit = units.contains(&word.key) || decisions::is_unit(word.key);
        word.form == Form::Figure || is_unit || is_common(word) || FILLERS.contains(&word.key)
    };
    let [unit] = units.as_slice() else { return None };
    // "March 1 it is." may be anything.
    let is_date = *unit == key("date");
    (!is_date && words.iter().all(is_of_value) && (*unit > 0 || MADE.are_in(keys))).then_some(*unit)
}

/// The units of the values in some words: that of each figure, 0 without one, and that of dates.
pub(super) fn units(words: &[Word<'_>]) -> Vec<u64> {
    let unit = |(at, word): (usize, &Word<'_>)| {
        let is_time = word.text.contains(':');
        if is_of_date(word) && word.form != Form::Figure {
            return Some(key("date"));
        }
        if word.form != Form::Figure || !word.text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let suffix = word.text.trim_start_matches(|c: char| !c.is_alphabetic());
        let next = words.get(at + 1).filter(|next| next.form != Form::Figure);
        let named = next.filter(|next| !is_common(next) || decisions::is_unit(next.key)).map_or(0, |next| next.key);
        Some(match suffix {
            "" if is_time => key("time"),
            "" => named,
            "am" | "pm" | "h" => key("time"),
            suffix => key(suffix),
        })
    };
    let mut units: Vec<u64> = words.iter().enumerate().filter_map(unit).collect();
    units.dedup();
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_alone_has_the_unit_of_what_it_changes() {
        let bare = |text: &str| bare_unit(&Sentence::of(text));
        for (text, unit) in [("2pm it is.", "time"), ("ok, 14:30 then", "time"), ("3 days only", "day")] {
            assert_eq!(bare(text), Some(key(unit)), "{text}");
        }
        assert_eq!(bare("make it 4"), Some(0));
        for text in
            ["4", "There are 3 cats in the garden.", "3 days?", "If 3 days then 4.", "The barn costs 400 euros."]
        {
            assert_eq!(bare(text), None, "{text}");
        }
        assert!(units(&Sentence::of("Standup is at 9am every day.").words).contains(&key("time")));
    }
}
