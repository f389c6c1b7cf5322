//! Redaction of messages as they are appended.

use std::{collections::BTreeMap, str::FromStr};

use memory_core::{
    Message,
    port::{Detector, Sensitive},
};

use crate::MemoryError;

/// Treatment of a finding in a message that is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Treatment {
    /// It is kept as it is.
    Keep,
    /// A placeholder stands in its place, in the log as well.
    Mask,
    /// The message is refused.
    Refuse,
}

/// Treatment of each class of findings in messages that are appended; by default all are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    treatments: BTreeMap<Sensitive, Treatment>,
}

impl Redaction {
    /// Sets the treatment of a class.
    #[must_use]
    pub fn treat(mut self, class: Sensitive, treatment: Treatment) -> Self {
        self.treatments.insert(class, treatment);
        self
    }

    /// The treatment of a class.
    #[must_use]
    pub fn of(&self, class: Sensitive) -> Treatment {
        self.treatments.get(&class).copied().unwrap_or(Treatment::Keep)
    }

    /// True if it masks or refuses anything.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.treatments.values().any(|treatment| *treatment != Treatment::Keep)
    }

    /// Both; the later one decides on a class that both name.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.treatments.extend(later.treatments);
        self
    }

    /// This redaction, or `other` if it keeps everything.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.treatments.is_empty() { other } else { self }
    }

    /// Masks a message: its texts, its speaker and its metadata.
    ///
    /// # Errors
    /// If something in it is refused.
    pub(crate) fn apply(&self, detector: Option<&dyn Detector>, message: &mut Message) -> Result<(), MemoryError> {
        let Some(detector) = detector.filter(|_| self.treatments.values().any(|one| *one != Treatment::Keep)) else {
            return Ok(());
        };
        let refused = std::cell::Cell::new(None);
        let masked = |text: &str| {
            detector.masked(text, &|class| {
                if self.of(class) == Treatment::Refuse {
                    refused.set(Some(class));
                }
                self.of(class) == Treatment::Mask
            })
        };
        message.replace_texts(&masked);
        message.replace_labels(&masked);
        refused.get().map_or(Ok(()), |class| Err(MemoryError::Refused { class }))
    }
}

/// A text that names no treatment of a class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no redaction: name a class and its treatment, as in email=mask; classes are private-key, service-key, \
     url-credentials, email, phone, card, iban and all; treatments keep, mask and refuse"
)]
pub struct UnknownRedaction(pub String);

impl FromStr for Redaction {
    type Err = UnknownRedaction;

    /// Reads `CLASS=TREATMENT`, or several separated by commas; `all` stands for every class.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownRedaction(text.to_owned());
        let mut redaction = Self::default();
        for part in text.split(',') {
            let (class, treatment) = part.trim().split_once('=').ok_or_else(unknown)?;
            let treatment = match treatment.trim() {
                "keep" => Treatment::Keep,
                "mask" => Treatment::Mask,
                "refuse" => Treatment::Refuse,
                _ => return Err(unknown()),
            };
            let is_named = |one: &&Sensitive| class.trim() == "all" || one.name() == class.trim();
            let mut classes = Sensitive::ALL.iter().filter(is_named).peekable();
            classes.peek().ok_or_else(unknown)?;
            redaction.treatments.extend(classes.map(|class| (*class, treatment)));
        }
        Ok(redaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redaction_is_read_from_text() {
        let redaction: Redaction = "all=mask, card=refuse,email=keep".parse().unwrap();
        assert_eq!(redaction.of(Sensitive::Card), Treatment::Refuse);
        assert_eq!(redaction.of(Sensitive::Email), Treatment::Keep);
        assert_eq!(redaction.of(Sensitive::Iban), Treatment::Mask);
        assert_eq!(Redaction::default().of(Sensitive::Iban), Treatment::Keep);
        for wrong in ["", "email", "email=hide", "mail=mask", "email=mask,"] {
            assert!(wrong.parse::<Redaction>().is_err(), "{wrong}");
        }
    }
}
