//! `memory demo --chat`: a number that is said once and kept out of summaries is found when it is asked for.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use memory::{Builder, Config, Message, PieceKind, Prompt, PromptOptions, Role, models, port::ChatModel};
use memory_agent::{Agent, AgentEvent, AgentOptions, Scripted};
use memory_core::{
    ConversationId, NodeId,
    port::{Hit, SearchStep},
};
use memory_hooks::{Conversation, Piece};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::verify,
    import::jsonl,
    output::{Output, counted, grouped, shorten},
};

/// Name of the demo's conversation.
const CONVERSATION: &str = "needle";
/// The question at the end.
const QUESTION: &str = "What was my reference number?";
/// Tokens of the last prompt: too few for the whole conversation.
const BUDGET: u32 = 700;
/// Columns of a shown line.
const WIDTH: usize = 76;
/// Twenty messages of a trip, none of which bears on the number.
const TALK: &str = include_str!("../../../assets/needle.jsonl");

/// Results of the demo of a chat.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The number.
    number: String,
    /// Message that it was said in.
    node: NodeId,
    /// Messages at each level before and after the compaction: FULL, SUMMARY, META, ARCHIVE.
    levels: [[u64; 4]; 2],
    /// Summaries, none of which holds the number.
    summaries: usize,
    /// Steps of the search for the question, with times and candidates.
    steps: Vec<SearchStep>,
    /// Message that the model was sent last: the question, with what was recalled for it.
    enriched: String,
    /// Name of the model.
    model: String,
    /// Its answer.
    answer: String,
    /// True if the answer has the number.
    is_found: bool,
}

/// The demo, in a store of its own.
pub(super) async fn run(directory: &Path, config: Config, is_kept: bool, output: Output) -> anyhow::Result<()> {
    let model = model(&config)?;
    let memory = Builder::of(config).background(false).open()?;
    let talk = memory.conversation(CONVERSATION)?;
    let number = format!("REF-{}", fastrand::u32(100_000..1_000_000));
    let say = |text: &str| if output.json { Ok(()) } else { output.line(text) };

    say("1. A number is said once, and asked to be kept out of summaries.")?;
    let told = format!("My reference number is {number}. Please keep it out of summaries.");
    let node = talk.append(Message::user(&told).keep_out_of_summaries(true)).await?.node;
    talk.append(Message::assistant("I keep it, and it will stand in no summary.")).await?;
    say(&format!("   | user: {told}"))?;
    say("   Then twenty messages about something else.")?;
    for (message, _) in jsonl::parse(TALK, Path::new("needle.jsonl"))? {
        talk.append(message).await?;
    }

    say("")?;
    say("2. Compaction. Before:")?;
    let before = listed(&talk, output).await?;
    talk.compact().await?;
    say("   After:")?;
    let after = listed(&talk, output).await?;
    let id = ConversationId::new(CONVERSATION)?;
    let summaries = memory.parts().store.summaries(&id).await?;
    ensure!(
        summaries.iter().all(|summary| !summary.body.text.contains(&number)),
        "a summary holds what is kept out of summaries"
    );
    say(&format!("   None of {} holds the number.", counted(summaries.len() as u64, "summary", "summaries")))?;

    say("")?;
    say(&format!("3. Retrieval for \"{QUESTION}\""))?;
    let found = talk.search(QUESTION, 3).await?;
    if !output.json {
        print_found(output, &found.steps, &found.hits)?;
    }

    say("")?;
    say(&format!("4. The message that {} is sent, with what was recalled:", model.name()))?;
    let (answer, enriched) = asked(talk.clone(), Arc::clone(&model)).await?;
    for line in enriched.lines() {
        say(&format!("   | {}", shorten(line, WIDTH)))?;
    }
    let is_found = answer.contains(&number);
    say(&format!("   {} answers: {}", model.name(), shorten(&answer, 200)))?;
    let at = model.name() == "scripted";
    ensure!(is_found || !at, "the number that was said early on did not reach the model");
    let verification = memory.parts().store.verify(Some(&id)).await?;
    if output.json {
        let model = model.name().to_owned();
        let (levels, summaries, steps) = ([before, after], summaries.len(), found.steps);
        output.value(&Answer { number, node, levels, summaries, steps, enriched, model, answer, is_found })?;
    } else {
        say("")?;
        say("5. Everything is read back from disk and hashed again:")?;
        if is_kept {
            output.note(&format!("the store stays in {}", directory.display()));
        }
        output.line(&verify::last_line(&verification))?;
        say("")?;
        say("The demonstration ends here. `memory chat` begins a chat of your own, and says how to get a model.")?;
    }
    ensure!(verification.is_whole(), "the demo's store is damaged");
    Ok(())
}

/// The configured model, or else one that says what it finds in its prompt.
fn model(config: &Config) -> anyhow::Result<Arc<dyn ChatModel>> {
    if let Some(name) = config.chat.model.as_deref().filter(|name| *name != "none") {
        return Ok(models::chat_model(name, config)?);
    }
    Ok(Arc::new(Scripted::new(|_, request| {
        let text: String = request.messages.iter().map(|message| message.text() + "\n").collect();
        let number = text.split("reference number is ").nth(1).and_then(|rest| rest.split(['.', ' ', '\n']).next());
        Ok(Message::assistant(match number {
            Some(number) => format!("Your reference number is {number}."),
            None => "Nothing of what I am shown holds it.".to_owned(),
        }))
    })))
}

/// Prints the levels and the first lines of the view; returns the messages at each level.
async fn listed(talk: &Conversation, output: Output) -> anyhow::Result<[u64; 4]> {
    let stats = talk.stats().await?;
    if output.json {
        return Ok(stats.nodes_per_level);
    }
    let [full, summary, ..] = stats.nodes_per_level;
    output.line(&format!(
        "   {full} messages FULL, {summary} as SUMMARY; {} tokens in full, {} in the smallest view",
        grouped(stats.shown_tokens),
        grouped(stats.view_tokens)
    ))?;
    // Before, all is shown as it was said.
    let budget = if summary == 0 { 4_000 } else { BUDGET };
    let view = talk.prompt_with("", &PromptOptions::new(budget).record(false)).await?;
    let shown: Vec<&Piece> = view.pieces.iter().filter(|piece| piece.kind.is_history()).collect();
    for piece in shown.iter().take(5) {
        let text = piece.text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        output.line(&format!("   | {}", shorten(text, WIDTH)))?;
    }
    if shown.len() > 5 {
        output.line(&format!("   | … and {} more", shown.len() - 5))?;
    }
    Ok(stats.nodes_per_level)
}

fn print_found(output: Output, steps: &[SearchStep], hits: &[Hit]) -> anyhow::Result<()> {
    let took: Duration = steps.iter().map(|step| step.took).sum();
    let step =
        |step: &SearchStep| format!("{} {:.1} ms of {}", step.name, step.took.as_secs_f64() * 1e3, step.candidates);
    let each: Vec<_> = steps.iter().map(step).collect();
    let line = format!("{:.1} ms: {}", took.as_secs_f64() * 1e3, each.join(", "));
    for line in textwrap::wrap(&line, textwrap::Options::new(WIDTH).initial_indent("   ").subsequent_indent("   ")) {
        output.line(&line)?;
    }
    for hit in hits {
        let chance = hit.relevance.map_or_else(String::new, |chance| format!("{:.0} %, ", chance * 100.0));
        let text = shorten(&hit.node.message.text(), WIDTH - 24);
        output.line(&format!("   {chance}message {}: {text}", hit.node.id))?;
    }
    Ok(())
}

/// The answer to the question, and the message that the model was sent.
async fn asked(talk: Conversation, model: Arc<dyn ChatModel>) -> anyhow::Result<(String, String)> {
    let options = PromptOptions::new(BUDGET).turn_share(0.3);
    let mut agent = Agent::new(talk, model).options(AgentOptions::default().prompt(options));
    let sent = Mutex::new(None);
    let take = |event: AgentEvent<'_>| {
        if let AgentEvent::Asked(prompt) = event {
            *sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(prompt.clone());
        }
    };
    let turn = agent.run(Message::user(QUESTION), &take).await?;
    let prompt: Option<Prompt> = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
    let prompt = prompt.context("the model was not asked")?;
    let pieces = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
    let recalled: String = pieces.map(|piece| piece.text.as_str()).collect();
    ensure!(!recalled.is_empty(), "nothing was recalled for the question");
    let last = prompt.messages().messages.into_iter().rfind(|message| message.role == Role::User);
    let last = last.map(|message| message.text()).unwrap_or_default();
    // Everything after the last answer is one message, in which the recalled words come first.
    let from = last.find(recalled.lines().next().unwrap_or_default()).unwrap_or_default();
    // The line above them says what they are.
    let above = last.get(..from).unwrap_or_default().trim_end_matches('\n');
    let begins = above.rfind('\n').map_or(0, |end| end + 1);
    Ok((turn.text(), last.get(begins..).unwrap_or_default().trim().to_owned()))
}
