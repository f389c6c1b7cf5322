//! `Serialize` for prompts and their pieces.

use std::{collections::BTreeMap, ops::Range};

use memory_core::{AnsweredBy, ConversationId, MemoryUsed, NodeRange, Notice, SummaryId, Timestamp, ViewId};
use serde::{Serialize, Serializer};

use crate::{Piece, PieceKind, Prompt, PromptPart, Reduction, SourceClass};

#[derive(Serialize)]
#[serde(rename = "Piece")]
struct Written<'a> {
    id: String,
    kind: PieceKind,
    conversation: Option<&'a ConversationId>,
    nodes: Option<NodeRange>,
    summary: Option<SummaryId>,
    excerpt: &'a Option<Range<usize>>,
    speaker: Option<&'a str>,
    times: Option<[Timestamp; 2]>,
    source: Option<&'static str>,
    tokens: u32,
    reason: &'a str,
    text: &'a str,
}

impl Serialize for Piece {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, conversation, nodes, summary, excerpt, speaker, times, source, tokens, reason, text } = self;
        Written {
            id: self.id(),
            kind: *kind,
            conversation: conversation.as_ref(),
            nodes: *nodes,
            summary: *summary,
            excerpt,
            speaker: speaker.as_deref(),
            times: *times,
            source: source.map(SourceClass::as_str),
            tokens: *tokens,
            reason,
            text,
        }
        .serialize(serializer)
    }
}

impl Serialize for PieceKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for PromptPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::History => "history",
            Self::Standing => "standing",
            Self::Recalled => "recalled",
            Self::Question => "question",
        })
    }
}

impl Serialize for Reduction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::ResultsShortened => "results_shortened",
            Self::Halved => "halved",
            Self::Coarsest => "coarsest",
        })
    }
}

#[derive(Serialize)]
#[serde(rename = "Prompt")]
struct WrittenPrompt<'a> {
    instructions: Option<&'a str>,
    question: &'a str,
    text: &'a str,
    pieces: &'a [Piece],
    tokens: u32,
    budget: u32,
    nodes: u64,
    full_tokens: u64,
    notices: &'a [Notice],
    compared: &'a BTreeMap<ConversationId, Vec<AnsweredBy>>,
    reductions: &'a [Reduction],
    view: Option<ViewId>,
    used: MemoryUsed,
}

impl Serialize for Prompt {
    /// Serializes its fields, its text and its question. [`Prompt::messages`] can be serialized by itself.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenPrompt {
            instructions: self.instructions(),
            question: self.question(),
            text: self.text(),
            pieces: &self.pieces,
            tokens: self.tokens,
            budget: self.budget,
            nodes: self.nodes,
            full_tokens: self.full_tokens,
            notices: &self.notices,
            compared: &self.compared,
            reductions: &self.reductions,
            view: self.view,
            used: self.used(),
        }
        .serialize(serializer)
    }
}
