//! Recognizes English, the only language in which a part of a sentence may be quoted.
//!
//! In other languages a truncated sentence can mean the opposite, because verb or negation come last, as in German,
//! Dutch, Turkish, Japanese or Korean.

use crate::{
    phrases::word_lists,
    words::{Form, Word, words},
};

word_lists! {
    /// English function words that do not exist in other languages with Latin letters.
    ENGLISH_KEYS = "the and with you it it's this that that's these those are have has had been being they them their \
        there from would could should what what's about which who whose where when why how your our my its \
        his she can can't not but because if then than some just like get got did does doesn't don't didn't \
        won't isn't aren't wasn't i'm i've i'd i'll you're you've you'll we're we've we'll let's too very \
        into over only more most each every any before after while until without between through still yes \
        need please were all also";
    /// Function words of other languages that do not exist in English.
    OTHER_KEYS = "der das dem den und nicht ist ein eine einen auf für mit von zu zum zur sich auch wir ich sie es \
        wenn aber oder kein keine bei nach nur noch schon wird werden haben sind dass weil als wie het een \
        van de en niet geen met voor zijn op te ik je wij dat maar ook naar wordt zal deze le la les des du \
        un une et est pas ne que qui pour dans sur avec nous vous je mais el los las del y no se una por \
        para con pero muy más como il lo gli di che non per sono della nel ma anche uno e o os um uma não \
        com mas dos das em ao ve bir bu için değil ile çok ama olarak och att det som är inte på av ett jag \
        vi og ikke nie się jest na do że są dla ja ei että on";
    /// English words that can limit or deny the words before them in a statement.
    LIMIT_KEYS = "not cannot can't don't doesn't didn't won't isn't aren't wasn't weren't wouldn't shouldn't couldn't \
        no none nobody nothing neither nor but however though although except unless until only if thought hardly \
        barely without supposedly allegedly take taken back";
    /// English words that take back the words before them, also in a question.
    TURN_KEYS = "never false untrue wrong veto vetoed rejected refused declined cancelled canceled withdrew withdrawn \
        took instead against";
}

/// Number of first words of a sentence in which these words cannot invert anything.
const BEGINNING: usize = 3;

/// Minimum English function words of an English text.
const FEWEST: u32 = 2;
/// Maximum words of an English text per function word.
const SPREAD: u32 = 12;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Language {
    words: u32,
    english: u32,
    others: u32,
}

impl Language {
    /// Counts of an English text.
    pub(crate) const ENGLISH: Self = Self { words: FEWEST, english: FEWEST, others: 0 };

    pub(crate) fn of(text: &str) -> Self {
        let mut language = Self::default();
        words(text).for_each(|word| language.add(&word));
        language
    }

    pub(crate) fn add(&mut self, word: &Word<'_>) {
        self.words += 1;
        let is_foreign = || !word.text.is_ascii() && word.text.chars().any(|c| c.is_alphabetic() && !c.is_ascii());
        if word.form == Form::Unspaced || OTHER_KEYS.contains(&word.key) {
            self.others += 1;
        } else if ENGLISH_KEYS.contains(&word.key) {
            self.english += 1;
        } else if is_foreign() {
            self.others += 1;
        }
    }

    /// The sum of both counts.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            words: self.words + other.words,
            english: self.english + other.english,
            others: self.others + other.others,
        }
    }

    /// True if the text is certainly English.
    pub(crate) fn is_english(self) -> bool {
        self.english >= FEWEST && self.english * SPREAD >= self.words && self.english > self.others
    }

    /// True if a part of a sentence with these counts may be quoted; `around` are the counts of its message.
    pub(crate) fn may_be_cut(self, around: Self) -> bool {
        self.is_english() || self.others < FEWEST && self.others <= self.english && around.is_english()
    }
}

/// End of the last word that may invert the meaning of an earlier part of an English sentence: "You may delete the
/// backups and the logs, only after the auditors have left." In a question "but" inverts nothing.
pub(crate) fn last_turn(sentence: &str, is_question: bool) -> Option<usize> {
    let turns = |key: &u64| TURN_KEYS.contains(key) || !is_question && LIMIT_KEYS.contains(key);
    let turns = words(sentence).skip(BEGINNING).filter(|word| turns(&word.key));
    turns.last().map(|word| word.at + word.text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_english_sentences_may_be_cut() {
        let english = "We decided to rent the hall on Main Street for 1,850 euros because Ben's quote was too high.";
        let around = Language::of(english);
        for text in
            [english, "Ingredients: 200 g flour, 3 eggs, a pinch of salt.", "Rome, Paris, Oslo and Madrid, then home."]
        {
            assert!(Language::of(text).may_be_cut(around), "{text}");
        }
        for text in [
            "Wir rollen die neue Version am Freitagabend auf gar keinen Fall in die Produktion aus.",
            "Ik ga de nieuwe versie vrijdagavond, ook als de klant het vraagt, echt niet uitrollen.",
            "Müşteri istese bile yeni sürümü cuma akşamı kesinlikle yayına almıyoruz.",
            "Nous ne déployons pas la nouvelle version vendredi soir.",
            "新しいバージョンは金曜日の夜に本番環境へ展開しません。",
            "고객이 원하더라도 금요일 저녁에는 새 버전을 배포하지 않습니다.",
            "即使客户要求，我们周五晚上也不会发布新版本。",
            "Мы не выкатываем новую версию в пятницу вечером.",
        ] {
            assert!(!Language::of(text).may_be_cut(Language::of(text)), "{text}");
            assert!(!Language::of(text).may_be_cut(around), "{text}");
        }
    }
}
