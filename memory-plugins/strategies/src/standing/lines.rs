//! The standing lines of a conversation: a set that grows, of which the newest of contradicting ones holds.

use std::collections::{BTreeSet, HashSet};

use memory_core::NodeId;

use super::{Said, Standing, StandingKind};
use crate::words::{Form, key, words};

/// Lines back to which a new one is compared.
const COMPARED: usize = 2_000;
/// Lines of one frame with other values: "answer in English", "answer in German".
const FRAME: usize = 3;
/// Nodes by which the weight of a decision is halved.
const HALF_LIFE: f64 = 400.0;

/// A standing part of a message, as part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLine {
    /// The message.
    pub node: NodeId,
    /// What stands there.
    pub standing: Standing,
    speaker: u64,
    /// A newer one has taken its place.
    is_over: bool,
}

impl StandingLine {
    /// Whether it bears on more than the one who says it.
    fn binds_others(&self) -> bool {
        !matches!(self.standing.kind, StandingKind::Preference | StandingKind::Promise)
    }
}

/// The standing lines of a conversation.
///
/// Of two lines of one speaker that contradict each other the newer holds: where it says that something changed, turns a
/// "never" into an "always", gives another value to the same, or says the same again. Whether they do is told by the words
/// they share, so a contradiction in other words is not seen, and both stand with their dates.
#[derive(Clone, Debug, Default)]
pub struct StandingLines {
    lines: Vec<StandingLine>,
    /// Who speaks.
    voices: BTreeSet<u64>,
}

impl StandingLines {
    /// Adds what a message says, also where that is nothing; messages come in any order.
    pub fn add(&mut self, said: &Said<'_>, found: Vec<Standing>) {
        let speaker = key(said.speaker);
        self.voices.insert(speaker);
        for standing in found {
            let mut line = StandingLine { node: said.node, standing, speaker, is_over: false };
            let place = self.lines.partition_point(|other| other.node <= line.node);
            for other in self.lines.iter_mut().take(place).rev().take(COMPARED) {
                other.is_over |= replaces(&line, other);
            }
            line.is_over = self.lines.iter().skip(place).any(|newer| replaces(newer, &line));
            self.lines.insert(place, line);
        }
    }

    /// Whether [`Self::add`] would change anything for this speaker and what was found.
    #[must_use]
    pub fn learns(&self, said: &Said<'_>, found: &[Standing]) -> bool {
        !found.is_empty() || !self.voices.contains(&key(said.speaker))
    }

    /// How many lines there are, those included that do not hold any more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines that hold, those that matter most first: by what they do, how much they share with the question, and, but
    /// for instructions and preferences, how new they are. Where several people speak, what one of them
    /// likes or promises is there only where it shares a word with the question.
    #[must_use]
    pub fn by_worth(&self, question: &str) -> Vec<&StandingLine> {
        let asked: HashSet<u64> =
            words(question).filter(|word| word.form != Form::Unspaced).map(|word| word.key).collect();
        let last = self.lines.last().map_or(0, |line| line.node.get());
        let are_people = self.voices.len() > 1;
        let bears = |line: &&StandingLine| !are_people || line.binds_others() || shared(line, &asked) > 0;
        let holding = self.lines.iter().filter(|line| !line.is_over).filter(bears);
        let mut rated: Vec<_> = holding.map(|line| (worth(line, &asked, last), line)).collect();
        rated.sort_by(|(a_worth, a), (b_worth, b)| {
            let order = b_worth.total_cmp(a_worth).then(b.node.cmp(&a.node));
            order.then(a.standing.at.cmp(&b.standing.at))
        });
        rated.into_iter().map(|(_, line)| line).collect()
    }
}

/// Words that a line shares with a question.
fn shared(line: &StandingLine, asked: &HashSet<u64>) -> usize {
    line.standing.terms.iter().filter(|term| asked.contains(term)).count()
}

fn worth(line: &StandingLine, asked: &HashSet<u64>, last: u64) -> f64 {
    let (of_kind, ages) = match line.standing.kind {
        StandingKind::Instruction => (4.0, false),
        StandingKind::Preference => (2.0, false),
        StandingKind::Decision => (2.4, true),
        StandingKind::Open => (2.2, true),
        StandingKind::Promise => (1.2, true),
    };
    #[expect(clippy::cast_precision_loss, reason = "an age in nodes is far below 2^52")]
    let age = last.saturating_sub(line.node.get()) as f64;
    let fresh = if ages { 0.3 + 0.7 * (-age / HALF_LIFE).exp2() } else { 1.0 };
    let of_question = match shared(line, asked) {
        0 => 1.0,
        1 => 1.8,
        _ => 2.6,
    };
    of_kind * fresh * of_question
}

/// Whether what `newer` says takes the place of what `older` does.
fn replaces(newer: &StandingLine, older: &StandingLine) -> bool {
    if newer.speaker != older.speaker || older.is_over {
        return false;
    }
    let (new, old) = (&newer.standing, &older.standing);
    let wishes = |standing: &Standing| matches!(standing.kind, StandingKind::Instruction | StandingKind::Preference);
    let is_settled =
        old.kind == StandingKind::Open && matches!(new.kind, StandingKind::Decision | StandingKind::Promise);
    let alike = wishes(new) == wishes(old);
    if !alike && !new.changes && !is_settled {
        return false;
    }
    let shared = new.terms.iter().filter(|term| old.terms.contains(term)).count();
    let fewest = new.terms.len().min(old.terms.len()).max(1);
    let most = new.terms.len().max(old.terms.len()).max(1);
    let at_least = |part: usize, of: usize| shared * part >= of;
    if shared == 0 {
        return false;
    }
    let says_again = at_least(4, 3 * most);
    let turns = new.negates != old.negates && at_least(2, fewest);
    let changed = (new.changes || is_settled) && at_least(2, fewest);
    // One value for another where all the rest is the same.
    let is_frame = new.kind == old.kind && new.terms.len() == old.terms.len() && most <= FRAME && shared + 1 == most;
    says_again || turns || changed || is_frame
}
