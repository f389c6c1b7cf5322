//! Redaction of messages as they are appended.

use std::{cell::Cell, collections::BTreeMap, str::FromStr};

use memory_core::{
    Hash, Message, MessageKey, NodeId,
    port::{Detector, Sensitive, StoreError},
};

use crate::{Conversation, Memory, MemoryError, parts::Parts};

/// Treatment of a finding in a message that is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Treatment {
    /// The value is kept as it is.
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

    /// The same treatments, with masks in place of refusals.
    fn without_refusals(&self) -> Self {
        let masked = |treatment: Treatment| if treatment == Treatment::Keep { treatment } else { Treatment::Mask };
        Self { treatments: self.treatments.iter().map(|(class, one)| (*class, masked(*one))).collect() }
    }

    fn all_masked() -> Self {
        Self { treatments: Sensitive::ALL.iter().map(|class| (*class, Treatment::Mask)).collect() }
    }
}

/// A redaction with the detector that it works by.
struct Masking<'a> {
    detector: Option<&'a dyn Detector>,
    redaction: &'a Redaction,
    refused: Cell<Option<Sensitive>>,
}

impl<'a> Masking<'a> {
    fn new(parts: &'a Parts, redaction: &'a Redaction) -> Self {
        let detector = parts.detector.as_deref().filter(|_| redaction.is_active());
        Self { detector, redaction, refused: Cell::new(None) }
    }

    /// The text with placeholders; `None` if it has none.
    fn masked(&self, name: Option<&str>, text: &str) -> Option<String> {
        let treat = |class| {
            if self.redaction.of(class) == Treatment::Refuse {
                self.refused.set(Some(class));
            }
            self.redaction.of(class) == Treatment::Mask
        };
        self.detector?.masked_in(name, text, &treat)
    }

    fn mask(&self, message: &mut Message) {
        if self.detector.is_none() {
            return;
        }
        let masked = |name: Option<&str>, text: &str| self.masked(name, text);
        message.replace_texts(&masked);
        message.replace_labels(&masked);
        if let Some(masked) = message.key.as_ref().and_then(|key| self.masked(None, key.as_str())) {
            // A placeholder may be longer than a key.
            let hash = || MessageKey::new(&Hash::of_parts([masked.as_bytes()]).to_string());
            message.key = MessageKey::new(&masked).or_else(|_| hash()).ok();
        }
    }

    fn finish<T>(&self, value: T) -> Result<T, MemoryError> {
        self.refused.get().map_or(Ok(value), |class| Err(MemoryError::Refused { class }))
    }
}

impl Parts {
    /// A text as it is kept: a title, a tag, a key.
    ///
    /// # Errors
    /// If something in it is refused.
    pub(crate) fn redacted(&self, text: String) -> Result<String, MemoryError> {
        let masking = Masking::new(self, &self.redaction);
        let masked = masking.masked(None, &text);
        masking.finish(masked.unwrap_or(text))
    }

    /// A question as it is asked and recorded: what may not be appended is masked.
    pub(crate) fn redacted_question(&self, question: String) -> String {
        let redaction = self.redaction.without_refusals();
        Masking::new(self, &redaction).masked(None, &question).unwrap_or(question)
    }

    /// True if two messages differ at most in what a redaction masks.
    pub(crate) fn are_alike(&self, one: &Message, other: &Message) -> bool {
        one == other || self.fully_masked(one.clone()) == self.fully_masked(other.clone())
    }

    /// The message with all findings masked, whatever the redaction says.
    pub(crate) fn fully_masked(&self, mut message: Message) -> Message {
        let all = Redaction::all_masked();
        Masking::new(self, &all).mask(&mut message);
        message
    }
}

impl Conversation {
    /// A message as [`append`](Self::append) keeps it: by the memory's [redaction](crate::MemoryBuilder::redaction),
    /// but under the key that the conversation knows it by.
    ///
    /// # Errors
    /// [`MemoryError::Refused`], and if the store fails.
    pub async fn redacted(&self, message: Message) -> Result<Message, MemoryError> {
        self.call(move |this| async move { this.redact(message).await }).await
    }

    pub(crate) async fn redact(&self, message: Message) -> Result<Message, MemoryError> {
        let (key, mut redacted) = (message.key.clone(), message);
        {
            let masking = Masking::new(&self.parts, &self.parts.redaction);
            masking.mask(&mut redacted);
            masking.finish(())?;
        }
        if redacted.key != key
            && let Some(key) = key
            && self.known_key(&key).await?.is_some()
        {
            redacted.key = Some(key);
        }
        Ok(redacted)
    }

    /// The message that was appended under a key, if there is one; a redaction may have masked the key.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find_key(&self, key: &MessageKey) -> Result<Option<NodeId>, MemoryError> {
        let key = key.clone();
        self.call(move |this| async move {
            if let Some(node) = this.known_key(&key).await? {
                return Ok(Some(node));
            }
            let mut keyed = Message::user(String::new());
            keyed.key = Some(key.clone());
            match this.parts.fully_masked(keyed).key.filter(|masked| *masked != key) {
                Some(masked) => this.known_key(&masked).await,
                None => Ok(None),
            }
        })
        .await
    }

    async fn known_key(&self, key: &MessageKey) -> Result<Option<NodeId>, MemoryError> {
        match self.parts.store.find_key(&self.id, key).await {
            Err(StoreError::UnknownConversation { .. }) => Ok(None),
            found => Ok(found?),
        }
    }
}

impl Memory {
    /// A message with everything masked that any redaction could mask: two messages that are equal in this form were
    /// the same one before.
    #[must_use]
    pub fn fully_masked(&self, message: Message) -> Message {
        self.parts.fully_masked(message)
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
