//! Runs retrieval on a data directory, writes the run file and prints the scorer's table, or prepares and judges
//! contexts.

use std::collections::BTreeSet;
use std::env;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::document;
use crate::invocation::Invocation;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory with `conversations.jsonl` and `queries.jsonl`.
    #[arg(long, required_unless_present_any = ["needles", "judge"])]
    data: Vec<PathBuf>,
    /// The run file to write, one line a question; for several directories, the directory for a run file of each.
    #[arg(long, required_unless_present_any = ["fit", "needles", "summaries", "contexts", "judge", "question_mode", "running"])]
    run: Option<PathBuf>,
    /// Another run of the same data to compare with.
    #[arg(long, conflicts_with = "fit")]
    compare: Option<PathBuf>,
    /// Plants facts at every depth of generated conversations and prints how many a context contains, instead of a run.
    #[arg(long, conflicts_with_all = ["data", "run", "compare", "fit", "store"])]
    needles: bool,
    /// Fits the ranker's weights to all data together and prints a new `memory-search/src/ranker/weights.rs`, instead
    /// of a run.
    #[arg(long, conflicts_with_all = ["run", "budget"])]
    fit: bool,
    /// Prints what summaries keep of the evidence, compared with first words, lead sentences and TextRank, instead of a
    /// run.
    #[arg(long, conflicts_with_all = ["run", "budget", "compare", "fit", "needles"])]
    summaries: bool,
    /// Writes what a model would be shown for each question, our context and the best hits alone, to this directory:
    /// blinded files in shards for readers, a key apart from them, and instructions for readers and judges.
    #[arg(long, conflicts_with_all = ["run", "compare", "fit", "needles", "summaries"])]
    contexts: Option<PathBuf>,
    /// Makes blinded sheets of the readers' answers in such a directory, or prints a table in Markdown if the judges'
    /// grades are present.
    #[arg(long, conflicts_with_all = ["data", "run", "compare", "fit", "needles", "summaries", "contexts", "store"])]
    judge: Option<PathBuf>,
    /// Prints the question-mode figures of `[views]` for each data set.
    #[arg(long, conflicts_with_all = ["run", "compare", "fit", "needles", "summaries", "contexts", "judge", "budget"])]
    question_mode: bool,
    /// Plays the conversations turn by turn and prints what the prompts of a running agent cost and hold, beside other ways.
    #[arg(long, conflicts_with_all = ["run", "compare", "fit", "needles", "summaries", "contexts", "judge", "budget", "question_mode", "store"])]
    running: bool,
    /// Questions of a sample, spread evenly over data sets, categories and conversations; by default all with an answer.
    #[arg(long)]
    questions: Option<usize>,
    /// The seed of the sample.
    #[arg(long)]
    seed: Option<u64>,
    /// How many readers share the files, at least 2, or how many sheets the judges get; by default 4, and one sheet for
    /// each shard.
    #[arg(long)]
    shards: Option<usize>,
    /// Where to keep the imported and embedded data for the next run; by default it is not kept.
    #[arg(long)]
    store: Option<PathBuf>,
    /// The embedding model of a new store; `NAME/fp32` for one in full precision.
    #[arg(long)]
    embedding_model: Option<String>,
    /// Retrieves by words alone.
    #[arg(long)]
    words_only: bool,
    /// Bits for each component of a token vector: 1, 2, 4 or 8; 0 for no late interaction.
    #[arg(long)]
    token_bits: Option<u8>,
    /// The most tokens of the packed context, or `tenth` for a tenth of each conversation's.
    #[arg(long)]
    budget: Option<String>,
    /// Stops packing where hits are not worth their tokens, instead of filling the budget.
    #[arg(long, requires = "budget")]
    stop_early: bool,
    /// What each question of a run is asked of: `one` for its own conversation, `all` for those of all data together;
    /// given twice, both in one table.
    #[arg(long, value_parser = ["one", "all"])]
    scope: Vec<String>,
    /// Write what is printed into a document, in place of what the previous run wrote: the table of both scopes into
    /// `README.md`, the tables of `--summaries`, `--needles` and `--running` into `docs/benchmarks.md`.
    #[arg(long, conflicts_with_all = ["compare", "fit", "contexts", "judge", "question_mode"])]
    document: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    // The commands below run in the workspace root, but the paths are relative to the current directory.
    let data = args.data.iter().map(|data| absolute(data)).collect::<Result<Vec<_>>>()?;
    let run = args.run.as_deref().map(absolute).transpose()?;
    if let Some(missing) = data.iter().find(|data| !data.is_dir()) {
        return absent(missing, env::var("CI").is_ok_and(|ci| ci == "true"));
    }
    let mut eval = Invocation::cargo(workspace, "eval").args(["run", "--release", "--locked"]).args([
        "-p",
        "memory-benches",
        "--bin",
        "eval",
        "--",
    ]);
    for data in &data {
        eval = eval.args([Path::new("--data"), data]);
    }
    if let Some(run) = &run {
        eval = eval.args([Path::new("--run"), run]);
    }
    let paths = [
        ("--compare", &args.compare),
        ("--store", &args.store),
        ("--contexts", &args.contexts),
        ("--judge", &args.judge),
    ];
    for (name, path) in paths {
        if let Some(path) = path {
            eval = eval.args([Path::new(name), &absolute(path)?]);
        }
    }
    let flags = [
        (args.fit, "--fit"),
        (args.needles, "--needles"),
        (args.summaries, "--summaries"),
        (args.question_mode, "--question-mode"),
        (args.running, "--running"),
        (args.words_only, "--words-only"),
        (args.stop_early, "--stop-early"),
    ];
    eval = eval.args(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag));
    if let Some(model) = &args.embedding_model {
        eval = eval.args(["--embedding-model", model]);
    }
    let numbers = [
        ("--token-bits", args.token_bits.map(u64::from)),
        ("--questions", args.questions.map(|count| count as u64)),
        ("--seed", args.seed),
        ("--shards", args.shards.map(|count| count as u64)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            eval = eval.args([name, &number.to_string()]);
        }
    }
    for scope in &args.scope {
        eval = eval.args(["--scope", scope]);
    }
    if let Some(budget) = &args.budget {
        eval = eval.args(["--budget", budget]);
    }
    if args.document {
        let marks =
            [(args.summaries, "eval summaries"), (args.needles, "eval needles"), (args.running, "eval running")];
        let mark = marks.into_iter().find_map(|(is_set, mark)| is_set.then_some(mark));
        let both = args.scope.iter().collect::<BTreeSet<_>>().len() == 2 && args.budget.is_some();
        ensure!(
            mark.is_some() || both,
            "--document wants `--scope one --scope all --budget …`, --summaries, --needles or --running"
        );
        let printed = eval.capture()?;
        print!("{printed}");
        return match mark {
            Some(mark) => document::write(
                &workspace.root().join("docs/benchmarks.md"),
                &[(mark.to_owned(), format!("{}\n", printed.trim_end()))],
            ),
            None => document::write(&workspace.root().join("README.md"), &[("eval".to_owned(), first_table(&printed))]),
        };
    }
    eval.run()?;
    match (&run, &data[..], args.scope.len()) {
        (Some(run), [data], 0 | 1) => score(workspace, data, run),
        _ => Ok(()),
    }
}

/// The lines up to the first empty one.
fn first_table(printed: &str) -> String {
    printed.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// A developer may lack the data, which is never in the tree; a CI run without it would prove nothing.
fn absent(data: &Path, ci: bool) -> Result<()> {
    let data = data.display();
    if ci {
        bail!("no evaluation data at {data}, and with CI=true it is required");
    }
    println!("eval: skipped, no evaluation data at {data}; name another directory with --data");
    Ok(())
}

fn score(workspace: &Workspace, data: &Path, run: &Path) -> Result<()> {
    let scorers = [workspace.shared("eval/score.py"), data.join("../score.py")];
    let Some(scorer) = scorers.iter().find(|scorer| scorer.is_file()) else {
        println!("eval: run file written, not scored: no score.py beside the data");
        return Ok(());
    };
    let python = Invocation::program(workspace, "score", "python3");
    if !python.args(["--version"]).succeeds() {
        println!("eval: run file written, not scored: no python3");
        return Ok(());
    }
    Invocation::program(workspace, "score", "python3").args([scorer, data, run]).run()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path::absolute(path).with_context(|| format!("making {} absolute", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_table_ends_at_an_empty_line() {
        assert_eq!(first_table("| a |\n|---|\n\n| b |\n"), "| a |\n|---|\n");
    }

    #[test]
    fn absent_data_is_skipped_except_in_ci() {
        let data = Path::new("no-such-data");
        assert!(absent(data, false).is_ok());
        let error = absent(data, true).unwrap_err().to_string();
        assert!(error.contains("no-such-data"), "{error}");
    }
}
