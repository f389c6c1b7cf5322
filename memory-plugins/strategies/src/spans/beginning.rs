//! Beginnings of sentences that may stand for the whole.

use std::borrow::Cow;

use super::compose::SIGN;
use crate::{
    goal::is_month,
    language::{Language, last_turn},
    phrases::{Phrases, phrase_lists, word_lists},
    segments::{Kind, Segment},
    spoken::asks,
    terms::is_common,
    title::is_noise_word,
    words::{Form, Word, words},
};

word_lists! {
    /// Words at the beginning of a sentence whose main clause comes later.
    CONDITIONS = "if when whenever unless until once while although though because since after before even as except";
    /// Words that join a clause.
    JOINS = "but and so or yet";
    /// First words of a phrase that may be left out.
    PHRASES = "for in on at with by from which who that when while where because and or but so if as after before since \
        during considering especially without about into through until given including like around near between over \
        under within using based due instead whether how what why";
    /// First words of a question.
    QUESTIONS = "what what's how how's why when where which who can could would will do does did is are should any";
    /// Words that begin a clause of their own.
    CLAUSES = "because so while which";
    /// Subjects of a clause behind "and".
    SUBJECTS = "i i'm i've i'll i'd we we're we've we'll he she they it it's that's there";
    /// Contractions that deny only their own clause.
    DENIES = "don't doesn't didn't can't couldn't won't wouldn't isn't aren't wasn't haven't hasn't shouldn't";
    /// Conjunctions of other languages behind which a last clause turns nothing.
    FOREIGN_JOINS = "und denn weil damit sodass dass obwohl während nachdem bevor worüber weshalb sondern sonst deshalb \
        et car parce donc pourquoi où y porque para así e perché quindi então want omdat dat en zodat og fordi så och \
        för eftersom и потому что чтобы когда где а i bo że ponieważ żeby a protože že aby";
    /// First words of clauses of other languages that are not whole without the next one.
    FOREIGN_CONDITIONS = "wenn falls weil dass ob als obwohl während nachdem bevor sobald solange da quand si lorsque \
        comme puisque cuando aunque como mientras quando se anche als wanneer omdat hvis når om när если когда хотя \
        пока jeśli gdy kiedy když pokud jestli";
    /// Words of other languages that deny or turn a clause.
    FOREIGN_TURNS = "nicht kein keine keinen keinem keiner nie niemals ohne doch aber statt abgesagt abgelehnt verboten ne pas \
        jamais sans plus mais aucun no nunca jamás sin pero nada não sem mas nunca non mai senza ma nessuno niet geen \
        nooit maar zonder ikke ingen aldri men inte inga aldrig не нет никогда без но nie nigdy bez ale ne není nikdy";
}

phrase_lists! {
    /// Phrases of questions that are written without a mark.
    REQUESTS = "can you help | can you explain | can you show | can you tell | can you give | can you suggest | \
        could you help | could you explain | could you show | could you tell | if you could help | how can i | how do i | \
        what should i | should i | what do you think | any tips | any advice";
    /// Phrases of somebody who wonders, which limit nothing that was said before.
    WONDERS = "i'm not sure how | i'm not sure what | i'm not sure where | i'm not sure if i | i'm not sure if this | \
        i'm not sure if that | i'm not sure if it's | i don't know how | i'm wondering | i was wondering | \
        i'm kinda curious | i'm curious | i'd like to know | i need help | i'm having trouble | \
        i'm still unsure | i'm finding it hard | i'm trying to understand | i'm trying to decide | i'm kinda worried | i'm still worried | i'm a bit worried | i'm kinda concerned | i'm still trying | i want to make sure | i want to compare | \
        i want to see | i want to improve | i want to verify | i want to understand | i want to know | i'm worried | i'm concerned | i'm finding it | i'm trying to figure | \
        i'm not sure | i'm hoping | i'm thinking | now i'm | i'm afraid | i was wondering | what if i | do you have any";
}

/// Minimum words of a beginning.
const FEWEST: usize = 4;
/// Maximum further segments of a sentence; a longer one is a log or a list.
const SEGMENTS: usize = 8;
/// Maximum clauses between which something may be left out.
const CLAUSES_TRIED: usize = 12;
/// Maximum ends that are tried.
const TRIED: usize = 64;
/// Words that turn what is said before them.
const TURNS: [&str; 4] = ["but", "though", "although", "however"];
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
    let all: Vec<Word<'_>> = words(text).collect();
    if !Language::of(text).may_be_cut(around) {
        return foreign(text, &all, fits);
    }
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    // "If the ferry is late, …" would pass for a fact: the clause behind the comma belongs to it.
    let is_conditional = all.first().is_some_and(|word| CONDITIONS.contains(&word.key));
    let main = if is_conditional { text.find(',')? } else { 0 };
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
    // "What's the best way to answer Michael, considering he's never been promoted?" states nothing.
    let is_pure_question = is_question && all.first().is_some_and(|word| QUESTIONS.contains(&word.key));
    // "Can you explain where I went wrong" takes nothing back.
    let told = text.get(..request.and_then(|at| all.get(at)).map_or(text.len(), |word| word.at)).unwrap_or_default();
    let turn = if is_pure_question { 0 } else { last_turn(said, false).max(last_turn(told, true)).unwrap_or(0) };
    // "My uncle died in February, can you help?" asks only behind the comma.
    let asks_from = if is_pure_question { 0 } else { wonders.unwrap_or(text.len()) };
    let sign = |end: usize| if is_question && end > asks_from { ASKS } else { SIGN };
    let end_of = |word: &Word<'_>| word.at + word.text.len();
    let is_clause = |index: usize| {
        let is_at_mark = |word: &Word<'_>| text.get(end_of(word)..).is_some_and(|rest| rest.starts_with([',', ';']));
        all.get(index).is_some_and(is_at_mark) || ends_clause(&keys, index)
    };
    // "I moved to Ghent, and I don't know anybody": the negation is of its own clause.
    let denied = denied(&all, &keys).filter(|_| turn > 0 && last_turn(text, true).is_none());
    let ends: Vec<(usize, bool)> = all
        .iter()
        .enumerate()
        .skip(FEWEST - 1)
        .filter(|(index, word)| is_clause(*index) || may_end(text, word))
        .map(|(index, word)| (end_of(word), is_clause(index)))
        .filter(|(end, is_clause)| turn == 0 || *is_clause && (*end > turn || denied.is_some_and(|at| *end <= at)))
        .filter(|(end, is_clause)| !is_conditional || *is_clause && *end > main + 1)
        .collect();
    let with_sign = |end: usize| format!("{}{}", text.get(..end).unwrap_or_default(), sign(end));
    let fitting = ends.partition_point(|(end, _)| fits(&with_sign(*end)));
    let ends = ends.get(..fitting)?;
    let longest = ends.iter().rev().take(TRIED).map(|(end, _)| *end).find(|end| fits(&with_sign(*end)));
    let Some(longest) = longest else {
        let elided = if is_conditional { None } else { elided(text, fits) };
        return elided.or_else(|| before_turn(text, &all, main, fits));
    };
    // "…how to apply" says less than what ends before another phrase: "…the gas station in Ostend".
    let is_phrase = |end: usize| {
        let next = text.get(end..).and_then(|rest| words(rest).next());
        next.is_none_or(|next| PHRASES.contains(&next.key))
    };
    let phrase = ends.iter().rev().map(|(end, _)| *end).find(|end| *end <= longest && is_phrase(*end));
    let longest = phrase.filter(|end| end * 2 >= longest && fits(&with_sign(*end))).unwrap_or(longest);
    // A clause is worth some words.
    let clause = ends.iter().rev().find(|(end, is_clause)| *is_clause && *end <= longest).map(|(end, _)| *end);
    let end = clause.filter(|end| end * 3 >= longest * 2 && fits(&with_sign(*end))).unwrap_or(longest);
    Some(with_sign(end))
}

/// A sentence up to the first word behind byte `main` that turns it, which stays: "We agreed on the hall in Ghent, but …"
fn before_turn(text: &str, all: &[Word<'_>], main: usize, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_behind = |word: &&Word<'_>| word.at > main + 1 && TURNS.contains(&word.text);
    let turn = all.iter().skip(FEWEST).find(is_behind)?;
    let head = text.get(..turn.at + turn.text.len())?;
    let is_clause = text.get(..turn.at)?.trim_end().ends_with(',') && !asks(text);
    let cut = format!("{head} {SIGN}");
    (is_clause && fits(&cut)).then_some(cut)
}

/// True if a clause begins behind the word at `index`.
fn ends_clause(keys: &[u64], index: usize) -> bool {
    let is =
        |offset: usize, words: &crate::words::KeySet| keys.get(index + offset).is_some_and(|key| words.contains(key));
    is(1, &CLAUSES) || is(1, &JOINS) && is(2, &SUBJECTS)
}

/// Byte before the only limit of a sentence: a contraction with a subject of its own, behind "and" or "because", and with
/// more behind it.
fn denied(all: &[Word<'_>], keys: &[u64]) -> Option<usize> {
    const BEHIND: usize = 2;
    let at = keys.iter().position(|key| DENIES.contains(key))?;
    let is_own = at >= 2
        && keys.get(at - 1).is_some_and(|key| SUBJECTS.contains(key))
        && keys.get(at - 2).is_some_and(|key| CLAUSES.contains(key) || *key == crate::words::key("and"));
    let (before, behind) = (all.get(at.checked_sub(2)?)?, all.get(at + 1..)?);
    let others = all.get(at + 1..)?.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let is_only = last_turn(&format!("a a a {others}"), false).is_none();
    (is_own && behind.len() > BEHIND && is_only).then_some(before.at)
}

/// The beginning of a sentence of another language before its last clause, if the beginning is a clause of its own: the
/// last clause begins with a conjunction, denies nothing, and has no further comma.
fn foreign(text: &str, all: &[Word<'_>], fits: &dyn Fn(&str) -> bool) -> Option<String> {
    if asks(text) || all.first().is_none_or(|word| FOREIGN_CONDITIONS.contains(&word.key)) {
        return None;
    }
    let (head, tail) = text.rsplit_once(", ")?;
    let mut behind = words(tail);
    let joins = behind.next().is_some_and(|first| FOREIGN_JOINS.contains(&first.key));
    let is_whole = words(head).nth(FEWEST - 1).is_some();
    let turns = words(tail).any(|word| FOREIGN_TURNS.contains(&word.key));
    // "Er sagte, dass er, wenn es regnet, bleibt": an open clause before the comma.
    let opens = head.split(", ").skip(1).any(|clause| words(clause).next().is_some_and(|first| is_open(&first)));
    let cut = format!("{head} {SIGN}");
    (joins && is_whole && !turns && !opens && behind.nth(1).is_some() && fits(&cut)).then_some(cut)
}

/// The first clauses and the last ones of an English sentence, with the sign of an omission between them, as much as fits.
/// The words that turn the sentence stay, and the omitted ones neither deny nor limit anything.
fn elided(text: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let marks = [',', ';'];
    let is_mark = |(at, mark): &(usize, &str)| {
        // "1,850 euros"
        text.get(at + mark.len()..).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let bounds: Vec<(usize, usize)> =
        text.match_indices(marks).filter(is_mark).map(|(at, mark)| (at, at + mark.len())).take(CLAUSES_TRIED).collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    for (index, (end, begin)) in bounds.iter().enumerate() {
        let head = text.get(..*end)?;
        if words(head).nth(FEWEST - 1).is_none() {
            continue;
        }
        for (_, tail) in bounds.iter().skip(index + 1) {
            let (middle, tail) = (text.get(*begin..*tail)?, text.get(*tail..)?.trim_start());
            let is_free = last_turn(&format!("a a a {middle}"), false).is_none()
                && !words(middle).any(|word| CONDITIONS.contains(&word.key));
            if is_free && words(tail).nth(1).is_some() {
                found.push((middle.len(), format!("{head} {SIGN} {tail}")));
            }
        }
    }
    found.sort_by_key(|(left_out, _)| *left_out);
    found.into_iter().map(|(_, text)| text).find(|text| fits(text))
}

/// True if a clause that begins with a word is part of the one around it.
fn is_open(first: &Word<'_>) -> bool {
    FOREIGN_CONDITIONS.contains(&first.key) || FOREIGN_JOINS.contains(&first.key)
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
    // "moved to 26…" would lose its month.
    let is_counted = word.form == Form::Figure && after.is_some();
    let before = text.get(..word.at).unwrap_or_default();
    let is_within = before.matches('(').count() > before.matches(')').count();
    // "…add up to 180°, specifically"
    let leads = is_noise_word(word.text) || word.text.ends_with("ally") || word.text.ends_with("arly");
    ends && !is_counted && !is_within && !leads && !is_common(word) && !is_month(word)
}
