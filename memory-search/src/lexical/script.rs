//! Forms of words of scripts that are a language.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::folding::fold;

/// Endings of Hindi, longest first (Ramanathan and Rao, "A Lightweight Stemmer for Hindi", 2003).
const HINDI: [&str; 64] = [
    "ाएंगी",
    "ाएंगे",
    "ाऊंगी",
    "ाऊंगा",
    "ाइयाँ",
    "ाइयों",
    "ाइयां",
    "ाएगी",
    "ाएगा",
    "ाओगी",
    "ाओगे",
    "एंगी",
    "एंगे",
    "ूंगी",
    "ूंगा",
    "ातीं",
    "नाओं",
    "नाएं",
    "ताओं",
    "ताएं",
    "ियाँ",
    "ियों",
    "ियां",
    "ेंगी",
    "ेंगे",
    "ाकर",
    "ाइए",
    "ाईं",
    "ाया",
    "ेगी",
    "ेगा",
    "ोगी",
    "ोगे",
    "ाने",
    "ाना",
    "ाते",
    "ाती",
    "ाता",
    "तीं",
    "ाओं",
    "ाएं",
    "ुओं",
    "ुएं",
    "ुआं",
    "कर",
    "ाओ",
    "िए",
    "ाई",
    "ाए",
    "ने",
    "नी",
    "ना",
    "ते",
    "ीं",
    "ती",
    "ता",
    "ाँ",
    "ां",
    "ों",
    "ें",
    "ो",
    "े",
    "ी",
    "ा",
];

/// Minimum letters of a word that stay.
const FEWEST: usize = 2;

/// Forms of a word in lower case by which it is found; `None` for a word of another script, such as Latin.
///
/// Hebrew attaches particles to the next word, so that a word is also found without them.
pub(super) fn forms(lower: &str) -> Option<Vec<String>> {
    static STEMMERS: LazyLock<[Stemmer; 4]> = LazyLock::new(|| {
        [Algorithm::Russian, Algorithm::Greek, Algorithm::Arabic, Algorithm::Tamil].map(Stemmer::create)
    });
    let [russian, greek, arabic, tamil] = &*STEMMERS;
    let stemmed = |stemmer: &Stemmer, word: &str| vec![fold(&stemmer.stem(word)).into_owned()];
    Some(match lower.chars().next()? {
        '\u{0400}'..='\u{04FF}' => stemmed(russian, &lower.replace('ё', "е")),
        '\u{0370}'..='\u{03FF}' => stemmed(greek, lower),
        '\u{0600}'..='\u{06FF}' => stemmed(arabic, lower),
        '\u{0B80}'..='\u{0BFF}' => stemmed(tamil, lower),
        '\u{0900}'..='\u{097F}' => vec![hindi(&fold(lower)).to_owned()],
        '\u{05D0}'..='\u{05EA}' => hebrew(&fold(lower)),
        _ => return None,
    })
}

fn hindi(word: &str) -> &str {
    let stems = HINDI.iter().filter_map(|ending| word.strip_suffix(ending));
    stems.filter(|stem| stem.chars().count() >= FEWEST).min_by_key(|stem| stem.len()).unwrap_or(word)
}

/// The word, without "and", and without one more particle.
fn hebrew(word: &str) -> Vec<String> {
    let mut forms = vec![word.to_owned()];
    let mut without = |particles: &[char]| {
        let last = forms.last().map_or(word, String::as_str);
        let rest = last.strip_prefix(particles).filter(|rest| rest.chars().count() > FEWEST).map(str::to_owned);
        forms.extend(rest);
    };
    without(&['ו']);
    without(&['ה', 'ב', 'ל', 'מ', 'ש', 'כ']);
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(words: &[&str]) {
        let all: Vec<_> = words.iter().map(|word| forms(word).unwrap()).collect();
        for of in &all {
            assert!(of.iter().any(|form| all[0].contains(form)), "{words:?}: {all:?}");
        }
    }

    #[test]
    fn inflected_words_share_a_form() {
        is_one(&["аллергия", "аллергии", "аллергию"]);
        is_one(&["машина", "машину", "машины"]);
        is_one(&["алёна", "алена"]);
        is_one(&["كتاب", "الكتاب"]);
        is_one(&["مَدْرَسَة", "مدرسه"]);
        is_one(&["किताब", "किताबें", "किताबों"]);
        is_one(&["लड़का", "लड़के", "लड़कों"]);
        is_one(&["בית", "הבית", "והבית", "בבית"]);
        assert_eq!(forms("word"), None);
    }
}
