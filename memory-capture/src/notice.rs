//! Notices of an import.

use std::fmt;

use memory::{ConversationId, Notice, redaction::Sensitive};

/// Most places of refused messages that a notice names.
const MOST_PLACES: usize = 20;

/// A notice of an import: a code for programs, and a sentence for people by `Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportNotice {
    /// A notice of the memory.
    Memory(Notice),
    /// No summaries were written; a later prompt writes them.
    NotCompacted {
        /// Reason for writing none.
        why: String,
    },
    /// Messages that an earlier import appended.
    ThereBefore {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages.
        messages: usize,
        /// Messages in the file.
        read: usize,
        /// Number of appended messages; others were erased or differ.
        new: usize,
    },
    /// Messages that were not appended, because the memory's redaction refuses what they hold.
    Refused {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages.
        messages: usize,
        /// Places of the first ones, each with what was found there.
        places: Vec<(String, Sensitive)>,
    },
    /// Messages whose text in the file differs from the store's. The store's stays.
    Differs {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages.
        messages: usize,
    },
    /// Messages that were erased here. They stay erased.
    Erased {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages.
        messages: usize,
    },
    /// A conversation that continues in the file from an earlier message than in the store.
    Diverged {
        /// The conversation.
        conversation: ConversationId,
        /// The conversation that the rest went to.
        branch: ConversationId,
    },
    /// Summaries of another program that cannot stand for the messages here.
    SummariesUnfit {
        /// The conversation.
        conversation: ConversationId,
        /// Number of summaries.
        summaries: u64,
        /// Reason for the misfit.
        why: String,
    },
}

impl ImportNotice {
    /// Code of the kind in kebab-case; it never changes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Memory(notice) => notice.code(),
            Self::NotCompacted { .. } => "not-compacted",
            Self::ThereBefore { .. } => "there-before",
            Self::Refused { .. } => "refused",
            Self::Differs { .. } => "differs",
            Self::Erased { .. } => "erased",
            Self::Diverged { .. } => "diverged",
            Self::SummariesUnfit { .. } => "summaries-unfit",
        }
    }
}

impl fmt::Display for ImportNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(notice) => notice.fmt(f),
            Self::NotCompacted { why } => write!(f, "not compacted: {why}"),
            Self::ThereBefore { conversation, messages: 1, read: 1, .. } => {
                write!(f, "`{conversation}` had its one message before: nothing was appended")
            }
            Self::ThereBefore { conversation, messages, read, .. } if messages == read => {
                write!(f, "`{conversation}` had all {read} messages before: nothing was appended")
            }
            Self::ThereBefore { conversation, messages, read, new } => {
                write!(f, "`{conversation}` had {messages} of {read} messages before; appended: {new}")
            }
            Self::Refused { conversation, messages, places } => {
                let (noun, verb) = if *messages == 1 { ("message", "was") } else { ("messages", "were") };
                let named = places.iter().map(|(place, class)| format!("{place} ({class})"));
                let more = messages.saturating_sub(places.len());
                let more = (more > 0).then(|| format!("{more} more"));
                let all = named.chain(more).collect::<Vec<_>>().join("; ");
                write!(f, "{messages} {noun} of `{conversation}` {verb} refused, and the others appended: {all}")
            }
            Self::Differs { conversation, messages } => {
                let (noun, verb) = if *messages == 1 { ("message", "differs") } else { ("messages", "differ") };
                write!(
                    f,
                    "{messages} {noun} of `{conversation}` {verb} from what was imported before: what is there stays"
                )
            }
            Self::Erased { conversation, messages: 1 } => {
                write!(f, "1 message of `{conversation}` was erased here, and stays so")
            }
            Self::Erased { conversation, messages } => {
                write!(f, "{messages} messages of `{conversation}` were erased here, and stay so")
            }
            Self::Diverged { conversation, branch } => write!(
                f,
                "`{conversation}` goes on in the file from an earlier message than here: what follows is in `{branch}`"
            ),
            Self::SummariesUnfit { conversation, summaries, why } => {
                let (noun, verb) = if *summaries == 1 { ("summary", "was") } else { ("summaries", "were") };
                write!(f, "{summaries} {noun} of `{conversation}` {verb} not taken over: {why}")
            }
        }
    }
}

/// Messages of a conversation that were refused.
#[derive(Debug, Default)]
pub(crate) struct RefusedMessages {
    pub(crate) count: usize,
    places: Vec<(String, Sensitive)>,
}

impl RefusedMessages {
    pub(crate) fn add(&mut self, place: String, class: Sensitive) {
        self.count += 1;
        if self.places.len() < MOST_PLACES {
            self.places.push((place, class));
        }
    }

    pub(crate) fn notice(&self, conversation: &ConversationId) -> Option<ImportNotice> {
        let refused = || ImportNotice::Refused {
            conversation: conversation.clone(),
            messages: self.count,
            places: self.places.clone(),
        };
        (self.count > 0).then(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_notice_has_a_code_and_a_sentence() {
        let conversation = ConversationId::new("trip").unwrap();
        let there =
            |messages, read, new| ImportNotice::ThereBefore { conversation: conversation.clone(), messages, read, new };
        let branch = ConversationId::new("trip-a").unwrap();
        let why = "of messages that are not there".to_owned();
        for (notice, code, sentence) in [
            (
                ImportNotice::Memory(Notice::EmptyQuestion),
                "empty-question",
                "nothing is recalled for an empty question",
            ),
            (ImportNotice::NotCompacted { why: "disk full".to_owned() }, "not-compacted", "not compacted: disk full"),
            (there(1, 1, 0), "there-before", "`trip` had its one message before: nothing was appended"),
            (there(3, 3, 0), "there-before", "`trip` had all 3 messages before: nothing was appended"),
            (there(2, 3, 1), "there-before", "`trip` had 2 of 3 messages before; appended: 1"),
            (
                ImportNotice::Differs { conversation: conversation.clone(), messages: 3 },
                "differs",
                "3 messages of `trip` differ from what was imported before: what is there stays",
            ),
            (
                ImportNotice::Refused {
                    conversation: conversation.clone(),
                    messages: 2,
                    places: vec![("a.jsonl:3".to_owned(), Sensitive::Card)],
                },
                "refused",
                "2 messages of `trip` were refused, and the others appended: a.jsonl:3 (card); 1 more",
            ),
            (
                ImportNotice::Erased { conversation: conversation.clone(), messages: 3 },
                "erased",
                "3 messages of `trip` were erased here, and stay so",
            ),
            (
                ImportNotice::Diverged { conversation: conversation.clone(), branch },
                "diverged",
                "`trip` goes on in the file from an earlier message than here: what follows is in `trip-a`",
            ),
            (
                ImportNotice::SummariesUnfit { conversation: conversation.clone(), summaries: 3, why },
                "summaries-unfit",
                "3 summaries of `trip` were not taken over: of messages that are not there",
            ),
        ] {
            assert_eq!((notice.code(), notice.to_string().as_str()), (code, sentence));
        }
    }
}
