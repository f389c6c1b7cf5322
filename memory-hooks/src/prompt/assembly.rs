//! Assembles a prompt: first the history, from the budget alone; then the words recalled for the question.

mod judged;
mod recalled;
mod running;

use std::collections::BTreeMap;

use memory_core::{
    ConversationId, Node, NodeId, NodeRange,
    port::{Conversations, Losses, ManagedView, Notice, Scope, ViewBody, ViewPiece, ViewRequest},
};

pub(crate) use self::running::{aside, turn, visible, window_of};
use super::{PieceKind, Prompt, PromptOptions, learning, mention, standing};
use crate::{
    MemoryError, RecallUsed,
    learned::Learned,
    parts::Parts,
    render::{self, Body, Layout, Part, Tail},
    shorten,
    snapshot_cache::Snapshot,
};

/// Most tokens of two joined texts beyond the sum of their tokens.
const SEAM: u32 = 4;

/// The request for a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) question: &'a str,
    pub(crate) options: PromptOptions,
    /// Most tokens of a tool result, and of a text of the last turn. A longer one is shown by its head and tail.
    pub(crate) longest_result: Option<u32>,
}

impl Request<'_> {
    /// The same request with another budget.
    pub(crate) fn within(&self, budget: u32) -> Self {
        // A smaller prompt is urgent, and for the same question, so no model judges again.
        Self { options: PromptOptions { budget, smart_context: false, ..self.options.clone() }, ..*self }
    }
}

/// Assembles a prompt.
pub(crate) async fn assemble(
    parts: &Parts,
    conversation: &ConversationId,
    request: Request<'_>,
) -> Result<Prompt, MemoryError> {
    let Request { question, options, longest_result } = request;
    // A background worker does due work while the model replies. Its result is shown at the next turn.
    let manages = !parts.queue.enqueue(conversation);
    let snapshot = Snapshot::read(parts, conversation).await?;
    let tail = Tail { question, now: options.now.unwrap_or_else(|| snapshot.tree.last_time()) };
    let question_tokens = |tail: &Tail<'_>, shown: &[Part]| {
        parts.counter.count(&format!("\n\n{}", render::question_lines(tail, shown))).saturating_add(SEAM)
    };
    let layout = Layout::for_question(options.now);
    let tokens_of = |pieces: &[ViewPiece]| {
        let shown: Vec<_> = pieces.iter().cloned().map(|piece| part(piece, &snapshot)).collect();
        let written = layout.write(&shown, &tail, &|text| parts.count(text));
        parts.counts.count_parts(&written.lines, parts.counter.as_ref())
    };
    let learned = match snapshot.tree.tokens() <= u64::from(options.budget) {
        true => Learned::default(),
        false => learning::learned(parts, conversation, &snapshot).await?,
    };
    let wanted = standing::StandingRequest {
        conversation,
        lines: &learned.lines,
        redactor: &snapshot.redactor,
        question: "",
        budget: options.budget,
        shown: &[],
    };
    // All rules are counted, so that the history does not depend on the question; the room of hidden ones is left to
    // recall.
    let (_, standing_tokens) = standing::standing(parts, &wanted, options.budget).await?;
    let asked = ViewRequest::new(conversation, options.budget, &tokens_of)
        .question(question)
        .history_share(options.history_share)
        .recalls(parts.retriever.is_some())
        .question_tokens(question_tokens(&tail, &[]))
        .standing_tokens(standing_tokens)
        .elsewhere_tokens(parts.retriever.as_ref().map_or(0, |_| options.elsewhere_tokens()))
        .longest_result(longest_result)
        .manages(manages);
    let view = parts.manager.view(&asked).await?;
    let snapshot = Snapshot::read(parts, conversation).await?;
    let now = options.now.unwrap_or_else(|| snapshot.tree.last_time_within(view.nodes));
    let tail = Tail { question, now };
    let ManagedView { nodes, pieces, verbatim, longest_result, losses, mut notices, .. } = view;
    let shown: Vec<_> = pieces.into_iter().map(|piece| part(piece, &snapshot)).collect();
    let tokens = parts.counts.count_parts(&render::history_lines(&shown), parts.counter.as_ref());
    let question_tokens = question_tokens(&tail, &shown);
    let history = HistoryPart { verbatim, shown, tokens, losses };
    let full_tokens = snapshot.tree.tokens_within(nodes);
    let is_whole = NodeRange::first_n(nodes).is_none_or(|all| history.verbatim == [all]);
    let learned = if is_whole { Learned::default() } else { learning::learned(parts, conversation, &snapshot).await? };
    let mentions = match options.follow_mentions {
        true => mention::mentioned(parts, conversation, question, now).await?,
        false => Vec::new(),
    };
    let options = options.also_of(mentions.iter().map(|mention| mention.conversation.clone()));
    notices.extend(mentions.into_iter().map(|of| Notice::MentionFollowed { conversation: of.conversation, by: of.by }));
    let scope = within(parts, conversation, &options).await?;
    let mut assembly = Assembly {
        parts,
        conversation,
        judged_by: None,
        scope,
        tail,
        question_tokens,
        options,
        longest_result,
        snapshot,
        nodes,
        full_tokens,
        learned,
        notices,
    };
    let judged = assembly.judge(question, &history.shown).await;
    assembly.notices.extend(judged.notice);
    let prompt = assembly.prompt_with_recall(&history, &judged.turns).await?;
    assembly.announce(&prompt).await;
    Ok(prompt)
}

/// The other conversations that are recalled from; `None` if there are none. Conversations of different owners are
/// never shown together, for the administrator too: the record of a conversation is visible to its owner.
async fn within(
    parts: &Parts,
    conversation: &ConversationId,
    options: &PromptOptions,
) -> Result<Option<Scope>, MemoryError> {
    if !options.reaches_others() {
        return Ok(None);
    }
    let owner = parts.store.conversation(conversation).await?.owner;
    let scope = Scope { owner, conversations: options.scope.clone() };
    if matches!(scope.conversations, Conversations::Only(_)) {
        // A wrong name is an error even if no room is left to recall anything.
        scope.states(&*parts.store).await?;
    }
    Ok(Some(scope))
}

/// The part that a piece of a view becomes. Excluded content is removed from summaries here too, whatever the manager:
/// a message, or one that repeats it, may have been marked after it was summarized.
fn part(piece: ViewPiece, snapshot: &Snapshot) -> Part {
    let ViewPiece { body, reason, .. } = piece;
    match body {
        ViewBody::Message(node) => Part::message(PieceKind::Message, *node, reason),
        ViewBody::Summary { mut summary, from, to, source } => {
            summary.body.text = snapshot.redactor.redact(&summary.body.text);
            let (kind, nodes) = (PieceKind::Summary(summary.body.level), summary.body.span);
            let said_as = render::said_as(snapshot, nodes);
            let body = Body::Summary { summary, from, to, said_as };
            Part { kind, elsewhere: None, nodes, source, reason, body }
        }
        ViewBody::Lost(nodes) => Part::lost(nodes, &reason),
        ViewBody::Omitted(nodes) => Part::omitted(nodes, &reason),
    }
}

/// The history's part of a prompt.
struct HistoryPart {
    /// Nodes shown verbatim.
    verbatim: Vec<NodeRange>,
    shown: Vec<Part>,
    /// Tokens of the lead line and the pieces.
    tokens: u32,
    /// Nodes that cannot be read.
    losses: Losses,
}

pub(super) struct Assembly<'a> {
    pub(super) parts: &'a Parts,
    pub(super) conversation: &'a ConversationId,
    /// The model that judged which summaries matter.
    judged_by: Option<String>,
    /// Conversations that are recalled from next to this one, and their owner; `None` if there are no others.
    scope: Option<Scope>,
    pub(super) tail: Tail<'a>,
    /// The tokens that the question adds to a prompt, with a small reserve for joining texts.
    question_tokens: u32,
    pub(super) options: PromptOptions,
    /// The most tokens of a tool result, and of a text of the last turn, if longer ones are shortened.
    longest_result: Option<u32>,
    pub(super) snapshot: Snapshot,
    /// Number of messages in the view; the conversation may have more by now.
    nodes: u64,
    /// Tokens of these messages.
    full_tokens: u64,
    /// Instructions, preferences and decisions; empty if everything fits.
    pub(super) learned: Learned,
    notices: Vec<Notice>,
}

impl Assembly<'_> {
    pub(super) fn count(&self, text: &str) -> u32 {
        self.parts.count(text)
    }

    /// The message as shown: shortened if it is in the last turn, or a long result of a tool.
    fn shortened(&self, node: Node) -> Node {
        let last = NodeId::new(self.nodes);
        let last_turn = last.and_then(|last| self.snapshot.tree.last_turn_within(last));
        let is_last_turn = last_turn.is_some_and(|turn| turn.contains(node.id));
        shorten::shortened(node, self.longest_result, is_last_turn, self.parts.counter.as_ref())
    }

    /// Renders the whole prompt: the history, the recalled words, the question.
    fn close(&self, history: &HistoryPart, recalled: Vec<Part>) -> Prompt {
        let mut shown = history.shown.clone();
        shown.extend(recalled);
        self.written(shown, Layout::for_question(self.options.now))
    }

    /// Renders these parts and the question.
    fn written(&self, shown: Vec<Part>, layout: Layout) -> Prompt {
        let now = self.options.now.unwrap_or_else(|| render::present(self.tail.now, &shown));
        let tail = Tail { now, ..self.tail };
        let written = layout.write(&shown, &tail, &|text| self.count(text));
        let tokens = self.parts.counts.count_parts(&written.lines, self.parts.counter.as_ref());
        Prompt {
            judged_by: self.judged_by.clone(),
            pieces: written.pieces,
            tokens,
            budget: self.options.budget,
            nodes: self.nodes,
            full_tokens: self.full_tokens,
            notices: self.notices.clone(),
            compared: BTreeMap::new(),
            reductions: Vec::new(),
            view: None,
            longest_result: self.longest_result,
            parts: shown,
            instructions: None,
            question: self.tail.question.to_owned(),
            now: self.options.now,
            layout,
            text: written.lines.concat(),
        }
    }

    /// Dispatches an event for each conversation that messages were recalled from.
    async fn announce(&self, prompt: &Prompt) {
        let recalled = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
        let recalled: Vec<_> = recalled.collect();
        for of_one in recalled.chunk_by(|a, b| a.conversation == b.conversation) {
            let conversation =
                of_one.first().and_then(|piece| piece.conversation.as_ref()).unwrap_or(self.conversation);
            let nodes = NodeRange::merge(of_one.iter().filter_map(|piece| piece.nodes).collect());
            let pieces = of_one.iter().map(|piece| piece.id()).collect();
            self.parts.report(RecallUsed { conversation: conversation.clone(), nodes, pieces }).await;
        }
    }
}
