//! `eval --data DIR... --run PATH [--budget N|tenth] [--compare PATH]`: runs retrieval on data and writes run files.
//! `eval --data DIR... --fit`: fits the ranker's weights. `eval --contexts OUT --data DIR...`: writes what a model
//! would be shown for readers; `eval --judge OUT`: sheets of their answers, then a table of the grades. `eval --data
//! DIR... --question-mode`: the figures of single contexts; `--running`: of an agent that runs turn by turn.

use std::{collections::BTreeSet, env, fs, path::PathBuf, sync::Arc};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use memory::{Access, Config, Recall};
use memory_benches::{Asked, Budget, ContextsOptions, EvalOptions, EvalParts, evaluate};
use memory_search::HybridRetriever;
use memory_store::TokenBits;

/// Runs retrieval on evaluation data and writes a run file for the scorer.
#[derive(Parser)]
#[command(group = clap::ArgGroup::new("mode").required(true))]
struct Args {
    /// Directory with `conversations.jsonl` and `queries.jsonl`.
    #[arg(long, required_unless_present = "judge")]
    data: Vec<PathBuf>,
    /// The run file to write; of several directories, the directory for a run file of each.
    #[arg(long, group = "mode")]
    run: Option<PathBuf>,
    /// Another run of the same data to compare with.
    #[arg(long, requires = "run")]
    compare: Option<PathBuf>,
    /// Prints weights that are fitted to all data together.
    #[arg(long, group = "mode")]
    fit: bool,
    /// Writes what a model would be shown for each question, our context and the best hits alone, to this directory:
    /// blinded, and in shards for readers.
    #[arg(long, group = "mode")]
    contexts: Option<PathBuf>,
    /// Makes sheets of the answers in such a directory for judges, or a table if their grades are present.
    #[arg(long, group = "mode")]
    judge: Option<PathBuf>,
    /// Prints the question-mode figures of each data set.
    #[arg(long, group = "mode")]
    question_mode: bool,
    /// Plays the conversations turn by turn and prints what the prompts of a running agent cost and hold.
    #[arg(long, group = "mode", conflicts_with = "store")]
    running: bool,
    /// Questions of a sample, spread evenly over data sets, categories and conversations; by default all with an
    /// answer.
    #[arg(long)]
    questions: Option<usize>,
    /// The seed of the sample.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// How many readers share the files, at least 2, or how many sheets the judges get; by default 4, and one sheet for
    /// each shard.
    #[arg(long)]
    shards: Option<usize>,
    /// Where to keep the imported and embedded data for the next run; by default it is not kept.
    #[arg(long)]
    store: Option<PathBuf>,
    /// The embedding model of a new store, as `memory --embedding-model` takes it; `NAME/fp32` for one in full
    /// precision.
    #[arg(long)]
    embedding_model: Option<String>,
    /// Retrieves by words alone.
    #[arg(long)]
    words_only: bool,
    /// Bits for each component of a token vector: 1, 2, 4 or 8; 0 for no late interaction.
    #[arg(long)]
    token_bits: Option<u8>,
    /// The most tokens of the packed messages, or `tenth` for a tenth of each conversation; without it nothing is
    /// packed.
    #[arg(long)]
    budget: Option<Budget>,
    /// Stops packing where hits are not worth their tokens, instead of filling the budget.
    #[arg(long, requires = "budget")]
    stop_early: bool,
    /// Conversations that each question of a run is asked of; given twice, both in one table.
    #[arg(long, value_enum, default_values_t = [Asked::One])]
    scope: Vec<Asked>,
}

/// Default tokens of a context.
const CONTEXT: u32 = 4_000;

fn main() -> Result<()> {
    let args = Args::parse();
    let is_ci = env::var("CI").is_ok_and(|ci| ci == "true");
    if let Some(missing) = args.data.iter().find(|data| !data.is_dir()) {
        // A developer may lack the data, which is never in the tree; a CI run without it would prove nothing.
        ensure!(!is_ci, "no evaluation data at {}, and with CI=true it is required", missing.display());
        println!("eval: skipped, no evaluation data at {}; name another directory with --data", missing.display());
        return Ok(());
    }
    if let Some(directory) = &args.judge {
        println!("{}", memory_benches::judge(directory, args.shards)?);
        return Ok(());
    }
    with_store(args, is_ci)
}

/// Imports the data and asks its questions.
fn with_store(args: Args, is_ci: bool) -> Result<()> {
    let Args { data, run, compare, store, embedding_model, words_only, token_bits, budget, stop_early, .. } = args;
    let demand_model = is_ci && !words_only;
    let directory = tempfile::tempdir().context("making a directory for the store")?;
    let store = store.unwrap_or_else(|| directory.path().join("store"));
    let mut config = Config::new(store, Access::Write);
    config.model = embedding_model;
    if words_only {
        config.recall = Recall::Words;
    }
    if let Some(asked) = token_bits {
        config.tokens = TokenBits::ALL.into_iter().find(|bits| bits.count() == usize::from(asked));
        ensure!(config.tokens.is_some() || asked == 0, "a component takes 0, 1, 2, 4 or 8 bits, not {asked}");
    }
    let runtime = memory::parts::open(&config)?;
    let parts = EvalParts::of(&runtime);
    if args.question_mode {
        for directory in &data {
            let mode =
                memory_benches::question_mode(&parts, directory, args.questions.unwrap_or(usize::MAX), demand_model);
            println!("{}", pollster::block_on(mode)?);
        }
        return Ok(());
    }
    if args.running {
        for directory in &data {
            println!("{}", pollster::block_on(memory_benches::running(&parts, directory))?);
        }
        return Ok(());
    }
    if let Some(out) = args.contexts {
        let (questions, shards, seed) = (args.questions, args.shards.unwrap_or(4), args.seed);
        let budget = budget.unwrap_or(Budget::Tokens(CONTEXT));
        let options = ContextsOptions { data, out, budget, questions, shards, seed, demand_model };
        println!("{}", pollster::block_on(memory_benches::write_contexts(&parts, &options))?);
        return Ok(());
    }
    let asked: BTreeSet<_> = args.scope.iter().copied().collect();
    let Some(run) = run else {
        let fit = |parts: &EvalParts| pollster::block_on(memory_benches::fit(&[(parts, &data[..])]));
        let with_tokens = fit(&parts)?;
        drop((runtime, parts));
        config.tokens = None;
        let runtime = memory::parts::open(&config)?;
        let parts = EvalParts::of(&runtime);
        let with_vectors = fit(&parts)?;
        let retriever = Arc::new(HybridRetriever::new(runtime.store.clone(), None, None));
        let by_words = fit(&EvalParts { retriever, ..parts })?;
        print!("{}", memory_benches::weights_file(&with_tokens, &with_vectors, &by_words));
        return Ok(());
    };
    if data.len() > 1 || asked.len() > 1 {
        fs::create_dir_all(&run).with_context(|| format!("making {}", run.display()))?;
    }
    pollster::block_on(evaluate(&parts, &EvalOptions { data, run, compare, budget, stop_early, asked, demand_model }))
}
