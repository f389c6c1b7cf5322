//! Questions in recorded views, which are derived data but stored in the log itself.

use std::{collections::HashSet, sync::Arc};

use memory_core::{
    ViewId,
    port::{
        BoxFuture, ConversationState, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten,
        Holding, Holdings, Store,
    },
    proof::Salt,
    view::View,
};

/// The questions that the views of a store record, with their salted hashes.
///
/// Records of the log hold the questions, so they are counted but cannot be forgotten: [`Forgotten::InTheLog`] states
/// what has to be erased. A view that a fork shares with its parent counts only for the parent.
#[derive(Debug)]
pub struct RecordedQuestions {
    store: Arc<dyn Store>,
}

impl RecordedQuestions {
    /// The questions in the views of `store`.
    #[must_use]
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    async fn views(&self, state: &ConversationState) -> Result<Vec<View>, DerivedError> {
        match ViewId::new(state.views) {
            Some(last) => Ok(self.store.views(&state.id, ViewId::FIRST, last).await?),
            None => Ok(Vec::new()),
        }
    }

    async fn list(&self) -> Result<Holdings, DerivedError> {
        let mut states = self.store.conversations().await?;
        // Parents come before their forks; each view has a salt of its own.
        states.sort_by_key(|state| state.forked_from.is_some());
        let (mut seen, mut all) = (HashSet::<Salt>::new(), Vec::new());
        for state in states {
            let views = self.views(&state).await?;
            let own: Vec<&View> = views.iter().filter(|view| seen.insert(view.body.salt)).collect();
            if let Some(last) = own.last() {
                let through = last.body.nodes;
                all.push(Holding::new(state.id, through, size(own)));
            }
        }
        Ok(Holdings::new(all, DerivedSize::default()))
    }

    /// Size of the questions in views that show the first of these nodes or a later one, or whose question became that
    /// node.
    async fn left(&self, what: &Forget<'_>) -> Result<DerivedSize, DerivedError> {
        let states = self.store.conversations().await?;
        let Some(state) = states.into_iter().find(|state| state.id == *what.conversation) else {
            return Ok(DerivedSize::default());
        };
        let first = what.nodes.map_or(Some(1), |nodes| Some(nodes.runs().first()?.first().get()));
        let Some(first) = first else { return Ok(DerivedSize::default()) };
        let views = self.views(&state).await?;
        Ok(size(views.iter().filter(|view| view.body.nodes + 1 >= first)))
    }

    async fn faults(&self) -> Result<Vec<DerivedFault>, DerivedError> {
        let mut faults = Vec::new();
        for state in self.store.conversations().await? {
            let whole = self.views(&state).await?.len() as u64;
            if whole < state.views {
                let place = format!("views of {}", state.id);
                let what = format!("{} of them cannot be read: `verify` shows where", state.views - whole);
                faults.push(DerivedFault::new(Some(state.id), place, what));
            }
        }
        Ok(faults)
    }
}

fn size<'a>(views: impl IntoIterator<Item = &'a View>) -> DerivedSize {
    let asked = views.into_iter().map(|view| view.body.question.len() as u64).filter(|bytes| *bytes > 0);
    asked.fold(DerivedSize::default(), |sum, bytes| sum.plus(DerivedSize::default().count(1).disk(bytes)))
}

impl Derived for RecordedQuestions {
    fn kind(&self) -> DerivedKind {
        DerivedKind::Questions
    }

    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>> {
        Box::pin(self.list())
    }

    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>> {
        Box::pin(async move {
            let left = self.left(what).await?;
            Ok(if left.count == 0 { Forgotten::All } else { Forgotten::InTheLog { left } })
        })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>> {
        Box::pin(self.faults())
    }
}
