//! An entry of a level as the screen shows it.

use memory_core::{
    Level, NodeRange, SummaryId,
    text::{lines, one_line},
};
use memory_hooks::LevelEntry;

use crate::output::{counted, known, shorten};

/// The most characters of a shown text. `memory expand` shows all.
const MOST_CHARS: usize = 100_000;
/// The most characters of the line in a list, more than any terminal has columns.
const MOST_IN_LINE: usize = 400;

/// An entry whose texts are harmless for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) level: Level,
    pub(super) nodes: NodeRange,
    /// Number of the summary; `None` for messages.
    pub(super) summary: Option<SummaryId>,
    /// Name of the entry in a word or two: `META 41-80`, `57 user`.
    pub(super) name: String,
    /// Beginning of the text, on one line.
    pub(super) beginning: String,
    /// Facts about the entry, by lines.
    pub(super) facts: Vec<String>,
    /// Text of the entry.
    pub(super) text: String,
}

impl Item {
    pub(super) fn of(entry: &LevelEntry) -> Self {
        let nodes = entry.nodes;
        let name = match (&entry.speaker, entry.summary) {
            (Some(speaker), _) => format!("{nodes} {}", one_line(speaker)),
            (None, _) => format!("{} {nodes}", entry.level),
        };
        let facts = facts(entry).iter().map(|fact| one_line(fact).into_owned()).collect();
        let text = match entry.text.char_indices().nth(MOST_CHARS) {
            None => lines(&entry.text).into_owned(),
            Some((end, _)) => {
                let shown = lines(entry.text.get(..end).unwrap_or_default());
                format!("{shown}\n… memory expand {} shows the rest", nodes.first())
            }
        };
        Self {
            level: entry.level,
            nodes,
            summary: entry.summary,
            name,
            beginning: one_line(&shorten(&entry.text, MOST_IN_LINE)).into_owned(),
            facts,
            // A tab has no width of its own.
            text: text.replace('\t', "    "),
        }
    }
}

/// Facts about an entry, without its text.
fn facts(entry: &LevelEntry) -> Vec<String> {
    let (tokens, lines) = (counted(u64::from(entry.tokens), "token", "tokens"), counted(entry.lines, "line", "lines"));
    if entry.level == Level::Full {
        let mut facts = vec![format!("message {} · {tokens} · {lines}", entry.nodes)];
        let said = [entry.speaker.clone(), known(entry.at)].into_iter().flatten().collect::<Vec<_>>();
        facts.extend((!said.is_empty()).then(|| format!("said by {}", said.join(", "))));
        return facts;
    }
    let messages = counted(entry.nodes.count(), "message", "messages");
    let mut facts = vec![format!("{} of {messages}: {}", entry.level, entry.nodes), format!("{tokens} for {lines}")];
    let number = entry.summary.map(|summary| format!("summary {summary}"));
    let author = entry.written_by.as_ref().map(|by| format!("written by {by}"));
    let record: Vec<_> = number.into_iter().chain(author).collect();
    facts.extend((!record.is_empty()).then(|| record.join(", ")));
    facts
}
