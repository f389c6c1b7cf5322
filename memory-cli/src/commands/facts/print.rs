//! Entries as lines of 80 columns, and a subject's history.

use memory_core::Timestamp;
use memory_hooks::{EntryStatus, Ledger, LedgerEntry, Replacement};

use crate::{
    news,
    output::{Output, grouped, shorten},
};

/// Columns of a line.
const WIDTH: usize = 80;

/// Prints entries, one a line, under the names of their conversations if there are several.
pub(super) fn ledger(output: Output, ledger: &Ledger) -> anyhow::Result<()> {
    if ledger.entries.is_empty() {
        output.line("nothing is known of it")?;
    }
    let is_of_one = ledger.entries.iter().all(|entry| Some(&entry.conversation) == first(ledger));
    let mut last = None;
    for entry in &ledger.entries {
        if !is_of_one && last != Some(&entry.conversation) {
            output.line(&format!("{}:", entry.conversation))?;
            last = Some(&entry.conversation);
        }
        output.line(&line(entry))?;
    }
    if ledger.more > 0 {
        output.note(&format!("{} more: --limit shows them", grouped(ledger.more)));
    }
    news::print(output, &news::of(ledger.notices.iter().cloned()));
    Ok(())
}

fn first(ledger: &Ledger) -> Option<&memory_core::ConversationId> {
    ledger.entries.first().map(|entry| &entry.conversation)
}

/// Prints the entries on a subject with all their words.
pub(super) fn history(output: Output, entries: &[LedgerEntry], ledger: &Ledger) -> anyhow::Result<()> {
    for entry in entries {
        let speaker = entry.speaker.clone().unwrap_or_else(|| entry.by.to_string());
        let end = end(entry).map(|end| format!("; {end}")).unwrap_or_default();
        output.line(&format!("{} {} {} ({speaker}{end})", day(entry.since), entry.id, entry.kind.as_str()))?;
        output.line(&format!("  {}", entry.text))?;
    }
    news::print(output, &news::of(ledger.notices.iter().cloned()));
    Ok(())
}

/// `120.1    decision   2026-03-02 We use Postgres 16. (until 2026-03-05: 130.1)`
pub(super) fn line(entry: &LedgerEntry) -> String {
    let (head, end) = around(entry);
    // The sign of a cut takes a column.
    let room = WIDTH.saturating_sub(head.chars().count() + end.chars().count() + 1).max(20);
    format!("{head}{}{end}", shorten(&entry.text, room))
}

/// The same with all words of the entry.
#[cfg(feature = "chat")]
pub(in super::super) fn whole(entry: &LedgerEntry) -> String {
    let (head, end) = around(entry);
    format!("{head}{}{end}", entry.text)
}

/// Words before and after those of an entry.
fn around(entry: &LedgerEntry) -> (String, String) {
    let head = format!("{:<8} {:<10} {} ", entry.id.to_string(), entry.kind.as_str(), day(entry.since));
    (head, end(entry).map(|end| format!(" ({end})")).unwrap_or_default())
}

/// The day of a time; the same width without one.
fn day(at: Option<Timestamp>) -> String {
    let day = at.and_then(|at| at.civil(0)).map(|day| day.date().to_string());
    day.unwrap_or_else(|| format!("{:10}", "-"))
}

/// Reason why an entry does not hold; `None` if it does.
fn end(entry: &LedgerEntry) -> Option<String> {
    match entry.status {
        EntryStatus::Current => return None,
        EntryStatus::Disabled => return Some("disabled".to_owned()),
        _ => {}
    }
    let until = entry.until.map_or_else(|| "over".to_owned(), |until| format!("until {}", day(Some(until))));
    Some(match &entry.replaced_by {
        Some(Replacement { entry: Some(id), .. }) => format!("{until}: {id}"),
        Some(Replacement { node: Some(node), .. }) => format!("{until}: message {node}"),
        _ => until,
    })
}
