//! A manager over the caller's own list.

use std::sync::Arc;

use memory_core::{
    Message,
    plan::list::{ListManager, ListPlan, ListSlot, ListStrategy, Summarizing},
    port::{ManagerError, ManagerState, ReduceCause, Summarizer},
};
use memory_embed::TiktokenCounter;
use memory_hooks::summarize_list;
use serde_json::{Value, json};

use super::{
    BridgeError,
    answer::{ListAnswer, StateAnswer},
    caller::CALLER,
    message::StrandsMessage,
    request::Read,
    view::exact,
};
use crate::{commands::plugins, globals::Globals};

/// A manager, the author of its summaries, and the reduction that waits for one.
pub(super) struct ListBridge {
    manager: ListManager<StrandsMessage>,
    /// Summarizer; `None` if the caller writes the summaries.
    summarizer: Option<Arc<dyn Summarizer>>,
    pending: Option<(ListPlan, Vec<StrandsMessage>)>,
}

impl ListBridge {
    pub(super) fn new(strategy: ListStrategy, summarizer: Option<Arc<dyn Summarizer>>) -> Self {
        Self { manager: ListManager::new(strategy), summarizer, pending: None }
    }

    /// A manager that summarizes. `summarizer` of the configuration names a strategy, or `caller`.
    pub(super) fn summarizing(mut config: Value, globals: &Globals) -> Result<Self, BridgeError> {
        let named = config.as_object_mut().and_then(|members| members.remove("summarizer"));
        let strategy: Summarizing = config.read()?;
        let name = match named.as_ref().map(|name| (name, name.as_str())) {
            None => globals.summarizer_name(),
            Some((_, Some(name))) => name,
            Some((other, None)) => {
                return Err(BridgeError::Config(format!("summarizer must be a name or `caller`, got {other}")));
            }
        };
        let chosen = Some(name)
            .filter(|name| *name != CALLER)
            .map(|name| plugins::registry(globals).0.summarizer(name))
            .transpose();
        let summarizer = chosen.map_err(|error| BridgeError::Config(error.to_string()))?;
        Ok(Self::new(ListStrategy::Summarizing(strategy), summarizer))
    }

    pub(super) fn apply(&mut self, mut messages: Vec<StrandsMessage>) -> Result<ListAnswer, BridgeError> {
        self.pending = None;
        self.manager.observe(&mut messages);
        let plan = self.manager.plan_apply(&messages)?;
        self.commit(&plan, messages, None)
    }

    /// Applies the window if that is due, or else attempts a reduction if the model's window would be too full.
    pub(super) async fn before_model(
        &mut self,
        messages: Vec<StrandsMessage>,
        projected_tokens: Option<u64>,
        window: Option<u64>,
    ) -> Result<Value, BridgeError> {
        if self.manager.before_model_call() {
            return Ok(json!(self.apply(messages)?));
        }
        if self.manager.compression().is_due(projected_tokens, window) {
            return self.reduce(messages, None).await;
        }
        self.pending = None;
        Ok(json!(self.commit(&ListPlan::nothing(messages.len()), messages, None)?))
    }

    pub(super) async fn reduce(
        &mut self,
        mut messages: Vec<StrandsMessage>,
        cause: Option<&str>,
    ) -> Result<Value, BridgeError> {
        self.pending = None;
        self.manager.observe(&mut messages);
        let plan = self.manager.plan_reduce(&messages, cause.map(|_| ReduceCause::Overflow))?;
        if plan.summary_at.is_none() {
            return Ok(json!(self.commit(&plan, messages, None)?));
        }
        let Some(summarizer) = self.summarizer.clone() else {
            let chosen: Vec<_> = plan.remove.iter().filter_map(|index| messages.get(*index)).collect();
            let answer = json!({"summarize": chosen, "remove": plan.remove});
            self.pending = Some((plan, messages));
            return Ok(answer);
        };
        let summary = summary(&messages, &plan, &*summarizer).await;
        match (summary.and_then(|summary| self.commit(&plan, messages.clone(), Some(summary))), cause) {
            // A reduction without a cause is only an attempt.
            (Err(error), None) => {
                let mut answer = self.commit(&ListPlan::nothing(messages.len()), messages, None)?;
                answer.notices = vec![error.to_notice()];
                Ok(json!(answer))
            }
            (done, _) => Ok(json!(done?)),
        }
    }

    /// Completes the reduction that waits for a summary.
    pub(super) fn finish(&mut self, summary: StrandsMessage) -> Result<ListAnswer, BridgeError> {
        let (plan, messages) = self.pending.take().ok_or(BridgeError::NoSummaryDue)?;
        if !summary.has_words() {
            self.pending = Some((plan, messages));
            return Err(BridgeError::EmptySummary);
        }
        self.commit(&plan, messages, Some(summary))
    }

    pub(super) fn restore(&mut self, state: Value) -> Result<ListAnswer, BridgeError> {
        let why = |error: serde_json::Error| ManagerError::InvalidState { why: error.to_string() };
        let state: ManagerState = serde_json::from_value(state).map_err(why)?;
        let messages = self.manager.restore(&state)?;
        self.pending = None;
        Ok(ListAnswer { state: Some(self.state()), ..ListAnswer::replaced(messages) })
    }

    /// The state after so many calls of the model, if a number is given.
    pub(super) fn state_after(&mut self, model_calls: Option<u64>) -> StateAnswer {
        if let Some(calls) = model_calls {
            self.manager.set_model_call_count(calls);
        }
        self.state()
    }

    fn state(&self) -> StateAnswer {
        StateAnswer { state: self.manager.state(), session_offset: self.manager.kept().session_offset() }
    }

    /// Carries out a plan, and answers the list.
    fn commit(
        &mut self,
        plan: &ListPlan,
        mut messages: Vec<StrandsMessage>,
        summary: Option<StrandsMessage>,
    ) -> Result<ListAnswer, BridgeError> {
        let stopped = self.manager.commit(plan, &mut messages, summary)?;
        let from = plan.slots().into_iter().map(|slot| match slot {
            ListSlot::Message(index) => Some(index),
            ListSlot::Summary => None,
        });
        let mut answer = ListAnswer::new(messages, from.collect());
        answer.notices.extend(stopped.into_iter().map(|error| BridgeError::List(error).to_notice()));
        answer.state = Some(self.state());
        Ok(answer)
    }
}

/// A summary by a strategy, as a message of the user.
async fn summary(
    messages: &[StrandsMessage],
    plan: &ListPlan,
    summarizer: &dyn Summarizer,
) -> Result<StrandsMessage, BridgeError> {
    let list =
        messages.iter().enumerate().map(|(index, message)| message.read(index)).collect::<Result<Vec<_>, _>>()?;
    let written = summarize_list(&list, &plan.remove, summarizer, &TiktokenCounter::cl100k()).await?;
    let count = plan.remove.len();
    let plural = if count == 1 { "" } else { "s" };
    let text = format!("[Summary of {count} earlier message{plural}]\n{}", written.text);
    Ok(exact(&Message::user(text)))
}
