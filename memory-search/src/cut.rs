//! Cuts a long message to the parts that show its relation to a question.

use std::ops::Range;

use crate::{
    boundary::{cut_after, cut_before},
    lexical::{Asked, asked_words},
    repeats::ends,
};

/// Bytes that a part costs in addition to its own: an ellipsis and a line break.
pub(crate) const PART_BYTES: usize = 8;
/// Maximum parts of one message.
const MOST_PARTS: usize = 12;
/// Minimum weight of the words of the question in a further part, relative to the best part.
const FURTHER: f32 = 0.6;
/// Bytes of a line below which it is a heading or a label.
const LABEL: usize = 80;
/// Most lines between a part and the heading that is shown with it.
const FARTHEST_LABEL: usize = 20;
/// Part of the room that such a heading may take, as a divisor.
const LABEL_PART: usize = 6;
/// Fewest words of a part that stands alone.
const FEWEST_WORDS: usize = 4;
/// Share of the room that a part fills with what surrounds it, unless it is a row of a table; also that of a beginning
/// that is shown for want of words of the question.
const AROUND: f64 = 0.5;
/// Signs between the cells of a row, and their minimum number.
const SEPARATORS: [char; 4] = [',', '\t', '|', ';'];
const FEWEST_CELLS: usize = 2;

/// A line, or a sentence of a line that is too long to be shown whole.
struct Unit {
    range: Range<usize>,
    /// Indices of the words of the question in it.
    asked: Vec<usize>,
    score: f32,
}

/// Parts of a text, at most `max_bytes` together with [`PART_BYTES`] for each, that best show its relation to a
/// question with these terms: whole lines and sentences, as far as they fit, in order, none empty, with text between
/// any two.
///
/// The line with the rarest words of the question comes first, then others that have nearly as many. A row of a table
/// brings the table's header; anything else brings what surrounds it. A text without words of the question gives its
/// beginning.
pub(crate) fn cut(text: &str, asked: &Asked, max_bytes: usize) -> Vec<Range<usize>> {
    if text.len() <= max_bytes {
        return std::iter::once(0..text.len()).collect();
    }
    let units = units(text, asked, max_bytes);
    let mut order: Vec<usize> = (0..units.len()).collect();
    let score = |at: usize| units.get(at).map_or(0.0, |unit| unit.score);
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let Some(&best) = order.first() else { return Vec::new() };
    let mut taken = Taken { units: &units, chosen: vec![best], bytes: 0, max_bytes };
    let Some(unit) = units.get(best) else { return Vec::new() };
    taken.bytes = unit.range.len() + PART_BYTES;
    if taken.bytes > max_bytes {
        let word = first_word(text, asked, &unit.range);
        let part = window(text, &unit.range, word, max_bytes.saturating_sub(PART_BYTES));
        return Vec::from_iter((!part.is_empty()).then_some(part));
    }
    let header = header(text, &units, best);
    if unit.score > 0.0 {
        header.iter().for_each(|at| taken.take(*at));
        let in_table = !header.is_empty();
        let label_of = |of: usize| {
            let is_cheap = |at: &usize| units.get(*at).is_some_and(|unit| unit.range.len() * LABEL_PART <= max_bytes);
            label_above(text, &units, of).filter(is_cheap)
        };
        label_of(best).filter(|_| !in_table).iter().for_each(|at| taken.take(*at));
        for &other in order.iter().skip(1).take(MOST_PARTS - 1).take_while(|at| score(**at) >= FURTHER * unit.score) {
            let is_short = units.get(other).is_some_and(|unit| unit.range.len() < LABEL);
            match in_table {
                true => taken.take(other),
                // A heading says nothing without what stands below it.
                false if is_label(text, &units, other) => taken.take_both(other, other + 1),
                false => {
                    taken.take(other);
                    label_of(other).iter().for_each(|at| taken.take(*at));
                    if is_short {
                        taken.take(other + 1);
                    }
                }
            }
        }
    }
    if header.is_empty() {
        taken.drop_fragments(text, best);
        taken.widen(best);
        taken.drop_fragments(text, best);
    }
    taken.ranges()
}

/// True if a unit is a heading, or names what follows it, such as "3. **Example**" or "For the database:".
fn is_label(text: &str, units: &[Unit], at: usize) -> bool {
    let line = units.get(at).and_then(|unit| text.get(unit.range.clone())).unwrap_or_default();
    let is_mark = |mark: &str| {
        matches!(mark, "-" | "*" | "+") || mark.trim_end_matches(['.', ')']).bytes().all(|byte| byte.is_ascii_digit())
    };
    let line = line.split_once(' ').filter(|(mark, _)| is_mark(mark)).map_or(line, |(_, item)| item.trim_start());
    let is_bold = line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    line.len() < LABEL && (line.starts_with('#') || is_bold || line.ends_with([':', '：']))
}

/// The nearest label above a unit, without which an example passes for an instruction.
fn label_above(text: &str, units: &[Unit], of: usize) -> Option<usize> {
    (0..of).rev().take(FARTHEST_LABEL).find(|at| is_label(text, units, *at))
}

/// Chosen units.
struct Taken<'a> {
    units: &'a [Unit],
    chosen: Vec<usize>,
    bytes: usize,
    max_bytes: usize,
}

impl Taken<'_> {
    /// Chooses a unit, if there is room.
    fn take(&mut self, at: usize) {
        let Some(unit) = self.units.get(at).filter(|_| !self.chosen.contains(&at)) else { return };
        let bytes = self.bytes + unit.range.len() + PART_BYTES;
        if bytes <= self.max_bytes {
            self.bytes = bytes;
            self.chosen.push(at);
        }
    }

    /// Chooses two units, if there is room for both.
    fn take_both(&mut self, one: usize, other: usize) {
        let bytes = |at: usize| {
            let unit = self.units.get(at).filter(|_| !self.chosen.contains(&at));
            unit.map_or(0, |unit| unit.range.len() + PART_BYTES)
        };
        if self.bytes + bytes(one) + bytes(other) <= self.max_bytes && other < self.units.len() {
            self.take(one);
            self.take(other);
        }
    }

    /// Chooses the units around one, nearest first, up to the share [`AROUND`] of the room.
    fn widen(&mut self, best: usize) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share"
        )]
        let enough = (self.max_bytes as f64 * AROUND) as usize;
        let most = self.max_bytes;
        self.max_bytes = enough;
        for distance in 1..=MOST_PARTS {
            self.take(best + distance);
            best.checked_sub(distance).into_iter().for_each(|at| self.take(at));
        }
        self.max_bytes = most;
    }

    /// Removes what says nothing where it stands: a label without what it is the label of, and a few words alone.
    fn drop_fragments(&mut self, text: &str, best: usize) {
        let units = self.units;
        // A row of a table has few words, and a value.
        let is_short = |at: usize| {
            let part = units.get(at).and_then(|unit| text.get(unit.range.clone())).unwrap_or_default();
            let words = part.split(char::is_whitespace).filter(|word| word.contains(char::is_alphanumeric));
            words.count() < FEWEST_WORDS && !part.contains(char::is_numeric)
        };
        self.chosen.sort_unstable();
        loop {
            let says_nothing = |(place, at): (usize, &usize)| {
                let [before, after] = [place.checked_sub(1), Some(place + 1)]
                    .map(|place| place.and_then(|place| self.chosen.get(place)).copied());
                let is_joined = before.is_some_and(|before| before + 1 == *at) || after == Some(at + 1);
                let heads = after.is_some_and(|after| after == at + 1 || label_above(text, units, after) == Some(*at));
                let is_label = is_label(text, units, *at);
                *at != best && (is_label && !heads || !is_label && !is_joined && is_short(*at))
            };
            let Some((place, _)) = self.chosen.iter().enumerate().find(|one| says_nothing(*one)) else { return };
            let dropped = self.chosen.remove(place);
            self.bytes -= units.get(dropped).map_or(0, |unit| unit.range.len() + PART_BYTES);
        }
    }

    /// Ranges of the chosen units; neighbours are one range.
    fn ranges(mut self) -> Vec<Range<usize>> {
        self.chosen.sort_unstable();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut last = None;
        for at in self.chosen {
            let Some(unit) = self.units.get(at) else { continue };
            match ranges.last_mut() {
                Some(range) if last.map(|last: usize| last + 1) == Some(at) => range.end = unit.range.end,
                _ => ranges.push(unit.range.clone()),
            }
            last = Some(at);
        }
        ranges
    }
}

/// Units of a text in order, without spaces around them. The score of a unit is the sum over the question's words in
/// it, each by its rarity among the units.
fn units(text: &str, asked: &Asked, max_bytes: usize) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut add = |range: Range<usize>| {
        let part = text.get(range.clone()).unwrap_or_default();
        let start = range.start + part.len() - part.trim_start().len();
        let range = start..start + part.trim().len();
        if !range.is_empty() {
            units.push(Unit { range, asked: Vec::new(), score: 0.0 });
        }
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.len() <= max_bytes / 2 {
            add(at..at + line.len());
        } else {
            let mut from = 0;
            for to in ends(line).filter(|to| *to > 0) {
                add(at + from..at + to);
                from = to;
            }
        }
        at += line.len();
    }
    for (word, term) in asked_words(text, asked) {
        let next = units.partition_point(|unit| unit.range.start <= word.start);
        let Some(unit) = next.checked_sub(1).and_then(|at| units.get_mut(at)) else { continue };
        if !unit.asked.contains(&term) {
            unit.asked.push(term);
        }
    }
    let mut with = vec![0.0f32; asked.len()];
    for term in units.iter().flat_map(|unit| &unit.asked) {
        with.get_mut(*term).into_iter().for_each(|with| *with += 1.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "a logarithm needs no more than 24 bits")]
    let all = units.len() as f32;
    for Unit { asked, score, .. } in &mut units {
        *score = asked.iter().filter_map(|term| with.get(*term)).map(|with| (all / with).ln_1p()).sum();
    }
    units
}

/// The header of the table that a unit is a row of, with the rule below it; empty if it is none.
fn header(text: &str, units: &[Unit], row: usize) -> Vec<usize> {
    let cells = |at: usize, separator: char| {
        let unit = units.get(at)?;
        let cells = text.get(unit.range.clone())?.matches(separator).count();
        (cells >= FEWEST_CELLS).then_some(cells)
    };
    let first_row = |separator: char| {
        let of_row = cells(row, separator)?;
        let is_alike = |at: &usize| cells(*at, separator) == Some(of_row);
        (0..row).rev().take_while(is_alike).last()
    };
    let Some(first) = SEPARATORS.into_iter().find_map(first_row) else { return Vec::new() };
    let is_rule = |at: &usize| {
        let line = units.get(*at).and_then(|unit| text.get(unit.range.clone()));
        line.is_some_and(|line| line.chars().all(|c| "|-:+= ".contains(c)))
    };
    [Some(first), Some(first + 1).filter(is_rule)].into_iter().flatten().collect()
}

/// The first word of the question in a unit, or the unit's start.
fn first_word(text: &str, asked: &Asked, unit: &Range<usize>) -> usize {
    let words = asked_words(text.get(unit.clone()).unwrap_or_default(), asked);
    unit.start + words.first().map_or(0, |(word, _)| word.start)
}

/// At most `max_bytes` of a unit, with a third of them before the word at `at`.
fn window(text: &str, unit: &Range<usize>, at: usize, max_bytes: usize) -> Range<usize> {
    let latest = unit.end.saturating_sub(max_bytes);
    let start = at.saturating_sub(max_bytes / 3).min(latest).max(unit.start);
    let end = (start + max_bytes).min(unit.end);
    let start = if start > unit.start { cut_after(text, start) } else { start };
    let end = if end < unit.end { cut_before(text, end) } else { end };
    let shown = text.get(start..end).unwrap_or_default();
    let start = end.max(start) - shown.trim_start().len();
    start..start + shown.trim().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lexical::{Languages, asked};

    fn shown(text: &str, question: &str, max_bytes: usize) -> Vec<String> {
        cut(text, &asked(question, Languages::ENGLISH), max_bytes)
            .into_iter()
            .map(|range| text[range].to_owned())
            .collect()
    }

    #[test]
    fn a_row_comes_with_the_header_of_its_table() {
        let rows = ["Ann", "Mia", "Tom"].map(|name| format!("{name},Oslo,1\n{name},Graz,2\n{name},Rome,3\n"));
        let text = format!("The list:\nname,town,number\n{}", rows.concat().repeat(5));
        assert_eq!(shown(&text, "What is the number of Mia in Graz?", 50)[..2], ["name,town,number", "Mia,Graz,2"]);
        let table = format!("| name | town |\n|---|---|\n{}| Mia | Graz |\n", "| Ann | Oslo |\n".repeat(30));
        assert_eq!(shown(&table, "Mia", 80), ["| name | town |\n|---|---|", "| Mia | Graz |"]);
        assert_eq!(shown(&table, "Mia", 28), ["| Mia | Graz |"], "the header is not affordable");
    }

    #[test]
    fn a_line_of_a_log_or_a_sentence_is_whole_and_brings_what_is_around_it() {
        let log: String = (0..90).map(|n| format!("10:{n:02} worker {n} is ready\n")).collect();
        assert_eq!(shown(&log, "worker 42", 64), ["10:42 worker 42 is ready"]);
        assert_eq!(shown(&log, "worker 42", 140), ["10:42 worker 42 is ready\n10:43 worker 43 is ready"]);
        let prose =
            format!("{}We moved it to Graz on 3 May. Nobody knew. {}", "So it goes. ".repeat(40), "Well. ".repeat(40));
        let part = shown(&prose, "When did it move to Graz?", 200);
        assert!(part.len() == 1 && part[0].contains("We moved it to Graz on 3 May. Nobody knew."), "{part:?}");
    }

    #[test]
    fn a_part_comes_with_the_heading_above_it_and_a_heading_with_what_it_heads() {
        let steps: String = (0..12).map(|n| format!("- Step {n} of the plan is done by the team.\n")).collect();
        let text = format!("Sure.\n\n### Example of a contract\n{steps}- You pay 40 euros for Graz.\n{steps}");
        let parts = shown(&text, "How much do I pay for Graz?", 160);
        assert_eq!(parts[0], "### Example of a contract", "{parts:?}");
        assert!(parts[1].contains("You pay 40 euros for Graz."), "{parts:?}");
        let text =
            format!("{steps}We moved to Graz in May for good.\n{steps}**Graz in May**\nRain on most days.\n{steps}");
        for max in 40..200 {
            let parts = shown(&text, "Graz in May", max).join(" … ");
            assert!(!parts.contains("**Graz") || parts.contains("**Graz in May**\nRain on"), "{max}: {parts}");
        }
    }

    #[test]
    fn no_heading_and_no_few_words_stand_alone() {
        let item = "3. **Budget of Graz**\n";
        let step = "- Prepare the plan for the budget with the team in Graz and all of its neighbours.\n";
        let text = format!(
            "Fine.\n\n### Next steps\n\n{}{item}\n### Budget\n\n{}Budget, Graz.\n\n{}\n### Follow-up\n",
            step.repeat(3),
            "- A long line about nothing that anybody asked for in this question.\n".repeat(12),
            step.repeat(4),
        );
        for max in 100..900 {
            let parts = shown(&text, "Next budget for Graz", max);
            for part in &parts {
                let is_alone = part.lines().count() == 1 && part.split_whitespace().count() < 4;
                let heads = parts.iter().skip_while(|other| other != &part).nth(1).is_some();
                assert!(!is_alone || part.starts_with(['#', '3']) && heads, "{max}: {parts:?}");
            }
        }
    }

    #[test]
    fn a_text_without_the_words_gives_its_beginning() {
        let text = "One of them. ".repeat(40);
        let part = shown(&text, "Graz", 120);
        assert!(part.len() == 1 && text.starts_with(&part[0]) && part[0].len() > 30, "{part:?}");
    }

    #[test]
    fn no_cut_is_inside_of_a_number_or_an_emoji() {
        let digits = format!("{}4,711,042.50{}", "x".repeat(300), "y".repeat(300));
        let family = "👨‍👩‍👧‍👦".repeat(60);
        for max in 20..140 {
            for part in shown(&digits, "Graz", max) {
                assert!(!part.ends_with(|c: char| c.is_numeric()) || part.ends_with("42.50"), "{part}");
            }
            assert!(shown(&family, "Graz", max).iter().all(|part| part.replace("👨‍👩‍👧‍👦", "").is_empty()), "{max}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_in_order_and_fit(
            text in "([a-c0-9,|. \n]|👨‍👩‍👧|ä){0,300}",
            question in "[a-c0-9 ]{0,9}",
            max in 0_usize..200,
        ) {
            let parts = cut(&text, &asked(&question, Languages::ENGLISH), max);
            let bytes: usize = parts.iter().map(Range::len).sum();
            prop_assert!(bytes + PART_BYTES * parts.len() <= max || text.len() <= max, "{} bytes of {}", bytes, max);
            let mut last = 0;
            for part in &parts {
                prop_assert!(part.start >= last && text.get(part.clone()).is_some(), "{:?}", parts);
                last = part.end;
            }
        }
    }
}
