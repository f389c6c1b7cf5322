//! The rule-based scorer.

use memory_core::{
    Role, WrittenBy,
    port::{ImportanceScorer, ScoreError, ScoreJob},
};

use crate::{
    cues::{Cues, cues},
    sentences::sentences,
    words::{Form, words},
};

/// Scores by rules: decisions, commitments, preferences, errors and their fixes, personal facts, figures, code, and
/// answers to the preceding question score high; greetings and thanks score low.
///
/// Signs combine like independent probabilities, so that a score approaches 1 but never exceeds it. Needs no model.
///
/// ```
/// use memory_core::{port::{ImportanceScorer, ScoreJob}, Role};
/// use memory_strategies::Rules;
///
/// let job = |text| ScoreJob::new(Role::User, text);
/// let scores = Rules.score(&[job("We decided: the budget is 4,200 euros."), job("ok, thanks!")]).unwrap();
/// assert!(scores[0] > 0.6 && scores[1] < 0.2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules;

impl ImportanceScorer for Rules {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("rules", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let mut asked_by: Option<Role> = None;
        let score = |job: &ScoreJob<'_>| {
            let mut signs = Signs::of_text(job.text);
            signs.answers = asked_by.is_some_and(|role| role != job.role);
            if job.role != Role::Tool {
                asked_by = signs.asks.then_some(job.role);
            }
            signs.score(Some(job.role))
        };
        Ok(jobs.iter().map(score).collect())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    cues: Cues,
    /// Words with digits.
    figures: u32,
    /// Words outside small talk.
    substance: u32,
    pub(crate) code: bool,
    /// True if the message ends with a question.
    asks: bool,
    answers: bool,
}

impl Signs {
    /// Adds a sentence with these numbers of figures and other words.
    pub(crate) fn add(&mut self, cues: Cues, figures: u32, others: u32) {
        self.cues = self.cues.with(cues);
        self.figures += figures;
        self.asks = cues.has(Cues::QUESTION);
        if !cues.has(Cues::SMALL_TALK) {
            self.substance += others;
        }
    }

    fn of_text(text: &str) -> Self {
        let mut signs = Self::default();
        let mut keys = Vec::new();
        for sentence in text.lines().flat_map(sentences) {
            keys.clear();
            let mut figures = 0;
            for word in words(sentence) {
                keys.push(word.key);
                figures += u32::from(word.form == Form::Figure);
            }
            let others = u32::try_from(keys.len()).unwrap_or(u32::MAX);
            signs.add(cues(sentence, &keys), figures, others);
            signs.code |= sentence.starts_with("```") || sentence.starts_with("~~~");
        }
        signs
    }

    /// The score of a message by `role`, in 0..=1.
    pub(crate) fn score(&self, role: Option<Role>) -> f32 {
        let base: f32 = match role {
            Some(Role::System) => 0.4,
            Some(Role::User) => 0.2,
            Some(Role::Assistant) | None => 0.15,
            Some(Role::Tool) => 0.1,
        };
        let talk_only = self.substance < 4 && self.figures == 0 && !self.code;
        let base = if talk_only { base * 0.4 } else { base };
        let signs = [
            (self.cues.has(Cues::DECISION), 0.5),
            (self.cues.has(Cues::COMMITMENT), 0.25),
            (self.cues.has(Cues::PREFERENCE), 0.35),
            (self.cues.has(Cues::PROBLEM), 0.25),
            (self.cues.has(Cues::FIX), 0.25),
            (self.cues.has(Cues::EMPHASIS), 0.35),
            (self.cues.has(Cues::PERSONAL), 0.2),
            (self.figures > 0, 0.15),
            (self.figures > 2, 0.1),
            (self.code, 0.2),
            (self.asks, 0.05),
            (self.answers && !talk_only, 0.15),
        ];
        let missed =
            signs.iter().filter(|(seen, _)| *seen).fold(1.0 - base, |missed, (_, weight)| missed * (1.0 - weight));
        (1.0 - missed).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(texts: &[(Role, &str)]) -> Vec<f32> {
        let jobs: Vec<_> = texts.iter().map(|&(role, text)| ScoreJob::new(role, text)).collect();
        Rules.score(&jobs).unwrap()
    }

    fn score(text: &str) -> f32 {
        scores(&[(Role::User, text)])[0]
    }

    #[test]
    fn what_matters_outweighs_a_plain_remark() {
        let plain = score("The weather by the sea changes quickly.");
        for text in [
            "We decided to use Postgres for the archive.",
            "I will send the contract by Friday.",
            "I prefer short answers without bullet points.",
            "The import failed with an exception.",
            "The root cause was a stale cache.",
            "Please remember that the door code changes.",
            "The invoice says 4,200.50 euros.",
            "```rust\nfn main() {}\n```",
        ] {
            assert!(score(text) > plain, "{text}");
        }
        assert!(score("ok, thanks!") < plain);
    }

    #[test]
    fn signs_add_up_without_passing_one() {
        let one = score("We decided to use Postgres for it.");
        let more =
            score("Important: we decided to use Postgres 17 by Friday because the import failed. I prefer that.");
        assert!(one < more && more <= 1.0);
    }

    #[test]
    fn an_answer_to_a_question_matters_more_than_the_same_words_alone() {
        let answer = (Role::User, "The blue one on the left side.");
        let asked = scores(&[(Role::Assistant, "Which door is yours?"), answer]);
        let unasked = scores(&[(Role::Assistant, "There are two doors."), answer]);
        assert!(asked[1] > unasked[1]);
    }

    proptest! {
        #[test]
        fn every_score_is_in_range_and_every_job_has_one(texts in prop::collection::vec("(.|\n){0,60}", 0..6)) {
            let jobs: Vec<_> = texts.iter().map(|text| (Role::User, text.as_str())).collect();
            let scores = scores(&jobs);
            prop_assert_eq!(scores.len(), jobs.len());
            prop_assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        }
    }
}
