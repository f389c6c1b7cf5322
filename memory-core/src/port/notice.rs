//! Notices to a caller about a successful answer.

use std::fmt;

use crate::{ConversationId, NodeId, NodeRange, WrittenBy};

/// A notice to a caller about an answer that is complete in itself, such as that recall was by words only.
///
/// Programs match on the variant or its [`code`](Self::code). People read the sentence from `Display`: one line without
/// a full stop, which may change in any version. `why` is the cause in words, on one line. Texts may contain words of
/// messages and models; escape them like those before a terminal shows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", tag = "code", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Notice {
    /// `no-retriever`: the memory was built without a retriever, so nothing is found.
    NoRetriever,
    /// `empty-question`: a question without words recalls nothing.
    EmptyQuestion,
    /// `filter-admits-none`: no message passes the filter.
    FilterAdmitsNone {
        /// Number of messages that were checked.
        messages: usize,
    },
    /// `words-only`: meaning did not count, because there is no model, index or vector.
    WordsOnly {
        /// The cause.
        why: String,
    },
    /// `partly-embedded`: meaning counted only for some of the messages.
    /// [`Retriever::catch_up`](super::Retriever::catch_up) embeds the rest.
    PartlyEmbedded {
        /// Number of messages with a vector.
        embedded: usize,
        /// Number of searched messages.
        messages: usize,
        /// Cause or remedy.
        why: String,
    },
    /// `view-erased`: a recorded view showed messages that were erased since. It is shown without them and without its
    /// question, and cannot be compared with what was shown.
    ViewErased,
    /// `view-disabled`: a recorded view showed messages or summaries that are disabled now. It is shown as it was then.
    ViewDisabled {
        /// The messages, as runs in order; those under a summary that is disabled as well.
        nodes: Vec<NodeRange>,
    },
    /// `not-embedded`: the messages since the last question got no vectors.
    NotEmbedded {
        /// The cause.
        why: String,
    },
    /// `rejected-by-model`: the embedding model rejected messages, which are found only by their words.
    RejectedByModel {
        /// Number of messages.
        messages: u64,
        /// The first of them.
        first: NodeId,
        /// Reason for rejecting the first.
        why: String,
    },
    /// `vectors-not-kept`: vectors that were computed for this question must be computed again later.
    VectorsNotKept {
        /// The cause.
        why: String,
    },
    /// `tokens-not-compared`: the ranking did not use token vectors.
    TokensNotCompared {
        /// The cause.
        why: String,
    },
    /// `not-reranked`: the ranking did not use the cross-encoder.
    NotReranked {
        /// The cause.
        why: String,
    },
    /// `not-judged`: no model judged which summaries matter for the question, although that was requested.
    NotJudged {
        /// The cause.
        why: String,
    },
    /// `best-hit-over-tokens`: the best hit alone costs more tokens than the budget of recall.
    BestHitOverTokens {
        /// Conversation of the hit, if it is not the one that recalls.
        conversation: Option<ConversationId>,
        /// The hit.
        node: NodeId,
        /// Cost of the hit in tokens.
        tokens: u64,
        /// Budget of recall in tokens.
        max: u32,
    },
    /// `best-hit-over-characters`: the best hit alone has more characters than the budget of recall.
    BestHitOverCharacters {
        /// Conversation of the hit, if it is not the one that recalls.
        conversation: Option<ConversationId>,
        /// The hit.
        node: NodeId,
        /// Characters (Unicode scalar values) of the hit.
        characters: u64,
        /// Budget of recall in characters.
        max: u32,
    },
    /// `nothing-likely`: no hit is likely to be relevant to the question.
    NothingLikely {
        /// Probability of the best hit in percent, rounded.
        best_percent: u8,
    },
    /// `mention-followed`: the question mentions an earlier conversation, which recall also searched.
    MentionFollowed {
        /// The conversation.
        conversation: ConversationId,
        /// Words of the question that refer to it: words of its title, or a time.
        by: String,
    },
    /// `unreadable`: unreadable messages of a conversation are left out.
    Unreadable {
        /// The conversation.
        conversation: ConversationId,
        /// Number of messages.
        nodes: u64,
        /// The first of them.
        first: NodeId,
        /// Reason why the first cannot be read.
        why: String,
    },
    /// `not-shown`: a past prompt that was never shown, put together now.
    NotShown {
        /// Conversation of the prompt.
        conversation: ConversationId,
        /// The last message then.
        node: NodeId,
    },
    /// `fell-back`: a strategy failed or broke its bounds, and another one answered in its place since the last view.
    FellBack {
        /// The strategy that failed.
        strategy: WrittenBy,
        /// The strategy that answered; `None` if none did.
        answered_by: Option<WrittenBy>,
        /// The cause.
        why: String,
    },
    /// `compaction-failed`: summaries could not be written, so the history is coarser than it could be.
    CompactionFailed {
        /// The cause.
        why: String,
    },
    /// `compaction-elsewhere`: another process does the background work of the store, including compaction.
    CompactionElsewhere,
    /// `view-not-recorded`: the shown view cannot be shown again later.
    ViewNotRecorded {
        /// The cause.
        why: String,
    },
}

impl Notice {
    /// Name of the variant in kebab-case, such as `words-only`; never changes.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoRetriever => "no-retriever",
            Self::EmptyQuestion => "empty-question",
            Self::FilterAdmitsNone { .. } => "filter-admits-none",
            Self::WordsOnly { .. } => "words-only",
            Self::PartlyEmbedded { .. } => "partly-embedded",
            Self::NotEmbedded { .. } => "not-embedded",
            Self::RejectedByModel { .. } => "rejected-by-model",
            Self::VectorsNotKept { .. } => "vectors-not-kept",
            Self::TokensNotCompared { .. } => "tokens-not-compared",
            Self::NotReranked { .. } => "not-reranked",
            Self::NotJudged { .. } => "not-judged",
            Self::BestHitOverTokens { .. } => "best-hit-over-tokens",
            Self::BestHitOverCharacters { .. } => "best-hit-over-characters",
            Self::NothingLikely { .. } => "nothing-likely",
            Self::MentionFollowed { .. } => "mention-followed",
            Self::Unreadable { .. } => "unreadable",
            Self::NotShown { .. } => "not-shown",
            Self::FellBack { .. } => "fell-back",
            Self::CompactionFailed { .. } => "compaction-failed",
            Self::CompactionElsewhere => "compaction-elsewhere",
            Self::ViewNotRecorded { .. } => "view-not-recorded",
            Self::ViewErased => "view-erased",
            Self::ViewDisabled { .. } => "view-disabled",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRetriever => f.write_str("this memory has no retriever"),
            Self::ViewErased => f.write_str(
                "it showed messages that were erased since: they and its question are left out, so that it cannot be \
                 compared with what was shown",
            ),
            Self::ViewDisabled { nodes } => {
                let runs: Vec<_> = nodes.iter().map(ToString::to_string).collect();
                write!(f, "it shows messages {}, which are disabled now, as it did then", runs.join(", "))
            }
            Self::EmptyQuestion => f.write_str("nothing is recalled for an empty question"),
            Self::NothingLikely { best_percent } => {
                write!(f, "no message is likely to bear on the question: the best has a chance of {best_percent} %")
            }
            Self::FilterAdmitsNone { messages } => write!(f, "the filter lets none of {messages} messages through"),
            Self::WordsOnly { why } => write!(f, "recall is by words only: {why}"),
            Self::PartlyEmbedded { embedded, messages, why } => {
                write!(f, "meaning counts for {embedded} of {messages} messages only; {why}")
            }
            Self::NotEmbedded { why } => write!(f, "new messages are not embedded: {why}"),
            Self::RejectedByModel { messages, first, why } => {
                let messages =
                    if *messages == 1 { "1 message is".to_owned() } else { format!("{messages} messages are") };
                write!(f, "{messages} found by words alone: the model does not take node {first} ({why})")
            }
            Self::VectorsNotKept { why } => write!(f, "what was embedded for this question is not kept: {why}"),
            Self::TokensNotCompared { why } => write!(f, "tokens are not compared: {why}"),
            Self::NotReranked { why } => write!(f, "hits are not reranked: {why}"),
            Self::NotJudged { why } => write!(f, "no model judged which summaries matter: {why}"),
            Self::BestHitOverTokens { conversation, node, tokens, max } => {
                let of = of(conversation.as_ref());
                write!(f, "the best hit, node {node}{of}, is left out: it costs {tokens} tokens of {max}")
            }
            Self::BestHitOverCharacters { conversation, node, characters, max } => {
                let of = of(conversation.as_ref());
                write!(f, "the best hit, node {node}{of}, is left out: it has {characters} characters of {max}")
            }
            Self::MentionFollowed { conversation, by } => {
                write!(f, "the question mentions `{conversation}` ({by}): recall looked there, too")
            }
            Self::Unreadable { conversation, nodes: 1, first, why } => {
                write!(f, "node {first} of `{conversation}` cannot be read ({why}): run `memory doctor`")
            }
            Self::Unreadable { conversation, nodes, first, why } => write!(
                f,
                "{nodes} nodes of `{conversation}` cannot be read, first node {first} ({why}): run `memory doctor`"
            ),
            Self::NotShown { conversation, node } => write!(
                f,
                "no model was shown this: it is the prompt after message {node} of `{conversation}`, made with the summaries \
                 of now"
            ),
            Self::FellBack { strategy, answered_by: Some(by), why } => {
                write!(f, "{strategy} failed, and {by} answered in its place: {why}")
            }
            Self::FellBack { strategy, answered_by: None, why } => {
                write!(f, "{strategy} failed, and nothing answered in its place: {why}")
            }
            Self::CompactionFailed { why } => {
                write!(f, "compaction failed, the history is shown as it stands: {why}")
            }
            Self::CompactionElsewhere => f.write_str(
                "background work on the store is being done elsewhere: compaction is left to it, the history is shown \
                 as it stands",
            ),
            Self::ViewNotRecorded { why } => {
                write!(f, "this view was not recorded and cannot be shown again later: {why}")
            }
        }
    }
}

/// Names the conversation of a node.
fn of(conversation: Option<&ConversationId>) -> String {
    conversation.map(|id| format!(" of `{id}`")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeSet, HashSet},
        mem::discriminant,
    };

    use super::*;

    fn samples() -> Vec<Notice> {
        let why = || "disk full".to_owned();
        let node = NodeId::new(7).unwrap();
        let unreadable = |nodes| Notice::Unreadable {
            conversation: ConversationId::new("talk").unwrap(),
            nodes,
            first: node,
            why: why(),
        };
        vec![
            Notice::NoRetriever,
            Notice::EmptyQuestion,
            Notice::FilterAdmitsNone { messages: 3 },
            Notice::WordsOnly { why: why() },
            Notice::PartlyEmbedded { embedded: 2, messages: 3, why: why() },
            Notice::NotEmbedded { why: why() },
            Notice::NotJudged { why: why() },
            Notice::RejectedByModel { messages: 1, first: node, why: why() },
            Notice::RejectedByModel { messages: 2, first: node, why: why() },
            Notice::VectorsNotKept { why: why() },
            Notice::TokensNotCompared { why: why() },
            Notice::NotReranked { why: why() },
            Notice::NothingLikely { best_percent: 3 },
            Notice::BestHitOverTokens { conversation: None, node, tokens: 18, max: 17 },
            Notice::BestHitOverCharacters {
                conversation: ConversationId::new("trip").ok(),
                node,
                characters: 40,
                max: 39,
            },
            Notice::MentionFollowed { conversation: ConversationId::new("trip").unwrap(), by: "last week".to_owned() },
            Notice::NotShown { conversation: ConversationId::new("talk").unwrap(), node },
            unreadable(1),
            unreadable(4),
            Notice::FellBack {
                strategy: WrittenBy::new("mine", "2"),
                answered_by: Some(WrittenBy::new("spans", "4")),
                why: why(),
            },
            Notice::FellBack { strategy: WrittenBy::new("mine", "2"), answered_by: None, why: why() },
            Notice::CompactionFailed { why: why() },
            Notice::CompactionElsewhere,
            Notice::ViewNotRecorded { why: why() },
            Notice::ViewErased,
            Notice::ViewDisabled { nodes: NodeRange::first_n(3).into_iter().collect() },
        ]
    }

    /// The code and the sentence that are promised. Matched in full, so that a new variant is seen here.
    fn promised(notice: &Notice) -> (&'static str, &'static str) {
        match notice {
            Notice::NoRetriever => ("no-retriever", "this memory has no retriever"),
            Notice::ViewErased => (
                "view-erased",
                "it showed messages that were erased since: they and its question are left out, so that it cannot be \
                 compared with what was shown",
            ),
            Notice::ViewDisabled { .. } => {
                ("view-disabled", "it shows messages 1-3, which are disabled now, as it did then")
            }
            Notice::EmptyQuestion => ("empty-question", "nothing is recalled for an empty question"),
            Notice::FilterAdmitsNone { .. } => ("filter-admits-none", "the filter lets none of 3 messages through"),
            Notice::NothingLikely { .. } => {
                ("nothing-likely", "no message is likely to bear on the question: the best has a chance of 3 %")
            }
            Notice::WordsOnly { .. } => ("words-only", "recall is by words only: disk full"),
            Notice::PartlyEmbedded { .. } => ("partly-embedded", "meaning counts for 2 of 3 messages only; disk full"),
            Notice::NotEmbedded { .. } => ("not-embedded", "new messages are not embedded: disk full"),
            Notice::RejectedByModel { messages: 1, .. } => {
                ("rejected-by-model", "1 message is found by words alone: the model does not take node 7 (disk full)")
            }
            Notice::RejectedByModel { .. } => {
                ("rejected-by-model", "2 messages are found by words alone: the model does not take node 7 (disk full)")
            }
            Notice::VectorsNotKept { .. } => {
                ("vectors-not-kept", "what was embedded for this question is not kept: disk full")
            }
            Notice::TokensNotCompared { .. } => ("tokens-not-compared", "tokens are not compared: disk full"),
            Notice::NotReranked { .. } => ("not-reranked", "hits are not reranked: disk full"),
            Notice::NotJudged { .. } => ("not-judged", "no model judged which summaries matter: disk full"),
            Notice::BestHitOverTokens { .. } => {
                ("best-hit-over-tokens", "the best hit, node 7, is left out: it costs 18 tokens of 17")
            }
            Notice::BestHitOverCharacters { .. } => {
                ("best-hit-over-characters", "the best hit, node 7 of `trip`, is left out: it has 40 characters of 39")
            }
            Notice::MentionFollowed { .. } => {
                ("mention-followed", "the question mentions `trip` (last week): recall looked there, too")
            }
            Notice::Unreadable { nodes: 1, .. } => {
                ("unreadable", "node 7 of `talk` cannot be read (disk full): run `memory doctor`")
            }
            Notice::Unreadable { .. } => {
                ("unreadable", "4 nodes of `talk` cannot be read, first node 7 (disk full): run `memory doctor`")
            }
            Notice::NotShown { .. } => (
                "not-shown",
                "no model was shown this: it is the prompt after message 7 of `talk`, made with the summaries of now",
            ),
            Notice::FellBack { answered_by: Some(_), .. } => {
                ("fell-back", "mine 2 failed, and spans 4 answered in its place: disk full")
            }
            Notice::FellBack { .. } => ("fell-back", "mine 2 failed, and nothing answered in its place: disk full"),
            Notice::CompactionFailed { .. } => {
                ("compaction-failed", "compaction failed, the history is shown as it stands: disk full")
            }
            Notice::CompactionElsewhere => (
                "compaction-elsewhere",
                "background work on the store is being done elsewhere: compaction is left to it, the history is \
                 shown as it stands",
            ),
            Notice::ViewNotRecorded { .. } => {
                ("view-not-recorded", "this view was not recorded and cannot be shown again later: disk full")
            }
        }
    }

    #[test]
    fn every_notice_has_a_code_of_its_own_and_a_sentence() {
        let samples = samples();
        for notice in &samples {
            assert_eq!((notice.code(), notice.to_string().as_str()), promised(notice), "{notice:?}");
            assert!(notice.code().bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()), "{}", notice.code());
        }
        for notice in &samples {
            let written = serde_json::to_value(notice).unwrap();
            assert_eq!(written["code"], notice.code());
            assert_eq!(serde_json::from_value::<Notice>(written).unwrap(), *notice);
        }
        let variants: HashSet<_> = samples.iter().map(discriminant).collect();
        let codes: BTreeSet<_> = samples.iter().map(Notice::code).collect();
        assert_eq!(codes.len(), variants.len());
    }
}
