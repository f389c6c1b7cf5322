//! The novelty scorer.

use memory_core::{ImportanceScorer, ScoreError, ScoreJob, WrittenBy};

use crate::{
    terms::{is_common, to_f32},
    words::{Form, KeyMap, words},
};

/// Scores a message by how much of it is new relative to the messages before it.
///
/// If a message and those before it have embeddings, its novelty is one minus the cosine with the nearest of the 256
/// before it. Otherwise it is the share of its informative words that no earlier message contains; names and figures
/// count more. Either way a message of few words scores low: "ok" is new once, but has no content.
///
/// The first message of a batch is all new.
///
/// ```
/// use memory_core::{ImportanceScorer, Role, ScoreJob};
/// use memory_strategies::Novelty;
///
/// let job = |text| ScoreJob::new(Role::User, text);
/// let hall = "The hall in Ghent costs 1,850 euros.";
/// let scores = Novelty.score(&[job(hall), job(hall), job("Priya ordered soup for 40 people.")]).unwrap();
/// assert!(scores[1] < 0.1 && scores[2] > 0.5);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Novelty;

/// How many earlier messages are compared by embeddings.
const WINDOW: usize = 256;

/// Informative words at which a message counts half.
const HALF: f32 = 2.0;

impl ImportanceScorer for Novelty {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("novelty", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let mut said: KeyMap<usize> = KeyMap::default();
        let mut scores = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.iter().enumerate() {
            let by_words = MessageWords::of(index, job.text, &mut said);
            let before = jobs.get(index.saturating_sub(WINDOW)..index).unwrap_or_default();
            let share = by_vectors(job, before).unwrap_or_else(|| by_words.new_share());
            scores.push((share * by_words.substance()).clamp(0.0, 1.0));
        }
        Ok(scores)
    }
}

/// The distance of `job` from the nearest message before it; `None` if one of them has no embedding of the same length.
fn by_vectors(job: &ScoreJob<'_>, before: &[ScoreJob<'_>]) -> Option<f32> {
    let own = job.embedding?;
    let mut nearest = 0.0_f32;
    for other in before {
        let other = other.embedding.filter(|other| other.len() == own.len())?;
        nearest = nearest.max(own.iter().zip(other).map(|(a, b)| a * b).sum());
    }
    // A zero vector has no direction.
    nearest.is_finite().then(|| 1.0 - nearest.min(1.0))
}

/// The weight of the informative words of one message.
#[derive(Clone, Copy, Debug, Default)]
struct MessageWords {
    all: f32,
    new: f32,
    count: u32,
}

impl MessageWords {
    /// Reads message `index`; `said` maps each word to the last message that contains it.
    fn of(index: usize, text: &str, said: &mut KeyMap<usize>) -> Self {
        let mut found = Self::default();
        for word in words(text).filter(|word| !is_common(word)) {
            let last = said.insert(word.key, index);
            if last == Some(index) {
                continue;
            }
            let weight = match word.form {
                Form::Figure => 1.8,
                Form::Capital | Form::Identifier => 1.4,
                Form::Plain => 1.0,
                Form::Unspaced => 0.5,
            };
            found.all += weight;
            found.new += if last.is_none() { weight } else { 0.0 };
            found.count = found.count.saturating_add(1);
        }
        found
    }

    fn new_share(self) -> f32 {
        if self.all > 0.0 { self.new / self.all } else { 0.0 }
    }

    fn substance(self) -> f32 {
        let count = to_f32(self.count);
        count / (count + HALF)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Role;

    use super::*;

    fn by_words(texts: &[&str]) -> Vec<f32> {
        let jobs: Vec<_> = texts.iter().map(|&text| ScoreJob::new(Role::User, text)).collect();
        Novelty.score(&jobs).unwrap()
    }

    #[test]
    fn what_was_said_is_not_new_and_what_says_nothing_is_not_important() {
        let hall = "The hall in Ghent costs 1,850 euros.";
        let scores = by_words(&[hall, "ok", hall, "The hall in Bruges costs 1,850 euros.", ""]);
        assert!(scores[0] > 0.6, "{scores:?}");
        assert_eq!((scores[1], scores[2], scores[4]), (0.0, 0.0, 0.0));
        assert!(scores[3] > 0.1 && scores[3] < scores[0], "{scores:?}");
    }

    #[test]
    fn a_language_without_spaces_is_compared_by_pairs() {
        let scores = by_words(&["会議は東京駅で始まります", "会議は東京駅で始まります", "予算は大阪で決めました"]);
        assert!(scores[1] < 0.01 && scores[2] > 0.5, "{scores:?}");
    }

    #[test]
    fn embeddings_outrank_words() {
        let job = |text, embedding| ScoreJob::new(Role::User, text).embedding(embedding);
        let (east, north) = ([1.0, 0.0], [0.0, 1.0]);
        let text = "the hall in Ghent costs money";
        let jobs = [job(text, &east[..]), job("renting rooms takes euros", &east), job(text, &north)];
        let scores = Novelty.score(&jobs).unwrap();
        assert_eq!(scores[1], 0.0, "other words, one meaning");
        assert!(scores[2] > 0.5, "{scores:?}");
    }

    #[test]
    fn one_message_without_an_embedding_sets_words_against_words() {
        let text = "the hall in Ghent costs money";
        let east = [1.0, 0.0];
        let with = ScoreJob::new(Role::User, text).embedding(&east[..]);
        let scores = Novelty.score(&[ScoreJob::new(Role::User, "soup for Priya"), with]).unwrap();
        assert_eq!(scores, by_words(&["soup for Priya", text]));
    }
}
