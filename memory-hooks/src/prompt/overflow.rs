//! A smaller prompt, after the window of a model overflowed.

use memory_core::{ConversationId, NodeId, plan::PlanError, port::ReduceCause};

use super::{
    Prompt, PromptOptions, Reduction,
    assembly::{Request, aside, assemble, turn, window_of},
};
use crate::{
    MemoryError,
    parts::Parts,
    render::{Body, Tail},
    shorten::TextLimits,
    snapshot_cache::Snapshot,
    windows::Window,
};

/// Reductions after which only the coarsest view is left to try.
const HALVINGS: usize = 4;
/// Share of the smaller budget that a running agent's history takes.
const KEPT: f32 = 0.8;
/// Divisor of the overflowed tokens that gives the most tokens of a tool result, and the least that it may give.
const RESULT_SHARE: u32 = 16;
const RESULT_LEAST: u32 = 64;

/// A prompt of strictly fewer tokens than the one that did not fit, and of at most the budget of `options`.
///
/// First, oversized tool results are shown by their heads and tails. Then the view is cut for the budget, if that is the
/// smaller window that the model reported, or else for half of the tokens, repeatedly, with summaries written where
/// needed. The last step is the coarsest view. The prompt that did not fit records the reductions so far, so a model
/// that reports no limit needs at most six steps.
pub(crate) async fn reduce(
    parts: &Parts,
    conversation: &ConversationId,
    options: &PromptOptions,
    overflowed: &Prompt,
) -> Result<Prompt, MemoryError> {
    let most = overflowed.tokens.saturating_sub(1).min(options.budget);
    let longest_result = (overflowed.tokens / RESULT_SHARE).max(RESULT_LEAST);
    let done = overflowed.reductions.len();
    if done == 0
        && let Some(prompt) = shorten_results(parts, conversation, overflowed, longest_result, most).await?
        && prompt.tokens <= most
    {
        keep(parts, conversation, &prompt, options.budget);
        return Ok(prompt);
    }
    if overflowed.reductions.contains(&Reduction::Coarsest) {
        return Err(PlanError::BudgetTooSmall { needed: overflowed.tokens, budget: most }.into());
    }
    let question = overflowed.question();
    let is_told = options.budget < overflowed.tokens;
    let fewer = if is_told { options.budget } else { most.min(overflowed.tokens / 2) };
    let mut request = Request { question, options: options.clone(), longest_result: Some(longest_result) };
    if overflowed.layout.is_running() {
        // The window of a running agent does not fit and moves, no farther than it must.
        request.options.window_floor = options.window_floor.max(KEPT);
        let mut prompt = match moved(parts, conversation, &request.within(fewer)).await {
            Err(MemoryError::Plan(PlanError::BudgetTooSmall { needed, .. })) if needed <= most => {
                moved(parts, conversation, &request.within(most)).await?
            }
            moved => moved?,
        };
        prompt.reductions.extend(overflowed.reductions.iter().copied().chain([Reduction::Halved]));
        keep(parts, conversation, &prompt, options.budget);
        return Ok(prompt);
    }
    let halved = match done {
        0..HALVINGS => assemble(parts, conversation, request.within(fewer)).await.map(Some),
        _ => Ok(None),
    };
    let (mut prompt, reduction) = match halved {
        Ok(Some(prompt)) => (prompt, Reduction::Halved),
        Ok(None) | Err(MemoryError::Plan(PlanError::BudgetTooSmall { .. })) => {
            (coarsest(parts, conversation, &request, most).await?, Reduction::Coarsest)
        }
        Err(error) => return Err(error),
    };
    prompt.reductions.extend(overflowed.reductions.iter().copied().chain([reduction]));
    Ok(prompt)
}

/// The prompt of a running agent in a window that fits.
async fn moved(parts: &Parts, conversation: &ConversationId, request: &Request<'_>) -> Result<Prompt, MemoryError> {
    match request.question {
        "" => turn(parts, conversation, &request.options).await,
        question => aside(parts, conversation, question, &request.options).await,
    }
}

/// Makes the prompt that fits the last window of a running agent.
fn keep(parts: &Parts, conversation: &ConversationId, prompt: &Prompt, budget: u32) {
    if prompt.layout.is_running() && prompt.question().is_empty() {
        // The window stays this small for the caller's budget, which the model's own window does not have room for.
        let window = Window { budget, ..window_of(prompt) };
        parts.windows.keep(conversation, window);
    }
}

/// The coarsest possible view, if it costs at most `most` tokens.
async fn coarsest(
    parts: &Parts,
    conversation: &ConversationId,
    request: &Request<'_>,
    most: u32,
) -> Result<Prompt, MemoryError> {
    // If nothing gets smaller, the tokens needed are the better answer.
    let reduced = parts.reduce(conversation, 0, Some(ReduceCause::Overflow)).await;
    let trouble = reduced.err().filter(|error| !matches!(error, MemoryError::NoProgress { .. }));
    match assemble(parts, conversation, request.within(1)).await {
        Err(MemoryError::Plan(PlanError::BudgetTooSmall { needed, .. })) if needed <= most => {
            assemble(parts, conversation, request.within(needed)).await
        }
        Err(MemoryError::Plan(PlanError::BudgetTooSmall { needed, .. })) => {
            Err(trouble.unwrap_or_else(|| PlanError::BudgetTooSmall { needed, budget: most }.into()))
        }
        assembled => assembled,
    }
}

/// The same prompt with oversized tool results shortened to heads and tails; `None` if that saves nothing.
async fn shorten_results(
    parts: &Parts,
    conversation: &ConversationId,
    prompt: &Prompt,
    longest: u32,
    budget: u32,
) -> Result<Option<Prompt>, MemoryError> {
    let snapshot = Snapshot::read(parts, conversation).await?;
    let last_turn = NodeId::new(prompt.nodes).and_then(|last| snapshot.tree.last_turn_within(last));
    let longest = prompt.longest_result.map_or(longest, |most| most.min(longest));
    let limits = TextLimits { layout: prompt.layout, longest: Some(longest), budget, last_turn };
    let mut shorter = prompt.clone();
    shorter.budget = budget;
    for part in &mut shorter.parts {
        let elsewhere = part.conversation().cloned();
        let Body::Message(node) = &mut part.body else { continue };
        // The whole message is read, so that a shortened one is not shortened again.
        let whole = parts.store.node(elsewhere.as_ref().unwrap_or(conversation), node.id).await?;
        let last_turn = last_turn.filter(|_| part.kind.is_history());
        let cut = TextLimits { last_turn, ..limits }.shortened(whole, parts.counter.as_ref());
        if cut.message != node.message {
            **node = cut;
            part.reason.push_str("; shortened");
        }
    }
    let tail = Tail { question: prompt.question(), now: prompt.now };
    let written = prompt.layout.write(&shorter.parts, &tail, &|text| parts.count(text));
    shorter.longest_result = Some(longest);
    shorter.view = None;
    shorter.tokens = parts.counts.count_parts(&written.lines, parts.counter.as_ref());
    shorter.text = written.lines.concat();
    shorter.pieces = written.pieces;
    shorter.reductions.push(Reduction::ResultsShortened);
    Ok(Some(shorter).filter(|shorter| shorter.tokens < prompt.tokens))
}
