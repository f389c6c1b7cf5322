//! Counts tests from the closing lines of the test runners.

use std::fmt;

/// Tests that passed and tests that were skipped. A failed test is not counted, because its runner fails first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Adds the counts of a line if it is a closing line of nextest or of the built-in harness.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim_start();
        if line.starts_with("Summary [") {
            self.passed += count(line, "passed");
            self.skipped += count(line, "skipped");
        } else if line.starts_with("test result:") {
            self.passed += count(line, "passed");
            self.skipped += count(line, "ignored");
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, skipped: self.skipped + other.skipped }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, 0 failed", self.passed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The number right before a word, `12` in `12 passed`; 0 if there is none.
fn count(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty()).collect();
    words
        .windows(2)
        .find_map(|pair| match pair {
            [number, after] if *after == word => number.parse().ok(),
            _ => None,
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], passed: u64, skipped: u64) {
        let mut tally = Tally::default();
        for line in lines {
            tally.read(line);
        }
        assert_eq!(tally, Tally { passed, skipped });
    }

    #[test]
    fn nextest_closing_lines_are_read() {
        check(&["     Summary [   0.123s] 34 tests run: 34 passed, 0 skipped"], 34, 0);
        check(&["     Summary [  61.002s] 34 tests run: 34 passed (2 slow, 1 leaky), 3 skipped"], 34, 3);
        check(&["     Summary [   0.006s] 1 test run: 1 passed, 0 skipped"], 1, 0);
    }

    #[test]
    fn the_harness_lines_of_several_binaries_add_up() {
        check(
            &[
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            ],
            7,
            1,
        );
    }

    #[test]
    fn other_lines_count_nothing() {
        check(&["running 3 tests", "        PASS [   0.006s] (1/2) a 9 passed", ""], 0, 0);
    }

    #[test]
    fn the_closing_line_is_plain() {
        let all = Tally { passed: 7, skipped: 0 };
        assert_eq!(all.to_string(), "7 passed, 0 failed");
        let some = Tally { passed: 7, skipped: 2 };
        assert_eq!(some.to_string(), "7 passed, 0 failed, 2 skipped");
    }
}
