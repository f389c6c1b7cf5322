//! `list_conversations`: the conversations of the memory.

use memory::{
    ListOptions, ListedConversation,
    text::{one_line, quoted},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    page::{Entry, LISTED},
    shown::{self, known},
    tool::{Answer, Tool},
    tools::Tools,
};

/// Most conversations of one page.
const MOST: usize = 200;

pub(crate) struct Conversations;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Only those with all of these tags
    #[serde(default)]
    tags: Vec<String>,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The last one spoken in first
    conversations: Vec<Listed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// Its id, as conversation_id
    conversation: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    nodes: u64,
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

impl Listed {
    fn of(ListedConversation { state, title, .. }: &ListedConversation) -> Self {
        Self {
            conversation: state.id.to_string(),
            title: title.as_ref().map(|title| title.text.clone()).unwrap_or_default(),
            nodes: state.nodes,
            tokens: state.tokens,
            first_at: state.first_at.and_then(known),
            last_at: state.last_at.and_then(known),
            tags: state.own_tags(),
        }
    }
}

impl Entry for Listed {
    fn line(&self) -> String {
        let mut line = format!("- {}: {}", one_line(&self.conversation), shown::count(self.nodes, "message"));
        if let Some(at) = &self.last_at {
            line.push_str(&format!(", last {at}"));
        }
        if !self.tags.is_empty() {
            line.push_str(&format!(", tags {}", one_line(&self.tags.join(", "))));
        }
        if !self.title.is_empty() {
            line.push_str(&format!(", \"{}\"", one_line(&quoted(&self.title))));
        }
        line
    }

    fn words(&mut self) -> &mut String {
        &mut self.title
    }

    fn shortened(&mut self) {
        self.tags.clear();
    }
}

impl Tool for Conversations {
    const NAME: &'static str = "list_conversations";
    const TITLE: &'static str = "List conversations";
    const ABOUT: &'static str = "List the conversations in memory, the last one spoken in first.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let memory = tools.memory();
        let skip = LISTED.skipped(input.cursor.as_deref(), usize::MAX)?;
        let options = ListOptions::default().tags(input.tags);
        let options = options.skip(skip).limit(MOST);
        let listing = memory.list(options).await?;
        let mut page = LISTED.page(memory, input.max_tokens);
        let shown = listing.conversations.iter().take_while(|one| page.push(Listed::of(one))).count();
        let next = listing.more > 0 || shown < listing.conversations.len();
        let next_cursor = next.then(|| LISTED.cursor(skip.saturating_add(shown) as u64));
        Ok(Output { conversations: page.entries, next_cursor })
    }
}

impl Answer for Output {
    fn text(&self) -> String {
        let lead = match self.conversations.len() {
            0 => "There is no conversation.".to_owned(),
            count => format!("{}, the last one spoken in first.", shown::count(count as u64, "conversation")),
        };
        shown::list(&lead, &self.conversations, &[shown::more(self.next_cursor.as_ref())])
    }
}
