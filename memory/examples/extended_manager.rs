//! A manager that is built on a shipped one: it counts the prompts that each conversation was shown in, over restarts
//! too.

use std::{
    collections::HashMap,
    error::Error,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use memory::{
    Builder, ConversationId, Json, Message,
    blocking::Memory,
    hooks::{Compacted, HookRegistry},
    port::{BoxFuture, ConversationManager, ExtendedManager, ManagedView, ManagerError, ViewRequest, WrittenBy},
};

#[derive(Debug)]
struct Metered {
    base: Arc<dyn ConversationManager>,
    views: Mutex<HashMap<ConversationId, u64>>,
}

impl ExtendedManager for Metered {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("metered", "1")
    }

    fn base(&self) -> &Arc<dyn ConversationManager> {
        &self.base
    }

    // The one call that differs. Everything else is the base's.
    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        if let Ok(mut views) = self.views.lock() {
            *views.entry(request.conversation.clone()).or_default() += 1;
        }
        self.base.view(request)
    }

    fn own_state(&self, conversation: &ConversationId) -> Option<Json> {
        let views = self.views.lock().ok()?.get(conversation).copied()?;
        Json::new(&views.to_string()).ok()
    }

    fn restore_own(&self, conversation: &ConversationId, own: &Json) -> Result<(), ManagerError> {
        let count = own.as_str().parse();
        let count =
            count.map_err(|_| ManagerError::InvalidState { why: format!("`{}` counts no views", own.as_str()) })?;
        if let Ok(mut views) = self.views.lock() {
            views.insert(conversation.clone(), count);
        }
        Ok(())
    }

    // After the hooks of the base, which stay.
    fn register_own(self: Arc<Self>, hooks: &mut HookRegistry) {
        hooks.listen::<Compacted>("metered", |event| println!("{} summaries", event.summaries));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run("metered.memory".into())?);
    Ok(())
}

pub(crate) fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let open = || {
        let metered = |base| Arc::new(Metered { base, views: Mutex::default() }) as Arc<dyn ConversationManager>;
        Builder::new(&store).derived(metered).open().map(Memory::from)
    };
    let memory = open()?;
    let trip = memory.conversation("trip")?;
    trip.append(Message::user("The train leaves at 7:42 from platform 9."))?;
    trip.prompt("When does the train leave?")?;
    trip.prompt("And from where?")?;
    trip.keep_manager_state()?;
    drop((trip, memory));

    // Another process goes on.
    let memory = open()?;
    let trip = memory.conversation("trip")?;
    trip.initialize()?;
    trip.prompt("Which platform was it?")?;
    Ok(trip.manager_state()?.to_json().as_str().to_owned())
}
