//! Asks a chat model, and prints the parts of its reply as they arrive: `ask NAME [ADDRESS] [TEXT]`, as in
//! `ask 'openai:llama3.2:3b?window=8192' http://127.0.0.1:11434/v1 "What is the weather in Bergen?"`.

use std::{env, error::Error, io::Write as _};

use memory_core::{
    Json, Message,
    port::{ChatEvent, ChatRequest, ToolSpec},
};
use memory_models::{ChatModelName, ChatOptions, chat_model};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let Some(name) = arguments.next() else {
        println!("ask NAME [ADDRESS] [TEXT]");
        return Ok(());
    };
    let name: ChatModelName = name.parse()?;
    let mut options = ChatOptions::default();
    if let Some(base) = arguments.next().filter(|base| !base.is_empty()) {
        options = options.base(base);
    }
    let model = chat_model(&name, options)?;
    let schema = Json::new(r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#)?;
    let text = arguments.next().unwrap_or_else(|| "Say hello in one sentence.".to_owned());
    let mut request = ChatRequest::new(vec![Message::user(text)]).system("Be brief.".to_owned()).max_reply_tokens(200);
    if env::var_os("ASK_TOOLS").is_some() {
        request = request.tools(vec![ToolSpec::new("get_weather", "The weather of a city.", schema)]);
    }
    let print = |event: ChatEvent| match event {
        ChatEvent::Text(part) | ChatEvent::ToolArguments { part, .. } => {
            print!("{part}");
            drop(std::io::stdout().flush());
        }
        ChatEvent::Reasoning(part) => print!("({part})"),
        other => println!("\n{other:?}"),
    };
    let reply = pollster::block_on(model.stream(&request, &print));
    match reply {
        Ok(reply) => println!("{:?}\n{:?}", reply.message.content, reply.usage),
        Err(error) => println!("{error}: {error:?}"),
    }
    Ok(())
}
