//! News that a command reports next to its result: a code for programs and a sentence for people.

use std::{borrow::Cow, fmt};

use memory::{Config, erasing, parts::Parts};
use memory_capture::{ImportNotice, ImportedConversation};
use memory_core::{ConversationId, NodeId, port::Notice};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::output::{Output, counted};

/// A notice of a library, or only of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A notice of the memory.
    Memory(Notice),
    /// A notice of an import or of a command.
    Command(Written),
}

impl News {
    fn new(code: &'static str, text: String) -> Self {
        Self::Command(Written { code, text })
    }

    /// Halves of characters in a file were replaced by U+FFFD.
    pub(crate) fn mended(conversation: &ConversationId, characters: u64) -> Self {
        Self::new("mended", format!("U+FFFD stands for halves of characters in `{conversation}`: {characters}"))
    }

    /// Members of lines that a message has no place for were left out.
    pub(crate) fn members_left_out(conversation: &ConversationId, name: &str, lines: u64) -> Self {
        let lines = counted(lines, "line", "lines");
        let name = memory_core::text::one_line(name);
        Self::new("members-left-out", format!("the member {name} of {lines} of `{conversation}` was left out"))
    }

    /// An export has no message.
    pub(crate) fn nothing_to_import(file: &str) -> Self {
        Self::new("nothing-to-import", format!("{file} holds no message: there is nothing to import"))
    }

    /// Summaries whose sources are lost were not imported.
    pub(crate) fn summaries_left_out(summaries: u64, file: &str) -> Self {
        let why = "what they were made from was lost before the export";
        Self::new("summaries-left-out", format!("{summaries} summaries of {file} were left out: {why}"))
    }

    /// All messages of a file are new in a conversation that had others, so it is no longer version of an earlier file.
    pub(crate) fn other_file(imported: &ImportedConversation) -> Option<Self> {
        let had = imported.stats.nodes.checked_sub(imported.new as u64).filter(|had| *had > 0)?;
        if imported.new == 0 || imported.new < imported.read {
            return None;
        }
        let (id, new) = (&imported.id, counted(imported.new as u64, "message", "messages"));
        let text = format!(
            "`{id}` had {} of another file, and goes on with {new} of this one: --as NAME begins a conversation of its own",
            counted(had, "message", "messages")
        );
        Some(Self::new("other-file", text))
    }

    /// The store has more messages of the conversation than the export.
    pub(crate) fn longer_than_file(conversation: &ConversationId, messages: u64) -> Self {
        let text = format!(
            "`{conversation}` goes on for {} after those of the file",
            counted(messages, "message", "messages")
        );
        Self::new("longer-than-file", text)
    }

    /// Most messages are in languages that the store's model was not trained on.
    pub(crate) fn other_languages(better: &str) -> Self {
        let text = format!(
            "most messages are not in English, on which the store's model was trained: `memory model fetch {better}` and \
             then `memory model migrate {better}` find more of them by meaning"
        );
        Self::new("other-languages", text)
    }

    /// An erasure that was begun and is not completed.
    fn erasure_pending(open: &dyn fmt::Display, is_recorded: bool) -> Self {
        let text = match is_recorded {
            true => format!("{open}; nothing reads what it covers, but bytes of it may still be in files"),
            false => format!("{open}; what it covers can still be read until then"),
        };
        Self::new("erasure-pending", text)
    }

    /// A change of the store's encryption that was begun and is not complete.
    fn encryption_changing() -> Self {
        let text = "the store is being encrypted, decrypted or given new keys, or that was interrupted: the next command \
                    that opens it for writing completes it";
        Self::new("encryption-changing", text.to_owned())
    }

    /// A key was named for a store that was made, and not encrypted.
    fn not_encrypted() -> Self {
        let text = "a key is named, and the new store is not encrypted: `memory encrypt` encrypts it";
        Self::new("not-encrypted", text.to_owned())
    }

    /// A search stopped before a node; `is_last` if no conversation remained to be searched after this one.
    pub(crate) fn out_of_time(conversation: &ConversationId, node: NodeId, is_last: bool) -> Self {
        let later = if is_last { "" } else { ", then with the conversations after it by name" };
        let text = format!(
            "time ran out at node {node} of `{conversation}`: go on with -c {conversation} --from {node}{later}, or raise \
             --max-seconds"
        );
        Self::new("out-of-time", text)
    }

    /// A search stopped at byte `from` of a message of `length` bytes.
    pub(crate) fn end_left_out(conversation: &ConversationId, node: NodeId, from: usize, length: usize) -> Self {
        let text = format!(
            "node {node} of `{conversation}` was looked through up to byte {from} of {length}: simplify the pattern, or \
             raise --max-seconds"
        );
        Self::new("end-left-out", text)
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(notice) => notice.fmt(f),
            Self::Command(written) => f.write_str(&written.text),
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
            notice => Self::new(notice.code(), notice.to_string()),
        }
    }
}

/// News from the notices of a library.
pub(crate) fn of(notices: impl IntoIterator<Item = Notice>) -> Vec<News> {
    notices.into_iter().map(News::from).collect()
}

/// News of erasures that were begun and are not completed. A damaged record of one is no news here, since the next
/// opening for writing reports it.
pub(crate) async fn of_erasure(parts: &Parts, config: &Config) -> Vec<News> {
    let open = erasing::open_erasures(parts, config).await.unwrap_or_default();
    open.iter().map(|one| News::erasure_pending(one, one.is_recorded)).collect()
}

/// The news of a change of the store's encryption that is not complete.
pub(crate) fn of_encryption(parts: &Parts) -> Vec<News> {
    parts.log.is_encryption_changing().then(News::encryption_changing).into_iter().collect()
}

/// The news of a key that was named for a store that was made without encryption.
pub(crate) fn of_key(parts: &Parts, config: &Config) -> Vec<News> {
    let is_named = config.key.is_some() && parts.log.report().created && !parts.log.is_encrypted();
    is_named.then(News::not_encrypted).into_iter().collect()
}

/// Prints a note for each of the news.
pub(crate) fn print(output: Output, news: &[News]) {
    news.iter().for_each(|one| output.note(&format!("note: {one}")));
}

/// A notice as written, the same for libraries' notices and a command's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// Code of the kind, for programs; never renamed.
    code: &'static str,
    /// Sentence for people.
    text: String,
}

impl Serialize for News {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Memory(notice) => notice.serialize(serializer),
            Self::Command(written) => written.serialize(serializer),
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

    #[test]
    fn all_news_have_a_code_of_their_own_and_a_sentence() {
        let (trip, node) = (&ConversationId::new("trip").unwrap(), NodeId::new(7).unwrap());
        let all = [
            (Notice::EmptyQuestion.into(), "empty-question", "nothing is recalled for an empty question"),
            (
                ImportNotice::NotCompacted { why: "disk full".to_owned() }.into(),
                "not-compacted",
                "not compacted: disk full",
            ),
            (News::mended(trip, 3), "mended", "U+FFFD stands for halves of characters in `trip`: 3"),
            (
                News::members_left_out(trip, "cost", 3),
                "members-left-out",
                "the member cost of 3 lines of `trip` was left out",
            ),
            (
                News::nothing_to_import("trip.jsonl"),
                "nothing-to-import",
                "trip.jsonl holds no message: there is nothing to import",
            ),
            (
                News::summaries_left_out(3, "trip.jsonl"),
                "summaries-left-out",
                "3 summaries of trip.jsonl were left out: what they were made from was lost before the export",
            ),
            (
                News::other_languages("polyglot"),
                "other-languages",
                "most messages are not in English, on which the store's model was trained: `memory model fetch polyglot` \
                 and then `memory model migrate polyglot` find more of them by meaning",
            ),
            (
                News::longer_than_file(trip, 3),
                "longer-than-file",
                "`trip` goes on for 3 messages after those of the file",
            ),
            (
                News::erasure_pending(&"erasure 7 waits", true),
                "erasure-pending",
                "erasure 7 waits; nothing reads what it covers, but bytes of it may still be in files",
            ),
            (
                News::out_of_time(trip, node, true),
                "out-of-time",
                "time ran out at node 7 of `trip`: go on with -c trip --from 7, or raise --max-seconds",
            ),
            (
                News::end_left_out(trip, node, 5, 9),
                "end-left-out",
                "node 7 of `trip` was looked through up to byte 5 of 9: simplify the pattern, or raise --max-seconds",
            ),
        ];
        for (news, code, sentence) in &all {
            let written = serde_json::to_value(news).unwrap();
            assert_eq!((written["code"].as_str(), written["text"].as_str()), (Some(*code), Some(*sentence)));
        }
        assert_eq!(all.iter().map(|(_, code, _)| code).collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(
            News::out_of_time(trip, node, false).to_string(),
            "time ran out at node 7 of `trip`: go on with -c trip --from 7, then with the conversations after it by \
             name, or raise --max-seconds",
        );
    }
}
