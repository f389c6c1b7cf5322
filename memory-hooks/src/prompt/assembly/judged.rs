//! Turns that a model judges to matter for a question, to be shown verbatim.

use memory_core::{Level, NodeRange, port::Notice};

use super::Assembly;
use crate::{
    ContextJudged, MemoryError,
    judge::{Judge, JudgedSummary},
    render::{Body, Part},
};

/// Most requests to the model: about the shown summaries, and about those under its choice.
const ROUNDS: usize = 3;
/// Most tokens of messages that are all shown, without asking which of them.
const FEW_TOKENS: u64 = 400;

/// Result of a judgement.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// Turns to show, the most important first.
    pub(super) turns: Vec<NodeRange>,
    /// The reason for a missing judgement, if one was asked for.
    pub(super) notice: Option<Notice>,
}

impl Assembly<'_> {
    /// The turns under the shown summaries that a model judges to matter for a question. A failing model only adds a
    /// notice.
    pub(super) async fn judge(&mut self, question: &str, shown: &[Part]) -> Judged {
        let told: Vec<_> = shown.iter().filter_map(told).collect();
        if !self.options.smart_context || question.trim().is_empty() || told.is_empty() {
            return Judged::default();
        }
        let failed = |why: String| Judged { notice: Some(Notice::NotJudged { why }), ..Judged::default() };
        let Some(judge) = self.parts.judge.as_ref() else { return failed("no model was set for it".to_owned()) };
        let asked: Vec<_> = told.iter().map(|told| told.nodes).collect();
        match self.chosen(judge, question, told).await {
            Ok(spans) => {
                self.judged_by = Some(judge.name().to_owned());
                let (conversation, model) = (self.conversation.clone(), judge.name().to_owned());
                self.parts.report(ContextJudged { conversation, model, asked, chosen: spans.clone() }).await;
                let tree = &self.snapshot.tree;
                let turns = |span: &NodeRange| {
                    let last = span.last();
                    tree.turns_from(span.first()).take_while(move |turn| turn.first() <= last)
                };
                Judged { turns: spans.iter().flat_map(turns).collect(), notice: None }
            }
            Err(why) => failed(why),
        }
    }

    /// The messages that matter, the most important first; otherwise the reason for a missing choice.
    async fn chosen(
        &self,
        judge: &Judge,
        question: &str,
        mut told: Vec<JudgedSummary>,
    ) -> Result<Vec<NodeRange>, String> {
        let (tree, mut spans) = (&self.snapshot.tree, Vec::new());
        for round in 1..=ROUNDS {
            let chosen = judge.choose(question, &told, self.parts.counter.as_ref()).await;
            let mut under = Vec::new();
            for told in chosen.map_err(|error| error.to_string())? {
                let children = self.under(told).await.map_err(|error| error.to_string())?;
                if round == ROUNDS || children.is_empty() || tree.verbatim_cost(told.nodes) <= FEW_TOKENS {
                    spans.push(told.nodes);
                } else {
                    under.extend(children);
                }
            }
            if under.is_empty() {
                break;
            }
            told = under;
        }
        Ok(spans)
    }

    /// The summaries that a merged one was made from.
    async fn under(&self, told: &JudgedSummary) -> Result<Vec<JudgedSummary>, MemoryError> {
        let tree = &self.snapshot.tree;
        // A rewritten summary is shown in the place of another one.
        let place = tree.placed().find(|there| there.span == told.nodes && there.level != Level::Summary);
        let parts = tree.undissolved(place.iter().flat_map(|place| place.children.iter().copied()));
        let words: Vec<_> = parts.into_iter().map(|id| tree.words_for(id)).collect();
        let children = self.parts.store.summaries_of(self.conversation, &words).await?;
        let redacted = |text: &str| self.snapshot.redactor.redact(text);
        let told = children.iter().map(|child| JudgedSummary {
            id: child.id,
            nodes: child.body.span,
            text: redacted(&child.body.text),
        });
        Ok(told.collect())
    }
}

/// A shown summary.
fn told(part: &Part) -> Option<JudgedSummary> {
    let Body::Summary { summary, .. } = &part.body else { return None };
    Some(JudgedSummary { id: summary.id, nodes: part.nodes, text: summary.body.text.clone() })
}
