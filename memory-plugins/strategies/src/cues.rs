//! Cue phrases that mark a sentence as a decision, a promise, an error, small talk and so on.

use std::sync::LazyLock;

use crate::{
    phrases::{Phrases, word_keys},
    words::KeySet,
};

/// A set of cues in a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cues(u16);

impl Cues {
    /// Something was decided or agreed.
    pub(crate) const DECISION: Self = Self(1);
    /// A speaker will do something, or it is due.
    pub(crate) const COMMITMENT: Self = Self(1 << 1);
    /// A speaker likes, wants or never does something.
    pub(crate) const PREFERENCE: Self = Self(1 << 2);
    /// Something fails.
    pub(crate) const PROBLEM: Self = Self(1 << 3);
    /// Something was repaired or explained.
    pub(crate) const FIX: Self = Self(1 << 4);
    /// The speaker asks to remember something.
    pub(crate) const EMPHASIS: Self = Self(1 << 5);
    /// Greetings, thanks, offers of help.
    pub(crate) const SMALL_TALK: Self = Self(1 << 6);
    pub(crate) const QUESTION: Self = Self(1 << 7);
    /// A personal fact: name, age, place, work.
    pub(crate) const PERSONAL: Self = Self(1 << 8);

    /// A rule for the future.
    pub(crate) const INSTRUCTION: Self = Self(1 << 9);

    /// True if the set contains all of `other`.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Phrases separated by `|`. They are matched word by word: case, a plural s and punctuation are ignored.
const PHRASES: &[(Cues, &str)] = &[
    (
        Cues::DECISION,
        "decided | decide on | decision | let's go with | go with | going with | went with | agreed | \
         we agree | settled on | settle on | we chose | i chose | chosen | opted | opt for | approved | \
         finalized | finalised | we'll use | we will use | i'll use | let's use | switch to | switched to | \
         we'll go | picked | signed off | resolved to | made up my mind | beschlossen | entschieden | \
         vereinbart | entscheidung | décidé | décision | decidido | decidimos | decisión | deciso | 决定 | \
         決定 | 決め | решили | решение",
    ),
    (
        Cues::COMMITMENT,
        "we will | i will | i'll | we'll | going to | plan to | planning to | promise | promised | \
         committed to | deadline | due | by monday | by tuesday | by wednesday | by thursday | by friday | \
         by tomorrow | todo | to do | action item | next step | need to | must | have to | scheduled | \
         appointment | deliver | werden wir | ich werde | muss | nous allons | je vais | vamos a | voy a | \
         必须 | 予定 | 約束",
    ),
    (
        Cues::PREFERENCE,
        "prefer | preferred | preference | favorite | favourite | i like | i love | i hate | i dislike | \
         i don't like | i want | i'd like | i'd rather | rather than | never use | always use | \
         please always | please never | please don't | allergic | can't stand | i enjoy | my style | \
         bevorzuge | lieber | préfère | prefiero | 喜欢 | 好き",
    ),
    (
        Cues::PROBLEM,
        "error | exception | failed | fails | failing | failure | bug | crash | crashed | crashing | panic | \
         panicked | broken | doesn't work | does not work | not working | issue | problem | traceback | \
         timeout | timed out | segfault | undefined | cannot | unable to | wrong | regression | leak | \
         outage | fehler | erreur | fallo | ошибка | 错误 | エラ",
    ),
    (
        Cues::FIX,
        "fixed | fix | fixing | solved | solution | resolved | workaround | root cause | the cause | \
         because of | caused by | turned out | turns out | works now | repaired | patched | reverted | \
         the trick | gelöst | behoben | résolu | 解决 | 解決",
    ),
    (
        Cues::EMPHASIS,
        "important | importantly | remember | don't forget | keep in mind | critical | crucial | essential | \
         note that | for the record | in summary | to summarize | key point | takeaway | make sure | \
         warning | wichtig | merke | 重要",
    ),
    (
        Cues::INSTRUCTION,
        "always | from now on | in future | in the future please | whenever i | when i ask | if i ask | please use | please keep | \
         please make | please answer | please write | please don't | please do not | never use | do not use | don't use | \
         stop using | be sure to | make sure to | remember to | remember that | answer in | reply in | respond in | ab jetzt | immer",
    ),
    (
        Cues::SMALL_TALK,
        "thanks | thank you | you're welcome | hello | hi | hey | good morning | great question | \
         good question | sure | of course | certainly | absolutely | happy to help | glad to | let me know | \
         feel free | hope this helps | hope that helps | no problem | sounds good | bye | goodbye | \
         see you | take care | have a great | have a nice | i'd be happy | here's a | here is a | \
         here are some | wow | cool | cheers | congrats | congratulations | awesome | amazing | \
         talk to you | danke | hallo | merci | gracias | 谢谢 | ありがとう",
    ),
    (
        Cues::PERSONAL,
        "my name | i am | i'm | i live | i moved | i work | my wife | my husband | my partner | my son | \
         my daughter | my mother | my father | my birthday | i was born | i bought | i got | i started | \
         my job | my address | my phone | years old | ich heiße | je m'appelle | me llamo",
    ),
];

/// Words that negate a decision that follows closely.
const NEGATIONS: &str = "not never no cannot nobody nothing nowhere neither nor none hardly barely without undecided ain't \
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't \
    shouldn't wasn't weren't won't wouldn't nicht kein keine keinen nie niemals ohne pas jamais sans \
    nunca nada sin не нет никогда";

/// Number of words that a negation affects.
const REACH: usize = 3;

static CUE_PHRASES: LazyLock<Phrases<Cues>> =
    LazyLock::new(|| Phrases::new(PHRASES.iter().flat_map(|(cue, list)| list.split('|').map(|phrase| (phrase, *cue)))));
static NEGATION_KEYS: LazyLock<KeySet> = LazyLock::new(|| word_keys(NEGATIONS));

/// The cues of the sentence `text`, whose words have `keys`.
pub(crate) fn cues(text: &str, keys: &[u64]) -> Cues {
    let mut found = Cues::default();
    for at in 0..keys.len() {
        for (_, cue) in CUE_PHRASES.at(keys.get(at..).unwrap_or_default()) {
            if !(*cue == Cues::DECISION && negated(keys, at)) {
                found = found.with(*cue);
            }
        }
    }
    if text.trim_end().ends_with(['?', '？', '؟']) {
        found = found.without(Cues::DECISION).without(Cues::COMMITMENT).with(Cues::QUESTION);
    }
    found
}

/// True if a negation closely precedes the word at `at`.
pub(crate) fn negated(keys: &[u64], at: usize) -> bool {
    has_negation(keys.get(at.saturating_sub(REACH)..at).unwrap_or_default())
}

/// True if one of these words is a negation.
pub(crate) fn has_negation(keys: &[u64]) -> bool {
    keys.iter().any(|key| NEGATION_KEYS.contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    fn of(text: &str) -> Cues {
        cues(text, &words(text).map(|word| word.key).collect::<Vec<_>>())
    }

    #[test]
    fn each_cue_is_heard() {
        assert!(of("OK, let's go with Postgres.").has(Cues::DECISION));
        assert!(of("Wir haben das gestern beschlossen.").has(Cues::DECISION));
        assert!(of("来週の金曜日に決定しました。").has(Cues::DECISION));
        assert!(of("I'll send it tomorrow").has(Cues::COMMITMENT));
        assert!(of("I prefer tabs").has(Cues::PREFERENCE));
        assert!(of("It FAILED with a traceback").has(Cues::PROBLEM));
        assert!(of("The root cause was the cache").has(Cues::FIX));
        assert!(of("Please remember this").has(Cues::EMPHASIS));
        assert!(of("Thank you!").has(Cues::SMALL_TALK));
        assert!(of("My name is Ada").has(Cues::PERSONAL));
        assert_eq!(of("The sky over the harbour"), Cues::default());
    }

    #[test]
    fn questions_and_negations_decide_nothing() {
        assert!(!of("Should we go with Postgres?").has(Cues::DECISION));
        assert!(of("Should we go with Postgres?").has(Cues::QUESTION));
        assert!(!of("We have not yet decided.").has(Cues::DECISION));
        assert!(of("Not bad at all, and so in the end we decided.").has(Cues::DECISION));
    }
}
