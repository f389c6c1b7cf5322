//! Standing lines of a conversation; of contradicting ones the newest is valid.

use std::{collections::HashSet, sync::Arc};

use memory_core::NodeId;

use super::{Standing, StandingKind, announcing, decisions, kinds_asked, whole};
use crate::{
    terms::is_common,
    words::{Form, key, words},
};

/// Maximum earlier lines that a new one is compared with.
const COMPARED: usize = 2_000;
/// Lines of a chunk, which a copy shares until one of them changes.
const CHUNK: usize = 64;
/// Maximum words of lines that may differ in one value: "answer in English", "answer in German".
const FRAME: usize = 3;
/// Maximum words of two lines of which one denies the other; a longer sentence may deny anything.
const DENIED: usize = 10;
/// Maximum distance in messages to which "I take that back" applies.
const NEAR: u64 = 4;
/// Most words of a doubt beyond those of what it doubts.
const OTHERS: usize = 2;
/// Messages within which a choice may turn the only decision before it.
const FAR: u64 = 40;
/// Node after which a conversation without a model is a meeting.
const MEETING: u64 = 40;
/// Nodes after which the weight of a decision is halved.
const HALF_LIFE: f64 = 400.0;

/// A standing statement in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLine {
    /// The message.
    pub node: NodeId,
    /// The statement.
    pub standing: Standing,
    speaker: u64,
    replaced: Option<Replaced>,
    /// A bit for each of its terms, which rules out most comparisons.
    mask: u64,
}

/// Messages that say something else than a line or put it in doubt; none if it was only said again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Replaced {
    /// The first one, and the byte offset of its statement.
    first: Option<(NodeId, u32)>,
    /// The newest one that does not only doubt it.
    newest: Option<NodeId>,
}

impl StandingLine {
    fn new(node: NodeId, standing: Standing, speaker: u64) -> Self {
        let mask = standing.terms.iter().chain(&standing.around).fold(0, |mask, term| mask | 1 << (term % 64));
        Self { node, standing, speaker, replaced: None, mask }
    }

    /// A statement that was recorded next to a conversation, after the message `node`; `None` without a subject.
    #[must_use]
    pub fn recorded(node: NodeId, text: &str, kind: StandingKind) -> Option<Self> {
        Some(Self::new(node, whole(text, text, 0, kind)?, 0))
    }

    /// First message that says something else instead, and the byte offset of that statement in its text.
    #[must_use]
    pub fn first_replaced_by(&self) -> Option<(NodeId, u32)> {
        self.replaced.and_then(|replaced| replaced.first)
    }

    /// True if a later statement says the same or may be about it, and none certainly says something else.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.replaced.is_some_and(|replaced| replaced.first.is_none())
    }

    /// True if this statement replaces an earlier one, of any speaker, by something else.
    #[must_use]
    pub fn is_over(&self, older: &Self) -> bool {
        self.node >= older.node && replaces(self, older, true) && !self.repeats(&older.standing)
    }

    fn add_replacement(&mut self, by: &Self) {
        let replaced = self.replaced.get_or_insert_default();
        let is_doubt = by.standing.kind == StandingKind::Revocation && !by.standing.changes;
        if by.repeats(&self.standing) {
            return;
        }
        replaced.first = Some(replaced.first.map_or(by.place(), |first| first.min(by.place())));
        if !is_doubt {
            replaced.newest = replaced.newest.max(Some(by.node));
        }
    }

    /// True if this statement has all words of another one, and none like "instead".
    fn repeats(&self, other: &Standing) -> bool {
        if confirms(&self.standing, other) {
            return true;
        }
        let Standing { kind, changes, negates, ref terms, .. } = self.standing;
        let has_all = || other.terms.iter().all(|term| terms.contains(term));
        // "Use spaces, not tabs." has all words of "Use tabs, not spaces."
        let again = || terms.iter().filter(|term| other.terms.contains(term)).eq(other.terms.iter());
        let has_all = || has_all() && (!negates || again());
        !changes && kind == other.kind && negates == other.negates && has_all()
    }

    /// Message of the statement, and its byte offset in the text.
    #[must_use]
    pub fn place(&self) -> (NodeId, u32) {
        (self.node, self.standing.at)
    }

    fn takes_the_place_of(&self, older: &Self) -> bool {
        replaces(self, older, self.speaker == older.speaker)
    }

    /// Place of the statement that ended an older one, if this one says that the older one stands again.
    fn restores(&self, older: &Self) -> Option<(NodeId, u32)> {
        let again = || self.standing.restored.iter().any(|term| older.standing.terms.contains(term));
        older.first_replaced_by().filter(|(node, _)| *node < self.node && again())
    }

    /// True if this statement, which ends an older decision and names what stands instead, is a decision itself, or one
    /// on what was open: "No Postgres after all, MySQL.", "Storage: S3."
    fn settles(&self, older: &Self) -> bool {
        let is_mere = self.standing.kind == StandingKind::Revocation;
        let of_kind = match older.standing.kind {
            StandingKind::Decision => self.standing.changes && self.standing.restates,
            StandingKind::Open => self.standing.answers > 0,
            _ => false,
        };
        is_mere && of_kind
    }

    /// True if this statement takes back the last one, and an older one is near enough to be meant: "Scratch that."
    fn takes_back(&self, older: &Self) -> bool {
        let (new, old) = (&self.standing, &older.standing);
        let is_near = self.node.get() - older.node.get() <= NEAR && self.place() > older.place();
        let is_named = new.around.iter().any(|term| old.terms.contains(term));
        // "On second thought gas is a bad idea" takes back nothing else.
        if !new.ends_rule && !new.points_back && !is_named && !new.around.is_empty() {
            return false;
        }
        match old.kind {
            StandingKind::Instruction => {
                let is_meant = new.ends_rule && !leaves(new, old) || new.takes_back && is_near && is_named;
                is_meant && self.speaker == older.speaker
            }
            StandingKind::Decision => new.takes_back && !new.ends_rule && is_near,
            StandingKind::Preference => new.takes_back && !new.ends_rule && is_near && self.speaker == older.speaker,
            _ => false,
        }
    }
}

/// The standing lines of a conversation.
///
/// The newer of two contradicting lines of one speaker is valid if it states a change, negates the older one or the
/// reverse, has another value in otherwise equal words, or repeats it. A decision or preference becomes invalid as soon
/// as anything later in the conversation changes its subject, so that in doubt it is not shown. Contradictions are
/// detected by shared words. A copy is cheap.
#[derive(Clone, Debug, Default)]
pub struct StandingLines {
    /// The lines in order; no chunk is empty.
    chunks: Vec<Arc<Vec<StandingLine>>>,
    /// True if a model speaks in the conversation.
    has_model: bool,
}

impl StandingLines {
    /// Adds the statements of a message, possibly none; messages may come in any order. Wishes and promises of
    /// different speakers do not contradict each other.
    pub fn add(&mut self, node: NodeId, speaker: &str, found: Vec<Standing>) {
        let speaker = key(speaker);
        for standing in found {
            let mut line = StandingLine::new(node, standing, speaker);
            let newer = self.iter().rev().take_while(|other| other.node > node);
            let newer: Vec<_> = newer.filter(|newer| newer.takes_the_place_of(&line)).cloned().collect();
            newer.iter().for_each(|newer| line.add_replacement(newer));
            let older = self.places().rev().skip_while(|(_, other)| other.node > node).take(COMPARED);
            let over: Vec<_> =
                older.filter(|(_, older)| line.takes_the_place_of(older)).map(|(place, _)| place).collect();
            // "Scratch that" names nothing, so only the last statement is meant.
            let last = if over.is_empty() || line.standing.ends_rule { self.taken_back_by(&line) } else { None };
            let over: Vec<_> = over.into_iter().chain(last).collect();
            let doubted = if over.is_empty() {
                self.put_in_doubt_by(&line).into_iter().chain(self.revalued_by(&line)).collect()
            } else {
                Vec::new()
            };
            if over.iter().any(|place| self.at(*place).is_some_and(|older| line.settles(older))) {
                line.standing.kind = StandingKind::Decision;
            }
            // "Back to SQLite" ends what ended SQLite.
            let over: Vec<_> = over.into_iter().chain(self.ended_by(&line)).collect();
            for (chunk, at) in over {
                let older = self.chunks.get_mut(chunk).and_then(|chunk| Arc::make_mut(chunk).get_mut(at));
                older.into_iter().for_each(|older| older.add_replacement(&line));
            }
            for (chunk, at) in doubted {
                if let Some(older) = self.chunks.get_mut(chunk).and_then(|chunk| Arc::make_mut(chunk).get_mut(at)) {
                    older.replaced.get_or_insert_default();
                }
            }
            self.insert(line);
        }
    }

    fn at(&self, (chunk, at): (usize, usize)) -> Option<&StandingLine> {
        self.chunks.get(chunk)?.get(at)
    }

    /// Chunk and place of the last statement, if a line takes it back without naming it.
    fn taken_back_by(&self, line: &StandingLine) -> Option<(usize, usize)> {
        let Standing { takes_back, ends_rule, turns, .. } = line.standing;
        if !takes_back && !ends_rule && !turns {
            return None;
        }
        let older = || {
            let older = self.places().rev().skip_while(|(_, other)| other.node > line.node).take(COMPARED);
            older.filter(|(_, older)| older.replaced.is_none())
        };
        // "Forget the rule about units." means the one about units.
        let names = |older: &StandingLine| line.standing.around.iter().any(|term| older.standing.terms.contains(term));
        let mut taken = older().filter(|(_, older)| line.takes_back(older));
        let named = older().find(|(_, older)| line.standing.ends_rule && line.takes_back(older) && names(older));
        if let Some((place, _)) = named.or_else(|| taken.next()) {
            return Some(place);
        }
        // "Let's switch to Redis" is certain only about the one decision before it.
        let is_turned = |(_, older): &((usize, usize), &StandingLine)| {
            line.standing.turns
                && older.standing.kind == StandingKind::Decision
                && line.node.get() - older.node.get() <= FAR
                && line.place() > older.place()
        };
        let mut turned = older().filter(is_turned);
        turned.next().filter(|_| turned.next().is_none()).map(|(place, _)| place)
    }

    /// Chunks and places of the choices of which a line may have turned any: "We're going with Jane instead."
    fn put_in_doubt_by(&self, line: &StandingLine) -> Vec<(usize, usize)> {
        if !line.standing.turns {
            return Vec::new();
        }
        let older = self.places().rev().skip_while(|(_, other)| other.node > line.node).take(COMPARED);
        let is_choice = |older: &StandingLine| {
            let is_before = line.node.get() - older.node.get() <= FAR && line.place() > older.place();
            older.replaced.is_none() && older.standing.chooses && is_before
        };
        older.filter(|(_, older)| is_choice(older)).map(|(place, _)| place).collect()
    }

    /// Chunk and place of the last statement with a value, if a line states one of that unit and no matter.
    fn revalued_by(&self, line: &StandingLine) -> Option<(usize, usize)> {
        let unit = line.standing.bare_unit?;
        let mut older = self.places().rev().skip_while(|(_, other)| other.node >= line.node).take(COMPARED);
        let may_have_it = |older: &StandingLine| {
            let is_kind = matches!(older.standing.kind, StandingKind::Decision | StandingKind::Fact);
            let is_unit = unit == 0 && !older.standing.units.is_empty() || older.standing.units.contains(&unit);
            let is_near = line.node.get() - older.node.get() <= if unit > 0 { FAR } else { NEAR };
            is_kind && is_unit && is_near
        };
        let found = older.find(|(_, older)| may_have_it(older));
        found.filter(|(_, older)| older.replaced.is_none()).map(|(place, _)| place)
    }

    /// Chunks and places of the statements that had ended what a line restores.
    fn ended_by(&self, line: &StandingLine) -> Vec<(usize, usize)> {
        if line.standing.restored.is_empty() {
            return Vec::new();
        }
        let ended: Vec<_> = self.iter().rev().take(COMPARED).filter_map(|older| line.restores(older)).collect();
        let all = self.places().rev().take(COMPARED);
        all.filter(|(_, other)| self.is_at_one_of(other, &ended)).map(|(place, _)| place).collect()
    }

    /// True for a statement at one of the places, and for the decision next to a mere revocation there: "Postgres
    /// then. Forget the SQLite file."
    fn is_at_one_of(&self, line: &StandingLine, places: &[(NodeId, u32)]) -> bool {
        let is_decision = |line: &&StandingLine| line.standing.kind == StandingKind::Decision;
        places.iter().any(|place| {
            let of_message = || self.from(place.0).take_while(|other| other.node == place.0).filter(is_decision);
            let before = of_message().take_while(|other| other.place() <= *place).last();
            let next = before.or_else(|| of_message().next());
            line.place() == *place || next.is_some_and(|next| next.place() == line.place())
        })
    }

    /// Inserts a line after those of its message and of earlier ones.
    fn insert(&mut self, line: StandingLine) {
        let is_before = |other: &StandingLine| other.node <= line.node;
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(is_before));
        let last = self.chunks.len().saturating_sub(1);
        match self.chunks.get_mut(chunk.min(last)) {
            Some(lines) if chunk <= last || lines.len() < CHUNK => {
                let at = lines.partition_point(is_before);
                Arc::make_mut(lines).insert(at, line);
            }
            _ => self.chunks.push(Arc::new(vec![line])),
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &StandingLine> {
        self.chunks.iter().flat_map(|lines| lines.iter())
    }

    /// The lines with their chunks and places in these.
    fn places(&self) -> impl DoubleEndedIterator<Item = ((usize, usize), &StandingLine)> {
        self.chunks
            .iter()
            .enumerate()
            .flat_map(|(chunk, lines)| lines.iter().enumerate().map(move |(at, line)| ((chunk, at), line)))
    }

    /// The lines of a message and of later ones, in order.
    pub fn from(&self, node: NodeId) -> impl Iterator<Item = &StandingLine> {
        let first = self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| last.node < node));
        let chunks = self.chunks.get(first..).unwrap_or_default();
        chunks.iter().flat_map(|lines| lines.iter()).skip_while(move |line| line.node < node)
    }

    /// Notes that a model speaks in the conversation. A long conversation without one is a meeting, in which an
    /// instruction ("Don't change the case.") is addressed to a person and is no rule.
    pub fn note_model(&mut self) {
        self.has_model = true;
    }

    /// True if a model speaks in the conversation.
    #[must_use]
    pub const fn has_model(&self) -> bool {
        self.has_model
    }

    /// True if a message after `node` changes a subject that `text` names: "The launch is moved to 26 May."
    #[must_use]
    pub fn is_changed_after(&self, node: NodeId, text: &str) -> bool {
        let things: HashSet<u64> = words(text).filter(|word| !is_common(word)).map(|word| word.key).collect();
        let changes = |line: &&StandingLine| {
            line.standing.changes && line.standing.around.iter().any(|term| things.contains(term))
        };
        self.from(node.next()).any(|line| changes(&line))
    }

    /// Places of the statements that have been replaced, or put in doubt.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (NodeId, u32)> {
        self.iter().filter(|line| line.replaced.is_some()).map(StandingLine::place)
    }

    /// The number of lines, including replaced ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|lines| lines.len()).sum()
    }

    /// True if there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Newest message that says something else instead of a rule, decision or preference of `node`.
    #[must_use]
    pub fn replaced_by(&self, node: NodeId) -> Option<NodeId> {
        let replaced = || self.from(node).take_while(|line| line.node == node).filter(|line| line.replaced.is_some());
        // Most messages have none, and only then all lines are looked at.
        replaced().next()?;
        let is_stated = self.is_stated();
        let is_valid_until_then = |line: &&StandingLine| {
            let of_kind = [StandingKind::Decision, StandingKind::Instruction, StandingKind::Preference]
                .contains(&line.standing.kind);
            of_kind && is_stated(line)
        };
        replaced().filter(is_valid_until_then).filter_map(|line| line.replaced?.newest).max()
    }

    /// Valid lines that are relevant to a question: rules first, newest first, then the others in the order of
    /// [`Self::by_worth`]. Unconditional rules are always relevant; conditional rules and all other lines only if they
    /// share a word with the question, or it asks for all of their kind ([`kinds_asked`]). Without a question all rules
    /// are relevant.
    #[must_use]
    pub fn bearing_on(&self, question: &str) -> Vec<&StandingLine> {
        let asked = asked(question);
        let kinds = kinds_asked(question);
        let bears = |line: &&StandingLine| {
            let is_rule = line.standing.kind == StandingKind::Instruction;
            is_rule && (asked.is_empty() || !line.standing.is_conditional)
                || shared(line, &asked) > 0
                || kinds.contains(&line.standing.kind)
        };
        let rated = self.rated(&asked).into_iter().filter(bears);
        let (mut lines, others): (Vec<_>, Vec<_>) =
            rated.partition(|line| line.standing.kind == StandingKind::Instruction);
        lines.sort_by(|a, b| b.node.cmp(&a.node).then(a.standing.at.cmp(&b.standing.at)));
        lines.extend(others);
        lines
    }

    /// Valid lines, most important first: by kind, words shared with `text`, and age, which does not count for
    /// instructions and preferences.
    #[must_use]
    pub fn by_worth(&self, text: &str) -> Vec<&StandingLine> {
        self.rated(&asked(text))
    }

    /// The statements in order, including replaced ones. Rules of a meeting and stories of people are left out.
    pub fn stated(&self) -> impl Iterator<Item = &StandingLine> {
        let is_stated = self.is_stated();
        self.iter().filter(move |line| is_stated(line))
    }

    fn is_stated(&self) -> impl Fn(&StandingLine) -> bool + use<> {
        let is_meeting = !self.has_model && self.last() > MEETING;
        let is_talk = !self.has_model && self.iter().zip(self.iter().skip(1)).any(|(a, b)| a.speaker != b.speaker);
        move |line| {
            let is_to_a_person =
                is_meeting && line.standing.kind == StandingKind::Instruction && !line.standing.is_firm;
            // Between people "we decided to buy groceries" is a story.
            let is_story = is_talk && line.standing.is_told;
            line.standing.kind != StandingKind::Revocation && !is_to_a_person && !is_story
        }
    }

    /// Number of the last message with a line; 0 without one.
    fn last(&self) -> u64 {
        self.iter().next_back().map_or(0, |line| line.node.get())
    }

    fn rated(&self, asked: &HashSet<u64>) -> Vec<&StandingLine> {
        let last = self.last();
        let valid = self.stated().filter(|line| line.replaced.is_none());
        let mut rated: Vec<_> = valid.map(|line| (worth(line, asked, last), line)).collect();
        rated.sort_by(|(a_worth, a), (b_worth, b)| {
            let order = b_worth.total_cmp(a_worth).then(b.node.cmp(&a.node));
            order.then(a.standing.at.cmp(&b.standing.at))
        });
        rated.into_iter().map(|(_, line)| line).collect()
    }
}

/// Keys of the words of a question.
fn asked(question: &str) -> HashSet<u64> {
    words(question).filter(|word| word.form != Form::Unspaced).map(|word| word.key).collect()
}

/// Number of words that a line shares with a question.
fn shared(line: &StandingLine, asked: &HashSet<u64>) -> usize {
    line.standing.terms.iter().filter(|term| asked.contains(term)).count()
}

fn worth(line: &StandingLine, asked: &HashSet<u64>, last: u64) -> f64 {
    let (of_kind, ages) = match line.standing.kind {
        StandingKind::Instruction => (4.0, false),
        StandingKind::Preference => (2.0, false),
        StandingKind::Decision => (2.4, true),
        StandingKind::Fact => (2.0, false),
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

/// True if a revocation is of a part that an older statement does not name: "Forget the rule for tests."
fn leaves(new: &Standing, old: &Standing) -> bool {
    !new.limited_to.is_empty() && !new.limited_to.iter().any(|term| old.terms.contains(term))
}

/// True if a statement says that an older one stands: "We stay with REST."
fn confirms(new: &Standing, old: &Standing) -> bool {
    let has = |things: &[u64]| things.iter().any(|thing| old.terms.contains(thing));
    has(&new.confirmed) && !has(&new.over)
}

/// True if a line replaces an older one; `is_own` takes both as lines of one speaker.
fn replaces(newer: &StandingLine, older: &StandingLine, is_own: bool) -> bool {
    let (new, old) = (&newer.standing, &older.standing);
    if new.kind == StandingKind::Fact {
        return old.kind == StandingKind::Fact && is_own && new.of == old.of;
    }
    if new.answers > 0 {
        let shared = new.terms.iter().filter(|term| old.terms.contains(term)).count();
        return old.kind == StandingKind::Open && shared > 0 && shared >= new.answers.min(old.terms.len());
    }
    if confirms(new, old) {
        return is_own && new.kind == old.kind;
    }
    // "OK, back to English."
    let is_spoken_again = is_own && announcing::has_language(&new.restored) && announcing::has_language(&old.terms);
    if is_spoken_again && old.kind == StandingKind::Instruction {
        return true;
    }
    if new.permits && !(old.kind == StandingKind::Instruction && old.negates) {
        return false;
    }
    let may_be_over = matches!(old.kind, StandingKind::Decision | StandingKind::Preference | StandingKind::Fact);
    if newer.mask & older.mask == 0 || !is_own && old.kind != StandingKind::Decision {
        return false;
    }
    // "We make it 95 cm instead of 92 cm."
    let is_value_over = new.over_figures.iter().any(|figure| old.terms.contains(figure));
    if may_be_over && is_value_over && newer.node.get() - older.node.get() <= FAR {
        return true;
    }
    // A change may name its subject anywhere in its sentence; the longer the older statement, the more of its words.
    let named = new.around.iter().filter(|term| old.terms.contains(term)).count();
    // "Instead of the night train" is about a train. A rule is called by any of its words: "Forget the word limit."
    let mut over = new.over.iter().rev().filter(|term| new.around.contains(term));
    let is_over = match old.kind {
        StandingKind::Instruction => over.any(|term| old.terms.contains(term)),
        _ => over.next().is_some_and(|head| old.terms.contains(head)),
    };
    let shared = new.terms.iter().filter(|term| old.terms.contains(term)).count();
    // A change shares a word of the statement itself, not only of its sentence: "I prefer tests on paper, and I'm …"
    let is_about = new.kind == StandingKind::Revocation || shared > 0;
    // "155 a night" is about no night train.
    let has_thing = new.around.iter().any(|term| old.terms.contains(term) && !decisions::is_unit(*term));
    let is_changed = new.changes && is_about && has_thing && 3 * named >= old.terms.len();
    // A doubt names the whole subject, two words of it, or the name in it: "Tom declined."
    let has_name = new.around.iter().any(|term| old.names.contains(term)) && old.terms.len() <= 2;
    let is_all = named == old.terms.len() || named > 1 && 2 * named >= old.terms.len() || has_name;
    // "The Exchange doesn't allow outside catering" says something else about it.
    let is_about_all = new.around.len() <= shared + OTHERS;
    let is_doubted = new.kind == StandingKind::Revocation && shared > 0 && is_all && is_about_all;
    let is_same_kind = new.kind == old.kind || new.kind == StandingKind::Revocation && is_own;
    if may_be_over && named > 0 && (is_over && is_same_kind || is_changed || is_doubted) {
        return true;
    }
    if old.kind == StandingKind::Fact || old.kind == StandingKind::Instruction && leaves(new, old) {
        return false;
    }
    // "Forget the word limit.", "Emojis are fine now."
    if is_own && is_over && old.kind == StandingKind::Instruction && new.kind == StandingKind::Revocation {
        return true;
    }
    // Talk about the matter of a rule ends no rule.
    if new.kind == StandingKind::Revocation && old.kind == StandingKind::Instruction && !is_over {
        return false;
    }
    if new.kind == StandingKind::Revocation && !new.changes {
        return false;
    }
    if !is_own {
        return false;
    }
    let wishes = |standing: &Standing| matches!(standing.kind, StandingKind::Instruction | StandingKind::Preference);
    let is_settled =
        old.kind == StandingKind::Open && matches!(new.kind, StandingKind::Decision | StandingKind::Promise);
    let alike = wishes(new) == wishes(old);
    let takes_back = new.kind == StandingKind::Revocation || alike && new.changes;
    if old.kind == StandingKind::Instruction && !alike && !takes_back || !alike && !new.changes && !is_settled {
        return false;
    }
    let fewest = new.terms.len().min(old.terms.len()).max(1);
    let most = new.terms.len().max(old.terms.len()).max(1);
    let at_least = |part: usize, of: usize| shared * part >= of;
    let takes_back = new.changes && named > 0 && 2 * named >= old.terms.len();
    if shared == 0 && !takes_back {
        return false;
    }
    let says_again = at_least(4, 3 * most);
    // A rule is replaced only by one with mostly the same subject.
    let matter = if old.kind == StandingKind::Instruction { most } else { fewest };
    let is_decided_again = (new.kind, old.kind) == (StandingKind::Decision, StandingKind::Decision);
    // "So no car" is about São Martinho, but denies no "São Martinho it is".
    let turned = if is_decided_again { most } else { matter };
    let turns = new.negates != old.negates && at_least(2, turned) && most <= DENIED;
    let changed = (new.changes || is_settled) && at_least(2, matter) || is_decided_again && at_least(2, most);
    // One value differs and the rest is equal.
    let is_frame = new.kind == old.kind && new.terms.len() == old.terms.len() && most <= FRAME && shared + 1 == most;
    says_again || turns || changed || is_frame || takes_back
}
