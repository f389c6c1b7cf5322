//! Replay of a conversation, turn by turn, with the compactions and views of each.

use std::collections::HashMap;

use memory_core::{
    Level, NodeId, NodeOutline, NodeRange, PlanRequest, Role, ShrinkScope, SummaryId, SummaryOutline,
    plan::{Compaction, Cut, CutPiece, PlanError, Tree},
};

use super::Spending;
use crate::{PromptOptions, manager::writing::most_tokens, parts::Parts, render};

/// Approximate tokens of a question with the lines before it.
const QUESTION: u32 = 32;

/// A conversation replayed up to some message.
pub(crate) struct Replay<'a> {
    parts: &'a Parts,
    tree: Tree,
    /// Tokens of the summaries that are recorded.
    recorded: HashMap<(Level, NodeRange), u32>,
    /// Tokens of the line above the history.
    lead: u64,
    options: PromptOptions,
    shown: Cut,
    spending: Spending,
}

impl<'a> Replay<'a> {
    /// The empty beginning of the replay of `known`.
    pub(crate) fn of(parts: &'a Parts, known: &Tree, options: &PromptOptions) -> Self {
        let summaries = (0..known.next_summary()).filter_map(|index| known.summary(SummaryId::from_index(index)));
        // One that dissolves says nothing of what its place costs where it is not dissolved.
        let summaries = summaries.filter(|summary| summary.tokens > 0 || summary.level == Level::Summary);
        Self {
            parts,
            tree: Tree::new(*known.policy()),
            recorded: summaries.map(|summary| ((summary.level, summary.span), summary.tokens)).collect(),
            lead: render::history_lines(&[]).iter().map(|line| u64::from(parts.count(line))).sum(),
            options: options.clone(),
            shown: Cut::default(),
            spending: Spending { budget: options.budget, ..Spending::default() },
        }
    }

    /// Adds the next message. Before a message of the model, a prompt is sent.
    pub(crate) fn take(&mut self, outline: NodeOutline) -> Result<(), PlanError> {
        if outline.role == Role::Assistant && self.tree.total() > 0 {
            self.prompt()?;
        }
        self.tree.append(outline);
        Ok(())
    }

    /// The conversation as far as it is replayed.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What was spent so far.
    pub(crate) fn spending(&self) -> &Spending {
        &self.spending
    }

    pub(super) fn finish(self) -> Spending {
        self.spending
    }

    fn prompt(&mut self) -> Result<(), PlanError> {
        loop {
            let due = self.parts.strategy.due(&self.tree);
            if due.is_empty() {
                break;
            }
            self.perform(&due);
        }
        let whole = self.whole(self.options.budget.saturating_sub(QUESTION));
        let recalls = whole.is_none() && self.parts.retriever.is_some();
        let cut = match whole {
            Some(cut) => cut,
            None => {
                // The lines beside the history count as part of it.
                let recalls = self.parts.retriever.is_some();
                let limit = self.options.history_limit(&self.tree, QUESTION, recalls);
                self.plan(limit.saturating_sub(u32::try_from(self.lead).unwrap_or(u32::MAX)))?
            }
        };
        let history = u64::from(cut.tokens) + self.lead;
        let cached = if self.spending.prompts == 0 { 0 } else { self.shared(&cut) + self.lead };
        self.spending.prompts += 1;
        self.spending.history.add(history, cached);
        let room = if recalls { u64::from(self.spending.budget).saturating_sub(history) } else { 0 };
        self.spending.whole.add(history + room, cached);
        self.shown = cut;
        Ok(())
    }

    /// Every message word for word, if that costs at most `limit`.
    fn whole(&self, limit: u32) -> Option<Cut> {
        let beside = self.tree.total() * u64::from(self.tree.policy().per_message);
        let tokens = u32::try_from(self.tree.tokens() + beside).ok()?;
        if u64::from(tokens) + self.lead > u64::from(limit) {
            return None;
        }
        // By turns, since a prompt shares those of the one before.
        self.parts.strategy.whole(&self.tree)?;
        Some(Cut::new(self.tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect(), tokens))
    }

    /// The view of at most `budget` tokens, with summaries written for it where needed; the coarsest one where that
    /// costs more and still fits a prompt.
    fn plan(&mut self, budget: u32) -> Result<Cut, PlanError> {
        loop {
            match self.parts.strategy.plan(&self.tree, &PlanRequest::new(budget).shown(Some(&self.shown))) {
                Err(PlanError::BudgetTooSmall { needed, .. }) => {
                    let smaller = self.parts.strategy.shrink(&self.tree, ShrinkScope::All);
                    if !smaller.is_empty() {
                        self.perform(&smaller);
                    } else if u64::from(needed) + self.lead <= u64::from(self.spending.budget) {
                        let cut = self.parts.strategy.plan(&self.tree, &PlanRequest::new(needed))?;
                        return Ok(cut.undissolved(&self.tree));
                    } else {
                        return Err(PlanError::BudgetTooSmall { needed, budget: self.spending.budget });
                    }
                }
                planned => return Ok(planned?.undissolved(&self.tree)),
            }
        }
    }

    /// Tokens of the first pieces of a view that equal those of the previous view.
    fn shared(&self, cut: &Cut) -> u64 {
        let same = cut.pieces.iter().zip(&self.shown.pieces).take_while(|(here, there)| here == there);
        same.map(|(piece, _)| self.cost(*piece)).sum()
    }

    fn cost(&self, piece: CutPiece) -> u64 {
        let policy = self.tree.policy();
        match piece {
            CutPiece::Summary { id, .. } => {
                let tokens = self.tree.summary(id).map_or(0, |summary| summary.tokens);
                u64::from(tokens) + u64::from(policy.per_summary)
            }
            CutPiece::Omitted(_) => 0,
            CutPiece::Verbatim(run) => {
                run.iter().map(|node| u64::from(self.tokens(node)) + u64::from(policy.per_message)).sum()
            }
        }
    }

    fn tokens(&self, node: NodeId) -> u32 {
        self.tree.node(node).map_or(0, |outline| outline.tokens)
    }

    /// Applies these summaries as if they were written, with the tokens of the recorded ones or the most they may have.
    fn perform(&mut self, plan: &Compaction) {
        for node in &plan.summarize {
            self.add(Level::Summary, NodeRange::single(*node), Box::default(), self.tokens(*node));
        }
        for merge in &plan.merge {
            let tokens = |id: &SummaryId| self.tree.summary(*id).map_or(0, |summary| summary.tokens);
            let tokens = merge.children.iter().map(tokens).sum();
            self.add(merge.level, merge.span, merge.children.as_slice().into(), tokens);
        }
    }

    fn add(&mut self, level: Level, span: NodeRange, children: Box<[SummaryId]>, of: u32) {
        let id = SummaryId::from_index(self.tree.next_summary());
        let recorded = self.recorded.get(&(level, span)).copied();
        let tokens = recorded.unwrap_or_else(|| most_tokens(level, of));
        self.tree.add(SummaryOutline::new(id, level, span).children(children).tokens(tokens));
    }
}
