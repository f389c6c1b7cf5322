//! An agent of somebody else's: it imports a session of Claude Code and gives its own model the tools of the memory.

use std::{error::Error, fs};

use memory_capture::{Capture, Options};
use memory_tools::{ToolDescription, Tools};
use pollster::block_on;
use serde_json::{Map, Value, json};

/// Model of the agent, which picks one of the tools that it is offered.
fn model(
    question: &str,
    mut tools: impl Iterator<Item = ToolDescription>,
) -> Option<(&'static str, Map<String, Value>)> {
    let tool = tools.find(|tool| tool.name == "search_memory")?;
    Some((tool.name, Map::from_iter([("query".to_owned(), question.into())])))
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let session = directory.path().join("session.jsonl");
    let line = json!({"type": "user", "uuid": "1", "sessionId": "trip", "timestamp": "2026-03-02T08:00:00Z",
        "message": {"role": "user", "content": "The train leaves at 7:42 from platform 9."}});
    fs::write(&session, format!("{line}\n"))?;

    let memory = memory::open(directory.path().join("store"))?;
    let report = block_on(Capture::new(&memory).import(&session, &Options::default(), &()))?;
    for conversation in report.conversations {
        println!("{}: {} new", conversation.id, conversation.new);
    }
    let tools = Tools::new(memory, memory_tools::Options::default())?;
    let (name, arguments) = model("When does the train leave?", tools.list()).ok_or("no tool to search by")?;
    println!("{}", block_on(tools.call(name, arguments)).ok_or("no such tool")?.text);
    Ok(())
}
