//! Recorded entries of the ledger in a prompt: rules always, others where they bear on the question.

use std::collections::BTreeMap;

use super::{assembly::Assembly, learning, options::share_of};
use crate::{
    EntryKind, MemoryError,
    ledger::{Recorded, best},
    render::Part,
};

/// The share of the budget for recorded entries.
const SHARE: f32 = 0.15;

impl Assembly<'_> {
    /// Recorded changes and entries of the conversation, read once.
    pub(super) async fn recorded(&self) -> Result<&Recorded, MemoryError> {
        if let Some(recorded) = self.recorded.get() {
            return Ok(recorded);
        }
        let state = self.parts.store.conversation(self.conversation).await?;
        let read = Recorded::read(&*self.parts.store, &self.parts.ledger_notes, &state).await?;
        Ok(self.recorded.get_or_init(|| read))
    }

    /// Entries that hold, as many as their share of the budget, or the strategy's larger one, has room for. Rules are
    /// chosen first, newest before older ones, then entries with words of the question, best first. The chosen ones
    /// stand in the order of their beginnings.
    pub(super) async fn entries(&self, question: &str) -> Result<Vec<Part>, MemoryError> {
        let recorded = self.recorded().await?;
        if !recorded.has_entries() {
            return Ok(Vec::new());
        }
        let learned = learning::learned(self.parts, self.conversation, &self.snapshot).await?;
        let holding = recorded.holding(&learned.lines, &self.snapshot, self.tail.now);
        let holding = holding.map(|entry| entry.shown(self.conversation, &self.snapshot.redactor));
        let (mut entries, mut notes) = (Vec::new(), BTreeMap::new());
        for (entry, note) in holding {
            notes.insert(entry.id, note);
            entries.push(entry);
        }
        let (mut rules, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|one| one.kind == EntryKind::Rule);
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.since, rule.id)));
        let bearing = match question.trim().is_empty() || others.is_empty() {
            true => Vec::new(),
            false => best(&self.parts.store.conversation(self.conversation).await?, others, question).await?,
        };
        let most = share_of(self.options.budget, SHARE.max(self.parts.strategy.standing_share()));
        let mut chosen: Vec<Part> = Vec::new();
        for entry in rules.into_iter().chain(bearing) {
            let Some(note) = notes.get(&entry.id).copied() else { continue };
            let why = format!("entry: {}", entry.kind.as_str());
            let mut trial = chosen.clone();
            trial.push(Part::entry(entry, note, why));
            if self.entry_tokens(&trial) <= most {
                chosen = trial;
            }
        }
        chosen.sort_by_key(|part| part.times().map(|[since, _]| since));
        Ok(chosen)
    }

    /// The first of these entries, as many as fit into `room` tokens, and their cost.
    pub(super) fn entries_within(&self, mut entries: Vec<Part>, room: u32) -> (Vec<Part>, u32) {
        loop {
            let tokens = self.entry_tokens(&entries);
            if tokens <= room {
                return (entries, tokens);
            }
            entries.pop();
        }
    }

    /// Tokens of recorded entries with the lines around them.
    pub(super) fn entry_tokens(&self, entries: &[Part]) -> u32 {
        match entries {
            [] => 0,
            entries => self.layout.entry_lines(entries).iter().map(|line| self.count(line)).sum(),
        }
    }
}
