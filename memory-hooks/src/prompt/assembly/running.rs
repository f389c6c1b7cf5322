//! The prompt of an agent that runs turn by turn: it keeps what it showed, so that a provider's cache can be read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, ViewId,
    plan::PlanError,
    port::{Losses, ManagedView, ManagerError, Notice, ViewPiece, ViewRequest},
    view::View,
};

use super::Assembly;
use crate::{
    EntryId, MemoryError, RecallUsed,
    learned::Learned,
    parts::Parts,
    prompt::{PieceKind, Prompt, PromptOptions, learning, media, options::share_of, past::rebuild},
    render::{self, Body, Layout, Part, Tail},
    snapshot_cache::Snapshot,
    windows::Window,
};

/// Least free share of the budget for a side question; with less, the window moves.
const ASIDE: f32 = 0.25;
/// Share of a window that the messages after the last one of the user may take before they are shortened.
const REPLY: f32 = 0.5;
/// The same, where that one is longer, as a pasted log is.
const PASTE: f32 = 0.8;
/// Number of the last recorded views that may hold the last window of an earlier process.
const LOOKED_AT: u64 = 8;

/// The window of a prompt that [`turn`] gave.
pub(crate) fn window_of(prompt: &Prompt) -> Window {
    let asked = last_asking(&prompt.parts).map(|(_, node)| node.id);
    let (shown, erased, longest_result) = (prompt.parts.clone(), prompt.erased.clone(), prompt.longest_result);
    Window { shown, nodes: prompt.nodes, erased, asked, budget: prompt.budget, longest_result }
}

/// The prompt for the next call of the model.
///
/// The last window is shown again, followed by the messages since. For the last message of the user among these,
/// messages that are not visible are recalled once. When the prompt exceeds the budget, the window moves: the manager's
/// view within a share of the budget takes its place, without earlier recalled messages.
pub(crate) async fn turn(
    parts: &Parts,
    conversation: &ConversationId,
    options: &PromptOptions,
) -> Result<Prompt, MemoryError> {
    let mut running = Running::begin(parts, conversation, options, "").await?;
    let (window, _) = running.next().await?;
    let prompt = running.prompt(&window, Vec::new());
    parts.windows.keep(conversation, window);
    Ok(running.finish(prompt).await)
}

/// The prompt for a side question: the agent's window, the messages recalled for the question, and the question. Later
/// prompts do not depend on it.
pub(crate) async fn aside(
    parts: &Parts,
    conversation: &ConversationId,
    question: &str,
    options: &PromptOptions,
) -> Result<Prompt, MemoryError> {
    let mut running = Running::begin(parts, conversation, options, question).await?;
    let (mut window, mut tokens) = running.next().await?;
    if options.budget.saturating_sub(tokens) < share_of(options.budget, ASIDE) {
        // Due compaction is left to the agent's own turns.
        running.manages = false;
        (window, tokens) = running.moved().await?;
    }
    let mut recalled = running.recall(&window, tokens, question, options.budget).await?;
    let mut prompt = running.prompt(&window, recalled.clone());
    while prompt.tokens > options.budget && recalled.pop().is_some() {
        prompt = running.prompt(&window, recalled.clone());
    }
    if prompt.tokens > options.budget {
        return Err(PlanError::BudgetTooSmall { needed: prompt.tokens, budget: options.budget }.into());
    }
    running.recalled = recalled_nodes(&recalled);
    Ok(running.finish(prompt).await)
}

/// Form in which a window shows the last message of the user.
enum Asked {
    Absent,
    Cut,
    Whole,
}

struct Running<'a> {
    assembly: Assembly<'a>,
    notices: Vec<Notice>,
    /// Messages recalled for this prompt.
    recalled: Vec<NodeRange>,
    /// True if due compaction is performed when the window moves.
    manages: bool,
}

impl<'a> Running<'a> {
    async fn begin(
        parts: &'a Parts,
        conversation: &'a ConversationId,
        options: &PromptOptions,
        question: &'a str,
    ) -> Result<Self, MemoryError> {
        let snapshot = Snapshot::read(parts, conversation).await?;
        let now = options.now.unwrap_or_else(|| parts.clock.now());
        let nodes = snapshot.tree.total();
        let assembly = Assembly {
            parts,
            conversation,
            judged_by: None,
            scope: None,
            documents: Vec::new(),
            tail: Tail { question, now },
            question_tokens: 0,
            layout: Layout::running(options.expands),
            options: options.clone(),
            longest_result: None,
            snapshot,
            nodes,
            // Read once something is recalled, or the window moves.
            learned: Learned::default(),
            recorded: OnceLock::new(),
            entries: Vec::new(),
            notices: Vec::new(),
        };
        Ok(Self { assembly, notices: Vec::new(), recalled: Vec::new(), manages: true })
    }

    /// Reports the recalled messages.
    async fn finish(self, mut prompt: Prompt) -> Prompt {
        prompt.notices = self.notices;
        let nodes = NodeRange::merge(self.recalled);
        if !nodes.is_empty() {
            let is_new = |run: NodeRange| nodes.iter().any(|new| new.covers(run));
            let recalled = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
            let recalled = recalled.filter(|piece| piece.nodes.is_some_and(is_new));
            let pieces = recalled.map(crate::Piece::id).collect();
            let conversation = self.assembly.conversation.clone();
            self.assembly.parts.report(RecallUsed { conversation, nodes, pieces }).await;
        }
        prompt
    }

    /// The current window and its tokens: the last one with the messages since, or a new one if that does not fit.
    async fn next(&mut self) -> Result<(Window, u32), MemoryError> {
        if let Some(kept) = self.kept().await?
            && self.holds(&kept).await?
        {
            let window = self.grown(kept).await?;
            let (window, tokens) = self.asking(window).await?;
            if tokens <= self.assembly.options.budget {
                return Ok((window, tokens));
            }
            tracing::debug!(conversation = %self.assembly.conversation, "the window of a running agent moves");
        }
        self.moved().await
    }

    /// The last window of this process, or else of an earlier one, if the conversation still has its messages.
    async fn kept(&self) -> Result<Option<Window>, MemoryError> {
        let Assembly { parts, conversation, nodes, snapshot, options, .. } = &self.assembly;
        let window = match parts.windows.get(conversation) {
            Some(window) => Some(Window::clone(&window)),
            None => self.recorded().await?,
        };
        let is_current = |window: &Window| {
            let erased = snapshot.tree.erased_runs(window.nodes);
            // A window for a much smaller budget, as after an overflow, would leave most of this one unused for good.
            let is_small = window.budget < options.budget / 2;
            window.nodes <= *nodes && window.erased == erased && !is_small
        };
        Ok(window.filter(is_current))
    }

    /// The window of the last view of a running agent that was recorded, if it can be shown again.
    async fn recorded(&self) -> Result<Option<Window>, MemoryError> {
        let Assembly { parts, conversation, .. } = &self.assembly;
        let state = parts.store.conversation(conversation).await?;
        let first = ViewId::new(state.views.saturating_sub(LOOKED_AT - 1).max(1));
        let Some((first, last)) = first.zip(ViewId::new(state.views)) else { return Ok(None) };
        let views = parts.store.views(conversation, first, last).await?;
        let is_turn = |view: &View| {
            let layout = Layout::of_version(view.body.layout);
            layout.is_some_and(Layout::is_running) && view.body.question.is_empty()
        };
        let Some(view) = views.into_iter().rfind(is_turn) else { return Ok(None) };
        let is_outdated = |notice: &Notice| matches!(notice, Notice::ViewDisabled { .. } | Notice::ViewErased);
        match rebuild(parts, conversation, view).await {
            // A record shows what is disabled now, and leaves out what an erased summary stood for.
            Ok(prompt) if prompt.notices.iter().any(is_outdated) => Ok(None),
            Ok(prompt) => {
                let erased = self.assembly.snapshot.tree.erased_runs(prompt.nodes);
                Ok(Some(Window { erased, ..window_of(&prompt) }))
            }
            // Part of the window is gone: a new one begins.
            Err(MemoryError::View(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if all rules and entries that a window states hold, after the messages since, too.
    async fn holds(&mut self, window: &Window) -> Result<bool, MemoryError> {
        let stated = |part: &&Part| matches!(part.kind, PieceKind::Standing | PieceKind::Entry);
        let mut stated = window.shown.iter().filter(stated).peekable();
        if stated.peek().is_none() {
            return Ok(true);
        }
        let Assembly { parts, conversation, snapshot, tail, .. } = &self.assembly;
        let learned = learning::learned(parts, conversation, snapshot).await?;
        let lines = &learned.lines;
        let recorded = self.assembly.recorded().await?;
        let entries: BTreeSet<_> = recorded.holding(lines, snapshot, tail.now).map(|entry| entry.id).collect();
        let holds = stated.all(|part| match &part.body {
            Body::Entry { entry, .. } => entries.contains(&entry.id),
            Body::Excerpt { node, bytes, .. } => {
                let text = node.message.text();
                let of_message = lines.from(node.id).take_while(|line| line.node == node.id);
                let mut shown = of_message.filter(|line| bytes.contains(&(line.standing.at as usize)));
                shown.all(|line| {
                    let id = EntryId::Said { node: node.id, sentence: line.standing.sentence(&text) };
                    line.first_replaced_by().is_none() && !recorded.hides(id)
                })
            }
            _ => true,
        });
        // The first prompt of a process reads all messages for them, and recall does not read those again.
        if self.assembly.snapshot.learned.seen == 0 {
            self.assembly.snapshot.learned = learned;
        }
        Ok(holds)
    }

    /// A window with the messages since, verbatim.
    async fn grown(&mut self, mut window: Window) -> Result<Window, MemoryError> {
        let since = NodeId::new(window.nodes + 1).zip(NodeId::new(self.assembly.nodes));
        let Some(since) = since.and_then(|(first, last)| NodeRange::new(first, last)) else { return Ok(window) };
        let read = self.assembly.parts.store.readable_nodes(self.assembly.conversation, since).await?;
        let longest = window.longest_result;
        let part = |node| Part::message(PieceKind::Message, self.cut(node, longest), "said since".to_owned());
        let lost = |nodes: &NodeRange| Part::lost(*nodes, "it cannot be read any more");
        let (disabled, said): (Vec<_>, Vec<_>) = read.nodes.into_iter().partition(|node| node.is_disabled);
        let disabled = NodeRange::merge(disabled.iter().map(|node| NodeRange::single(node.id)).collect());
        let mut new: Vec<_> = said.into_iter().map(part).chain(read.losses.runs().iter().map(lost)).collect();
        new.extend(disabled.into_iter().map(|run| Part::disabled(run, "it is disabled")));
        new.sort_by_key(|part| part.nodes);
        self.note(&read.losses);
        window.shown.extend(new);
        window.nodes = self.assembly.nodes;
        Ok(window)
    }

    /// A message as shown under the limit of a window, whichever turn it is in, since turns pass.
    fn cut(&self, node: Node, longest: Option<u32>) -> Node {
        self.assembly.limits(longest).shortened(node, self.assembly.parts.counter.as_ref())
    }

    /// A window with messages recalled for the last message of the user, unless that was done before; and its tokens.
    async fn asking(&mut self, mut window: Window) -> Result<(Window, u32), MemoryError> {
        let tokens = self.tokens(&window);
        let Some((at, node)) = last_asking(&window.shown) else { return Ok((window, tokens)) };
        let (asking, question) = (node.id, node.message.text());
        if window.asked >= Some(asking) {
            return Ok((window, tokens));
        }
        window.asked = Some(asking);
        let most = self.assembly.options.turn_room();
        let recalled = self.recall(&window, tokens, &question, most).await?;
        self.recalled = recalled_nodes(&recalled);
        if recalled.is_empty() {
            return Ok((window, tokens));
        }
        window.shown.splice(at..at, recalled);
        let tokens = self.tokens(&window);
        Ok((window, tokens))
    }

    /// Messages worth recalling for a question next to a window of `tokens` tokens, in order, within `most` tokens.
    async fn recall(
        &mut self,
        window: &Window,
        tokens: u32,
        question: &str,
        most: u32,
    ) -> Result<Vec<Part>, MemoryError> {
        let free = self.assembly.options.budget.saturating_sub(tokens);
        let frame = self.assembly.count(&render::recall_frame());
        let question_tokens = self.assembly.count(&render::question_lines(&self.assembly.tail, &window.shown));
        let free = free.saturating_sub(question_tokens);
        if question.trim().is_empty() || most.min(free) <= frame {
            return Ok(Vec::new());
        }
        let is_new = |part: &Part| !window.shown.iter().any(|shown| shown.body == part.body);
        let entries = self.assembly.entries(question).await?.into_iter().filter(is_new).collect();
        // Entries are few and stay, so that they may take more than the share of one message.
        let (entries, entry_tokens) = self.assembly.entries_within(entries, free / 2);
        let room = most.min(free - entry_tokens).saturating_sub(frame);
        let judged = self.assembly.judge(question, &window.shown).await;
        self.notices.extend(judged.notice);
        let (visible, mut losses) = (visible(&window.shown), Losses::default());
        let (opened, spent) = self.assembly.judged_within(&judged.turns, room / 2, &visible, &mut losses).await?;
        let visible = NodeRange::merge(visible.into_iter().chain(opened.iter().map(|part| part.nodes)).collect());
        let recall = self.assembly.recall_for(question, &visible, room - spent).await?;
        losses.extend(&recall.losses);
        self.note(&losses);
        self.notices.extend(recall.notices.iter().cloned());
        let mut recalled = self.assembly.recalled_pieces(&visible, &recall, &BTreeMap::new());
        // Messages since the window moved are visible, so corrections among them need not be known.
        let Assembly { parts, conversation, snapshot, .. } = &self.assembly;
        self.assembly.learned = match snapshot.learned.seen {
            0 if !recalled.is_empty() => learning::learned(parts, conversation, snapshot).await?,
            _ => snapshot.learned.clone(),
        };
        let nodes = recall.excerpts.iter().flat_map(|excerpt| &excerpt.messages);
        let left = (room - spent).saturating_sub(nodes.map(|node| node.tokens).sum());
        recalled.extend(self.assembly.corrections(&visible, &recalled, left, &mut losses).await?);
        recalled.extend(opened);
        recalled.iter_mut().for_each(|part| self.cut_part(part, window.longest_result));
        recalled.sort_by_key(|part| part.nodes);
        self.assembly.mark_changed(&mut recalled);
        Ok([entries, recalled].concat())
    }

    /// A new window and its tokens: the manager's view within its share of the budget, or everything if that leaves
    /// room to grow.
    async fn moved(&mut self) -> Result<(Window, u32), MemoryError> {
        let PromptOptions { budget, window_floor, .. } = self.assembly.options;
        let reserve = self.assembly.options.turn_room().saturating_mul(2);
        let mut window = self.view(budget.saturating_sub(reserve), share_of(budget, window_floor)).await?;
        let is_whole = window.shown.iter().all(|part| part.kind == PieceKind::Message);
        if !is_whole {
            let room = budget.saturating_sub(self.tokens(&window));
            let Assembly { parts, conversation, snapshot, .. } = &self.assembly;
            self.assembly.learned = learning::learned(parts, conversation, snapshot).await?;
            let (mut lines, tokens) = self.assembly.standing(&visible(&window.shown), room).await?;
            let rules = self.assembly.entries("").await?;
            if tokens + self.assembly.entry_tokens(&rules) <= room {
                lines.extend(rules);
            }
            let at = window.shown.iter().rposition(|part| !matches!(part.kind, PieceKind::Message));
            let at = at.map_or(0, |last| last + 1);
            if at < window.shown.len() {
                window.shown.splice(at..at, lines);
            }
            let history = |window: &Window| {
                let first = window.shown.iter().position(|part| part.kind == PieceKind::Message);
                first.unwrap_or(window.shown.len())
            };
            let (room, mut losses) = (budget.saturating_sub(self.tokens(&window)), Losses::default());
            // An agent cannot answer without the words, which a summary may stand for.
            let asked = self.assembly.snapshot.tree.last_prompt();
            let shown = visible(&window.shown);
            let (mut pinned, _) = self.assembly.pinned_within(asked, room, &shown, &mut losses).await?;
            self.note(&losses);
            pinned.iter_mut().for_each(|part| self.cut_part(part, window.longest_result));
            pinned.sort_by_key(|part| part.nodes);
            let at = history(&window);
            window.shown.splice(at..at, pinned);
        }
        let (window, needed) = self.asking(window).await?;
        if needed > budget {
            return Err(PlanError::BudgetTooSmall { needed, budget }.into());
        }
        Ok((window, needed))
    }

    /// The manager's view: everything verbatim within `whole` tokens, otherwise a cut of at most `floor`; if the
    /// smallest is larger, or does not show the last message of the user, it may have more, up to all of the budget.
    async fn view(&mut self, whole: u32, floor: u32) -> Result<Window, MemoryError> {
        let budget = self.assembly.options.budget;
        let tree = &self.assembly.snapshot.tree;
        let all = NodeRange::first_n(tree.total()).map_or(0, |all| tree.verbatim_cost(all));
        let asked = tree.last_prompt().map_or(0, |asked| tree.verbatim_cost(NodeRange::single(asked)));
        let with_asked = floor.saturating_add(u32::try_from(asked).unwrap_or(u32::MAX)).min(budget);
        let wider = floor / 2 + budget / 2;
        let first = if all <= u64::from(whole) { whole } else { floor };
        let (mut refused, mut without) = (None, None);
        for budget in [first, with_asked, wider, budget] {
            match self.view_within(budget).await {
                Ok(window) => match self.question_in(&window) {
                    Asked::Whole => return Ok(window),
                    // A message that no window shows whole has as much of the budget as it can.
                    Asked::Cut => without = Some(window),
                    Asked::Absent => without = without.or(Some(window)),
                },
                Err(MemoryError::Plan(error)) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        without.ok_or_else(|| refused.unwrap_or(PlanError::BudgetTooSmall { needed: u32::MAX, budget }).into())
    }

    /// How a window shows the last message of the user, which is added to an end of many steps.
    fn question_in(&self, window: &Window) -> Asked {
        let tree = &self.assembly.snapshot.tree;
        let Some(asked) = tree.last_prompt() else { return Asked::Whole };
        let is_shown = visible(&window.shown).iter().any(|run| run.contains(asked));
        let is_cut = window.longest_result.is_some_and(|most| tree.node(asked).is_some_and(|node| node.tokens > most));
        match is_shown {
            true if is_cut => Asked::Cut,
            false if is_cut || self.assembly.asked().is_none() => Asked::Absent,
            _ => Asked::Whole,
        }
    }

    async fn view_within(&mut self, budget: u32) -> Result<Window, MemoryError> {
        let (parts, conversation) = (self.assembly.parts, self.assembly.conversation);
        let manages = self.manages && !parts.queue.enqueue(conversation);
        let view = {
            let tokens_of =
                |pieces: &[ViewPiece], longest| self.assembly.tokens_of(&self.assembly.shown(pieces, longest));
            let request = ViewRequest::new(conversation, budget, &tokens_of)
                .question(self.assembly.tail.question)
                .reply(self.reply(budget))
                .manages(manages);
            match parts.manager.view(&request).await {
                Err(ManagerError::Plan(error)) => return Err(error.into()),
                view => view?,
            }
        };
        let ManagedView { nodes, pieces, longest_result, losses, notices, .. } = view;
        self.assembly.snapshot = Snapshot::read(parts, conversation).await?;
        self.note(&losses);
        self.notices.extend(notices);
        let shown = self.assembly.shown(&pieces, longest_result);
        let erased = self.assembly.snapshot.tree.erased_runs(nodes);
        Ok(Window { shown, nodes, erased, asked: None, budget: self.assembly.options.budget, longest_result })
    }

    /// Most tokens of the messages after the user's last one, and of each text.
    fn reply(&self, budget: u32) -> u32 {
        let tree = &self.assembly.snapshot.tree;
        let asked = tree.last_prompt().and_then(|asked| tree.node(asked)).map_or(0, |node| node.tokens);
        let usual = share_of(budget, REPLY);
        if asked > usual { share_of(budget, PASTE) } else { usual }
    }

    fn cut_part(&self, part: &mut Part, longest: Option<u32>) {
        if let Body::Message(node) = &mut part.body {
            **node = self.cut(Node::clone(node), longest);
        }
    }

    fn note(&mut self, losses: &Losses) {
        self.notices.extend(losses.notice(self.assembly.conversation));
    }

    /// Tokens of a window, with the pictures and documents of its last turn.
    fn tokens(&self, window: &Window) -> u32 {
        let parts = self.assembly.parts;
        let written = self.assembly.layout.write(&window.shown, &self.assembly.tail, &|text| parts.count(text));
        let text = parts.counts.count_parts(&written.lines, parts.counter.as_ref());
        text.saturating_add(media::of_last_turn(&window.shown, self.assembly.options.budget))
    }

    /// Renders a window, followed by the messages recalled for a question.
    fn prompt(&self, window: &Window, recalled: Vec<Part>) -> Prompt {
        let mut shown = window.shown.clone();
        shown.extend(recalled);
        let mut prompt = self.assembly.written(shown, self.assembly.layout);
        prompt.nodes = window.nodes;
        prompt.longest_result = window.longest_result;
        prompt
    }
}

/// Messages among the parts recalled for a question.
fn recalled_nodes(parts: &[Part]) -> Vec<NodeRange> {
    parts.iter().filter(|part| part.kind == PieceKind::Recalled).map(|part| part.nodes).collect()
}

/// The last message of the user in a window, in its history or beside it, and its place.
fn last_asking(shown: &[Part]) -> Option<(usize, &Node)> {
    let asking = |(at, part): (usize, &'_ Part)| match part {
        Part { body: Body::Message(node), elsewhere: None, .. } if node.message.begins_prompt() => Some((node.id, at)),
        _ => None,
    };
    let (_, at) = shown.iter().enumerate().filter_map(asking).max()?;
    match &shown.get(at)?.body {
        Body::Message(node) => Some((at, node)),
        _ => None,
    }
}

/// The messages of the conversation that are shown verbatim.
pub(crate) fn visible(shown: &[Part]) -> Vec<NodeRange> {
    let messages = shown.iter().filter(|part| matches!(part.kind, PieceKind::Message | PieceKind::Recalled));
    NodeRange::merge(messages.map(|part| part.nodes).collect())
}
