//! Lines after a turn: what it took, what was learned, and why it has no whole answer.

use std::io;

use memory::{
    Role,
    ledger::{EntryStatus, LedgerRequest},
};
use memory_agent::{Ended, Turn};
use memory_hooks::{Conversation, EntryId, LedgerEntry};
use textwrap::core::display_width;

use super::live::{ours, width};
use crate::{
    failure,
    output::{grouped, shorten},
};

/// Most facts that are named after a turn.
const MOST_FACTS: usize = 3;
/// Most characters of a fact.
const FACT: usize = 100;

/// Prints what a turn took, and what was learned in it of the person.
pub(super) fn after(window: u32, turn: &Turn, learned: &[LedgerEntry]) -> io::Result<()> {
    match turn.ended {
        Ended::Requests => ours("the turn has its maximum of requests: say how to go on")?,
        Ended::Length => ours("the answer has its maximum of tokens: !again has it go on")?,
        Ended::Empty => ours("the answer is empty: !again asks for another one")?,
        _ => {}
    }
    if let Some(failure) = &turn.failure {
        let why = failure::line_of(&**failure);
        ours(&format!("the answer broke off, and what came is kept; !again has it go on: {why}"))?;
    }
    if let Some(prompt) = &turn.prompt {
        ours(&status(prompt.used().recalled, window, turn, width().saturating_sub(2)))?;
    }
    // What the model says of itself, as a question, is no news to its reader.
    let is_of_person = |entry: &&LedgerEntry| entry.speaker.as_deref() == Some(Role::User.as_str());
    let said: Vec<_> = learned.iter().filter(is_of_person).collect();
    for entry in said.iter().take(MOST_FACTS) {
        ours(&noted(entry))?;
    }
    if said.len() > MOST_FACTS {
        ours(&format!("and {} more: !facts", said.len() - MOST_FACTS))?;
    }
    crate::terminal::To::Output.line("")
}

/// The line after a turn, of at most `width` columns: its messages, then the last request as the provider counts it, or
/// by the memory's own count after a `≈`. A narrow line has no window, and leaves out the last parts.
fn status(recalled: u64, window: u32, turn: &Turn, width: usize) -> String {
    let Turn { usage, last, is_estimated, .. } = turn;
    let about = if *is_estimated { "≈" } else { "" };
    let sent = grouped(last.prompt_tokens);
    let mut rest = Vec::new();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 100")]
    let percent = |share: f64| (share * 100.0).round() as u32;
    rest.extend(last.cached_share().filter(|share| *share > 0.0).map(|share| format!("{} % cached", percent(share))));
    rest.extend(usage.cost.map(|cost| format!("cost {about}{cost:.4}")));
    // "Memory used" would be taken for that of the machine.
    rest.extend((recalled > 0).then(|| format!("{} from memory", grouped(recalled))));
    rest.extend((usage.requests > 1).then(|| format!("{} requests", grouped(usage.requests))));
    let messages = turn.nodes.map(|nodes| match nodes.count() {
        1 => format!("message {nodes}"),
        _ => format!("messages {nodes}"),
    });
    let line = |sent: String, rest: &[String]| {
        messages.iter().cloned().chain([sent]).chain(rest.iter().cloned()).collect::<Vec<_>>().join(" · ")
    };
    let whole = line(format!("sent {about}{sent} of {} tokens", grouped(u64::from(window))), &rest);
    if display_width(&whole) <= width {
        return whole;
    }
    loop {
        let short = line(format!("{about}{sent} tokens"), &rest);
        if display_width(&short) <= width || rest.pop().is_none() {
            return short;
        }
    }
}

/// `noted preference 5.1: I want window seats. (replaces 1.2; !forget 5.1, !facts correct 5.1 TEXT)`.
fn noted(entry: &LedgerEntry) -> String {
    let (id, kind, text) = (entry.id, entry.kind.as_str(), shorten(&entry.text, FACT));
    let replaced: Vec<_> = entry.replaces.iter().map(ToString::to_string).collect();
    let replaces = if replaced.is_empty() { String::new() } else { format!("replaces {}; ", replaced.join(", ")) };
    format!("noted {kind} {id}: {text} ({replaces}!forget {id}, !facts correct {id} TEXT)")
}

/// Entries of the ledger that the messages of a turn have added.
pub(in super::super) async fn learned(conversation: &Conversation, turn: &Turn) -> anyhow::Result<Vec<LedgerEntry>> {
    let Some(nodes) = turn.nodes else { return Ok(Vec::new()) };
    let is_new = |entry: &LedgerEntry| match entry.id {
        EntryId::Said { node, .. } => nodes.contains(node) && entry.status == EntryStatus::Current,
        EntryId::Recorded(_) => false,
    };
    let ledger = conversation.ledger(&LedgerRequest::default()).await?;
    Ok(ledger.entries.into_iter().filter(is_new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_after_a_turn_is_at_most_as_wide_as_the_screen() {
        let mut turn = Turn::default();
        turn.nodes = memory::NodeRange::first_n(1_204);
        turn.usage.requests = 2;
        turn.usage.cost = Some(0.0031);
        (turn.last.prompt_tokens, turn.last.cached_tokens) = (1_204, 600);
        assert_eq!(
            status(0, 200_000, &turn, 100),
            "messages 1-1204 · sent 1,204 of 200,000 tokens · 50 % cached · cost 0.0031 · 2 requests"
        );
        assert_eq!(status(0, 200_000, &turn, 60), "messages 1-1204 · 1,204 tokens · 50 % cached · cost 0.0031");
        for width in 40..100 {
            assert!(display_width(&status(0, 200_000, &turn, width)) <= width);
        }
    }
}
