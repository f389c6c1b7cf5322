//! A diff of two texts, line by line.

/// Lines shown around a change.
const AROUND: usize = 3;
/// Most lines of a text that are compared; the middle of a longer one is shown as replaced.
const MOST: usize = 2000;

/// The changed lines with a few lines around them, each after `+`, `-` or a space; `…` stands for lines left out.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let lines = marked(&before, &after);
    let is_near = |at: usize| {
        let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        lines.get(near).is_some_and(|lines| lines.iter().any(|(mark, _)| *mark != ' '))
    };
    let mut shown = Vec::new();
    for (at, (mark, line)) in lines.iter().enumerate() {
        if is_near(at) {
            shown.push(format!("{mark} {line}"));
        } else if shown.last().is_none_or(|last| last != "…") {
            shown.push("…".to_owned());
        }
    }
    shown.join("\n")
}

/// All lines with their marks, by a longest common subsequence.
fn marked<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    let removed = |lines: &[&'a str]| lines.iter().map(|line| ('-', *line)).collect::<Vec<_>>();
    let added = |lines: &[&'a str]| lines.iter().map(|line| ('+', *line)).collect::<Vec<_>>();
    if before.len() > MOST || after.len() > MOST {
        return [removed(before), added(after)].concat();
    }
    // Entry of a pair of lines: the length of the longest common subsequence from there to the ends.
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let length = if old == new {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = length;
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                lines.push((' ', *old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push(('-', *old));
                i += 1;
            }
            (_, Some(new)) => {
                lines.push(('+', *new));
                j += 1;
            }
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_shown_with_a_few_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng";
        assert_eq!(diff(before, "a\nb\nc\nd\ne\nx\ng"), "…\n  c\n  d\n  e\n- f\n+ x\n  g");
        assert_eq!(diff("", "a\nb"), "+ a\n+ b");
        assert_eq!(diff("a\nb", ""), "- a\n- b");
        assert_eq!(diff("a", "a"), "…");
    }
}
