//! Splits running text into sentences, and long ones into pieces at clauses.
//!
//! UAX #29 splits after "Dr.", initials and "No. 5"; these rules do not, in a single pass.

use memory_core::text::floor_char_boundary;

use crate::{
    phrases::MONTHS,
    words::{is_unspaced, is_word_char, key},
};

/// Maximum bytes of a piece; a longer "sentence" is a list, a log, or of a language without stops.
const PIECE: usize = 360;

/// Words after which a full stop never ends a sentence.
const TITLES: &[&str] = &[
    "dr", "mr", "mrs", "ms", "prof", "sr", "jr", "gen", "col", "rev", "hon", "st", "vs", "e.g", "i.e", "cf", "bzw",
    "z.b",
];

/// Words after which a full stop may not end a sentence that is written in lower case.
const SHORTENED: &[&str] = &[
    "approx", "incl", "resp", "bspw", "evtl", "misc", "dept", "corp", "vgl", "usw", "etc", "max", "min", "no", "nr",
    "inc", "ltd", "ca", "ggf", "abs", "fig", "vol", "ch", "sec", "eq", "art", "pp", "jan", "feb", "aug", "sep", "oct",
    "nov", "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "al", "est", "op",
];

/// Words that begin a sentence also without a capital.
const BEGINNERS: &[&str] = &["ok", "okay", "yes", "btw", "thanks", "pls", "please", "i", "i'm", "let's"];

/// Words after which a full stop does not end a sentence if a figure follows.
const BEFORE_FIGURES: &[&str] = &["no", "nr", "fig", "p", "pp", "vol", "ch", "sec", "eq", "art", "approx", "ca"];

/// Words behind a German ordinal other than months: "am 3. Jan", "die 12. Kalenderwoche".
const COUNTED: &[&str] = &[
    "jan",
    "feb",
    "mär",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "okt",
    "nov",
    "dez",
    "kalenderwoche",
    "kw",
    "woche",
    "monat",
    "jahr",
    "jahrhundert",
    "quartal",
    "semester",
    "klasse",
    "stock",
    "stockwerk",
    "etage",
    "geburtstag",
    "lebensjahr",
    "mal",
    "tag",
    "platz",
    "auflage",
    "kapitel",
    "bezirk",
    "advent",
    "hochzeitstag",
    "jahrestag",
    "liga",
    "runde",
    "spieltag",
    "version",
];

/// Words before an ordinal that is followed by its noun: "beim 2. Versuch".
const BEFORE_ORDINALS: &[&str] =
    &["der", "die", "das", "des", "dem", "zum", "zur", "im", "vom", "beim", "jeder", "jeden"];

/// The sentences of `text` as trimmed slices, none blank, none longer than 360 bytes: a longer one is cut after a
/// clause, otherwise after a word, otherwise anywhere.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    whole_sentences(text).flat_map(pieces).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// The sentences of `text` as trimmed slices, none blank, of any length.
pub(crate) fn whole_sentences(text: &str) -> impl Iterator<Item = &str> {
    Sentences { rest: text }.flat_map(thai_sentences).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Minimum bytes of a Thai sentence.
const THAI: usize = 48;
/// Beginnings of Thai clauses that belong to the clause before: "but", "not", "because", "if", "so that".
const THAI_JOINS: &[&str] = &["แต่", "ไม่", "เพราะ", "ถ้า", "เพื่อ", "และ", "หรือ", "ซึ่ง", "ที่"];

/// The Thai sentences of a sentence. Thai ends a sentence with a blank, which is also a comma, so that short parts and
/// parts that lean on the one before stay together.
fn thai_sentences(sentence: &str) -> impl Iterator<Item = &str> {
    let is_thai = |c: char| matches!(c, '\u{e00}'..='\u{e7f}');
    let mut rest = sentence;
    std::iter::from_fn(move || {
        let ends = |at: &usize| {
            let (head, tail) = rest.split_at_checked(*at).unwrap_or((rest, ""));
            let next = tail.trim_start();
            head.len() >= THAI
                && next.len() >= THAI
                && head.ends_with(is_thai)
                && next.starts_with(is_thai)
                && !THAI_JOINS.iter().any(|joins| next.starts_with(joins))
        };
        let end = if rest.len() < 2 * THAI || rest.is_ascii() {
            rest.len()
        } else {
            rest.match_indices(' ').map(|(at, _)| at).find(ends).unwrap_or(rest.len())
        };
        let (one, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after.trim_start();
        (!one.is_empty()).then_some(one)
    })
}

struct Sentences<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (sentence, rest) = self.rest.split_at_checked(end_of_first(self.rest)).unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(sentence)
    }
}

/// The end of the first sentence of `text`.
fn end_of_first(text: &str) -> usize {
    let mut from = 0;
    while let Some((at, c)) = next_stop(text, from) {
        let mut end = at + c.len_utf8();
        let mut anywhere = ends_anywhere(c);
        let mut only_stop = c == '.';
        let mut after = None;
        for next in text.get(end..).unwrap_or_default().chars() {
            if !(ends_anywhere(next) || ends_before_space(next) || closes(next)) {
                after = Some(next);
                break;
            }
            anywhere |= ends_anywhere(next);
            only_stop &= next == '.' || closes(next);
            end += next.len_utf8();
        }
        if anywhere {
            return end;
        }
        let Some(after) = after else { break };
        from = end;
        if !after.is_whitespace() && !is_unspaced(after) {
            continue;
        }
        let follows = text.get(end..).unwrap_or_default().trim_start().chars().next();
        let head = text.get(..at).unwrap_or_default();
        let goes_on = (only_stop || c == '…') && follows.is_some_and(char::is_lowercase);
        let after = text.get(end..).unwrap_or_default();
        if goes_on && !(only_stop && ends_lower_case(head, after))
            || (only_stop && (is_abbreviation(head, follows) || is_ordinal(head, after)))
        {
            continue;
        }
        return end;
    }
    text.len()
}

/// The first stop of `text` at or after the byte `from`, with its position.
fn next_stop(text: &str, mut from: usize) -> Option<(usize, char)> {
    loop {
        from += possible_stop(text.as_bytes().get(from..)?)?;
        let c = text.get(from..)?.chars().next()?;
        if ends_anywhere(c) || ends_before_space(c) {
            return Some((from, c));
        }
        from += c.len_utf8();
    }
}

/// The first byte that may begin a stop: an ASCII stop, or a non-ASCII byte, which must be decoded first.
fn possible_stop(text: &[u8]) -> Option<usize> {
    /// Bytes that are tested together, without branches.
    const BLOCK: usize = 16;
    let may_stop = |byte: &u8| matches!(byte, b'.' | b'!' | b'?') | !byte.is_ascii();
    let blocks = text.chunks(BLOCK);
    let before = blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | may_stop(byte))).count() * BLOCK;
    text.get(before..)?.iter().position(may_stop).map(|at| before + at)
}

/// Stops that need no space after them.
fn ends_anywhere(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '．' | '।' | '॥' | '؟' | '۔' | '။' | '។' | '։')
}

fn ends_before_space(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…')
}

/// Closing marks that belong to the sentence before them.
pub(crate) fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）')
}

/// True if a sentence ends after `head` although the text behind it begins without a capital: "use tabs, not spaces.
/// keep it short", "We take Oslo. ok, and the hotel?"
fn ends_lower_case(head: &str, after: &str) -> bool {
    let is_lower = head.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_lowercase);
    let next = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let last = head.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let fewest = if is_lower { 2 } else { 4 };
    let is_word = last.chars().nth(fewest - 1).is_some() && last.chars().all(char::is_alphabetic);
    let is_shortened = SHORTENED.iter().chain(TITLES).any(|known| known.eq_ignore_ascii_case(last));
    let is_name = head.len().checked_sub(last.len() + 1).and_then(|at| head.as_bytes().get(at)) != Some(&b' ');
    (is_lower || BEGINNERS.contains(&next)) && is_word && !is_name && !is_shortened
}

/// True if the stop after `head` marks an abbreviation.
fn is_abbreviation(head: &str, follows: Option<char>) -> bool {
    let start = head.rfind(|c: char| !(is_word_char(c) || c == '.')).map_or(0, |at| {
        let width = head.get(at..).and_then(|tail| tail.chars().next()).map_or(1, char::len_utf8);
        at + width
    });
    let word = head.get(start..).unwrap_or_default();
    let among = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_initial = |part: &str| {
        let mut letters = part.chars();
        matches!((letters.next(), letters.next()), (Some(c), None) if c.is_uppercase())
    };
    // Initials: "J. Doe", "J.K. Doe"; but not "and so do I. Then".
    let initial = word != "I" && word.split('.').all(is_initial) && follows.is_some_and(char::is_uppercase);
    // A list number: "3. Taste the soup"
    let numeral = start == 0 && word.len() <= 3 && follows.is_some() && word.chars().all(|c| c.is_ascii_digit());
    initial || numeral || among(TITLES) || (among(BEFORE_FIGURES) && follows.is_some_and(char::is_numeric))
}

/// True if the stop after `head` marks an ordinal: "am 3. Juni".
fn is_ordinal(head: &str, after: &str) -> bool {
    let before = head.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() == head.len()
        || head.len() - before.len() > 3
        || !before.ends_with([' ', '(']) && !before.is_empty()
    {
        return false;
    }
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let next = word(after.trim_start());
    let last = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_led =
        BEFORE_ORDINALS.contains(&last.to_lowercase().as_str()) && after.trim_start().starts_with(char::is_alphabetic);
    is_led || COUNTED.contains(&next.as_str()) || MONTHS.contains(&key(&next))
}

/// `sentence` if it is short enough, otherwise its pieces, cut after clauses, otherwise after words, otherwise
/// anywhere.
pub(crate) fn pieces(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = sentence;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() <= PIECE { rest.len() } else { end_of_piece(rest) };
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after;
        Some(piece)
    })
}

/// The end of the first piece of `text`, which is longer than [`PIECE`].
fn end_of_piece(text: &str) -> usize {
    let limit = floor_char_boundary(text, PIECE);
    let head = text.get(..limit).unwrap_or(text);
    let after = |found: Option<(usize, &str)>| found.map(|(at, mark)| at + mark.len()).filter(|&end| end >= PIECE / 3);
    let clause = head.rmatch_indices([';', '；', '，', '、']).next();
    let comma = head.rmatch_indices(", ").next();
    after(clause)
        .max(after(comma))
        .or_else(|| after(head.rmatch_indices(char::is_whitespace).next()))
        .unwrap_or_else(|| limit.max(text.chars().next().map_or(1, char::len_utf8)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn stops_inside_figures_names_and_abbreviations_end_nothing() {
        check("Pi is 3.14. Next.", &["Pi is 3.14.", "Next."]);
        check("Dr. Smith met J. Doe at example.com. Fine.", &["Dr. Smith met J. Doe at example.com.", "Fine."]);
        check("I met J.K. Rowling on St. John Street. Fine.", &["I met J.K. Rowling on St. John Street.", "Fine."]);
        check("See No. 5 e.g. here. I said no. Then left.", &["See No. 5 e.g. here.", "I said no.", "Then left."]);
        check("Wait... what? Yes!", &["Wait... what?", "Yes!"]);
        check("He asked \"why?\" Then left.", &["He asked \"why?\"", "Then left."]);
    }

    #[test]
    fn ordinals_before_a_month_or_another_noun_end_nothing() {
        for whole in [
            "Wir fliegen am 22. August ab Frankfurt.",
            "Das Fest ist am 3. Juni in Linz.",
            "Bis zur 12. Kalenderwoche leben wir damit.",
            "Zum 18. Geburtstag kommt Oma.",
            "Beim 2. Versuch klappte es, im 3. Stock.",
            "Mødet er den 3. juni i Oslo.",
            "Kokous on 3. kesäkuuta Turussa.",
            "Schůzka je 3. června v Praze.",
        ] {
            check(whole, &[whole]);
        }
        check("Es sind 40. Dann kamen alle.", &["Es sind 40.", "Dann kamen alle."]);
        check("The score is 3. June was warm in 2024. Fine.", &["The score is 3. June was warm in 2024.", "Fine."]);
        check("It costs 90. We pay.", &["It costs 90.", "We pay."]);
        check("Version 2.4. Next.", &["Version 2.4.", "Next."]);
    }

    #[test]
    fn other_scripts_have_their_stops() {
        check("会議は金曜日です。場所は東京です。", &["会議は金曜日です。", "場所は東京です。"]);
        check("यह ठीक है। चलो।", &["यह ठीक है।", "चलो।"]);
        check("هل هذا صحيح؟ نعم.", &["هل هذا صحيح؟", "نعم."]);
        check(
            "เมื่อคืนนี้ลูกค้าถามถึงยางจักรยาน สุดสัปดาห์ที่แล้วผมจัดการการบ้านภาษาอังกฤษ",
            &["เมื่อคืนนี้ลูกค้าถามถึงยางจักรยาน", "สุดสัปดาห์ที่แล้วผมจัดการการบ้านภาษาอังกฤษ"],
        );
        check("เดือนนี้ในที่สุดก็เข้าใจต้นไม้ที่ระเบียง แต่ยังมีปัญหา", &["เดือนนี้ในที่สุดก็เข้าใจต้นไม้ที่ระเบียง แต่ยังมีปัญหา"]);
    }

    #[test]
    fn who_writes_in_lower_case_ends_sentences_too() {
        check(
            "use tabs, not spaces, everywhere. keep answers short",
            &["use tabs, not spaces, everywhere.", "keep answers short"],
        );
        check("We take Oslo. ok and the hotel?", &["We take Oslo.", "ok and the hotel?"]);
        check("it takes approx. five days, i.e. a week", &["it takes approx. five days, i.e. a week"]);
        check("See main.rs. then stop", &["See main.rs. then stop"]);
    }

    #[test]
    fn what_has_no_stop_is_cut_at_clauses_then_words_then_anywhere() {
        let clauses = "some words go here, ".repeat(40);
        assert!(sentences(&clauses).all(|piece| piece.len() <= PIECE && piece.ends_with(',')));
        let solid = "x".repeat(1000);
        assert_eq!(sentences(&solid).map(str::len).sum::<usize>(), 1000);
    }

    proptest! {
        #[test]
        fn nothing_but_blanks_is_lost(text in "(\\PC|[.!? ,a-zA-Z0-9。]){0,900}") {
            let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = sentences(&text).collect();
            prop_assert_eq!(solid(&joined), solid(&text));
            prop_assert!(sentences(&text).all(|s| s == s.trim() && !s.is_empty()));
        }
    }
}
