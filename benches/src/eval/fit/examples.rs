//! Examples that weights are fitted to: questions with their candidates, in several scopes.

use std::{borrow::Cow, path::PathBuf};

use anyhow::{Context, Result};
use memory_core::{
    ConversationId, NodeId,
    port::{Hit, Query, Scope},
};

use crate::eval::{Asked, EvalParts, Question, everything, import, index, progress_bar, questions};

/// Hits of a question, as many as the ranker has candidates.
const CANDIDATES: usize = 200;
/// Signals that the probability of a hit depends on.
const COVERAGE: [&str; 2] = ["coverage", "coverage_window"];
/// The signal of hits from conversations with an agent.
const OF_AGENT: &str = "of_agent";
/// The signal of hits from conversations of more than two people.
const OF_GROUP: &str = "of_group";
/// The signal of a hit that was compared by token vectors.
const LATE: &str = "late";
/// Signals that are not features: the substitute for unmeasured ones, and the contribution of the neighbours.
const NO_FEATURES: [&str; 2] = ["unmeasured", "neighbours"];

/// A question's candidates in one scope.
pub(super) struct Example {
    /// The number of its data directory.
    pub(super) data: usize,
    /// The scope; `None` if the question was asked of a conversation of other data, which does not answer it.
    pub(super) asked: Option<Asked>,
    pub(super) conversation: String,
    pub(super) candidates: Vec<Row>,
    /// Turns of evidence, including those that are not candidates.
    pub(super) evidence: usize,
    /// Indices of the coverages among the values.
    pub(super) coverage: [Option<usize>; 2],
}

/// A candidate, with a value for each signal.
pub(super) struct Row {
    pub(super) values: Vec<f64>,
    /// Kind of its conversation, from 0: with an agent, between two people, among more.
    pub(super) kind: usize,
    pub(super) is_evidence: bool,
    pub(super) conversation: ConversationId,
    pub(super) node: NodeId,
}

/// A question with its hits, before the names of the signals are known.
struct Found {
    data: usize,
    asked: Option<Asked>,
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
        if !NO_FEATURES.contains(&&*signal.name) && !names.contains(&signal.name) {
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
    let everything = everything(parts, known.iter().flat_map(|(_, subjects)| subjects.keys()).cloned()).await?;
    let mut found = Vec::new();
    let others: Vec<_> = known.iter().map(|(_, subjects)| subjects.keys().min().cloned()).collect();
    for (number, (questions, subjects)) in known.into_iter().enumerate() {
        let bar = progress_bar(questions.len() as u64, "questions");
        for question in questions {
            bar.inc(1);
            let Some(subject) = subjects.get(&question.conversation) else { continue };
            let other = others.iter().cycle().skip(number + 1).flatten().next();
            let scopes = [
                (Some(Asked::One), Scope::one(&question.conversation)),
                (Some(Asked::All), everything.clone()),
                (None, Scope::only(other.cloned().into_iter().collect())),
            ];
            for (asked, scope) in scopes {
                let query = Query::new(&question.text, scope).limit(CANDIDATES);
                let hits =
                    parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
                let mut hits = hits.hits;
                // Hits without token vectors rank after all others whatever the weights, so nothing is fitted to them.
                if hits.iter().any(is_late) {
                    hits.retain(is_late);
                }
                let is_evidence = |hit: &Hit| {
                    hit.conversation == question.conversation
                        && subject.key(hit.node.id).is_some_and(|key| question.evidence.contains(key.as_str()))
                };
                let hits = hits
                    .into_iter()
                    .map(|hit| {
                        let is = is_evidence(&hit);
                        (hit, is)
                    })
                    .collect();
                found.push(Found { data: first + number, asked, question: question.clone(), hits });
            }
        }
        bar.finish_and_clear();
    }
    Ok(found)
}

impl Found {
    fn example(self, names: &[Cow<'static, str>]) -> Example {
        let Self { data, asked, question, hits } = self;
        let value =
            |hit: &Hit, name: &str| hit.signals.iter().find(|signal| signal.name == name).map_or(0.0, |s| s.value);
        let row = |(hit, is_evidence): (Hit, bool)| Row {
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
            asked,
            conversation: question.conversation.to_string(),
            candidates: hits.into_iter().map(row).collect(),
            evidence: asked.map_or(0, |_| question.evidence.len()),
            coverage: COVERAGE.map(|name| names.iter().position(|known| known == name)),
        }
    }
}

fn is_late(hit: &Hit) -> bool {
    hit.signals.iter().any(|signal| signal.name == LATE)
}
