//! Terms of a text, weighted by frequency, document frequency and form.

use std::{borrow::Cow, hash::BuildHasherDefault, sync::LazyLock};

use memory_core::{port::SummarySource, text::floor_char_boundary};

use crate::{
    cues::{Cues, cues},
    segments::Segment,
    words::{Form, KeyMap, KeySet, Word, key, phrase_key, words},
};

/// An uncommon word, or a name of two words.
#[derive(Clone, Debug)]
struct Term {
    /// First occurrence: segment, byte offset and length.
    place: (usize, usize, usize),
    form: Form,
    /// Number of occurrences.
    count: u32,
    /// Document frequency.
    documents: u32,
    /// Last counted document.
    last: usize,
    /// Number of capitalized occurrences within a sentence.
    capitals: u32,
    /// True if the term has two words.
    phrase: bool,
    /// Weight, set once all segments are read.
    weight: f32,
}

/// The terms of a list of segments.
#[derive(Debug)]
pub(crate) struct Terms {
    /// The number of each term.
    index: KeyMap<u32>,
    terms: Vec<Term>,
    /// The distinct terms of all segments, concatenated.
    bags: Vec<u32>,
    segments: Vec<OfSegment>,
}

#[derive(Clone, Copy, Debug)]
struct OfSegment {
    /// End of its bag in `bags`; it begins at the end of the previous one.
    bag_end: usize,
    cues: Cues,
}

impl Terms {
    /// Reads all `segments` of `sources` sources once. A document is a source, or a segment if there is only one
    /// source.
    pub(crate) fn read(segments: &[Segment], sources: usize) -> Self {
        let mut reader = Reader::with_capacity(segments);
        for (index, segment) in segments.iter().enumerate() {
            reader.read(index, if sources > 1 { segment.source } else { index }, &segment.text);
        }
        let Reader { index, mut terms, bags, segments: read, .. } = reader;
        let documents = if sources > 1 { sources } else { segments.len() };
        let rarity = |among: u32| (1.0 + to_f32(u32::try_from(documents).unwrap_or(u32::MAX)) / to_f32(among)).ln();
        // Most terms occur in one document.
        let rarest = rarity(1);
        for term in &mut terms {
            let rare = if term.documents <= 1 { rarest } else { rarity(term.documents) };
            term.weight = term.kind_weight() * often(term.count) * rare;
        }
        Self { index, terms, bags, segments: read }
    }

    /// The distinct terms of a segment.
    pub(crate) fn of_segment(&self, segment: usize) -> &[u32] {
        let end = |segment: usize| self.segments.get(segment).map(|of| of.bag_end);
        let begin = segment.checked_sub(1).and_then(end).unwrap_or(0);
        end(segment).and_then(|end| self.bags.get(begin..end)).unwrap_or_default()
    }

    pub(crate) fn cues(&self, segment: usize) -> Cues {
        self.segments.get(segment).map(|of| of.cues).unwrap_or_default()
    }

    /// Numbers of distinct figures and of other distinct terms of a segment.
    pub(crate) fn figures_and_others(&self, segment: usize) -> (u32, u32) {
        let of_form = |figure: bool| {
            let bag = self.of_segment(segment).iter().filter_map(|&term| self.term(term));
            u32::try_from(bag.filter(|term| (term.form == Form::Figure) == figure).count()).unwrap_or(u32::MAX)
        };
        (of_form(true), of_form(false))
    }

    /// True if a later source takes up the question of a segment: half of its terms recur after `source`. Only valid
    /// for terms of several sources.
    pub(crate) fn are_taken_up_after(&self, segment: usize, source: usize) -> bool {
        let bag = self.of_segment(segment);
        let later = bag.iter().filter_map(|&term| self.term(term)).filter(|term| term.last > source).count();
        later * 2 >= bag.len().max(1)
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The weight of a term.
    pub(crate) fn weight(&self, term: u32) -> f32 {
        self.term(term).map_or(0.0, |term| term.weight)
    }

    /// The terms in `text`.
    pub(crate) fn named<'t>(&'t self, text: &'t str) -> impl Iterator<Item = u32> + 't {
        words(text).filter_map(|word| self.index.get(&word.key).copied())
    }

    fn term(&self, term: u32) -> Option<&Term> {
        usize::try_from(term).ok().and_then(|index| self.terms.get(index))
    }

    /// At most `most` topics of the text, best first: names and words, but no bare figures. A topic of a source counts
    /// as an occurrence.
    pub(crate) fn topics(&self, segments: &[Segment], sources: &[SummarySource], most: usize) -> Vec<String> {
        let mut found = Topics::with_capacity(most * 4);
        for topic in sources.iter().flat_map(|source| &source.metadata.topics) {
            found.add(HANDED_DOWN, topic);
        }
        let surface = |term: &Term| {
            let (segment, at, length) = term.place;
            segments.get(segment).and_then(|segment| segment.text.get(at..at + length)).unwrap_or_default()
        };
        let worth = |term: &Term| {
            let whole_name = if term.phrase { 1.1 * NAME / PHRASE } else { 1.0 };
            term.weight * often(term.count) * whole_name
        };
        let own = self.terms.iter().filter(|term| term.may_be_topic(surface(term)));
        let mut own: Vec<(f32, &Term)> = own.map(|term| (worth(term), term)).collect();
        let best_first = |a: &(f32, &Term), b: &(f32, &Term)| b.0.total_cmp(&a.0).then(a.1.place.cmp(&b.1.place));
        if own.len() > most * 4 {
            own.select_nth_unstable_by(most * 4, best_first);
            own.truncate(most * 4);
        }
        own.sort_unstable_by(best_first);
        for (worth, term) in own {
            found.add(worth, surface(term));
        }
        found.best(most)
    }
}

/// Candidate topics, in the order in which they were found.
struct Topics<'a> {
    topics: Vec<(f32, Cow<'a, str>)>,
    by_key: KeyMap<usize>,
}

impl<'a> Topics<'a> {
    fn with_capacity(topics: usize) -> Self {
        let by_key = KeyMap::with_capacity_and_hasher(topics, BuildHasherDefault::default());
        Self { topics: Vec::with_capacity(topics), by_key }
    }

    fn add(&mut self, worth: f32, topic: &'a str) {
        let topic = clean_topic(topic);
        if topic.is_empty() {
            return;
        }
        let next = self.topics.len();
        let at = *self.by_key.entry(topic_key(&topic)).or_insert(next);
        match self.topics.get_mut(at) {
            Some(known) => known.0 += worth,
            None => self.topics.push((worth, topic)),
        }
    }

    /// The best topics, at most `most`, that share no word.
    fn best(mut self, most: usize) -> Vec<String> {
        // The sort is stable: ties keep their order.
        self.topics.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut best, mut known) = (Vec::new(), Vec::new());
        for (_, topic) in self.topics {
            if best.len() >= most {
                break;
            }
            let before = known.len();
            known.extend(words(&topic).map(|word| word.key));
            let (others, own) = known.split_at(before);
            if own.iter().any(|key| others.contains(key)) {
                known.truncate(before);
            } else {
                best.push(topic.into_owned());
            }
        }
        best
    }
}

/// The frequency factor of a term.
fn often(count: u32) -> f32 {
    // Fast path: most terms occur once.
    if count == 1 { std::f32::consts::LN_2 } else { to_f32(count).ln_1p() }
}

/// The weight of a source's topic relative to a word of the text.
const HANDED_DOWN: f32 = 1.5;

/// The weight of a name relative to a word.
const NAME: f32 = 1.6;

/// The weight of a name of two words, whose words also count individually.
const PHRASE: f32 = 0.3;

/// Maximum bytes of a topic.
const LONGEST_TOPIC: usize = 40;

fn topic_key(topic: &str) -> u64 {
    words(topic).map(|word| word.key).reduce(phrase_key).unwrap_or_else(|| key(topic))
}

/// One line, short, without the marks that separate topics.
fn clean_topic(topic: &str) -> Cow<'_, str> {
    let is_clean =
        |(index, byte): (usize, u8)| byte.is_ascii_graphic() && !matches!(byte, b',' | b';') && index < LONGEST_TOPIC;
    if topic.bytes().enumerate().all(is_clean) {
        return Cow::Borrowed(topic);
    }
    let plain = topic.replace([',', ';'], " ");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.get(..floor_char_boundary(&plain, LONGEST_TOPIC)).unwrap_or_default().trim().to_owned().into()
}

impl Term {
    fn is_name(&self) -> bool {
        self.form == Form::Capital && self.capitals * 2 > self.count
    }

    /// The weight of its form.
    fn kind_weight(&self) -> f32 {
        if self.phrase {
            return PHRASE;
        }
        match self.form {
            Form::Figure => 1.8,
            Form::Capital if self.is_name() => NAME,
            Form::Identifier => 1.3,
            Form::Unspaced => 0.6,
            Form::Plain | Form::Capital => 1.0,
        }
    }

    fn may_be_topic(&self, surface: &str) -> bool {
        let long_enough = match self.form {
            Form::Figure => return false,
            Form::Unspaced => surface.chars().nth(1).is_some(),
            Form::Capital => surface.len() > 2 || (surface.len() == 2 && surface.chars().all(char::is_uppercase)),
            Form::Plain | Form::Identifier => surface.chars().nth(3).is_some(),
        };
        long_enough && surface.len() <= LONGEST_TOPIC
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts above 16 million weigh the same")]
pub(crate) fn to_f32(count: u32) -> f32 {
    count as f32
}

struct Reader {
    index: KeyMap<u32>,
    terms: Vec<Term>,
    bags: Vec<u32>,
    segments: Vec<OfSegment>,
    /// The terms of the current segment.
    keys: Vec<u64>,
    bag: Vec<u32>,
}

impl Reader {
    /// Preallocates for the expected number of terms, within a limit.
    fn with_capacity(segments: &[Segment]) -> Self {
        const BYTES_PER_TERM: usize = 10;
        const MANY: usize = 1 << 12;
        let bytes: usize = segments.iter().map(|segment| segment.text.len()).sum();
        let terms = (bytes / BYTES_PER_TERM).min(MANY);
        let index = KeyMap::with_capacity_and_hasher(terms, BuildHasherDefault::default());
        let (terms, bags) = (Vec::with_capacity(terms), Vec::with_capacity(terms));
        Self { index, terms, bags, segments: Vec::with_capacity(segments.len()), keys: Vec::new(), bag: Vec::new() }
    }

    fn read(&mut self, segment: usize, document: usize, text: &str) {
        self.keys.clear();
        let mut bag = std::mem::take(&mut self.bag);
        let mut before: Option<Word<'_>> = None;
        for word in words(text) {
            let opens = self.keys.is_empty();
            self.keys.push(word.key);
            if is_common(&word) && !is_month(&word, text, opens) {
                // "New" is common, but begins "New York".
                before = (word.form == Form::Capital && word.text.len() > 2).then_some(word);
                continue;
            }
            bag.push(self.count(segment, document, word, word.key, opens));
            let name = word.form == Form::Capital;
            if let Some(first) = before.filter(|first| name && first.at + first.text.len() + 1 == word.at) {
                let text = text.get(first.at..word.at + word.text.len()).unwrap_or_default();
                let both = Word { text, at: first.at, key: phrase_key(first.key, word.key), form: Form::Capital };
                // "The Berlin" at the beginning of a sentence is not a name, unless it is one elsewhere.
                let opened = self.keys.len() == 2 && is_common(&first);
                if !opened || self.index.contains_key(&both.key) {
                    bag.push(self.count(segment, document, both, both.key, false));
                }
            }
            before = name.then_some(word);
        }
        bag.sort_unstable();
        bag.dedup();
        self.bags.append(&mut bag);
        self.bag = bag;
        self.segments.push(OfSegment { bag_end: self.bags.len(), cues: cues(text, &self.keys) });
    }

    /// Counts one occurrence; returns the term's number. A capital at the beginning of a sentence does not count.
    fn count(&mut self, segment: usize, document: usize, word: Word<'_>, key: u64, opens: bool) -> u32 {
        let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        let number = *self.index.entry(key).or_insert(next);
        let capital = word.form == Form::Capital && !opens;
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        match self.terms.get_mut(index) {
            Some(term) => {
                term.count += 1;
                term.capitals += u32::from(capital);
                term.form = term.form.max(word.form);
                if term.last != document {
                    term.last = document;
                    term.documents += 1;
                }
            }
            None => self.terms.push(Term {
                place: (segment, word.at, word.text.len()),
                form: word.form,
                count: 1,
                documents: 1,
                last: document,
                capitals: u32::from(capital),
                phrase: word.text.contains(' '),
                weight: 0.0,
            }),
        }
        number
    }
}

/// Stop words: English, and the most common ones of a few neighbouring languages.
const COMMON: &str = "a an the this that these those there here it its itself i me my mine myself we us our ours you \
    your yours he him his she her hers they them their theirs who whom whose which what when where why how and or but \
    nor so yet if then else than as at by for from in into of off on onto out over to up down upon with within without \
    about above after again against all almost along already also although always among another any anyone anything \
    are aren't around be became because become been before being below between both can can't cannot could couldn't \
    did didn't do does doesn't doing don't done during each either enough even ever every everyone everything few \
    first get gets getting go goes going gone got had hadn't has hasn't have haven't having however i'd i'll i'm i've \
    is isn't it's just keep kind know last least less let let's like likely little look lot lots made make makes making \
    many may maybe mean might more most much must need never next no none not nothing now often ok okay once one only \
    other others otherwise own per perhaps please pretty put quite rather really right said same say see seem several \
    shall should shouldn't since some someone something sometimes soon still such sure take tell thank thanks that's \
    there's they're thing things think through thus too try two under until use used using usually very want was \
    wasn't way we'd we'll we're we've well went were weren't what's while will won't would wouldn't yeah yes you'd \
    you'll you're you've great good nice hi hello hey bye goodbye wow cool cheers congrats awesome amazing haha lol morning evening great happy help sounds looks able based ensure include \
    including consider conclusion overview introduction additional tip step example provide specific different various new \
    der die das den dem des ein eine einen und oder aber nicht ist sind war ich du er sie es wir ihr mit auf für von \
    zu im am le la les un une des et ou est sont je tu il elle nous vous dans pour avec sur que qui el los las una y \
    o es son yo con por para en de del no se lo";

static COMMON_KEYS: LazyLock<KeySet> = LazyLock::new(|| COMMON.split_whitespace().map(key).collect());

pub(crate) fn is_common(word: &Word<'_>) -> bool {
    let small = word.text.len() < 2 && word.form != Form::Figure;
    // Hiragana alone is mostly endings and particles.
    let grammar = word.form == Form::Unspaced && word.text.chars().all(|c| matches!(c, '\u{3041}'..='\u{309f}'));
    small || grammar || (word.form != Form::Figure && word.text.len() <= 12 && COMMON_KEYS.contains(&word.key))
}

/// True if "May" is the month: capitalized within a sentence, or before a figure.
fn is_month(word: &Word<'_>, text: &str, opens: bool) -> bool {
    let after = || text.get(word.at + word.text.len()..).unwrap_or_default().trim_start();
    word.text == "May" && (!opens || after().starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use memory_core::{NodeId, NodeRange, SummaryMetadata};

    use super::*;
    use crate::segments::cut;

    fn topics(text: &str, handed_down: &[&str]) -> Vec<String> {
        let mut segments = Vec::new();
        cut(0, text, &mut segments);
        let source = SummarySource::new(NodeRange::single(NodeId::FIRST), text)
            .metadata(SummaryMetadata::default().topics(handed_down.iter().map(|&topic| topic.into()).collect()));
        Terms::read(&segments, 1).topics(&segments, &[source], 5)
    }

    #[test]
    fn topics_are_what_is_said_often_and_names_stay_whole() {
        let text =
            "We fly to New York in May. The budget is tight. The budget covers hotels. New York has many hotels.";
        let topics = topics(text, &[]);
        assert!(topics.contains(&"New York".to_owned()), "{topics:?}");
        assert!(topics.contains(&"budget".to_owned()), "{topics:?}");
        assert!(topics.len() <= 5 && !topics.contains(&"York".to_owned()), "{topics:?}");
    }

    #[test]
    fn topics_of_the_sources_are_merged_with_the_words() {
        let topics = topics("The deployment failed.", &["Deployments", "on; call"]);
        assert_eq!(topics[0], "Deployments");
        assert!(topics.contains(&"on call".to_owned()), "{topics:?}");
        assert!(!topics.contains(&"deployment".to_owned()), "{topics:?}");
    }

    #[test]
    fn figures_weigh_more_than_words() {
        let mut segments = Vec::new();
        cut(0, "The invoice 4711 waits.", &mut segments);
        let terms = Terms::read(&segments, 1);
        let weights: Vec<_> = terms.of_segment(0).iter().map(|&term| terms.term(term).unwrap().weight).collect();
        assert_eq!(weights.len(), 3);
        assert!(weights[1] > weights[0] && weights[1] > weights[2]);
    }
}
