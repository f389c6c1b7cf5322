//! An agent's loop of your own: prompts by `turn`, overflow by `reduce`, tools, and a killed process that is continued.
//! The crate `memory-agent` has this loop with streaming, parallel calls, interruption and accounting.

use std::{error::Error, path::PathBuf};

use memory::{
    ContentBlock, Conversation, Json, Message, NodeId, NodeRange, PromptOptions, Role,
    port::{BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest, ToolSpec},
};

/// In place of a client of your provider: calls the tool once, then answers.
#[derive(Debug)]
struct Offline;

impl ChatModel for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn context_window(&self) -> u32 {
        8_192
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            // Where the provider says that the request is too long, return `ChatError::overflow(window)`.
            let is_called = request.messages.iter().any(|message| message.tool_results().next().is_some());
            let input = Json::from_value(&serde_json::json!({"train": "7:42"}));
            let call = ContentBlock::ToolUse { id: "1".to_owned(), name: "platform".to_owned(), input };
            let message = match is_called {
                false => Message::new(Role::Assistant, vec![call]),
                true => Message::assistant("It leaves from platform 9."),
            };
            Ok(ChatReply::new(message.spoken_by(self.name())))
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", pollster::block_on(run("trip.memory".into()))?);
    Ok(())
}

pub(crate) async fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let trip = memory::open(store)?.conversation("trip")?;
    // A process that was killed left either no answer or calls without results; both are seen in the log.
    if last(&trip).await?.is_none_or(|message| message.role == Role::Assistant && message.tool_calls().next().is_none())
    {
        trip.append(Message::user("Which platform does the 7:42 leave from?")).await?;
    }
    answer(&trip, &Offline).await
}

/// Takes the conversation to the model's next answer. Every message is on disk before the next step.
async fn answer(trip: &Conversation, model: &dyn ChatModel) -> Result<String, Box<dyn Error>> {
    let schema = Json::new(r#"{"type": "object", "properties": {"train": {"type": "string"}}}"#)?;
    let tools = vec![ToolSpec::new("platform", "The platform of a train.", schema)];
    loop {
        if let Some(calling) = last(trip).await?.filter(|message| message.tool_calls().next().is_some()) {
            // This tool only reads, so that a call without a result may be made again.
            let call = |block: &ContentBlock| match block {
                ContentBlock::ToolUse { id, name, input } => Some(ContentBlock::ToolResult {
                    tool_use_id: id.clone(),
                    content: vec![ContentBlock::Text(format!("{name} {input}: 9"))],
                    is_error: false,
                }),
                _ => None,
            };
            trip.append(Message::new(Role::Tool, calling.content.iter().filter_map(call).collect())).await?;
        }
        let mut options = PromptOptions::new(6_000);
        let mut prompt = trip.turn(&options).await?;
        let reply = loop {
            match model.reply(&prompt.messages_for(model.name()).tools(tools.clone())).await {
                Err(ChatError::ContextOverflow { window, .. }) => {
                    options.budget = options.budget.min(window.saturating_sub(1_000));
                    prompt = trip.reduce(&prompt, &options).await?;
                }
                replied => break replied?,
            }
        };
        let text = reply.message.text();
        let is_answer = reply.message.tool_calls().next().is_none();
        trip.append(reply.message).await?;
        if is_answer {
            return Ok(text);
        }
    }
}

/// The last message.
async fn last(trip: &Conversation) -> Result<Option<Message>, Box<dyn Error>> {
    let nodes = match trip.overview().await {
        Err(error) if error.is_not_found() => return Ok(None),
        state => state?.nodes,
    };
    let Some(last) = NodeId::new(nodes) else { return Ok(None) };
    Ok(trip.messages(NodeRange::single(last)).await?.pop().map(|node| node.message))
}
