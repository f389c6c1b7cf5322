//! Word classes for splitting sentences into clauses and phrases.

use std::sync::LazyLock;

use crate::{
    cues::NEGATIONS,
    phrases::spellings,
    words::{KeyMap, key},
};

/// A set of grammatical roles of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(u32);

impl Class {
    /// Joins clauses after a comma: "and", "which".
    pub(super) const CONNECTIVE: Self = Self(1);
    /// May be the subject at the beginning of a clause.
    pub(super) const SUBJECT: Self = Self(1 << 1);
    /// Opens a clause without a comma: "because", "but".
    pub(super) const OPENER: Self = Self(1 << 2);
    /// Opens a phrase: a preposition, "and", "which".
    pub(super) const PHRASE: Self = Self(1 << 3);
    /// Negates the words after it.
    pub(super) const NEGATION: Self = Self(1 << 4);
    /// Opens a condition.
    pub(super) const CONDITION: Self = Self(1 << 5);
    /// Needs a complement: "think", "know", "asked".
    pub(super) const ATTITUDE: Self = Self(1 << 6);
    /// Does not end a phrase: articles, prepositions, auxiliaries.
    pub(super) const LEADS_ON: Self = Self(1 << 7);
    /// May be dropped at the beginning of a sentence.
    pub(super) const FILLER: Self = Self(1 << 8);
    /// May be dropped at the beginning of a sentence if a comma follows.
    pub(super) const FILLER_WITH_COMMA: Self = Self(1 << 9);
    /// "and", "so": joins a clause if a subject follows.
    pub(super) const JOINS_SUBJECT: Self = Self(1 << 10);
    /// Names a day, a month, a season.
    pub(super) const DATE: Self = Self(1 << 11);
    /// "to", which opens a phrase only before certain words.
    pub(super) const TO: Self = Self(1 << 12);
    /// A determiner: "the", "my".
    pub(super) const DETERMINER: Self = Self(1 << 13);
    /// A month or a name, if it has a capital: "May".
    pub(super) const MONTH_BY_CAPITAL: Self = Self(1 << 14);

    pub(super) const GREETING: Self = Self(1 << 15);
    /// Opens a clause that may take back the one before it: "but".
    pub(super) const CONTRAST: Self = Self(1 << 16);
    /// Takes something back: "against", "cancelled".
    pub(super) const REVERSAL: Self = Self(1 << 17);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

const WORDS: &[(Class, &str)] = &[
    (
        Class::CONNECTIVE,
        "and but or so because since although though while whereas which who whose where when as then until if unless \
         plus",
    ),
    (
        Class::SUBJECT,
        "i you he she it we they there that this these those my our his her their the your let's i'm i've i'd i'll \
         you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll they're \
         they've they'd they'll there's that's",
    ),
    (Class::OPENER, "because although though whereas but since while"),
    (
        Class::PHRASE,
        "in on at by for from with about into during after before through like via under over between using given and \
         or which who where when",
    ),
    (Class::TO, "to"),
    (Class::CONDITION, "if unless until whether provided suppose otherwise"),
    (
        Class::ATTITUDE,
        "think thought believe believed said say told tell know knew known hope wish doubt guess sure mean want wanted \
         wonder wondering ask asked asking supposed decided decide agreed prefer preferred need needed like love hate \
         enjoy plan planning planned promise promised hoping trying try tried going able allergic afraid used start \
         started stop stopped keep avoid remember forget suggest suggested recommend recommended looking interested \
         worried excited see show explain help make sure based depends depend rather such due according ready time happy chance way willing how able having",
    ),
    (
        Class::LEADS_ON,
        "a an the my our his her their your its this these those some any each every another of to in on at by for from \
         with about into and or but if which who than very i'm i've i'd i'll you're we're they're it's he's she's we've \
         we'll you've let's no not between per via",
    ),
    (Class::DETERMINER, "the a an my our his her their your its this that these those each every some any"),
    (
        Class::FILLER,
        "and but so also well oh um uh hmm mm yeah yep yes okay ok hey hi wow haha lol actually basically anyway",
    ),
    (
        Class::FILLER_WITH_COMMA,
        "right sure absolutely definitely thanks congrats great nice cool awesome certainly exactly totally honestly \
         overall additionally furthermore moreover finally hello then now however",
    ),
    (Class::GREETING, "hey hi hello thanks thank cheers congrats bye dear yo wow sure yep yeah"),
    (Class::JOINS_SUBJECT, "and so"),
    (Class::CONTRAST, "but however though yet then"),
    (
        Class::REVERSAL,
        "against instead cancelled canceled dropped abandoned rejected scrapped reverted declined refused postponed \
         changed dismissed gave discarded",
    ),
    (
        Class::DATE,
        "monday tuesday wednesday thursday friday saturday sunday january february march april june july august \
         september october november december yesterday today tomorrow tonight spring summer autumn winter weekend",
    ),
    (Class::MONTH_BY_CAPITAL, "may march august"),
];

static CLASSES: LazyLock<KeyMap<Class>> = LazyLock::new(|| {
    let mut classes: KeyMap<Class> = KeyMap::default();
    let mut add = |word: &str, class: Class| {
        for spelled in spellings(word) {
            let known = classes.entry(key(&spelled)).or_default();
            *known = Class(known.0 | class.0);
        }
    };
    for (class, list) in WORDS {
        list.split_whitespace().for_each(|word| add(word, *class));
    }
    NEGATIONS.split_whitespace().for_each(|word| add(word, Class::NEGATION));
    classes
});

/// The roles of the word with `key`.
pub(super) fn class(key: u64) -> Class {
    CLASSES.get(&key).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negations_are_known_with_either_apostrophe() {
        for word in ["can't", "doesn’t", "won't", "WON'T", "never", "nicht", "hardly"] {
            assert!(class(key(word)).is(Class::NEGATION), "{word}");
        }
        assert!(!class(key("know")).is(Class::NEGATION));
    }
}
