//! A reminder of a conversation's state, for resuming it.

use memory_core::{Message, Node, NodeId, NodeRange, Role, text::floor_char_boundary};

use memory_strategies::{has_matter, is_small_talk};

use crate::{
    Conversation, DerivedState, MemoryError, Statement, render, snapshot_cache::Snapshot, title::is_of_people,
};

/// Share of the budget for the last exchange, before the other sections.
const EXCHANGE: f64 = 0.4;
/// Messages from the end in which the last exchange is looked for.
const END: u64 = 40;
/// Messages of the last exchange of people.
const LAST: usize = 4;

/// State of a conversation when it was left: goal, rules, decisions, open questions, the last exchange, and the time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Reminder {
    /// Text for a model or a person; empty if the conversation has no message, or nothing fits the budget. Words of
    /// messages in it are escaped as in a prompt.
    pub text: String,
    /// Tokens of the text.
    pub tokens: u32,
    /// Most tokens of the text.
    pub budget: u32,
    /// Messages that the text quotes, in order.
    pub nodes: Vec<NodeId>,
    /// State that the text was made from.
    pub state: DerivedState,
}

/// A line of a section, and its message.
type Line = (String, Option<NodeId>);

/// A section of the text, and its lines; the first to keep stand first.
struct Section {
    heading: &'static str,
    lines: Vec<Line>,
}

impl Conversation {
    /// A reminder of the conversation's state in at most `budget` tokens, for resuming it. Parts that do not fit are
    /// left out: subjects first, then the oldest rules, decisions and open questions. Nothing is recorded.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn reminder(&self, budget: u32) -> Result<Reminder, MemoryError> {
        self.call(move |this| async move {
            let state = this.state().await?;
            let exchange = this.last_exchange(state.nodes).await?;
            let count = |text: &str| this.parts.count(text);
            let (text, nodes) = written(&state, &exchange, budget, &count);
            Ok(Reminder { tokens: count(&text), text, budget, nodes, state })
        })
        .await
    }

    /// The last message of the user that is a question or a wish, and the model's last words after it; of people among
    /// themselves, the last messages that say something.
    async fn last_exchange(&self, total: u64) -> Result<Vec<Spoken>, MemoryError> {
        let first = NodeId::new(total.saturating_sub(END) + 1);
        let run = first.zip(NodeId::new(total)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(run) = run else { return Ok(Vec::new()) };
        let nodes = self.parts.store.readable_nodes(&self.id, run).await?.nodes;
        let redactor = Snapshot::read(&self.parts, &self.id).await?.redactor;
        let spoken = |node: &Node| Spoken {
            node: node.id,
            label: render::label(&node.message),
            text: redactor.redact(said(&node.message).trim()),
        };
        let is_said = |node: &&Node| {
            !node.is_hidden() && !node.message.keep_out_of_summaries && !said(&node.message).trim().is_empty()
        };
        let nodes: Vec<_> = nodes.iter().filter(is_said).collect();
        if is_of_people(nodes.iter().copied()) {
            let of_matter = nodes.iter().rev().filter(|node| {
                let text = said(&node.message);
                has_matter(&text) && !is_small_talk(&text)
            });
            let mut last: Vec<_> = of_matter.take(LAST).map(|node| spoken(node)).collect();
            last.reverse();
            return Ok(last);
        }
        let asked = nodes.iter().rev().find(|node| node.message.begins_prompt());
        let answered = nodes.iter().rev().find(|node| node.message.role == Role::Assistant);
        let answered = answered.filter(|answer| asked.is_none_or(|asked| answer.id > asked.id));
        Ok(asked.into_iter().chain(answered).map(|node| spoken(node)).collect())
    }
}

/// A message of the last exchange, without content that is excluded from summaries.
struct Spoken {
    node: NodeId,
    label: String,
    text: String,
}

/// Words of a message, without calls, results and files.
fn said(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        memory_core::ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The text of the reminder, and the messages in it.
fn written(
    state: &DerivedState,
    exchange: &[Spoken],
    budget: u32,
    count: &dyn Fn(&str) -> u32,
) -> (String, Vec<NodeId>) {
    let lead = lead(state);
    if state.nodes == 0 || count(&lead) > budget {
        return (String::new(), Vec::new());
    }
    let of_exchange = tokens_of(budget.saturating_sub(count(&lead)), EXCHANGE);
    let each = of_exchange / u32::try_from(exchange.len()).unwrap_or(u32::MAX).max(1);
    let exchange = exchange.iter().map(|spoken| (beginning(spoken, each, count), Some(spoken.node))).collect();
    let newest = |statements: &[Statement]| statements.iter().rev().map(|s| (item(s), Some(s.node))).collect();
    let topics: Vec<_> = state.topics.iter().map(|topic| render::escape_in_reminder(&topic.name)).collect();
    let about = if topics.is_empty() { Vec::new() } else { vec![(topics.join(", "), None)] };
    // Sections in the order of the text; the most important is tried first.
    let sections = [
        Section { heading: "Goal:", lines: newest(state.goal.as_slice()) },
        Section { heading: "Rules:", lines: newest(&state.rules) },
        Section { heading: "Decided:", lines: newest(&state.decisions) },
        Section { heading: "Open:", lines: newest(&state.open) },
        Section { heading: "About:", lines: about },
        Section { heading: "Last exchange:", lines: exchange },
    ];
    let mut kept: [Vec<Line>; 6] = Default::default();
    for (place, line) in by_rank(&sections) {
        let Some(of) = kept.get_mut(place) else { continue };
        of.push(line);
        if count(&text_of(&lead, &sections, &kept)) > budget {
            kept.get_mut(place).map(Vec::pop);
        }
    }
    let mut nodes: Vec<_> = kept.iter().flatten().filter_map(|(_, node)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    (text_of(&lead, &sections, &kept), nodes)
}

/// The lines by importance: goal and last exchange, then rules, open questions and decisions in turn, then subjects.
fn by_rank(sections: &[Section; 6]) -> Vec<(usize, Line)> {
    let [goal, rules, decided, open, about, exchange] = sections;
    let of = |place: usize, section: &Section| {
        section.lines.iter().map(move |line| (place, line.clone())).collect::<Vec<_>>()
    };
    let mut ranked = [of(0, goal), of(5, exchange)].concat();
    let mut in_turn = [of(1, rules), of(3, open), of(2, decided)].map(Vec::into_iter);
    loop {
        let next: Vec<_> = in_turn.iter_mut().filter_map(Iterator::next).collect();
        if next.is_empty() {
            break;
        }
        ranked.extend(next);
    }
    ranked.extend(of(4, about));
    ranked
}

fn text_of(lead: &str, sections: &[Section; 6], kept: &[Vec<Line>; 6]) -> String {
    let mut text = lead.to_owned();
    for (section, lines) in sections.iter().zip(kept).filter(|(_, lines)| !lines.is_empty()) {
        let mut lines: Vec<_> = lines.iter().collect();
        lines.sort_by_key(|(_, node)| *node);
        let lines: Vec<_> = lines.into_iter().map(|(line, _)| line.as_str()).collect();
        match section.heading {
            "Goal:" | "About:" => text.push_str(&format!("\n{} {}", section.heading, lines.join(" "))),
            "Last exchange:" => text.push_str(&format!("\n{}\n{}", section.heading, lines.join("\n"))),
            heading => text.push_str(&format!("\n{heading}\n- {}", lines.join("\n- "))),
        }
    }
    text
}

/// `Where "Rome in May" (trip) stood after 412 messages, the last of Sunday 2023-05-21, 19:48:`
fn lead(state: &DerivedState) -> String {
    let title = state
        .title
        .as_ref()
        .map(|title| format!("\"{}\" (", render::escape_in_reminder(&title.text).replace('"', "'")));
    let (opens, closes) = title.as_deref().map_or(("", ""), |title| (title, ")"));
    let last = state.last_at.and_then(|at| at.civil(0)).map(|at| format!(", the last of {at}")).unwrap_or_default();
    let messages = if state.nodes == 1 { "message" } else { "messages" };
    format!("Where {opens}{}{closes} stood after {} {messages}{last}:", state.id, state.nodes)
}

/// `We take the night train. (message 12, Ana, 2023-05-19)`
fn item(statement: &Statement) -> String {
    let day = statement.at.civil(0).map(|day| format!(", {}", day.date())).unwrap_or_default();
    let speaker = render::escape_in_reminder(&statement.speaker);
    format!("{} (message {}, {speaker}{day})", render::escape_in_reminder(&statement.text), statement.node)
}

/// `[Message 411, user]: …`, the beginning of at most `most` tokens.
fn beginning(spoken: &Spoken, most: u32, count: &dyn Fn(&str) -> u32) -> String {
    let text = spoken.text.as_str();
    let mut bytes = text.len();
    while bytes > 0 && count(text.get(..bytes).unwrap_or_default()) > most {
        bytes = floor_char_boundary(text, bytes * 3 / 4);
    }
    let dots = if bytes < text.len() { " […]" } else { "" };
    let head = render::escape_in_reminder(text.get(..bytes).unwrap_or_default().trim_end());
    format!("[Message {}, {}]: {head}{dots}", spoken.node, spoken.label)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
fn tokens_of(budget: u32, share: f64) -> u32 {
    (f64::from(budget) * share) as u32
}
