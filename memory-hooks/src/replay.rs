//! Going back to what a model was shown.

use std::fmt;

use memory_core::{NodeId, StoreError, Timestamp, View, ViewId};

use crate::{Context, Conversation, MemoryError, ViewError, context};

/// Views that are read at once while one is looked for.
const PAGE: u64 = 64;

/// Which past view is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The last one that was shown before the conversation went on behind this message.
    Node(NodeId),
    /// The last one that was shown until then, that moment included.
    Time(Timestamp),
    /// The one with this number.
    View(ViewId),
}

impl AsOf {
    fn is_met_by(&self, view: &View) -> bool {
        match self {
            Self::Node(node) => view.body.nodes <= node.get(),
            Self::Time(at) => view.body.at <= *at,
            Self::View(id) => view.id == *id,
        }
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "up to message {node}"),
            Self::Time(at) => write!(f, "until {at}"),
            Self::View(id) => write!(f, "under number {id}"),
        }
    }
}

impl Conversation {
    /// The number of the last recorded view; `None` while there is none.
    ///
    /// # Errors
    /// When there is no such conversation, or the store fails.
    pub async fn last_view(&self) -> Result<Option<ViewId>, MemoryError> {
        Ok(ViewId::new(self.parts.store.conversation(&self.id).await?.views))
    }

    /// The recorded views with numbers from `first` to `last`, in order, as they were recorded: nothing is checked. Those
    /// whose records are lost are left out.
    ///
    /// # Errors
    /// When there is no such conversation, or the store fails.
    pub async fn views(&self, first: ViewId, last: ViewId) -> Result<Vec<View>, MemoryError> {
        Ok(self.parts.store.views(&self.id, first, last).await?)
    }

    /// What a model was shown, byte for byte, checked against the hashes that were recorded when it was. Each piece says
    /// what it is; why it was chosen, what was noticed, and how often the view was reduced is not recorded.
    ///
    /// # Errors
    /// [`MemoryError::View`] when no such view was recorded, or when something that it showed is not as it was: the error
    /// names all that differs. Else when the store fails.
    pub async fn as_of(&self, asked: AsOf) -> Result<Context, MemoryError> {
        let view = self.find_view(asked).await?;
        self.replay(view).await
    }

    /// The same of a view that was read before.
    ///
    /// # Errors
    /// As for [`Self::as_of`].
    pub async fn replay(&self, view: View) -> Result<Context, MemoryError> {
        context::rebuild(&self.parts, &self.id, view).await
    }

    async fn find_view(&self, asked: AsOf) -> Result<View, MemoryError> {
        let state = self.parts.store.conversation(&self.id).await?;
        let not_recorded = || ViewError::NotRecorded { conversation: self.id.clone(), asked, views: state.views };
        let mut next = match asked {
            AsOf::Node(node) if node.get() > state.nodes => {
                let (conversation, nodes) = (self.id.clone(), state.nodes);
                return Err(StoreError::UnknownNode { conversation, node, nodes }.into());
            }
            AsOf::View(id) if id.get() > state.views => return Err(not_recorded().into()),
            AsOf::View(id) => id.get(),
            AsOf::Node(_) | AsOf::Time(_) => state.views,
        };
        // A view that is lost may have been the one, unless a later one is known not to be.
        let mut lost = None;
        while let Some(last) = ViewId::new(next) {
            let first = ViewId::new(next.saturating_sub(PAGE - 1)).unwrap_or(ViewId::FIRST);
            let first = if matches!(asked, AsOf::View(_)) { last } else { first };
            let mut page = self.parts.store.views(&self.id, first, last).await?;
            for number in (first.get()..=last.get()).rev() {
                match page.pop_if(|view| view.id.get() == number) {
                    None => lost = ViewId::new(number),
                    Some(view) if asked.is_met_by(&view) => {
                        return match lost {
                            Some(lost) => Err(ViewError::Lost { conversation: self.id.clone(), view: lost }.into()),
                            None => Ok(view),
                        };
                    }
                    Some(_) => lost = None,
                }
            }
            if matches!(asked, AsOf::View(_)) {
                break;
            }
            next = first.get() - 1;
        }
        match lost {
            Some(view) => Err(ViewError::Lost { conversation: self.id.clone(), view }.into()),
            None => Err(not_recorded().into()),
        }
    }
}
