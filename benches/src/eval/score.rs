//! Run files and their scores: a line of JSON for each question, its measures as `score.py` next to the evaluation data
//! computes them, and tables of runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
    path::Path,
};

use anyhow::{Result, ensure};
use memory_core::{MessageKey, port::SearchStep};
use serde::{Deserialize, Serialize, Serializer};

use super::{Asked, Question, contexts::read_lines};
use crate::figure::quantile;

/// Turns over which the discounted gain is computed.
const DEPTH: usize = 10;
const RESAMPLES: usize = 1_000;
const SEED: u64 = 7;

/// A line of a run file, with the members that are scored.
#[derive(Deserialize)]
struct Line {
    query_id: String,
    #[serde(default)]
    ranked: Vec<String>,
    packed: Option<BTreeSet<String>>,
    in_context: Option<BTreeSet<String>>,
    history_share: Option<f64>,
    latency_ms: Option<f64>,
}

/// Scores of the answer to one question, each 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct AnswerScores {
    recall5: f64,
    recall10: f64,
    ndcg10: f64,
    /// The share of the evidence that was packed, if the run packs.
    packed: Option<f64>,
    /// The share of the evidence that a full context shows verbatim.
    in_context: Option<f64>,
    history: Option<f64>,
}

/// Shares of the evidence that are packed into a budget, as means over questions, each 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PackedShares {
    /// Share if recall gets the whole budget.
    pub(crate) alone: f64,
    /// Share in a full context.
    pub(crate) in_context: f64,
    /// The history's share of that context's budget.
    pub(crate) history: f64,
}

impl AnswerScores {
    fn of(evidence: &BTreeSet<String>, line: Option<&Line>) -> Self {
        let Some(line) = line else { return Self::default() };
        let mut seen = BTreeSet::new();
        let ranked: Vec<_> = line.ranked.iter().filter(|turn| seen.insert(*turn)).collect();
        let found = |depth: usize| ranked.iter().take(depth).filter(|turn| evidence.contains(**turn)).count();
        let part = |count: usize| share(count, evidence.len());
        let gain = |place: usize| 1.0 / share(place + 2, 1).log2();
        let places = ranked.iter().take(DEPTH).enumerate().filter(|(_, turn)| evidence.contains(**turn));
        let ideal: f64 = (0..evidence.len().min(DEPTH)).map(gain).sum();
        Self {
            recall5: part(found(5)),
            recall10: part(found(10)),
            ndcg10: places.map(|(place, _)| gain(place)).sum::<f64>() / ideal,
            packed: line.packed.as_ref().map(|packed| part(packed.intersection(evidence).count())),
            in_context: line.in_context.as_ref().map(|shown| part(shown.intersection(evidence).count())),
            history: line.history_share,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of turns")]
fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// A run, question by question: only questions with evidence.
#[derive(Debug, Default)]
pub(super) struct Scored {
    scores: BTreeMap<String, AnswerScores>,
    /// Milliseconds of each search.
    latencies: Vec<f64>,
}

impl Scored {
    /// Scores the run file at `path`. A question without an answer scores 0.
    ///
    /// # Errors
    /// When the file cannot be read, or a line does not follow the format.
    pub(super) fn read(path: &Path, questions: &[Question]) -> Result<Self> {
        let lines: Vec<Line> = read_lines(path)?;
        let lines: BTreeMap<_, _> = lines.into_iter().map(|line| (line.query_id.clone(), line)).collect();
        let with_evidence = questions.iter().filter(|question| !question.evidence.is_empty());
        let scores = with_evidence
            .map(|question| (question.id.clone(), AnswerScores::of(&question.evidence, lines.get(&question.id))))
            .collect::<BTreeMap<_, _>>();
        ensure!(!scores.is_empty(), "no question to score in {} has evidence", path.display());
        let latencies = lines.values().filter_map(|line| line.latency_ms).collect();
        Ok(Self { scores, latencies })
    }

    /// The packed shares of the evidence.
    pub(super) fn packed(&self) -> PackedShares {
        PackedShares {
            alone: mean(&self.values(|scores| scores.packed)),
            in_context: mean(&self.values(|scores| scores.in_context)),
            history: mean(&self.values(|scores| scores.history)),
        }
    }

    fn values(&self, of: fn(&AnswerScores) -> Option<f64>) -> Vec<f64> {
        self.scores.values().filter_map(of).collect()
    }

    /// The change of a measure against `other`, question by question.
    fn changes(&self, other: &Self, of: fn(&AnswerScores) -> Option<f64>) -> Vec<f64> {
        let pair = |(id, scores): (&String, &AnswerScores)| Some(of(scores)? - of(other.scores.get(id)?)?);
        self.scores.iter().filter_map(pair).collect()
    }
}

/// The runs of one directory by their scopes, each with the run to compare it with, if any.
pub(super) type Runs = BTreeMap<Asked, (Scored, Option<Scored>)>;

type Measure = fn(&AnswerScores) -> Option<f64>;
/// The columns of runs in one scope.
const COLUMNS: [(&str, Measure); 6] = [
    ("R@5", |scores| Some(scores.recall5)),
    ("R@10", RECALL),
    ("nDCG@10", |scores| Some(scores.ndcg10)),
    ("packed", PACKED),
    ("in a context", IN_CONTEXT),
    ("its history", |scores| scores.history),
];
/// The columns of runs in both scopes.
const OF_BOTH: [(&str, Asked, Measure); 4] = [
    ("R@10 of one", Asked::One, RECALL),
    ("R@10 of all", Asked::All, RECALL),
    ("packed", Asked::One, PACKED),
    ("in a context", Asked::One, IN_CONTEXT),
];
const RECALL: Measure = |scores| Some(scores.recall10);
const PACKED: Measure = |scores| scores.packed;
const IN_CONTEXT: Measure = |scores| scores.in_context;

/// A Markdown table of runs by the names of their data, in percent with the half-width of the 95 % interval (bootstrap
/// over questions), and of their changes against another run of the same data, if there is one. All have the scopes of
/// the first.
pub(super) fn table(rows: &[(String, Runs)]) -> String {
    let scopes: Vec<Asked> = rows.first().into_iter().flat_map(|(_, runs)| runs.keys().copied()).collect();
    let (columns, times): (Vec<_>, Vec<_>) = match scopes[..] {
        [asked] => (COLUMNS.map(|(name, of)| (name, asked, of)).to_vec(), vec!["search p50, p95"]),
        _ => (OF_BOTH.to_vec(), vec!["search of one p50, p95", "search of all p50, p95"]),
    };
    let mut out = String::from("| data | questions |");
    columns.iter().map(|(name, ..)| name).chain(&times).for_each(|name| out += &format!(" {name} |"));
    out += "\n|---|---|";
    out += &"---|".repeat(columns.len() + times.len());
    for (name, runs) in rows {
        let Some((first, other)) = runs.values().next() else { continue };
        // Writing to a string cannot fail.
        let _ = write!(out, "\n| {name} | {} |", first.scores.len());
        let of = |asked: &Asked| runs.get(asked);
        for (_, asked, measure) in &columns {
            out += &cell(&of(asked).map(|(run, _)| run.values(*measure)).unwrap_or_default(), false);
        }
        runs.values().for_each(|(run, _)| out += &format!(" {} |", percentiles(&run.latencies)));
        if other.is_some() {
            let _ = write!(out, "\n| {name}, change | |");
            for (_, asked, measure) in &columns {
                let changes = of(asked).and_then(|(run, other)| Some(run.changes(other.as_ref()?, *measure)));
                out += &cell(&changes.unwrap_or_default(), true);
            }
            out += &" |".repeat(times.len());
        }
    }
    out
}

/// The mean with its interval; a change is marked if its interval does not contain 0.
fn cell(values: &[f64], is_change: bool) -> String {
    if values.is_empty() {
        return " – |".to_owned();
    }
    let (mean, half) = (mean(values) * 100.0, half_width(values) * 100.0);
    match is_change {
        false => format!(" {mean:.1} ± {half:.1} |"),
        true if mean.abs() > half => format!(" **{mean:+.1}** ± {half:.1} |"),
        true => format!(" {mean:+.1} ± {half:.1} |"),
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / share(values.len(), 1)
}

/// Half the width of the interval that holds 95 % of the means of resamples (Efron, 1979).
pub(super) fn half_width(values: &[f64]) -> f64 {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut resample = || {
        let drawn: Vec<f64> = values.iter().filter_map(|_| values.get(random.usize(..values.len())).copied()).collect();
        mean(&drawn)
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resample()).collect();
    means.sort_by(f64::total_cmp);
    (quantile(&means, 0.975) - quantile(&means, 0.025)) / 2.0
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RunLine {
    /// The question's id.
    pub(super) query_id: String,
    /// Turns, best first.
    #[serde(serialize_with = "keys")]
    pub(super) ranked: Vec<MessageKey>,
    /// Turns shown in full, and their tokens.
    #[serde(flatten)]
    pub(super) packed: Option<PackedTurns>,
    /// Turns of a full context of the same budget.
    #[serde(flatten)]
    pub(super) context: Option<ContextTurns>,
    /// Duration of the search.
    pub(super) latency_ms: f64,
}

/// Turns packed within the budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PackedTurns {
    /// Turns in chronological order.
    #[serde(serialize_with = "keys")]
    pub(super) packed: Vec<MessageKey>,
    /// Tokens of the turns, including headers.
    pub(super) packed_tokens: u64,
}

/// Turns that a context shows verbatim next to its summaries; read by `Scored`, and ignored by `score.py`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ContextTurns {
    /// Turns shown verbatim, in the history or recalled, in chronological order.
    #[serde(serialize_with = "keys")]
    pub(super) in_context: Vec<MessageKey>,
    /// The history's share of the budget, 0..=1.
    pub(super) history_share: f64,
}

fn keys<S: Serializer>(keys: &[MessageKey], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(MessageKey::as_str))
}

/// Median and 95th percentile of milliseconds, as in `3.1 ms, 8.4 ms`; a dash without any.
fn percentiles(millis: &[f64]) -> String {
    if millis.is_empty() {
        return "–".to_owned();
    }
    let [p50, p95] = [0.5, 0.95].map(|share| percentile(millis, share));
    format!("{p50:.1} ms, {p95:.1} ms")
}

fn percentile(millis: &[f64], share: f64) -> f64 {
    let mut sorted = millis.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, share)
}

/// Durations of the steps of each kind of call, and the numbers of candidates.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    by_name: Vec<((&'static str, &'static str), Vec<f64>, u64)>,
}

impl Steps {
    /// Adds a call.
    pub(crate) fn add(&mut self, call: &'static str, steps: &[SearchStep]) {
        for step in steps {
            let name = (call, step.name);
            let at = self.by_name.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                self.by_name.push((name, Vec::new(), 0));
                self.by_name.len() - 1
            });
            if let Some((_, latencies, candidates)) = self.by_name.get_mut(at) {
                latencies.push(step.took.as_secs_f64() * 1_000.0);
                *candidates += step.candidates as u64;
            }
        }
    }

    /// The medians of one kind of call in one line, as in `words 0.8 ms, embed 4.1 ms`.
    pub(crate) fn line(&self, call: &str) -> String {
        let of_call = self.by_name.iter().filter(|((of, _), ..)| *of == call);
        let steps = of_call.map(|((_, step), latencies, _)| format!("{step} {:.1} ms", percentile(latencies, 0.5)));
        steps.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Steps {
    /// A Markdown table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| call | step | p50, p95 | candidates, mean |\n|---|---|---|---|")?;
        for ((call, step), latencies, candidates) in &self.by_name {
            let (shown, candidates) = (percentiles(latencies), candidates / latencies.len().max(1) as u64);
            write!(f, "\n| {call} | {step} | {shown} | {candidates} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use memory_core::ConversationId;
    use std::fs;

    use super::*;
    use crate::eval::contexts::write_lines;

    fn question(id: &str, evidence: &[&str]) -> Question {
        Question {
            id: id.to_owned(),
            conversation: ConversationId::new("c").unwrap(),
            text: "?".to_owned(),
            answer: String::new(),
            evidence: evidence.iter().map(|turn| (*turn).to_owned()).collect(),
            category: String::new(),
            answerable: true,
        }
    }

    fn scored(lines: &str) -> Scored {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        fs::write(&path, lines).unwrap();
        let questions = [question("q1", &["t1", "t2"]), question("q2", &["t9"]), question("q3", &[])];
        Scored::read(&path, &questions).unwrap()
    }

    #[test]
    fn scores_are_those_of_score_py() {
        // The first case of the test in `score.py`.
        let run = scored(concat!(
            r#"{"query_id":"q1","ranked":["t1","t3","t3","t2","t4","t5"],"packed":["t1","t2"],"latency_ms":2.0}"#,
            "\n",
            r#"{"query_id":"q2","ranked":["t0","t1","t2","t3","t4","t5","t9"],"packed":["t0"]}"#,
        ));
        let first = run.scores["q1"];
        let ndcg = (1.0 + 0.5) / (1.0 + 1.0 / 3_f64.log2());
        assert!((first.ndcg10 - ndcg).abs() < 1e-9, "{first:?}");
        assert_eq!((first.recall5, first.recall10, first.packed), (1.0, 1.0, Some(1.0)));
        let second = run.scores["q2"];
        assert!((second.ndcg10 - 1.0 / 8_f64.log2()).abs() < 1e-9, "{second:?}");
        assert_eq!((second.recall5, second.recall10, second.packed), (0.0, 1.0, Some(0.0)));
        assert_eq!(run.scores.len(), 2);
    }

    #[test]
    fn a_question_without_an_answer_is_worth_nothing() {
        let run = scored(r#"{"query_id":"q1","ranked":["t1"]}"#);
        assert_eq!(run.scores["q2"], AnswerScores::default());
    }

    #[test]
    fn a_table_shows_runs_and_clear_changes() {
        let before = scored(r#"{"query_id":"q1","ranked":["t8"]}"#);
        let after =
            scored("{\"query_id\":\"q1\",\"ranked\":[\"t1\",\"t2\"]}\n{\"query_id\":\"q2\",\"ranked\":[\"t9\"]}");
        let expected = "\
| data | questions | R@5 | R@10 | nDCG@10 | packed | in a context | its history | search p50, p95 |
|---|---|---|---|---|---|---|---|---|
| toy | 2 | 100.0 ± 0.0 | 100.0 ± 0.0 | 100.0 ± 0.0 | – | – | – | – |
| toy, change | | **+100.0** ± 0.0 | **+100.0** ± 0.0 | **+100.0** ± 0.0 | – | – | – | |";
        let runs = Runs::from([(Asked::All, (after, Some(before)))]);
        assert_eq!(table(&[("toy".to_owned(), runs)]), expected);
    }

    #[test]
    fn a_table_of_both_scopes_shows_one_beside_all() {
        let one = scored(concat!(
            r#"{"query_id":"q1","ranked":["t1","t2"],"packed":["t1"],"in_context":["t2"],"latency_ms":2.0}"#,
            "\n",
            r#"{"query_id":"q2","ranked":["t9"],"packed":[],"in_context":[]}"#,
        ));
        let all = scored(r#"{"query_id":"q2","ranked":["t9"],"latency_ms":9.0}"#);
        let expected = "\
| data | questions | R@10 of one | R@10 of all | packed | in a context | search of one p50, p95 | search of all p50, p95 |
|---|---|---|---|---|---|---|---|
| toy | 2 | 100.0 ± 0.0 | 50.0 ± 50.0 | 25.0 ± 25.0 | 25.0 ± 25.0 | 2.0 ms, 2.0 ms | 9.0 ms, 9.0 ms |";
        let runs = Runs::from([(Asked::One, (one, None)), (Asked::All, (all, None))]);
        assert_eq!(table(&[("toy".to_owned(), runs)]), expected);
    }

    #[test]
    fn lines_have_the_members_that_score_py_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        let key = |name| MessageKey::new(name).unwrap();
        let plain = RunLine {
            query_id: "q1".into(),
            ranked: vec![key("t2"), key("t1")],
            packed: None,
            context: None,
            latency_ms: 1.5,
        };
        let packed = PackedTurns { packed: vec![key("t1")], packed_tokens: 20 };
        let second = RunLine { packed: Some(packed), ..plain.clone() };
        write_lines(&path, &[plain, second]).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = written.lines().collect();
        assert_eq!(lines[0], r#"{"query_id":"q1","ranked":["t2","t1"],"latency_ms":1.5}"#);
        assert_eq!(
            lines[1],
            r#"{"query_id":"q1","ranked":["t2","t1"],"packed":["t1"],"packed_tokens":20,"latency_ms":1.5}"#
        );
    }
}
