//! The protocol of `memory bridge`: requests, the managers that answer them, and sessions; see `docs/strands.md`.

mod answer;
mod caller;
mod conversation;
mod error;
mod input;
mod items;
mod lists;
mod message;
mod request;
mod sessions;
mod stored;
mod view;

use std::{collections::BTreeMap, sync::Arc};

use memory::{Builder, Memory};
use memory_core::plan::list::{ListStrategy, Listed, kept, query_from, split_forward};
use serde_json::{Value, json};

use self::{
    answer::unchanged,
    caller::{CALLER, Caller},
    items::{Items, Retractions},
    lists::ListBridge,
    message::StrandsMessage,
    request::{Load, Read},
    sessions::{Documents, Sessions},
    stored::Stored,
};
use crate::{Access, globals::Globals};

pub(crate) use self::{
    caller::{Answering, CallersModel, Next, Question, Questions, next},
    error::BridgeError,
    input::RequestLines,
    request::Request,
};

/// The managers that a program opened, and the memory behind them.
pub(crate) struct Bridge<'a> {
    globals: &'a Globals,
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
    Stored(Box<Stored>),
}

impl<'a> Bridge<'a> {
    /// A bridge, and its questions to the caller: none, unless the caller is chosen as the summarizer.
    pub(crate) fn new(globals: &'a Globals, model: CallersModel) -> (Self, Questions) {
        let (caller, questions) = Caller::new(model);
        let caller = Some(caller).filter(|_| globals.summarizer_name() == CALLER);
        let (documents, retractions) = (Documents::default(), Retractions::default());
        (Self { globals, managers: BTreeMap::new(), memory: None, documents, retractions, caller }, questions)
    }

    /// Answers a request. After an error nothing that the request names has changed, except for messages appended to
    /// the store.
    pub(crate) async fn answer(&mut self, request: Request) -> Result<Value, BridgeError> {
        match request {
            Request::Open { id, manager, config } => {
                let managed = self.open(&manager, config)?;
                let answer = managed.state().await?;
                self.managers.insert(id.to_string(), managed);
                Ok(answer)
            }
            Request::Close { id } => {
                self.managers.remove(&id.to_string()).ok_or_else(|| BridgeError::not_open(&id))?;
                Ok(json!({}))
            }
            Request::Apply { id, messages } => self.manager(&id)?.apply(messages.0).await,
            Request::Reduce { id, messages, cause } => self.manager(&id)?.reduce(messages.0, cause.as_deref()).await,
            Request::BeforeModel { id, messages, projected_tokens, window } => {
                self.manager(&id)?.before_model(messages.0, Load { projected_tokens, window }).await
            }
            Request::Summary { id, message } => self.manager(&id)?.summary(message),
            Request::Restore { id, state } => self.manager(&id)?.restore(state).await,
            Request::State { id, model_call_count } => {
                let manager = self.manager(&id)?;
                if let (Managed::List(list), Some(calls)) = (&mut *manager, model_call_count) {
                    list.set_model_call_count(calls);
                }
                manager.state().await
            }
            Request::Resume { id } => self.manager(&id)?.resume().await,
            Request::Split { messages, split } => {
                let items: Vec<_> = messages.0.iter().map(Listed::item).collect();
                Ok(json!({"split": split_forward(&items, split)?}))
            }
            Request::Query { messages, start } => {
                let items: Vec<_> = messages.0.iter().map(Listed::item).collect();
                Ok(json!({"query": query_from(&items, start)}))
            }
            Request::Kept { messages } => {
                let items: Vec<_> = messages.0.iter().map(Listed::item).collect();
                Ok(json!({"kept": kept(&items)}))
            }
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
            "semantic" | "hierarchical" => Managed::Stored(Box::new(Stored::open(manager, config, self.memory()?)?)),
            other => return Err(BridgeError::UnknownManager(other.to_owned())),
        })
    }

    fn manager(&mut self, id: &Value) -> Result<&mut Managed, BridgeError> {
        self.managers.get_mut(&id.to_string()).ok_or_else(|| BridgeError::not_open(id))
    }

    fn memory(&mut self) -> Result<&Memory, BridgeError> {
        if self.memory.is_none() {
            let config = self.globals.config(Access::Write).map_err(BridgeError::Store)?;
            let builder = match &self.caller {
                Some(caller) => caller.writes_for(config),
                None => Builder::of(config),
            };
            let opened = builder.recall_hook(memory::hooks::RecallHookOptions::default()).open();
            self.memory = Some(opened.map_err(|error| BridgeError::Store(error.into()))?);
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

impl Managed {
    async fn apply(&mut self, messages: Vec<StrandsMessage>) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing => Ok(unchanged(&messages)),
            Self::List(list) => list.apply(messages),
            Self::Stored(stored) => stored.apply(messages).await,
        }
    }

    async fn reduce(&mut self, messages: Vec<StrandsMessage>, cause: Option<&str>) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing if cause.is_some() => Err(BridgeError::NotManaged),
            Self::Nothing => Ok(unchanged(&messages)),
            Self::List(list) => list.reduce(messages, cause).await,
            Self::Stored(stored) => stored.reduce(messages, cause).await,
        }
    }

    async fn before_model(&mut self, messages: Vec<StrandsMessage>, load: Load) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing => Ok(unchanged(&messages)),
            Self::List(list) => list.before_model(messages, load).await,
            Self::Stored(stored) => stored.before_model(messages).await,
        }
    }

    fn summary(&mut self, message: StrandsMessage) -> Result<Value, BridgeError> {
        match self {
            Self::List(list) => list.finish(message),
            Self::Nothing | Self::Stored(_) => Err(BridgeError::NoSummaryDue),
        }
    }

    async fn restore(&mut self, state: Value) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing => Ok(unchanged(&[])),
            Self::List(list) => list.restore(state),
            Self::Stored(stored) => stored.restore(state).await,
        }
    }

    async fn state(&self) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing => Ok(json!({})),
            Self::List(list) => Ok(list.state()),
            Self::Stored(stored) => stored.state().await,
        }
    }

    async fn resume(&mut self) -> Result<Value, BridgeError> {
        match self {
            Self::Nothing | Self::List(_) => Ok(unchanged(&[])),
            Self::Stored(stored) => stored.resume().await,
        }
    }
}
