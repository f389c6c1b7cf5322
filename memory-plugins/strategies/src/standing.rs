//! Detects standing statements in messages: instructions, preferences, decisions, facts, open points, promises.

mod announcing;
mod asked;
mod decisions;
mod facts;
mod label;
mod lines;
mod rules;
mod sentence;
mod superseded;
mod values;

use std::ops::Range;

use self::{announcing::Announced, decisions::decided, sentence::Sentence};
use crate::{
    goal::is_of_date,
    phrases::word_lists,
    sentences::whole_sentences,
    spoken::{asks, offset, sentence_at, spoken, spoken_lines},
    terms::is_common,
    title::is_small_talk,
    words::{Form, Word, words},
};

pub use asked::kinds_asked;
pub use lines::{StandingLine, StandingLines};
pub use superseded::{Ended, changing};
pub(crate) use superseded::{Said, superseded};

/// The kind of a standing statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StandingKind {
    /// A rule for the future: "Always give the time zone when I ask for a time."
    Instruction,
    /// A speaker's wish, taste or restriction: "I prefer bullet points."
    Preference,
    /// A decision: "We decided to rent the hall."
    Decision,
    /// A fact about the speaker or the matter: "I live in Bergen.", "The deadline is 5 May."
    Fact,
    /// A matter that is still to be done or decided: "We still need to decide on the caterer."
    Open,
    /// A speaker's promise: "I'll send the draft on Friday."
    Promise,
    /// Takes back an earlier statement and states nothing itself: "Scrap the hall." Never shown.
    Revocation,
}

impl StandingKind {
    /// `instruction`, `preference`, `decision`, `fact`, `open`, `promise` or `revocation`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Fact => "fact",
            Self::Open => "open",
            Self::Promise => "promise",
            Self::Revocation => "revocation",
        }
    }
}

/// A part of a message that stays valid after its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Kind of the statement.
    pub kind: StandingKind,
    /// Byte offset in the text of the message.
    pub at: u32,
    /// Length in bytes, at most 640, or 2,048 behind a label.
    pub bytes: u16,
    /// True if the statement applies only in some contexts: "When I ask about invoices, name the accountant."
    pub is_conditional: bool,
    /// Keys of the words of its subject, in order, without the announcing phrase.
    terms: Box<[u64]>,
    /// Keys of the things in its whole sentence: "Scrap MongoDB, we go with Postgres" also revokes MongoDB.
    around: Box<[u64]>,
    /// Keys of the things that it names as over: "instead of Redis", "scrap the hall".
    over: Box<[u64]>,
    /// Keys of the things that still stand: "we stay with REST".
    confirmed: Box<[u64]>,
    /// Keys of the things that stand again: "back to SQLite".
    restored: Box<[u64]>,
    /// True if the statement revokes or changes an earlier one: "no longer", "instead".
    changes: bool,
    /// Keys of the names in the subject, other than its first word.
    names: Box<[u64]>,
    /// Keys of the figures that it replaces: "95 cm instead of 92 cm".
    over_figures: Box<[u64]>,
    /// Units of its values.
    units: Box<[u64]>,
    /// The unit of a value that is stated without its matter, 0 for any: "2pm it is."
    bare_unit: Option<u64>,
    /// True for leave to do something again, which ends a ban and no other rule: "You can use emojis again."
    permits: bool,
    /// True if the statement takes back whatever was said shortly before: "scratch that".
    takes_back: bool,
    /// True for a decision in the place of an earlier one that it does not name: "Let's switch to Redis."
    turns: bool,
    /// True if the statement ends the last rule: "Forget that rule."
    ends_rule: bool,
    /// True for a revocation that names what stands instead: "No Postgres after all, MySQL."
    restates: bool,
    /// Number of words that an answer must share with the open point: "Storage: S3."; 0 for any other statement.
    answers: usize,
    /// True for the second of two rules in one sentence: "Stop apologizing, and show diffs instead of files."
    is_second: bool,
    /// True if the statement is negative.
    negates: bool,
    /// Key of what a fact says something about; 0 for any other statement.
    of: u64,
    /// Keys of the part to which a revocation is limited: "Forget the rule for tests".
    limited_to: Box<[u64]>,
    /// True if what is taken back was said just before, whatever else is named: "Scratch that, we take the train."
    points_back: bool,
    /// True for the choice of a thing: "We go with Redis.", "Postgres it is."
    chooses: bool,
    /// True for a decision that is a story of what somebody did: "I chose headphones".
    is_told: bool,
    /// True for an item of a list under a label.
    is_listed: bool,
    /// True for a rule that says that it holds on: "From now on no closing without a tag."
    is_firm: bool,
}

impl Standing {
    /// Number of the sentence in the text of its message, from 1. The second of two statements in one sentence gets a
    /// number beyond the last sentence, so that no two statements share one.
    #[must_use]
    pub fn sentence(&self, text: &str) -> u32 {
        let own = sentence_at(text, usize::try_from(self.at).unwrap_or(usize::MAX));
        if self.is_second { own + sentence_at(text, usize::MAX) } else { own }
    }

    /// The words of the statement in its text.
    #[must_use]
    pub fn said_in<'a>(&self, text: &'a str) -> &'a str {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        text.get(at..at.saturating_add(self.bytes.into())).unwrap_or_default()
    }
}

/// Speaker of a message, who determines which statements count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Speaker {
    /// A user: all statements count.
    User,
    /// A person in the model's place: all but instructions, which are advice.
    Person,
    /// A model: only decisions that are labelled as such ("Decision: amounts are integers"). All others are its
    /// wording.
    Model,
}

/// Maximum bytes of a standing part.
const LONGEST: usize = 640;
/// Maximum bytes of a sentence that is read; a longer one is a log or a list.
const READ: usize = 2_048;
/// Minimum words of a standing sentence; "Always!" is meaningless later.
const FEWEST_WORDS: usize = 3;
/// Minimum words after a label, or of an item under one.
const FEWEST_LABELLED: usize = 2;
/// Maximum words of a sentence that only changes an earlier statement; in a longer one its words of change are about
/// something else.
const CHANGE: usize = 16;
/// Maximum words of a sentence that casts doubt on an earlier statement.
const DOUBT: usize = 9;
/// Maximum words before a phrase that are part of the statement: "For emails I prefer".
const LEAD_WORDS: usize = 4;
/// Maximum standing parts of a message: a message with more is a list, a log or a book.
const MOST: usize = 16;

word_lists! {
    /// First words of advice or of a template behind a label.
    ADVICE = "decide decided choose chose chosen opt consider invest buying postponing whether you your if";
    /// First words of a sentence about something else than the date before it.
    TELLERS = "i i'll i'm i've we we'll he she they you it that this ich wir";
    /// Words of a model that speaks of its own plans.
    PLANS = "i i'll i'd let's ich";
    /// Words of rules and decisions that are not their subject: "when I ask", "we decided".
    NO_SUBJECTS = "move postpone push final ask mention request remember decided agreed chose chosen opted settled stay staying stick sticking \
        switched switch switching moving change changed beschlossen entschieden bleiben décidé decidido okay hmm \
        dann nehmen nehme stop answering replying writing giving adding asking calling using";
}

/// The standing parts of a message's text, in order, at most 16.
///
/// Searches rules, decisions, announcing phrases ("I prefer") and labels ("Decision:") in sentences of running text and
/// lists, not in code, tables or quotations. Each item of a list under a label ("My preferences:") is a part. Precision
/// goes before recall: a doubtful sentence is no statement. The time is linear in the text.
#[must_use]
pub fn standing(text: &str, speaker: Speaker) -> Vec<Standing> {
    let mut found = all_standing(text, speaker);
    let is_rule = |standing: &Standing| standing.kind == StandingKind::Instruction;
    if found.iter().any(is_rule) && spoken(text).any(rules::requests) {
        // "Can you look? Use the staging database, don't write." is about the task at hand.
        let lasts = |standing: &Standing| rules::names_duration(&Sentence::of(standing.said_in(text)));
        found.retain(|standing| !is_rule(standing) || standing.is_listed || lasts(standing));
    }
    found
}

fn all_standing(text: &str, speaker: Speaker) -> Vec<Standing> {
    let mut found = Vec::new();
    // Kind of the items of the current list.
    let mut listed = None;
    for line in spoken_lines(text) {
        let is_prose = |sentence: &&str| sentence.len() <= READ && !sentence.starts_with(['"', '“', '„', '«', '「']);
        for sentence in whole_sentences(line.text).filter(is_prose) {
            // A statement may span two sentences.
            let end = |last: &Standing| last.at as usize + usize::from(last.bytes);
            if found.last().is_some_and(|last| offset(text, sentence) < end(last)) {
                continue;
            }
            let label = label::labelled(sentence).filter(|label| label.kind == StandingKind::Open || !asks(sentence));
            let label = label.filter(|label| !(label.is_change && line.is_item));
            if let Some(label) = label {
                listed = label.is_of_list.then_some(label.kind).filter(|_| speaker == Speaker::User);
                // In a model's lists a labelled decision is an example or advice: "- Decision: Decide to wait."
                let is_loose = || line.is_item || advises(sentence, label.end) || is_plan(sentence, label.end);
                let may_label = speaker != Speaker::Model || !is_loose();
                let is_said = !label.is_of_list && label.may_be_of(speaker) && may_label;
                let said = is_said.then(|| whole(text, sentence, label.end, label.kind)).flatten();
                // A sentence too short to be a statement may still end the previous decision.
                let ends = || if label.is_of_list { None } else { of_sentence(text, sentence, speaker) };
                found.extend(said.or_else(ends));
            } else if let Some(kind) = listed.filter(|_| line.is_item) {
                let item = whole(text, sentence, 0, kind);
                found.extend(item.map(|item| Standing { is_listed: true, ..item }));
            } else {
                listed = None;
                let said = of_sentence(text, sentence, speaker);
                let is_rule = said.as_ref().is_some_and(|said| said.kind == StandingKind::Instruction);
                match halves(text, sentence, speaker).filter(|_| is_rule) {
                    Some(halves) => found.extend(halves),
                    None => found.extend(said),
                }
            }
            if found.len() >= MOST {
                found.truncate(MOST);
                return found;
            }
        }
    }
    found
}

/// The two rules of a sentence: "Stop apologizing, and show diffs instead of files."
fn halves(text: &str, sentence: &str, speaker: Speaker) -> Option<[Standing; 2]> {
    let (end, order) = rules::second(&Sentence::of(sentence))?;
    let first = of_sentence(text, sentence.get(..end)?, speaker)?;
    let order = Sentence::of(order);
    let second = statement(StandingKind::Instruction, text, &order, order.whole()?, None)?;
    (first.kind == StandingKind::Instruction).then_some([first, Standing { is_second: true, ..second }])
}

/// True if a sentence asks for something that holds on, as a rule does: "Could you always give both units?"
pub(crate) fn asks_for_rule(sentence: &str) -> bool {
    rules::is_asked(&Sentence::of(sentence))
}

/// True if a sentence is labelled as a change: "Moved: go-live is 24 November."
pub(crate) fn is_labelled_change(sentence: &str) -> bool {
    label::labelled(sentence).is_some_and(|label| label.is_change)
}

/// True if a sentence is labelled as open: "Open question: who owns the domain?"
pub(crate) fn is_labelled_open(sentence: &str) -> bool {
    label::labelled(sentence).is_some_and(|label| label.kind == StandingKind::Open && !label.is_of_list)
}

/// Keys of the words of the thing that a sentence scraps: "Scratch Redis, we use RabbitMQ".
pub(crate) fn scrapped(sentence: &str) -> Vec<u64> {
    announcing::scrapped(&Sentence::of(sentence))
}

/// True if a sentence corrects a value: "Dental appointments are 45, not 30."
pub(crate) fn corrects_value(sentence: &str) -> bool {
    decisions::corrects_value(&Sentence::of(sentence))
}

/// A statement of a whole sentence, whose content begins at byte `matter`, after a label.
fn whole(text: &str, sentence: &str, matter: usize, kind: StandingKind) -> Option<Standing> {
    // "**Decision: the pilot is on Thursday.** Good.": only the emphasized part is the decision.
    let emphasized = sentence.strip_prefix("**").and_then(|behind| behind.split_once("**")).map(|(inner, _)| inner);
    let has_matter =
        |part: &&str| sentence.get(matter..2 + part.len()).is_some_and(|part| words(part).nth(1).is_some());
    // Emphasis may continue in the next sentence.
    let begun = sentence.strip_prefix("**").filter(|behind| !behind.contains("**"));
    let part = emphasized.filter(has_matter).or(begun).unwrap_or(sentence);
    let start = offset(sentence, part);
    let end = start + part.len();
    let all: Vec<Word<'_>> = words(sentence.get(..end)?).filter(|word| word.at >= matter).collect();
    // "Decision: MySQL." is complete.
    let is_name = all.iter().any(|word| word.form > Form::Unspaced && !is_common(word));
    let is_short = all.len() < FEWEST_LABELLED && !(kind == StandingKind::Decision && is_name);
    if is_short || is_placeholder(sentence.get(matter..end)?) {
        return None;
    }
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    // The label itself may state a change: "Moved: …".
    let labelled = crate::words::keys(sentence);
    let said =
        build(kind, offset(text, sentence) + start, end - start, [subject(&all), things(&all)], [&keys, &labelled])?;
    let is_rule = kind == StandingKind::Instruction;
    Some(Standing { is_conditional: is_rule && announcing::is_conditional(&Sentence::of(part)), ..said })
}

/// True if a label is followed by advice: "Decision: Decide to wait".
fn advises(sentence: &str, behind: usize) -> bool {
    let first = sentence.get(behind..).and_then(|behind| words(behind).next());
    first.is_some_and(|first| ADVICE.contains(&first.key))
}

/// True if a label of a model is followed by what it means to do: "Decision: I will use a control group".
fn is_plan(sentence: &str, behind: usize) -> bool {
    let mut behind = sentence.get(behind..).into_iter().flat_map(words);
    behind.any(|word| PLANS.contains(&word.key))
}

/// True if a text is a placeholder: "[Describe the decision]".
fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(['*', '_', '"', ' ', '\t', '.']);
    let is_within = |(open, close): &(char, char)| {
        text.starts_with(*open) && text.find(*close).map(|at| at + 1) == Some(text.len())
    };
    [('[', ']'), ('<', '>'), ('{', '}')].iter().any(is_within)
}

/// The standing part of a sentence.
fn of_sentence(text: &str, sentence: &str, speaker: Speaker) -> Option<Standing> {
    if speaker == Speaker::Model {
        return None;
    }
    let sentence = &Sentence::of(sentence);
    if announcing::is_reported(sentence) {
        return None;
    }
    let bare_unit = values::bare_unit(sentence);
    let bare = || bare_unit.and_then(|_| change(text, sentence, &sentence.words));
    let said = stated(text, sentence, speaker).or_else(bare)?;
    Some(Standing { units: values::units(&sentence.words).into(), bare_unit, ..said })
}

/// The statement of a sentence.
fn stated(text: &str, sentence: &Sentence<'_>, speaker: Speaker) -> Option<Standing> {
    if speaker == Speaker::User
        && let Some(order) = &rules::order(sentence)
    {
        // A rule is kept whole, because a part that is cut off might limit it.
        let rule = statement(StandingKind::Instruction, text, order, order.whole()?, None)?;
        let ends_rule = announcing::ends_rule(&sentence.keys);
        let is_firm = rules::is_firm(order);
        return Some(Standing { is_conditional: announcing::is_conditional(order), ends_rule, is_firm, ..rule });
    }
    if let Some(part) = decided(sentence) {
        let decision = statement(StandingKind::Decision, text, sentence, part, None)?;
        let turns = decision.over.is_empty() && decisions::turns(sentence);
        // "Let's go with MySQL after all" is about the decision on a database, not about the last one.
        let takes_back = decision.takes_back && !turns;
        return Some(Standing { is_told: decisions::is_told(sentence), turns, takes_back, ..decision });
    }
    let fact = |(at, of): (usize, u64)| {
        Some(Standing { of, ..statement(StandingKind::Fact, text, sentence, sentence.part(at)?, None)? })
    };
    if let Some(found) = facts::fact(sentence) {
        return fact(found);
    }
    if sentence.words.len() < FEWEST_WORDS {
        if decisions::answers(sentence) > 0 {
            return doubt(text, sentence);
        }
        // "Undo that.", "Scrap Oracle."
        let is_over = |found: Announced| found.kind == StandingKind::Revocation;
        let is_change = announcing::takes_back(&sentence.keys) || announcing::announced(sentence).is_some_and(is_over);
        return is_change.then(|| change(text, sentence, &sentence.words)).flatten();
    }
    let allowed = announcing::allowed(sentence);
    if !allowed.is_empty() {
        return Some(Standing { over: allowed.into(), ..change(text, sentence, &sentence.words)? });
    }
    let permitted = announcing::permitted(sentence);
    if !permitted.is_empty() {
        return Some(Standing { over: permitted.into(), permits: true, ..change(text, sentence, &sentence.words)? });
    }
    let announced = announcing::announced(sentence);
    let is_meant =
        |found: &Announced| found.kind != StandingKind::Preference || announcing::is_lasting(sentence, *found);
    let Some(Announced { kind, at, length }) = announced.filter(is_meant) else {
        return facts::remembered(sentence).map_or_else(|| doubt(text, sentence), fact);
    };
    if kind == StandingKind::Revocation {
        let (before, behind) = sentence.words.split_at(at);
        let others: Vec<Word<'_>> = before.iter().chain(behind.iter().skip(length)).copied().collect();
        return Some(Standing { restates: decisions::restates(sentence), ..change(text, sentence, &others)? });
    }
    let part = sentence.part(at)?;
    let after = sentence.words.iter().skip(at + length).filter(|word| part.contains(&word.at)).count();
    // "I prefer" is incomplete, "This is to be decided" is not.
    let is_complete = announcing::is_complete(sentence.keys.get(at..at + length).unwrap_or_default());
    if after < fewest_behind(kind) && !is_complete {
        return doubt(text, sentence);
    }
    // "I prefer short answers."
    let behind = sentence.keys.get(at + length..).unwrap_or_default();
    let is_rule = kind == StandingKind::Preference && speaker == Speaker::User && announcing::is_of_outputs(behind);
    let kind = if is_rule { StandingKind::Instruction } else { kind };
    statement(kind, text, sentence, part, Some(at..at + length))
}

/// Least words behind an announcing phrase.
const fn fewest_behind(kind: StandingKind) -> usize {
    match kind {
        StandingKind::Open => 0,
        StandingKind::Preference => 1,
        _ => FEWEST_WORDS - 1,
    }
}

/// A statement of a part of a sentence; the words of the announcing phrase are not its subject.
fn statement(
    kind: StandingKind,
    text: &str,
    sentence: &Sentence<'_>,
    part: Range<usize>,
    phrase: Option<Range<usize>>,
) -> Option<Standing> {
    let phrase = phrase.unwrap_or_default();
    let within = |word: &Word<'_>| part.contains(&word.at);
    let all = sentence.words.iter().enumerate();
    let named = all.filter(|(index, word)| !phrase.contains(index) && within(word)).map(|(_, word)| *word);
    let named: Vec<Word<'_>> = named.filter(|word| !NO_SUBJECTS.contains(&word.key)).collect();
    // "We're vegetarians."
    let is_bare = kind == StandingKind::Preference && subject(&named).is_empty();
    let named = if is_bare { sentence.words.clone() } else { named };
    let inside: Vec<u64> = sentence.words.iter().filter(|word| within(word)).map(|word| word.key).collect();
    // "March 1, 2025 it is." names no subject.
    let is_date = |word: &&Word<'_>| !is_of_subject(word) || is_of_date(word);
    if kind == StandingKind::Decision && named.iter().all(|word| is_date(&word)) {
        return dated(text, sentence, &named);
    }
    let terms = [subject(&named), things(&sentence.words)];
    let standing = build(kind, offset(text, sentence.text) + part.start, part.len(), terms, [&inside, &sentence.keys])?;
    // "Dental appointments are 45, not 30." has no word of change.
    let corrects = kind == StandingKind::Decision && announcing::corrects(sentence);
    let is_name = |word: &&Word<'_>| word.at > 0 && matches!(word.form, Form::Capital | Form::Identifier);
    let names = named.iter().filter(is_name).filter(|word| is_of_subject(word)).map(|word| word.key).collect();
    let over_figures = announcing::replaced_figures(sentence).into();
    Some(Standing { changes: standing.changes || corrects, names, over_figures, ..standing })
}

/// A decision for a date, with the sentence behind it that names the subject: "26 May it is. Final launch date."
fn dated(text: &str, sentence: &Sentence<'_>, named: &[Word<'_>]) -> Option<Standing> {
    let at = offset(text, sentence.text);
    let next = whole_sentences(text.get(at + sentence.text.len()..)?.lines().next()?).next()?;
    let about = Sentence::of(next);
    let end = offset(text, next) + next.len();
    let tells = about.keys.first().is_some_and(|first| TELLERS.contains(first));
    if asks(next) || tells || about.words.len() > DOUBT || is_small_talk(next) {
        return None;
    }
    let all: Vec<Word<'_>> = named.iter().chain(&about.words).copied().collect();
    subject(&about.words).first()?;
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    build(StandingKind::Decision, at, end - at, [subject(&all), things(&all)], [&keys, &keys])
}

/// A revocation, if a sentence without a statement changes an earlier one or casts doubt on it.
fn doubt(text: &str, sentence: &Sentence<'_>) -> Option<Standing> {
    let keys = &sentence.keys;
    let changes = announcing::corrects(sentence)
        || announcing::takes_back(keys)
        || announcing::ends_rule(keys)
        || announcing::cancels(keys);
    let is_short = sentence.words.len() <= DOUBT;
    // "I'm stuck on a graph and not sure how to go on, can you help?" shares words with a rule and changes nothing.
    let is_request = announcing::is_hypothetical(keys)
        || asks(sentence.text)
        || sentence.requests_behind(0)
        || rules::requests(sentence.text);
    let may_change =
        sentence.words.len() <= CHANGE && (changes || announcing::ends(keys) || !announcing::over(keys).is_empty());
    let is_meant = !is_request && (may_change || is_short && announcing::doubts(&sentence.keys));
    let answers = decisions::answers(sentence);
    if !is_meant && answers == 0 {
        return None;
    }
    let words =
        if announcing::exceeds(keys) { sentence.words.clone() } else { announcing::doubted(sentence, &sentence.words) };
    let restates = decisions::restates(sentence);
    let answers = if is_meant { 0 } else { answers };
    let around = things(&sentence.words).into();
    let said = change(text, sentence, &words)?;
    // "My supervisor wants Copernicus style instead." ends what was decided just before.
    let is_unnamed = said.over.is_empty() && keys.last() == Some(&crate::words::key("instead"));
    let (takes_back, points_back) = match is_meant && is_unnamed {
        true => (true, true),
        false => (said.takes_back, said.points_back),
    };
    let changes = changes && is_meant;
    Some(Standing { changes, restates, answers, around, takes_back, points_back, ..said })
}

/// A revocation by a whole sentence that states nothing itself; `words` may denote its subject.
fn change(text: &str, sentence: &Sentence<'_>, words: &[Word<'_>]) -> Option<Standing> {
    let end = sentence.text.len();
    let (terms, keys) = ([subject(words), things(words)], [sentence.keys.as_slice(); 2]);
    let change = build(StandingKind::Revocation, offset(text, sentence.text), end, terms, keys)?;
    Some(Standing { over_figures: announcing::replaced_figures(sentence).into(), ..change })
}

/// Keys of the words that denote the subject, in order.
fn subject(words: &[Word<'_>]) -> Vec<u64> {
    let mut terms = Vec::new();
    for word in words.iter().filter(|word| is_of_subject(word)) {
        if !terms.contains(&word.key) {
            terms.push(word.key);
        }
    }
    terms
}

/// Keys of the words that denote things, in order: without plain numbers, which many statements share.
fn things(words: &[Word<'_>]) -> Vec<u64> {
    let is_thing = |word: &&Word<'_>| word.form != Form::Figure || word.text.contains(char::is_alphabetic);
    subject(&words.iter().filter(is_thing).copied().collect::<Vec<_>>())
}

/// True if a word denotes a subject.
fn is_of_subject(word: &Word<'_>) -> bool {
    !is_common(word)
}

/// Builds a statement from its byte range, the subject words of the part and of its sentence, and all words of both.
/// `None` without a subject.
fn build(
    kind: StandingKind,
    at: usize,
    bytes: usize,
    [terms, around]: [Vec<u64>; 2],
    [inside, all]: [&[u64]; 2],
) -> Option<Standing> {
    if terms.is_empty() && kind != StandingKind::Revocation {
        return None;
    }
    Some(Standing {
        kind,
        is_conditional: false,
        at: u32::try_from(at).ok()?,
        bytes: u16::try_from(bytes).ok()?,
        terms: terms.into(),
        around: around.into(),
        over: announcing::over(all).into(),
        confirmed: announcing::confirmed(all).into(),
        restored: announcing::restored(all).into(),
        changes: kind == StandingKind::Revocation || announcing::changes(all),
        over_figures: Box::default(),
        units: Box::default(),
        bare_unit: None,
        permits: false,
        takes_back: announcing::takes_back(all),
        turns: false,
        negates: announcing::negates(inside),
        of: 0,
        limited_to: announcing::limited_to(all).into(),
        points_back: announcing::points_back(all),
        chooses: kind == StandingKind::Decision && decisions::chooses(all),
        names: Box::default(),
        ends_rule: announcing::ends_rule(all),
        restates: false,
        answers: 0,
        is_second: false,
        is_told: false,
        is_listed: false,
        is_firm: false,
    })
}

#[cfg(test)]
mod certain;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod tests;
