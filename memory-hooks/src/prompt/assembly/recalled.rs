//! Words recalled for the question, within the room that the history leaves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, Timestamp,
    plan::PlanError,
    port::{Excerpt, Hit, Losses, Recall, RecallRequest, Scope},
};
use memory_strategies::is_small_talk;

use super::{Assembly, History};
use crate::{
    MemoryError,
    learned::Learned,
    prompt::{PieceKind, Prompt, media, options::share_of},
    render::{self, Body, Elsewhere, Part},
};

/// The share of the budget for messages that correct recalled ones.
const CORRECTIONS: f32 = 0.1;
/// Least relevance of a part of a document that the request does not name.
const BEARING: f32 = 0.05;
/// Approximate tokens of the heading of another conversation.
const HEADING: u32 = 36;
/// Share of the budget above which a recalled message is shown in part.
const LONGEST: f32 = 0.15;
/// Most signals that are named for a hit, the largest first.
const MOST_SIGNALS: usize = 3;

/// Share of the budget that may stay free where anything is left to show.
const FREE: f32 = 0.05;
/// Most attempts to refine the history with the room that recall leaves.
const ROUNDS: usize = 4;

/// Parts that stand next to a history.
struct Beside {
    standing: Vec<Part>,
    entries: Vec<Part>,
    recalled: Vec<Part>,
    pinned: Vec<Part>,
    /// True if words that bear on the question found no room.
    has_no_room: bool,
}

impl Assembly<'_> {
    /// The whole prompt: the coarse history, turns that were judged to matter, as many recalled words as are worth it
    /// and as the budget has room for; then a finer history in the room that is left.
    pub(super) async fn prompt_with_recall(
        &mut self,
        coarse: History,
        judged: &[NodeRange],
    ) -> Result<Prompt, MemoryError> {
        let media = media::of_last_turn(&coarse.shown, self.options.budget);
        let most = self.options.budget.saturating_sub(media);
        let (beside, recall, mut prompt, losses) = self.recalled_beside(&coarse, judged, most, media).await?;
        if !coarse.is_whole {
            prompt = self.refined(prompt, &coarse, beside, most).await?;
        }
        prompt.compared = recall.steps.into_iter().flat_map(|step| step.compared).collect();
        prompt.notices.clone_from(&self.notices);
        prompt.notices.extend(recall.notices);
        prompt.notices.extend(losses.notice(self.conversation));
        Ok(prompt)
    }

    /// The parts next to a history, and the prompt of both, of at most `most` tokens.
    async fn recalled_beside(
        &mut self,
        history: &History,
        judged: &[NodeRange],
        most: u32,
        media: u32,
    ) -> Result<(Beside, Recall, Prompt, Losses), MemoryError> {
        let elsewhere = if self.scope.is_some() { render::elsewhere_frame() } else { String::new() };
        let frame = self.count(&(render::recall_frame() + &elsewhere));
        let taken = [self.question_tokens, frame, media].into_iter().fold(history.tokens, u32::saturating_add);
        let beside = self.options.budget.saturating_sub(taken);
        let (standing, standing_tokens) = self.standing(&history.verbatim, beside).await?;
        let beside = beside.saturating_sub(standing_tokens);
        let (entries, entry_tokens) = self.entries_within(self.entries.clone(), beside);
        let mut room = beside - entry_tokens;
        // Joined pieces, with the lines that mark gaps, cost more or less than the sum of their parts. If they do not
        // fit, the least valuable excerpt is removed. Only when a single excerpt remains does the room shrink and
        // recall run again.
        loop {
            let mut losses = history.losses.clone();
            let (mut pinned, mut spent) =
                self.pinned_within(self.asked(), room, &history.verbatim, &mut losses).await?;
            let shown: Vec<_> = pinned.iter().map(|part| part.nodes).chain(history.verbatim.iter().copied()).collect();
            let (opened, more) = self.judged_within(judged, (room - spent) / 2, &shown, &mut losses).await?;
            pinned.extend(opened);
            spent += more;
            let shown = pinned.iter().map(|part| part.nodes).chain(history.verbatim.iter().copied());
            let shown = NodeRange::merge(shown.collect());
            let mut recall = self.recall(&shown, room - spent).await?;
            losses.extend(&recall.losses);
            let elsewhere = self.elsewhere(&recall).await?;
            let mut recalled = self.recalled_pieces(&shown, &recall, &elsewhere);
            let of_corrections = share_of(self.options.budget, CORRECTIONS);
            let corrections = self.corrections(&shown, &recalled, of_corrections, &mut losses).await?;
            recalled.extend(corrections);
            let has_no_room = recall.no_room.is_some();
            let (standing, entries) = (standing.clone(), entries.clone());
            let mut beside = Beside { standing, entries, recalled, pinned, has_no_room };
            let mut prompt = self.close(history, &beside, most);
            while prompt.tokens > most
                && let Some(least) = take_least(&mut recall.excerpts)
            {
                let conversation = Some(&least.conversation).filter(|of| *of != self.conversation);
                beside.recalled.retain(|part| part.conversation() != conversation || !least.nodes.covers(part.nodes));
                prompt = self.close(history, &beside, most);
            }
            // Pictures without room are named.
            if prompt.tokens <= most || room == 0 && prompt.tokens <= self.options.budget {
                return Ok((beside, recall, prompt, losses));
            }
            if room == 0 {
                let (needed, budget) = (prompt.tokens, self.options.budget);
                return Err(PlanError::BudgetTooSmall { needed, budget }.into());
            }
            room = room.saturating_sub((prompt.tokens - most).max(8));
        }
    }

    /// The prompt with the finest history that fits next to the same parts. Recalled messages that it shows verbatim
    /// are not repeated, which leaves more room.
    async fn refined(
        &mut self,
        mut prompt: Prompt,
        coarse: &History,
        beside: Beside,
        most: u32,
    ) -> Result<Prompt, MemoryError> {
        let least = share_of(self.options.budget, FREE);
        let kept_tokens = self.kept_tokens().await?;
        let (mut tokens, mut part, mut tried) = (coarse.tokens, 1, 0);
        for _ in 0..ROUNDS {
            let left = most.saturating_sub(prompt.tokens) / part;
            // The same room holds the same history.
            if left < least || tokens + left == tried {
                break;
            }
            tried = tokens + left;
            let limit = self.longest_result;
            let finer = self.history(tokens, left, kept_tokens, false).await?;
            if finer.tokens <= tokens {
                self.longest_result = limit;
                break;
            }
            let next = beside.without(&finer.verbatim);
            let refined = self.close(&finer, &next, most);
            if refined.tokens > most {
                self.longest_result = limit;
                part += 1;
                continue;
            }
            (prompt, tokens) = (refined, finer.tokens);
        }
        Ok(prompt)
    }

    /// The prompt of a history and the parts next to it. It says that nothing bears on the question, where `most` tokens
    /// allow that.
    fn close(&self, history: &History, beside: &Beside, most: u32) -> Prompt {
        let has_no_room = beside.has_no_room;
        let mut beside = in_order(beside);
        self.mark_changed(&mut beside);
        let is_recalled = |part: &Part| part.kind == PieceKind::Recalled;
        let may_recall = self.parts.retriever.is_some() && self.parts.strategy.recalls();
        let asks = !self.tail.question.trim().is_empty() && !is_small_talk(self.tail.question);
        let says_none = may_recall && asks && !has_no_room && !history.is_whole && !beside.iter().any(is_recalled);
        let shown = history.shown.iter().cloned().chain(beside).collect();
        let prompt = self.written(shown, if says_none { self.layout.saying_none() } else { self.layout });
        if says_none && prompt.tokens > most { self.written(prompt.parts, self.layout) } else { prompt }
    }

    /// Names the later message that changes what a recalled one says, for a reader who would take it for valid.
    pub(super) fn mark_changed(&self, parts: &mut [Part]) {
        let own = parts.iter_mut().filter(|part| part.kind == PieceKind::Recalled && part.elsewhere.is_none());
        for part in own {
            let by = self.learned.lines.replaced_by(part.nodes.first());
            part.changed_by = by.filter(|by| by.get() <= self.nodes);
        }
    }

    /// The message that was asked, and the turns of pinned messages: those that the
    /// history does not show verbatim, newest first, as many as fit into `room`, and their cost. Turns stay whole, since
    /// a call is not shown without its results. They are not restored in place, since everything merged with them would
    /// be restored too.
    pub(super) async fn pinned_within(
        &self,
        asked: Option<NodeId>,
        room: u32,
        shown: &[NodeRange],
        losses: &mut Losses,
    ) -> Result<(Vec<Part>, u32), MemoryError> {
        let tree = &self.snapshot.tree;
        let pinned = tree.pinned().rev().filter_map(|node| tree.turn_of(node));
        let mut turns: Vec<_> = asked.map(NodeRange::single).into_iter().chain(pinned).collect();
        turns.dedup();
        let why = |node: &Node| match node.pinned {
            true => "pinned",
            false if Some(node.id) == asked => "the user's last message",
            false => "beside what is pinned",
        };
        self.turns_within(&turns, room, shown, losses, why).await
    }

    /// The turns that a model judged to matter and that are not shown verbatim, as many as fit into `room`, and their
    /// cost.
    pub(super) async fn judged_within(
        &self,
        turns: &[NodeRange],
        room: u32,
        shown: &[NodeRange],
        losses: &mut Losses,
    ) -> Result<(Vec<Part>, u32), MemoryError> {
        self.turns_within(turns, room, shown, losses, |_| "judged to matter for the question").await
    }

    async fn turns_within(
        &self,
        turns: &[NodeRange],
        room: u32,
        shown: &[NodeRange],
        losses: &mut Losses,
        why: impl Fn(&Node) -> &'static str,
    ) -> Result<(Vec<Part>, u32), MemoryError> {
        let (mut pieces, mut left) = (Vec::new(), room);
        for turn in turns.iter().copied() {
            let cost = self.cost_beside(turn);
            if cost > left || shown.iter().any(|run| run.covers(turn)) {
                continue;
            }
            let read = self.parts.store.readable_nodes(self.conversation, turn).await?;
            losses.extend(&read.losses);
            left -= if read.nodes.is_empty() { 0 } else { cost };
            for node in read.nodes.into_iter().filter(|node| !node.is_disabled) {
                let why = why(&node).to_owned();
                pieces.push(Part::message(PieceKind::Recalled, self.shortened(node), why));
            }
        }
        Ok((pieces, room - left))
    }

    async fn recall(&self, shown: &[NodeRange], room: u32) -> Result<Recall, MemoryError> {
        self.recall_for(self.tail.question, shown, room).await
    }

    /// Recall for a question, within `room` tokens, without the shown messages.
    pub(super) async fn recall_for(
        &self,
        question: &str,
        shown: &[NodeRange],
        room: u32,
    ) -> Result<Recall, MemoryError> {
        let all = NodeRange::first_n(self.nodes);
        let has_more = shown != all.as_slice() || self.scope.is_some();
        // With other conversations to recall from, the answer reports those without room.
        let is_asked = has_more && (room > 0 || self.scope.is_some()) && !is_small_talk(question);
        let is_asked = is_asked && self.parts.strategy.recalls();
        let Some(retriever) = self.parts.retriever.as_ref().filter(|_| is_asked) else {
            return Ok(Recall::default());
        };
        let mut request = RecallRequest::new(question, self.conversation, room)
            .filter(self.options.filter.clone())
            .least_share(self.options.least_share)
            .per_message(self.parts.policy.per_message)
            .limit(self.options.recall_limit)
            .radius(self.options.radius)
            .longest(share_of(self.options.budget, LONGEST))
            .shown(shown.to_vec());
        if let Some(Scope { owner, conversations }) = self.scope.clone() {
            request = request.owner(owner).others(conversations).per_conversation(HEADING);
        }
        let mut recall = retriever.recall(&request).await?;
        // Any document is next to some words of any question.
        let bears = |hit: &Hit| hit.relevance.is_none_or(|relevance| relevance >= BEARING);
        recall
            .excerpts
            .retain(|excerpt| !self.documents.contains(&excerpt.conversation) || excerpt.hits.iter().any(bears));
        Ok(recall)
    }

    /// The messages that correct recalled ones and are neither shown nor recalled, in at most `most` tokens: without
    /// them a reader would take retracted words for valid. Corrections of the newest messages come first.
    pub(super) async fn corrections(
        &self,
        shown: &[NodeRange],
        recalled: &[Part],
        most: u32,
        losses: &mut Losses,
    ) -> Result<Vec<Part>, MemoryError> {
        let mut left = most;
        let own = recalled.iter().filter(|part| part.elsewhere.is_none());
        let mut known: BTreeSet<NodeId> = own.flat_map(|part| part.nodes.iter()).collect();
        let mut corrected: Vec<NodeId> = known.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(node) = corrected.pop() {
            let Learned { links, lines, .. } = &self.learned;
            for correction in links.corrections_of(node).chain(lines.replaced_by(node)) {
                let is_told = shown.iter().any(|run| run.contains(correction)) || !known.insert(correction);
                if is_told || correction.get() > self.nodes {
                    continue;
                }
                corrected.push(correction);
                let read = self.parts.store.readable_nodes(self.conversation, NodeRange::single(correction)).await?;
                losses.extend(&read.losses);
                let Some(correction) = read.nodes.into_iter().next() else { continue };
                if correction.message.keep_out_of_summaries || correction.is_disabled {
                    continue;
                }
                let Some(rest) = left.checked_sub(correction.tokens) else { continue };
                left = rest;
                let why = format!("corrects message {node}");
                found.push(Part::message(PieceKind::Recalled, self.shortened(correction), why));
            }
        }
        Ok(found)
    }

    /// The headings of the other conversations that were recalled from.
    async fn elsewhere(&self, recall: &Recall) -> Result<BTreeMap<ConversationId, Arc<Elsewhere>>, MemoryError> {
        let mut headings = BTreeMap::new();
        for id in recall.excerpts.iter().map(|excerpt| &excerpt.conversation) {
            if id == self.conversation || headings.contains_key(id) {
                continue;
            }
            let state = self.parts.store.conversation(id).await?;
            let mut times = [Timestamp::default(); 2];
            let ends = [Some(NodeId::FIRST), NodeId::new(state.nodes)];
            for (at, end) in times.iter_mut().zip(ends) {
                let Some(end) = end else { continue };
                let read = self.parts.store.readable_nodes(id, NodeRange::single(end)).await?;
                *at = read.nodes.first().map(|node| node.at).unwrap_or_default();
            }
            headings.insert(id.clone(), Arc::new(Elsewhere::new(id.clone(), state.title.as_deref(), times)));
        }
        Ok(headings)
    }

    /// Recalled messages, without those that the history already shows verbatim.
    pub(super) fn recalled_pieces(
        &self,
        shown: &[NodeRange],
        recall: &Recall,
        elsewhere: &BTreeMap<ConversationId, Arc<Elsewhere>>,
    ) -> Vec<Part> {
        let is_new = |node: &Node| !shown.iter().any(|run| run.contains(node.id));
        let messages =
            recall.excerpts.iter().flat_map(|excerpt| excerpt.messages.iter().map(move |node| (excerpt, node)));
        let messages = messages.filter(|(_, node)| !node.is_disabled);
        let parts = |(excerpt, node): (&Excerpt, &Arc<Node>)| {
            let why = recall_reason(node.id, excerpt, recall);
            let cuts = excerpt.cuts.iter().filter(|(of, _)| *of == node.id).map(|(_, part)| part.clone());
            let part = |part| Part::recalled(Node::clone(node), part, why.clone());
            match elsewhere.get(&excerpt.conversation) {
                Some(from) => vec![Part::elsewhere(from, self.shortened(Node::clone(node)), why)],
                None if !is_new(node) => Vec::new(),
                None => match cuts.filter_map(part).collect::<Vec<_>>() {
                    whole if whole.is_empty() => {
                        vec![Part::message(PieceKind::Recalled, self.shortened(Node::clone(node)), why)]
                    }
                    cut => cut,
                },
            }
        };
        messages.flat_map(parts).collect()
    }
}

impl Beside {
    /// The same parts without those of messages that a history shows verbatim.
    fn without(&self, verbatim: &[NodeRange]) -> Self {
        let is_new = |part: &&Part| part.elsewhere.is_some() || !verbatim.iter().any(|run| run.covers(part.nodes));
        let left = |parts: &[Part]| parts.iter().filter(is_new).cloned().collect();
        Self {
            standing: left(&self.standing),
            entries: self.entries.clone(),
            recalled: left(&self.recalled),
            pinned: left(&self.pinned),
            has_no_room: self.has_no_room,
        }
    }
}

/// Standing lines of messages that are not recalled, then recorded entries, then the recalled messages, then those of
/// other conversations, each in order. The conversation whose last message is the oldest comes first.
fn in_order(beside: &Beside) -> Vec<Part> {
    let Beside { standing, entries, recalled, pinned, .. } = beside;
    let (mut elsewhere, mut pieces): (Vec<_>, Vec<_>) =
        recalled.iter().chain(pinned).cloned().partition(|part| part.elsewhere.is_some());
    pieces.sort_by_key(|part| part.nodes);
    let place = |part: &Part| {
        let [first, last] = part.elsewhere.as_ref().map(|from| from.times).unwrap_or_default();
        (last, first, part.conversation().cloned(), part.nodes)
    };
    elsewhere.sort_by_cached_key(place);
    let is_whole = |part: &Part| matches!(part.body, Body::Message(_));
    let is_recalled = |line: &Part| pieces.iter().any(|part| part.nodes == line.nodes && is_whole(part));
    let standing: Vec<_> = standing.iter().filter(|line| !is_recalled(line)).cloned().collect();
    [standing, entries.clone(), pieces, elsewhere].concat()
}

/// Removes the excerpt whose best hit is the worst, if there are others.
fn take_least(excerpts: &mut Vec<Excerpt>) -> Option<Excerpt> {
    let worth = |excerpt: &Excerpt| excerpt.hits.iter().map(|hit| hit.score.value).fold(f32::NEG_INFINITY, f32::max);
    let least = (0..).zip(excerpts.iter()).min_by(|(_, a), (_, b)| worth(a).total_cmp(&worth(b))).map(|(at, _)| at);
    least.filter(|_| excerpts.len() > 1).map(|least| excerpts.remove(least))
}

fn recall_reason(node: NodeId, excerpt: &Excerpt, recall: &Recall) -> String {
    let hits = recall.excerpts.iter().flat_map(|excerpt| &excerpt.hits);
    let better = |hit: &Hit| hits.clone().filter(|other| other.score.value > hit.score.value).count();
    match excerpt.hits.iter().find(|hit| hit.node.id == node) {
        Some(hit) => {
            let heaviest = hit.signals.iter().take(MOST_SIGNALS);
            let signals: Vec<_> = heaviest.map(|s| format!("{} {:.2}", s.name, s.value)).collect();
            format!("hit {}: {} ({})", better(hit) + 1, hit.score, signals.join(", "))
        }
        None => match excerpt.hits.iter().min_by_key(|hit| hit.node.id.get().abs_diff(node.get())) {
            Some(hit) => format!("beside message {}", hit.node.id),
            None => "part of an excerpt".to_owned(),
        },
    }
}
