//! Paths of memory files: names under `/memories`, and nothing else.

use std::fmt;

use memory::text::{is_hidden, one_line};

use crate::failure::Failure;

/// The name of the directory of all files.
pub(super) const ROOT: &str = "memories";
/// Most bytes of a path.
const MOST: usize = 512;
/// Most directories in each other.
const DEEPEST: usize = 16;

/// A path under `/memories`, which names a document and never a file of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(String);

impl Path {
    /// Reads a path from a model. A path that leads out of `/memories` in any way is refused.
    pub(super) fn parse(given: &str) -> Result<Self, Failure> {
        let shown = || crate::failure::named(given);
        let rest = given.strip_prefix("/memories").filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let Some(rest) = rest else {
            return Err(Failure(format!("Path must start with /memories, got: {}", one_line(&short(given)))));
        };
        if given.len() > MOST || given.contains('\\') || given.contains(is_hidden) {
            return Err(Failure(format!("Path {} cannot name a file", shown())));
        }
        let mut parts = vec![ROOT];
        for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                return Err(Failure(format!("Path {} would escape /memories directory", shown())));
            }
            parts.push(part);
        }
        if parts.len() > DEEPEST {
            return Err(Failure(format!("Path {} has too many directories", shown())));
        }
        Ok(Self(parts.join("/")))
    }

    /// The name of the document.
    pub(super) fn name(&self) -> &str {
        &self.0
    }

    pub(super) fn is_root(&self) -> bool {
        self.0 == ROOT
    }

    /// The directories above the file, without the root.
    pub(super) fn above(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').skip(1).filter_map(|(end, _)| self.0.get(..end))
    }
}

fn short(given: &str) -> String {
    given.chars().take(80).collect()
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_nowhere_but_under_memories() {
        for (given, name) in [
            ("/memories", "memories"),
            ("/memories/", "memories"),
            ("/memories/a.txt", "memories/a.txt"),
            ("/memories//a/./b", "memories/a/b"),
            ("/memories/日本.md", "memories/日本.md"),
            ("/memories/..a", "memories/..a"),
        ] {
            assert_eq!(Path::parse(given).unwrap().name(), name, "{given}");
        }
        for wrong in [
            "",
            "/",
            "memories/a",
            "/memoriesx/a",
            "/etc/passwd",
            "/memories/../etc/passwd",
            "/memories/a/../../b",
            "/memories/..",
            "/memories/a\\..\\b",
            "/memories/a\0b",
            "/memories/a\nb",
            "/memories/a\u{202e}b",
            "file:///memories/a",
            &format!("/memories/{}", "a".repeat(600)),
            &format!("/memories{}", "/a".repeat(40)),
        ] {
            assert!(Path::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_directories_above_are_named() {
        let path = Path::parse("/memories/a/b/c").unwrap();
        assert_eq!(path.above().collect::<Vec<_>>(), ["memories/a", "memories/a/b"]);
        assert_eq!(Path::parse("/memories/a").unwrap().above().count(), 0);
    }
}
