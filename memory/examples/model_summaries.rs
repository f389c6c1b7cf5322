//! Summaries written by a chat model: implement `ChatModel` for the model of your agent, and limit what it may cost.

use std::{error::Error, path::PathBuf, sync::Arc};

use memory::{
    Builder, Message, ModelSummaries, Timestamp,
    plan::SpendLimits,
    port::{BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest},
};

/// In place of a client of your provider, whose model would be asked here.
#[derive(Debug)]
struct Offline;

impl ChatModel for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    /// Longer texts are summarized in parts.
    fn context_window(&self) -> u32 {
        8_192
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            // Send `request.system` and `request.messages`, with no tools and at most `request.max_reply_tokens`. Where
            // the provider says that the request is too long, return `ChatError::overflow(window)`.
            let asks_for_themes = request.messages.iter().any(|message| message.text().contains("Themes: …"));
            let themes = if asks_for_themes { "Themes: travel. " } else { "" };
            Ok(ChatReply::new(Message::assistant(format!("{themes}Anna asked to book the train on Friday."))))
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run("written.memory".into())?);
    Ok(())
}

pub(crate) fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    // Beyond a limit, and where the model fails, summaries are written by rules.
    let limits = SpendLimits::default().requests_per_compaction(100).tokens(1_000_000);
    let memory = Builder::new(store)
        .chat_model(Arc::new(Offline))
        .model_summaries(ModelSummaries::default().limits(limits))
        .open()?;
    let memory = memory::blocking::Memory::from(memory);
    let talk = memory.conversation("travel")?;
    let ask = |day: i64| {
        let text = format!(
            "This is day {day}. Please book the train on Friday, the early one if it is not full, in a quiet carriage, and \
             send me the tickets; the hotel can wait until we know when Ben arrives and how long he wants to stay."
        );
        (Message::user(text).speaker("Anna"), Timestamp::from_millis(day * 86_400_000))
    };
    talk.append_batch((1..=60).map(ask).collect())?;
    memory.catch_up()?; // or wait for the background to do it
    let prompt = talk.prompt_with("What did Anna want?", &memory::PromptOptions::new(1_000))?;
    Ok(prompt.text().to_owned())
}
