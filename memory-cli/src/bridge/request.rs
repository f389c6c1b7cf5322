//! A request: one JSON object on a line.

use memory_core::text::mend_surrogates;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    BridgeError, caller::Question, client::ClientRequest, facts::FactsRequest, items::ItemsRequest,
    message::StrandsMessage, privacy::PrivacyRequest, sessions::SessionRequest,
};

/// Request of a program. A manager has an id that its program chose.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Makes a manager, and replaces one under the same id.
    Open {
        id: Value,
        manager: String,
        #[serde(default = "empty")]
        config: Value,
    },
    /// Drops a manager.
    Close { id: Value },
    /// Delivers the reply of the caller's model: its message, or the reason why there is none.
    Reply {
        message: Option<StrandsMessage>,
        error: Option<String>,
        /// True if the request was longer than the model's window.
        #[serde(default)]
        overflow: bool,
    },
    /// Moves a split forward to where no tool call is separated from its result.
    Split { messages: Vec<StrandsMessage>, split: usize },
    /// Asks for the first message from `start` on at which a prompt may begin.
    Query { messages: Vec<StrandsMessage>, start: usize },
    /// Asks for the messages that stay in every reduction.
    Kept { messages: Vec<StrandsMessage> },
    /// Shortens the tool results of a message.
    Shorten { message: StrandsMessage },
    /// A request to a manager.
    #[serde(skip)]
    Managed { id: Value, request: ManagerRequest },
    /// A request to a session.
    #[serde(skip)]
    Session(SessionRequest),
    /// A request to a list of items.
    #[serde(skip)]
    Items(ItemsRequest),
    /// A request of a program without an agent's list.
    #[serde(skip)]
    Client(ClientRequest),
    /// A request about what is known.
    #[serde(skip)]
    Facts(FactsRequest),
    /// A request about what is kept.
    #[serde(skip)]
    Privacy(PrivacyRequest),
}

/// Request to a manager.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ManagerRequest {
    /// Applies the manager to a list at the end of an invocation.
    Apply { messages: Vec<StrandsMessage> },
    /// Makes a list smaller; an error if that fails and a cause is given.
    Reduce { messages: Vec<StrandsMessage>, cause: Option<String> },
    /// Applies the manager to a list before a call of the model, with the size of its request in tokens.
    BeforeModel { messages: Vec<StrandsMessage>, projected_tokens: Option<u64>, window: Option<u64> },
    /// Delivers the summary that an answer asked for.
    Summary { message: StrandsMessage },
    /// Continues from a state.
    Restore { state: Value },
    /// Asks for the state.
    State { model_call_count: Option<u64> },
    /// Asks for the list of a restarted agent.
    Resume {},
}

impl ManagerRequest {
    const OPS: [&'static str; 7] = ["apply", "reduce", "before_model", "summary", "restore", "state", "resume"];
}

fn empty() -> Value {
    Value::Object(Map::new())
}

impl Request {
    /// Operations of no manager, session or list of items.
    const OPS: [&'static str; 7] = ["open", "close", "reply", "split", "query", "kept", "shorten"];

    /// Passes a reply on to its question; any other request is refused, and the question stays.
    pub(crate) fn reply_to(self, question: Question) -> Result<(), Box<(BridgeError, Question)>> {
        match self {
            Self::Reply { message, error, overflow } => {
                question.answer(message, error, overflow);
                Ok(())
            }
            _ => Err(Box::new((BridgeError::ReplyExpected, question))),
        }
    }

    /// Reads a line.
    pub(crate) fn parse(line: &mut [u8]) -> Result<Self, BridgeError> {
        mend_surrogates(line);
        let malformed = |error: serde_json::Error| BridgeError::Malformed(error.to_string());
        let mut value: Value = serde_json::from_slice(line).map_err(malformed)?;
        let op = value.get("op").and_then(Value::as_str);
        let op = op.ok_or_else(|| BridgeError::Malformed("expected an object with `op`".to_owned()))?;
        let managed = [&Self::OPS[..], &ManagerRequest::OPS, &SessionRequest::OPS];
        let others = [&ItemsRequest::OPS[..], &ClientRequest::OPS, &FactsRequest::OPS, &PrivacyRequest::OPS];
        let known = [managed.concat(), others.concat()].concat();
        if !known.contains(&op) {
            let why = format!("unknown variant `{op}`, expected one of `{}`", known.join("`, `"));
            return Err(BridgeError::Malformed(why));
        }
        if ManagerRequest::OPS.contains(&op) {
            let id = value.as_object_mut().and_then(|members| members.remove("id"));
            let id = id.ok_or_else(|| BridgeError::Malformed("missing field `id`".to_owned()))?;
            return serde_json::from_value(value).map(|request| Self::Managed { id, request }).map_err(malformed);
        }
        if SessionRequest::OPS.contains(&op) {
            return serde_json::from_value(value).map(Self::Session).map_err(malformed);
        }
        if ItemsRequest::OPS.contains(&op) {
            return serde_json::from_value(value).map(Self::Items).map_err(malformed);
        }
        if ClientRequest::OPS.contains(&op) {
            return serde_json::from_value(value).map(Self::Client).map_err(malformed);
        }
        if FactsRequest::OPS.contains(&op) {
            return serde_json::from_value(value).map(Self::Facts).map_err(malformed);
        }
        if PrivacyRequest::OPS.contains(&op) {
            return serde_json::from_value(value).map(Self::Privacy).map_err(malformed);
        }
        serde_json::from_value(value).map_err(malformed)
    }
}

/// Reading of a configuration, with errors that name the field.
pub(super) trait Read {
    fn read<T: DeserializeOwned>(self) -> Result<T, BridgeError>;
}

impl Read for Value {
    fn read<T: DeserializeOwned>(self) -> Result<T, BridgeError> {
        serde_json::from_value(self).map_err(|error| BridgeError::Config(error.to_string()))
    }
}
