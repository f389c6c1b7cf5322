//! Calls of tools: all of one message at the same time, each recorded as soon as it is done.

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use memory::{ContentBlock, Invocation, Json, Message, MessageKey, NodeId, NodeRange, Role};

use super::{Agent, Offered};
use crate::{AgentError, AgentEvent, AgentEvents, Call, CallDone, Tool, ToolResult, Turn, tail::OpenCall};

/// Result of a call that the user interrupted.
const INTERRUPTED: &str = "interrupted by the user before it was done";
/// Result of a call that may have taken effect in a process that ended.
const UNKNOWN: &str = "interrupted before its result was recorded; it is not known whether it took effect, and it was \
    not repeated";

/// Origin of calls without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// The model has just made them.
    New,
    /// An earlier process left them, and may have executed them.
    Left,
}

impl Agent {
    /// Calls the tools of a message, and appends the result of each. A call that an earlier process left is repeated
    /// only if its tool is idempotent.
    pub(super) async fn call_all(
        &self,
        invocation: &Invocation,
        (node, open): (NodeId, Vec<OpenCall>),
        calls: Calls,
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<(), AgentError> {
        let so_far = turn.nodes;
        let mut results: FuturesUnordered<_> =
            open.into_iter().map(|call| self.call(invocation, call, (calls, so_far), events)).collect();
        // The other results are recorded even if one cannot be.
        let mut failed = None;
        while let Some((call, block)) = results.next().await {
            let recorded = match block {
                Ok(block) => self.record(node, &call, block, turn, events).await,
                Err(error) => Err(error),
            };
            failed = failed.or(recorded.err());
        }
        failed.map_or(Ok(()), Err)
    }

    async fn record(
        &self,
        node: NodeId,
        call: &OpenCall,
        block: ContentBlock,
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<(), AgentError> {
        let is_error = matches!(block, ContentBlock::ToolResult { is_error: true, .. });
        let key = MessageKey::new(&format!("agent {node} {}", call.index)).ok();
        let message = Message::new(Role::Tool, vec![block]).key(key);
        let lines = message.line_count();
        let node = self.append(message, turn, events).await?;
        let OpenCall { id, name, input, .. } = call.clone();
        let done = CallDone { id, name, input: input.as_str().to_owned(), node, is_error, lines };
        events.event(AgentEvent::Called(&done));
        turn.calls.push(done);
        Ok(())
    }

    /// Calls a tool, between the hooks of the memory.
    async fn call(
        &self,
        invocation: &Invocation,
        call: OpenCall,
        (calls, turn): (Calls, Option<NodeRange>),
        events: &dyn AgentEvents,
    ) -> (OpenCall, Result<ContentBlock, AgentError>) {
        let result = match self.tools.iter().find(|offered| offered.spec.name == call.name) {
            Some(Offered { tool, .. }) if calls == Calls::Left && !tool.is_idempotent() => Err(UNKNOWN.to_owned()),
            Some(Offered { tool, .. }) => {
                match invocation.before_tool_call(&call.id, &call.name, call.input.clone()).await {
                    Ok(input) => self.execute(tool.as_ref(), &call, &input, turn, events).await,
                    Err(error) => Err(format!("not called: {error}")),
                }
            }
            None => Err(self.no_tool(&call.name)),
        };
        let (content, is_error) = match result {
            Ok(content) => (content, false),
            Err(why) => (vec![ContentBlock::Text(why)], true),
        };
        let block = invocation.after_tool_call(&call.id, content, is_error).await;
        (call, block.map_err(AgentError::from))
    }

    async fn execute(
        &self,
        tool: &dyn Tool,
        call: &OpenCall,
        input: &Json,
        turn: Option<NodeRange>,
        events: &dyn AgentEvents,
    ) -> ToolResult {
        events.event(AgentEvent::Calling { id: &call.id, name: &call.name, input });
        let (conversation, cancelled) = (self.conversation.id(), &self.cancelled);
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(INTERRUPTED.to_owned()),
            result = tool.call(Call { conversation, id: &call.id, input, turn, cancelled }) => result,
        }
    }

    fn no_tool(&self, name: &str) -> String {
        let names: Vec<_> = self.tool_names().collect();
        let known =
            if names.is_empty() { "there are none".to_owned() } else { format!("tools are {}", names.join(", ")) };
        format!("there is no tool `{}`: {known}", memory::text::one_line(name))
    }
}
