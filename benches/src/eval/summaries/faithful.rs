//! Whether a summary is faithful to its message: how long its runs are, what is joined without a sign, what loses its
//! negation.

use std::collections::{HashMap, HashSet};

use super::terms::{self, is_listed_common, normal};

/// Words that negate what follows.
const NEGATORS: &[&str] =
    &["not", "never", "cannot", "no", "nobody", "nothing", "without", "neither", "nor", "none", "hardly"];

/// Words without content of their own, beside the common ones.
const STOP: &str = "a an i me my we us he it of to in on at by as or so if do did be am im i'm it's that's just really well \
    yeah oh um uh hey hi thanks thank great good nice okay ok like know think get got go going let lot much even still yet \
    want need make made thing things something one way time day";

/// How many words a negation reaches.
const REACH: usize = 4;

/// Counts for one summary, or for several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faithful {
    /// Words of the summary, and the runs of the message that they make.
    pub(super) words: usize,
    pub(super) runs: usize,
    /// Neighbours that are not neighbours in the message, with only a blank between them.
    pub(super) splices: usize,
    /// Negated words that were kept, with and without their negation.
    pub(super) negated: usize,
    pub(super) flipped: usize,
    /// Messages that end in a question, and those of them whose summary has one.
    pub(super) asked: usize,
    pub(super) asking: usize,
}

impl Faithful {
    /// Counts for one message and its summary, without the speaker's name.
    pub(super) fn of(message: &str, summary: &str) -> Self {
        let (words, runs) = runs(message, summary);
        let (flipped, unflipped) = flips(message, summary);
        let asked = message.trim_end().ends_with('?');
        Self {
            words,
            runs,
            splices: splices(message, summary),
            negated: flipped + unflipped,
            flipped,
            asked: usize::from(asked),
            asking: usize::from(asked && summary.contains('?')),
        }
    }

    /// The sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            words: self.words + other.words,
            runs: self.runs + other.runs,
            splices: self.splices + other.splices,
            negated: self.negated + other.negated,
            flipped: self.flipped + other.flipped,
            asked: self.asked + other.asked,
            asking: self.asking + other.asking,
        }
    }
}

impl Faithful {
    /// The mean length of a run.
    pub(super) fn words_per_run(self) -> f64 {
        share(self.words, self.runs)
    }

    pub(super) fn splices_per_100(self) -> f64 {
        share(self.splices, self.words) * 100.0
    }

    pub(super) fn flipped_percent(self) -> f64 {
        share(self.flipped, self.negated) * 100.0
    }

    pub(super) fn asking_percent(self) -> f64 {
        share(self.asking, self.asked) * 100.0
    }
}

/// A share of nothing is 0.
#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// The words of the summary, and how many runs of the message they make: each the longest one in the message, from the
/// left.
fn runs(message: &str, summary: &str) -> (usize, usize) {
    let said: Vec<String> = terms::words(message).map(normal).collect();
    let told: Vec<String> = terms::words(summary).map(normal).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, word) in said.iter().enumerate() {
        places.entry(word).or_default().push(place);
    }
    let (mut at, mut runs) = (0, 0);
    while let Some(word) = told.get(at) {
        let length = |place: &usize| {
            let (said, told) = (said.iter().skip(*place), told.iter().skip(at));
            said.zip(told).take_while(|(said, told)| said == told).count()
        };
        at += places.get(word.as_str()).into_iter().flatten().map(length).max().unwrap_or(0).max(1);
        runs += 1;
    }
    (told.len(), runs)
}

/// For words that a negation of the message reaches first and that the message has once: how many the summary has
/// without a negation close before, and how many with one.
fn flips(message: &str, summary: &str) -> (usize, usize) {
    let lower = |text: &str| terms::words(text).map(str::to_lowercase).collect::<Vec<_>>();
    let (said, told) = (lower(message), lower(summary));
    let (mut flipped, mut kept) = (0, 0);
    for (at, _) in said.iter().enumerate().filter(|(_, word)| negates(word)) {
        let reached = said.iter().skip(at + 1).take(REACH).take_while(|word| !negates(word));
        let content = |word: &&String| {
            !is_listed_common(word) && !STOP.split_whitespace().any(|stop| stop == *word) && word.chars().count() > 2
        };
        let Some(word) = reached.into_iter().find(content) else { continue };
        if said.iter().filter(|other| *other == word).count() != 1 {
            continue;
        }
        if let Some(place) = told.iter().position(|other| other == word) {
            let before = told.get(place.saturating_sub(REACH)..place).unwrap_or_default();
            if before.iter().any(|word| negates(word)) { kept += 1 } else { flipped += 1 }
        }
    }
    (flipped, kept)
}

fn negates(word: &str) -> bool {
    let contracted = word.ends_with("n't") || word.ends_with("n’t");
    (contracted && word.chars().count() > 3) || NEGATORS.contains(&word)
}

/// Neighbours of the summary that are not neighbours in the message and have only a blank between them.
fn splices(message: &str, summary: &str) -> usize {
    let said: Vec<String> = terms::words(message).map(normal).collect();
    let pairs: HashSet<(&str, &str)> =
        said.windows(2).filter_map(|pair| Some((pair.first()?.as_str(), pair.last()?.as_str()))).collect();
    let told: Vec<(usize, &str)> = terms::placed_words(summary).collect();
    let parted = |pair: &&[(usize, &str)]| {
        let [(before, first), (after, second)] = pair else { return false };
        let blank = summary.get(before + first.len()..*after) == Some(" ");
        blank && !pairs.contains(&(normal(first).as_str(), normal(second).as_str()))
    };
    told.windows(2).filter(parted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "I have lived in Ghent since May. I don't eat nuts, and the old hall never opens. Shall we go?";

    #[test]
    fn a_span_is_one_run_and_words_picked_out_are_many() {
        assert_eq!(runs(SAID, "lived in Ghent … the old hall"), (6, 2));
        assert_eq!(runs(SAID, "lived Ghent hall opens"), (4, 4));
    }

    #[test]
    fn a_join_without_a_sign_is_a_splice() {
        assert_eq!(splices(SAID, "lived in Ghent … the old hall. Shall we go?"), 0);
        assert_eq!(splices(SAID, "lived Ghent since May"), 1);
    }

    #[test]
    fn a_word_without_its_negation_is_flipped() {
        assert_eq!(flips(SAID, "I don't eat nuts"), (0, 1));
        assert_eq!(flips(SAID, "eat nuts … never opens"), (1, 1));
    }

    #[test]
    fn a_question_is_kept_by_its_mark() {
        let asked = |summary| Faithful::of(SAID, summary).asking;
        assert_eq!((asked("Shall we…?"), asked("Shall we go")), (1, 0));
    }
}
