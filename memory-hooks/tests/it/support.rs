//! Memories to test with, strategies that misbehave, and random conversations.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use memory_core::{
    ContentBlock, ConversationId, Json, Message, NodeRange, Role, Summary, SummaryMetadata, Timestamp, WrittenBy,
    plan::{ViewPolicy, turns},
    port::{BoxFuture, Source, SummarizeError, Summarizer, SummaryJob, TokenCounter, WrittenSummary},
    testing::{FixedClock, MemoryStore, ScanRetriever, WordCounter},
    text::FirstWords,
};
use memory_hooks::{
    Compacted, CompactionFailed, Conversation, FellBack, HookRegistry, Memory, MemoryBuilder, PieceKind, Prompt,
};
use pollster::block_on;
use proptest::prelude::*;

pub(crate) fn id() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

/// A memory over a store of its own, and what its hooks saw.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) memory: Memory,
    pub(crate) talk: Conversation,
    pub(crate) compacted: Arc<Mutex<Vec<Compacted>>>,
    pub(crate) failed: Arc<Mutex<Vec<CompactionFailed>>>,
    pub(crate) fell_back: Arc<Mutex<Vec<FellBack>>>,
}

impl World {
    /// With recall.
    pub(crate) fn new() -> Self {
        Self::with(|builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))))
    }

    pub(crate) fn with(more: impl FnOnce(MemoryBuilder, Arc<MemoryStore>) -> MemoryBuilder) -> Self {
        Self::over(Arc::new(MemoryStore::default()), more)
    }

    pub(crate) fn over(
        store: Arc<MemoryStore>,
        more: impl FnOnce(MemoryBuilder, Arc<MemoryStore>) -> MemoryBuilder,
    ) -> Self {
        let (compacted, failed) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let fell_back = Arc::<Mutex<Vec<_>>>::default();
        let mut hooks = HookRegistry::new();
        let seen = Arc::clone(&compacted);
        hooks.listen("seen", move |event: &Compacted| seen.lock().unwrap().push(event.clone()));
        let seen = Arc::clone(&failed);
        hooks.listen("seen", move |event: &CompactionFailed| seen.lock().unwrap().push(event.clone()));
        let seen = Arc::clone(&fell_back);
        hooks.listen("seen", move |event: &FellBack| seen.lock().unwrap().push(event.clone()));
        let builder = Memory::builder()
            .store(Arc::<MemoryStore>::clone(&store))
            .token_counter(Arc::new(WordCounter))
            .clock(Arc::new(FixedClock::starting_at(Timestamp::from_millis(1_750_000_000_000))))
            // Even the short messages of a test are summarized.
            .summarizer(Arc::new(FirstWords))
            .view_policy(ViewPolicy::default().short(0))
            .hooks(hooks);
        let memory = more(builder, Arc::clone(&store)).build().unwrap();
        Self { store, talk: memory.conversation(id()), memory, compacted, failed, fell_back }
    }

    pub(crate) fn say(&self, messages: impl IntoIterator<Item = Message>) {
        let at = |index| Timestamp::from_millis(1_750_000_000_000 + i64::try_from(index).unwrap() * 60_000);
        let there = block_on(self.store.conversation(&id())).map_or(0, |state| usize::try_from(state.nodes).unwrap());
        let batch = messages.into_iter().enumerate().map(|(index, message)| (message, at(there + index)));
        block_on(self.talk.append_batch(batch.collect())).unwrap();
    }

    pub(crate) fn summaries(&self) -> Vec<Summary> {
        block_on(self.store.summaries(&id())).unwrap()
    }

    /// Nodes at each level, by the level's number.
    pub(crate) fn levels(&self) -> [u64; 4] {
        block_on(self.talk.stats()).unwrap().nodes_per_level
    }

    pub(crate) fn turns(&self) -> Vec<NodeRange> {
        turns(&block_on(self.store.outline(&id())).unwrap())
    }
}

/// A user and an assistant in turns: `Message 7 is about topic7 …`, 20 tokens each.
pub(crate) fn chat(count: usize) -> Vec<Message> {
    (1..=count).map(|number| line(number, 20)).collect()
}

/// One message of a chat, of at least `tokens` tokens.
pub(crate) fn line(number: usize, tokens: usize) -> Message {
    let role = if number % 2 == 1 { Role::User } else { Role::Assistant };
    let text = format!("Message {number} is about topic{number}");
    let have = WordCounter.count(&text) as usize;
    Message::text_of(role, text + &" word".repeat(tokens.saturating_sub(have)))
}

pub(crate) fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ContentBlock::ToolUse {
        id: (*id).to_owned(),
        name: "read_file".into(),
        input: Json::new(r#"{"path":"src/lib.rs"}"#).unwrap(),
    };
    Message::new(Role::Assistant, ids.iter().map(call).collect())
}

pub(crate) fn results(ids: &[&str], text: &str) -> Message {
    let result = |id: &&str| ContentBlock::ToolResult {
        tool_use_id: (*id).to_owned(),
        content: vec![ContentBlock::Text(text.to_owned())],
        is_error: false,
    };
    Message::new(Role::User, ids.iter().map(result).collect())
}

/// Conversations of everything that makes planning hard, about `size` messages.
pub(crate) fn conversations(size: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Message>> {
    let words = (1usize..120, any::<u16>()).prop_map(|(tokens, n)| vec![line(usize::from(n), tokens)]);
    let turn = prop_oneof![
        6 => words,
        3 => Just(vec![Message::user("OK."), Message::assistant("OK.")]),
        1 => Just(vec![Message::user("")]),
        1 => (300usize..3_000).prop_map(|tokens| vec![line(1, tokens)]),
        2 => Just(vec![calls(&["a"]), results(&["a"], "41 rows were read")]),
        1 => (1usize..400).prop_map(|n| vec![calls(&["a", "b"]), results(&["a"], &"row ".repeat(n)), results(&["b"], "done")]),
        1 => Just(vec![calls(&["a", "b"]), results(&["a", "b"], "both at once")]),
        1 => Just(vec![calls(&["never answered"])]),
        1 => any::<u8>().prop_map(|n| vec![Message::user(format!("Always name topic{n} when I ask. I prefer PIN 4471 to tea."))]),
        1 => Just(vec![Message::user("PIN 4471").keep_out_of_summaries(true)]),
        1 => "[あ-ん漢字]{1,60}".prop_map(|text| vec![Message::assistant(text).speaker("a very long name of a speaker, indeed")]),
    ];
    prop::collection::vec(turn, size).prop_map(|turns| turns.concat())
}

/// The nodes that the history pieces of a prompt stand for, in order.
pub(crate) fn covered(prompt: &Prompt) -> Vec<u64> {
    let history = prompt.pieces.iter().filter(|piece| piece.kind.is_history());
    history.flat_map(|piece| piece.nodes.unwrap().iter().map(|node| node.get())).collect()
}

/// The nodes that the pieces of one kind show.
pub(crate) fn nodes_of(prompt: &Prompt, kind: PieceKind) -> Vec<u64> {
    let pieces = prompt.pieces.iter().filter(|piece| piece.kind == kind);
    pieces.flat_map(|piece| piece.nodes.unwrap().iter().map(|node| node.get())).collect()
}

/// Counts three characters as a token, lead lines, names and line ends included: views cost more written out
/// than planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DearCounter;

impl TokenCounter for DearCounter {
    fn name(&self) -> &'static str {
        "dear"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.chars().count().div_ceil(3)).unwrap()
    }
}

/// Behaviour of a summarizer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// Writes first words.
    Good,
    /// The first words of everything, as many as are allowed.
    Echo,
    /// Fails from this call on, counted from 0.
    FailsFrom(usize),
    /// Fails at this call alone, counted from 0.
    FailsAt(usize),
    /// Writes a word that it was never told, and has it for a topic.
    Says(&'static str),
    /// Costs one token more than allowed.
    TooLong,
    /// Says nothing.
    Blank,
}

/// A summarizer that counts its calls.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) manner: Manner,
    pub(crate) calls: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(manner: Manner) -> Arc<Self> {
        Arc::new(Self { manner, calls: AtomicUsize::new(0) })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn fail<'a>(&self) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        let error = SummarizeError::new(self.identity(), "no model");
        Box::pin(async { Err(error) })
    }
}

impl Summarizer for Scripted {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("scripted", "7")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let text = match self.manner {
            Manner::FailsFrom(first) if call >= first => return self.fail(),
            Manner::FailsAt(only) if call == only => return self.fail(),
            Manner::Says(word) => {
                let metadata = SummaryMetadata::default().topics(vec![word.to_owned()]);
                return Box::pin(async move { Ok(WrittenSummary::new(word).metadata(metadata)) });
            }
            Manner::Good | Manner::FailsFrom(_) | Manner::FailsAt(_) => FirstWords::write(&job).text,
            Manner::Echo => echo(&job),
            Manner::TooLong => "word ".repeat(job.max_tokens as usize + 1),
            Manner::Blank => " \n".to_owned(),
        };
        Box::pin(async { Ok(WrittenSummary::new(text)) })
    }
}

fn echo(job: &SummaryJob<'_>) -> String {
    let mut said = String::new();
    for word in job.sources.iter().flat_map(|source| source.text.split_whitespace()) {
        let longer = if said.is_empty() { word.to_owned() } else { format!("{said} {word}") };
        if job.counter.count(&longer) > job.max_tokens {
            break;
        }
        said = longer;
    }
    said
}
