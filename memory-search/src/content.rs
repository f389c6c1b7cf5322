//! Tells turns with content from greetings, thanks and other stock phrases.

use std::{collections::HashSet, sync::LazyLock};

use regex::RegexSet;

use crate::lexical::words_of;

/// Words of stock phrases, in lower case without accents, in addition to stop words.
const STOCK: &str = "
thanks thank thx ty cheers understood noted gotcha roger acknowledged bye goodbye cya hi hey hello hiya yo yes yeah yep yup yea nope nah ok okay okey kk sure
right alright fine cool nice great good awesome amazing wow oh ah aha hmm hm mm mhm uh um uhm huh haha hahaha lol omg
please pls welcome sorry well really indeed exactly absolutely definitely totally true correct agreed much lot lots
see ya soon later take care perfect wonderful got
danke vielen dank bitte hallo tschuss bis bald ja nein gut super schon gern gerne genau verstanden notiert
merci beaucoup bonjour salut revoir au oui non gracias hola adios si bueno vale grazie ciao prego obrigado obrigada
";

/// Stock phrases in scripts without spaces.
const UNSPACED: [&str; 12] = [
    "谢谢",
    "再见",
    "你好",
    "好的",
    "不客气",
    "ありがとう",
    "ございます",
    "さようなら",
    "こんにちは",
    "はい",
    "감사합니다",
    "안녕",
];

/// True if a text has a word other than stop words, stock phrases and the first names in `names` (in lower case).
pub(crate) fn has_content(text: &str, names: &[&str]) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOCK.split_whitespace().collect());
    let rest = UNSPACED.iter().fold(text.to_owned(), |rest, phrase| rest.replace(phrase, " "));
    let words = words_of(&rest);
    let before = std::iter::once("").chain(words.iter().map(|(word, _)| &**word));
    words.iter().zip(before).any(|((word, is_stop_word), before)| {
        let is_greeting = before == "good" && ["morning", "afternoon", "evening", "night"].contains(&&**word);
        !is_stop_word && !is_greeting && !WORDS.contains(&**word) && !names.contains(&&**word)
    })
}

/// Requests for a text of pure invention, and words by which such a request refers to something that was said.
const INVENTION: [&str; 2] = [
    r"(?i)^\W*(please |can you |could you |would you )*(write|tell|compose|make|give|sing|invent|create)\b.{0,40}\b(haiku|poem|limerick|sonnet|joke|riddle|fairy tale|bedtime story)\b",
    r"(?i)\b(my|mine|our|ours|we|us|i|his|her|their|that|those|this|these|earlier|again|last|before)\b",
];

/// True if no message can answer a text: thanks, greetings, signs, and requests for a poem or a joke that refer to
/// nothing that was said.
pub(crate) fn asks_nothing(text: &str) -> bool {
    static PATTERNS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(INVENTION).ok());
    let is = PATTERNS.as_ref().map(|patterns| patterns.matches(text));
    let is_invention = is.is_some_and(|is| is.matched(0) && !is.matched(1));
    is_invention || !text.contains(['?', '？']) && !has_content(text, &[]) && !is_of_stop_words(text)
}

/// True if a text has words, all of them stop words, such as `what they did`.
fn is_of_stop_words(text: &str) -> bool {
    let words = words_of(text);
    !words.is_empty() && words.iter().all(|(_, is_stop_word)| *is_stop_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_phrases_ask_nothing() {
        for text in [
            "Thanks, bye!",
            "Much*",
            "ok",
            "Good morning!",
            "Vielen Dank, bis bald!",
            "Merci beaucoup",
            "谢谢!",
            "👍",
            "...",
        ] {
            assert!(asks_nothing(text), "{text}");
        }
        for text in ["Write me a haiku about the sea", "Can you tell me a joke?"] {
            assert!(asks_nothing(text), "{text}");
        }
        for text in ["Write me a poem about our trip", "Which poem did Ann write?", "Write an email to Ann"] {
            assert!(!asks_nothing(text), "{text}");
        }
        for text in ["Why?", "what they did", "Thanks! And the train?", "42", "列车几点开"] {
            assert!(!asks_nothing(text), "{text}");
        }
    }

    #[test]
    fn a_name_or_a_figure_is_content_unless_it_is_of_a_speaker() {
        assert!(!has_content("Thanks, Mel!", &["mel"]) && has_content("Thanks, Mel!", &["ann"]));
        assert!(has_content("9:40", &[]) && has_content("Yes, in Graz.", &[]) && !has_content("She's...", &[]));
    }
}
