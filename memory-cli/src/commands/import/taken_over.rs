//! Records the summaries that another program wrote of a conversation.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use memory_core::{NodeRange, Store, StoreError, SummaryId};
use memory_hooks::{Adopted, Conversation, ForeignSummary, MemoryError, Misfit};
use memory_transcripts::Summarized;

use crate::news::News;

/// Summaries that are recorded as one batch.
const BATCH: usize = 128;

/// The summaries of a conversation.
#[derive(Debug, Default)]
pub(super) struct TakenOver {
    /// Those that are not recorded yet, none of which is made from another one.
    waiting: Vec<ForeignSummary>,
    /// The numbers of those that are, by their ids in the source.
    numbers: HashMap<String, SummaryId>,
    counts: Counts,
}

/// How many were recorded, and how many were not and why.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) new: u64,
    pub(super) there: u64,
    unfit: BTreeMap<String, u64>,
}

impl TakenOver {
    /// Takes the next summary, whose messages are all in the store.
    pub(super) async fn take(
        &mut self,
        store: &dyn Store,
        conversation: &Conversation,
        summarized: Summarized,
    ) -> anyhow::Result<()> {
        let Summarized { id, level, first, last, messages, children, text, written_by, .. } = summarized;
        if self.waiting.len() >= BATCH || self.waiting.iter().any(|one| children.contains(&one.id)) {
            self.flush(conversation).await?;
        }
        let ends =
            store.find_key(conversation.id(), &first).await?.zip(store.find_key(conversation.id(), &last).await?);
        let span = ends.and_then(|(first, last)| NodeRange::new(first, last));
        let numbers: Option<Vec<_>> = children.iter().map(|child| self.numbers.get(child).copied()).collect();
        // Messages of another origin may stand between.
        match (span.filter(|span| span.count() == messages), numbers) {
            (Some(span), Some(numbers)) => {
                self.waiting.push(ForeignSummary::new(id, level, span, text, written_by).children(numbers));
            }
            (None, _) => self.counts.count(&Misfit::Missing.to_string()),
            (_, None) => self.counts.count("of a summary that was not taken over"),
        }
        Ok(())
    }

    /// Records what waits.
    async fn flush(&mut self, conversation: &Conversation) -> anyhow::Result<()> {
        let waiting = mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let adopted = match conversation.adopt(&waiting).await {
            Ok(adopted) => adopted,
            // The messages are there; the next import takes the summaries over.
            Err(error @ (MemoryError::AtWork { .. } | MemoryError::Store(StoreError::Locked { .. }))) => {
                let why = error.to_string();
                waiting.iter().for_each(|_| self.counts.count(&why));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for (summary, adopted) in waiting.into_iter().zip(adopted) {
            match adopted {
                Adopted::New(number) => {
                    self.counts.new += 1;
                    self.numbers.insert(summary.id, number);
                }
                Adopted::Existing(number) => {
                    self.counts.there += 1;
                    self.numbers.insert(summary.id, number);
                }
                Adopted::Unfit(misfit) => self.counts.count(&misfit.to_string()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Records the rest.
    pub(super) async fn finish(mut self, conversation: &Conversation) -> anyhow::Result<Counts> {
        self.flush(conversation).await?;
        Ok(self.counts)
    }
}

impl Counts {
    fn count(&mut self, why: &str) {
        *self.unfit.entry(why.to_owned()).or_default() += 1;
    }

    /// What was not taken over, for people.
    pub(super) fn news(&self, conversation: &memory_core::ConversationId) -> impl Iterator<Item = News> {
        let unfit = |(why, count): (&String, &u64)| News::SummariesUnfit {
            conversation: conversation.clone(),
            summaries: *count,
            why: why.clone(),
        };
        self.unfit.iter().map(unfit)
    }
}
