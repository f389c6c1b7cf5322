//! `memory search`: finds the messages that answer a question best.

use clap::Args as ClapArgs;
use memory_core::{Hit, Query, Scope, SearchStep, Signal};
use serde_json::{Value, json};

use super::{filter::FilterArgs, resolve};
use crate::{
    Access,
    compared::{self, Compared},
    globals::Globals,
    news, open,
    output::{Field, known, shorten},
};

/// Finds the messages that answer a question best.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The question
    #[arg(value_parser = resolve::question)]
    question: String,
    #[command(flatten)]
    conversations: resolve::SeveralOrAll,
    #[command(flatten)]
    filter: FilterArgs,
    /// The most hits
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Also say why each hit has its rank
    #[arg(long)]
    explain: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?)?;
    let scope = Scope::only(args.conversations.ids(&runtime).await?);
    let query = Query::new(&args.question, scope).filter(args.filter.filter()?).limit(args.limit);
    let mut found = runtime.memory.search(&query).await?;
    globals.keep_news(&mut found.notices);
    let hits = found.hits;
    let news = news::of(found.notices);
    let vectors: Compared = found.steps.iter().flat_map(|step| step.compared.clone()).collect();
    let output = globals.output;
    if output.json {
        let hits: Vec<_> = hits.iter().map(to_json).collect();
        let step = |step: &SearchStep| json!({"name": step.name, "ms": step.took.as_secs_f64() * 1_000.0, "candidates": step.candidates});
        let steps: Vec<_> = found.steps.iter().map(step).collect();
        return Ok(output.value(&json!({
            "question": args.question,
            "hits": hits,
            "notices": news::sentences(&news),
            "notice_codes": news::codes(&news),
            "steps": steps,
            "vectors": compared::to_json(&vectors),
        }))?);
    }
    news::print(output, &news);
    if hits.is_empty() {
        return Ok(output.line("no message bears on that question")?);
    }
    let why = |signals: &[Signal]| {
        signals.iter().map(|s| format!("{} {:.2} (+{:.2})", s.name, s.value, s.share)).collect::<Vec<_>>().join(", ")
    };
    let rows = hits.iter().map(|hit| {
        let node = &hit.node;
        let text = format!("{}: {}", node.message.speaker_or_role(), shorten(&node.message.text(), 120));
        let text = if args.explain { Field::high([&text, &why(&hit.signals)]) } else { text.into() };
        [
            hit.conversation.to_string().into(),
            node.id.to_string().into(),
            format!("{:.3}", hit.score.value).into(),
            text,
        ]
    });
    output.table(["conversation", "node", "score", "message"], rows)?;
    if args.explain {
        let step = |step: &SearchStep| {
            format!("{} {:.1} ms ({})", step.name, step.took.as_secs_f64() * 1_000.0, step.candidates)
        };
        let steps: Vec<_> = found.steps.iter().map(step).collect();
        output.line(&format!("steps (messages looked at): {}", steps.join(", ")))?;
        compared::explain(&vectors).map_or(Ok(()), |how| output.line(&how))?;
    }
    Ok(())
}

fn to_json(hit: &Hit) -> Value {
    let node = &hit.node;
    let signals: Vec<_> =
        hit.signals.iter().map(|s| json!({"name": s.name, "value": s.value, "share": s.share})).collect();
    json!({
        "conversation": hit.conversation.as_str(),
        "node": node.id.get(),
        "score": hit.score.value,
        "scale": hit.score.scale.as_str(),
        "signals": signals,
        "speaker": node.message.speaker_or_role(),
        "at": known(node.at),
        "text": node.message.text(),
    })
}
