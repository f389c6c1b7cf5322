//! Repair of one summary by a person: other words in its place, or its parts.

use memory_core::{
    ConversationId, Level, NodeId, NodeRange, Summary, SummaryDraft, SummaryId, WrittenBy,
    plan::Tree,
    port::{Event, Recorded},
    text::is_hidden,
};

use super::{rewriting::superseding_input, writing::most_tokens};
use crate::{MemoryError, ports::Ports, snapshot_cache::Snapshot};

/// Replacement of a summary.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Repair<'a> {
    /// Words of a person.
    Words(&'a str),
    /// Parts of the summary.
    Parts,
}

/// A summary that a person repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct RepairedSummary {
    /// Number of the new record, or of the old one if nothing changed.
    pub summary: SummaryId,
    /// Number of the record whose words stood there. The record stays in the log, for recorded views.
    pub replaced: SummaryId,
    /// Level of the summary.
    pub level: Level,
    /// Messages that the summary covers.
    pub nodes: NodeRange,
    /// Words as recorded; empty for a dissolved summary.
    pub text: String,
    /// Tokens of the words.
    pub tokens: u32,
    /// Tokens of the words before.
    pub tokens_before: u32,
    /// True if words of messages that are kept out of summaries were removed from the text.
    #[cfg_attr(feature = "serde", serde(rename = "redacted"))]
    pub is_redacted: bool,
    /// Number of summaries made from this one, whose words stay as they are.
    pub above: u64,
}

/// Reasons why a summary cannot be repaired. Nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The summary does not exist.
    #[error("`{conversation}` has no summary {summary}: `memory summaries` lists them by their numbers")]
    NoSummary {
        /// The conversation.
        conversation: ConversationId,
        /// Number of the summary.
        summary: SummaryId,
    },
    /// The text costs more than a summary of these messages may.
    #[error("the text has {tokens} tokens, and this {level} of {nodes} may have {most}: shorten it")]
    TooLong {
        /// The level of the summary.
        level: Level,
        /// Messages that the summary covers.
        nodes: NodeRange,
        /// Tokens of the text.
        tokens: u32,
        /// Most tokens: the limit of the level, and at most half of the tokens that the summary was made from.
        most: u32,
    },
    /// The text has nothing visible.
    #[error("the text is blank: a META or an ARCHIVE that says nothing useful can be dissolved instead")]
    Blank,
    /// The message is kept out of summaries.
    #[error("message {node} is kept out of summaries, so nobody describes it in one")]
    KeptOut {
        /// The message.
        node: NodeId,
    },
    /// A SUMMARY was not made from other summaries.
    #[error(
        "{summary} stands for {nodes} alone, and has no parts to show instead: pin that message, and it is shown word \
         for word"
    )]
    NoParts {
        /// The summary.
        summary: SummaryId,
        /// Messages that the summary covers.
        nodes: NodeRange,
    },
    /// The parts of the summary are shown already.
    #[error("{summary} is dissolved already: its parts are shown; rewrite it to have words there again")]
    AlreadyDissolved {
        /// The summary.
        summary: SummaryId,
    },
}

/// Records the replacement of a summary. `summary` is the number of any record of that place.
pub(crate) async fn repair(
    ports: &Ports,
    conversation: &ConversationId,
    summary: SummaryId,
    repair: Repair<'_>,
    by: WrittenBy,
) -> Result<RepairedSummary, MemoryError> {
    // Checked before the lease is taken, which would create nothing, so that a wrong name is reported as such.
    ports.store.conversation(conversation).await?;
    let Some(_turn) = ports.compacting.take(conversation) else {
        return Err(MemoryError::AtWork { conversation: conversation.clone() });
    };
    let _lease = ports.store.lease().await?;
    let snapshot = Snapshot::read(ports, conversation).await?;
    let tree = &snapshot.tree;
    let there = there(ports, conversation, tree, summary).await?;
    let Some(there) = there else {
        return Err(RepairError::NoSummary { conversation: conversation.clone(), summary }.into());
    };
    let Place { place, words } = there;
    let (level, nodes) = (words.body.level, words.body.span);
    let (text, is_redacted) = match repair {
        Repair::Parts if level == Level::Summary => return Err(RepairError::NoParts { summary, nodes }.into()),
        Repair::Parts if tree.is_dissolved(place) => return Err(RepairError::AlreadyDissolved { summary }.into()),
        Repair::Parts => (String::new(), false),
        Repair::Words(text) => {
            let kept_out = nodes.iter().find(|node| tree.node(*node).is_some_and(|node| node.keep_out_of_summaries));
            if let Some(node) = kept_out.filter(|_| level == Level::Summary) {
                return Err(RepairError::KeptOut { node }.into());
            }
            let text = visible(text);
            let clean = snapshot.redactor.redact(&text);
            if clean.trim().is_empty() {
                return Err(RepairError::Blank.into());
            }
            let is_redacted = clean != text;
            (clean, is_redacted)
        }
    };
    let tokens = ports.counter.count(&text);
    let most = most_tokens(level, tokens_below(tree, place, nodes));
    if tokens > most {
        return Err(RepairError::TooLong { level, nodes, tokens, most }.into());
    }
    let mut repaired = RepairedSummary {
        summary: words.id,
        replaced: words.id,
        level,
        nodes,
        text: text.clone(),
        tokens,
        tokens_before: words.body.tokens,
        is_redacted,
        above: above(tree, place),
    };
    if text == words.body.text && by == words.body.written_by {
        return Ok(repaired);
    }
    let mut draft = SummaryDraft::new(level, nodes, text, tokens, by, words.body.input_hash);
    draft.children = tree.summary(place).map(|place| place.children.to_vec()).unwrap_or_default();
    draft.metadata = words.body.metadata.clone();
    draft.for_view = words.body.for_view;
    draft.erased = tree.erased_in(nodes);
    draft.input_hash = superseding_input(words.id, &draft);
    let recorded = ports.store.record(conversation, vec![Event::Summary(draft)]).await?;
    if let Some(Recorded::Summary(number)) = recorded.first() {
        repaired.summary = *number;
    }
    tracing::debug!(%conversation, ?repaired, "summary repaired");
    Ok(repaired)
}

/// A place of the tree, and the record whose words stand there.
struct Place {
    place: SummaryId,
    words: Summary,
}

async fn there(
    ports: &Ports,
    conversation: &ConversationId,
    tree: &Tree,
    summary: SummaryId,
) -> Result<Option<Place>, MemoryError> {
    let Some(place) = tree.place_of(summary) else { return Ok(None) };
    let read = ports.store.summaries_of(conversation, &[tree.words_for(place)]).await?;
    Ok(read.into_iter().next().map(|words| Place { place, words }))
}

/// Tokens of the messages or summaries that a summary was made from.
fn tokens_below(tree: &Tree, place: SummaryId, nodes: NodeRange) -> u32 {
    let children = tree.summary(place).map(|place| place.children.to_vec()).unwrap_or_default();
    if children.is_empty() {
        return nodes.iter().filter_map(|node| tree.node(node)).fold(0, |sum, node| sum.saturating_add(node.tokens));
    }
    let parts = tree.undissolved(children);
    parts.into_iter().filter_map(|part| tree.summary(part)).fold(0, |sum, part| sum.saturating_add(part.tokens))
}

/// Number of summaries above a place.
fn above(tree: &Tree, place: SummaryId) -> u64 {
    std::iter::successors(tree.parent(place), |above| tree.parent(*above)).count() as u64
}

/// A text without control, hidden and filler characters. Lines stay.
fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let shown = |c: char| match c {
        '\n' => Some('\n'),
        c if c.is_whitespace() => Some(' '),
        c => Some(c).filter(|c| !is_hidden(*c)),
    };
    let text: String = text.chars().filter_map(shown).collect();
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_words_have_no_hidden_characters() {
        let check = |text, expected: &str| assert_eq!(visible(text), expected);
        check("  Two lines \r\nof words\t here\n\n", "Two lines\nof words  here");
        check("\u{1b}[31mred\u{202e}\u{200b}", "[31mred");
        check("\u{7}\n \u{2066}", "");
    }
}
