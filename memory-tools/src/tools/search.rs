//! `search_memory`: the messages that answer a question best.

use std::{collections::BTreeSet, fmt::Display};

use memory::{ConversationId, Conversations, Edge, Filter, Hit, NodeId, Query, Retrieved, Scope, text::excerpt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{self, Failure},
    page::Pages,
    shown::{self, ShownMessage},
    tool::{Answer, Tool},
    tools::Tools,
};

/// Pages of hits.
const PAGES: Pages = Pages::new("hit", 2_000);
/// Most characters of a message that are shown of a hit.
const EXCERPT: usize = 800;
/// Number of hits that are ranked the same for any limit, before all later hits.
const NEAR: usize = 64;
/// Last hit that cursors reach: later ones bear on nothing.
const LAST: usize = 1_000;

pub(crate) struct Search;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A question or words
    query: String,
    /// Most messages
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// Only these conversations: ids, titles or "last"; all if left out
    #[serde(default)]
    conversations: Vec<String>,
    /// Said at this time or later: a date or RFC 3339
    since: Option<String>,
    /// Said by this time; of a date, by its end
    until: Option<String>,
    /// Only in conversations with all of these tags
    #[serde(default)]
    tags: Vec<String>,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

const fn ten() -> usize {
    10
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The best first
    messages: Vec<ShownMessage>,
    /// Sources quoted in this answer
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    /// Limits of this search
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// Give it as cursor for the next ones
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// How many hits stand before
    #[serde(skip)]
    skipped: usize,
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

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        if input.query.trim().is_empty() {
            return Err(Failure("query is empty: give a question or words".to_owned()));
        }
        let memory = tools.memory();
        let mut ids: Vec<ConversationId> = Vec::new();
        for name in &input.conversations {
            ids.push(failure::conversation(memory, name).await?.id().clone());
        }
        let scope = if ids.is_empty() { Scope::all() } else { Scope::only(ids) };
        let skip = PAGES.skipped(input.cursor.as_deref(), LAST)?;
        let limit = input.limit.clamp(1, 100);
        // One more hit shows if there is a next page.
        let query = Query::new(&input.query, scope.owner(memory.config().owner.clone()));
        let query = query.filter(filter(&input)?).limit(skip + limit + 1);
        let mut found = found(tools, query).await?;
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
        let notices = shown::news(memory, &found.notices);
        Ok(Output { messages, memory_used, notices, next_cursor, skipped: skip })
    }
}

/// The filter of hits.
fn filter(input: &Input) -> Result<Filter, Failure> {
    let wrong =
        |name: &str, why: &dyn Display| Failure(format!("{name}: {}", memory::text::one_line(&why.to_string())));
    let since = input.since.as_ref().map(|text| Edge::since(text).map_err(|why| wrong("since", &why)));
    let until = input.until.as_ref().map(|text| Edge::until(text).map_err(|why| wrong("until", &why)));
    let filter = Filter::default().tags(input.tags.clone());
    filter.between(since.transpose()?, until.transpose()?).map_err(|why| wrong("since and until", &why))
}

/// As many hits as the limit of `query`, if there are, with those of the notes if they are requested. The order is the
/// same for any limit, so that pages repeat and lose nothing: the first [`NEAR`] hits are compared more closely the
/// more are requested, so they are always requested separately, and those after them always together.
async fn found(tools: &Tools, query: Query) -> Result<Retrieved, Failure> {
    let (memory, notes, turn) = (tools.memory(), tools.notes().conversation().id(), tools.turn());
    let most = query.limit;
    let wanted = most + turn.map_or(0, |(_, turn)| usize::try_from(turn.count()).unwrap_or(LAST)).min(LAST);
    let mut said = query.clone();
    let of_notes = match &mut said.scope.conversations {
        Conversations::All => true,
        Conversations::Only(ids) => {
            let named = ids.len();
            ids.retain(|id| id != notes);
            ids.len() < named
        }
    };
    let mut found = if said.scope.conversations == Conversations::Only(Vec::new()) {
        Retrieved::default()
    } else {
        memory.search(said.clone().limit(wanted.min(NEAR))).await?
    };
    if wanted > NEAR && found.hits.len() == NEAR {
        let near: BTreeSet<_> = found.hits.iter().map(place).collect();
        let far = memory.search(said.limit(LAST)).await?;
        found.hits.extend(far.hits.into_iter().filter(|hit| !near.contains(&place(hit))));
    }
    if of_notes {
        // Another owner's notes, in a store from before names were reserved, are an error here and count as none.
        let hits = tools.notes().search(query.limit(LAST)).await.unwrap_or_default().hits;
        found.hits = merged(found.hits, hits);
    }
    let is_of_turn =
        |hit: &Hit| turn.is_some_and(|(running, turn)| hit.conversation == *running && turn.contains(hit.node.id));
    found.hits.retain(|hit| !is_of_turn(hit));
    found.hits.truncate(most);
    Ok(found)
}

fn place(hit: &Hit) -> (ConversationId, NodeId) {
    (hit.conversation.clone(), hit.node.id)
}

/// Both lists in their order; of two heads the likelier one comes first.
fn merged(said: Vec<Hit>, noted: Vec<Hit>) -> Vec<Hit> {
    let relevance = |hit: &Hit| hit.relevance.unwrap_or_default();
    let (mut all, mut noted) = (Vec::with_capacity(said.len() + noted.len()), noted.into_iter().peekable());
    for hit in said {
        while let Some(better) = noted.next_if(|note| relevance(note) > relevance(&hit)) {
            all.push(better);
        }
        all.push(hit);
    }
    all.extend(noted);
    all
}

/// The part of a hit that bears on the question.
fn message(hit: &Hit, question: &str) -> ShownMessage {
    let mut shown = ShownMessage::of(&hit.conversation, &hit.node);
    // The relevance has two digits, as in the label.
    shown.relevance = hit.relevance.map(|chance| f64::from((chance * 100.0).round()) / 100.0);
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
            0 if self.skipped > 0 => "There are no more messages.".to_owned(),
            0 => "No message in memory bears on that.".to_owned(),
            count => format!("{}, the best first.", shown::count(count as u64, "message")),
        };
        let after = [self.memory_used.clone(), shown::more(self.next_cursor.as_ref())];
        let notices = self.notices.iter().cloned().map(Some);
        shown::list(&lead, &self.messages, &after.into_iter().chain(notices).collect::<Vec<_>>())
    }
}
