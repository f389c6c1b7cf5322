//! Questions for all statements of a kind: "What did we decide?", "What is still open?"

use super::StandingKind;
use crate::{
    phrases::{phrase_lists, word_lists},
    words::keys,
};

word_lists! {
    /// Words of a question for decisions.
    DECISIONS = "decide decided decision decisions agree agreed agreement settle settled entschieden beschlossen entscheidung \
        entscheidungen décidé décisions decidido decisiones";
}

phrase_lists! {
    /// Phrases of a question for what is open.
    OPEN = "still open | open question | open questions | open point | open points | left to decide | undecided | not decided | \
        noch offen | offene fragen | offene punkte";
    /// Phrases of a question for what somebody likes.
    PREFERENCES = "my preference | my preferences | our preferences | do i prefer | do we prefer | do i like | do i dislike | \
        meine vorlieben | mag ich";
    /// Phrases of a question for all that is known of somebody.
    ABOUT = "know about me | know of me | remember about me | about myself | weißt du über mich";
}

/// The kinds of statements that a question asks for as such, whatever their words.
#[must_use]
pub fn kinds_asked(question: &str) -> Vec<StandingKind> {
    let keys = keys(question);
    let mut kinds = Vec::new();
    if OPEN.are_in(&keys) {
        kinds.push(StandingKind::Open);
    } else if keys.iter().any(|word| DECISIONS.contains(word)) {
        kinds.push(StandingKind::Decision);
    }
    if PREFERENCES.are_in(&keys) || ABOUT.are_in(&keys) {
        kinds.push(StandingKind::Preference);
    }
    if ABOUT.are_in(&keys) {
        kinds.push(StandingKind::Fact);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use StandingKind::{Decision, Fact, Open, Preference};

    #[test]
    fn a_question_may_ask_for_all_of_a_kind() {
        for (question, kinds) in [
            ("Summarize what we decided.", &[Decision][..]),
            ("What have we agreed on about the hall?", &[Decision]),
            ("Was wurde beschlossen?", &[Decision]),
            ("What is still open, what is not decided?", &[Open]),
            ("What do you know about me?", &[Preference, Fact]),
            ("Which of my preferences matter here?", &[Preference]),
            ("When does the train leave?", &[]),
        ] {
            assert_eq!(kinds_asked(question), kinds, "{question}");
        }
    }
}
