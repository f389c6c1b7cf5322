//! `search_memory`: the messages that answer a question best.

use memory::{ConversationId, Hit, Notice, Query, Recall, Retrieved, Scope, excerpt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    context::Context,
    failure::{self, Failure},
    page::Pages,
    shown::{self, ShownMessage},
    tool::{Answer, Tool},
};

/// Pages of hits.
const PAGES: Pages = Pages::new("hit", 2_000);
/// Most characters of a message that are shown of a hit.
const EXCERPT: usize = 800;
/// How far cursors go: later hits bear on nothing.
const LAST: usize = 1_000;

pub(crate) struct Search;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A question or words
    query: String,
    /// Most messages
    #[serde(default = "ten")]
    limit: usize,
    /// Only these conversations: ids, titles or "last"; all if left out
    #[serde(default)]
    conversations: Vec<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    max_tokens: Option<u32>,
}

const fn ten() -> usize {
    10
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The best first
    messages: Vec<ShownMessage>,
    /// What of the memory this shows
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    /// What the search could not do
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// Give it as cursor for the next ones
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for Search {
    const NAME: &'static str = "search_memory";
    const TITLE: &'static str = "Search memory";
    const ABOUT: &'static str = "Find earlier messages that bear on a question, by meaning and by words.";
    const MORE: &'static str = "Use it whenever the answer may have been said before: in this conversation, where \
        only summaries are left of it, or in another one. The part of each message that bears on the question is shown; \
        expand_node gives a message word for word.";
    type Input = Input;
    type Output = Output;

    async fn run(context: &Context, input: Input) -> Result<Output, Failure> {
        if input.query.trim().is_empty() {
            return Err(Failure("query is empty: give a question or words".to_owned()));
        }
        let memory = context.memory();
        let mut ids: Vec<ConversationId> = Vec::new();
        for name in &input.conversations {
            ids.push(failure::conversation(memory, name).await?.id().clone());
        }
        let scope = if ids.is_empty() { Scope::all() } else { Scope::only(ids) };
        let skip = PAGES.skipped(input.cursor.as_deref(), LAST)?;
        let limit = input.limit.clamp(1, 100);
        // One more, which tells whether there are more.
        let query = Query::new(&input.query, scope.owner(memory.config().owner.clone())).limit(skip + limit + 1);
        let mut found = found(context, query).await?;
        let more = found.hits.len() > skip + limit;
        found.hits.drain(..skip.min(found.hits.len()));
        found.hits.truncate(limit);
        let mut page = PAGES.page(memory, input.max_tokens);
        let shown = found.hits.iter().take_while(|hit| page.push(message(hit, &input.query))).count();
        let next = (more || shown < found.hits.len()) && skip + shown < LAST;
        let next_cursor = next.then(|| PAGES.cursor((skip + shown) as u64));
        let messages = page.entries;
        found.hits.truncate(shown);
        let memory_used = found.used().sentence();
        // Who asked for words alone knows.
        let is_news =
            |notice: &&Notice| memory.config().recall != Recall::Words || !matches!(notice, Notice::WordsOnly { .. });
        let notices = found.notices.iter().filter(is_news).map(ToString::to_string).collect();
        Ok(Output { messages, memory_used, notices, next_cursor })
    }
}

/// As many hits as `query` has a limit, if there are, without earlier texts of notes.
async fn found(context: &Context, query: Query) -> Result<Retrieved, Failure> {
    let (wanted, notes) = (query.limit, context.notes().conversation());
    let mut limit = wanted;
    loop {
        let mut found = context.memory().search(query.clone().limit(limit)).await?;
        if !found.hits.iter().any(|hit| hit.conversation == *notes) {
            return Ok(found);
        }
        let all = found.hits.len();
        let current = context.current_notes().await?;
        found.hits.retain(|hit| hit.conversation != *notes || current.contains(&hit.node.id));
        if found.hits.len() >= wanted || all < limit || limit >= LAST {
            found.hits.truncate(wanted);
            return Ok(found);
        }
        limit *= 4;
    }
}

/// The part of a hit that bears on the question.
fn message(hit: &Hit, question: &str) -> ShownMessage {
    let mut shown = ShownMessage::of(&hit.conversation, &hit.node);
    let part = excerpt(&shown.text, question, EXCERPT).range;
    if part.len() < shown.text.len() {
        let dots = if part.start > 0 { "… " } else { "" };
        shown.text = format!("{dots}{}", shown.text.get(part).unwrap_or_default());
        shown.shortened = true;
    }
    shown
}

impl Answer for Output {
    fn text(&self) -> String {
        let lead = match self.messages.len() {
            0 => "No message in memory bears on that.".to_owned(),
            count => format!("{}, the best first.", shown::count(count as u64, "message")),
        };
        let after = [self.memory_used.clone(), shown::more(self.next_cursor.as_ref())];
        let notices = self.notices.iter().cloned().map(Some);
        shown::list(&lead, &self.messages, &after.into_iter().chain(notices).collect::<Vec<_>>())
    }
}
