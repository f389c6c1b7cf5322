//! The protocol of `memory bridge`: requests, the managers that answer them, and sessions; see `docs/strands.md`.

mod answer;
mod caller;
mod client;
mod conversation;
mod error;
mod facts;
mod input;
mod items;
mod lists;
mod message;
mod privacy;
mod request;
mod sessions;
mod stored;
mod view;

use std::{collections::BTreeMap, sync::Arc};

use memory::{Builder, Memory};
use memory_core::plan::list::{ListItem, ListStrategy, Listed, kept, query_from, split_forward};
use serde_json::{Value, json};

use self::{
    answer::ListAnswer,
    caller::Caller,
    items::{Items, Retractions},
    lists::ListBridge,
    message::StrandsMessage,
    request::{ManagerRequest, Read},
    sessions::{Documents, Sessions},
    stored::ConversationBridge,
};
use crate::{Access, globals::Globals};

pub(crate) use self::{
    caller::{CALLER, CallersModel, Question, Questions},
    error::BridgeError,
    input::RequestLines,
    request::Request,
};

/// The managers that a program opened, and the memory behind them.
pub(crate) struct Bridge<'a> {
    globals: &'a Globals,
    /// True if the store is only in memory.
    in_memory: bool,
    managers: BTreeMap<String, Managed>,
    /// The memory, opened with the first manager or session that needs a store.
    memory: Option<Memory>,
    documents: Documents,
    retractions: Retractions,
    /// Caller that writes the summaries of conversations, if it is the chosen summarizer.
    caller: Option<Arc<Caller>>,
}

/// A manager.
enum Managed {
    /// A manager that changes nothing.
    Nothing,
    /// A manager over the caller's own list.
    List(Box<ListBridge>),
    /// A manager over a conversation in the store.
    Stored(Box<ConversationBridge>),
}

impl<'a> Bridge<'a> {
    /// A bridge, and its questions to the caller: none, unless the caller is chosen as the summarizer.
    /// With `in_memory` no file holds anything of it.
    pub(crate) fn new(globals: &'a Globals, model: CallersModel, in_memory: bool) -> (Self, Questions) {
        let (caller, questions) = Caller::new(model);
        let caller = Some(caller).filter(|_| globals.summarizer_name() == CALLER);
        let (documents, retractions) = (Documents::default(), Retractions::default());
        (
            Self { globals, in_memory, managers: BTreeMap::new(), memory: None, documents, retractions, caller },
            questions,
        )
    }

    /// Answers a request. After an error nothing that the request names has changed, except for messages appended to
    /// the store.
    pub(crate) async fn answer(&mut self, request: Request) -> Result<Value, BridgeError> {
        match request {
            Request::Open { id, manager, config } => {
                let mut managed = self.open(&manager, config)?;
                let answer = managed.answer(ManagerRequest::State { model_call_count: None }).await?;
                self.managers.insert(id.to_string(), managed);
                Ok(answer)
            }
            Request::Close { id } => {
                self.managers.remove(&id.to_string()).ok_or_else(|| BridgeError::not_open(&id))?;
                Ok(json!({}))
            }
            Request::Managed { id, request } => {
                let managed = self.managers.get_mut(&id.to_string()).ok_or_else(|| BridgeError::not_open(&id))?;
                managed.answer(request).await
            }
            Request::Split { messages, split } => Ok(json!({"split": split_forward(&items(&messages), split)?})),
            Request::Query { messages, start } => Ok(json!({"query": query_from(&items(&messages), start)})),
            Request::Kept { messages } => Ok(json!({"kept": kept(&items(&messages))})),
            Request::Shorten { mut message } => {
                let changed = message.item().can_be_shortened;
                message.shorten_results();
                Ok(json!({"message": message, "changed": changed}))
            }
            Request::Reply { .. } => Err(BridgeError::NothingAsked),
            Request::Session(request) => {
                let memory = self.memory()?.clone();
                Sessions { memory: &memory, documents: &mut self.documents }.answer(request).await
            }
            Request::Client(request) => {
                let memory = self.memory()?.clone();
                request.answer(&memory, self.globals).await
            }
            Request::Facts(request) => request.answer(&self.memory()?.clone()).await,
            Request::Privacy(request) => request.answer(&self.memory()?.clone()).await,
            Request::Items(request) => {
                let memory = self.memory()?.clone();
                Items { memory: &memory, retractions: &mut self.retractions }.answer(request).await
            }
        }
    }

    fn open(&mut self, manager: &str, config: Value) -> Result<Managed, BridgeError> {
        Ok(match manager {
            "none" => Managed::Nothing,
            "sliding-window" => {
                Managed::List(Box::new(ListBridge::new(ListStrategy::SlidingWindow(config.read()?), None)))
            }
            "summarizing" => Managed::List(Box::new(ListBridge::summarizing(config, self.globals)?)),
            "semantic" | "hierarchical" => {
                Managed::Stored(Box::new(ConversationBridge::open(manager, config, self.memory()?)?))
            }
            other => return Err(BridgeError::UnknownManager(other.to_owned())),
        })
    }

    fn memory(&mut self) -> Result<&Memory, BridgeError> {
        if self.memory.is_none() {
            let config = match self.in_memory {
                true => self.globals.config_at(std::path::PathBuf::new(), Access::Memory).in_memory(),
                false => self.globals.config(Access::Write).map_err(BridgeError::Store)?,
            };
            let builder = match &self.caller {
                Some(caller) => caller.writes_for(config),
                None => Builder::of(config),
            };
            self.memory = Some(builder.open().map_err(|error| BridgeError::Store(error.into()))?);
        }
        self.memory.as_ref().ok_or_else(|| BridgeError::Store(anyhow::anyhow!("the store was not opened")))
    }

    /// Writes derived data to disk that is not there yet.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self.memory {
            Some(memory) => Ok(memory.flush().await?),
            None => Ok(()),
        }
    }
}

fn items(messages: &[StrandsMessage]) -> Vec<ListItem> {
    messages.iter().map(Listed::item).collect()
}

impl Managed {
    async fn answer(&mut self, request: ManagerRequest) -> Result<Value, BridgeError> {
        use ManagerRequest as Ask;
        Ok(match (self, request) {
            (Self::List(list), Ask::Apply { messages }) => json!(list.apply(messages)?),
            (Self::List(list), Ask::Reduce { messages, cause }) => list.reduce(messages, cause.as_deref()).await?,
            (Self::List(list), Ask::BeforeModel { messages, projected_tokens, window }) => {
                list.before_model(messages, projected_tokens, window).await?
            }
            (Self::List(list), Ask::Summary { message }) => json!(list.finish(message)?),
            (Self::List(list), Ask::Restore { state }) => json!(list.restore(state)?),
            (Self::List(list), Ask::State { model_call_count }) => json!(list.state_after(model_call_count)),
            (Self::Stored(stored), Ask::Apply { messages }) => json!(stored.apply(messages).await?),
            (Self::Stored(stored), Ask::Reduce { messages, cause }) => {
                json!(stored.reduce(messages, cause.as_deref()).await?)
            }
            (Self::Stored(stored), Ask::BeforeModel { messages, .. }) => json!(stored.before_model(messages).await?),
            (Self::Stored(stored), Ask::Restore { state }) => json!(stored.restore(state).await?),
            (Self::Stored(stored), Ask::State { .. }) => json!(stored.state()),
            (Self::Stored(stored), Ask::Resume {}) => json!(stored.resume().await?),
            (Self::Nothing, Ask::Reduce { cause: Some(_), .. }) => return Err(BridgeError::NotManaged),
            (
                Self::Nothing,
                Ask::Apply { messages } | Ask::Reduce { messages, .. } | Ask::BeforeModel { messages, .. },
            ) => {
                json!(ListAnswer::unchanged(messages))
            }
            (Self::Nothing, Ask::State { .. }) => json!({}),
            (Self::Nothing | Self::Stored(_), Ask::Summary { .. }) => return Err(BridgeError::NoSummaryDue),
            (Self::Nothing, Ask::Restore { .. }) | (Self::Nothing | Self::List(_), Ask::Resume {}) => {
                json!(ListAnswer::unchanged(Vec::new()))
            }
        })
    }
}
