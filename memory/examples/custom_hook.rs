//! Hooks of a program's own: one changes what a model is sent of a message, one watches compactions.

use std::{error::Error, path::PathBuf, sync::Arc};

use memory::{
    Builder, ContentBlock, Message,
    hooks::{Compacted, Hook, HookRegistry, MessageAdded},
    port::{BoxError, BoxFuture},
};

/// Adds the user's time zone to each message of a user. The log keeps the message as it was said.
struct TimeZone(&'static str);

impl Hook<MessageAdded> for TimeZone {
    fn name(&self) -> &str {
        "time-zone"
    }

    fn call<'a>(&'a self, event: &'a mut MessageAdded) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            if event.outgoing.begins_prompt() {
                event.outgoing.content.push(ContentBlock::Text(format!("(The user's time zone is {}.)", self.0)));
            }
            Ok(())
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run("hooked.memory".into())?);
    Ok(())
}

pub(crate) fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let mut hooks = HookRegistry::new();
    hooks.add::<MessageAdded>(Arc::new(TimeZone("Europe/Lisbon")));
    hooks.listen::<Compacted>("log", |event| println!("{} summaries for `{}`", event.summaries, event.conversation));

    let memory = memory::blocking::Memory::from(Builder::new(store).hooks(hooks).open()?);
    let added = memory.conversation("trip")?.add_message(Message::user("Wake me at seven."))?;
    Ok(added.outgoing.text())
}
