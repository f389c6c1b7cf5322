//! Prints the state of a conversation: goal, decisions, open questions.

use std::io;

use memory_core::RelationKind;
use memory_hooks::{DerivedState, Link, Statement};

use crate::output::{Output, grouped, known};

/// Prints a state as sections of lines.
pub(super) fn print(output: Output, state: &DerivedState) -> io::Result<()> {
    let derived = |is_derived| if is_derived { " (by its first message)" } else { "" };
    let title = state.title.as_ref().map(|title| format!("{}{}", title.text, derived(title.is_derived)));
    let [full, summary, meta, archive] = state.nodes_per_level.map(grouped);
    let marks = [(state.important, "important"), (state.archived, "archived")];
    let tags: Vec<_> = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| (*mark).to_owned()).collect();
    let facts = [
        ("title", title),
        ("marks", Some(tags.join(", ")).filter(|marks| !marks.is_empty())),
        ("tags", Some(state.tags.join(", ")).filter(|tags| !tags.is_empty())),
        (
            "messages",
            Some(format!("{} ({full} full, {summary} summary, {meta} meta, {archive} archive)", grouped(state.nodes))),
        ),
        ("first said", state.first_at.and_then(known)),
        ("last said", state.last_at.and_then(known)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            output.line(&format!("{name}: {value}"))?;
        }
    }
    section(output, "goal", state.goal.as_slice())?;
    section(output, "decided", &state.decisions)?;
    section(output, "open", &state.open)?;
    if !state.topics.is_empty() {
        output.line("")?;
        let rows = state.topics.iter().map(|topic| {
            let nodes = format!("{}-{}", topic.first, topic.last);
            [topic.name.clone(), grouped(topic.messages), nodes, format!("{:.1}", topic.weight)]
        });
        output.table(["about", "messages", "nodes", "weight"], rows)?;
    }
    if !state.links.is_empty() {
        output.line("")?;
        for link in &state.links {
            output.line(&format!("message {} {} message {}", link.node, verb(link), link.relation.to))?;
        }
    }
    Ok(())
}

fn section(output: Output, name: &str, statements: &[Statement]) -> io::Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line(&format!("{name}:"))?;
    for statement in statements {
        let day = statement.at.civil(0).map(|day| format!(", {}", day.date())).unwrap_or_default();
        let Statement { text, node, speaker, .. } = statement;
        output.line(&format!("- {text} (message {node}, {speaker}{day})"))?;
    }
    Ok(())
}

fn verb(link: &Link) -> &'static str {
    match link.relation.kind {
        RelationKind::FollowUp => "follows up",
        RelationKind::Correction => "corrects",
    }
}
