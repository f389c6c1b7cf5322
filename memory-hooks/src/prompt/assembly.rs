//! Assembles a prompt: first the history, which only the budget determines; then the words recalled for the question.

mod judged;
mod recalled;
mod running;

use std::{collections::BTreeMap, sync::OnceLock};

use memory_core::{
    ConversationId, Mark, Node, NodeId, NodeRange,
    port::{ConversationState, Conversations, Losses, ManagedView, Notice, Scope, ViewBody, ViewPiece, ViewRequest},
};

pub(crate) use self::running::{aside, turn, visible, window_of};
use super::{PieceKind, Prompt, PromptOptions, end, learning, mention, options::share_of};
use crate::{
    MemoryError, RecallUsed,
    learned::Learned,
    ledger::Recorded,
    parts::Parts,
    render::{self, Body, Layout, Part, Tail},
    shorten::TextLimits,
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
        // A smaller prompt is urgent and has the same question, so no model judges again.
        Self { options: PromptOptions { budget, smart_context: false, ..self.options.clone() }, ..*self }
    }
}

/// Assembles a prompt: the end and the coarsest view of the history, then rules, then words recalled for the question,
/// then a finer history in the room that is left.
pub(crate) async fn assemble(
    parts: &Parts,
    conversation: &ConversationId,
    request: Request<'_>,
) -> Result<Prompt, MemoryError> {
    let Request { question, options, longest_result } = request;
    // A background worker does due work while the model replies. Its result is shown at the next turn.
    let manages = !parts.queue.enqueue(conversation);
    let mut snapshot = Snapshot::read(parts, conversation).await?;
    end::limit(&mut snapshot, end::reply(question, options.budget, 0));
    let now = options.now.unwrap_or_else(|| parts.clock.now());
    let mentions = match options.follow_mentions {
        true => mention::mentioned(parts, conversation, question, now).await?,
        false => Vec::new(),
    };
    let documents = documents(parts, conversation, &options).await?;
    let others = mentions.iter().map(|mention| mention.conversation.clone()).chain(documents.iter().cloned());
    let options = options.also_of(others);
    let followed = mentions.into_iter().map(|of| Notice::MentionFollowed { conversation: of.conversation, by: of.by });
    let scope = scope_of_others(parts, conversation, &options).await?;
    let learned = match snapshot.tree.tokens() <= u64::from(options.budget) {
        true => Learned::default(),
        false => learning::learned(parts, conversation, &snapshot).await?,
    };
    let tail = Tail { question, now };
    let lines = format!("\n\n{}", render::question_lines(&tail, &[]));
    let mut assembly = Assembly {
        parts,
        conversation,
        judged_by: None,
        scope,
        documents,
        tail,
        question_tokens: parts.count(&lines).saturating_add(SEAM),
        layout: Layout::for_question(options.expands),
        options,
        longest_result,
        nodes: snapshot.tree.total(),
        snapshot,
        learned,
        recorded: OnceLock::new(),
        entries: Vec::new(),
        notices: followed.collect(),
    };
    assembly.entries = assembly.entries(question).await?;
    let kept_tokens = assembly.kept_tokens().await?;
    let coarse = assembly.history(0, 0, kept_tokens, manages).await?;
    let judged = assembly.judge(question, &coarse.shown).await;
    assembly.notices.extend(judged.notice);
    let prompt = assembly.prompt_with_recall(coarse, &judged.turns).await?;
    assembly.announce(&prompt).await;
    Ok(prompt)
}

/// Added documents to recall from: those of the conversation's owner, or without an owner if it has none.
async fn documents(
    parts: &Parts,
    conversation: &ConversationId,
    options: &PromptOptions,
) -> Result<Vec<ConversationId>, MemoryError> {
    if !options.documents || parts.retriever.is_none() || matches!(options.scope, Conversations::All) {
        return Ok(Vec::new());
    }
    let owner = parts.store.conversation(conversation).await?.owner;
    let is_one = |state: &ConversationState| {
        state.is_marked(Mark::Document) && state.owner == owner && state.id != *conversation
    };
    Ok(parts.store.conversations().await?.into_iter().filter(is_one).map(|state| state.id).collect())
}

/// Other conversations to recall from; `None` if there are none. Conversations of different owners are never shown
/// together, not even to the administrator, since each owner sees the record of the prompt.
async fn scope_of_others(
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
        // A wrong name is an error even without room to recall anything.
        scope.states(&*parts.store).await?;
    }
    Ok(Some(scope))
}

/// The history's part of a prompt.
struct History {
    /// Nodes shown verbatim and unshortened.
    verbatim: Vec<NodeRange>,
    shown: Vec<Part>,
    /// Tokens of the lead line and the pieces.
    tokens: u32,
    /// True if every message is shown verbatim.
    is_whole: bool,
    /// Nodes that cannot be read.
    losses: Losses,
}

pub(super) struct Assembly<'a> {
    pub(super) parts: &'a Parts,
    pub(super) conversation: &'a ConversationId,
    /// The model that judged which summaries matter.
    judged_by: Option<String>,
    /// Other conversations to recall from, and their owner; `None` if there are none.
    scope: Option<Scope>,
    /// Documents to recall from that the request does not name.
    documents: Vec<ConversationId>,
    pub(super) tail: Tail<'a>,
    /// Tokens that the question adds to a prompt, with a small reserve for joining texts.
    question_tokens: u32,
    pub(super) layout: Layout,
    pub(super) options: PromptOptions,
    /// The most tokens of a text of the last turn, if longer ones are shortened.
    longest_result: Option<u32>,
    pub(super) snapshot: Snapshot,
    /// Number of messages in the view; the conversation may have more by now.
    nodes: u64,
    /// Rules and corrections; empty if everything fits.
    pub(super) learned: Learned,
    /// Recorded changes of standing lines, once they are read.
    pub(super) recorded: OnceLock<Recorded>,
    /// Recorded entries for the question.
    pub(super) entries: Vec<Part>,
    notices: Vec<Notice>,
}

impl Assembly<'_> {
    pub(super) fn count(&self, text: &str) -> u32 {
        self.parts.count(text)
    }

    /// The limits on the texts of a prompt of `nodes` messages.
    fn limits(&self, longest: Option<u32>) -> TextLimits {
        let last_turn = NodeId::new(self.nodes).and_then(|last| self.snapshot.tree.last_turn_within(last));
        TextLimits { layout: self.layout, longest, budget: self.options.budget, last_turn }
    }

    /// A message as shown next to the history.
    pub(super) fn shortened(&self, node: Node) -> Node {
        self.limits_beside().shortened(node, self.parts.counter.as_ref())
    }

    /// The limits on the texts of messages next to the history.
    fn limits_beside(&self) -> TextLimits {
        TextLimits { last_turn: None, ..self.limits(self.longest_result) }
    }

    /// Tokens of messages next to the history.
    fn cost_beside(&self, run: NodeRange) -> u32 {
        let (limits, tree) = (self.limits_beside(), &self.snapshot.tree);
        let tokens = run.iter().filter_map(|node| {
            let whole = tree.node(node)?.tokens;
            Some(limits.of(node).map_or(whole, |most| most.min(whole)).saturating_add(tree.policy().per_message))
        });
        tokens.fold(0, u32::saturating_add)
    }

    /// The last message of the user, if the steps after it have pushed it out of the end.
    pub(super) fn asked(&self) -> Option<NodeId> {
        let end = self.snapshot.tree.end()?;
        self.snapshot.tree.last_prompt().filter(|asked| *asked < end.first())
    }

    /// Tokens of the user's last message, of all rules and of all recorded entries: of all, so that the number does not
    /// depend on the history.
    async fn kept_tokens(&self) -> Result<u32, MemoryError> {
        let (_, rules) = self.standing(&[], self.options.budget).await?;
        Ok(rules
            + self.entry_tokens(&self.entries)
            + self.asked().map_or(0, |asked| self.cost_beside(NodeRange::single(asked))))
    }

    /// The manager's view of at most `tokens + left` tokens, or the history's share if that is more, and within the
    /// budget next to the question and `kept_tokens`.
    async fn history(
        &mut self,
        tokens: u32,
        left: u32,
        kept_tokens: u32,
        manages: bool,
    ) -> Result<History, MemoryError> {
        let (parts, conversation) = (self.parts, self.conversation);
        let (most, reply) = (tokens.saturating_add(left), end::reply(self.tail.question, self.options.budget, left));
        let view = {
            let options = &self.options;
            let tokens_of = |pieces: &[ViewPiece], longest| self.tokens_of(&self.shown(pieces, longest));
            let request = ViewRequest::new(conversation, options.budget, &tokens_of)
                .question(self.tail.question)
                .most(most.max(share_of(options.budget, options.history_share.clamp(0.0, 1.0))))
                .reply(reply)
                .question_tokens(self.question_tokens)
                .standing_tokens(kept_tokens)
                .elsewhere_tokens(parts.retriever.as_ref().map_or(0, |_| options.elsewhere_tokens()))
                .longest_result(self.longest_result)
                .manages(manages);
            parts.manager.view(&request).await?
        };
        let ManagedView { nodes, pieces, verbatim, longest_result, losses, notices, .. } = view;
        self.snapshot = Snapshot::read(parts, conversation).await?;
        end::limit(&mut self.snapshot, reply);
        self.nodes = nodes;
        self.longest_result = longest_result;
        self.notices.extend(notices.into_iter().filter(|notice| !self.notices.contains(notice)).collect::<Vec<_>>());
        let is_whole = NodeRange::first_n(nodes).is_none_or(|all| verbatim == [all]);
        self.learned = match is_whole {
            true => Learned::default(),
            false => learning::learned(parts, conversation, &self.snapshot).await?,
        };
        let shown = self.shown(&pieces, longest_result);
        let tokens = self.tokens_of(&shown).saturating_sub(self.question_tokens);
        let is_verbatim = |(piece, part): &(&ViewPiece, &Part)| match (&piece.body, &part.body) {
            (ViewBody::Message(whole), Body::Message(shown)) => whole.message == shown.message,
            _ => false,
        };
        let verbatim = pieces.iter().zip(&shown).filter(is_verbatim).map(|(piece, _)| piece.nodes());
        let verbatim = NodeRange::merge(verbatim.collect());
        Ok(History { verbatim, shown, tokens, is_whole, losses })
    }

    /// Tokens of the prompt that shows only this history and the question.
    fn tokens_of(&self, history: &[Part]) -> u32 {
        let written = self.layout.write(history, &self.tail, &|text| self.count(text));
        self.parts.counts.count_parts(&written.lines, self.parts.counter.as_ref())
    }

    /// Parts for the pieces of a view.
    pub(super) fn shown(&self, pieces: &[ViewPiece], longest: Option<u32>) -> Vec<Part> {
        let limits = self.limits(longest);
        pieces.iter().map(|piece| self.part(piece, &limits)).collect()
    }

    /// Part for a piece of a view. Excluded content is removed from summaries here too, whatever the manager, since a
    /// message, or one that repeats it, may have been marked after it was summarized.
    fn part(&self, piece: &ViewPiece, limits: &TextLimits) -> Part {
        let reason = piece.reason.clone();
        match &piece.body {
            ViewBody::Message(node) => {
                let node = limits.shortened(Node::clone(node), self.parts.counter.as_ref());
                Part::message(PieceKind::Message, node, reason)
            }
            ViewBody::Summary { summary, from, to, source } => {
                let mut summary = summary.clone();
                summary.body.text = self.snapshot.redactor.redact(&summary.body.text);
                let (kind, nodes) = (PieceKind::Summary(summary.body.level), summary.body.span);
                let said_as = render::said_as(&self.snapshot, nodes);
                let body = Body::Summary { summary, from: *from, to: *to, said_as };
                Part { kind, elsewhere: None, nodes, source: *source, reason, changed_by: None, body }
            }
            ViewBody::Lost(nodes) => Part::lost(*nodes, &reason),
            ViewBody::Omitted(nodes) => Part::omitted(*nodes, &reason),
            ViewBody::Disabled(nodes) => Part::disabled(*nodes, &reason),
        }
    }

    /// The prompt of these parts.
    fn written(&self, shown: Vec<Part>, layout: Layout) -> Prompt {
        let layout = layout.naming_rules(&shown).stating(&shown);
        let written = layout.write(&shown, &self.tail, &|text| self.count(text));
        let tokens = self.parts.counts.count_parts(&written.lines, self.parts.counter.as_ref());
        Prompt {
            judged_by: self.judged_by.clone(),
            pieces: written.pieces,
            tokens,
            budget: self.options.budget,
            nodes: self.nodes,
            erased: self.snapshot.tree.erased_runs(self.nodes),
            full_tokens: self.snapshot.tree.shown_tokens_within(self.nodes),
            notices: self.notices.clone(),
            compared: BTreeMap::new(),
            reductions: Vec::new(),
            view: None,
            longest_result: self.longest_result,
            parts: shown,
            instructions: None,
            question: self.tail.question.to_owned(),
            now: self.tail.now,
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
