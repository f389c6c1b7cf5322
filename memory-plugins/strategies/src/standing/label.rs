//! Labels of statements: "Decision: …", "One more preference for the next weeks: …", "My preferences:".

use std::sync::LazyLock;

use super::{Speaker, StandingKind, announcing, rules, sentence::Sentence};
use crate::{
    cues::has_negation,
    phrases::{Phrases, word_lists},
    words::{Form, Word},
};

/// Maximum words of a label before a statement.
const OF_SENTENCE: usize = 8;
/// Maximum words before a label: "Also,".
const LEAD: usize = 2;
/// Maximum words of a label before a list.
const OF_LIST: usize = 16;

/// Names of kinds, matched word by word; a plural s is ignored. True for names of a change.
const NAMES: &[((StandingKind, bool), &str)] = &[
    ((StandingKind::Instruction, false), "house rule | rule | instruction | important | wichtig"),
    ((StandingKind::Preference, false), "preference | präferenz | préférence | preferencia"),
    (
        (StandingKind::Decision, false),
        "decision | final decision | decided | agreed | we agreed | we decided | entscheidung | décision | decisión",
    ),
    (
        (StandingKind::Decision, true),
        "moved | changed | corrected | correction | change of plan | change of plans | new plan | geändert | verschoben | korrektur",
    ),
    (
        (StandingKind::Open, false),
        "open question | open point | open issue | open thing | open item | still open | undecided | to be decided | \
         to be clarified | tbd | action item | todo | \
         noch offen | offene frage | offener punkt",
    ),
];

word_lists! {
    /// Words that may follow a name in a label: "Preferences of mine:", "Decision on the queue:".
    ABOUT = "for of on about from in so to today this we i";
    /// Names of a label that makes a rule only of what binds, and words that bind: "Important: drill after six only."
    STRESSES = "important wichtig";
    BINDS = "must mustn't never always only not don't muss müssen darf dürfen nie niemals immer nur";
    /// Words of a label that settles nothing: "Decision proposed:", "Your preferences:".
    UNSETTLED = "proposed proposal possible pending suggested suggestion draft option alternative your example sample \
        if explain what which how why would should could";
}

static NAME_PHRASES: LazyLock<Phrases<(StandingKind, bool)>> = LazyLock::new(|| Phrases::listed(NAMES));

/// A label at the beginning of a sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) kind: StandingKind,
    /// Offset after its colon.
    pub(super) end: usize,
    /// True if the label introduces a list.
    pub(super) is_of_list: bool,
    /// True for the label of a change: "Moved:", as also logs and lists of changes have it.
    pub(super) is_change: bool,
    /// True if the label is only a name, perhaps with a number: "Decision 2:".
    is_bare: bool,
}

impl Label {
    /// True if a statement with this label counts when this speaker makes it.
    pub(super) fn may_be_of(self, speaker: Speaker) -> bool {
        match speaker {
            Speaker::User => true,
            Speaker::Person => self.kind != StandingKind::Instruction,
            Speaker::Model => self.kind == StandingKind::Decision && self.is_bare && !self.is_change,
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
    // "Also, decision: we deploy with Fly"
    let is_lead = |before: &str| before.split_whitespace().count() <= LEAD;
    let head = head.rsplit_once(", ").filter(|(before, _)| is_lead(before)).map_or(head, |(_, label)| label);
    let head_sentence = Sentence::of(head);
    let Sentence { words: all, keys, .. } = &head_sentence;
    let most = if is_of_list { OF_LIST } else { OF_SENTENCE };
    if all.is_empty() || all.len() > most || !is_of_list && head.contains([',', ';', '(']) {
        return None;
    }
    if keys.iter().any(|key| UNSETTLED.contains(key)) || !is_of_list && has_negation(keys) {
        return None;
    }
    let named = (0..keys.len()).find_map(|at| {
        let (length, (kind, is_change)) = NAME_PHRASES.at(keys.get(at..)?).max_by_key(|(length, _)| *length)?;
        let rest = all.get(at + length..)?;
        let goes_on = |next: &Word<'_>| next.form == Form::Figure || ABOUT.contains(&next.key);
        let is_name = rest.first().is_none_or(goes_on);
        let is_bare = at == 0 && rest.iter().all(|word| word.form == Form::Figure);
        is_name.then_some((*kind, *is_change, is_bare))
    });
    // A list of rules may be those of a game. Instructions have an announcing phrase as the label: "Please always:".
    let is_of_game = |kind: StandingKind, is_bare: bool| kind == StandingKind::Instruction && (is_of_list || !is_bare);
    // A longer label only reports a change: "The times of the train have changed: …"
    let is_told = |is_change: bool, is_bare: bool| is_change && (is_of_list || !is_bare);
    let named =
        named.filter(|(kind, is_change, is_bare)| !is_of_game(*kind, *is_bare) && !is_told(*is_change, *is_bare));
    let announced = || announcing::announced(&head_sentence).map(|found| found.kind);
    let of_list = || if rules::opens_list(&head_sentence) { Some(StandingKind::Instruction) } else { announced() };
    let is_stressed = keys.iter().any(|key| STRESSES.contains(key));
    let binds = || crate::words::words(behind).any(|word| BINDS.contains(&word.key));
    let named = named.filter(|_| !is_stressed || !is_of_list && binds());
    let asked = || if is_of_list { of_list().map(|kind| (kind, false, false)) } else { None };
    // "Some preferences of mine, so that I don't have to repeat them:"
    let of_rules =
        (is_of_list && rules::opens_list(&head_sentence)).then_some((StandingKind::Instruction, false, false));
    let (kind, is_change, is_bare) = of_rules.or(named).or_else(asked)?;
    Some(Label { kind, end, is_of_list, is_change, is_bare })
}
