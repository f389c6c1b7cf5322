//! A scorer that blends several scorers by weight.

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{ImportanceScorer, ScoreError, ScoreJob, WrittenBy};

use crate::{
    Novelty, RecencyAndUse, Rules,
    configuration::{self, InvalidConfiguration},
};

/// The weighted mean of several scorers.
///
/// ```
/// use memory_core::{ImportanceScorer, Role, ScoreJob};
/// use memory_strategies::Blend;
///
/// let blend = Blend::from_configuration(r#"{"rules": 3, "novelty": 1}"#).unwrap();
/// let job = ScoreJob::new(Role::User, "We decided: the budget is 4,200 euros.");
/// let scores = blend.score(&[job, job]).unwrap();
/// assert!(scores[0] > scores[1] && scores[1] > 0.4, "said twice, it is still a decision");
/// ```
#[derive(Clone, Debug)]
pub struct Blend {
    /// Weights that add up to 1.
    parts: Vec<(f32, Arc<dyn ImportanceScorer>)>,
}

impl Blend {
    /// The JSON Schema of the configuration of [`Self::from_configuration`].
    pub const SCHEMA: &'static str = r#"{
        "type": "object",
        "description": "What each scorer counts.",
        "properties": {
            "rules": { "type": "number", "minimum": 0 },
            "novelty": { "type": "number", "minimum": 0 },
            "recency-and-use": { "type": "number", "minimum": 0 }
        },
        "additionalProperties": false
    }"#;

    /// A blend of scorers with weights, which need not add up to 1.
    ///
    /// # Errors
    /// When a weight is below 0 or not finite, or all are 0.
    pub fn new(parts: Vec<(f32, Arc<dyn ImportanceScorer>)>) -> Result<Self, InvalidConfiguration> {
        let sum: f32 = parts.iter().map(|(weight, _)| weight).sum();
        if parts.iter().any(|(weight, _)| !weight.is_finite() || *weight < 0.0) || !sum.is_finite() {
            return Err(InvalidConfiguration("a weight must be a number from 0 up".to_owned()));
        }
        if sum <= 0.0 {
            return Err(InvalidConfiguration("one weight at least must be above 0".to_owned()));
        }
        // Scorers with a weight of 0 are not called.
        let counts = parts.into_iter().filter(|(weight, _)| *weight > 0.0);
        Ok(Self { parts: counts.map(|(weight, scorer)| (weight / sum, scorer)).collect() })
    }

    /// A blend of the scorers of this crate, by JSON text that matches [`Self::SCHEMA`]. The defaults are `rules` 0.6,
    /// `novelty` 0.3 and `recency-and-use` 0.1.
    ///
    /// # Errors
    /// When the text does not match the schema, or all weights are 0.
    pub fn from_configuration(json: &str) -> Result<Self, InvalidConfiguration> {
        let given: BTreeMap<String, f32> = configuration::read(json)?;
        let default = [("rules", 0.6), ("novelty", 0.3), ("recency-and-use", 0.1)];
        let weights =
            if given.is_empty() { default.map(|(name, weight)| (name.to_owned(), weight)).into() } else { given };
        let part = |(name, weight): (String, f32)| {
            let scorer: Arc<dyn ImportanceScorer> = match name.as_str() {
                "rules" => Arc::new(Rules),
                "novelty" => Arc::new(Novelty),
                "recency-and-use" => Arc::new(RecencyAndUse::default()),
                _ => return Err(InvalidConfiguration(format!("no scorer {name:?} can be blended"))),
            };
            Ok((weight, scorer))
        };
        Self::new(weights.into_iter().map(part).collect::<Result<_, _>>()?)
    }
}

impl ImportanceScorer for Blend {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("blend", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let mut blended = vec![0.0_f32; jobs.len()];
        for (weight, scorer) in &self.parts {
            let scores = scorer.score(jobs)?;
            if scores.len() != jobs.len() {
                let breach = format!("{} scores for {} messages", scores.len(), jobs.len());
                return Err(ScoreError::new(scorer.identity(), breach));
            }
            blended.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight * score);
        }
        // The sum of the weights may differ from 1 by a rounding error.
        blended.iter_mut().for_each(|score| *score = score.clamp(0.0, 1.0));
        Ok(blended)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Role;

    use super::*;

    #[derive(Debug)]
    struct Always(Vec<f32>);

    impl ImportanceScorer for Always {
        fn identity(&self) -> WrittenBy {
            WrittenBy::new("always", "1")
        }

        fn score(&self, _jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
            Ok(self.0.clone())
        }
    }

    fn always(weight: f32, scores: &[f32]) -> (f32, Arc<dyn ImportanceScorer>) {
        (weight, Arc::new(Always(scores.to_vec())))
    }

    fn jobs() -> [ScoreJob<'static>; 2] {
        [ScoreJob::new(Role::User, "a"), ScoreJob::new(Role::User, "b")]
    }

    #[test]
    fn the_mean_is_weighed() {
        let blend = Blend::new(vec![always(3.0, &[0.0, 1.0]), always(1.0, &[1.0, 1.0])]).unwrap();
        assert_eq!(blend.score(&jobs()).unwrap(), [0.25, 1.0]);
    }

    #[test]
    fn what_counts_nothing_is_not_asked_and_what_breaks_its_contract_is_named() {
        let blend = Blend::new(vec![always(0.0, &[]), always(1.0, &[0.5, 0.5])]).unwrap();
        assert_eq!(blend.score(&jobs()).unwrap(), [0.5, 0.5]);
        let error = Blend::new(vec![always(1.0, &[0.5])]).unwrap().score(&jobs()).unwrap_err();
        assert_eq!(error.source.to_string(), "1 scores for 2 messages");
    }

    #[test]
    fn weights_are_checked() {
        for bad in [r#"{"rules": 0}"#, r#"{"rules": -1}"#, r#"{"luck": 1}"#, r#"{"rules": "much"}"#, "["] {
            assert!(Blend::from_configuration(bad).is_err(), "{bad}");
        }
        assert!(Blend::new(vec![always(f32::NAN, &[])]).is_err() && Blend::new(Vec::new()).is_err());
        assert_eq!(Blend::from_configuration("").unwrap().parts.len(), 3);
    }
}
