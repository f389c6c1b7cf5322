//! `get_conversation_stats`: figures of a conversation.

use memory::{
    Level,
    text::{grouped, one_line},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    tool::{Answer, Tool},
    tools::Tools,
};

pub(crate) struct Stats;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Id, title or "last"
    conversation_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    nodes: u64,
    user_nodes: u64,
    ai_nodes: u64,
    nodes_per_level: PerLevel,
    /// Tokens of all messages word for word
    tokens: u64,
    /// Tokens of the smallest view that covers all of them
    view_tokens: u64,
    tokens_saved: u64,
    /// How many times smaller that view is
    compression_ratio: f64,
    /// From the first to the last message
    days: f64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PerLevel {
    full: u64,
    summary: u64,
    meta: u64,
    archive: u64,
}

impl Tool for Stats {
    const NAME: &'static str = "get_conversation_stats";
    const TITLE: &'static str = "Conversation statistics";
    const ABOUT: &'static str = "Count a conversation's messages by side and level of compression, tokens and days.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let conversation = tools.conversation(input.conversation_id.as_deref()).await?;
        let stats = conversation.stats().await?;
        Ok(Output {
            conversation: conversation.id().to_string(),
            nodes: stats.nodes,
            user_nodes: stats.user_nodes,
            ai_nodes: stats.ai_nodes,
            nodes_per_level: PerLevel {
                full: stats.at_level(Level::Full),
                summary: stats.at_level(Level::Summary),
                meta: stats.at_level(Level::Meta),
                archive: stats.at_level(Level::Archive),
            },
            tokens: stats.shown_tokens,
            view_tokens: stats.view_tokens,
            tokens_saved: stats.tokens_saved(),
            compression_ratio: rounded(stats.compression_ratio()),
            days: rounded(stats.days),
        })
    }
}

/// The value with two decimals.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl Answer for Output {
    fn text(&self) -> String {
        let PerLevel { full, summary, meta, archive } = self.nodes_per_level;
        let [total, user, ai, full, summary, meta, archive, tokens, view, saved] = [
            self.nodes,
            self.user_nodes,
            self.ai_nodes,
            full,
            summary,
            meta,
            archive,
            self.tokens,
            self.view_tokens,
            self.tokens_saved,
        ]
        .map(grouped);
        format!(
            "Conversation {id}: {total} nodes ({user} of the user, {ai} of the model) over {days} days.\nNodes per level: \
             FULL {full}, SUMMARY {summary}, META {meta}, ARCHIVE {archive}.\nTokens: {tokens} in full, {view} in the \
             smallest view of all, which saves {saved} and is {ratio} times smaller.",
            id = one_line(&self.conversation),
            days = self.days,
            ratio = self.compression_ratio,
        )
    }
}
