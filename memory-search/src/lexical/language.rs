//! Languages of texts in Latin letters, and their stop words.

use std::{collections::HashMap, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::{Detector, Lang};

use super::folding::fold;

/// A language in Latin letters that has rules. Words of other scripts are analyzed by their script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    /// Also texts of unknown language.
    English,
    Danish,
    Dutch,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Spanish,
    Swedish,
    Turkish,
}

/// Row of a language: its marker, which is NUL and the ISO 639-1 code; its name in `whatlang`; its stemmer.
type Row = (Language, &'static str, Lang, Algorithm);

const ROWS: [Row; 14] = {
    use Language as L;
    [
        (L::English, "\0en", Lang::Eng, Algorithm::English),
        (L::Danish, "\0da", Lang::Dan, Algorithm::Danish),
        (L::Dutch, "\0nl", Lang::Nld, Algorithm::Dutch),
        (L::Finnish, "\0fi", Lang::Fin, Algorithm::Finnish),
        (L::French, "\0fr", Lang::Fra, Algorithm::French),
        (L::German, "\0de", Lang::Deu, Algorithm::German),
        (L::Hungarian, "\0hu", Lang::Hun, Algorithm::Hungarian),
        (L::Italian, "\0it", Lang::Ita, Algorithm::Italian),
        (L::Norwegian, "\0no", Lang::Nob, Algorithm::Norwegian),
        (L::Portuguese, "\0pt", Lang::Por, Algorithm::Portuguese),
        (L::Romanian, "\0ro", Lang::Ron, Algorithm::Romanian),
        (L::Spanish, "\0es", Lang::Spa, Algorithm::Spanish),
        (L::Swedish, "\0sv", Lang::Swe, Algorithm::Swedish),
        (L::Turkish, "\0tr", Lang::Tur, Algorithm::Turkish),
    ]
};

/// Bytes of a text that its language is recognized from.
const SAMPLE: usize = 600;
/// Minimum letters of a text whose trigrams tell its language.
const FEWEST_LETTERS: usize = 24;

/// Stop words of English in [Snowball's list](https://snowballstem.org/algorithms/english/stop.txt) (BSD), which are
/// only function words: longer lists in circulation also contain words such as `computer` or `april`.
const ENGLISH: &str = "
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves what which who whom this that these those
am is are was were be been being have has had having do does did doing would should could ought
i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
won't wouldn't shan't shouldn't can't cannot couldn't mustn't let's that's who's what's here's there's when's
where's why's how's
a an the and but if or because as until while of at by for with about against between into through during
before after above below to from up down in out on off over under again further then once here there when
where why how all any both each few more most other some such no nor not only own same so than too very
";

/// Sets of languages as bits, by their order; bit 31 stands for words of scripts that are a language.
static STOP_WORDS: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut words: HashMap<String, u32> = HashMap::new();
    let mut add = |bit: u32, list: &str| {
        list.split_whitespace().for_each(|word| *words.entry(fold(word).into_owned()).or_default() |= bit);
    };
    add(Language::English.bit(), ENGLISH);
    for line in include_str!("../../vocabularies/stop_words.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some((code, list)) = line.split_once(": ") {
            add(Language::of_code(code).map_or(OTHER_SCRIPT, Language::bit), list);
        }
    }
    words
});

const OTHER_SCRIPT: u32 = 1 << 31;

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::with_allowlist(ROWS.iter().map(|(_, _, lang, _)| *lang).collect()));

static STEMMERS: LazyLock<Vec<Stemmer>> =
    LazyLock::new(|| ROWS.iter().map(|(.., algorithm)| Stemmer::create(*algorithm)).collect());

/// Beginning of a text that its language is recognized from.
fn sample(text: &str) -> &str {
    text.get(..memory_core::text::floor_char_boundary(text, SAMPLE)).unwrap_or(text)
}

/// True if a text is in English, false if it is in another language or mostly in another script than Latin; `None` if
/// that is uncertain.
#[must_use]
pub fn is_english(text: &str) -> Option<bool> {
    let is_latin = |c: &char| *c < '\u{250}' || ('\u{1e00}'..'\u{1f00}').contains(c);
    let letters = sample(text).chars().filter(|c| c.is_alphabetic());
    let latin = letters.clone().filter(is_latin).count();
    if letters.count() > 2 * latin {
        return Some(false);
    }
    Language::of(text).map(|language| language == Language::English)
}

impl Language {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|(language, ..)| *language)
    }

    fn of_code(code: &str) -> Option<Self> {
        ROWS.iter().find(|(_, marker, ..)| marker.get(1..) == Some(code)).map(|(language, ..)| *language)
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Term of every message of the language, which no word of a text can be; English has none.
    pub(crate) fn marker(self) -> Option<&'static str> {
        let row = ROWS.get(self as usize).filter(|_| self != Self::English);
        row.map(|(_, marker, ..)| *marker)
    }

    /// Language of a text in Latin letters; `None` if it is uncertain.
    ///
    /// Trigrams and stop words must agree, because either alone takes names, code and short answers for a language.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let sample = sample(text);
        let letters = sample.chars().filter(|c| c.is_alphabetic()).count();
        let folded = fold(sample).to_lowercase();
        let (mut votes, mut words) = ([0.0f32; ROWS.len()], [0; ROWS.len()]);
        for word in folded.split(|c: char| !c.is_alphanumeric() && c != '\'') {
            let Some(of) = STOP_WORDS.get(word).map(|of| of & !OTHER_SCRIPT).filter(|of| *of != 0) else { continue };
            #[expect(clippy::cast_precision_loss, reason = "a number of languages")]
            let vote = 1.0 / of.count_ones() as f32;
            for (place, (votes, words)) in votes.iter_mut().zip(&mut words).enumerate() {
                if of & (1 << place) != 0 {
                    *votes += vote;
                    *words += 1;
                }
            }
        }
        let votes_of = |language: Self| votes.get(language as usize).copied().unwrap_or_default();
        let english = votes_of(Self::English);
        let by_trigrams = (letters >= FEWEST_LETTERS).then(|| DETECTOR.detect(sample)).flatten().and_then(|info| {
            let language = ROWS.iter().find(|(_, _, lang, _)| *lang == info.lang()).map(|(language, ..)| *language)?;
            Some((language, info.is_reliable()))
        });
        if let Some((language, is_reliable)) = by_trigrams {
            let votes = votes_of(language);
            let is_sure = if language == Self::English {
                votes > 0.0 || is_reliable
            } else {
                votes > english && (is_reliable || votes >= 1.0) || is_reliable && votes > 0.0 && english == 0.0
            };
            if is_sure {
                return Some(language);
            }
        }
        let mut order: Vec<Self> = Self::all().collect();
        order.sort_by(|a, b| votes_of(*b).total_cmp(&votes_of(*a)));
        let &[best, second, ..] = order.as_slice() else { return None };
        let is_sure = votes_of(best) >= 1.0 && votes_of(best) >= 2.0 * votes_of(second);
        (is_sure && words.get(best as usize) > Some(&1)).then_some(best)
    }

    /// Term of a word, given as it is written and in lower case: without what is joined to it by an apostrophe, its
    /// ending and accents.
    pub(super) fn term(self, written: &str, lower: &str) -> String {
        let stem = |word: &str| match STEMMERS.get(self as usize) {
            Some(stemmer) => stemmer.stem(word).into_owned(),
            None => word.to_owned(),
        };
        match self {
            Self::French | Self::Italian => {
                // "l'école", "dell'arte"
                let word = lower.split_once('\'').filter(|(article, rest)| article.len() <= 6 && !rest.is_empty());
                fold(&stem(word.map_or(lower, |(_, rest)| rest))).into_owned()
            }
            Self::Turkish => {
                // "İstanbul'daki"; the capital of ı is I, and that of i is İ.
                let lower = written.replace('I', "ı").replace('İ', "i").to_lowercase();
                let word = lower.split_once('\'').map_or(&*lower, |(name, _)| name);
                fold(&stem(word)).into_owned()
            }
            Self::German => {
                // "Goethestr."
                let street =
                    lower.strip_suffix("str").filter(|name| name.len() > 2).map(|name| format!("{name}strasse"));
                without_digraphs(&fold(&stem(street.as_deref().unwrap_or(lower))))
            }
            Self::Danish | Self::Norwegian | Self::Swedish => without_digraphs(&fold(&stem(lower))),
            _ => fold(&stem(lower)).into_owned(),
        }
    }
}

/// Writes `ae`, `oe` and `ue` as the letters that they stand for lose their accents: `Jördis` and `Joerdis` are one. A
/// `ue` after a vowel or `q` stands for none (`neue`, `bequem`).
fn without_digraphs(word: &str) -> String {
    let mut simple = String::with_capacity(word.len());
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_after = |not: &str| simple.chars().next_back().is_some_and(|before| not.contains(before));
        let is_umlaut = match letter {
            'a' | 'o' => letters.peek() == Some(&'e'),
            'u' => letters.peek() == Some(&'e') && !is_after("aeq"),
            _ => false,
        };
        simple.push(letter);
        if is_umlaut {
            letters.next();
        }
    }
    simple
}

/// True if a folded word is a stop word of one of the languages, or of a language with a script of its own.
pub(crate) fn is_stop_word(folded: &str, languages: Languages) -> bool {
    STOP_WORDS.get(folded).is_some_and(|of| of & (languages.bits | OTHER_SCRIPT) != 0)
}

/// A set of languages. That of a question has English: names, code and words of unknown languages are analyzed as English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Languages {
    bits: u32,
}

impl Default for Languages {
    fn default() -> Self {
        Self::ENGLISH
    }
}

impl Languages {
    pub(crate) const ENGLISH: Self = Self { bits: 1 };

    /// One language without English.
    pub(crate) fn only(language: Language) -> Self {
        Self { bits: language.bit() }
    }

    /// English, and the others.
    pub(crate) fn of(others: impl IntoIterator<Item = Language>) -> Self {
        others.into_iter().fold(Self::ENGLISH, Self::with)
    }

    /// The languages whose [markers](Language::marker) some node has.
    pub(crate) fn with_nodes(nodes_with: impl Fn(&str) -> u64) -> Self {
        Self::of(Language::all().filter(|language| language.marker().is_some_and(|marker| nodes_with(marker) > 0)))
    }

    pub(crate) fn with(self, language: Language) -> Self {
        Self { bits: self.bits | language.bit() }
    }

    pub(crate) fn has(self, language: Language) -> bool {
        self.bits & language.bit() != 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Language> {
        Language::all().filter(move |language| self.has(*language))
    }
}

/// Languages of the messages of a conversation so far, which a short message is taken to share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoken {
    messages: u64,
    by_language: [u64; ROWS.len()],
}

impl Spoken {
    /// The languages of `messages` messages, counted by their [markers](Language::marker).
    pub(crate) fn counted(messages: u64, nodes_with: impl Fn(&str) -> u64) -> Self {
        let mut by_language = [0; ROWS.len()];
        for (language, count) in Language::all().zip(&mut by_language) {
            *count = language.marker().map_or(0, &nodes_with);
        }
        Self { messages, by_language }
    }

    /// Language of the next message: its own if it is certain, else that of most messages before, else English.
    pub(crate) fn next(&mut self, text: &str) -> Language {
        let usual = Language::all().zip(self.by_language).find(|(_, count)| 2 * count > self.messages);
        let language = Language::of(text).or(usual.map(|(language, _)| language)).unwrap_or(Language::English);
        self.messages += 1;
        if let Some(count) = self.by_language.get_mut(language as usize).filter(|_| language != Language::English) {
            *count += 1;
        }
        language
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_languages() {
        for (place, (language, ..)) in ROWS.iter().enumerate() {
            assert_eq!(*language as usize, place, "{language:?}");
        }
    }

    #[test]
    fn sentences_tell_their_language() {
        for (text, language) in [
            ("Wir haben uns für die Wohnung in der Goethestraße entschieden.", Language::German),
            ("Am Samstag fahre ich mit dem Zug nach Hamburg.", Language::German),
            ("On a rendez-vous chez le dentiste mardi prochain à dix heures.", Language::French),
            ("La reunión con el cliente es el jueves por la tarde.", Language::Spanish),
            ("A reunião com o cliente ficou para quinta-feira.", Language::Portuguese),
            ("Domani vado dal dottore con mia madre.", Language::Italian),
            ("De vergadering is verplaatst naar donderdag omdat Jan ziek is.", Language::Dutch),
            ("Toplantı perşembe günü saat üçte, çok önemli bir konu var.", Language::Turkish),
            ("Mötet är flyttat till torsdag eftersom Anna är sjuk.", Language::Swedish),
            ("We decided to rent the hall on Main Street for 1,850 euros.", Language::English),
        ] {
            assert_eq!(Language::of(text), Some(language), "{text}");
        }
    }

    #[test]
    fn what_may_be_any_language_is_none() {
        for text in ["", "ok", "Berlin, Paris, Rom", "let x = foo(bar);", "src/main.rs:12", "1 2 3"] {
            assert_eq!(Language::of(text).filter(|of| *of != Language::English), None, "{text}");
        }
    }

    #[test]
    fn a_short_message_shares_the_language_of_the_conversation() {
        let mut spoken = Spoken::default();
        assert_eq!(spoken.next("Zahnarzt Montag"), Language::English);
        for _ in 0..2 {
            assert_eq!(spoken.next("Ich habe am Montag einen Termin beim Zahnarzt."), Language::German);
        }
        assert_eq!(spoken.next("Zahnarzt Montag"), Language::German);
        assert_eq!(spoken.next("What did the dentist say about it?"), Language::English);
    }
}
