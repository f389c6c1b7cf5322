//! Tools of an agent: the program's own, and those of the memory.

use std::{fmt, future::Future, pin::Pin};

use memory::{
    ContentBlock, ConversationId, Json, NodeRange,
    port::{BoxFuture, ToolSpec},
};
use memory_tools::{Kind, ToolDescription, Tools};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Result of a tool, or the reason of its failure, which the model is shown.
pub type ToolResult = Result<Vec<ContentBlock>, String>;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// Conversation of the call.
    pub conversation: &'a ConversationId,
    /// Id of the call, by the model.
    pub id: &'a str,
    /// Arguments, as the model wrote them.
    pub input: &'a Json,
    /// Messages of the turn so far; `None` if an earlier process made the call.
    pub turn: Option<NodeRange>,
    /// Token that is cancelled when the turn is interrupted; the call's future is then dropped.
    pub cancelled: &'a CancellationToken,
}

/// A tool that an agent's model may call. Calls of one reply run at the same time.
pub trait Tool: fmt::Debug + Send + Sync {
    /// Name, description and schema of the arguments, for the model.
    fn spec(&self) -> ToolSpec;

    /// True if a call may be repeated, as one that only reads. A call whose result was not recorded before the process
    /// ended is then repeated; otherwise its result is "interrupted". False by default.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// Calls the tool. Blocking work belongs on a thread of the tool's own.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, ToolResult>;
}

type Called = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A tool that is a function from arguments to text.
pub struct FunctionTool {
    spec: ToolSpec,
    is_idempotent: bool,
    function: Box<dyn Fn(Value) -> Called + Send + Sync>,
}

impl FunctionTool {
    /// The tool called `name`, whose arguments are an object with these properties, all of them required. Each property
    /// is a JSON schema, as in `json!({"city": {"type": "string"}})`.
    pub fn new<F, R>(name: &str, about: &str, properties: &Value, function: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        let required: Vec<_> = properties.as_object().into_iter().flat_map(|all| all.keys()).collect();
        let schema = serde_json::json!({"type": "object", "properties": properties, "required": required});
        Self {
            spec: ToolSpec::new(name, about, Json::from_value(&schema)),
            is_idempotent: false,
            function: Box::new(move |input| Box::pin(function(input))),
        }
    }

    /// Marks the tool as [idempotent](Tool::is_idempotent).
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl Tool for FunctionTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, ToolResult> {
        let called = (self.function)(call.input.to_value());
        Box::pin(async move { Ok(vec![ContentBlock::Text(called.await?)]) })
    }
}

/// A tool of the memory.
#[derive(Debug)]
pub(crate) struct MemoryTool {
    description: ToolDescription,
    tools: Tools,
}

impl MemoryTool {
    pub(crate) fn all(tools: &Tools) -> impl Iterator<Item = Self> {
        tools.list().map(|description| Self { description, tools: tools.clone() })
    }
}

impl Tool for MemoryTool {
    fn spec(&self) -> ToolSpec {
        let ToolDescription { name, about, input, .. } = &self.description;
        ToolSpec::new(*name, about.as_str(), Json::from_value(&Value::Object((**input).clone())))
    }

    fn is_idempotent(&self) -> bool {
        matches!(self.description.kind, Kind::Reads | Kind::Replaces)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let Value::Object(input) = call.input.to_value() else {
                return Err("the arguments are no JSON object".to_owned());
            };
            let mut tools = self.tools.until(call.cancelled.clone());
            if let Some(turn) = call.turn {
                tools = tools.during(call.conversation, turn);
            }
            let answer = tools.call(self.description.name, input).await;
            let answer = answer.ok_or_else(|| "the tool is not offered any more".to_owned())?;
            if answer.is_failure() { Err(answer.text) } else { Ok(vec![ContentBlock::Text(answer.text)]) }
        })
    }
}
