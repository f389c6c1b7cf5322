//! A child that appends to conversations and forks them until something kills it.

use std::{
    sync::{Mutex, PoisonError},
    thread,
};

use memory_core::{
    ConversationId, Hash, Level, Message, NodeDraft, NodeId, NodeRange, SummaryDraft, Timestamp, WrittenBy,
    port::{Event, Source, Store},
};
use memory_store::{LogOptions, LogStore, VacuumOptions};

use crate::child::{self, Failure, say};

/// The entry of the child. Its arguments: store, run, number of threads, and work to do beside that.
///
/// It goes on with every conversation that there is, beginning with `talk`, and says one line for each thing that was
/// acknowledged: `said CONVERSATION NODE TEXT` and `forked CHILD PARENT NODE`. The node that a conversation is forked
/// at is summarized and pinned before, and unpinned in the parent afterwards. The run is part of the names of the
/// forks. The work is `vacuum` in another thread, or `checkpoint` after every commit group.
#[test]
fn as_a_child_forks_until_it_is_killed() {
    child::run(fork_until_killed);
}

fn fork_until_killed(arguments: &[&str]) -> Result<(), Failure> {
    let (path, run, threads, work) = match *arguments {
        [path, run, threads] => (path, run, threads, None),
        [path, run, threads, work] => (path, run, threads, Some(work)),
        _ => return Err("STORE RUN THREADS [WORK]".into()),
    };
    let mut options = LogOptions::default().segment_bytes(64 << 10);
    if work == Some("checkpoint") {
        options = options.checkpoint_bytes(1);
    }
    let store = LogStore::open_with(path, options)?;
    child::opened()?;
    append(&store, &ConversationId::new("talk")?, "begin")?;
    let conversations = pollster::block_on(store.conversations())?.into_iter().map(|state| state.id).collect();
    let family = Family { store, run: run.to_owned(), conversations: Mutex::new(conversations) };
    thread::scope(|scope| {
        for thread in 0..threads.parse()? {
            let family = &family;
            scope.spawn(move || {
                if let Err(error) = family.grow(thread) {
                    eprintln!("thread {thread}: {error}");
                }
            });
        }
        while work == Some("vacuum") {
            pollster::block_on(family.store.seal())?;
            family.store.vacuum(VacuumOptions::default(), &())?;
        }
        Ok(())
    })
}

/// Conversations that threads append to and fork, whichever they come to.
struct Family {
    store: LogStore,
    run: String,
    conversations: Mutex<Vec<ConversationId>>,
}

impl Family {
    fn grow(&self, thread: u64) -> Result<(), Failure> {
        let mut random = fastrand::Rng::with_seed(thread);
        for number in 0u64.. {
            let parent = {
                let all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
                // Every other time one of the youngest, so that forks are forked while they are written to.
                let from = if random.bool() { all.len().saturating_sub(4) } else { 0 };
                all.get(random.usize(from..all.len())).cloned().ok_or("there is no conversation")?
            };
            let node = append(&self.store, &parent, &format!("{thread}-{number} {}", "x".repeat(random.usize(..700))))?;
            if number % 3 == 0 {
                let child = ConversationId::new(&format!("fork-{}-{thread}-{number}", self.run))?;
                // Titles and pins that replace each other are what a vacuum leaves out.
                let title = Event::Title(format!("{parent} until {node}"));
                let marks = vec![Event::Summary(summary(&parent, node)), Event::Pin { node, pinned: true }, title];
                pollster::block_on(self.store.record(&parent, marks))?;
                pollster::block_on(self.store.fork(&parent, node, &child))?;
                pollster::block_on(self.store.record(&parent, vec![Event::Pin { node, pinned: false }]))?;
                say(&format!("forked {child} {parent} {node}\n"))?;
                self.conversations.lock().unwrap_or_else(PoisonError::into_inner).push(child);
            }
        }
        Ok(())
    }
}

fn append(store: &LogStore, conversation: &ConversationId, text: &str) -> Result<NodeId, Failure> {
    let text = format!("{conversation} {text}");
    let draft = NodeDraft::new(Message::user(text.as_str()), Timestamp::from_millis(0), 1);
    let appended = pollster::block_on(store.append(conversation, vec![draft]))?;
    let node = appended.first().ok_or("an append was answered with nothing")?.node;
    say(&format!("said {conversation} {node} {text}\n"))?;
    Ok(node)
}

fn summary(conversation: &ConversationId, node: NodeId) -> SummaryDraft {
    SummaryDraft::new(
        Level::Summary,
        NodeRange::single(node),
        format!("{conversation} about {node}"),
        3,
        WrittenBy::new("killed", "1"),
        Hash::of_parts([node.get().to_le_bytes().as_slice()]),
    )
}
