//! Labels of statements: "Decision: …", "One more preference for the next weeks: …", "My preferences:".

use std::sync::LazyLock;

use super::{Speaker, StandingKind, announcing};
use crate::{
    cues::has_negation,
    phrases::{Phrases, word_lists},
    words::{Form, Word, words},
};

/// Maximum words of a label before a statement.
const OF_SENTENCE: usize = 8;
/// Maximum words of a label before a list.
const OF_LIST: usize = 16;

/// Names of kinds, matched word by word; a plural s is ignored.
const NAMES: &[(StandingKind, &str)] = &[
    (StandingKind::Instruction, "house rule | rule | instruction"),
    (StandingKind::Preference, "preference | präferenz | préférence | preferencia"),
    (
        StandingKind::Decision,
        "decision | decided | we agreed | moved | changed | corrected | correction | entscheidung | décision | decisión",
    ),
    (StandingKind::Open, "open question | open point | open issue | action item | todo | offen | offene frage"),
];

word_lists! {
    /// Words that may follow a name in a label: "Preferences of mine:", "Decision on the queue:".
    ABOUT = "for of on about from in so to today this we i";
    /// Words of a label that settles nothing: "Decision proposed:", "Your preferences:".
    UNSETTLED = "proposed proposal possible pending suggested suggestion draft option alternative your example sample \
        if explain what which how why would should could";
}

static NAME_PHRASES: LazyLock<Phrases<StandingKind>> = LazyLock::new(|| Phrases::listed(NAMES));

/// A label at the beginning of a sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) kind: StandingKind,
    /// Offset after its colon.
    pub(super) end: usize,
    /// True if the label introduces a list.
    pub(super) is_of_list: bool,
    /// True if the label is only a name, perhaps with a number: "Decision 2:".
    is_bare: bool,
}

impl Label {
    /// True if a statement with this label counts when this speaker makes it.
    pub(super) fn may_be_of(self, speaker: Speaker) -> bool {
        match speaker {
            Speaker::User => true,
            Speaker::Person => self.kind != StandingKind::Instruction,
            Speaker::Model => self.kind == StandingKind::Decision && self.is_bare,
        }
    }
}

/// The label at the beginning of `sentence`.
pub(super) fn labelled(sentence: &str) -> Option<Label> {
    let colon = sentence.find(':')?;
    let end = colon + 1;
    let (head, behind) = (sentence.get(..colon)?, sentence.get(end..)?);
    let matter = behind.trim_matches(['*', '_', ' ', '\t']);
    let is_of_list = matter.is_empty();
    // "10:30", "std::fmt" and "http://" are not labels.
    if !is_of_list && !behind.starts_with([' ', '\t', '*', '_']) {
        return None;
    }
    let all: Vec<Word<'_>> = words(head).collect();
    let most = if is_of_list { OF_LIST } else { OF_SENTENCE };
    if all.is_empty() || all.len() > most || !is_of_list && head.contains([',', ';', '(']) {
        return None;
    }
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    if keys.iter().any(|key| UNSETTLED.contains(key)) || !is_of_list && has_negation(&keys) {
        return None;
    }
    let named = (0..keys.len()).find_map(|at| {
        let (length, kind) = NAME_PHRASES.at(keys.get(at..)?).max_by_key(|(length, _)| *length)?;
        let rest = all.get(at + length..)?;
        let goes_on = |next: &Word<'_>| next.form == Form::Figure || ABOUT.contains(&next.key);
        let is_name = rest.first().is_none_or(goes_on);
        let is_bare = at == 0 && rest.iter().all(|word| word.form == Form::Figure);
        is_name.then_some((*kind, is_bare))
    });
    // A list of rules may be those of a game. Instructions have an announcing phrase as the label: "Please always:".
    let named = named.filter(|(kind, is_bare)| *kind != StandingKind::Instruction || *is_bare && !is_of_list);
    let asked = || announcing::announced(head, &all, &keys).filter(|_| is_of_list).map(|found| (found.kind, false));
    let (kind, is_bare) = named.or_else(asked)?;
    Some(Label { kind, end, is_of_list, is_bare })
}
