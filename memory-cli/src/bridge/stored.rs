//! A manager over a conversation in the store: the log has every message, and the agent's list is a view of it.

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use memory::{Conversation, Error, Memory, PromptOptions};
use memory_core::{
    Message, MessageKey, NodeId, NodeRange, Role, WrittenBy,
    plan::{PlanError, list::Listed},
    port::{ManagerError, ManagerState, StoreError, TokenCounter},
};
use memory_embed::TiktokenCounter;
use memory_hooks::{Prompt, RecallBudget, RecallHook, RecallHookOptions, Recalled};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BridgeError,
    answer::{ListAnswer, StateAnswer},
    conversation::{is_same, keyed, state_of},
    message::StrandsMessage,
    request::Read,
    view,
};

/// A manager and its conversation.
pub(super) struct ConversationBridge {
    name: String,
    conversation: Conversation,
    /// The most tokens of the agent's list.
    budget: u32,
    /// Recall for questions; `None` of the hierarchical manager, whose turns recall.
    recall: Option<Arc<RecallHook>>,
    /// Messages in the log, by their keys.
    appended: HashMap<String, Logged>,
    /// Notices for the next answer.
    notices: Vec<Value>,
    /// Messages that the last view shows verbatim.
    shown: Vec<NodeRange>,
    /// Number of messages of the log behind the view in the list; 0 while the list holds the original messages.
    offset: u64,
}

/// A message of the list that is in the log.
struct Logged {
    /// Hash of its last wording.
    words: u64,
    /// Messages of the log that it shows verbatim: itself, unless its wording is another, and those recalled in it.
    shows: Vec<NodeRange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    conversation: String,
    #[serde(default = "default_budget")]
    budget: u32,
    recall: Option<Recall>,
}

/// Options of the recall hook; a missing one has its default.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Recall {
    enabled: Option<bool>,
    characters: Option<NonZeroUsize>,
    metadata: Option<bool>,
    top_k: Option<NonZeroUsize>,
    radius: Option<u64>,
    min_relevance: Option<f32>,
}

impl Recall {
    fn options(&self) -> Result<RecallHookOptions, BridgeError> {
        let mut options = RecallHookOptions::default();
        options.enabled = self.enabled.unwrap_or(options.enabled);
        options.budget = self.characters.map_or(options.budget, |most| RecallBudget::Characters(most.get()));
        options.include_metadata = self.metadata.unwrap_or(options.include_metadata);
        options.top_k = self.top_k.map_or(options.top_k, NonZeroUsize::get);
        options.radius = self.radius.unwrap_or(options.radius);
        options.min_relevance = self.min_relevance.unwrap_or(options.min_relevance);
        if (0.0..=1.0).contains(&options.min_relevance) {
            return Ok(options);
        }
        let why = format!("recall.min_relevance must be from 0 to 1, got {}", options.min_relevance);
        Err(BridgeError::Config(why))
    }
}

fn default_budget() -> u32 {
    PromptOptions::default().budget
}

/// Share of the budget, in tenths, of a view that replaces a list, so that the next turns fit without another.
const SHARE: u32 = 7;
/// Attempts at a smaller view.
const TRIES: usize = 6;
/// Most tokens recalled for one message.
const RECALLED: f32 = 512.0;
/// Most tokens of a view beyond its plan.
const MARGIN: u32 = 64;

impl ConversationBridge {
    pub(super) fn open(name: &str, config: Value, memory: &Memory) -> Result<Self, BridgeError> {
        let Config { conversation, budget, recall } = config.read()?;
        if budget == 0 {
            return Err(BridgeError::Config("budget must be a positive number of tokens, got 0".to_owned()));
        }
        let recall = match (name, recall) {
            ("semantic", recall) => {
                let (parts, options) = (memory.parts(), recall.unwrap_or_default().options()?);
                Some(Arc::new(RecallHook::new(parts.store.clone(), parts.retriever.clone(), options)))
            }
            (_, Some(_)) => return Err(BridgeError::Config(format!("recall is for `semantic`, not for `{name}`"))),
            (_, None) => None,
        };
        let conversation =
            memory.conversation(&conversation).map_err(|error| BridgeError::Config(error.to_string()))?;
        Ok(Self {
            name: name.to_owned(),
            conversation,
            budget,
            recall,
            appended: HashMap::new(),
            shown: Vec::new(),
            notices: Vec::new(),
            offset: 0,
        })
    }

    /// Appends new messages, and replaces a list that exceeds the budget by a view.
    pub(super) async fn apply(&mut self, messages: Vec<StrandsMessage>) -> Result<ListAnswer, BridgeError> {
        self.append(&messages).await?;
        if tokens(&messages)? <= self.budget || ends_in_a_call(&messages) {
            return self.answer(ListAnswer::unchanged(messages)).await;
        }
        let shown = view::history(&self.view(self.budget / 10 * SHARE).await?);
        let shown = self.with_recall(shown, self.budget).await?;
        self.replaced(shown).await
    }

    /// A view smaller than the list. If there is none, that is an error with a cause, and a notice without.
    pub(super) async fn reduce(
        &mut self,
        messages: Vec<StrandsMessage>,
        cause: Option<&str>,
    ) -> Result<ListAnswer, BridgeError> {
        self.append(&messages).await?;
        match (self.smaller(&messages).await, cause) {
            (Ok(smaller), _) => {
                let most = tokens(&messages)?.saturating_sub(1);
                let smaller = self.with_recall(smaller, most).await?;
                self.replaced(smaller).await
            }
            (Err(error), Some(_)) => Err(error),
            (Err(error), None) => {
                self.notices.push(error.to_notice());
                self.answer(ListAnswer::unchanged(messages)).await
            }
        }
    }

    /// Appends new messages, and recalls messages that bear on a new question of the user and that the list does not
    /// show.
    pub(super) async fn before_model(&mut self, messages: Vec<StrandsMessage>) -> Result<ListAnswer, BridgeError> {
        if self.recall.is_some() {
            return self.enriched(messages).await;
        }
        let is_new = |message: &StrandsMessage| {
            !message.is_view() && message.tracking_id().is_none_or(|id| !self.appended.contains_key(id))
        };
        let asks = messages.last().filter(|last| is_new(last)).map(|last| last.read(messages.len() - 1)).transpose()?;
        let shows_all = !messages.iter().any(StrandsMessage::is_view);
        let asks = asks.filter(|asks| asks.begins_prompt() && !shows_all);
        self.append(&messages).await?;
        match asks {
            Some(asks) => self.next_turn(messages, &asks).await,
            None => self.answer(ListAnswer::unchanged(messages)).await,
        }
    }

    /// The list, with messages recalled for the question of its last message. A view holds these already.
    async fn enriched(&mut self, messages: Vec<StrandsMessage>) -> Result<ListAnswer, BridgeError> {
        self.append(&messages).await?;
        let mut answer = ListAnswer::unchanged(messages);
        let asks = answer.messages.last().filter(|last| !last.is_view());
        if let Some(key) = asks.and_then(StrandsMessage::tracking_id).map(str::to_owned)
            && let Some((asks, recalled)) = self.recall_for(&answer.messages).await?
        {
            if let Some(logged) = self.appended.get_mut(&key) {
                logged.shows.extend(recalled.nodes);
            }
            answer.messages.pop();
            answer.messages.push(asks);
            answer.from.pop();
            answer.from.push(None);
        }
        self.answer(answer).await
    }

    /// A new view, with messages recalled for a question at its end, if the list then has at most `most` tokens.
    async fn with_recall(
        &mut self,
        mut messages: Vec<StrandsMessage>,
        most: u32,
    ) -> Result<Vec<StrandsMessage>, BridgeError> {
        if let Some((asks, recalled)) = self.recall_for(&messages).await?
            && let Some(last) = messages.pop()
        {
            messages.push(asks);
            if tokens(&messages)? <= most {
                self.shown = NodeRange::merge(self.shown.iter().copied().chain(recalled.nodes).collect());
            } else {
                messages.pop();
                messages.push(last);
            }
        }
        Ok(messages)
    }

    /// The last message of a list, with messages recalled for the question at the end of the log. A failure becomes a
    /// notice.
    async fn recall_for(
        &mut self,
        messages: &[StrandsMessage],
    ) -> Result<Option<(StrandsMessage, Recalled)>, BridgeError> {
        let Some((hook, asks)) = self.recall.clone().zip(messages.last()) else { return Ok(None) };
        let Some(asking) = NodeId::new(self.nodes().await?) else { return Ok(None) };
        let asked = self.conversation.expand(asking).await?.message;
        let visible = self.visible(messages);
        let shows_all =
            NodeRange::first_n(asking.get() - 1).is_none_or(|all| visible.iter().any(|run| run.covers(all)));
        if shows_all || !asked.begins_prompt() {
            return Ok(None);
        }
        let (id, question) = (self.conversation.id().clone(), asked.text());
        let memory = self.conversation.memory();
        let recalled = {
            let question = question.clone();
            memory.run(async move { Ok(hook.recall(&id, asking, &question, &visible).await) }).await?
        };
        match recalled {
            Ok(recalled) => Ok(recalled.map(|recalled| {
                let mut asks = asks.clone();
                asks.put_before(&question, &recalled.text);
                asks.mark_as_view();
                (asks, recalled)
            })),
            Err(error) => {
                self.notices.push(BridgeError::NotRecalled(error).to_notice());
                Ok(None)
            }
        }
    }

    /// Messages of the log that a list shows verbatim.
    fn visible(&self, messages: &[StrandsMessage]) -> Vec<NodeRange> {
        let logged = messages.iter().filter_map(|message| self.appended.get(message.tracking_id()?));
        let of_view = messages.iter().any(StrandsMessage::is_view).then_some(&self.shown);
        NodeRange::merge(
            logged.flat_map(|logged| &logged.shows).chain(of_view.into_iter().flatten()).copied().collect(),
        )
    }

    /// The next turn of a running agent: the shown list, the messages since, and messages recalled for the question.
    async fn next_turn(&mut self, messages: Vec<StrandsMessage>, asks: &Message) -> Result<ListAnswer, BridgeError> {
        let options = PromptOptions::new(self.budget).turn_share(recall_share(self.budget));
        match self.conversation.turn(&options).await.map_err(BridgeError::from) {
            Ok(prompt) => {
                self.shown = prompt.verbatim();
                self.replaced(view::turn(&prompt, asks)).await
            }
            // A question that leaves no room for anything else is sent as it is.
            Err(error) if error.is_budget() => {
                self.notices.push(error.to_notice());
                self.answer(ListAnswer::unchanged(messages)).await
            }
            Err(error) => Err(error),
        }
    }

    /// Continues from a state: the list is a view of the log, followed by the session's messages that the log lacks.
    pub(super) async fn restore(&mut self, state: Value) -> Result<ListAnswer, BridgeError> {
        let invalid = |why: String| BridgeError::Manager(ManagerError::InvalidState { why });
        let state: ManagerState = serde_json::from_value(state).map_err(|error| invalid(error.to_string()))?;
        state.check(&self.identity())?;
        let of: Option<&str> = state.data.get("conversation").and_then(Value::as_str);
        if of.is_some_and(|of| of != self.conversation.id().as_str()) {
            let why = format!("it is of the conversation {}", of.unwrap_or_default());
            return Err(invalid(why));
        }
        let was_replaced = state.data.get("session_offset").and_then(Value::as_u64).is_some_and(|offset| offset > 0);
        let (shown, offset) = match self.nodes().await? {
            0 => (Vec::new(), 0),
            _ if !was_replaced => (Vec::new(), 0),
            nodes => (self.beginning(nodes).await?, nodes),
        };
        self.offset = offset;
        self.answer(ListAnswer::replaced(shown)).await
    }

    /// The list of a restarted agent without a session: everything, or a view of it.
    pub(super) async fn resume(&mut self) -> Result<ListAnswer, BridgeError> {
        let state = state_of(&self.conversation).await?;
        let all = state.as_ref().and_then(|state| NodeRange::first_n(state.nodes));
        let Some((state, all)) = state.zip(all) else {
            return self.answer(ListAnswer::unchanged(Vec::new())).await;
        };
        if state.tokens > u64::from(self.budget) {
            let shown = self.beginning(state.nodes).await?;
            return self.replaced(shown).await;
        }
        let mut messages = Vec::new();
        for node in self.conversation.messages(all).await? {
            let message = view::exact(&node.message);
            // A message without an id of its own would be taken for a new one.
            let marked = message.tracking_id().is_none().then(|| view::marked(&node.message));
            messages.push(marked.unwrap_or(message));
        }
        self.shown = vec![all];
        self.answer(ListAnswer::unchanged(messages)).await
    }

    /// The state, with the number of the session's messages that the list does not show verbatim.
    pub(super) fn state(&self) -> StateAnswer {
        let shown: u64 = self.shown.iter().map(|run| run.count()).sum();
        let removed = self.offset.saturating_sub(shown);
        let data = json!({"conversation": self.conversation.id().as_str(), "session_offset": self.offset});
        let state = ManagerState::new(self.identity(), removed).data(data);
        StateAnswer { state, session_offset: self.offset }
    }

    fn identity(&self) -> WrittenBy {
        WrittenBy::new(self.name.as_str(), "1")
    }

    /// Number of messages in the log.
    async fn nodes(&self) -> Result<u64, BridgeError> {
        Ok(state_of(&self.conversation).await?.map_or(0, |state| state.nodes))
    }

    /// Appends the messages that the log lacks, in order. Messages made from the log are never appended. Words of
    /// another message under the same key stay, with one notice.
    async fn append(&mut self, messages: &[StrandsMessage]) -> Result<(), BridgeError> {
        for (index, message) in messages.iter().enumerate().filter(|(_, message)| !message.is_view()) {
            let key = key_of(index, message)?;
            let before = self.appended.get(key.as_str()).map(|logged| logged.words);
            if before == Some(message.words()) {
                continue;
            }
            let given = message.read(index)?;
            let shows = match self.append_one(given.clone().key(key.clone())).await? {
                Some(node) => {
                    if before.is_none() && message.item().pinned {
                        self.conversation.pin(node, true).await?;
                    }
                    Some(node)
                }
                None => match keyed(&self.conversation, &key).await? {
                    Some(there) if there.is_erased || is_same(&there.message, &given) => Some(there.id),
                    _ => {
                        self.notices.push(BridgeError::OtherWords { index }.to_notice());
                        None
                    }
                },
            };
            let shows = shows.into_iter().map(NodeRange::single).collect();
            self.appended.insert(key.as_str().to_owned(), Logged { words: message.words(), shows });
        }
        Ok(())
    }

    /// The node of the message; `None` if the log has another one under its key, which stays.
    async fn append_one(&self, message: Message) -> Result<Option<NodeId>, BridgeError> {
        match self.conversation.append(message).await {
            Ok(appended) => Ok(Some(appended.node)),
            Err(Error::Store(StoreError::KeyConflict { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The history within a budget.
    async fn view(&mut self, budget: u32) -> Result<Prompt, BridgeError> {
        let view = self.conversation.prompt_with("", &PromptOptions::new(budget).history_share(1.0)).await?;
        self.shown = view.verbatim();
        Ok(view)
    }

    /// A view of `nodes` messages for a restarted agent. A tool call at their end is still to be answered, so it stays
    /// a message of its own.
    async fn beginning(&mut self, nodes: u64) -> Result<Vec<StrandsMessage>, BridgeError> {
        let mut shown = view::history(&self.view(self.budget / 10 * SHARE).await?);
        let Some(last) = NodeId::new(nodes) else { return Ok(shown) };
        let last = self.conversation.expand(last).await?.message;
        if last.tool_calls().next().is_some() {
            shown.pop_if(|message| message.item().role == Role::Assistant);
            shown.push(view::marked(&last));
        }
        Ok(shown)
    }

    /// A view with fewer tokens than a list.
    async fn smaller(&mut self, messages: &[StrandsMessage]) -> Result<Vec<StrandsMessage>, BridgeError> {
        let before = tokens(messages)?;
        let exhausted =
            |why: &str| BridgeError::Exhausted(format!("exhausted: {why}, and the list has {before} tokens"));
        if ends_in_a_call(messages) {
            return Err(exhausted("the last tool call is still to be answered"));
        }
        let mut budget = self.budget.min(before) / 10 * SHARE;
        for _ in 0..TRIES {
            match self.view(budget).await {
                Ok(prompt) => {
                    let shown = view::history(&prompt);
                    if tokens(&shown)? < before {
                        return Ok(shown);
                    }
                    budget /= 2;
                }
                Err(error) => match needed(&error).filter(|needed| *needed > budget && *needed < before) {
                    Some(needed) => budget = needed.saturating_add(MARGIN),
                    None => return Err(exhausted(&error.to_string())),
                },
            }
        }
        Err(exhausted("no smaller view was found"))
    }

    /// Answers with a list that is a view of the whole log.
    async fn replaced(&mut self, messages: Vec<StrandsMessage>) -> Result<ListAnswer, BridgeError> {
        self.offset = self.nodes().await?;
        self.answer(ListAnswer::replaced(messages)).await
    }

    /// Adds the state and the notices to an answer.
    async fn answer(&mut self, mut answer: ListAnswer) -> Result<ListAnswer, BridgeError> {
        answer.notices.append(&mut self.notices);
        answer.state = Some(self.state());
        Ok(answer)
    }
}

/// The share of a budget that is recalled for one message: room for some messages even if the budget is small.
#[expect(clippy::cast_precision_loss, reason = "a share of a budget")]
fn recall_share(budget: u32) -> f32 {
    (RECALLED / budget.max(1) as f32).clamp(PromptOptions::default().turn_share, 0.25)
}

/// The tokens that a plan would have needed.
fn needed(error: &BridgeError) -> Option<u32> {
    let BridgeError::Memory(Error::Plan(PlanError::BudgetTooSmall { needed, .. })) = error else {
        return None;
    };
    Some(*needed)
}

/// The key of a message, under which the log has it once.
fn key_of(index: usize, message: &StrandsMessage) -> Result<MessageKey, BridgeError> {
    let id = message.tracking_id().ok_or(BridgeError::NoTrackingId { index })?;
    MessageKey::new(id).map_err(|_| BridgeError::NoTrackingId { index })
}

/// True if the model called a tool that has not answered yet.
fn ends_in_a_call(messages: &[StrandsMessage]) -> bool {
    messages.last().is_some_and(|last| !last.item().calls.is_empty())
}

/// Tokens of the texts of a list.
fn tokens(messages: &[StrandsMessage]) -> Result<u32, BridgeError> {
    let counter = TiktokenCounter::cl100k();
    let mut tokens = 0_u32;
    for (index, message) in messages.iter().enumerate() {
        let text = message.read(index)?.text();
        tokens = tokens.saturating_add(counter.count(&text)).saturating_add(counter.per_message());
    }
    Ok(tokens)
}
