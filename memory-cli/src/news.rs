//! News that a command reports next to its result: a code for programs and a sentence for people.

use std::{borrow::Cow, fmt};

use memory_capture::ImportNotice;
use memory_core::{ConversationId, NodeId, port::Notice};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::output::Output;

/// A notice of a library, or of a command alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A notice of a library.
    Memory(Notice),
    /// A notice of an import.
    Import(ImportNotice),
    /// Halves of characters in a file were replaced by U+FFFD.
    Mended {
        /// The conversation.
        conversation: ConversationId,
        /// Number of halves.
        characters: u64,
    },
    /// An export has no message.
    NothingToImport {
        /// The export.
        file: String,
    },
    /// Summaries whose sources are lost were not imported.
    SummariesLeftOut {
        /// Number of summaries.
        summaries: u64,
        /// Path of the export.
        file: String,
    },
    /// The store has more messages of the conversation than the export.
    LongerThanFile {
        /// The conversation.
        conversation: ConversationId,
        /// Number of further messages.
        messages: u64,
    },
    /// A search stopped before a node.
    OutOfTime {
        /// Conversation of the node.
        conversation: ConversationId,
        /// The node.
        node: NodeId,
        /// True if no conversation remained to be searched after this one.
        is_last: bool,
    },
    /// A search left out the end of a message.
    EndLeftOut {
        /// Conversation of the message.
        conversation: ConversationId,
        /// The message.
        node: NodeId,
        /// Byte of the text at which the search stopped.
        from: usize,
        /// Bytes of the text.
        length: usize,
    },
}

impl News {
    /// The kind in kebab-case; it never changes.
    fn code(&self) -> &'static str {
        match self {
            Self::Memory(notice) => notice.code(),
            Self::Import(notice) => notice.code(),
            Self::Mended { .. } => "mended",
            Self::NothingToImport { .. } => "nothing-to-import",
            Self::SummariesLeftOut { .. } => "summaries-left-out",
            Self::LongerThanFile { .. } => "longer-than-file",
            Self::OutOfTime { .. } => "out-of-time",
            Self::EndLeftOut { .. } => "end-left-out",
        }
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(notice) => notice.fmt(f),
            Self::Import(notice) => notice.fmt(f),
            Self::Mended { conversation, characters } => {
                write!(f, "U+FFFD stands for halves of characters in `{conversation}`: {characters}")
            }
            Self::NothingToImport { file } => write!(f, "{file} holds no message: there is nothing to import"),
            Self::SummariesLeftOut { summaries, file } => write!(
                f,
                "{summaries} summaries of {file} were left out: what they were made from was lost before the export"
            ),
            Self::LongerThanFile { conversation, messages } => {
                write!(f, "`{conversation}` goes on for {messages} messages after those of the file")
            }
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

impl From<ImportNotice> for News {
    fn from(notice: ImportNotice) -> Self {
        match notice {
            ImportNotice::Memory(notice) => Self::Memory(notice),
            notice => Self::Import(notice),
        }
    }
}

/// News from the notices of a library.
pub(crate) fn of(notices: impl IntoIterator<Item = Notice>) -> Vec<News> {
    notices.into_iter().map(News::from).collect()
}

/// Prints a note for each of the news.
pub(crate) fn print(output: Output, news: &[News]) {
    news.iter().for_each(|one| output.note(&format!("note: {one}")));
}

/// A notice as written, the same for libraries' notices and a command's.
#[derive(Serialize, JsonSchema)]
struct Written {
    /// Code of the kind, for programs; never renamed.
    code: &'static str,
    /// Sentence for people.
    text: String,
}

impl Serialize for News {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Memory(notice) => notice.serialize(serializer),
            other => Written { code: other.code(), text: other.to_string() }.serialize(serializer),
        }
    }
}

impl JsonSchema for News {
    fn schema_name() -> Cow<'static, str> {
        "Notice".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The code and the sentence of each kind. The match is exhaustive, so that it reminds of a new kind.
    fn promised(news: &News) -> (&'static str, &'static str) {
        match news {
            News::Memory(_) => ("empty-question", "nothing is recalled for an empty question"),
            News::Import(_) => ("not-compacted", "not compacted: disk full"),
            News::Mended { .. } => ("mended", "U+FFFD stands for halves of characters in `trip`: 3"),
            News::NothingToImport { .. } => {
                ("nothing-to-import", "trip.jsonl holds no message: there is nothing to import")
            }
            News::SummariesLeftOut { .. } => (
                "summaries-left-out",
                "3 summaries of trip.jsonl were left out: what they were made from was lost before the export",
            ),
            News::LongerThanFile { .. } => {
                ("longer-than-file", "`trip` goes on for 3 messages after those of the file")
            }
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
            News::Import(ImportNotice::NotCompacted { why: "disk full".to_owned() }),
            News::Mended { conversation: conversation.clone(), characters: 3 },
            News::NothingToImport { file: file() },
            News::SummariesLeftOut { summaries: 3, file: file() },
            News::LongerThanFile { conversation: conversation.clone(), messages: 3 },
            News::EndLeftOut { conversation: conversation.clone(), node, from: 5, length: 9 },
            News::OutOfTime { conversation: conversation.clone(), node, is_last: true },
        ];
        for news in &all {
            let written = serde_json::to_value(news).unwrap();
            assert_eq!((written["code"].as_str(), written["text"].as_str()), {
                let (code, sentence) = promised(news);
                (Some(code), Some(sentence))
            });
        }
        assert_eq!(all.iter().map(News::code).collect::<BTreeSet<_>>().len(), all.len());
        let stopped = News::OutOfTime { conversation, node, is_last: false };
        assert_eq!((stopped.code(), stopped.to_string().as_str()), promised(&stopped));
    }
}
