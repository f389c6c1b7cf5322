//! The run file, which the scorer reads: a line of JSON for each question.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use memory_core::MessageKey;
use serde::{Serialize, Serializer};

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
    /// What a full context of the same budget shows.
    #[serde(flatten)]
    pub(super) context: Option<ContextTurns>,
    /// How long the search took.
    pub(super) latency_ms: f64,
}

/// What was packed within the budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PackedTurns {
    /// In order of time.
    #[serde(serialize_with = "keys")]
    pub(super) packed: Vec<MessageKey>,
    /// Their tokens, headers included.
    pub(super) packed_tokens: u64,
}

/// What a context shows beside its summaries. The scorer ignores it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ContextTurns {
    /// Turns shown word for word, in the history or recalled, in order of time.
    #[serde(serialize_with = "keys")]
    pub(super) in_context: Vec<MessageKey>,
    /// The history's share of the budget, 0..=1.
    pub(super) history_share: f64,
}

fn keys<S: Serializer>(keys: &[MessageKey], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(MessageKey::as_str))
}

/// Writes a run file; it gets its name only when it is complete.
#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
    unfinished: PathBuf,
    out: BufWriter<File>,
}

impl RunFile {
    /// Begins a file that will get the name `path`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let file = File::create(&unfinished).with_context(|| format!("writing {}", unfinished.display()))?;
        Ok(Self { path: path.to_owned(), unfinished, out: BufWriter::new(file) })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn push(&mut self, line: &RunLine) -> Result<()> {
        let json = serde_json::to_string(line)?;
        writeln!(self.out, "{json}").with_context(|| format!("writing {}", self.unfinished.display()))
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// When it cannot be written or renamed.
    pub(super) fn finish(mut self) -> Result<()> {
        self.out.flush().with_context(|| format!("writing {}", self.unfinished.display()))?;
        std::fs::rename(&self.unfinished, &self.path).with_context(|| format!("writing {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_have_the_members_that_the_scorer_reads() {
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
        let mut file = RunFile::create(&path).unwrap();
        file.push(&plain).unwrap();
        file.push(&RunLine { packed: Some(packed), ..plain }).unwrap();
        assert!(!path.exists(), "an unfinished run is no run");
        file.finish().unwrap();
        let written = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = written.lines().collect();
        assert_eq!(lines[0], r#"{"query_id":"q1","ranked":["t2","t1"],"latency_ms":1.5}"#);
        assert_eq!(
            lines[1],
            r#"{"query_id":"q1","ranked":["t2","t1"],"packed":["t1"],"packed_tokens":20,"latency_ms":1.5}"#
        );
    }
}
