//! Replay of recorded prompts.

use memory_core::{ViewId, port::StoreError, view::View};

use crate::{AsOf, Conversation, MemoryError, Prompt, ViewError, prompt};

/// Views that are read at once in a search.
const PAGE: u64 = 64;

impl Conversation {
    /// The number of the last recorded view; `None` if there is none.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn last_view(&self) -> Result<Option<ViewId>, MemoryError> {
        Ok(ViewId::new(self.overview().await?.views))
    }

    /// The recorded views with numbers from `first` to `last`, in order, unchecked. Views whose records are lost are
    /// left out.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn views(&self, first: ViewId, last: ViewId) -> Result<Vec<View>, MemoryError> {
        self.call(move |this| async move { Ok(this.parts.store.views(&this.id, first, last).await?) }).await
    }

    /// The prompt that a model was shown, byte for byte, checked against the recorded hashes. Each piece states its
    /// kind and source. The reason for choosing it, the notices and the reductions are not recorded.
    ///
    /// # Errors
    /// [`MemoryError::View`] if no such view was recorded, or if its content has changed: the error names every
    /// difference. Otherwise if the store fails.
    pub async fn as_of(&self, asked: AsOf) -> Result<Prompt, MemoryError> {
        self.call(move |this| async move {
            let view = this.find_view(asked).await?;
            this.replay(view).await
        })
        .await
    }

    /// Like [`Self::as_of`], for a view that was read before.
    ///
    /// # Errors
    /// Same as [`Self::as_of`].
    pub async fn replay(&self, view: View) -> Result<Prompt, MemoryError> {
        self.call(move |this| async move { prompt::rebuild(&this.parts, &this.id, view).await }).await
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
        // A lost view may be the wanted one, unless a later one is known not to be.
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
