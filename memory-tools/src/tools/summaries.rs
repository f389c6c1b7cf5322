//! `show_summaries`: the summaries of a run of messages.

use memory::{Level, LevelsRequest, NodeId, NodeRange, text::one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::browse::{self, LevelLine, PAGES};
use crate::{
    failure::{self, Failure},
    shown,
    tool::{Answer, Tool},
    tools::Tools,
};

/// Most summaries that are read for one page.
const ENTRIES: usize = 500;

pub(crate) struct Summaries;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Id, title or "last"
    conversation_id: Option<String>,
    /// First message
    start: u64,
    /// Last message
    end: u64,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// In order of the messages
    summaries: Vec<LevelLine>,
    /// Runs of messages without a summary of their own, [first, last]
    without_summary: Vec<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for Summaries {
    const NAME: &'static str = "show_summaries";
    const TITLE: &'static str = "Show summaries";
    const ABOUT: &'static str = "Show the summary of each message of a run.";
    const MORE: &'static str = "Messages that have none yet are named; expand_node and get_recent_nodes show them.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let conversation = tools.conversation(input.conversation_id.as_deref()).await?;
        let (start, end) = (failure::node(input.start)?, failure::node(input.end)?);
        if start > end {
            return Err(Failure(format!("start {start} comes after end {end}")));
        }
        let from = PAGES.node(input.cursor.as_deref())?.max(start);
        let request = LevelsRequest::default().level(Level::Summary).from(from).to(end).limit(ENTRIES);
        let levels = conversation.levels(request).await?;
        if start.get() > levels.nodes {
            return Err(failure::no_node(&conversation, start).await);
        }
        let id = conversation.id().to_string();
        let (summaries, next) = browse::fitting(tools, &conversation, &levels, PAGES.most(input.max_tokens)).await;
        let last = next.map_or(end.get().min(levels.nodes), |next| next.get() - 1);
        let without_summary = gaps(from.get(), last, &summaries);
        let memory_used = browse::used(&summaries);
        let next_cursor = next.map(|next| PAGES.cursor(next.get()));
        Ok(Output { conversation: id, summaries, without_summary, memory_used, next_cursor })
    }
}

/// The runs from `first` to `last` that no summary covers.
fn gaps(first: u64, last: u64, summaries: &[LevelLine]) -> Vec<[u64; 2]> {
    let mut gaps = Vec::new();
    let mut from = first;
    for summary in summaries {
        if summary.nodes.first().get() > from {
            gaps.push([from, summary.nodes.first().get() - 1]);
        }
        from = from.max(summary.nodes.last().get() + 1);
    }
    if from <= last {
        gaps.push([from, last]);
    }
    gaps
}

impl Answer for Output {
    fn text(&self) -> String {
        let count = self.summaries.len();
        let noun = if count == 1 { "summary" } else { "summaries" };
        let lead = format!("{count} {noun} of {}.", one_line(&self.conversation));
        let run = |[first, last]: &[u64; 2]| {
            let (first, last) = (NodeId::new(*first)?, NodeId::new(*last)?);
            NodeRange::new(first, last).map(|run| run.to_string())
        };
        let runs: Vec<_> = self.without_summary.iter().filter_map(run).collect();
        let without =
            (!runs.is_empty()).then(|| format!("Messages without a summary of their own: {}.", runs.join(", ")));
        let after = [without, self.memory_used.clone(), shown::more(self.next_cursor.as_ref())];
        shown::list(&lead, &self.summaries, &after)
    }
}
