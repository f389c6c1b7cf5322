//! `memory search`: finds the messages that answer a question best.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroUsize,
    ops::Range,
};

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{
    ConversationId, MemoryUsed, Node, NodeId,
    port::{
        AnsweredBy, CachedInMemory, Hit, Losses, Notice, Query, Retrieved, Scope, SearchStep, Signal, Store, StoreError,
    },
};
use memory_hooks::{Memory, MemoryError};
use memory_search::{Excerpted, excerpt};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    filter::FilterArgs,
    message::{self, Brief, MOST_CHARS},
    resolve,
};
use crate::{
    Access,
    globals::Globals,
    news::{self, News},
    open,
    output::{Field, Line, Noted, counted, grouped, single_spaced},
};

/// Finds the messages that answer a question best.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The question, also after the name of its conversation
    #[arg(value_parser = resolve::question)]
    question: String,
    #[command(flatten)]
    conversations: resolve::SeveralOrAll,
    /// The most hits
    #[arg(long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
    /// The least relevance of a hit, from 0 to 1: the probability that it bears on the question. At 0.1 most questions
    /// that nothing answers get no hit
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    min_relevance: f32,
    /// Messages shown before and after each hit, at most 20
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=message::MOST_AROUND))]
    neighbours: u64,
    /// Also say why each hit has its rank
    #[arg(long)]
    explain: bool,
    /// Also find disabled messages
    #[arg(long)]
    disabled: bool,
    // The filter is last, since its heading would stand over any options after it.
    #[command(flatten)]
    filter: FilterArgs,
}

/// Messages that answer the question best.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// The question.
    question: &'a str,
    /// Hits, the best first.
    hits: Vec<ShownHit<'a>>,
    /// Sources quoted in this answer.
    used: MemoryUsed,
    /// The steps of the search, in order.
    steps: &'a [SearchStep],
    /// Data that this process holds in memory.
    held: &'a [CachedInMemory],
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownHit<'a> {
    #[serde(flatten)]
    hit: &'a Hit,
    /// Part of the text that bears on the question.
    excerpt: ExcerptPart,
    /// Words of the question in the text, as byte ranges.
    highlights: Vec<Range<usize>>,
    /// Messages before the hit, with `--neighbours`.
    before: Vec<Brief<'a>>,
    /// Messages after the hit, with `--neighbours`.
    after: Vec<Brief<'a>>,
    /// Places of further hits with the same words of the same speaker.
    also: Vec<Place<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Place<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Number of the message.
    node: NodeId,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExcerptPart {
    /// First byte of the part in the text.
    start: usize,
    /// Byte after the part.
    end: usize,
    /// Text of the part.
    text: String,
}

impl<'a> ShownHit<'a> {
    fn of(found: &'a WithNeighbours, again: &'a [Hit], question: &str) -> Self {
        let WithNeighbours { hit, before, after } = found;
        let text = hit.node.message.text();
        let Excerpted { range, highlights, .. } = excerpt(&text, question, MOST_CHARS);
        let part = text.get(range.clone()).unwrap_or_default().to_owned();
        Self {
            hit,
            excerpt: ExcerptPart { start: range.start, end: range.end, text: part },
            highlights,
            before: before.iter().map(Brief::of).collect(),
            after: after.iter().map(Brief::of).collect(),
            also: again.iter().map(|hit| Place { conversation: &hit.conversation, node: hit.node.id }).collect(),
        }
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?)?;
    let (ids, question) = args.conversations.ids(&runtime, &args.question, globals.output).await?;
    let query = Query::new(&question, Scope::only(ids.clone()))
        .filter(args.filter.filter()?.disabled(args.disabled))
        .limit(args.limit.get())
        .min_relevance(args.min_relevance);
    let found = Found::by(&runtime, &question, query, args.neighbours, globals).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&found.answer())?);
    }
    let Found { hits, again, steps, held, news, .. } = &found;
    news::print(output, news);
    if hits.is_empty() {
        output.line("no message bears on that question")?;
        let hidden = hidden(&runtime, &ids).await?;
        if hidden > 0 {
            let hidden = counted(hidden, "older message is", "older messages are");
            output.note(&format!("{hidden} over a limit, and not searched: `memory retention` lists the limits"));
        }
        return Ok(());
    }
    let why = |signals: &[Signal]| {
        signals.iter().map(|s| format!("{} {:.2} (+{:.2})", s.name, s.value, s.share)).collect::<Vec<_>>().join(", ")
    };
    let names = resolve::ShownNames::of(&runtime).await?;
    let shown: Vec<_> = hits.iter().zip(again).collect();
    let conversations: BTreeSet<_> = hits.iter().map(|hit| &hit.hit.conversation).collect();
    let row = |(WithNeighbours { hit, before, after }, again): &(&WithNeighbours, &Vec<Hit>)| {
        let beside = |node: &Node| Line::default().plain(&format!("{} {}", node.id, message::beginning(node)));
        let number = if args.neighbours > 0 { format!("{} ", hit.node.id) } else { String::new() };
        let mut lines: Vec<_> = before.iter().map(beside).collect();
        lines.push(excerpted(Line::default().plain(&number), &hit.node, &question));
        lines.extend(after.iter().map(beside));
        if !again.is_empty() {
            let place = |other: &Hit| match other.conversation == hit.conversation {
                true => other.node.id.to_string(),
                false => format!("{} {}", names.name(&other.conversation), other.node.id),
            };
            let places = again.iter().map(place).collect::<Vec<_>>().join(", ");
            lines.push(Line::default().plain(&format!("(said {} times: also {places})", again.len() + 1)));
        }
        if args.explain {
            lines.push(Line::default().plain(&format!("score {:.3}: {}", hit.score.value, why(&hit.signals))));
        }
        [
            hit.node.id.to_string().into(),
            hit.node.at.civil(0).map_or_else(String::new, |at| at.date()).into(),
            hit.relevance.map_or_else(String::new, |chance| format!("{:.0} %", chance * 100.0)).into(),
            Field::high(lines),
        ]
    };
    match conversations.first() {
        Some(only) if conversations.len() == 1 => {
            output.line(&format!("in {}:", names.name(only)))?;
            output.table_without(["node", "day", "relevance", "message"], shown.iter().map(row), &["relevance"])?;
        }
        _ => output.table_without(
            ["conversation", "node", "day", "relevance", "message"],
            shown.iter().map(|one| {
                let [node, day, relevance, message] = row(one);
                [names.name(&one.0.hit.conversation).into(), node, day, relevance, message]
            }),
            &["relevance", "day"],
        )?,
    }
    if args.explain {
        let step = |step: &SearchStep| {
            format!("{} {:.1} ms ({})", step.name, step.took.as_secs_f64() * 1_000.0, step.candidates)
        };
        let shown: Vec<_> = steps.iter().map(step).collect();
        output.line(&format!("steps (messages looked at): {}", shown.join(", ")))?;
        let vectors: Compared = steps.iter().flat_map(|step| step.compared.clone()).collect();
        explain(&vectors).map_or(Ok(()), |how| output.line(&how))?;
        let held = held.iter().map(|h| format!("{} {} of at most {}", h.kind, grouped(h.bytes), grouped(h.limit)));
        let held: Vec<_> = held.collect();
        output.line(&format!("held in memory, in bytes: {}", held.join(", ")))?;
    }
    Ok(())
}

/// Hits of a search, and its news.
pub(crate) struct Found<'a> {
    question: &'a str,
    hits: Vec<WithNeighbours>,
    /// Further hits with the words of each.
    again: Vec<Vec<Hit>>,
    used: MemoryUsed,
    steps: Vec<SearchStep>,
    held: Vec<CachedInMemory>,
    news: Vec<News>,
}

impl<'a> Found<'a> {
    /// Searches, and reads `neighbours` messages on each side of each hit.
    pub(crate) async fn by(
        runtime: &Parts,
        question: &'a str,
        query: Query,
        neighbours: u64,
        globals: &Globals,
    ) -> Result<Self, MemoryError> {
        let limit = query.limit;
        let (mut found, again) = folded(&runtime.memory, query, limit).await?;
        globals.keep_news(&mut found.notices);
        let used = found.used();
        let (hits, losses) = with_neighbours(&*runtime.store, found.hits, neighbours).await?;
        // The search itself reports messages that it could not read.
        let is_named = |id: &ConversationId| {
            let names =
                |notice: &Notice| matches!(notice, Notice::Unreadable { conversation, .. } if conversation == id);
            found.notices.iter().any(names)
        };
        let lost: Vec<_> =
            losses.iter().filter(|(id, _)| !is_named(id)).filter_map(|(id, lost)| lost.notice(id)).collect();
        let news = news::of(found.notices.into_iter().chain(lost));
        Ok(Self { question, hits, again, used, steps: found.steps, held: runtime.retriever.held(), news })
    }

    pub(crate) fn answer(&self) -> Noted<'_, Answer<'_>> {
        let Self { question, hits, again, used, steps, held, news } = self;
        let hits = hits.iter().zip(again).map(|(hit, again)| ShownHit::of(hit, again, question)).collect();
        Noted { answer: Answer { question, hits, used: used.clone(), steps, held }, notices: news }
    }
}

/// Messages of conversations that a limit hides from recall.
async fn hidden(runtime: &Parts, ids: &[ConversationId]) -> Result<u64, StoreError> {
    let mut hidden = 0;
    for id in ids {
        let state = runtime.store.conversation(id).await?;
        hidden += runtime.archive_limits(&state).archived(&*runtime.store, &state).await?.evicted;
    }
    Ok(hidden)
}

/// Searches until there are `limit` hits with different words, or no more. Returns also the further hits with the words
/// of each.
async fn folded(memory: &Memory, query: Query, limit: usize) -> Result<(Retrieved, Vec<Vec<Hit>>), MemoryError> {
    let mut most = limit;
    loop {
        let mut found = memory.search(query.clone().limit(most)).await?;
        let is_all = found.hits.len() < most || most >= limit.saturating_mul(MOST_FOLDED);
        let mut groups = groups(std::mem::take(&mut found.hits));
        if is_all || groups.len() >= limit {
            groups.truncate(limit);
            let again;
            (found.hits, again) = groups.into_iter().unzip();
            return Ok((found, again));
        }
        most = most.saturating_mul(2);
    }
}

/// Most hits that are searched through for different words, in multiples of the limit.
const MOST_FOLDED: usize = 8;

/// Hits with equal words as one hit and the others, in the order of the best. A hit of known time stands for them.
fn groups(hits: Vec<Hit>) -> Vec<(Hit, Vec<Hit>)> {
    let (mut groups, mut places) = (Vec::<(Hit, Vec<Hit>)>::new(), HashMap::new());
    for mut hit in hits {
        let words = (hit.node.message.voice().to_owned(), hit.node.message.text());
        let place = *places.entry(words).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((first, again)) => {
                if hit.node.at.is_known() && !first.node.at.is_known() {
                    std::mem::swap(first, &mut hit);
                }
                again.push(hit);
            }
            None => groups.push((hit, Vec::new())),
        }
    }
    groups
}

/// Parses a probability.
fn probability(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number from 0 to 1"))
}

/// A hit with the messages around it.
struct WithNeighbours {
    hit: Hit,
    before: Vec<Node>,
    after: Vec<Node>,
}

/// Reads `count` messages on each side of each hit. Also returns the losses.
async fn with_neighbours(
    store: &dyn Store,
    hits: Vec<Hit>,
    count: u64,
) -> Result<(Vec<WithNeighbours>, BTreeMap<ConversationId, Losses>), StoreError> {
    let mut all = Vec::with_capacity(hits.len());
    let mut losses: BTreeMap<ConversationId, Losses> = BTreeMap::new();
    for hit in hits {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if count > 0 {
            let read = store.readable_nodes(&hit.conversation, message::around(hit.node.id, count)).await?;
            losses.entry(hit.conversation.clone()).or_default().extend(&read.losses);
            (before, after) = read.nodes.into_iter().partition(|node| node.id < hit.node.id);
            after.retain(|node| node.id != hit.node.id);
        }
        all.push(WithNeighbours { hit, before, after });
    }
    Ok((all, losses))
}

/// Adds the part of a message that bears on the question, with its speaker.
pub(super) fn excerpted(line: Line, node: &Node, question: &str) -> Line {
    let text = node.message.text();
    let Excerpted { range, highlights, .. } = excerpt(&text, question, MOST_CHARS);
    let part = |part| text.get(part).unwrap_or_default();
    let dots = |is_cut| if is_cut { "…" } else { "" };
    let mut line = line.plain(&format!("{}: {}", node.message.voice(), dots(range.start > 0)));
    let mut from = range.start;
    for word in highlights {
        line = line.plain(&single_spaced(part(from..word.start))).highlighted(part(word.clone()));
        from = word.end;
    }
    line.plain(&single_spaced(part(from..range.end))).plain(dots(range.end < text.len()))
}

/// Comparisons of vectors, by conversation.
pub(super) type Compared = BTreeMap<ConversationId, Vec<AnsweredBy>>;

/// `vectors compared by scan in 2 conversations, by graph (memory) in 1 conversation`; `None` if none were compared.
pub(super) fn explain(compared: &Compared) -> Option<String> {
    let mut conversations: BTreeMap<String, usize> = BTreeMap::new();
    compared.values().for_each(|ways| *conversations.entry(in_words(ways)).or_default() += 1);
    let unit = |count: &usize| if *count == 1 { "conversation" } else { "conversations" };
    let ways = conversations.iter().map(|(how, count)| format!("by {how} in {count} {}", unit(count)));
    let ways = ways.collect::<Vec<_>>().join(", ");
    (!ways.is_empty()).then(|| format!("vectors compared {ways}"))
}

fn in_words(ways: &[AnsweredBy]) -> String {
    ways.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_counted_over_conversations() {
        let id = |name| ConversationId::new(name).unwrap();
        let graph = AnsweredBy::Graph { backend: "memory" };
        let mut compared = Compared::new();
        assert_eq!(explain(&compared), None);
        compared.insert(id("a"), vec![AnsweredBy::Scan]);
        compared.insert(id("b"), vec![graph, AnsweredBy::SubsetScan]);
        compared.insert(id("c"), vec![AnsweredBy::Scan]);
        let words =
            "vectors compared by graph (memory) and scan of a subset in 1 conversation, by scan in 2 conversations";
        assert_eq!(explain(&compared).as_deref(), Some(words));
    }
}
