//! An agent: a model, the memory's tools, and a tool of the program, in a conversation that outlives the process.

use std::{error::Error, path::PathBuf, sync::Arc};

use memory::{ContentBlock, Json, Message};
use memory_agent::{Agent, AgentEvent, FunctionTool, Scripted};
use memory_tools::{Options, Profile, Tools};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    println!("\n{}", pollster::block_on(run("trip.memory".into()))?);
    Ok(())
}

pub(crate) async fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let memory = memory::open(store)?;
    // With the feature `chat`: memory::models::chat_model("anthropic:claude-haiku-4-5", memory.config())?
    let model = Arc::new(Scripted::new(|number, _| {
        let input = Json::from_value(&json!({"city": "Bergen"}));
        let call = ContentBlock::ToolUse { id: "1".to_owned(), name: "weather".to_owned(), input };
        Ok(match number {
            0 => Message::new(memory::Role::Assistant, vec![call]),
            _ => Message::assistant("It rains in Bergen. Take the **early** train."),
        })
    }));
    let weather = |input: Value| async move { Ok(format!("{input}: rain")) };
    let properties = json!({"city": {"type": "string"}});
    let tools = Tools::new(memory.clone(), Options::default().profile(Profile::Compact))?;
    let mut agent = Agent::new(memory.conversation("trip")?, model)
        .tool(FunctionTool::new("weather", "The weather of a city, now.", &properties, weather).idempotent())?
        .memory_tools(&tools)?;
    let print = |event: AgentEvent<'_>| match event {
        AgentEvent::Part(memory::port::ChatEvent::Text(part)) => print!("{part}"),
        AgentEvent::Called(call) => println!("{}({}): {} lines", call.name, call.input, call.lines),
        _ => {}
    };
    agent.resume(&print).await?; // what an earlier process did not finish
    let turn = agent.run(Message::user("Shall I go to Bergen today?"), &print).await?;
    Ok(format!("message {:?}, {:?}", turn.node, turn.usage))
}
