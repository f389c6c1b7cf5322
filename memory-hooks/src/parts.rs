//! The shared state of a memory: its ports and its manager.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use memory_core::{
    ConversationId,
    port::{CompactionReport, ConversationManager, ManagerError, Notice, Progress, Query, ReduceCause, Retrieved},
};

use crate::{MemoryError, compaction_queue::CompactionQueue, ports::Ports, windows::Windows};

/// The shared state of a memory.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) ports: Arc<Ports>,
    pub(crate) manager: Arc<dyn ConversationManager>,
    pub(crate) queue: Arc<CompactionQueue>,
    /// Windows that running agents were shown last.
    pub(crate) windows: Windows,
    pub(crate) growth: Option<Growth>,
    /// True once a notice reported that recall is by words.
    pub(crate) words_only: AtomicBool,
}

/// Listener to conversations that grow.
pub(crate) type Growth = Function<dyn Fn(&ConversationId) + Send + Sync>;

/// A function of the program, which has no printable form.
pub(crate) struct Function<F: ?Sized>(pub(crate) Box<F>);

impl<F: ?Sized> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

impl Deref for Parts {
    type Target = Ports;

    fn deref(&self) -> &Ports {
        &self.ports
    }
}

impl Parts {
    /// Searches, and counts each hit as a use of its message.
    pub(crate) async fn search(&self, query: &Query) -> Result<Retrieved, MemoryError> {
        let Some(retriever) = &self.retriever else {
            return Ok(Retrieved::default().notices(vec![Notice::NoRetriever]));
        };
        let mut found = retriever.search(query).await?;
        found.hits.iter().for_each(|hit| self.uses.add(&hit.conversation, [hit.node.id]));
        self.once(&mut found.notices);
        Ok(found)
    }

    /// Drops the notice that recall is by words if it was given before.
    pub(crate) fn once(&self, notices: &mut Vec<Notice>) {
        let is_words_only = |notice: &Notice| matches!(notice, Notice::WordsOnly { .. });
        notices.retain(|notice| !is_words_only(notice) || !self.words_only.swap(true, Ordering::Relaxed));
    }

    /// Reports that a conversation has messages to summarize and to index.
    pub(crate) fn grew(&self, conversation: &ConversationId) {
        self.queue.enqueue(conversation);
        if let Some(Function(listener)) = &self.growth {
            listener(conversation);
        }
    }

    /// Has the manager do due work. A failure is announced to the hooks, unless the conversation has not begun.
    pub(crate) async fn manage(
        &self,
        conversation: &ConversationId,
        progress: &dyn Progress,
    ) -> Result<CompactionReport, MemoryError> {
        self.announced(conversation, self.manager.manage(conversation, progress).await).await
    }

    /// Has the manager make the smallest view smaller. A failure is announced to the hooks; no progress is an answer,
    /// not a failure.
    pub(crate) async fn reduce(
        &self,
        conversation: &ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> Result<CompactionReport, MemoryError> {
        match self.manager.reduce(conversation, tokens, cause).await {
            Err(error @ ManagerError::NoProgress { .. }) => Err(error.into()),
            reduced => self.announced(conversation, reduced).await,
        }
    }

    /// Result of a manager. Failures are announced here, and by no manager, so that hooks hear of any manager's failure
    /// exactly once.
    async fn announced<T>(
        &self,
        conversation: &ConversationId,
        done: Result<T, ManagerError>,
    ) -> Result<T, MemoryError> {
        let done = done.map_err(MemoryError::from);
        if let Err(error) = &done
            && !error.is_not_found()
        {
            self.report_failure(conversation, error).await;
        }
        done
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use memory_core::{
        Message, NodeId,
        testing::{MemoryStore, WordCounter},
    };
    use pollster::block_on;

    use super::*;
    use crate::{Memory, MemoryBuilder};

    fn builder() -> MemoryBuilder {
        Memory::builder().store(Arc::new(MemoryStore::default())).token_counter(Arc::new(WordCounter))
    }

    #[test]
    fn the_notice_of_words_is_given_once_and_others_stay() {
        let memory = builder().build().unwrap();
        let said = [Notice::WordsOnly { why: "no model".to_owned() }, Notice::EmptyQuestion];
        let mut notices = said.to_vec();
        memory.parts.once(&mut notices);
        assert_eq!(notices, said);
        memory.parts.once(&mut notices);
        assert_eq!(notices, said[1..]);
    }

    #[test]
    fn a_listener_is_told_of_appends_forks_and_reports() {
        let grown = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&grown);
        let builder = builder().on_growth(move |id| told.lock().unwrap().push(id.to_string()));
        let memory = builder.build().unwrap();
        let [talk, child, other] = ["talk", "child", "other"].map(|name| ConversationId::new(name).unwrap());
        let talk = memory.conversation(talk);
        block_on(talk.append(Message::user("The train leaves at 7:42."))).unwrap();
        block_on(talk.fork(NodeId::FIRST, child)).unwrap();
        memory.report_growth(&other);
        assert_eq!(*grown.lock().unwrap(), ["talk", "child", "other"]);
    }
}
