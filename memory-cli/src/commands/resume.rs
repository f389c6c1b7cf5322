//! `memory resume`: prints a reminder of a conversation's state.

use clap::Args as ClapArgs;

use super::resolve;
use crate::{
    Access,
    globals::Globals,
    news, open,
    output::{Of, grouped},
};

/// Prints where a conversation stood, for whoever goes on with it: goal, rules, decisions, open questions, the last exchange.
///
/// The reminder is made by rules, without a model, and nothing is recorded. `memory show --state` prints all of it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The conversation: `last`, its id or the beginning of it, or its title
    #[arg(value_name = "CONVERSATION", default_value = "last")]
    conversation: String,
    /// The most tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// Print it exactly, for a program: without this flag, terminal control characters are escaped
    #[arg(long)]
    raw: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = resolve::conversation(&runtime, Some(&args.conversation)).await?;
    let reminder = runtime.memory.conversation(id.clone()).reminder(args.budget).await?;
    let output = globals.output;
    if output.json && !args.raw {
        return Ok(output.value(&Of { conversation: &id, answer: &reminder })?);
    }
    if args.raw {
        output.exactly(&reminder.text)?;
    } else {
        output.text(&reminder.text)?;
    }
    news::print(output, &news::of(reminder.state.notices.iter().cloned()));
    let (tokens, budget) = (grouped(u64::from(reminder.tokens)), grouped(u64::from(reminder.budget)));
    output.note(&match reminder.text.is_empty() {
        true => format!("nothing fits {budget} tokens: raise --budget"),
        false => format!("{id}: {tokens} of {budget} tokens"),
    });
    Ok(())
}
