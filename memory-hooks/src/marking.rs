//! Settings of a person for a conversation as a whole: title, tags, marks.

use memory_core::{Mark, port::Event};

use crate::{
    Conversation, MemoryError,
    title::{self, Title},
};

impl Conversation {
    /// The title: the one that somebody set, or else one derived from the first messages.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn title(&self) -> Result<Option<Title>, MemoryError> {
        self.call(|this| async move {
            let state = this.parts.store.conversation(&this.id).await?;
            title::title(&this.parts, &state).await
        })
        .await
    }

    /// Sets the title; an empty one removes the title that was set.
    ///
    /// # Errors
    /// If the conversation does not exist, the memory's redaction refuses the title, or the store fails.
    pub async fn set_title(&self, title: &str) -> Result<(), MemoryError> {
        let title = title.trim().to_owned();
        self.call(move |this| async move {
            let title = this.parts.redacted(title)?;
            this.record(Event::Title(title)).await
        })
        .await
    }

    /// Tags of the conversation, sorted.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn tags(&self) -> Result<Vec<String>, MemoryError> {
        Ok(self.overview().await?.own_tags())
    }

    /// Replaces all tags. Reserved ones are left out, and marks stay.
    ///
    /// # Errors
    /// If the conversation does not exist, the memory's redaction refuses a tag, or the store fails.
    pub async fn set_tags(&self, tags: &[String]) -> Result<(), MemoryError> {
        let tags = tags.to_vec();
        self.call(move |this| async move {
            let state = this.parts.store.conversation(&this.id).await?;
            let tags = tags.into_iter().map(|tag| this.parts.redacted(tag)).collect::<Result<Vec<_>, _>>()?;
            this.record_tags(&state.tags, state.tags_with_own(&tags)).await
        })
        .await
    }

    /// True if the conversation has a mark.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn is_marked(&self, mark: Mark) -> Result<bool, MemoryError> {
        Ok(self.overview().await?.is_marked(mark))
    }

    /// Sets or removes a mark.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn mark(&self, mark: Mark, is_set: bool) -> Result<(), MemoryError> {
        self.call(move |this| async move {
            let state = this.parts.store.conversation(&this.id).await?;
            this.record_tags(&state.tags, state.tags_with(mark, is_set)).await
        })
        .await
    }

    async fn record_tags(&self, before: &[String], tags: Vec<String>) -> Result<(), MemoryError> {
        if before == tags { Ok(()) } else { self.record(Event::Tags(tags)).await }
    }

    async fn record(&self, event: Event) -> Result<(), MemoryError> {
        self.parts.store.record(&self.id, vec![event]).await?;
        Ok(())
    }
}
