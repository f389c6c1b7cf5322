//! The table of grades: our contexts against the best hits, question by question.

use std::collections::{BTreeMap, BTreeSet};

use crate::eval::{
    contexts::{Condition, KeyLine},
    score::{half_width, mean},
};

/// Answer of a reader if the text does not hold the answer.
const NOT_IN_CONTEXT: &str = "NOT IN CONTEXT";

/// Result of a question under one condition.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    grade: f64,
    is_absent: bool,
    evidence: Option<f64>,
}

/// A question under both conditions.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    data: String,
    category: String,
    ours: Side,
    hits: Side,
}

/// Two tables in Markdown, by data set and by category, with a line that explains them.
pub(super) fn table(key: &[KeyLine], answers: &BTreeMap<String, String>, grades: &BTreeMap<String, f64>) -> String {
    let pairs = pairs(key, answers, grades);
    let all = |_: &Pair| true;
    let is_temporal = |pair: &Pair| pair.category.contains("temporal");
    let mut out = head("data");
    for data in pairs.iter().map(|pair| pair.data.as_str()).collect::<BTreeSet<_>>() {
        out += &row(data, &pairs, |pair| pair.data == data);
    }
    out += &row("**all**", &pairs, all);
    out += "\n";
    out += &head("category");
    for (data, category) in
        pairs.iter().map(|pair| (pair.data.as_str(), pair.category.as_str())).collect::<BTreeSet<_>>()
    {
        out += &row(&format!("{data}: {category}"), &pairs, |pair| pair.data == data && pair.category == category);
    }
    out += &row("**temporal**", &pairs, is_temporal);
    out += &row("**not temporal**", &pairs, |pair| !is_temporal(pair));
    let budgets: BTreeSet<String> = key.iter().map(|line| line.budget.to_string()).collect();
    let budgets = match budgets.len() {
        ..=3 => budgets.into_iter().collect::<Vec<_>>().join(", "),
        _ => "a share of each conversation's".to_owned(),
    };
    out += &format!(
        "\nOurs is the text of a context at the defaults, hits the best hits of the same search in order of time, headed by \
         speaker and date, and nothing else; {budgets} tokens. Right is the mean grade (1, 0.5, 0), the difference is paired, \
         in points, with the interval that holds 95 % of it (bootstrap over questions); evidence is what of it is shown \
         word for word."
    );
    out
}

/// A question by its data and id, and its results under the two conditions.
type Sides<'k> = BTreeMap<(&'k str, &'k str), (&'k KeyLine, [Option<Side>; 2])>;

fn pairs(key: &[KeyLine], answers: &BTreeMap<String, String>, grades: &BTreeMap<String, f64>) -> Vec<Pair> {
    let mut sides = Sides::new();
    for line in key {
        let (Some(answer), Some(grade)) = (answers.get(&line.file), grades.get(&line.file)) else { continue };
        let side = Side { grade: *grade, is_absent: is_absent(answer), evidence: line.evidence };
        let (_, sides) = sides.entry((&line.data, &line.question_id)).or_insert((line, [None; 2]));
        let [ours, hits] = sides;
        *match line.condition {
            Condition::Ours => ours,
            Condition::Hits => hits,
        } = Some(side);
    }
    let pair = |(line, [ours, hits]): (&KeyLine, [Option<Side>; 2])| {
        Some(Pair { data: line.data.clone(), category: line.category.clone(), ours: ours?, hits: hits? })
    };
    sides.into_values().filter_map(pair).collect()
}

fn is_absent(answer: &str) -> bool {
    answer.trim_matches(|c: char| !c.is_alphanumeric()).to_uppercase().starts_with(NOT_IN_CONTEXT)
}

fn head(by: &str) -> String {
    format!(
        "| {by} | n | ours right | hits right | difference | 95 % interval | not in context: ours, hits | evidence: ours, hits |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n"
    )
}

fn row(name: &str, pairs: &[Pair], is_in: impl Fn(&Pair) -> bool) -> String {
    let pairs: Vec<&Pair> = pairs.iter().filter(|pair| is_in(pair)).collect();
    if pairs.is_empty() {
        return String::new();
    }
    let sides = [|pair: &Pair| pair.ours, |pair: &Pair| pair.hits].map(|of| {
        let sides: Vec<Side> = pairs.iter().map(|pair| of(pair)).collect();
        let grades: Vec<f64> = sides.iter().map(|side| side.grade).collect();
        let evidence: Vec<f64> = sides.iter().filter_map(|side| side.evidence).collect();
        let evidence = match evidence.is_empty() {
            true => "–".to_owned(),
            false => format!("{:.1} %", 100.0 * mean(&evidence)),
        };
        (format!("{:.1} %", 100.0 * mean(&grades)), sides.iter().filter(|side| side.is_absent).count(), evidence)
    });
    let [(ours, ours_absent, ours_evidence), (hits, hits_absent, hits_evidence)] = sides;
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.ours.grade - pair.hits.grade).collect();
    let (mean, half) = (100.0 * mean(&differences), 100.0 * half_width(&differences));
    let interval = match differences.len() {
        // A single question has no interval.
        1 => "–".to_owned(),
        _ => format!("{:+.1} to {:+.1}", mean - half, mean + half),
    };
    format!(
        "| {name} | {} | {ours} | {hits} | {mean:+.1} | {interval} | {ours_absent}, {hits_absent} | \
         {ours_evidence}, {hits_evidence} |\n",
        pairs.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(data: &str, category: &str, ours: f64, hits: f64) -> Pair {
        let side = |grade| Side { grade, is_absent: grade == 0.0, evidence: Some(grade) };
        Pair { data: data.to_owned(), category: category.to_owned(), ours: side(ours), hits: side(hits) }
    }

    #[test]
    fn a_row_is_what_one_computes_by_hand() {
        // Ours 1, 1, .5, 0: 62.5 %. Hits 1, 0, 1, .5: 62.5 %. Differences 0, 1, −.5, −.5: 0.
        let pairs =
            [pair("a", "x", 1.0, 1.0), pair("a", "x", 1.0, 0.0), pair("a", "y", 0.5, 1.0), pair("a", "y", 0.0, 0.5)];
        let shown = row("a", &pairs, |_| true);
        assert!(shown.starts_with("| a | 4 | 62.5 % | 62.5 % | +0.0 |"), "{shown}");
        assert!(shown.ends_with("| 1, 1 | 62.5 %, 62.5 % |\n"), "{shown}");
        // Ours .5, 0 against 1, .5: half a point less each time, so the interval has no width.
        assert_eq!(
            row("y", &pairs, |pair| pair.category == "y"),
            "| y | 2 | 25.0 % | 75.0 % | -50.0 | -50.0 to -50.0 | 1, 0 | 25.0 %, 75.0 % |\n"
        );
        assert_eq!(row("z", &pairs, |pair| pair.category == "z"), "");
    }

    #[test]
    fn the_interval_is_that_of_paired_differences() {
        // 50 differences of +1 and 50 of −1: mean 0, standard deviation 1, so 1.96 / √100 = 19.6 points on each side.
        let mut pairs = vec![pair("a", "x", 1.0, 0.0); 50];
        pairs.extend(vec![pair("a", "x", 0.0, 1.0); 50]);
        let shown = row("a", &pairs, |_| true);
        let interval = shown.split(" | ").nth(5).unwrap();
        let (low, high) = interval.split_once(" to ").unwrap();
        let [low, high]: [f64; 2] = [low, high].map(|end| end.parse().unwrap());
        assert!((-21.5..=-17.5).contains(&low) && (17.5..=21.5).contains(&high), "{interval}");
        // The same grades, but both sides move together: the difference is certain, however much the grades scatter.
        let mut pairs = vec![pair("a", "x", 1.0, 1.0); 50];
        pairs.extend(vec![pair("a", "x", 0.0, 0.0); 50]);
        assert_eq!(row("a", &pairs, |_| true).split(" | ").nth(5), Some("+0.0 to +0.0"));
    }

    #[test]
    fn an_absent_answer_is_known_by_its_words() {
        assert!(is_absent("NOT IN CONTEXT") && is_absent(" *Not in context.* "));
        assert!(!is_absent("Her age is not in context, her name is Ada.") && !is_absent("Paris"));
    }
}
