//! The names of the files that segments are in.

use std::path::{Path, PathBuf};

/// `0001.seg` for segment 1; longer numbers take more digits.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:04}.seg")
}

/// The path of segment `number` in the directory `log`.
pub(crate) fn segment_path(log: &Path, number: u32) -> PathBuf {
    log.join(segment_name(number))
}

/// The number in a segment's file name; `None` for any other file.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".seg")?.parse().ok()?;
    (number > 0 && segment_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_number_and_nothing_else_does() {
        for number in [1, 42, 9_999, 10_000] {
            assert_eq!(segment_number(&segment_name(number)), Some(number));
        }
        for other in ["0000.seg", "1.seg", "0001.tmp", "00001.seg", "+001.seg", ".seg"] {
            assert_eq!(segment_number(other), None, "{other}");
        }
    }
}
