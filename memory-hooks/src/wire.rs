//! The wire form of prompts, their pieces and figures.

use std::{collections::BTreeMap, ops::Range};

use memory_core::{
    AiComponents, Attachment, ConversationId, Level, MemoryUsed, NodeId, NodeKind, NodeRange, Relation, SummaryId,
    Timestamp, ViewId,
    port::{AnsweredBy, ConversationState, Notice},
    written_as,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    EntryAuthor, EntryId, EntryKind, EntryStatus, ListedConversation, NodeDetails, Piece, PieceKind, Prompt,
    PromptPart, Reduction, SourceClass,
};

/// Messages at each level.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct PerLevel {
    full: u64,
    summary: u64,
    meta: u64,
    archive: u64,
}

/// Counts by the level's number, written by the level's name.
pub(crate) mod per_level {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PerLevel;

    pub(crate) fn serialize<S: Serializer>(counts: &[u64; 4], serializer: S) -> Result<S::Ok, S::Error> {
        let [full, summary, meta, archive] = *counts;
        PerLevel { full, summary, meta, archive }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; 4], D::Error> {
        let PerLevel { full, summary, meta, archive } = PerLevel::deserialize(deserializer)?;
        Ok([full, summary, meta, archive])
    }
}

#[derive(Serialize, JsonSchema)]
struct WrittenListed {
    #[serde(flatten)]
    state: ConversationState,
    /// True if nobody set the title, so that it follows from the first messages.
    title_derived: bool,
}

written_as!(ListedConversation, WrittenListed: |listed| {
    let title = listed.title.as_ref();
    WrittenListed {
        state: listed.state.clone().title(title.map(|title| title.text.clone())),
        title_derived: title.is_some_and(|title| title.is_derived),
    }
});

#[derive(Serialize, JsonSchema)]
struct WrittenDetails<'a> {
    /// The number of the message.
    node: NodeId,
    /// Time of the message.
    at: Timestamp,
    /// `user` or `ai`.
    kind: NodeKind,
    /// Name or role of the speaker.
    speaker: &'a str,
    /// Model that said the message: the member `model` of its metadata.
    model: Option<String>,
    /// Level of the highest summary over the message.
    level: Level,
    /// True if a view may show something shorter instead.
    expandable: bool,
    /// True if views keep it verbatim.
    pinned: bool,
    /// Tokens of the text.
    tokens: u32,
    /// Lines of the text.
    lines: u32,
    /// Importance, from 0 to 1.
    importance: f32,
    /// Topics of the message, as its writer named them.
    topics: &'a [String],
    /// Earlier message that this one follows up or corrects: as stored, or else by rules.
    relates_to: Option<Relation>,
    /// Parts of the message; for a message of the model, with the results of its calls.
    components: AiComponents<'a>,
    /// Pictures and documents of the message.
    attachments: Vec<Attachment<'a>>,
    /// Text of the message.
    text: String,
}

written_as!(NodeDetails, WrittenDetails<'_>: |details| {
    let (node, message) = (&details.node, &details.node.message);
    let mut components = details.components();
    let answers = components.results.iter_mut().chain(&mut components.errors);
    answers.for_each(|answer| answer.node = answer.node.or(Some(node.id)));
    WrittenDetails {
        node: node.id,
        at: node.at,
        kind: node.kind(),
        speaker: message.voice(),
        model: message.model(),
        level: details.level,
        expandable: details.is_expandable,
        pinned: node.pinned,
        tokens: node.tokens,
        lines: node.line_count,
        importance: node.importance,
        topics: &node.topics,
        relates_to: node.relates_to,
        components,
        attachments: message.attachments().collect(),
        text: message.text(),
    }
});

#[derive(Serialize, JsonSchema)]
struct WrittenPiece<'a> {
    /// Id of the piece, the same in every prompt.
    id: String,
    /// Kind: `message`, `summary`, `meta`, `archive`, `lost`, `omitted`, `disabled`, `standing`, `entry`,
    /// `recalled` or `question`.
    kind: PieceKind,
    /// Other conversation that the piece was recalled from.
    conversation: Option<&'a ConversationId>,
    /// Messages that the piece shows or stands for, or that an entry came from.
    nodes: Option<NodeRange>,
    /// The number of the summary.
    summary: Option<SummaryId>,
    /// Bytes of the message's text that a standing line shows.
    excerpt: &'a Option<Range<usize>>,
    /// Id of the entry.
    entry: Option<EntryId>,
    /// Later message that changes what a recalled one says.
    changed_by: Option<NodeId>,
    /// Name or role of the speaker.
    speaker: Option<&'a str>,
    /// Times of the first and the last message.
    times: Option<[Timestamp; 2]>,
    /// Source: `user`, `model`, `tool` or `import`.
    source: Option<&'static str>,
    /// Tokens of the text.
    tokens: u32,
    /// Reason for showing the piece.
    reason: &'a str,
    /// Part of the prompt's text that belongs to the piece.
    text: &'a str,
}

written_as!(Piece, WrittenPiece<'_>: |piece| WrittenPiece {
    id: piece.id(),
    kind: piece.kind,
    conversation: piece.conversation.as_ref(),
    nodes: piece.nodes,
    summary: piece.summary,
    excerpt: &piece.excerpt,
    entry: piece.entry,
    changed_by: piece.changed_by,
    speaker: piece.speaker.as_deref(),
    times: piece.times,
    source: piece.source.map(SourceClass::as_str),
    tokens: piece.tokens,
    reason: &piece.reason,
    text: &piece.text,
});

/// Enums that are written by a name.
macro_rules! by_name {
    ($($type:ident: |$value:ident| $name:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                serializer.serialize_str($name)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string"})
            }
        }
    )*};
}

by_name! {
    EntryAuthor: |by| &by.to_string();
    EntryId: |id| &id.to_string();
    EntryKind: |kind| kind.as_str();
    EntryStatus: |status| status.as_str();
    PieceKind: |kind| kind.as_str();
    PromptPart: |part| match part {
        Self::History => "history",
        Self::Standing => "standing",
        Self::Recalled => "recalled",
        Self::Question => "question",
    };
    Reduction: |reduction| match reduction {
        Self::ResultsShortened => "results_shortened",
        Self::Halved => "halved",
        Self::Coarsest => "coarsest",
    };
}

#[derive(Serialize, JsonSchema)]
struct WrittenPrompt<'a> {
    /// The application's own instructions.
    instructions: Option<&'a str>,
    /// The question.
    question: &'a str,
    /// The number of the recorded view.
    view: Option<ViewId>,
    /// Number of messages that the conversation had.
    nodes: u64,
    /// Most tokens of `text`.
    budget: u32,
    /// Tokens of `text`.
    tokens: u32,
    /// Tokens of the history.
    history_tokens: u32,
    /// Tokens of standing lines.
    standing_tokens: u32,
    /// Tokens of recalled messages.
    recalled_tokens: u32,
    /// Tokens of all messages, shown whole with their labels.
    full_tokens: u64,
    /// Pieces of the text, in order.
    pieces: &'a [Piece],
    /// Parts of the memory in the prompt.
    used: MemoryUsed,
    /// Comparisons of vectors, by conversation.
    compared: &'a BTreeMap<ConversationId, Vec<AnsweredBy>>,
    /// Reductions after a model's window overflowed.
    reductions: &'a [Reduction],
    notices: &'a [Notice],
    /// Exact text for the model.
    text: &'a str,
}

// `Prompt::messages` is serialized by itself.
written_as!(Prompt, WrittenPrompt<'_>: |prompt| WrittenPrompt {
    instructions: prompt.instructions(),
    question: prompt.question(),
    view: prompt.view,
    nodes: prompt.nodes,
    budget: prompt.budget,
    tokens: prompt.tokens,
    history_tokens: prompt.history_tokens(),
    standing_tokens: prompt.standing_tokens(),
    recalled_tokens: prompt.recalled_tokens(),
    full_tokens: prompt.full_tokens,
    pieces: &prompt.pieces,
    used: prompt.used(),
    compared: &prompt.compared,
    reductions: &prompt.reductions,
    notices: &prompt.notices,
    text: prompt.text(),
});
