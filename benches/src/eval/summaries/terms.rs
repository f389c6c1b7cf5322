//! What a summary should keep of a message: figures, names and dates, and the words of answers.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

/// Terms in lower case.
pub(super) type Terms = BTreeSet<String>;

/// Words that name a day or a month.
const DATES: &str = "monday tuesday wednesday thursday friday saturday sunday january february march april june july \
    august september october november december yesterday today tomorrow";

/// Words that are not an answer by themselves.
const COMMON: &str = "the and for with that this from have has had was were are is been being not but you your they \
    their them she her his him its our who what when where why how which will would could should can may might did does \
    done into over under about after before than then there here also just very more most some any all each other such \
    only same own too out off down because while during between both few nor";

/// The words of a text: letters, digits and characters that join them, without surrounding punctuation.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.unicode_words()
}

/// The same words, each with the byte at which it begins.
pub(super) fn placed_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices()
}

/// All words of a text, in lower case: the terms that a summary holds.
pub(super) fn held(text: &str) -> Terms {
    words(text).map(normal).collect()
}

/// The figures, names and dates of a message.
///
/// A figure is a word with a digit; a name begins with a capital where no sentence begins.
pub(super) fn facts(text: &str) -> Terms {
    let of_sentence = |sentence| words(sentence).enumerate().filter(|&(place, word)| is_fact(place, word));
    text.unicode_sentences().flat_map(of_sentence).map(|(_, word)| normal(word)).collect()
}

fn is_fact(place: usize, word: &str) -> bool {
    let mut letters = word.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase) && word.chars().count() > 1;
    let is_contraction = word.starts_with("I'") || word.starts_with("I’");
    word.contains(char::is_numeric)
        || among(DATES, &normal(word))
        || (place > 0 && is_capital && !is_contraction && !among(COMMON, &normal(word)))
}

/// The informative words of an answer that the message has, too.
pub(super) fn answered(answer: &str, message: &Terms) -> Terms {
    let tells = |word: &String| {
        let long = word.chars().count() > 2 || word.contains(char::is_numeric);
        long && !among(COMMON, word) && message.contains(word)
    };
    words(answer).map(normal).filter(tells).collect()
}

/// Whether a word is too common to count as shared content.
pub(super) fn is_common(word: &str) -> bool {
    word.chars().count() < 3 || is_listed_common(word)
}

/// Whether a word is not an answer by itself, regardless of its length.
pub(super) fn is_listed_common(word: &str) -> bool {
    among(COMMON, word)
}

/// A word in lower case, without a possessive.
pub(super) fn normal(word: &str) -> String {
    let word = word.to_lowercase();
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(&word).to_owned()
}

fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(list: &[&str]) -> Terms {
        list.iter().map(|&term| term.to_owned()).collect()
    }

    #[test]
    fn facts_are_figures_names_and_dates() {
        let text = "We met Priya's team in Ghent. It costs 1,850 euros. I'm off on monday, and I'll call.";
        assert_eq!(facts(text), terms(&["priya", "ghent", "1,850", "monday"]));
    }

    #[test]
    fn an_answer_counts_as_far_as_the_message_says_it() {
        let message = held("The hall has a green door, and Maya has the key.");
        assert_eq!(answered("The green key of the cellar", &message), terms(&["green", "key"]));
    }
}
