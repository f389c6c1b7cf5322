//! Generated English text: the same texts from the same seed, on every machine.

use fastrand::Rng;
use memory_core::{Message, NodeDraft, Role, Timestamp, port::TokenCounter};

#[rustfmt::skip]
const SUBJECTS: &[&str] = &[
    "the deployment", "our scheduler", "the invoice service", "a retry", "the parser", "the night shift", "the cache",
    "the new index", "a customer", "the migration", "the load balancer", "our test suite", "the audit", "the printer",
    "the telescope", "a reader thread", "the garden pump", "the ferry", "the archive", "the sensor", "our landlord",
    "the orchestra", "the beehive", "the warehouse", "a volunteer", "the compiler", "the ledger", "the greenhouse",
];
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "moves", "drops", "repairs", "delays", "rewrites", "counts", "ignores", "replaces", "measures", "overwrites",
    "needs", "confirms", "forgets", "doubles", "halves", "blocks", "reports", "paints", "borrows", "returns",
    "schedules", "cancels", "verifies", "compresses", "splits", "joins",
];
#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "stale", "nightly", "red", "slow", "broken", "second", "temporary", "quiet", "narrow", "signed", "empty",
    "expensive", "rusty", "encrypted", "partial", "wooden", "unread", "local", "remote", "brittle", "early", "spare",
];
#[rustfmt::skip]
const OBJECTS: &[&str] = &[
    "snapshot", "timeout", "queue", "ticket", "invoice", "certificate", "shard", "backup", "report", "schema",
    "dashboard", "ladder", "recipe", "contract", "battery", "filter", "token", "branch", "envelope", "permit",
    "violin", "lantern", "manifest", "checksum", "bicycle", "window", "meeting", "budget", "region", "threshold",
];
#[rustfmt::skip]
const TAILS: &[&str] = &[
    "before the release", "after lunch", "on Tuesday", "in the staging area", "without a warning", "twice a day",
    "for the auditors", "behind the office", "at half past nine", "unless it rains", "because nobody asked",
    "as agreed last week", "in every region", "under load", "with two witnesses", "by hand",
];
const NAMES: &[&str] = &["Maya", "Tomas", "Ingrid", "Kwame", "Lucia", "Pavel", "Noor", "Emil"];

/// An endless conversation of two people.
#[derive(Clone, Debug)]
pub struct Corpus {
    rng: Rng,
    said: u32,
}

impl Corpus {
    /// The conversation of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), said: 0 }
    }

    /// A text of exactly `bytes` bytes, ASCII only.
    pub fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 160);
        while text.len() < bytes {
            self.push_sentence(&mut text);
        }
        text.truncate(bytes);
        text
    }

    /// The next message: 1 to 8 sentences; user and model alternate, half a minute apart.
    pub fn draft(&mut self, counter: &dyn TokenCounter) -> NodeDraft {
        let mut text = String::new();
        for _ in 0..self.rng.usize(1..=8) {
            self.push_sentence(&mut text);
        }
        let role = if self.said.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let at = Timestamp::from_millis(i64::from(self.said) * 30_000);
        self.said += 1;
        let tokens = counter.count(&text);
        NodeDraft::new(Message::text_of(role, text), at, tokens)
    }

    /// The next messages.
    pub fn drafts(&mut self, count: usize, counter: &dyn TokenCounter) -> Vec<NodeDraft> {
        (0..count).map(|_| self.draft(counter)).collect()
    }

    /// A question that shares words with some of the messages.
    pub fn question(&mut self) -> String {
        let (adjective, object) = (self.pick(ADJECTIVES), self.pick(OBJECTS));
        format!(
            "Did {} say that {} {} the {adjective} {object}?",
            self.pick(NAMES),
            self.pick(SUBJECTS),
            self.pick(VERBS)
        )
    }

    fn push_sentence(&mut self, text: &mut String) {
        if !text.is_empty() {
            text.push(' ');
        }
        let (subject, verb) = (self.pick(SUBJECTS), self.pick(VERBS));
        let (adjective, object, tail) = (self.pick(ADJECTIVES), self.pick(OBJECTS), self.pick(TAILS));
        let number = self.rng.u32(2..5_000);
        let sentence = match self.rng.u8(0..6) {
            0 => format!("{} says that {subject} {verb} the {adjective} {object} {tail}.", self.pick(NAMES)),
            1 => format!("We decided that {subject} {verb} number {number}, not the {adjective} {object}."),
            2 => format!("Does anybody know why {subject} {verb} the {object} {tail}?"),
            3 => format!("It took {number} minutes until {subject} was done with the {adjective} {object}."),
            _ => format!("I think {subject} {verb} the {adjective} {object} {tail}."),
        };
        text.push_str(&sentence);
    }

    fn pick(&mut self, words: &'static [&'static str]) -> &'static str {
        self.rng.choice(words).copied().unwrap_or_default()
    }
}

/// A token count of a quarter of the bytes, so that counting takes no time.
#[derive(Debug)]
pub(crate) struct QuarterOfBytes;

impl TokenCounter for QuarterOfBytes {
    fn name(&self) -> &'static str {
        "quarter of bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_conversation() {
        let conversation = |seed| Corpus::new(seed).drafts(50, &WordCounter);
        assert_eq!(conversation(7), conversation(7));
        assert_ne!(conversation(7), conversation(8));
    }

    #[test]
    fn texts_have_the_size_asked_for() {
        let mut corpus = Corpus::new(1);
        for bytes in [1, 200, 2_000] {
            assert_eq!(corpus.text(bytes).len(), bytes);
        }
    }
}
