//! `bench` from a report and bars to table, JSON and exit code, without running a benchmark.

use super::figures::Verdict;
use super::*;

const BARS: &str = "
[log]
append_cpu_vs_fjall = { at_most = 0.6 }
group_commit_64_vs_1 = { at_least = 10.0 }
reopen_100k_ms = { at_most = 5.0 }
";

const REPORT: &str = r#"{
  "group": "log",
  "machine": "2 cores",
  "figures": [
    {"key": "append_cpu_vs_fjall", "value": 0.41, "unit": "x", "spread": 0.03,
     "ours": {"name": "memory-store", "value": 1.2, "unit": "us"},
     "peers": [{"name": "fjall", "value": 2.9, "unit": "us"}, {"name": "redb", "value": 31.0, "unit": "us"}],
     "note": "200 B"},
    {"key": "group_commit_64_vs_1", "value": 9.5, "unit": "x", "spread": 0.4},
    {"key": "extra", "value": 1.0, "unit": "s", "spread": 0.0}
  ]
}"#;

fn bars() -> Bars {
    toml::from_str(BARS).unwrap()
}

fn judged() -> JudgedGroup {
    JudgedGroup::of(&bars(), "log", Report::parse(REPORT, "log").unwrap())
}

#[test]
fn each_figure_and_each_unanswered_bar_gets_a_verdict() {
    let group = judged();
    let verdicts: Vec<_> = group.figures.iter().map(|judged| (judged.key.as_str(), judged.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            ("append_cpu_vs_fjall", Verdict::Holds),
            ("group_commit_64_vs_1", Verdict::FallsShort),
            ("extra", Verdict::NoBar),
            ("reopen_100k_ms", Verdict::Owed),
        ]
    );
}

#[test]
fn what_is_owed_fails_a_check_of_its_own_group_alone() {
    let checked = |is_of_one_group| check(&[judged()], is_of_one_group).unwrap_err().to_string();
    assert_eq!(checked(true), "bench --check: log.group_commit_64_vs_1 falls short, log.reopen_100k_ms owed");
    assert_eq!(checked(false), "bench --check: log.group_commit_64_vs_1 falls short");
    let unbuilt = || [JudgedGroup::owed(&bars(), "log")];
    assert!(check(&unbuilt(), false).is_ok() && check(&unbuilt(), true).is_err());
}

#[test]
fn check_passes_when_every_bar_holds() {
    let mut group = judged();
    group.figures.retain(|judged| !judged.verdict.fails(true));
    assert!(check(&[group], true).is_ok());
}

#[test]
fn without_a_group_all_are_chosen_and_the_built_ones_first() {
    let bars = bars();
    assert_eq!(choose(None, &["views", "embed"], &bars).unwrap(), ["views", "embed", "log"]);
    assert_eq!(choose(Some("log"), &["views"], &bars).unwrap(), ["log"]);
    assert_eq!(choose(Some("views"), &["views"], &bars).unwrap(), ["views"]);
    assert!(choose(Some("none"), &["views"], &bars).is_err());
}

#[test]
fn the_table_shows_ours_the_peers_the_bar_and_the_verdict() {
    let table = table::render(&[judged()]).to_string();
    for shown in [
        "log.append_cpu_vs_fjall",
        "memory-store 1.200 us",
        "fjall 2.900 us",
        "redb 31.00 us",
        "0.410 ± 0.030 x",
        "200 B",
        "≤ 0.6",
        "holds",
        "≥ 10",
        "falls short",
        "owed",
    ] {
        assert!(table.contains(shown), "{shown} is not in\n{table}");
    }
}

#[test]
fn the_json_holds_figures_bars_and_verdicts() {
    let group = serde_json::to_value(judged()).unwrap();
    assert_eq!(group["group"], "log");
    assert_eq!(group["machine"], "2 cores");
    assert_eq!(group["figures"][0]["figure"]["value"], 0.41);
    assert_eq!(group["figures"][0]["bar"]["at_most"], 0.6);
    assert_eq!(group["figures"][0]["verdict"], "holds");
    assert_eq!(group["figures"][3]["verdict"], "owed");
}

#[test]
fn a_report_of_another_group_or_with_a_key_twice_is_refused() {
    let other = Report::parse(REPORT, "views").unwrap_err();
    assert_eq!(other.to_string(), "are those of log");
    let twice = REPORT.replace("\"extra\"", "\"group_commit_64_vs_1\"");
    let twice = Report::parse(&twice, "log").unwrap_err();
    assert_eq!(twice.to_string(), "hold `group_commit_64_vs_1` twice");
}
