//! Greedy selection of sentences by marginal value per cost.

use memory_core::{Level, Role, port::SummaryJob};

use super::{
    beginning::beginning,
    compose::{Composer, stops},
    outline::outline,
};
use crate::{
    cues::{Cues, has_negation},
    phrases::{phrase_lists, word_lists},
    reading::{Reading, noise},
    segments::Kind,
    spoken::asks,
    standing::{self, Said},
    terms::{is_common, to_f32},
    words::{Form, Word, is_unspaced, keys, words},
};

/// Number of sentences, the best by initial value, that are rated repeatedly.
const LOOKED_AT: usize = 384;
/// Maximum failed attempts to fit a sentence.
const MISSES: usize = 16;
/// Maximum sentences whose beginning is tried.
const BEGINNINGS: usize = 8;
/// Cost in tokens of a sentence's separator, and of a new speaker's label.
const SEPARATION: f32 = 0.3;
const SPEAKER: f32 = 2.0;
/// Minimum words of a sentence that is a statement of its own.
const FEWEST: usize = 4;
/// Minimum characters of such a sentence in a script without spaces.
const FEWEST_UNSPACED: usize = 8;
/// Maximum bytes of a blank in a template.
const LONGEST_BLANK: usize = 40;
/// Labels of speakers that are not people.
const MACHINES: [&str; 3] = ["assistant: ", "tool: ", "system: "];

word_lists! {
    /// Words of sentences about the one who speaks, or other people.
    OWN = "i i'm i've i'd i'll me my mine we we're we've we'd we'll us our he he's she she's his her they their";
    /// First words of a sentence that leans on the one before.
    LEANS = "it it's its they they're their them this that that's these those he she his her but and so then also \
        however therefore instead otherwise which such both here there";
}

phrase_lists! {
    /// Beginnings of a model's sentences that would fit any reply.
    FORMULAS = "i'd be happy to | i would be happy to | i'm happy to | i am happy to | i'd be glad to | i'm glad | i am glad | \
        happy to help | glad to hear | i hope this | i hope that | i hope these | hope this helps | let me know | feel free | \
        if you have any | if you need | please let me know | please feel free | i'm here to | i'm here if | don't hesitate | \
        i understand that | i understand how | i'm sorry to hear | i'm really sorry to hear | it's great that | it's great to | \
        it's wonderful | it's fantastic | it's good to hear | it's completely | it's understandable | \
        it's totally | it's perfectly | it's natural to | it's normal to | it's clear that you | it sounds like | \
        that's great | that's a great | that's wonderful | that's fantastic | that's awesome | that sounds | great to hear | \
        congratulations | good luck | best of luck | you're welcome | you're very welcome | you're absolutely | \
        you're on the right | by following these | by following this | by implementing these | by implementing this | \
        by using these | by taking these | by incorporating | with these steps | remember that it's okay | \
        here's how you can | here is how you can | here are some | here are a few | here's a | here is a | here's an | \
        here is an | below is | below are | let's break | let's go through | let's take a look | let's dive | let's walk | \
        let's review | let's create | let's look | great question | good question | would you like | does this | \
        do you have any | is there anything | ich hoffe | gerne helfe ich | ich helfe dir gerne | hier sind einige | hier ist ein";
    /// Phrases of people who encourage, greet or agree.
    PLEASANTRIES = "long time no see | long time no chat | long time no talk | i'm here for you | i am here for you | \
        you've got this | you got this | keep it up | keep up the good | keep up the great | have a great | have a good | \
        have fun | have a blast | can't wait to | looking forward to | good luck | best of luck | take care | so glad | \
        glad you | glad to hear | glad it | glad that | that's awesome | that's amazing | that's great | that sounds | \
        sounds like a | sounds great | sounds good | sounds awesome | sounds amazing | proud of you | happy for you | \
        been a while | way to go | well done | thanks for | thank you | same here | totally agree | stay motivated | \
        believe in yourself | rooting for you | always here for | talk to you | i know what you mean | \
        you're doing great | that makes sense | that helps | that clears | this helps | makes sense to me";
    /// Words before such a beginning.
    AGREES = "absolutely | certainly | of course | sure | sure thing | definitely | great | yes | thank you | thanks | hi | hello | natürlich | gerne";
}

/// Classes of sentences; a later one is quoted only if no earlier one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Statements and questions of people and models.
    Statement,
    /// Sentences and items of few words.
    Item,
    /// Titles, announcements of a list, small talk, sentences that an earlier summary cut.
    Remark,
    /// Code, tables, data, formulas, results of tools.
    Data,
}

const RANKS: [Rank; 4] = [Rank::Statement, Rank::Item, Rank::Remark, Rank::Data];

/// For each segment, true if a later one changes it.
pub(super) fn superseded(job: &SummaryJob<'_>, reading: &Reading<'_>, composer: &Composer<'_>) -> Vec<bool> {
    let said = reading.segments.iter().enumerate().map(|(index, segment)| Said {
        text: &segment.text,
        message: composer.part(index),
        is_of_model: segment.kind != Kind::Sentence || is_of_model(job, reading, composer, index),
    });
    standing::superseded(&said.collect::<Vec<_>>())
}

/// Chooses sentences and writes them out; `None` if nothing fits. Those that are `over` are left out.
pub(super) fn choose(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    composer: &Composer<'_>,
    over: &[bool],
) -> Option<String> {
    let mut chooser = Chooser::new(job, reading, composer, over);
    if is_of_model(job, reading, composer, 0) {
        let may_lead = |index: usize| {
            let lead = chooser.quotable.iter().find(|quotable| quotable.segment == index);
            lead.is_some_and(|lead| lead.rank == Rank::Statement && lead.is_whole)
        };
        if let Some(outline) = outline(job, reading, composer, &may_lead) {
            return Some(outline);
        }
    }
    for rank in RANKS {
        chooser.fill(rank);
        if !chooser.chosen.is_empty() {
            // The items of one message belong to it, those of many to nothing.
            if rank == Rank::Statement && job.level < Level::Meta {
                chooser.fill(Rank::Item);
            }
            return Some(composer.write(&chooser.chosen));
        }
        if let Some(text) = chooser.beginning(rank) {
            return Some(text);
        }
    }
    None
}

/// A segment that may be quoted.
#[derive(Clone, Copy, Debug)]
struct Quotable {
    segment: usize,
    rank: Rank,
    /// Factor of its words.
    factor: f32,
    /// Value in addition to that of its words.
    lasting: f32,
    cost: f32,
    /// True if it is a whole sentence.
    is_whole: bool,
    leans: bool,
}

struct Chooser<'a> {
    job: &'a SummaryJob<'a>,
    reading: &'a Reading<'a>,
    composer: &'a Composer<'a>,
    quotable: Vec<Quotable>,
    covered: Vec<bool>,
    /// Chosen segments, in order.
    chosen: Vec<usize>,
    /// Remaining tokens.
    left: f32,
}

impl<'a> Chooser<'a> {
    fn new(job: &'a SummaryJob<'a>, reading: &'a Reading<'a>, composer: &'a Composer<'a>, over: &[bool]) -> Self {
        let indices = 0..reading.segments.len();
        let current = indices.filter(|index| over.get(*index) != Some(&true));
        let quotable = current.filter_map(|index| quotable(job, reading, composer, index)).collect();
        let covered = vec![false; reading.terms.len()];
        let left = to_f32(job.max_tokens);
        let mut chooser = Self { job, reading, composer, quotable, covered, chosen: Vec::new(), left };
        if job.level >= Level::Meta {
            // Labels show the names.
            let names: Vec<u32> = composer.names().flat_map(|name| reading.terms.named(name)).collect();
            names.into_iter().for_each(|term| chooser.cover(term));
        }
        for rank in RANKS {
            chooser.keep_best(rank);
        }
        chooser
    }

    /// Drops all but the best of a rank, so that the work stays linear.
    fn keep_best(&mut self, rank: Rank) {
        let of_rank = self.quotable.iter().filter(|quotable| quotable.rank == rank);
        let mut rated: Vec<(f32, usize)> = of_rank.map(|quotable| (self.rate(quotable), quotable.segment)).collect();
        if rated.len() <= LOOKED_AT {
            return;
        }
        rated.select_nth_unstable_by(LOOKED_AT, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = rated.into_iter().take(LOOKED_AT).map(|(_, segment)| segment).collect();
        kept.sort_unstable();
        self.quotable.retain(|of| of.rank != rank || kept.binary_search(&of.segment).is_ok());
    }

    /// Takes the best sentence of a rank repeatedly, until nothing fits.
    fn fill(&mut self, rank: Rank) {
        let mut pool: Vec<Quotable> =
            self.quotable.iter().filter(|of| of.rank == rank && of.is_whole).copied().collect();
        let mut misses = 0;
        while misses < MISSES {
            // The estimate is generous; counting verifies it.
            let room = self.left * 1.3 + 2.0;
            let fitting = pool.iter().enumerate().filter(|(_, of)| of.cost <= room);
            let rated = fitting.map(|(place, of)| (self.rate(of), place, of.segment));
            let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
            let Some((_, place, segment)) = best else { break };
            pool.swap_remove(place);
            if !self.take(segment) {
                misses += 1;
            }
        }
    }

    /// Chooses a segment if it fits with the chosen ones.
    fn take(&mut self, segment: usize) -> bool {
        let mut trial = self.chosen.clone();
        trial.insert(trial.partition_point(|chosen| *chosen < segment), segment);
        let tokens = self.job.counter.count(&self.composer.write(&trial));
        if tokens > self.job.max_tokens {
            return false;
        }
        self.left = to_f32(self.job.max_tokens - tokens);
        let terms = self.reading.terms.of_segment(segment).to_vec();
        terms.into_iter().for_each(|term| self.cover(term));
        self.chosen = trial;
        true
    }

    fn cover(&mut self, term: u32) {
        if let Some(covered) = usize::try_from(term).ok().and_then(|term| self.covered.get_mut(term)) {
            *covered = true;
        }
    }

    /// The beginning of the best sentence of a rank that may be cut.
    fn beginning(&self, rank: Rank) -> Option<String> {
        let mut rated: Vec<(f32, usize)> =
            self.quotable.iter().filter(|of| of.rank == rank).map(|of| (self.worth(of), of.segment)).collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rated.into_iter().take(BEGINNINGS).find_map(|(_, segment)| {
            let fits = |text: &str| {
                self.job.counter.count(&self.composer.write_beginning(segment, text)) <= self.job.max_tokens
            };
            let of = self.reading.segments.get(segment..)?;
            let text = beginning(of, self.reading.language_around(segment), &fits)?;
            Some(self.composer.write_beginning(segment, &text))
        })
    }

    /// Marginal value of a sentence: that of its uncovered words.
    fn worth(&self, of: &Quotable) -> f32 {
        let terms = self.reading.terms.of_segment(of.segment).iter();
        let is_uncovered =
            |term: &&u32| usize::try_from(**term).is_ok_and(|term| self.covered.get(term) == Some(&false));
        let words: f32 = terms.filter(is_uncovered).map(|term| self.reading.terms.weight(*term)).sum();
        let leans = of.leans && !of.segment.checked_sub(1).is_some_and(|before| self.chosen.contains(&before));
        (of.lasting + of.factor * (0.05 + words)) * if leans { 0.5 } else { 1.0 }
    }

    /// Marginal value per cost.
    fn rate(&self, of: &Quotable) -> f32 {
        let place = self.chosen.partition_point(|chosen| *chosen < of.segment);
        let neighbours = [place.checked_sub(1), Some(place)].into_iter().flatten();
        let is_same = |near: &usize| self.composer.speaker_id(*near) == self.composer.speaker_id(of.segment);
        let goes_on = neighbours.filter_map(|place| self.chosen.get(place)).any(is_same);
        self.worth(of) / (of.cost + if goes_on { SEPARATION } else { SPEAKER })
    }
}

/// The segment as a quotation, if it may be one.
fn quotable(job: &SummaryJob<'_>, reading: &Reading<'_>, composer: &Composer<'_>, index: usize) -> Option<Quotable> {
    let segment = reading.segments.get(index)?;
    let source = job.sources.get(segment.source);
    let cues = reading.terms.cues(index);
    let is_model = is_of_model(job, reading, composer, index);
    let is_tool = source.is_some_and(|source| source.role == Some(Role::Tool)) || composer.name(index) == "tool: ";
    let is_cut = segment.text.contains('…') && source.is_some_and(|source| source.role.is_none());
    let merges = job.level >= Level::Meta;
    let rank = match segment.kind {
        _ if is_tool || is_formula(&segment.text) || is_template(&segment.text) => Rank::Data,
        Kind::Row | Kind::Data | Kind::Code => Rank::Data,
        Kind::Sentence if is_sample(&segment.text) => Rank::Remark,
        Kind::Heading | Kind::Keywords => Rank::Remark,
        Kind::Sentence if is_cut || segment.text.ends_with([':', '：']) || is_placeholder(&segment.text) => {
            Rank::Remark
        }
        Kind::Sentence if !is_model && is_pleasant(reading, index) => Rank::Remark,
        Kind::Sentence if is_model && is_stock(&segment.text) => Rank::Remark,
        Kind::Sentence if cues.has(Cues::SMALL_TALK) && !has_more(reading, index) => Rank::Remark,
        // "And no page."
        Kind::Sentence if !is_model && denies(&segment.text) => Rank::Statement,
        Kind::Sentence if is_short(&segment.text) || is_model && !stops(&segment.text) => Rank::Item,
        Kind::Sentence => Rank::Statement,
    };
    let is_first = index == 0 || composer.part(index) != composer.part(index - 1);
    let is_last = composer.part(index) != composer.part(index + 1) || index + 1 == reading.segments.len();
    let is_question = asks(&segment.text);
    let announced = [
        // People's decisions stay relevant, and are rarely repeated.
        (Cues::DECISION, if merges && !is_model { 1.0 } else { 0.4 }),
        (Cues::COMMITMENT, 0.2),
        (Cues::PREFERENCE, 0.3),
        (Cues::PROBLEM, 0.2),
        (Cues::FIX, 0.2),
        (Cues::EMPHASIS, 0.3),
        (Cues::PERSONAL, 0.15),
        // A model's "always" is advice.
        (Cues::INSTRUCTION, if is_model { 0.0 } else { 0.6 }),
    ];
    let more: f32 = announced.iter().filter(|(cue, _)| cues.has(*cue)).map(|(_, weight)| weight).sum();
    let more = if merges { more * 1.5 } else { more };
    let talk = if cues.has(Cues::SMALL_TALK) { 0.5 } else { 1.0 };
    // A model's question is usually an offer, and among several messages most questions are answered. At the end of a
    // message a question is what the message asks.
    let asked = match (is_question, is_model) {
        (true, true) => 0.4,
        (true, false) if merges => 0.8,
        (true, false) if is_last => 1.6,
        _ => 1.0,
    };
    // A person's wishes, acts and decisions stay relevant longer than a model's statements about them.
    let machine = if merges && is_model { 0.4 } else { 1.0 };
    let leads = if is_first { 1.2 } else { 1.0 };
    // "I got an endorsement with a beverage company!" is news, "Last week was wild!" is none.
    let is_news = [Cues::PERSONAL, Cues::DECISION, Cues::COMMITMENT].iter().any(|cue| cues.has(*cue));
    let (figures, _) = reading.terms.figures_and_others(index);
    let news = match () {
        () if is_model || is_question => 1.0,
        // "Good support is essential." holds for everybody.
        () if merges && !is_of_somebody(&segment.text) => 0.5,
        () if merges && is_exclamation(&segment.text) && figures == 0 => 0.5,
        () if merges && (is_news || figures > 0) => 1.4,
        () if merges => 1.0,
        () if is_news && is_last => 1.8,
        () if is_news => 1.5,
        () if figures == 0 && is_exclamation(&segment.text) => 0.4,
        () if has_negation(&keys(&segment.text)) => 1.3,
        () if is_last => 1.2,
        () => 1.0,
    };
    let lasting = if merges && !is_model && rank == Rank::Statement { lasting(job, reading, index) } else { 0.0 };
    Some(Quotable {
        segment: index,
        rank,
        factor: (1.0 + more) * talk * asked * machine * leads * news * noise(&segment.text),
        lasting,
        cost: reading.cost(segment.text.len()),
        is_whole: segment.begins && segment.ends,
        leans: words(&segment.text).next().is_some_and(|word| LEANS.contains(&word.key)),
    })
}

/// Additional value of a person's sentence in a merged summary: wishes, decisions and open questions should outlast
/// statements.
fn lasting(job: &SummaryJob<'_>, reading: &Reading<'_>, index: usize) -> f32 {
    let cues = reading.terms.cues(index);
    let worth = [(Cues::INSTRUCTION, 3.0), (Cues::DECISION, 3.0), (Cues::PREFERENCE, 2.0)];
    let stated: f32 = worth.iter().filter(|(cue, _)| cues.has(*cue)).map(|(_, worth)| worth).sum();
    let Some(segment) = reading.segments.get(index).filter(|segment| asks(&segment.text)) else { return stated };
    // Only the last question is likely to be open.
    let is_last = segment.source + 2 >= job.sources.len();
    let is_open = !reading.terms.are_taken_up_after(index, segment.source);
    stated
        + if is_open && is_last {
            2.0
        } else if is_open {
            0.8
        } else {
            0.0
        }
}

/// True if a model or a tool said a segment. A person may have the role of an assistant, but not its label.
fn is_of_model(job: &SummaryJob<'_>, reading: &Reading<'_>, composer: &Composer<'_>, index: usize) -> bool {
    let source = reading.segments.get(index).and_then(|segment| job.sources.get(segment.source));
    MACHINES.contains(&composer.name(index))
        || source.is_some_and(|source| {
            source.role == Some(Role::Tool) || source.speaker.is_empty() && source.role == Some(Role::Assistant)
        })
}

/// True if a segment of small talk says more than that: a figure, or many other words.
fn has_more(reading: &Reading<'_>, index: usize) -> bool {
    let (figures, others) = reading.terms.figures_and_others(index);
    figures > 0 || others >= 4
}

/// True for a sentence of a model that begins with words which would fit any reply: "Certainly! I'd be happy to help."
fn is_stock(text: &str) -> bool {
    let keys = keys(text);
    let agrees = AGREES.at(&keys).map(|(length, ())| length).max().unwrap_or(0);
    let behind = keys.get(agrees..).unwrap_or_default();
    // "Certainly, Crystal! …"
    [0, 1].iter().any(|name| {
        behind.get(*name..).is_some_and(|from| FORMULAS.at(from).next().is_some() && (*name == 0 || agrees > 0))
    })
}

/// True for a sentence that encourages or greets, without a figure or a name.
fn is_pleasant(reading: &Reading<'_>, index: usize) -> bool {
    let Some(segment) = reading.segments.get(index) else { return false };
    let (figures, _) = reading.terms.figures_and_others(index);
    let has_name = words(&segment.text).skip(1).any(|word| word.form == Form::Capital && !is_common(&word));
    figures == 0 && !has_name && PLEASANTRIES.are_in(&keys(&segment.text))
}

/// True if a sentence is about somebody or something named.
fn is_of_somebody(text: &str) -> bool {
    let mut all = words(text);
    let is_own = |word: &Word<'_>| OWN.contains(&word.key) || !word.text.is_ascii();
    all.next().is_some_and(|first| is_own(&first))
        || all.any(|word| {
            is_own(&word) || matches!(word.form, Form::Capital | Form::Figure | Form::Identifier) && !is_common(&word)
        })
}

/// True if a sentence has too few words to be a statement.
fn is_short(text: &str) -> bool {
    let unspaced = text.chars().filter(|c| is_unspaced(*c)).take(FEWEST_UNSPACED).count();
    unspaced < FEWEST_UNSPACED && words(text).nth(FEWEST - 1).is_none()
}

/// Minimum and maximum words of a sentence that denies in few words.
const DENIAL: std::ops::Range<usize> = 3..6;

/// True for a short denial: "And no page."
fn denies(text: &str) -> bool {
    let keys = keys(text);
    DENIAL.contains(&keys.len()) && has_negation(&keys) && stops(text) && !text.ends_with(['!', '?'])
}

/// True for an exclamation, or a remark without a verb of its own: "What a week!", "Total dream come true."
fn is_exclamation(text: &str) -> bool {
    const SHORT: usize = 6;
    text.ends_with('!') || words(text).nth(SHORT - 1).is_none()
}

/// True for a line of a plan or an example: "9:00 PM: Go to bed.", "Example: …", "Laura: \"That sounds good.\""
fn is_sample(text: &str) -> bool {
    let time = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | '.'));
    let is_figure = time.len() < text.len() && text.starts_with(|c: char| c.is_ascii_digit());
    let behind = time.trim_start();
    let half = ["AM", "PM", "am", "pm", "a.m.", "p.m.", "Uhr"].iter().find_map(|half| behind.strip_prefix(half));
    let clock =
        text.get(..text.len() - time.len()).is_some_and(|figure| figure.contains(':') && !figure.ends_with(':'));
    let is_mark = |rest: &str| rest.trim_start().starts_with([':', '-', '–', '—', '|']);
    let is_time = is_figure && (half.is_some_and(is_mark) || clock && is_mark(behind));
    let begins = |label: &str| text.get(..label.len()).is_some_and(|first| first.eq_ignore_ascii_case(label));
    let is_example = ["Example:", "For example:", "Examples:", "E.g.", "Sample:", "Beispiel:", "Exemple :", "Ejemplo:"];
    let quotes = text
        .split_once(": ")
        .is_some_and(|(label, said)| said.starts_with(['"', '“']) && words(label).nth(2).is_none());
    is_time || quotes || is_example.iter().any(|label| begins(label)) || text.starts_with(['"', '“'])
}

/// True for a description in brackets: "[shared image: two dogs]".
fn is_placeholder(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(']')
}

/// True for a line of a template: "Dear [Your Name],".
fn is_template(text: &str) -> bool {
    let opens = |(at, _): (usize, &str)| {
        let inner = text.get(at + 1..).unwrap_or_default();
        inner.starts_with(char::is_uppercase) && inner.find(']').is_some_and(|end| end < LONGEST_BLANK)
    };
    text.match_indices('[').any(opens) && !is_placeholder(text)
}

/// True if a text contains signs of a formula or a line of code.
fn is_formula(text: &str) -> bool {
    let marks = |byte: u8| matches!(byte, b'\\' | b'^' | b'=' | b'{' | b'}');
    // `34 .quoting(false); 38;`
    let is_code = || text.ends_with(';') || text.contains("();") || text.contains("); ");
    text.bytes().fold(false, |any, byte| any | marks(byte))
        || is_code()
        || (!text.is_ascii() && text.contains(['√', '≤', '≥', '≈']))
}
