//! `get_recent_nodes`: the last messages of a conversation.

use memory::{NodeId, NodeRange, text::one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    page::Pages,
    shown::{self, ShownMessage},
    tool::{Answer, Tool},
    tools::Tools,
};

/// Pages of messages; a cursor holds the number after the last message of a page.
const PAGES: Pages = Pages::new("before", 4_000);

pub(crate) struct Recent;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Id, title or "last"
    conversation_id: Option<String>,
    /// How many messages
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 500))]
    count: u64,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

const fn ten() -> u64 {
    10
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// In order of time
    messages: Vec<ShownMessage>,
    /// Messages of the run that cannot be read
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    /// Give it as cursor for earlier ones
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for Recent {
    const NAME: &'static str = "get_recent_nodes";
    const TITLE: &'static str = "Recent messages";
    const ABOUT: &'static str = "Give the last messages of a conversation word for word, oldest first.";
    const MORE: &'static str = "The cursor leads to the messages before them.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let memory = tools.memory();
        let conversation = tools.conversation(input.conversation_id.as_deref()).await?;
        let nodes = conversation.overview().await?.nodes;
        let end = PAGES.begin(input.cursor.as_deref())?.map_or(nodes, |before| (before.max(1) - 1).min(nodes));
        let count = input.count.clamp(1, 500);
        let mut page = PAGES.page(memory, input.max_tokens).beside(conversation.id().as_str());
        let mut first = end + 1;
        let mut notice = None;
        if let Some(run) = run(end.saturating_sub(count) + 1, end) {
            let read = conversation.details(run).await?;
            notice = read.losses.notice(conversation.id()).map(|notice| notice.to_string());
            first = run.first().get();
            for details in read.nodes.iter().rev() {
                if !page.push(ShownMessage::of(conversation.id(), &details.node)) {
                    first = details.node.id.get() + 1;
                    break;
                }
            }
        }
        let mut messages = page.entries;
        messages.reverse();
        let id = conversation.id();
        let memory_used = shown::used(&messages, 0);
        let next_cursor = (first > 1).then(|| PAGES.cursor(first));
        Ok(Output { conversation: id.to_string(), messages, notice, memory_used, next_cursor })
    }
}

fn run(first: u64, last: u64) -> Option<NodeRange> {
    NodeRange::new(NodeId::new(first)?, NodeId::new(last)?)
}

impl Answer for Output {
    fn text(&self) -> String {
        let count = shown::count(self.messages.len() as u64, "message");
        let lead = format!("{count} of {}, oldest first.", one_line(&self.conversation));
        let earlier = self
            .next_cursor
            .as_ref()
            .map(|cursor| format!("There are earlier ones: call again with cursor \"{cursor}\"."));
        shown::list(&lead, &self.messages, &[self.notice.clone(), self.memory_used.clone(), earlier])
    }
}
