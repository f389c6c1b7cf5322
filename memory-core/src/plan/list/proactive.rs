//! Reduction of a list before it overflows.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::error::InvalidListConfig;

/// Context window in tokens of a model that states none.
const DEFAULT_WINDOW: u64 = 200_000;
/// Threshold if compression is enabled without a number.
const DEFAULT_THRESHOLD: f64 = 0.7;

/// Share of the model's window from which a list is reduced before a model call; may be off.
///
/// As JSON: `false` or `null`, `true` for the default threshold of 0.7, or `{"compression_threshold": 0.8}`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProactiveCompression(Option<f64>);

impl ProactiveCompression {
    /// No reduction.
    pub const OFF: Self = Self(None);
    /// Reduction from 0.7 of the window.
    pub const ON: Self = Self(Some(DEFAULT_THRESHOLD));

    /// Reduction from this share of the window, greater than 0 and at most 1.
    ///
    /// # Errors
    /// If the share is out of range.
    pub fn at(threshold: f64) -> Result<Self, InvalidListConfig> {
        if threshold > 0.0 && threshold <= 1.0 {
            return Ok(Self(Some(threshold)));
        }
        Err(InvalidListConfig::new("compression_threshold", "between 0 (exclusive) and 1 (inclusive)", threshold))
    }

    /// The threshold; `None` if off.
    #[must_use]
    pub const fn threshold(self) -> Option<f64> {
        self.0
    }

    /// True if a request of `projected` tokens must be reduced first. An unknown or zero window counts as 200,000
    /// tokens; a request of unknown size is not reduced.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share of a window")]
    pub fn is_due(self, projected: Option<u64>, window: Option<u64>) -> bool {
        let Self(Some(threshold)) = self else { return false };
        projected.is_some_and(|tokens| tokens as f64 / stated(window) as f64 >= threshold)
    }

    /// Tokens below which a request is not reduced, rounded down; `None` if off.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a window, which ends at the largest number"
    )]
    pub fn target(self, window: Option<u64>) -> Option<u32> {
        self.0.map(|threshold| (threshold * stated(window) as f64) as u32)
    }
}

/// Window of a model in tokens, with the default.
fn stated(window: Option<u64>) -> u64 {
    window.filter(|window| *window > 0).unwrap_or(DEFAULT_WINDOW)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Threshold {
    #[serde(default = "default_threshold")]
    compression_threshold: f64,
}

fn default_threshold() -> f64 {
    DEFAULT_THRESHOLD
}

impl Serialize for ProactiveCompression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_bool(false),
            Some(compression_threshold) => Threshold { compression_threshold }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ProactiveCompression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null | Value::Bool(false) => Ok(Self::OFF),
            Value::Bool(true) => Ok(Self::ON),
            object @ Value::Object(_) => {
                let Threshold { compression_threshold } = serde_json::from_value(object).map_err(D::Error::custom)?;
                Self::at(compression_threshold).map_err(D::Error::custom)
            }
            other => Err(D::Error::custom(format!(
                "proactive_compression must be true, false or {{\"compression_threshold\": N}}, got {other}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_threshold_is_above_0_and_at_most_1() {
        for wrong in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            let error = ProactiveCompression::at(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with("compression_threshold must be between 0 (exclusive) and 1 (inclusive)"),
                "{error}"
            );
        }
        assert_eq!(ProactiveCompression::at(1.0).unwrap().threshold(), Some(1.0));
        assert_eq!(ProactiveCompression::ON.threshold(), Some(0.7));
    }

    #[test]
    fn it_is_read_as_strands_writes_it() {
        let read = |value| serde_json::from_value::<ProactiveCompression>(value);
        assert_eq!(read(json!(null)).unwrap(), ProactiveCompression::OFF);
        assert_eq!(read(json!(false)).unwrap(), ProactiveCompression::OFF);
        assert_eq!(read(json!(true)).unwrap(), ProactiveCompression::ON);
        assert_eq!(read(json!({})).unwrap(), ProactiveCompression::ON);
        assert_eq!(read(json!({"compression_threshold": 0.8})).unwrap().threshold(), Some(0.8));
        assert!(read(json!({"compression_threshold": 0})).is_err());
        assert!(read(json!({"threshold": 0.5})).is_err());
        assert!(read(json!("on")).is_err());
    }

    #[test]
    fn it_is_due_from_the_threshold_on_of_the_models_window() {
        let on = ProactiveCompression::ON;
        assert!(!on.is_due(Some(650), Some(1_000)));
        assert!(on.is_due(Some(700), Some(1_000)));
        assert!(!on.is_due(None, Some(1_000)), "tokens that are unknown");
        assert!(on.is_due(Some(150_000), None) && on.is_due(Some(150_000), Some(0)), "the default window");
        assert!(!on.is_due(Some(130_000), None));
        assert!(!ProactiveCompression::OFF.is_due(Some(u64::MAX), Some(1)));
    }

    #[test]
    fn the_target_is_the_threshold_of_the_models_window() {
        let on = ProactiveCompression::ON;
        assert_eq!(on.target(Some(1_000)), Some(700));
        assert_eq!([on.target(None), on.target(Some(0))], [Some(140_000); 2], "the default window");
        assert_eq!(on.target(Some(u64::MAX)), Some(u32::MAX));
        assert_eq!(ProactiveCompression::OFF.target(Some(1_000)), None);
    }
}
