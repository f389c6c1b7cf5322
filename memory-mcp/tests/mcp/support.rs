//! A memory with a server over it, and a client.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "whatever fails here fails a test")]

use std::path::PathBuf;

use memory::{Access, Builder, Config, Memory, Message, OwnerId, Timestamp};
use memory_mcp::{Options, Server};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle, serve_server},
};
use serde_json::Value;
use tempfile::TempDir;

/// 2023-11-14.
pub(crate) const BEGUN: i64 = 1_700_000_000_000;

/// A store that goes away with the value.
pub(crate) struct Store(TempDir);

impl Store {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn config(&self) -> Config {
        Config::new(self.path(), Access::Write).without_model()
    }

    pub(crate) fn memory(&self) -> Memory {
        Builder::of(self.config()).background(false).open().unwrap()
    }

    pub(crate) fn memory_of(&self, owner: &str) -> Memory {
        let config = self.config().owner(OwnerId::new(owner).unwrap());
        Builder::of(config).background(false).open().unwrap()
    }

    pub(crate) fn without_tools(&self) -> Memory {
        Builder::of(self.config().enable_mcp_tools(false)).background(false).open().unwrap()
    }

    pub(crate) fn read_only(&self) -> Memory {
        Builder::of(self.config().access(Access::Read)).background(false).open().unwrap()
    }
}

/// All that can be offered, in whole descriptions.
pub(crate) fn everything() -> Options {
    let writing = Options::default().append(true).erase(true).correct(true).memory_tool(true).scratchpad(true);
    writing.profile(memory_mcp::Profile::Full)
}

/// A client of a server in this process.
pub(crate) struct Client(pub(crate) RunningService<RoleClient, ()>);

impl Client {
    /// One that speaks the newest revision.
    pub(crate) async fn new(memory: &Memory, options: Options) -> Self {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        Self::with(memory, options, ClientLifecycleMode::Discover { preferred_versions }).await
    }

    /// One that speaks the revision before.
    pub(crate) async fn legacy(memory: &Memory, options: Options) -> Self {
        Self::with(memory, options, ClientLifecycleMode::Initialize).await
    }

    async fn with(memory: &Memory, options: Options, lifecycle: ClientLifecycleMode) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let server = Server::new(memory.clone(), options).unwrap();
        tokio::spawn(async move {
            let running = serve_server(server, theirs).await.expect("the client begins");
            drop(running.waiting().await);
        });
        Self(serve_client_with_lifecycle((), ours, lifecycle).await.expect("the server answers"))
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> CallToolResult {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        self.0.call_tool(CallToolRequestParams::new(name.to_owned()).with_arguments(arguments)).await.unwrap()
    }

    /// Structured answer of a tool, which must succeed.
    pub(crate) async fn ask(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments.clone()).await;
        assert_ne!(result.is_error, Some(true), "{name} {arguments}: {}", text(&result));
        assert!(!text(&result).is_empty());
        result.structured_content.expect("a tool answers in JSON as well")
    }

    /// Answer of a tool in text, which must succeed.
    pub(crate) async fn said(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments.clone()).await;
        assert_ne!(result.is_error, Some(true), "{name} {arguments}: {}", text(&result));
        text(&result)
    }

    /// Error of a tool in text.
    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments.clone()).await;
        assert_eq!(result.is_error, Some(true), "{name} {arguments}: {}", text(&result));
        text(&result)
    }
}

pub(crate) fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Appends messages, by turns of the user and the model, a minute after each other.
pub(crate) async fn say(memory: &Memory, conversation: &str, texts: impl IntoIterator<Item = String>) {
    let message = |(place, text): (usize, String)| {
        let message = if place % 2 == 0 { Message::user(text).speaker("Ann") } else { Message::assistant(text) };
        (message, Timestamp::from_millis(BEGUN + 60_000 * i64::try_from(place).unwrap()))
    };
    let batch: Vec<_> = texts.into_iter().enumerate().map(message).collect();
    let conversation = memory.conversation(conversation).unwrap();
    for part in batch.chunks(1_000) {
        conversation.append_batch(part.to_vec()).await.unwrap();
    }
}

/// A trip of so many messages; the third names a platform.
pub(crate) async fn trip(memory: &Memory, count: usize) {
    let text = |number| match number {
        3 => "The train leaves at 7:42 from platform 9.".to_owned(),
        _ => format!(
            "Remark number {number} about the weather, the hotel and the museum we could see on day {number}. It is a long \
             walk there along the river from the station, past the market and the old town hall, and nobody is in a \
             hurry to be anywhere else before dinner."
        ),
    };
    say(memory, "trip", (1..=count).map(text)).await;
}
