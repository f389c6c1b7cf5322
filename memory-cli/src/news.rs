//! What a command tells beside its result: a code for programs and a sentence for people.

use std::fmt;

use memory_core::{ConversationId, NodeId, Notice};

use crate::output::Output;

/// A notice of a library, or of a command alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// One of a library.
    Memory(Notice),
    /// No summaries were written; a later context writes them.
    NotCompacted {
        /// Why.
        why: String,
    },
    /// Messages that an import before has brought.
    ThereBefore {
        /// The conversation.
        conversation: ConversationId,
        /// How many.
        messages: usize,
        /// Of how many in the file.
        read: usize,
    },
    /// Messages that differ in the file from what an import before has brought. What is there stays.
    Differs {
        /// The conversation.
        conversation: ConversationId,
        /// How many.
        messages: usize,
    },
    /// Halves of characters in a file, for each of which U+FFFD stands.
    Mended {
        /// The conversation.
        conversation: ConversationId,
        /// How many.
        characters: u64,
    },
    /// A conversation went on in the file from an earlier message than in the store.
    Diverged {
        /// The conversation.
        conversation: ConversationId,
        /// The conversation that the rest went to.
        branch: ConversationId,
    },
    /// An export without a message.
    NothingToImport {
        /// The export.
        file: String,
    },
    /// Summaries whose sources are lost were not imported.
    SummariesLeftOut {
        /// How many.
        summaries: u64,
        /// The export.
        file: String,
    },
    /// Summaries of another program that cannot stand for the messages here.
    SummariesUnfit {
        /// The conversation.
        conversation: ConversationId,
        /// How many.
        summaries: u64,
        /// Why.
        why: String,
    },
    /// The store has more of the conversation than the export.
    LongerThanFile {
        /// The conversation.
        conversation: ConversationId,
        /// How many messages more.
        messages: u64,
    },
    /// A past view that was put together now.
    NotShown {
        /// The conversation.
        conversation: ConversationId,
        /// Its last message then.
        node: NodeId,
    },
    /// A search stopped before a node.
    OutOfTime {
        /// Its conversation.
        conversation: ConversationId,
        /// The node.
        node: NodeId,
        /// Whether no conversation was to be searched after this one.
        is_last: bool,
    },
    /// A search left out the end of a message.
    EndLeftOut {
        /// Its conversation.
        conversation: ConversationId,
        /// The message.
        node: NodeId,
        /// The byte of its text at which the search stopped.
        from: usize,
        /// The bytes of its text.
        length: usize,
    },
}

impl News {
    /// The kind in kebab-case; it never changes.
    fn code(&self) -> &'static str {
        match self {
            Self::Memory(notice) => notice.code(),
            Self::NotCompacted { .. } => "not-compacted",
            Self::ThereBefore { .. } => "there-before",
            Self::Differs { .. } => "differs",
            Self::Mended { .. } => "mended",
            Self::Diverged { .. } => "diverged",
            Self::NothingToImport { .. } => "nothing-to-import",
            Self::SummariesLeftOut { .. } => "summaries-left-out",
            Self::SummariesUnfit { .. } => "summaries-unfit",
            Self::LongerThanFile { .. } => "longer-than-file",
            Self::NotShown { .. } => "not-shown",
            Self::OutOfTime { .. } => "out-of-time",
            Self::EndLeftOut { .. } => "end-left-out",
        }
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(notice) => notice.fmt(f),
            Self::NotCompacted { why } => write!(f, "not compacted: {why}"),
            Self::ThereBefore { conversation, messages: 1, read: 1 } => {
                write!(f, "`{conversation}` had its one message before: nothing was appended")
            }
            Self::ThereBefore { conversation, messages, read } if messages == read => {
                write!(f, "`{conversation}` had all {read} messages before: nothing was appended")
            }
            Self::ThereBefore { conversation, messages, read } => {
                write!(f, "`{conversation}` had {messages} of {read} messages before; appended: {}", read - messages)
            }
            Self::Differs { conversation, messages } => write!(
                f,
                "{messages} messages of `{conversation}` differ from what was imported before: what is there stays"
            ),
            Self::Mended { conversation, characters } => {
                write!(f, "U+FFFD stands for halves of characters in `{conversation}`: {characters}")
            }
            Self::Diverged { conversation, branch } => write!(
                f,
                "`{conversation}` goes on in the file from an earlier message than here: what follows is in `{branch}`"
            ),
            Self::NothingToImport { file } => write!(f, "{file} holds no message: there is nothing to import"),
            Self::SummariesLeftOut { summaries, file } => write!(
                f,
                "{summaries} summaries of {file} were left out: what they were made from was lost before the export"
            ),
            Self::SummariesUnfit { conversation, summaries, why } => {
                let (noun, verb) = if *summaries == 1 { ("summary", "was") } else { ("summaries", "were") };
                write!(f, "{summaries} {noun} of `{conversation}` {verb} not taken over: {why}")
            }
            Self::LongerThanFile { conversation, messages } => {
                write!(f, "`{conversation}` goes on for {messages} messages after those of the file")
            }
            Self::NotShown { conversation, node } => write!(
                f,
                "this was not shown: it is what would have been shown after message {node} of `{conversation}`, made now \
                 with the summaries of now"
            ),
            Self::OutOfTime { conversation, node, is_last } => {
                let later = if *is_last { "" } else { ", then with the conversations after it by name" };
                write!(
                    f,
                    "time ran out at node {node} of `{conversation}`: go on with -c {conversation} --from \
                     {node}{later}, or raise --max-seconds"
                )
            }
            Self::EndLeftOut { conversation, node, from, length } => write!(
                f,
                "node {node} of `{conversation}` was looked through up to byte {from} of {length}: simplify the \
                 pattern, or raise --max-seconds"
            ),
        }
    }
}

impl From<Notice> for News {
    fn from(notice: Notice) -> Self {
        Self::Memory(notice)
    }
}

/// Those of a library.
pub(crate) fn of(notices: impl IntoIterator<Item = Notice>) -> Vec<News> {
    notices.into_iter().map(News::from).collect()
}

/// Prints a note for each.
pub(crate) fn print(output: Output, news: &[News]) {
    news.iter().for_each(|one| output.note(&format!("note: {one}")));
}

/// The sentences, for `notices` of a JSON value.
pub(crate) fn sentences(news: &[News]) -> Vec<String> {
    news.iter().map(News::to_string).collect()
}

/// The codes, in the same order, for `notice_codes` of a JSON value.
pub(crate) fn codes(news: &[News]) -> Vec<&'static str> {
    news.iter().map(News::code).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The code and the sentence of one of each kind. Matched in full, so that a new kind is seen here.
    fn promised(news: &News) -> (&'static str, &'static str) {
        match news {
            News::Memory(_) => ("empty-question", "nothing is recalled for an empty question"),
            News::NotCompacted { .. } => ("not-compacted", "not compacted: disk full"),
            News::ThereBefore { messages: 3, .. } => {
                ("there-before", "`trip` had all 3 messages before: nothing was appended")
            }
            News::ThereBefore { .. } => ("there-before", "`trip` had 2 of 3 messages before; appended: 1"),
            News::Differs { .. } => {
                ("differs", "3 messages of `trip` differ from what was imported before: what is there stays")
            }
            News::Mended { .. } => ("mended", "U+FFFD stands for halves of characters in `trip`: 3"),
            News::Diverged { .. } => (
                "diverged",
                "`trip` goes on in the file from an earlier message than here: what follows is in `trip-a`",
            ),
            News::NothingToImport { .. } => {
                ("nothing-to-import", "trip.jsonl holds no message: there is nothing to import")
            }
            News::SummariesLeftOut { .. } => (
                "summaries-left-out",
                "3 summaries of trip.jsonl were left out: what they were made from was lost before the export",
            ),
            News::SummariesUnfit { .. } => {
                ("summaries-unfit", "3 summaries of `trip` were not taken over: of messages that are not there")
            }
            News::LongerThanFile { .. } => {
                ("longer-than-file", "`trip` goes on for 3 messages after those of the file")
            }
            News::NotShown { .. } => (
                "not-shown",
                "this was not shown: it is what would have been shown after message 7 of `trip`, made now with the \
                 summaries of now",
            ),
            News::OutOfTime { is_last: true, .. } => {
                ("out-of-time", "time ran out at node 7 of `trip`: go on with -c trip --from 7, or raise --max-seconds")
            }
            News::OutOfTime { .. } => (
                "out-of-time",
                "time ran out at node 7 of `trip`: go on with -c trip --from 7, then with the conversations after it by \
                 name, or raise --max-seconds",
            ),
            News::EndLeftOut { .. } => (
                "end-left-out",
                "node 7 of `trip` was looked through up to byte 5 of 9: simplify the pattern, or raise --max-seconds",
            ),
        }
    }

    #[test]
    fn all_news_have_a_code_of_their_own_and_a_sentence() {
        let file = || "trip.jsonl".to_owned();
        let (conversation, node) = (ConversationId::new("trip").unwrap(), NodeId::new(7).unwrap());
        let all = [
            News::Memory(Notice::EmptyQuestion),
            News::NotCompacted { why: "disk full".to_owned() },
            News::ThereBefore { conversation: conversation.clone(), messages: 3, read: 3 },
            News::Differs { conversation: conversation.clone(), messages: 3 },
            News::Mended { conversation: conversation.clone(), characters: 3 },
            News::Diverged { conversation: conversation.clone(), branch: ConversationId::new("trip-a").unwrap() },
            News::NothingToImport { file: file() },
            News::SummariesLeftOut { summaries: 3, file: file() },
            News::SummariesUnfit {
                conversation: conversation.clone(),
                summaries: 3,
                why: "of messages that are not there".to_owned(),
            },
            News::LongerThanFile { conversation: conversation.clone(), messages: 3 },
            News::EndLeftOut { conversation: conversation.clone(), node, from: 5, length: 9 },
            News::NotShown { conversation: conversation.clone(), node },
            News::OutOfTime { conversation: conversation.clone(), node, is_last: true },
        ];
        for (news, (code, sentence)) in all.iter().zip(codes(&all).into_iter().zip(sentences(&all))) {
            assert_eq!((code, sentence.as_str()), promised(news));
        }
        assert_eq!(codes(&all).into_iter().collect::<BTreeSet<_>>().len(), all.len());
        let grown = News::ThereBefore { conversation: conversation.clone(), messages: 2, read: 3 };
        assert_eq!((grown.code(), grown.to_string().as_str()), promised(&grown));
        let stopped = News::OutOfTime { conversation, node, is_last: false };
        assert_eq!((stopped.code(), stopped.to_string().as_str()), promised(&stopped));
    }
}
