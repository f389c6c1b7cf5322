//! How much of a prompt a provider's cache saves from turn to turn, and what a conversation costs compared with other
//! ways to show it.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use memory_cli::{Alternatives, Prices};
use memory_core::{Level, NodeDraft, NodeId, NodeRange, Store, Summarizer, SummaryJob, SummarySource};
use memory_embed::TiktokenCounter;
use memory_hooks::{Prompt, PromptOptions, PromptTokens};
use memory_plugins::Registry;
use memory_store::LogStore;

use crate::{
    figure::Figure,
    needles::{Needle, conversation, find, plant},
    rounds::Samples,
};

/// Messages: each turn has one of the user and one of the model.
const MESSAGES: usize = 2_000;
/// Tokens of a prompt, except with the full history.
const BUDGET: u32 = 4_000;
/// Tokens that a message costs beside its text.
const PER_MESSAGE: u64 = 8;

/// Tokens of a prompt, and whether anything is recalled.
type Setting = (u32, bool);

const DEFAULT: Setting = (BUDGET, true);
/// Like the sliding window and the one summary: the same budget, and nothing is recalled.
const VIEW: Setting = (BUDGET, false);
const SETTINGS: [Setting; 6] = [(2_000, false), (2_000, true), VIEW, DEFAULT, (8_000, true), (8_000, false)];

/// A way to show a conversation: its cost, and the share of the needles that are found at the end.
struct Way {
    name: String,
    prompts: PromptTokens,
    found: f64,
}

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let counter = TiktokenCounter::cl100k();
    let (drafts, needles) = plant(MESSAGES, &counter)?;
    let mut ours = Vec::new();
    for (budget, recalls) in SETTINGS {
        let recall = if recalls { ", with recall" } else { "" };
        eprintln!("views: what {} turns cost in {budget} tokens{recall}", MESSAGES / 2);
        ours.push(carry_on(directory, &drafts, &needles, recalls, budget)?);
    }
    let mut figures = vec![cached(&ours)?];
    for (key, setting, other) in others(&drafts, &needles)? {
        figures.push(compared(key, &ours, setting, &other)?);
    }
    Ok(figures)
}

/// What ours costs in one setting, as a share of what the other way does.
fn compared(key: &'static str, ours: &[Way], setting: Setting, other: &Way) -> Result<Figure> {
    let prices = Prices::default();
    let compared = in_setting(ours, setting)?;
    let told = |way: &Way| {
        let cost = prices.cost(way.prompts);
        format!("{}: {cost:.2}, {:.1} % of needles", way.name, 100.0 * way.found)
    };
    let all: Vec<_> = ours.iter().chain([other]).map(told).collect();
    let note = format!(
        "{}; what it costs at {} read, {} cached, {} written a million tokens\n{}",
        compared.name,
        prices.read,
        prices.cached,
        prices.written,
        all.join("\n")
    );
    Ok(one(key, "x", prices.cost(compared.prompts) / prices.cost(other.prompts), note))
}

fn in_setting(ours: &[Way], (budget, recalls): Setting) -> Result<&Way> {
    let name = name(budget, recalls);
    ours.iter().find(|way| way.name == name).with_context(|| format!("no {name} was tried"))
}

fn name(budget: u32, recalls: bool) -> String {
    format!("{} in {budget} tokens", if recalls { "view and recall" } else { "view" })
}

/// The share of a view in 8,000 tokens; that of the default is in the note.
fn cached(ours: &[Way]) -> Result<Figure> {
    let (measured, default) = (in_setting(ours, (8_000, false))?, in_setting(ours, DEFAULT)?);
    let told = |way: &&Way| format!("{}: {:.3}", way.name, way.prompts.cached_share());
    let others = ours.iter().filter(|way| ![measured, default].map(|known| &known.name).contains(&&way.name));
    let others: Vec<_> = others.collect::<Vec<_>>().iter().map(told).collect();
    let note = format!(
        "of the whole prompt; {}, {} turns of two messages; at the default, {}\n{}",
        measured.name,
        MESSAGES / 2,
        told(&default),
        others.join("\n")
    );
    Ok(one("view_cached_prompt_share", "", measured.prompts.cached_share(), note))
}

fn one(key: &'static str, unit: &'static str, value: f64, note: String) -> Figure {
    // Nothing here depends on time or chance.
    Figure::absolute(key, &Samples { name: "memory-hooks".to_owned(), unit, values: vec![value] }, note)
}

/// The conversation turn by turn, with a context before each of the model's messages.
fn carry_on(directory: &Path, drafts: &[NodeDraft], needles: &[Needle], recalls: bool, budget: u32) -> Result<Way> {
    let directory = tempfile::Builder::new().prefix("prices").tempdir_in(directory)?;
    let store: Arc<dyn Store> = Arc::new(LogStore::open(directory.path())?);
    let summarizer = Registry::with_builtins().summarizer(Registry::DEFAULT_SUMMARIZER)?;
    let seen = conversation(&store, &summarizer, false)?;
    let recalled = conversation(&store, &summarizer, true)?;
    let shown = if recalls { &recalled } else { &seen };
    let options = PromptOptions::new(budget);
    let mut prompts = PromptTokens::default();
    let mut before: Option<Prompt> = None;
    pollster::block_on(async {
        for (turn, messages) in drafts.chunks(2).enumerate() {
            if let Some(asked) = messages.first().filter(|_| turn > 0) {
                let context = shown.prompt(&asked.message.text(), &options).await?;
                let same = before.as_ref().map_or(0, |before| u64::from(context.shared_history(before)));
                prompts.add(u64::from(context.tokens), same);
                before = Some(context);
            }
            store.append(shown.id(), messages.to_vec()).await?;
        }
        let score = find(&seen, &recalled, needles, budget).await?;
        let found = if recalls { score.by_recall } else { score.by_view };
        Ok(Way { name: name(budget, recalls), prompts, found: score.share(found) })
    })
}

/// The same conversation shown in other ways, each with the key of our figure and the setting that it is compared with.
fn others(drafts: &[NodeDraft], needles: &[Needle]) -> Result<Vec<(&'static str, Setting, Way)>> {
    let summarizer = Registry::with_builtins().summarizer(Registry::DEFAULT_SUMMARIZER)?;
    let mut shown = Alternatives::new(BUDGET);
    let mut summary = String::new();
    let mut old = 0;
    for (said, draft) in (1..).zip(drafts) {
        shown.say(u64::from(draft.tokens) + PER_MESSAGE);
        // Odd messages are the model's replies.
        if said % 2 == 1 {
            shown.prompt();
            let recent = said - shown.beside_summary();
            if recent > old {
                let added = drafts.get(old..recent).unwrap_or_default();
                summary = summarized(&*summarizer, &summary, added, old, shown.summary_tokens())?;
                old = recent;
            }
        }
    }
    let window = drafts.len() - shown.in_window();
    let is_since = |needle: &Needle, first: usize| needle.at >= first;
    let way = |name: &str, prompts: PromptTokens, found: &dyn Fn(&Needle) -> bool| {
        let found = needles.iter().filter(|needle| found(needle)).count();
        #[expect(clippy::cast_precision_loss, reason = "some dozens of needles")]
        let found = found as f64 / needles.len().max(1) as f64;
        Way { name: name.to_owned(), prompts, found }
    };
    Ok(vec![
        ("cost_vs_full_history", DEFAULT, way("full history", shown.full_history(), &|_| true)),
        (
            "view_cost_vs_sliding_window",
            VIEW,
            way("sliding window", shown.sliding_window(), &|needle| is_since(needle, window)),
        ),
        (
            "cost_vs_one_summary",
            VIEW,
            way("one big summary", shown.one_free_summary(), &|needle| {
                is_since(needle, old) || summary.contains(&needle.answer)
            }),
        ),
    ])
}

/// A summary of the earlier summary and of the messages after it, the first of which has this index.
fn summarized(
    summarizer: &dyn Summarizer,
    before: &str,
    messages: &[NodeDraft],
    first: usize,
    max_tokens: u64,
) -> Result<String> {
    let counter = TiktokenCounter::cl100k();
    let source = |nodes, text: String| SummarySource::new(nodes, text);
    let old = NodeRange::first_n(first as u64).filter(|_| !before.is_empty());
    let old = old.map(|nodes| source(nodes, before.to_owned()));
    let new = (first..).map(NodeId::from_index).zip(messages);
    let new = new.map(|(node, draft)| source(NodeRange::single(node), draft.message.text()));
    let sources: Vec<_> = old.into_iter().chain(new).collect();
    let max_tokens = u32::try_from(max_tokens)?;
    let job = SummaryJob::new(Level::Meta, &sources, max_tokens, &counter);
    Ok(pollster::block_on(summarizer.summarize(job))?.text)
}
