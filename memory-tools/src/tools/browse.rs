//! `browse_hierarchy`: the levels of a conversation.

use memory::{
    Conversation, Level, LevelPage, LevelsRequest, NodeId, NodeRange,
    answer::LevelEntry,
    text::{one_line, quoted},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    page::{self, Entry, Page, Pages},
    shown::{self, is_false, known, label},
    tool::{Answer, Tool},
    tools::Tools,
};

/// Pages of entries; a cursor holds the first message of a page.
pub(super) const PAGES: Pages = Pages::new("node", 2_000);
/// Most characters of a message that are shown.
const BEGINNING: usize = 280;
/// Most entries that are read for one page.
const ENTRIES: usize = 500;

pub(crate) struct Browse;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Id, title or "last"
    conversation_id: Option<String>,
    /// 0 messages, 1 summaries of single messages, 2 of 20-40 messages, 3 of more; the top of the tree if left out
    #[schemars(range(max = 3))]
    level: Option<u8>,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// Messages of the conversation
    nodes: u64,
    /// In order of the messages
    entries: Vec<LevelLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A summary, or the beginning of a message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LevelLine {
    /// FULL, SUMMARY, META or ARCHIVE
    pub(crate) level: String,
    /// First and last message it stands for
    pub(crate) nodes: NodeRange,
    /// Lines of those messages
    pub(crate) lines: u64,
    /// Number of the summary
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) speaker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// When the last of several was said
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    pub(crate) text: String,
    /// True if only the beginning is shown
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shortened: bool,
    /// Repeated in each line, since a line may be all that is read
    #[serde(skip)]
    pub(crate) conversation: String,
}

impl LevelLine {
    pub(crate) fn of(conversation: &str, entry: &LevelEntry) -> Self {
        let mut line = Self {
            level: entry.level.to_string(),
            nodes: entry.nodes,
            lines: entry.lines,
            summary: entry.summary.map(memory::SummaryId::get),
            speaker: entry.speaker.clone(),
            at: known(entry.at),
            until: None,
            text: if entry.summary.is_some() { unescaped(&entry.text) } else { entry.text.clone() },
            shortened: false,
            conversation: conversation.to_owned(),
        };
        if entry.level == Level::Full && entry.text.chars().nth(BEGINNING).is_some() {
            page::keep(&mut line.text, BEGINNING);
            line.shortened = true;
        }
        line
    }
}

impl Entry for LevelLine {
    fn line(&self) -> String {
        let id = one_line(&self.conversation);
        let dots = if self.shortened { " …" } else { "" };
        let (first, last) = (self.nodes.first(), self.nodes.last());
        let run = if first == last { format!("Message {first}") } else { format!("Messages {first}-{last}") };
        let mut label_of = format!("{run} of {id}");
        if let Some(summary) = self.summary {
            label_of.push_str(&format!(", {} s{summary}, {}", self.level, shown::count(self.lines, "line")));
        }
        if let Some(speaker) = &self.speaker {
            label_of.push_str(&format!(", {}", label(speaker)));
        }
        if let Some(at) = &self.at {
            label_of.push_str(&format!(", {at}"));
        }
        if let Some(until) = &self.until {
            label_of.push_str(&format!(" to {until}"));
        }
        format!("[{label_of}]: {}{dots}", quoted(&self.text))
    }

    fn words(&mut self) -> &mut String {
        &mut self.text
    }

    fn shortened(&mut self) {
        self.shortened = true;
    }

    fn piece(&self) -> Option<String> {
        Some(match self.summary {
            Some(summary) => format!("summary s{summary} of {}", self.conversation),
            None => format!("message {} of {}", self.nodes.first(), self.conversation),
        })
    }
}

/// The words of a summary without the escapes that keep a message from posing as a label, which only text needs.
fn unescaped(text: &str) -> String {
    let plain =
        |line: &str| line.strip_prefix('\\').filter(|rest| rest.starts_with(char::is_alphanumeric)).map(str::to_owned);
    text.split('\n').map(|line| plain(line).unwrap_or_else(|| line.to_owned())).collect::<Vec<_>>().join("\n")
}

impl Tool for Browse {
    const NAME: &'static str = "browse_hierarchy";
    const TITLE: &'static str = "Browse the levels";
    const ABOUT: &'static str = "Look through a conversation from its coarsest summaries down to its messages.";
    const MORE: &'static str = "Begin without level, which shows the whole conversation in the fewest lines, then look at \
        finer levels, and read single messages with expand_node.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let level = match input.level {
            None => None,
            Some(number) => Some(
                Level::from_number(number)
                    .ok_or_else(|| Failure(format!("there is no level {number}: levels are 0 to 3")))?,
            ),
        };
        let conversation = tools.conversation(input.conversation_id.as_deref()).await?;
        let from = PAGES.node(input.cursor.as_deref())?;
        let request = LevelsRequest::default().level(level).from(from).limit(ENTRIES);
        let levels = conversation.levels(request).await?;
        let id = conversation.id().to_string();
        let (entries, next) = fitting(tools, &conversation, &levels, PAGES.most(input.max_tokens)).await;
        let memory_used = used(&entries);
        let next_cursor = next.map(|next| PAGES.cursor(next.get()));
        Ok(Output { conversation: id, nodes: levels.nodes, entries, memory_used, next_cursor })
    }
}

/// The entries that fit, and the start of the next page. Entries that begin with the same message stay together.
pub(crate) async fn fitting(
    tools: &Tools,
    conversation: &Conversation,
    levels: &LevelPage,
    max_tokens: u32,
) -> (Vec<LevelLine>, Option<NodeId>) {
    let id = conversation.id().as_str();
    let mut page = Page::new(tools.memory(), max_tokens).beside(id);
    let mut last = None;
    for entry in &levels.entries {
        let line = dated(LevelLine::of(id, entry), conversation, entry).await;
        let first = Some(entry.nodes.first());
        if first == last {
            page.push_always(line);
        } else if !page.push(line) {
            return (page.entries, first);
        }
        last = first;
    }
    (page.entries, levels.next)
}

/// A line of a summary with times, and with the speaker if it stands for one message.
async fn dated(mut line: LevelLine, conversation: &Conversation, entry: &LevelEntry) -> LevelLine {
    if line.summary.is_none() {
        return line;
    }
    let (first, last) = (entry.nodes.first(), entry.nodes.last());
    // A lost message has neither.
    if let Some(node) = shown::said(conversation, first).await {
        line.at = known(node.at);
        line.speaker = (first == last).then(|| node.message.voice().to_owned());
    }
    if first != last
        && let Some(node) = shown::said(conversation, last).await
    {
        line.until = known(node.at);
    }
    line
}

/// Line about the memory that the entries use; `None` without entries.
pub(crate) fn used(entries: &[LevelLine]) -> Option<String> {
    shown::used(entries, entries.iter().filter(|entry| entry.summary.is_some()).count())
}

impl Answer for Output {
    fn text(&self) -> String {
        let lead = format!(
            "{} of {}, which has {}.",
            shown::count(self.entries.len() as u64, "line"),
            one_line(&self.conversation),
            shown::count(self.nodes, "message")
        );
        shown::list(&lead, &self.entries, &[self.memory_used.clone(), shown::more(self.next_cursor.as_ref())])
    }
}
