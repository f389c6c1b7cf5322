//! Summaries that another program wrote of a conversation.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use memory::{
    ConversationId, Error as MemoryError, NodeRange, SummaryId,
    parts::{Adopted, Conversation, ForeignSummary, Misfit},
    port::{Store, StoreError},
};
use memory_transcripts::Summarized;

use crate::{Error, ImportNotice};

/// Summaries that are recorded as one batch.
const BATCH: usize = 128;

/// Takeover of the summaries of a conversation.
#[derive(Debug, Default)]
pub(crate) struct SummaryTakeover {
    /// Summaries that are not recorded yet, none of which is made from another.
    waiting: Vec<ForeignSummary>,
    /// Numbers of recorded summaries, by their ids in the source.
    numbers: HashMap<String, SummaryId>,
    counts: SummaryCounts,
}

/// Counts of summaries that another program wrote. Notices name the unrecorded ones with the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryCounts {
    /// Summaries that were recorded.
    pub new: u64,
    /// Summaries that were recorded before.
    pub there: u64,
    unfit: BTreeMap<String, u64>,
}

impl SummaryTakeover {
    /// Takes the next summary, whose messages are all in the store.
    pub(crate) async fn take(
        &mut self,
        store: &dyn Store,
        conversation: &Conversation,
        summarized: Summarized,
    ) -> Result<(), Error> {
        let Summarized { id, level, first, last, messages, children, text, written_by, .. } = summarized;
        if self.waiting.len() >= BATCH || self.waiting.iter().any(|one| children.contains(&one.id)) {
            self.flush(conversation).await?;
        }
        let ends =
            store.find_key(conversation.id(), &first).await?.zip(store.find_key(conversation.id(), &last).await?);
        let span = ends.and_then(|(first, last)| NodeRange::new(first, last));
        let numbers: Option<Vec<_>> = children.iter().map(|child| self.numbers.get(child).copied()).collect();
        // Messages of another origin may stand in between.
        match (span.filter(|span| span.count() == messages), numbers) {
            (Some(span), Some(numbers)) => {
                self.waiting.push(ForeignSummary::new(id, level, span, text, written_by).children(numbers));
            }
            (None, _) => self.counts.count(&Misfit::Missing.to_string()),
            (_, None) => self.counts.count("of a summary that was not taken over"),
        }
        Ok(())
    }

    /// Records the waiting summaries.
    async fn flush(&mut self, conversation: &Conversation) -> Result<(), Error> {
        let waiting = mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let adopted = match conversation.adopt(&waiting).await {
            Ok(adopted) => adopted,
            // The messages are there; the next import adopts the summaries.
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
    pub(crate) async fn finish(mut self, conversation: &Conversation) -> Result<SummaryCounts, Error> {
        self.flush(conversation).await?;
        Ok(self.counts)
    }
}

impl SummaryCounts {
    fn count(&mut self, why: &str) {
        *self.unfit.entry(why.to_owned()).or_default() += 1;
    }

    /// A notice for each reason why summaries were not adopted.
    pub(crate) fn notices(&self, conversation: &ConversationId) -> impl Iterator<Item = ImportNotice> {
        let unfit = |(why, count): (&String, &u64)| ImportNotice::SummariesUnfit {
            conversation: conversation.clone(),
            summaries: *count,
            why: why.clone(),
        };
        self.unfit.iter().map(unfit)
    }
}
