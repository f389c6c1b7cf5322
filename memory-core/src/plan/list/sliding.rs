//! The sliding window: shortens the oldest tool results, then removes the oldest messages.

use std::num::NonZeroU64;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::{
    error::{InvalidListConfig, ListError},
    item::ListItem,
    pins,
    proactive::ProactiveCompression,
    slots::ListPlan,
    split::trim_point,
};
use crate::port::ReduceCause;

/// Keeps the newest messages of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SlidingWindow {
    /// Maximum messages that stay. With 0 every reduction removes all messages that are not pinned.
    #[serde(deserialize_with = "window_size")]
    pub window_size: usize,
    /// True if an overflow of the model's window first shortens tool results.
    pub should_truncate_results: bool,
    /// Model calls before which the window is applied; it is always applied at the end of an invocation.
    pub per_turn: PerTurn,
    /// Number of messages at the start of the list that the first reduction pins.
    pub pin_first: Option<usize>,
    /// Threshold of proactive compression.
    pub proactive_compression: ProactiveCompression,
}

impl Default for SlidingWindow {
    /// Forty messages, results shortened first, applied at the end of an invocation.
    fn default() -> Self {
        Self {
            window_size: 40,
            should_truncate_results: true,
            per_turn: PerTurn::Off,
            pin_first: None,
            proactive_compression: ProactiveCompression::OFF,
        }
    }
}

impl SlidingWindow {
    /// The default with this window size.
    #[must_use]
    pub fn new(window_size: usize) -> Self {
        Self { window_size, ..Self::default() }
    }

    crate::setters! {
        const should_truncate_results: bool,
        const per_turn: PerTurn,
        const some pin_first: usize,
        const proactive_compression: ProactiveCompression,
    }

    /// Plans a list between two calls: nothing while the list fits the window.
    ///
    /// # Errors
    /// None if there is no cause.
    pub fn plan_apply(&self, items: &[ListItem], first_reduction: bool) -> Result<ListPlan, ListError> {
        if items.len() <= self.window_size {
            return Ok(ListPlan::nothing(items.len()));
        }
        self.plan_reduce(items, first_reduction, None)
    }

    /// Plans a smaller list.
    ///
    /// With a cause, one call shortens the oldest message that has tool results to shorten. If there is none, or
    /// without a cause, messages are removed up to one at which a prompt may begin.
    ///
    /// # Errors
    /// With a cause: [`ListError::NoTrimPoint`] and [`ListError::AllPinned`]. Without a cause the plan states them.
    pub fn plan_reduce(
        &self,
        items: &[ListItem],
        first_reduction: bool,
        cause: Option<ReduceCause>,
    ) -> Result<ListPlan, ListError> {
        let pin_first = self.pin_first.filter(|_| first_reduction);
        ListPlan::reducing(items, pin_first, cause, |items| self.reduction(items, cause))
    }

    fn reduction(&self, items: &[ListItem], cause: Option<ReduceCause>) -> Result<ListPlan, ListError> {
        let messages = items.len();
        let nothing = ListPlan::nothing(messages);
        if self.window_size == 0 {
            return Ok(ListPlan { remove: pins::removable(items, messages), cut: messages, ..nothing });
        }
        if cause.is_some() && self.should_truncate_results {
            let shorten = oldest_to_shorten(items);
            if !shorten.is_empty() {
                return Ok(ListPlan { shorten, ..nothing });
            }
        }
        let start = if messages <= self.window_size { 2 } else { messages - self.window_size };
        let cut = trim_point(items, start).ok_or(ListError::NoTrimPoint)?;
        let remove = pins::removable(items, cut);
        if remove.is_empty() {
            return Err(ListError::AllPinned);
        }
        Ok(ListPlan { remove, cut, ..nothing })
    }
}

/// Parses a window size; the error names the field.
fn window_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let value = Value::deserialize(deserializer)?;
    value
        .as_u64()
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| D::Error::custom(InvalidListConfig::new("window_size", "a non-negative integer", value)))
}

/// Index of the oldest message that is not pinned and has tool results to shorten; empty if there is none.
pub(super) fn oldest_to_shorten(items: &[ListItem]) -> Vec<usize> {
    let kept = pins::kept(items);
    let can = items.iter().zip(kept).position(|(item, kept)| item.can_be_shortened && !kept);
    can.into_iter().collect()
}

/// Model calls before which a manager is applied. As JSON: `false`, `true`, or a number from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerTurn {
    /// No call.
    #[default]
    Off,
    /// Every call.
    Every,
    /// Every call whose number is a multiple of this.
    Nth(NonZeroU64),
}

impl PerTurn {
    /// Every `n`th call.
    ///
    /// # Errors
    /// If `n` is 0.
    pub fn nth(n: u64) -> Result<Self, InvalidListConfig> {
        NonZeroU64::new(n).map(Self::Nth).ok_or_else(|| Self::invalid(n))
    }

    /// True before the call with this number, from 1.
    #[must_use]
    pub fn is_due(self, call: u64) -> bool {
        match self {
            Self::Off => false,
            Self::Every => true,
            Self::Nth(n) => call.is_multiple_of(n.get()),
        }
    }

    fn invalid(found: impl ToString) -> InvalidListConfig {
        InvalidListConfig::new("per_turn", "a positive integer, true, or false", found)
    }
}

impl Serialize for PerTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Every => serializer.serialize_bool(true),
            Self::Nth(n) => serializer.serialize_u64(n.get()),
        }
    }
}

impl<'de> Deserialize<'de> for PerTurn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (&value, value.as_u64()) {
            (Value::Bool(every), _) => Ok(if *every { Self::Every } else { Self::Off }),
            (_, Some(n)) => Self::nth(n).map_err(D::Error::custom),
            _ => Err(D::Error::custom(Self::invalid(value))),
        }
    }
}

#[cfg(test)]
mod tests;
