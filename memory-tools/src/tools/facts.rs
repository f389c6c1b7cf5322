//! `list_facts` and `correct_fact`: what is known, as entries of the ledger, and a correction of one.

use memory::{
    NodeRange, Scope,
    ledger::{EntryAuthor, EntryId, LedgerEntry, LedgerRequest, Which},
    text::{one_line, quoted},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, conversation, node},
    page::{Entry, Pages},
    shown::{self, is_false, known},
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Pages of entries; a cursor holds the number of entries before the page.
const FACTS: Pages = Pages::new("fact", 2_000);
/// Most entries before a page.
const MOST: usize = 100_000;

pub(crate) struct List;
pub(crate) struct Correct;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    conversation_id: Option<String>,
    query: Option<String>,
    /// Also replaced ones
    all: Option<bool>,
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CorrectInput {
    conversation_id: String,
    id: String,
    text: String,
    nodes: Vec<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ListOutput {
    facts: Vec<Fact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Fact {
    conversation: String,
    /// Like 120.1, a sentence of message 120, or e7, a recorded entry
    id: String,
    /// rule, decision, preference, fact or question
    kind: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// current, superseded or disabled
    status: String,
    /// Entry or message that replaced it
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<String>,
    /// Whether this is a part
    #[serde(skip_serializing_if = "is_false")]
    shortened: bool,
}

impl Fact {
    fn of(entry: &LedgerEntry) -> Self {
        let by = entry.replaced_by.as_ref();
        let message = by.and_then(|by| by.node).map(|node| format!("message {node}"));
        Self {
            conversation: entry.conversation.to_string(),
            id: entry.id.to_string(),
            kind: entry.kind.as_str().to_owned(),
            text: entry.text.clone(),
            since: entry.since.and_then(known),
            status: entry.status.as_str().to_owned(),
            replaced_by: by.and_then(|by| by.entry).map(|id| id.to_string()).or(message),
            shortened: false,
        }
    }
}

impl Entry for Fact {
    fn line(&self) -> String {
        let Self { conversation, id, kind, text, since, status, replaced_by, shortened } = self;
        let mut about = format!("{kind} {id} of {}", one_line(conversation));
        for part in since.iter().chain(Some(status).filter(|status| *status != "current")) {
            about.push_str(&format!(", {part}"));
        }
        if let Some(by) = replaced_by {
            about.push_str(&format!(" by {by}"));
        }
        format!("[{about}]: {}{}", quoted(text), if *shortened { " …" } else { "" })
    }

    fn words(&mut self) -> &mut String {
        &mut self.text
    }

    fn shortened(&mut self) {
        self.shortened = true;
    }
}

impl Tool for List {
    const NAME: &'static str = "list_facts";
    const TITLE: &'static str = "List facts";
    const ABOUT: &'static str = "List rules, decisions, preferences, facts and open questions.";
    const MORE: &'static str =
        "Current ones, each with the message that it came from; use it before you rely on an old message.";
    type Input = ListInput;
    type Output = ListOutput;

    async fn run(tools: &Tools, input: ListInput) -> Result<ListOutput, Failure> {
        let memory = tools.memory();
        let scope = match &input.conversation_id {
            Some(name) => Scope::one(conversation(memory, name).await?.id()),
            None => Scope::all(),
        };
        let which = if input.all == Some(true) { Which::All } else { Which::Current };
        let query = input.query.filter(|query| !query.trim().is_empty());
        let skip = FACTS.skipped(input.cursor.as_deref(), MOST)?;
        let ledger = memory.ledger(&scope, &LedgerRequest::default().which(which).question(query)).await?;
        let mut page = FACTS.page(memory, input.max_tokens);
        let shown = ledger.entries.iter().skip(skip).take_while(|entry| page.push(Fact::of(entry))).count();
        let next = skip.saturating_add(shown);
        let next_cursor = (next < ledger.entries.len()).then(|| FACTS.cursor(next as u64));
        Ok(ListOutput { facts: page.entries, next_cursor })
    }
}

impl Answer for ListOutput {
    fn text(&self) -> String {
        let lead = match self.facts.len() {
            0 => "Nothing of it is known.".to_owned(),
            count => format!("{}.", shown::count(count as u64, "fact")),
        };
        shown::list(&lead, &self.facts, &[shown::more(self.next_cursor.as_ref())])
    }
}

impl Tool for Correct {
    const NAME: &'static str = "correct_fact";
    const TITLE: &'static str = "Correct a fact";
    const ABOUT: &'static str = "Replace a fact by words of messages.";
    const MORE: &'static str = "The old one stays as superseded. Ask the user first.";
    const KIND: Kind = Kind::Replaces;
    type Input = CorrectInput;
    type Output = Fact;

    async fn run(tools: &Tools, input: CorrectInput) -> Result<Fact, Failure> {
        let conversation = conversation(tools.memory(), &input.conversation_id).await?;
        let id: EntryId =
            input.id.trim().parse().map_err(|error: memory::ledger::InvalidEntryId| Failure(error.to_string()))?;
        let sources = input.nodes.into_iter().map(|number| node(number).map(NodeRange::single));
        let sources = NodeRange::merge(sources.collect::<Result<Vec<_>, _>>()?);
        let by = EntryAuthor::Model(String::new());
        Ok(Fact::of(&conversation.correct_entry(id, &input.text, by, sources).await?))
    }
}

impl Answer for Fact {
    fn text(&self) -> String {
        shown::list("Corrected.", std::slice::from_ref(self), &[])
    }
}
