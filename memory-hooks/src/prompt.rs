//! The prompt for a question: a view of the whole history, and the exact words that answer the question.

mod assembly;
pub(crate) mod end;
mod entries;
pub(crate) mod learning;
mod media;
mod mention;
mod messages;
mod options;
mod overflow;
mod past;
mod piece;
mod recorded;
pub(crate) mod standing;
mod used;

use std::collections::BTreeMap;

use memory_core::{
    ConversationId, NodeRange, Timestamp, ViewId,
    port::{AnsweredBy, ChatRequest, Notice},
};

pub(crate) use assembly::{Request, aside, assemble, turn, visible};
pub use options::PromptOptions;
pub(crate) use options::{history_ceiling, share_of};
pub(crate) use overflow::reduce;
pub(crate) use past::rebuild;
pub use piece::{Piece, PieceKind, PromptPart};
pub(crate) use recorded::record;

use crate::render::{Layout, Part};

/// A reduction of a prompt after the window of a model overflowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reduction {
    /// Oversized tool results are shown by their heads and tails. The log has all of them.
    ResultsShortened,
    /// The view was cut for half of the tokens. Summaries were written for it where needed.
    Halved,
    /// The view is as coarse as possible.
    Coarsest,
}

/// The text that a model is shown for a question, and its pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Pieces of the history, in order; then standing lines, in order; then recalled messages, in order; then messages
    /// recalled from other conversations, by conversation and in order; then the question. In the prompt of a running
    /// agent, messages recalled for a message of the user stand before that message.
    pub pieces: Vec<Piece>,
    /// Tokens of [`Self::text`].
    pub tokens: u32,
    /// Token budget of the text: that of the options without the tokens of the instructions.
    pub budget: u32,
    /// Number of messages that the conversation had.
    pub nodes: u64,
    /// The model that judged which summaries matter.
    pub(crate) judged_by: Option<String>,
    /// Erased messages that the conversation had.
    pub(crate) erased: Vec<NodeRange>,
    /// Tokens of all messages, shown whole with their labels.
    pub full_tokens: u64,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
    /// Comparisons of vectors for recall, by conversation; empty if there were none.
    pub compared: BTreeMap<ConversationId, Vec<AnsweredBy>>,
    /// The reductions after a window overflowed, in order.
    pub reductions: Vec<Reduction>,
    /// The number of the recorded view, if it was recorded.
    pub view: Option<ViewId>,
    /// Limit of the layout on texts of the last turn; longer ones are shown by head and tail.
    longest_result: Option<u32>,
    /// Sources of the pieces.
    parts: Vec<Part>,
    pub(crate) instructions: Option<String>,
    question: String,
    /// The present as shown.
    now: Timestamp,
    layout: Layout,
    text: String,
}

impl Prompt {
    /// The exact text for the model.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces of one part, in order.
    pub fn part(&self, part: PromptPart) -> impl Iterator<Item = &Piece> + Clone {
        self.pieces.iter().filter(move |piece| piece.kind.part() == part)
    }

    /// The application's own instructions, from the options.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The prompt as a request to a chat model: [`instructions`](Self::instructions) as the system's words; verbatim
    /// messages of the history as messages, with their content blocks; everything else, which is data, in the user's
    /// voice. The contents are those of [`text`](Self::text), in its order.
    ///
    /// Pictures and documents are sent while the budget has room for them next to the text, the newest first; the
    /// others are named. Their prices are estimates, at the upper end of what providers count.
    ///
    /// Reasoning that only the model that wrote it can read is left out; [`messages_for`](Self::messages_for) keeps it.
    #[must_use]
    pub fn messages(&self) -> ChatRequest {
        messages::request(self, None)
    }

    /// [`Self::messages`] for the model of this name at its provider: its own reasoning is kept with the signatures,
    /// other reasoning as by [`Message::content_for`](memory_core::Message::content_for).
    #[must_use]
    pub fn messages_for(&self, model: &str) -> ChatRequest {
        messages::request(self, Some(model))
    }

    /// The question, verbatim.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }

    fn tokens_of(&self, part: PromptPart) -> u32 {
        self.part(part).map(|piece| piece.tokens).sum()
    }

    /// Tokens of the history's pieces.
    #[must_use]
    pub fn history_tokens(&self) -> u32 {
        self.tokens_of(PromptPart::History)
    }

    /// Tokens of the history's first pieces that an earlier prompt also began with, which a provider that caches the
    /// beginnings of prompts need not read again.
    #[must_use]
    pub fn shared_history(&self, earlier: &Self) -> u32 {
        let [ours, theirs] = [self, earlier].map(|prompt| prompt.part(PromptPart::History));
        ours.zip(theirs).take_while(|(here, there)| here.text == there.text).map(|(here, _)| here.tokens).sum()
    }

    /// Tokens of the recalled pieces.
    #[must_use]
    pub fn recalled_tokens(&self) -> u32 {
        self.tokens_of(PromptPart::Recalled)
    }

    /// Tokens of the standing lines.
    #[must_use]
    pub fn standing_tokens(&self) -> u32 {
        self.tokens_of(PromptPart::Standing)
    }

    /// Runs of nodes of the conversation itself that are shown verbatim, in the history or recalled.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let is_verbatim = |kind| matches!(kind, PieceKind::Message | PieceKind::Recalled);
        let verbatim = |piece: &&Piece| is_verbatim(piece.kind) && piece.conversation.is_none();
        NodeRange::merge(self.pieces.iter().filter(verbatim).filter_map(|piece| piece.nodes).collect())
    }
}
