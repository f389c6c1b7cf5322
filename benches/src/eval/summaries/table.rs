//! The table of what summaries keep, in Markdown.

use super::{
    CONTENDERS, Contender, Count, Kept, Unit,
    bootstrap::{Difference, Interval, interval},
    faithful::Faithful,
};

/// A table for single messages and one for groups, each under a title.
pub(super) fn render(kept: &[Kept]) -> String {
    let tables = [(Unit::Node, "SUMMARY of single messages"), (Unit::Group, "META of groups of 30 messages")];
    tables
        .map(|(unit, title)| table(title, &kept.iter().filter(|kept| kept.unit == unit).collect::<Vec<_>>()))
        .join("\n\n")
        + "\n\n"
        + &faithful_table(&kept.iter().filter(|kept| kept.unit == Unit::Node).collect::<Vec<_>>())
}

/// How faithful the summaries of single messages are.
fn faithful_table(kept: &[&Kept]) -> String {
    let mut lines = vec![
        "SUMMARY: whether it says what the message says.\n".to_owned(),
        "| | words a run | unmarked splices per 100 words | negations flipped | questions kept |".to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    lines.extend(Contender::ALL.map(|contender| {
        let of = faithful(kept, contender);
        format!(
            "| {} | {:.1} | {:.1} | {} of {} ({:.1} %) | {} of {} ({:.0} %) |",
            contender.name(),
            of.words_per_run(),
            of.splices_per_100(),
            of.flipped,
            of.negated,
            of.flipped_percent(),
            of.asking,
            of.asked,
            of.asking_percent(),
        )
    }));
    lines.join("\n")
}

/// The sum over all units.
pub(super) fn faithful(kept: &[&Kept], contender: Contender) -> Faithful {
    let of = |kept: &&Kept| kept.faithful.get(contender as usize).copied().unwrap_or_default();
    kept.iter().map(of).fold(Faithful::default(), Faithful::and)
}

fn table(title: &str, kept: &[&Kept]) -> String {
    let mut conversations: Vec<_> = kept.iter().map(|kept| kept.conversation).collect();
    conversations.dedup();
    let mut lines = vec![
        format!("{title}: {} with evidence, of {} conversations.\n", kept.len(), conversations.len()),
        "| | all terms | figures, names, dates | answers' words | mean of shares | tokens | × first words | less lead | less TextRank |"
            .to_owned(),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    lines.extend(Contender::ALL.map(|contender| row(contender, kept)));
    lines.join("\n")
}

fn row(contender: Contender, kept: &[&Kept]) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let all = pooled(kept, contender, |kept| kept.all);
    let first = pooled(kept, Contender::FirstWords, |kept| kept.all);
    let of = |values: &[f64; CONTENDERS]| values.get(contender as usize).copied().unwrap_or_default();
    let tokens = mean(kept.iter().map(|kept| of(&kept.tokens)));
    let shares = mean(kept.iter().map(|kept| of(&kept.all.kept) / kept.all.wanted));
    let less = |other: Contender| {
        if contender == other {
            return "—".to_owned();
        }
        let than = |kept: &Kept| kept.all.kept.get(other as usize).copied().unwrap_or_default();
        let difference = |kept: &&Kept| Difference {
            conversation: kept.conversation,
            kept: of(&kept.all.kept) - than(kept),
            wanted: kept.all.wanted,
        };
        let Interval { mean, low, high } = interval(&kept.iter().map(difference).collect::<Vec<_>>());
        format!("{:+.1} ({:+.1} to {:+.1})", mean * 100.0, low * 100.0, high * 100.0)
    };
    format!(
        "| {} | {} | {} | {} | {} | {tokens:.0} | {:.2} | {} | {} |",
        contender.name(),
        percent(all),
        percent(pooled(kept, contender, |kept| kept.facts)),
        percent(pooled(kept, contender, |kept| kept.answers)),
        percent(shares),
        all / first,
        less(Contender::Lead),
        less(Contender::TextRank),
    )
}

/// The share of all terms of all units that a contender keeps.
pub(super) fn pooled(kept: &[&Kept], contender: Contender, of: impl Fn(&Kept) -> Count) -> f64 {
    let counts = kept.iter().map(|kept| of(kept));
    let (kept, wanted) = counts.fold((0.0, 0.0), |(kept, wanted), count| {
        (kept + count.kept.get(contender as usize).copied().unwrap_or_default(), wanted + count.wanted)
    });
    kept / wanted
}

/// The mean; NaN without values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
