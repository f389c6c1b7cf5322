//! The summarizing manager: replaces the oldest messages with a summary.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::{
    error::{InvalidListConfig, ListError},
    item::ListItem,
    pins,
    proactive::ProactiveCompression,
    sliding::oldest_to_shorten,
    slots::ListPlan,
    split::split_within,
    state::Extent,
};
use crate::{plan::compaction::share_of, port::ReduceCause};

/// Replaces the oldest messages of a list with a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Summarizing {
    summary_ratio: f64,
    preserve_recent_messages: RecentMessages,
    pin_first: Option<usize>,
    proactive_compression: ProactiveCompression,
}

impl Default for Summarizing {
    /// Three tenths of the messages per reduction; the last ten stay.
    fn default() -> Self {
        Self {
            summary_ratio: 0.3,
            preserve_recent_messages: RecentMessages::Chat,
            pin_first: None,
            proactive_compression: ProactiveCompression::OFF,
        }
    }
}

impl Summarizing {
    /// Minimum and maximum share of a list that one reduction may summarize.
    pub const RATIOS: [f64; 2] = [0.1, 0.8];

    /// Summarizes this share of the messages per reduction, 0.1..=0.8.
    ///
    /// # Errors
    /// If the share is out of range.
    pub fn new(summary_ratio: f64) -> Result<Self, InvalidListConfig> {
        let [least, most] = Self::RATIOS;
        if summary_ratio >= least && summary_ratio <= most {
            return Ok(Self { summary_ratio, ..Self::default() });
        }
        Err(InvalidListConfig::new("summary_ratio", "between 0.1 and 0.8", summary_ratio))
    }

    /// A share out of range is moved to the nearest valid one, as Strands does. NaN becomes the default.
    #[must_use]
    pub fn clamped(summary_ratio: f64) -> Self {
        let [least, most] = Self::RATIOS;
        let ratio = if summary_ratio.is_nan() { Self::default().summary_ratio } else { summary_ratio };
        Self { summary_ratio: ratio.clamp(least, most), ..Self::default() }
    }

    crate::setters! {
        into preserve_recent_messages: RecentMessages,
        const some pin_first: usize,
        const proactive_compression: ProactiveCompression,
    }

    /// Share of the messages that one reduction summarizes.
    #[must_use]
    pub const fn summary_ratio(&self) -> f64 {
        self.summary_ratio
    }

    /// Number of last messages that are never summarized.
    #[must_use]
    pub const fn preserved(&self) -> usize {
        self.preserve_recent_messages.count()
    }

    /// Threshold of proactive compression.
    #[must_use]
    pub const fn compression(&self) -> ProactiveCompression {
        self.proactive_compression
    }

    /// Plans a summary. If nothing can be summarized and there is a cause, the oldest tool results are shortened
    /// instead.
    ///
    /// # Errors
    /// With a cause: [`ListError::Insufficient`], [`ListError::TailPreserved`], [`ListError::AllPinned`] and
    /// [`ListError::Exhausted`]. Without a cause the plan states them.
    pub fn plan_reduce(
        &self,
        items: &[ListItem],
        first_reduction: bool,
        cause: Option<ReduceCause>,
    ) -> Result<ListPlan, ListError> {
        self.plan_unless_spent(items, first_reduction, cause, None)
    }

    /// [`Self::plan_reduce`], unless a summary of the messages in `spent` was already paid for without shortening the
    /// list.
    pub(super) fn plan_unless_spent(
        &self,
        items: &[ListItem],
        first_reduction: bool,
        cause: Option<ReduceCause>,
        spent: Option<Extent>,
    ) -> Result<ListPlan, ListError> {
        let pin_first = self.pin_first.filter(|_| first_reduction);
        ListPlan::reducing(items, pin_first, cause, |items| {
            self.reduction(items, spent).or_else(|error| {
                let shorten = if cause.is_some() { oldest_to_shorten(items) } else { Vec::new() };
                let shortened = ListPlan { shorten, ..ListPlan::nothing(items.len()) };
                if shortened.reduces() { Ok(shortened) } else { Err(error) }
            })
        })
    }

    fn reduction(&self, items: &[ListItem], spent: Option<Extent>) -> Result<ListPlan, ListError> {
        let (messages, preserved) = (items.len(), self.preserved());
        let limit = messages.saturating_sub(preserved);
        if limit == 0 {
            return Err(ListError::Insufficient { messages, preserved });
        }
        let share = usize::try_from(share_of(messages as u64, self.summary_ratio)).unwrap_or(usize::MAX);
        let split = share.clamp(1, limit);
        let cut = split_within(items, split, limit).ok_or(ListError::TailPreserved { preserved })?;
        let remove = pins::removable(items, cut);
        if remove.is_empty() {
            return Err(ListError::AllPinned);
        }
        let plan = ListPlan { remove, summary_at: Some(cut), cut, ..ListPlan::nothing(messages) };
        // Summarizing only the previous summary would cost tokens without shortening the list.
        let is_in_vain = plan.removed(items) == 0 || spent == Some(Extent::at(items, &plan.remove));
        if is_in_vain { Err(ListError::Exhausted) } else { Ok(plan) }
    }
}

/// Number of last messages that are never summarized. As JSON: a number, or the name of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecentMessages {
    /// `chat`: 10, the default, for people who talk with a model.
    Chat,
    /// `tools`: 20, for agents whose turns are mostly tool calls and their results.
    Tools,
    /// `documents`: 4, for long messages.
    Documents,
    /// A number of messages.
    Count(usize),
}

impl RecentMessages {
    const PRESETS: [(&'static str, Self); 3] =
        [("chat", Self::Chat), ("tools", Self::Tools), ("documents", Self::Documents)];

    /// Number of messages.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Chat => 10,
            Self::Tools => 20,
            Self::Documents => 4,
            Self::Count(count) => count,
        }
    }
}

impl From<usize> for RecentMessages {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl Serialize for RecentMessages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.count() as u64)
    }
}

impl<'de> Deserialize<'de> for RecentMessages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let preset = |name: &str| Self::PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, recent)| *recent);
        let count = || value.as_u64().and_then(|count| usize::try_from(count).ok()).map(Self::Count);
        value.as_str().and_then(preset).or_else(count).ok_or_else(|| {
            let expected = "a number from 0, or one of chat, tools, documents";
            D::Error::custom(InvalidListConfig::new("preserve_recent_messages", expected, value))
        })
    }
}

/// The JSON form of the configuration.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Summarizing", default, deny_unknown_fields)]
struct Written {
    summary_ratio: f64,
    preserve_recent_messages: RecentMessages,
    pin_first: Option<usize>,
    proactive_compression: ProactiveCompression,
}

impl Default for Written {
    fn default() -> Self {
        Summarizing::default().into()
    }
}

impl From<Summarizing> for Written {
    fn from(config: Summarizing) -> Self {
        let Summarizing { summary_ratio, preserve_recent_messages, pin_first, proactive_compression } = config;
        Self { summary_ratio, preserve_recent_messages, pin_first, proactive_compression }
    }
}

impl TryFrom<Written> for Summarizing {
    type Error = InvalidListConfig;

    fn try_from(written: Written) -> Result<Self, InvalidListConfig> {
        let Written { summary_ratio, preserve_recent_messages, pin_first, proactive_compression } = written;
        Ok(Self { preserve_recent_messages, pin_first, proactive_compression, ..Self::new(summary_ratio)? })
    }
}

#[cfg(test)]
mod tests;
