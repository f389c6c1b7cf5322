//! Prints the figures of conversations over time.

use std::io;

use memory_core::{ConversationId, Timestamp, time::Period};
use memory_hooks::{OverTime, PeriodStats};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::resolve::ShownNames,
    globals::Globals,
    news,
    output::{Of, Output, grouped},
};

/// Figures by days, weeks or months.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    conversations: Vec<Of<'a, &'a OverTime>>,
}

/// Prints each conversation by periods.
pub(super) async fn run(
    runtime: &memory::parts::Parts,
    ids: Vec<ConversationId>,
    period: Option<Period>,
    globals: &Globals,
) -> anyhow::Result<()> {
    let output = globals.output;
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let over_time = runtime.memory.conversation(id.clone()).over_time(period).await?;
        all.push((id, over_time));
    }
    let news = news::of(all.iter().flat_map(|(_, over_time)| over_time.notices.clone()));
    if output.json {
        let conversations = all.iter().map(|(id, answer)| Of { conversation: id, answer }).collect();
        return Ok(output.value(&Answer { conversations })?);
    }
    let names = ShownNames::of(runtime).await?;
    print(output, &all, &names)?;
    news::print(output, &news);
    Ok(())
}

fn print(output: Output, all: &[(ConversationId, OverTime)], names: &ShownNames) -> io::Result<()> {
    let header =
        ["conversation", "from", "messages", "user/AI", "tokens", "in all", "in full", "view", "smaller", "about"];
    let of_one = |(id, over_time): &(ConversationId, OverTime)| {
        let id = names.name(id);
        over_time.rows.iter().map(|row| row_of(&id, row)).collect::<Vec<_>>()
    };
    output.table_without(
        header,
        all.iter().flat_map(of_one),
        &["user/AI", "in full", "in all", "tokens", "view", "smaller"],
    )?;
    output.note("messages and tokens of each day, week or month; `in all` and what follows up to its end");
    Ok(())
}

fn row_of(id: &str, row: &PeriodStats) -> [String; 10] {
    [
        id.to_owned(),
        row.start.and_then(day).unwrap_or_default(),
        grouped(row.nodes.count()),
        format!("{}/{}", row.user_nodes, row.ai_nodes),
        grouped(row.tokens),
        grouped(row.total_nodes),
        grouped(row.shown_tokens),
        grouped(row.view_tokens),
        format!("{:.1} x", row.compression_ratio()),
        row.topics.join(", "),
    ]
}

fn day(at: Timestamp) -> Option<String> {
    Some(at.civil(0)?.date())
}
