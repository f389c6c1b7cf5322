//! Runs the criterion benches of groups, measures the groups against their peers, and compares every figure with its bar.

mod figures;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use self::figures::{Bars, Judged, Report};
use crate::{document, invocation::Invocation, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One group, a table of `benches/figures.toml`; by default all groups.
    group: Option<String>,
    /// A tenth of the traffic of the group `tools`, and no criterion benches.
    #[arg(long)]
    short: bool,
    /// Exit 1 if a figure misses its bar, or the one group that is asked for has a bar without a figure.
    #[arg(long)]
    check: bool,
    /// Write the table into `benches/RESULTS.md`, in place of the one of the previous run.
    #[arg(long)]
    document: bool,
    /// Write figures, bars and verdicts to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measure nothing: compare the figures in this file, which `figures measure GROUP --json FILE` wrote on any machine.
    #[arg(long, requires = "group")]
    from: Option<PathBuf>,
}

/// The figures of one group with their verdicts.
#[derive(Serialize)]
struct JudgedGroup {
    group: String,
    /// The machine of the measurement; empty for a group without a bench, all of whose bars are owed.
    machine: String,
    figures: Vec<Judged>,
}

impl JudgedGroup {
    fn of(bars: &Bars, group: &str, report: Report) -> Self {
        let bars = bars.get(group).cloned().unwrap_or_default();
        Self { group: group.to_owned(), machine: report.machine, figures: figures::judge(bars, report.figures) }
    }

    fn owed(bars: &Bars, group: &str) -> Self {
        let bars = bars.get(group).cloned().unwrap_or_default();
        Self { group: group.to_owned(), machine: String::new(), figures: figures::judge(bars, Vec::new()) }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let bars = figures::read_bars(workspace)?;
    if let (Some(path), Some(group)) = (&args.from, &args.group) {
        let judged = JudgedGroup::of(&bars, group, Report::read(path, group)?);
        return tell(workspace, args, &[judged]);
    }
    let listed = figures(workspace).args(["list"]).capture()?;
    let built: Vec<&str> = listed.lines().collect();
    let mut groups = Vec::new();
    for group in choose(args.group.as_deref(), &built, &bars)? {
        groups.push(match built.contains(&group) {
            true => measure(workspace, &bars, group, args)?,
            false => JudgedGroup::owed(&bars, group),
        });
    }
    tell(workspace, args, &groups)
}

/// The groups with a bench, in its order, and those with only bars; or the requested one.
fn choose<'a>(asked: Option<&str>, built: &[&'a str], bars: &'a Bars) -> Result<Vec<&'a str>> {
    let owed = bars.keys().map(String::as_str).filter(|group| !built.contains(group));
    let mut groups: Vec<_> = built.iter().copied().chain(owed).collect();
    if let Some(asked) = asked {
        groups.retain(|group| *group == asked);
        ensure!(!groups.is_empty(), "`{asked}` is not a group of figures");
    }
    Ok(groups)
}

/// Prints the groups, writes them where requested, and checks them.
fn tell(workspace: &Workspace, args: &Args, groups: &[JudgedGroup]) -> Result<()> {
    let machines: BTreeSet<_> =
        groups.iter().map(|group| group.machine.as_str()).filter(|name| !name.is_empty()).collect();
    println!("measured on {}", machines.into_iter().collect::<Vec<_>>().join(" and "));
    println!("{}", table::render(groups));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&serde_json::json!({ "groups": groups }))?;
        fs::write(path, json + "\n").with_context(|| format!("writing {}", path.display()))?;
    }
    if args.document {
        let section = |group: &JudgedGroup| {
            let table = format!("Measured on {}.\n\n{}", group.machine, table::markdown(group));
            (format!("bench {}", group.group), table)
        };
        let tables: Vec<_> = groups.iter().filter(|group| !group.machine.is_empty()).map(section).collect();
        document::write(&workspace.root().join(document::RESULTS), &tables)?;
    }
    if args.check {
        check(groups, args.group.is_some())?;
    }
    Ok(())
}

fn measure(workspace: &Workspace, bars: &Bars, group: &str, args: &Args) -> Result<JudgedGroup> {
    if !args.short && workspace.root().join(format!("benches/benches/{group}.rs")).is_file() {
        Invocation::cargo(workspace, "bench")
            .args([
                "bench",
                "--locked",
                "-p",
                "memory-benches",
                "--features",
                "memory-benches/usearch",
                "--bench",
                group,
            ])
            .run()?;
    }
    let directory = tempfile::tempdir().context("making a directory for the figures")?;
    let path = directory.path().join("figures.json");
    let kept = workspace.target().join("bench-stores");
    let mut figures = figures(workspace).args(["measure", group, "--json"]).args([&path]).args(["--kept"]).args([kept]);
    let eval = workspace.shared("eval");
    if eval.is_dir() {
        figures = figures.args(["--eval"]).args([eval]);
    }
    if args.short {
        figures = figures.args(["--short"]);
    }
    if group == "tools" {
        Invocation::cargo(workspace, "bench")
            .args(["build", "--release", "--locked", "-p", "memory-cli", "--bin", "memory"])
            .run()?;
        figures = figures.args(["--memory"]).args([workspace.memory_binary("release")]);
    }
    figures.run()?;
    Ok(JudgedGroup::of(bars, group, Report::read(&path, group)?))
}

fn figures(workspace: &Workspace) -> Invocation {
    Invocation::cargo(workspace, "bench")
        .args(["run", "--release", "--locked", "-p", "memory-benches", "--bin", "figures"])
        .args(["--features", "memory-benches/usearch", "--"])
}

fn check(groups: &[JudgedGroup], is_of_one_group: bool) -> Result<()> {
    let failed: Vec<String> = groups
        .iter()
        .flat_map(|group| {
            let failed = group.figures.iter().filter(|judged| judged.verdict.fails(is_of_one_group));
            failed.map(|judged| format!("{}.{} {}", group.group, judged.key, judged.verdict))
        })
        .collect();
    if !failed.is_empty() {
        bail!("bench --check: {}", failed.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
