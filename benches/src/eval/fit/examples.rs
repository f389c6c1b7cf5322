//! Examples that weights are fitted to: questions with their candidates, in several scopes.

use std::{borrow::Cow, collections::BTreeSet, path::PathBuf};

use anyhow::{Context, Result};
use memory_core::{
    ConversationId, NodeDraft, NodeId, NodeRange,
    port::{Hit, Query, Scope},
};

use super::relevance::{BEARING, FEATURES};
use crate::eval::{Asked, EvalParts, Question, Subject, import, index, progress_bar, questions};

/// Number of hits of a question, which is that of the ranker's candidates; fewer where none is evidence.
const CANDIDATES: usize = 200;
const WITHOUT_EVIDENCE: usize = 64;
/// One question in so many is also asked of a conversation of [`SHORT`] messages around its first evidence, and so is
/// the next one whose evidence is elsewhere.
const EACH_SHORT: usize = 6;
const SHORT: u64 = 10;
/// Signals that mark conversations with an agent, and conversations of more than two people.
const OF_AGENT: &str = "of_agent";
const OF_GROUP: &str = "of_group";
/// The signal of a hit that was compared by token vectors.
const LATE: &str = "late";
/// Signals that are not features: the substitute for unmeasured ones, the contribution of the neighbours, and what a
/// repetition of the question costs and gives.
const NO_FEATURES: [&str; 4] = ["unmeasured", "neighbours", "repeats_question", "answers_question"];

/// Where a question was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In its conversation, or in all of its store.
    Own(Asked),
    /// In another conversation, which does not answer it.
    Moved,
    /// In a conversation of a few messages.
    Short,
}

/// A question's candidates in one place.
pub(super) struct Example {
    /// The number of its data directory.
    pub(super) data: usize,
    pub(super) place: Place,
    pub(super) conversation: String,
    pub(super) candidates: Vec<Row>,
    /// Turns of evidence, including those that are not candidates.
    pub(super) evidence: usize,
}

/// A candidate.
pub(super) struct Row {
    pub(super) values: Vec<f64>,
    /// Evidence that it is relevant, in the order of [`BEARING`].
    pub(super) bearing: [f64; BEARING.len()],
    pub(super) kind: usize,
    pub(super) is_evidence: bool,
    pub(super) conversation: ConversationId,
    pub(super) node: NodeId,
}

/// A question with its hits, before the names of the signals are known.
struct Found {
    data: usize,
    place: Place,
    question: Question,
    hits: Vec<(Hit, bool)>,
}

/// The names of the signals, and the examples of all directories of all stores.
///
/// # Errors
/// When data cannot be read, or a search fails.
pub(super) async fn of(stores: &[(&EvalParts, &[PathBuf])]) -> Result<(Vec<Cow<'static, str>>, Vec<Example>)> {
    let mut found = Vec::new();
    let mut first = 0;
    for (parts, data) in stores {
        found.extend(search(parts, data, first).await?);
        first += data.len();
    }
    let signals = found.iter().flat_map(|found| &found.hits).flat_map(|(hit, _)| &hit.signals);
    let mut names: Vec<Cow<'static, str>> = Vec::new();
    signals.for_each(|signal| {
        let is_feature =
            !NO_FEATURES.contains(&&*signal.name) && !BEARING.iter().skip(FEATURES).any(|name| *name == signal.name);
        if is_feature && !names.contains(&signal.name) {
            names.push(signal.name.clone())
        }
    });
    let examples = found.into_iter().map(|found| found.example(&names)).collect();
    Ok((names, examples))
}

/// Asks the questions of the directories of one store; the number of the first directory is `first`.
async fn search(parts: &EvalParts, data: &[PathBuf], first: usize) -> Result<Vec<Found>> {
    let mut known = Vec::new();
    for data in data {
        let subjects = import(parts, data).await?;
        index(parts, subjects.values()).await?;
        known.push((questions(data)?, subjects));
    }
    let everything = Scope::only(known.iter().flat_map(|(_, subjects)| subjects.keys()).cloned().collect());
    let mut examples = Vec::new();
    let others: Vec<_> = known.iter().map(|(_, subjects)| subjects.keys().min().cloned()).collect();
    for (number, (questions, subjects)) in known.iter().enumerate() {
        let bar = progress_bar(questions.len() as u64, "questions");
        let mut names: Vec<_> = subjects.keys().collect();
        names.sort();
        for (at, question) in questions.iter().enumerate() {
            bar.inc(1);
            let Some(subject) = subjects.get(&question.conversation) else { continue };
            let other = others.iter().cycle().skip(number + 1).flatten().next().filter(|_| others.len() > 1);
            let beside = names.iter().cycle().skip_while(|name| **name != &question.conversation).nth(1);
            let beside = beside.copied().filter(|name| **name != question.conversation);
            let mut asked = vec![
                (Place::Own(Asked::One), question, Scope::one(&question.conversation)),
                (Place::Own(Asked::All), question, everything.clone()),
            ];
            asked.extend(other.into_iter().chain(beside).map(|other| (Place::Moved, question, Scope::one(other))));
            if at % EACH_SHORT == 0
                && let Some((short, shown)) = shortened(parts, question, subject).await?
            {
                let is_elsewhere = |other: &&Question| {
                    other.conversation == question.conversation && other.evidence.is_disjoint(&shown)
                };
                let elsewhere = questions.iter().cycle().skip(at + 1).take(questions.len()).find(is_elsewhere);
                let both = [Some(question), elsewhere].into_iter().flatten();
                asked.extend(both.map(|question| (Place::Short, question, Scope::one(&short))));
            }
            for (place, question, scope) in asked {
                let limit = if place == Place::Moved { WITHOUT_EVIDENCE } else { CANDIDATES };
                let query = Query::new(&question.text, scope).limit(limit);
                let found =
                    parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
                let mut hits = found.hits;
                // Hits that were not compared by token vectors come after those that were.
                if hits.iter().any(is_late) {
                    hits.retain(is_late);
                }
                let is_evidence = |hit: &Hit| match place {
                    Place::Own(_) => {
                        hit.conversation == question.conversation
                            && subject.key(hit.node.id).is_some_and(|key| question.evidence.contains(key.as_str()))
                    }
                    Place::Moved => false,
                    Place::Short => {
                        hit.node.message.key.as_ref().is_some_and(|key| question.evidence.contains(key.as_str()))
                    }
                };
                let hits = hits
                    .into_iter()
                    .map(|hit| {
                        let is = is_evidence(&hit);
                        (hit, is)
                    })
                    .collect();
                examples.push(Found { data: first + number, place, question: question.clone(), hits });
            }
        }
        bar.finish_and_clear();
    }
    Ok(examples)
}

/// A conversation of a few messages of `subject`, among them the first evidence, and the ids of its turns.
async fn shortened(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
) -> Result<Option<(ConversationId, BTreeSet<String>)>> {
    let nodes = (0..subject.outline.len()).map(NodeId::from_index);
    let is_evidence = |node: &NodeId| subject.key(*node).is_some_and(|key| question.evidence.contains(key.as_str()));
    let Some(evidence) = nodes.clone().find(is_evidence) else { return Ok(None) };
    let first = evidence.get().saturating_sub(evidence.get() % SHORT).max(1);
    let last = (first + SHORT - 1).min(subject.outline.len() as u64);
    let Some(run) = NodeId::new(first).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last))
    else {
        return Ok(None);
    };
    let short = ConversationId::new(&format!("short-{}", question.id))?;
    let nodes = parts.store.nodes(&subject.id, run).await?;
    let shown = nodes.iter().filter_map(|node| Some(node.message.key.as_ref()?.as_str().to_owned())).collect();
    let drafts = nodes.into_iter().map(|node| NodeDraft::new(node.message, node.at, node.tokens)).collect();
    parts.store.append(&short, drafts).await?;
    parts.retriever.catch_up(&short, &()).await?;
    Ok(Some((short, shown)))
}

impl Found {
    fn example(self, names: &[Cow<'static, str>]) -> Example {
        let Self { data, place, question, hits } = self;
        let value =
            |hit: &Hit, name: &str| hit.signals.iter().find(|signal| signal.name == name).map_or(0.0, |s| s.value);
        let evidence = match place {
            Place::Own(_) => question.evidence.len(),
            Place::Moved | Place::Short => hits.iter().filter(|(_, is_evidence)| *is_evidence).count(),
        };
        let row = |(hit, is_evidence): (Hit, bool)| Row {
            bearing: BEARING.map(|name| f64::from(value(&hit, name))),
            values: names.iter().map(|name| f64::from(value(&hit, name))).collect(),
            kind: match (value(&hit, OF_AGENT) > 0.0, value(&hit, OF_GROUP) > 0.0) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => 2,
            },
            is_evidence,
            node: hit.node.id,
            conversation: hit.conversation,
        };
        Example {
            data,
            place,
            conversation: question.conversation.to_string(),
            candidates: hits.into_iter().map(row).collect(),
            evidence,
        }
    }
}

fn is_late(hit: &Hit) -> bool {
    hit.signals.iter().any(|signal| signal.name == LATE)
}
