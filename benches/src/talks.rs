//! Made-up talks of two people, for stores of many conversations. Words follow Zipf's law, next to names, numbers and
//! codes, so that questions have rare words and common ones. A number gives the same talk on every machine.

use fastrand::Rng;
use memory_core::{Message, Timestamp};

#[rustfmt::skip]
const FIRST_NAMES: &[&str] = &[
    "Maya", "Tomas", "Ingrid", "Kwame", "Lucia", "Pavel", "Noor", "Emil", "Aiko", "Bram", "Chiara", "Dario", "Elif",
    "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaja", "Levi", "Mira", "Nils", "Olga", "Priya", "Quinn", "Rosa",
    "Sven", "Tala", "Umar", "Vera", "Wanda", "Yusuf",
];
#[rustfmt::skip]
const LAST_NAMES: &[&str] = &[
    "Abara", "Berg", "Castell", "Dvorak", "Eriksen", "Fontana", "Gruber", "Halvorsen", "Ito", "Jansen", "Kowalski",
    "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Sato", "Tanaka", "Ueda", "Vogel", "Weiss",
    "Xenakis", "Ylitalo", "Zeman",
];
#[rustfmt::skip]
const THINGS: &[&str] = &[
    "printer", "boat", "garage", "archive", "router", "locker", "camera", "workshop", "piano", "greenhouse",
    "projector", "cellar", "trailer", "studio", "drone", "telescope", "kiln",
];
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "moves", "needs", "repairs", "delays", "replaces", "measures", "confirms", "forgets", "blocks", "reports",
    "paints", "returns", "cancels", "splits",
];
#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "late", "slow", "broken", "ready", "quiet", "narrow", "empty", "expensive", "rusty", "partial", "wooden", "early",
    "spare", "green",
];
#[rustfmt::skip]
const TAILS: &[&str] = &[
    "before the release", "after lunch", "without a warning", "twice a day", "behind the office", "unless it rains",
    "as agreed last week", "by hand",
];
const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// The most common words, by falling frequency.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "meeting", "report", "train", "garden", "budget", "ticket", "house", "school", "invoice", "kitchen", "phone",
    "doctor", "window", "market", "contract", "bicycle", "recipe", "server", "weather", "library", "engine",
    "holiday", "dentist", "letter", "bridge", "battery", "concert", "museum", "ladder", "orchard", "ferry", "violin",
    "lantern", "permit", "harvest", "glacier",
];
const CONSONANTS: &[&str] = &["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u"];

/// First rank of the topics' words, which no text draws by Zipf's law.
const FIRST_TOPIC: usize = 20_000;

/// The word of this rank, from 0: a common one, or one of three or more syllables. No two ranks share a word.
fn word(rank: usize) -> String {
    if let Some(common) = COMMON.get(rank) {
        return (*common).to_owned();
    }
    let syllables = CONSONANTS.len() * VOWELS.len();
    let (mut rest, mut text) = (rank, String::new());
    while rest > 0 || text.len() < 6 {
        let syllable = rest % syllables;
        rest /= syllables;
        text += CONSONANTS.get(syllable / VOWELS.len()).copied().unwrap_or_default();
        text += VOWELS.get(syllable % VOWELS.len()).copied().unwrap_or_default();
    }
    text
}

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
/// Milliseconds between two messages of a talk.
const PAUSE: i64 = 420 * SECOND;
/// The first of January 2024, in milliseconds.
const BEGIN: i64 = 1_704_067_200 * SECOND;

/// Speakers and topics of one talk. Messages are generated on demand.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    number: u32,
    speakers: [String; 2],
    /// Words that this talk uses often and others hardly ever.
    topics: [String; 3],
    /// A code that occurs in no other talk.
    code: String,
    euros: u32,
}

/// A question about a talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) text: String,
    /// Index of the message that answers the question; `None` if many do.
    pub(crate) answer: Option<usize>,
}

/// Number of ranks that Zipf's law draws from.
const WORDS: f64 = 20_000.0;
/// Kinds of questions.
pub(crate) const KINDS: usize = 6;

impl Talk {
    /// The talk of this number.
    pub(crate) fn of(number: u32) -> Self {
        let mut rng = Rng::with_seed(u64::from(number) << 32 | 1);
        let mut name = || format!("{} {}", pick(&mut rng, FIRST_NAMES), pick(&mut rng, LAST_NAMES));
        let speakers = [name(), name()];
        let mut topic = || word(FIRST_TOPIC + rng.usize(0..20_000));
        let topics = [topic(), topic(), topic()];
        let letter = |place: u32| char::from(b'A' + u8::try_from(number / 26u32.pow(place) % 26).unwrap_or_default());
        let code = format!("{}{}{}-{:04}", letter(2), letter(1), letter(0), number.wrapping_mul(7_919) % 10_000);
        Self { number, speakers, topics, code, euros: 1_000 + number.wrapping_mul(6_113) % 90_000 }
    }

    /// The name of its conversation.
    pub(crate) fn name(&self) -> String {
        format!("talk-{:05}", self.number)
    }

    /// The message at `index`, with its time.
    pub(crate) fn message(&self, index: usize) -> (Message, Timestamp) {
        let [user, other] = &self.speakers;
        let text = self.text(index);
        let mut message = if index.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) };
        message.speaker = Some(if index.is_multiple_of(2) { user } else { other }.clone());
        let index = i64::try_from(index).unwrap_or(i64::MAX / PAUSE);
        (message, Timestamp::from_millis(BEGIN + i64::from(self.number) * HOUR + index.saturating_mul(PAUSE)))
    }

    /// A question of one of the [`KINDS`]: for a code, of a code, about a name, about a number, of a phrase, and in
    /// common words alone.
    pub(crate) fn question(&self, kind: usize) -> Asked {
        let [thing, bought, _] = &self.topics;
        let asked = |text, answer| Asked { text, answer: Some(answer) };
        match kind {
            0 => asked(format!("What is the access code of the {thing} {}?", self.thing()), self.code_at()),
            1 => asked(format!("Where did we mention {}?", self.code), self.code_at()),
            2 => asked(format!("What did {} buy for the {bought}?", self.speakers[0]), self.purchase_at()),
            3 => asked(format!("Who paid {} euros?", self.euros), self.purchase_at()),
            4 => asked(format!("\"a used {} for the {bought}\"", self.thing()), self.purchase_at()),
            _ => Asked { text: "Does anybody know why the meeting is late?".to_owned(), answer: None },
        }
    }

    /// Index of the message with the code.
    fn code_at(&self) -> usize {
        2 + self.number as usize % 7
    }

    /// Index of the user's message about a purchase.
    fn purchase_at(&self) -> usize {
        10 + 2 * (self.number as usize % 11)
    }

    fn thing(&self) -> &'static str {
        THINGS.get(self.number as usize % THINGS.len()).copied().unwrap_or_default()
    }

    fn text(&self, index: usize) -> String {
        let [thing, bought, _] = &self.topics;
        if index == self.code_at() {
            return format!("The access code of the {thing} {} is {}, please keep it.", self.thing(), self.code);
        }
        if index == self.purchase_at() {
            let (euros, at) = (self.euros, self.thing());
            return format!("I paid {euros} euros and got a used {at} for the {bought} from {}.", self.speakers[1]);
        }
        let mut rng = Rng::with_seed(u64::from(self.number) << 32 | (index as u64 + 2));
        let sentences: Vec<_> = (0..rng.usize(1..=3)).map(|_| self.sentence(&mut rng)).collect();
        sentences.join(" ")
    }

    fn sentence(&self, rng: &mut Rng) -> String {
        let [one, two] = [self.word(rng), self.word(rng)];
        let (verb, adjective, tail) = (pick(rng, VERBS), pick(rng, ADJECTIVES), pick(rng, TAILS));
        let (hour, number) = (rng.u32(7..22), rng.u32(2..500));
        match rng.u8(0..7) {
            0 => format!("{} says that the {one} {verb} a {two}.", pick(rng, FIRST_NAMES)),
            1 => format!("We moved the {one} meeting to {} at {hour}:{:02}.", pick(rng, DAYS), number % 60),
            2 => format!("It took {number} minutes until the {one} was {adjective}."),
            3 => format!("Does anybody know why the {one} is {adjective}?"),
            4 => format!("The {one} of the {two} costs {number} euros {tail}."),
            _ => format!("I think the {adjective} {one} {verb} the {two} {tail}."),
        }
    }

    /// A word of the topics, or any word, where rank `n` is `n` times rarer than the first.
    fn word(&self, rng: &mut Rng) -> String {
        if rng.u8(0..5) == 0
            && let Some(topic) = rng.choice(&self.topics)
        {
            return topic.clone();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..=20,000")]
        word(WORDS.powf(rng.f64()) as usize - 1)
    }
}

fn pick(rng: &mut Rng, words: &'static [&'static str]) -> &'static str {
    rng.choice(words).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn every_rank_has_a_word_of_its_own() {
        let words: HashSet<_> = (0..50_000).map(word).collect();
        assert_eq!(words.len(), 50_000);
    }

    #[test]
    fn a_number_always_gives_the_same_talk() {
        let said = |number| (0..50).map(|index| Talk::of(number).message(index)).collect::<Vec<_>>();
        assert_eq!(said(7), said(7));
        assert_ne!(said(7), said(8));
    }

    #[test]
    fn a_question_is_answered_by_its_message_and_no_code_stands_twice() {
        let talks: Vec<_> = (0..10_000).map(Talk::of).collect();
        assert_eq!(talks.iter().map(|talk| &talk.code).collect::<HashSet<_>>().len(), talks.len());
        let talk = &talks[1_234];
        let answer = |kind| talk.text(talk.question(kind).answer.unwrap());
        assert!(answer(0).contains(&talk.code) && answer(1).contains(&talk.code));
        assert!(talk.question(1).text.contains(&talk.code));
        assert!(answer(3).contains(&talk.euros.to_string()) && answer(4).contains(&talk.topics[1]));
        assert!(answer(4).contains(talk.question(4).text.trim_matches('"')));
        let speaker = talk.message(talk.question(2).answer.unwrap()).0.speaker.unwrap();
        assert!(talk.question(2).text.contains(&speaker));
    }

    #[test]
    fn words_are_common_and_rare() {
        let mut counts = HashMap::<String, u32>::new();
        for number in 0..200 {
            for index in 0..50 {
                let text = Talk::of(number).text(index).to_lowercase();
                text.split(|c: char| !c.is_alphanumeric())
                    .for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
            }
        }
        let mut sorted: Vec<u32> = counts.into_values().collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert!(sorted.len() > 5_000, "{} words", sorted.len());
        assert!(sorted[20] > 500 && sorted[1_000] < 60, "{} {}", sorted[20], sorted[1_000]);
    }
}
