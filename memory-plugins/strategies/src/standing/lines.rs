//! The standing lines of a conversation; of contradicting lines the newest is valid.

use std::collections::{BTreeSet, HashSet};

use memory_core::NodeId;

use super::{Said, Speaker, Standing, StandingKind};
use crate::words::{Form, key, words};

/// How many earlier lines a new one is compared with.
const COMPARED: usize = 2_000;
/// Maximum words of lines that may differ in one value: "answer in English", "answer in German".
const FRAME: usize = 3;
/// Nodes after which the weight of a decision is halved.
const HALF_LIFE: f64 = 400.0;

/// A standing part of a message, as part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLine {
    /// The message.
    pub node: NodeId,
    /// The statement.
    pub standing: Standing,
    speaker: u64,
    is_of_model: bool,
    /// Whether a newer line has replaced it.
    is_over: bool,
}

impl StandingLine {
    /// Whether it concerns others than its speaker.
    fn binds_others(&self) -> bool {
        !matches!(self.standing.kind, StandingKind::Preference | StandingKind::Promise)
    }
}

/// The standing lines of a conversation.
///
/// Of two contradicting lines of one speaker the newer is valid: if it states a change, negates the older one or the
/// reverse, has another value in the same words, or repeats it. Contradictions are detected by shared words, so that
/// one in other words is not detected, and both lines stay, with their dates.
#[derive(Clone, Debug, Default)]
pub struct StandingLines {
    lines: Vec<StandingLine>,
    /// The speakers that are no models.
    people: BTreeSet<u64>,
    has_model: bool,
    /// Whether somebody answers in the model's place, if under a name of its own.
    is_answered: bool,
}

impl StandingLines {
    /// Adds the statements of a message, which may be none; messages may come in any order.
    pub fn add(&mut self, said: &Said<'_>, found: Vec<Standing>) {
        let speaker = key(said.name);
        let is_of_model = said.speaker == Speaker::Model;
        self.is_answered |= said.speaker != Speaker::User;
        if is_of_model {
            self.has_model = true;
        } else {
            self.people.insert(speaker);
        }
        for standing in found {
            let mut line = StandingLine { node: said.node, standing, speaker, is_of_model, is_over: false };
            let place = self.lines.partition_point(|other| other.node <= line.node);
            for other in self.lines.iter_mut().take(place).rev().take(COMPARED) {
                other.is_over |= replaces(&line, other);
            }
            line.is_over = self.lines.iter().skip(place).any(|newer| replaces(newer, &line));
            self.lines.insert(place, line);
        }
    }

    /// Whether [`Self::add`] would change the set.
    #[must_use]
    pub fn learns(&self, said: &Said<'_>, found: &[Standing]) -> bool {
        !found.is_empty()
            || match said.speaker {
                Speaker::Model => !self.has_model,
                Speaker::Person if !self.is_answered => true,
                _ => !self.people.contains(&key(said.name)),
            }
    }

    /// The number of lines, including replaced ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The valid lines that bear on the answer to a question, in the order of [`Self::by_worth`]. Everything does that
    /// shares a word with the question. Of the rest: what the user of a model says; where several people use one, what binds
    /// others than its speaker; instructions to the one who answers; not what a model labelled as a decision, and nothing else
    /// where people speak with each other.
    #[must_use]
    pub fn bearing_on(&self, question: &str) -> Vec<&StandingLine> {
        let asked = asked(question);
        let is_alone = self.people.len() <= 1;
        let is_of_all = |line: &StandingLine| {
            let is_told = self.is_answered && line.standing.kind == StandingKind::Instruction;
            !line.is_of_model && (is_alone || is_told || self.has_model && line.binds_others())
        };
        let mut lines = self.rated(&asked);
        lines.retain(|line| is_of_all(line) || shared(line, &asked) > 0);
        lines
    }

    /// The valid lines, most important first: by kind, words shared with a text, and, except for instructions and
    /// preferences, age.
    #[must_use]
    pub fn by_worth(&self, text: &str) -> Vec<&StandingLine> {
        self.rated(&asked(text))
    }

    fn rated(&self, asked: &HashSet<u64>) -> Vec<&StandingLine> {
        let last = self.lines.last().map_or(0, |line| line.node.get());
        let is_shown = |line: &&StandingLine| !line.is_over && line.standing.kind != StandingKind::Revocation;
        let mut rated: Vec<_> =
            self.lines.iter().filter(is_shown).map(|line| (worth(line, asked, last), line)).collect();
        rated.sort_by(|(a_worth, a), (b_worth, b)| {
            let order = b_worth.total_cmp(a_worth).then(b.node.cmp(&a.node));
            order.then(a.standing.at.cmp(&b.standing.at))
        });
        rated.into_iter().map(|(_, line)| line).collect()
    }
}

/// The words of a question.
fn asked(question: &str) -> HashSet<u64> {
    words(question).filter(|word| word.form != Form::Unspaced).map(|word| word.key).collect()
}

/// The number of words that a line shares with a question.
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
        StandingKind::Revocation => (0.0, true),
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

/// Whether `newer` replaces `older`.
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
    // What changes something names it anywhere in its sentence.
    let named = new.around.iter().filter(|term| old.terms.contains(term)).count();
    let takes_back = new.changes && 2 * named >= old.terms.len();
    if shared == 0 && !takes_back {
        return false;
    }
    let says_again = at_least(4, 3 * most);
    let turns = new.negates != old.negates && at_least(2, fewest);
    let changed = (new.changes || is_settled) && at_least(2, fewest);
    // One value differs, and the rest is the same.
    let is_frame = new.kind == old.kind && new.terms.len() == old.terms.len() && most <= FRAME && shared + 1 == most;
    says_again || turns || changed || is_frame || takes_back
}
