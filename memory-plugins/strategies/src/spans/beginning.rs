//! Beginnings of sentences that may stand for the whole.

use std::borrow::Cow;

use super::compose::SIGN;
use crate::{
    language::{Language, last_turn},
    phrases::{Phrases, phrase_lists, word_lists},
    segments::{Kind, Segment},
    spoken::asks,
    terms::is_common,
    words::{Form, Word, words},
};

word_lists! {
    /// Words at the beginning of a sentence whose main clause comes later.
    CONDITIONS = "if when whenever unless until once while although though because since after before even as except";
    /// Words that join a clause.
    JOINS = "but and so or yet";
}

phrase_lists! {
    /// Phrases of questions that are written without a mark.
    REQUESTS = "can you help | can you explain | can you show | can you tell | can you give | can you suggest | \
        could you help | could you explain | could you show | could you tell | if you could help | how can i | how do i | \
        what should i | should i | what do you think | any tips | any advice";
    /// Phrases of somebody who wonders, which limit nothing that was said before.
    WONDERS = "i'm not sure how | i'm not sure what | i'm not sure where | i'm not sure if i | i'm not sure if this | \
        i'm not sure if that | i'm not sure if it's | i don't know how | i'm wondering | i was wondering | \
        i'm kinda curious | i'm curious | i want to know | i'd like to know | i need help | i'm having trouble | \
        i'm still unsure | i'm finding it hard | i'm trying to understand | i'm trying to decide";
}

/// Minimum words of a beginning.
const FEWEST: usize = 4;
/// Maximum further segments of a sentence; a longer one is a log or a list.
const SEGMENTS: usize = 8;
/// Maximum ends that are tried.
const TRIED: usize = 64;
/// Sign after a truncated question.
const ASKS: &str = "…?";

/// The longest beginning of a sentence that fits, with the sign of an omission; `None` if it may not be cut. `segments`
/// begin with its first one, `around` is the language of its message.
pub(super) fn beginning(segments: &[Segment], around: Language, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let first = segments.first()?;
    if matches!(first.kind, Kind::Code | Kind::Data | Kind::Row) {
        return of_data(&first.text, fits);
    }
    let text = &*sentence(segments)?;
    if !Language::of(text).may_be_cut(around) {
        return None;
    }
    let all: Vec<Word<'_>> = words(text).collect();
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    // "If the ferry is late, …" would be told as a fact.
    if all.first().is_some_and(|word| CONDITIONS.contains(&word.key)) {
        return None;
    }
    let place = |phrases: &Phrases<()>| {
        (0..all.len()).find(|at| phrases.at(keys.get(*at..).unwrap_or_default()).next().is_some())
    };
    let request = place(&REQUESTS);
    let is_question = asks(text) || request.is_some();
    let wonders = [request, place(&WONDERS)].into_iter().flatten().min();
    // "…, but I'm not sure how"
    let joins = |at: usize| at.checked_sub(1).filter(|at| keys.get(*at).is_some_and(|key| JOINS.contains(key)));
    let wonders = wonders.map(|at| joins(at).unwrap_or(at)).and_then(|at| all.get(at)).map(|word| word.at);
    let said = text.get(..wonders.unwrap_or(if is_question { 0 } else { text.len() })).unwrap_or_default();
    let turn = last_turn(said, false).max(last_turn(text, true)).unwrap_or(0);
    let sign = if is_question { ASKS } else { SIGN };
    let end_of = |word: &Word<'_>| word.at + word.text.len();
    let is_clause = |word: &Word<'_>| text.get(end_of(word)..).is_some_and(|rest| rest.starts_with([',', ';']));
    let ends: Vec<(usize, bool)> = all
        .iter()
        .enumerate()
        .skip(FEWEST - 1)
        .filter(|(_, word)| is_clause(word) || may_end(text, word))
        .map(|(_, word)| (end_of(word), is_clause(word)))
        .filter(|(end, is_clause)| turn == 0 || *end > turn && *is_clause)
        .collect();
    let with_sign = |end: usize| format!("{}{sign}", text.get(..end).unwrap_or_default());
    let fitting = ends.partition_point(|(end, _)| fits(&with_sign(*end)));
    let ends = ends.get(..fitting)?;
    let longest = ends.iter().rev().take(TRIED).map(|(end, _)| *end).find(|end| fits(&with_sign(*end)))?;
    // A clause is worth some words.
    let clause = ends.iter().rev().find(|(end, is_clause)| *is_clause && *end <= longest).map(|(end, _)| *end);
    let end = clause.filter(|end| end * 3 >= longest * 2 && fits(&with_sign(*end))).unwrap_or(longest);
    Some(with_sign(end))
}

/// The sentence that begins with the first segment; a very long one has several.
fn sentence(segments: &[Segment]) -> Option<Cow<'_, str>> {
    let (first, rest) = segments.split_first().filter(|(first, _)| first.begins)?;
    if first.ends {
        return Some(Cow::Borrowed(&first.text));
    }
    let mut text = first.text.clone();
    for segment in rest.iter().take(SEGMENTS).take_while(|segment| !segment.begins) {
        text.push(' ');
        text.push_str(&segment.text);
        if segment.ends {
            return Some(Cow::Owned(text));
        }
    }
    None
}

/// The beginning of a line of code or data, cut after a word.
fn of_data(text: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let ends = words(text).map(|word| word.at + word.text.len());
    let ends: Vec<usize> = ends.filter(|end| text.get(*end..).is_some_and(|rest| !rest.starts_with('\\'))).collect();
    let cut = |end: usize| format!("{}{SIGN}", text.get(..end).unwrap_or_default());
    let fitting = ends.partition_point(|end| fits(&cut(*end)));
    ends.get(..fitting)?.iter().rev().map(|end| cut(*end)).take(TRIED).find(|cut| fits(cut))
}

/// True if a quotation may end after a word: not after an article or a preposition.
fn may_end(text: &str, word: &Word<'_>) -> bool {
    let after = text.get(word.at + word.text.len()..).and_then(|rest| rest.chars().next());
    let ends = after.is_none_or(char::is_whitespace);
    ends && (word.form == Form::Figure || !is_common(word))
}
