//! Measures groups of figures and compares every figure with its bar, in one table.

mod bars;
mod group;
mod judge;
mod report;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::bars::Bars;
use self::group::Group;
use self::judge::Judged;
use self::report::Report;
use crate::document;
use crate::invocation::Invocation;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One group; by default all groups.
    group: Option<Group>,
    /// A tenth of the traffic of the groups `views`, `tools` and `soak`: some minutes instead of half an hour.
    #[arg(long)]
    short: bool,
    /// Exit 1 if a figure misses its bar, or the one group that is asked for has a bar without a figure.
    #[arg(long)]
    check: bool,
    /// Write the table into `docs/benchmarks.md`, in place of the one of the previous run.
    #[arg(long)]
    document: bool,
    /// Write figures, bars and verdicts to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measure nothing: compare the figures in this file, which `figures GROUP --json FILE` wrote on any machine.
    #[arg(long, requires = "group")]
    from: Option<PathBuf>,
}

/// The figures of one group with their verdicts.
#[derive(Serialize)]
struct JudgedGroup {
    group: Group,
    machine: String,
    figures: Vec<Judged>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let bars = Bars::read(workspace)?;
    if let (Some(path), Some(group)) = (&args.from, args.group) {
        let measured = judged(&bars, group, Report::read(path, group)?);
        return tell(workspace, args, &[measured]);
    }
    let built = built_groups(workspace)?;
    let (wanted, unbuilt) = choose(args.group, &built);
    let mut groups =
        wanted.into_iter().map(|group| measure(workspace, &bars, group, args)).collect::<Result<Vec<_>>>()?;
    groups.extend(unbuilt.into_iter().map(|group| owed(&bars, group)));
    tell(workspace, args, &groups)
}

/// Prints the groups, writes them where requested, and checks them.
fn tell(workspace: &Workspace, args: &Args, groups: &[JudgedGroup]) -> Result<()> {
    println!("{}", machines(groups));
    println!("{}", table::render(groups));
    if let Some(path) = &args.json {
        write_json(path, groups)?;
    }
    if args.document {
        let section = |group: &JudgedGroup| {
            let table = format!("Measured on {}.\n\n{}", group.machine, table::markdown(group));
            (format!("bench {}", group.group), table)
        };
        let tables: Vec<_> = groups.iter().filter(|group| !group.machine.is_empty()).map(section).collect();
        document::write(&workspace.root().join("docs/benchmarks.md"), &tables)?;
    }
    if args.check {
        check(groups, args.group.is_some())?;
    }
    Ok(())
}

/// The groups to measure, and the requested groups that have no bench.
fn choose(asked: Option<Group>, built: &[Group]) -> (Vec<Group>, Vec<Group>) {
    Group::ALL
        .into_iter()
        .filter(|group| asked.is_none_or(|asked| asked == *group))
        .partition(|group| built.contains(group))
}

fn built_groups(workspace: &Workspace) -> Result<Vec<Group>> {
    let listed = figures(workspace).args(["list"]).capture()?;
    listed.lines().map(str::parse).collect()
}

fn measure(workspace: &Workspace, bars: &Bars, group: Group, args: &Args) -> Result<JudgedGroup> {
    let directory = tempfile::tempdir().context("making a directory for the figures")?;
    let path = directory.path().join("figures.json");
    let kept = workspace.target().join("bench-stores");
    let mut figures = figures(workspace).args([group.name(), "--json"]).args([&path]).args(["--kept"]).args([kept]);
    let eval = workspace.shared("eval");
    if eval.is_dir() {
        figures = figures.args(["--eval"]).args([eval]);
    }
    if args.short {
        figures = figures.args(["--short"]);
    }
    if group == Group::Tools {
        Invocation::cargo(workspace, "bench")
            .args(["build", "--release", "--locked", "-p", "memory-cli", "--bin", "memory"])
            .run()?;
        figures = figures.args(["--memory"]).args([workspace.memory_binary("release")]);
    }
    if args.document {
        let name = format!("docs/benchmarks-{group}.svg");
        figures = figures.args(["--plot"]).args([workspace.root().join(name)]);
    }
    figures.run()?;
    Ok(judged(bars, group, Report::read(&path, group)?))
}

fn judged(bars: &Bars, group: Group, report: Report) -> JudgedGroup {
    JudgedGroup { group, machine: report.machine, figures: judge::judge(bars.of(group), report.figures) }
}

/// The bars of a group that has no bench.
fn owed(bars: &Bars, group: Group) -> JudgedGroup {
    JudgedGroup { group, machine: String::new(), figures: judge::judge(bars.of(group), Vec::new()) }
}

fn figures(workspace: &Workspace) -> Invocation {
    Invocation::cargo(workspace, "bench").args(["run", "--release", "--locked"]).args([
        "-p",
        "memory-benches",
        "--bin",
        "figures",
        "--features",
        "memory-benches/usearch",
        "--",
    ])
}

fn machines(groups: &[JudgedGroup]) -> String {
    let mut machines: Vec<_> =
        groups.iter().map(|group| group.machine.as_str()).filter(|name| !name.is_empty()).collect();
    machines.dedup();
    format!("measured on {}", machines.join(" and "))
}

fn write_json(path: &Path, groups: &[JudgedGroup]) -> Result<()> {
    let json = serde_json::to_string_pretty(&serde_json::json!({ "groups": groups }))?;
    fs::write(path, json + "\n").with_context(|| format!("writing {}", path.display()))
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
