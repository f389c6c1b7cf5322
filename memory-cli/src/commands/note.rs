//! `memory note`: makes a document of messages, which recall finds in other conversations.

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_capture::{Capture, Noted};
use memory_core::{ConversationId, NodeRange};
use schemars::JsonSchema;
use serde::Serialize;

use super::{add::Added, resolve};
use crate::{Access, globals::Globals, open, output::counted};

/// Makes a document of messages, such as an exchange that settled something, which search and contexts of other
/// conversations recall from.
///
/// Each message stands with its speaker and day; calls and results of tools, and messages that are disabled or kept out
/// of summaries, are left out. The document goes when one of its messages is erased.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::One,
    /// Numbers of the messages, such as 5 or 7-12
    #[arg(value_name = "NODE", value_parser = resolve::nodes)]
    nodes: NodeRange,
    /// Name by which the document is cited [default: the conversation and the numbers]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// A document that was made of messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    document: Added,
    /// Conversation of the messages.
    of: ConversationId,
    /// Number of messages in the document.
    messages: u64,
    /// Number of messages that it leaves out.
    left_out: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Update)?;
    let runtime = open(&config)?;
    let of = args.conversation.id(&runtime).await?;
    let capture = Capture::with_parts(runtime.clone(), &config);
    let Noted { document, name, messages, left_out, .. } =
        capture.note_exchange(&of, args.nodes, args.name.as_deref()).await?;
    let output = globals.output;
    let bar = output.bar("embedding");
    let indexed = runtime.memory.conversation(document.conversation.clone()).index_with(&bar).await;
    let embedded = indexed.context("the document is there, and not embedded yet")?.embedded;
    bar.finish();
    let document = Added::of(name, 1, document, embedded);
    let answer = Answer { document, of, messages, left_out };
    if output.json {
        return Ok(output.value(&answer)?);
    }
    let said = counted(answer.messages, "message", "messages");
    output.line(&format!("`{}`: {said} of `{}`", answer.document.conversation(), answer.of))?;
    if left_out > 0 {
        let left_out = counted(left_out, "message", "messages");
        output
            .note(&format!("{left_out} without words, disabled, erased or kept out of summaries: not in the document"));
    }
    Ok(())
}
