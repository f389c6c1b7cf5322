//! Port: finding keys, credentials and personal data in text.

use std::{fmt, ops::Range};

use crate::Message;

/// A class of what a detector finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Sensitive {
    /// A private key, such as a PEM block.
    PrivateKey,
    /// A key or token of a service.
    ServiceKey,
    /// A password in an address.
    UrlCredentials,
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// The number of a payment card.
    Card,
    /// The number of a bank account.
    Iban,
}

impl Sensitive {
    /// All classes.
    pub const ALL: [Self; 7] =
        [Self::PrivateKey, Self::ServiceKey, Self::UrlCredentials, Self::Email, Self::Phone, Self::Card, Self::Iban];

    /// Name of the class, as in placeholders and configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrivateKey => "private-key",
            Self::ServiceKey => "service-key",
            Self::UrlCredentials => "url-credentials",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Iban => "iban",
        }
    }

    /// True if it gives access to something, so that it stays out of summaries and indexes.
    #[must_use]
    pub const fn is_key(self) -> bool {
        matches!(self, Self::PrivateKey | Self::ServiceKey)
    }
}

impl fmt::Display for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A finding of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its class.
    pub class: Sensitive,
    /// Its bytes in the text, on character boundaries.
    pub range: Range<usize>,
}

impl Finding {
    /// A finding at these bytes.
    #[must_use]
    pub const fn new(class: Sensitive, range: Range<usize>) -> Self {
        Self { class, range }
    }
}

/// Finds keys, credentials and personal data.
pub trait Detector: fmt::Debug + Send + Sync {
    /// The findings in a text, in order, without overlaps.
    fn find(&self, text: &str) -> Vec<Finding>;

    /// The findings in the value of a member, a label or a setting with a name. The default ignores the name.
    fn find_named(&self, name: &str, value: &str) -> Vec<Finding> {
        let _ = name;
        self.find(value)
    }

    /// Placeholder of a masked value, `[email]` by default; it must not reveal the value.
    fn placeholder(&self, class: Sensitive, value: &str) -> String {
        let _ = value;
        format!("[{class}]")
    }
}

impl dyn Detector + '_ {
    /// The text with placeholders in place of findings of the classes that `is_masked` admits; `None` if it has none.
    #[must_use]
    pub fn masked(&self, text: &str, is_masked: &dyn Fn(Sensitive) -> bool) -> Option<String> {
        self.masked_in(None, text, is_masked)
    }

    /// [`Self::masked`] of a text that may be the value of a member with a name.
    #[must_use]
    pub fn masked_in(&self, name: Option<&str>, text: &str, is_masked: &dyn Fn(Sensitive) -> bool) -> Option<String> {
        let mut found = name.map_or_else(|| self.find(text), |name| self.find_named(name, text));
        found.retain(|finding| is_masked(finding.class));
        if found.is_empty() {
            return None;
        }
        let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
        for Finding { class, range } in found {
            let Some(value) = text.get(range.clone()).filter(|_| range.start >= end) else { continue };
            masked.push_str(text.get(end..range.start).unwrap_or_default());
            masked.push_str(&self.placeholder(class, value));
            end = range.end;
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        Some(masked)
    }

    /// Puts placeholders in place of the private keys and keys of services in the texts of a message.
    pub fn mask_keys(&self, message: &mut Message) {
        let masked = |name: Option<&str>, text: &str| self.masked_in(name, text, &Sensitive::is_key);
        message.replace_texts(&masked);
    }
}
