//! The scorer by recency and use.

use memory_core::{ImportanceScorer, ScoreError, ScoreJob, Timestamp, WrittenBy};
use serde::Deserialize;

use crate::{
    configuration::{self, InvalidConfiguration},
    terms::to_f32,
};

/// Scores a message by its exponentially decaying recency, and by how often it was recalled.
///
/// Age is measured from the newest message of the same batch, never from a clock, so that the scores are reproducible;
/// it is counted in messages if one of them has no timestamp. The first use counts most: `n` uses score `n / (n + 1)`.
/// The score is the mean of both, weighted by [`Self::use_share`].
///
/// A host scores a message once, before it is summarized. Its uses are the searches that found it and its expansions in
/// the same process until then; its age is relative to the messages it is summarized with.
///
/// Exponential decay and refresh by use follow Park et al., "Generative Agents: Interactive Simulacra of Human
/// Behavior" (2023).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RecencyAndUse {
    /// The half-life of recency in hours; above 0, 168 by default.
    pub half_life_hours: f32,
    /// The half-life in messages, used without timestamps; above 0, 200 by default.
    pub half_life_messages: f32,
    /// The weight of use against recency, in 0..=1; 0.5 by default.
    pub use_share: f32,
}

impl Default for RecencyAndUse {
    fn default() -> Self {
        Self { half_life_hours: 168.0, half_life_messages: 200.0, use_share: 0.5 }
    }
}

impl RecencyAndUse {
    /// The JSON Schema of its configuration.
    pub const SCHEMA: &'static str = r#"{
        "type": "object",
        "properties": {
            "half_life_hours": { "type": "number", "exclusiveMinimum": 0 },
            "half_life_messages": { "type": "number", "exclusiveMinimum": 0 },
            "use_share": { "type": "number", "minimum": 0, "maximum": 1 }
        },
        "additionalProperties": false
    }"#;

    memory_core::setters! {
        const half_life_hours: f32,
        const half_life_messages: f32,
        const use_share: f32,
    }

    /// A scorer from a configuration: JSON text that matches [`Self::SCHEMA`], or empty.
    ///
    /// # Errors
    /// When the text does not match the schema.
    pub fn from_configuration(json: &str) -> Result<Self, InvalidConfiguration> {
        let read: Self = configuration::read(json)?;
        let positive = |value: f32| value.is_finite() && value > 0.0;
        if !positive(read.half_life_hours) || !positive(read.half_life_messages) {
            return Err(InvalidConfiguration("a half-life must be above 0".to_owned()));
        }
        if !(0.0..=1.0).contains(&read.use_share) {
            return Err(InvalidConfiguration("use_share must be in 0..=1".to_owned()));
        }
        Ok(read)
    }

    /// The recency of each of `jobs`: 1 for the newest, halving with age.
    fn recency(&self, jobs: &[ScoreJob<'_>]) -> Vec<f32> {
        let times: Option<Vec<Timestamp>> = jobs.iter().map(|job| job.said_at).collect();
        let newest = times.as_ref().and_then(|times| times.iter().max());
        let half_lives: Vec<f32> = match (&times, newest) {
            (Some(times), Some(newest)) => {
                let hours = |at: &Timestamp| to_hours(newest.as_millis().saturating_sub(at.as_millis()));
                times.iter().map(|at| hours(at) / self.half_life_hours).collect()
            }
            _ => {
                let after = |place: usize| to_f32(u32::try_from(jobs.len() - 1 - place).unwrap_or(u32::MAX));
                (0..jobs.len()).map(|place| after(place) / self.half_life_messages).collect()
            }
        };
        half_lives.into_iter().map(|half_lives| (-half_lives).exp2()).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "hours need no more digits")]
fn to_hours(millis: i64) -> f32 {
    millis as f32 / 3_600_000.0
}

impl ImportanceScorer for RecencyAndUse {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("recency-and-use", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let score = |(recency, job): (f32, &ScoreJob<'_>)| {
            let uses = to_f32(job.uses);
            let use_share = self.use_share.clamp(0.0, 1.0);
            (recency * (1.0 - use_share) + uses / (uses + 1.0) * use_share).clamp(0.0, 1.0)
        };
        Ok(self.recency(jobs).into_iter().zip(jobs).map(score).collect())
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Role;

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn job(hour: Option<i64>, uses: u32) -> ScoreJob<'static> {
        ScoreJob::new(Role::User, "x").said_at(hour.map(|hour| Timestamp::from_millis(hour * HOUR))).uses(uses)
    }

    #[test]
    fn a_half_life_halves_and_use_keeps_alive() {
        let scorer = RecencyAndUse { half_life_hours: 10.0, use_share: 0.5, ..RecencyAndUse::default() };
        let scores = scorer.score(&[job(Some(0), 0), job(Some(0), 3), job(Some(10), 0), job(Some(20), 0)]).unwrap();
        assert_eq!(scores, [0.125, 0.5, 0.25, 0.5]);
    }

    #[test]
    fn without_times_messages_are_counted() {
        let scorer = RecencyAndUse { half_life_messages: 1.0, use_share: 0.0, ..RecencyAndUse::default() };
        assert_eq!(scorer.score(&[job(Some(7), 9), job(None, 0), job(Some(9), 0)]).unwrap(), [0.25, 0.5, 1.0]);
        assert_eq!(scorer.score(&[]).unwrap(), [0.0; 0]);
    }

    #[test]
    fn times_at_the_ends_of_the_calendar_are_survived() {
        let at = |millis| ScoreJob::new(Role::User, "x").said_at(Timestamp::from_millis(millis));
        let scores = RecencyAndUse::default().score(&[at(i64::MIN), at(i64::MAX)]).unwrap();
        assert_eq!(scores, [0.0, 0.5]);
    }

    #[test]
    fn a_configuration_is_checked() {
        let read = RecencyAndUse::from_configuration(r#"{"half_life_hours": 24}"#).unwrap();
        assert_eq!(read, RecencyAndUse { half_life_hours: 24.0, ..RecencyAndUse::default() });
        assert_eq!(RecencyAndUse::from_configuration("").unwrap(), RecencyAndUse::default());
        for bad in [r#"{"half_life_hours": 0}"#, r#"{"use_share": 2}"#, r#"{"half_life": 3}"#, "{"] {
            assert!(RecencyAndUse::from_configuration(bad).is_err(), "{bad}");
        }
    }
}
