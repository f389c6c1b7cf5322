//! A view of a long real conversation stands for every message of it.

#![expect(clippy::print_stderr, reason = "a test")]

use std::{env, fs, path::Path, sync::Arc};

use memory_core::{ConversationId, Message, NodeId, Role, Timestamp, port::Store};
use memory_embed::TiktokenCounter;
use memory_hooks::{Memory, PromptOptions};
use memory_store::LogStore;
use memory_strategies::{Rules, Spans};
use serde::Deserialize;

/// The evaluation data, which is never in the tree.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/eval/beam500k/conversations.jsonl");

#[derive(Deserialize)]
struct Conversation {
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    text: String,
}

#[test]
fn a_view_at_a_tenth_of_the_tokens_represents_every_message_of_beam500k() {
    let Ok(data) = fs::read_to_string(Path::new(DATA)) else {
        assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "no evaluation data at {DATA}");
        eprintln!("skipped: no evaluation data at {DATA}");
        return;
    };
    let talk: Conversation = serde_json::from_str(data.lines().next().unwrap()).unwrap();
    assert_eq!(talk.turns.len(), 1_056);
    let directory = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(LogStore::open(directory.path()).unwrap());
    let memory = Memory::builder()
        .store(store)
        .token_counter(Arc::new(TiktokenCounter::cl100k()))
        .summarizer(Arc::new(Spans))
        .scorer(Arc::new(Rules))
        .build()
        .unwrap();
    let conversation = memory.conversation(ConversationId::new("beam500k").unwrap());
    let message = |turn: Turn| {
        let role = if turn.role == "user" { Role::User } else { Role::Assistant };
        (Message::text_of(role, turn.text), Timestamp::from_millis(0))
    };
    let context = pollster::block_on(async {
        conversation.append_batch(talk.turns.into_iter().map(message).collect()).await.unwrap();
        let tenth = u32::try_from(conversation.stats().await.unwrap().tokens / 10).unwrap();
        let context = conversation.prompt_with("Where do we stand?", &PromptOptions::new(tenth)).await.unwrap();
        assert!(context.tokens <= tenth, "{} of {tenth} tokens", context.tokens);
        context
    });
    let history = context.pieces.iter().filter(|piece| piece.kind.is_history());
    let represented: Vec<NodeId> = history.flat_map(|piece| piece.nodes.unwrap().iter()).collect();
    assert!(represented.into_iter().eq((0..1_056).map(NodeId::from_index)), "each message once, in order");
}
