//! Writes conversations in the shapes of other programs.

use std::io::{self, Write};

use memory::parts::Parts;
use memory_core::{
    ConversationId, Message, NodeId, NodeRange, Role, Timestamp,
    port::{Losses, Progress},
};
use memory_transcripts::{Heading, LeftOut, MessageWriter, Written};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{counted, grouped};

/// Messages that are read at once.
const AT_ONCE: u64 = 64;

/// A conversation that was written in the shape of another program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Done {
    /// Name of the conversation.
    conversation: ConversationId,
    /// Number of messages.
    #[serde(rename = "nodes")]
    messages: u64,
    /// Messages that cannot be read any more; a line replaces them.
    #[serde(skip)]
    lost: Losses,
    /// Parts that the format cannot hold.
    left_out: LeftOut,
}

pub(super) async fn write(
    runtime: &Parts,
    id: &ConversationId,
    shape: Written,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> anyhow::Result<Done> {
    let store = &*runtime.store;
    let state = store.conversation(id).await?;
    let title = runtime.memory.conversation(id.clone()).title().await?.map(|title| title.text);
    let failed = |error: io::Error| anyhow::Error::new(error).context("cannot write the export");
    let heading = Heading::new(id.as_str()).title(title.as_deref());
    let mut writer = MessageWriter::begin(out, shape, heading).map_err(failed)?;
    let (mut next, mut at, mut lost) = (1, Timestamp::default(), Losses::default());
    while next <= state.nodes {
        let last = state.nodes.min(next + AT_ONCE - 1);
        let range = NodeId::new(next).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(range) = range else { break };
        let read = store.readable_nodes(id, range).await?;
        let mut runs = read.losses.runs().iter().peekable();
        for node in &read.nodes {
            while let Some(run) = runs.next_if(|run| run.last() < node.id) {
                writer.write(&in_place_of(*run), at).map_err(failed)?;
            }
            writer.write(&node.message, node.at).map_err(failed)?;
            at = node.at;
        }
        for run in runs {
            writer.write(&in_place_of(*run), at).map_err(failed)?;
        }
        lost.extend(&read.losses);
        progress.report(last, state.nodes);
        next = last + 1;
    }
    let left_out = writer.end().map_err(failed)?;
    Ok(Done { conversation: id.clone(), messages: state.nodes, lost, left_out })
}

/// A line for lost messages, as in a view; an import takes it for a note of the program.
fn in_place_of(lost: NodeRange) -> Message {
    let messages = if lost.count() == 1 { "Message" } else { "Messages" };
    Message::text_of(Role::System, format!("[{messages} {lost}: lost]"))
}

impl Done {
    /// Losses of a file, as a sentence.
    pub(super) fn lost(&self) -> Option<String> {
        let runs: Vec<_> = self.lost.runs().iter().map(ToString::to_string).collect();
        (!runs.is_empty()).then(|| format!("`{}` without the lost messages {}", self.conversation, runs.join(", ")))
    }

    pub(super) fn words(&self) -> String {
        let Self { conversation, messages, left_out, .. } = self;
        let mut words = format!("wrote `{conversation}`: {}", counted(*messages, "message", "messages"));
        if left_out.reasoning > 0 {
            words.push_str(&format!("; {} pieces of reasoning have no place there", grouped(left_out.reasoning)));
        }
        if left_out.as_text > 0 {
            words.push_str(&format!("; {} pieces are written as text", grouped(left_out.as_text)));
        }
        if left_out.unanswered > 0 {
            let calls = counted(left_out.unanswered, "call without a result is", "calls without results are");
            words.push_str(&format!("; {calls} answered by a note that says so"));
        }
        if left_out.renamed > 0 {
            let calls = counted(left_out.renamed, "call has", "calls have");
            words.push_str(&format!("; {calls} other names or ids there"));
        }
        if left_out.openings > 0 {
            words.push_str("; a line of the user's is put first");
        }
        let lost =
            [(left_out.times, "times"), (left_out.names, "names of speakers"), (left_out.files, "pictures or files")];
        let lost: Vec<_> = lost
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", grouped(*count)))
            .collect();
        if !lost.is_empty() {
            words.push_str(&format!("; without {}", lost.join(", ")));
        }
        words
    }
}
