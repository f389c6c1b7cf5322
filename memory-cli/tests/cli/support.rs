//! Runs the binary on a store in a temporary directory.
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    collections::BTreeSet,
    env::{
        self,
        consts::{DLL_PREFIX, DLL_SUFFIX},
    },
    fs,
    path::PathBuf,
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

/// A store that goes away with the value, and room for files beside it.
pub(crate) struct Store(TempDir);

/// The binary, without whatever this user has set.
pub(crate) fn memory() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memory"));
    command
        // No file of this user, and none of a test by accident.
        .env("MEMORY_CONFIG", "none")
        .env("MEMORY_PAGER", "cat")
        .env_remove("MEMORY_STORE")
        .env_remove("MEMORY_SUMMARIZER")
        .env_remove("MEMORY_LOG")
        .env_remove("MEMORY_OWNER")
        .env_remove("MEMORY_KEY_FILE")
        .env_remove("MEMORY_KEY_COMMAND")
        .env_remove("MEMORY_KEY")
        .env_remove("MEMORY_PASSPHRASE")
        .env_remove("MEMORY_EMBEDDING_MODEL")
        .env_remove("MEMORY_EMBEDDING_CACHE_MB")
        .env_remove("MEMORY_RERANKER")
        .env_remove("MEMORY_VECTORS")
        .env_remove("MEMORY_MANAGER")
        .env_remove("MEMORY_MANAGER_SETTINGS")
        .env_remove("MEMORY_ENABLE_MCP_TOOLS")
        .env_remove("MEMORY_MCP_TOKEN")
        .env_remove("MEMORY_LOCK_TIMEOUT")
        .env_remove("MEMORY_SCORER")
        .env_remove("MEMORY_CHAT_MODEL")
        .env_remove("MEMORY_SUMMARY_MODEL")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME");
    command
}

/// Runs a command that must exit with `code`; returns its standard error.
pub(crate) fn failure(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {error}");
    error
}

/// Runs a command that must succeed; returns its standard output.
pub(crate) fn success(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that the binary has, by its own help: `stats`, `model list`.
pub(crate) fn commands() -> BTreeSet<String> {
    fn below(path: &[&str], found: &mut BTreeSet<String>) {
        let asked = if path.is_empty() { vec!["help", "all"] } else { [path, &["-h"]].concat() };
        let help = success(memory().args(asked));
        // Lines of options, and continued lines, are indented further or do not begin with a lower-case letter.
        let names: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        let names: Vec<_> =
            names.into_iter().filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect();
        if names.is_empty() {
            found.insert(path.join(" "));
        }
        for name in names.into_iter().filter(|name| *name != "help") {
            below(&[path, &[name]].concat(), found);
        }
    }
    let mut found = BTreeSet::new();
    below(&[], &mut found);
    found
}

/// A backup of a store whose files are away, so that an erasure waits for it.
pub(crate) fn lost_backup(store: &Store) -> String {
    let backup = store.path("backup");
    store.succeed(&["backup", &backup]);
    std::fs::rename(format!("{backup}/files"), store.path("away")).unwrap();
    std::fs::write(format!("{backup}/files"), "").unwrap();
    backup
}

/// A store with thirty messages of the conversation `trip`.
pub(crate) fn trip() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

impl Store {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Flips a bit of the first place of the log's first segment that says `text`.
    pub(crate) fn flip(&self, text: &str) {
        let log = self.path("store/log/0001.seg");
        let mut bytes = fs::read(&log).unwrap();
        let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        *bytes.get_mut(at).unwrap() ^= 1;
        fs::write(&log, bytes).unwrap();
    }

    /// The binary on this store, with recall by meaning where the model is there.
    pub(crate) fn hybrid(&self, args: &[&str]) -> Command {
        let mut command = memory();
        command.args(["--store", &self.path("store")]).args(args);
        command
    }

    /// The binary on this store, with recall by words alone.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.hybrid(args);
        command.arg("--words-only");
        command
    }

    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.succeed(&[&["--json"], args].concat());
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn fail(&self, args: &[&str], code: i32) -> String {
        failure(&mut self.command(args), code)
    }
}

/// The library of a plugin package, which is built beside this test as its dependency.
pub(crate) fn plugin(package: &str) -> PathBuf {
    let name = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", package.replace('-', "_"));
    let test = env::current_exe().unwrap();
    let beside = test.ancestors().skip(1).take(2).map(|directory| directory.join(&name));
    let found = beside.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not beside {}: build the package {package}", test.display()))
}

/// The nodes of a run, as in `[1, 10]`, or of several, in order; none of null.
pub(crate) fn nodes(runs: &Value) -> Vec<u64> {
    match runs.as_array().map(Vec::as_slice) {
        None => Vec::new(),
        Some([first, last]) if first.is_u64() => (first.as_u64().unwrap()..=last.as_u64().unwrap()).collect(),
        Some(runs) => runs.iter().flat_map(nodes).collect(),
    }
}

/// A conversation of `count` messages as JSONL; the seventh names a platform.
pub(crate) fn messages(count: usize) -> String {
    let line = |number: usize| {
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        let text = match number {
            7 => "The train leaves at 7:42 from platform 9.".to_owned(),
            // Long enough to be summarized.
            _ => format!(
                "Remark number {number} about the weather, the hotel and the museum we could see on day {number}. It is \
                 a long walk there along the river from the station, past the market and the old town hall, and nobody \
                 is in a hurry to be anywhere else before dinner."
            ),
        };
        let value = serde_json::json!({"key": format!("k{number}"), "role": role, "content": text,
                                       "at": 1_700_000_000_000_u64 + number as u64 * 60_000});
        format!("{value}\n")
    };
    (1..=count).map(line).collect()
}

/// The codes of an answer's notices.
pub(crate) fn codes(answer: &Value) -> Vec<&str> {
    let notices = answer["notices"].as_array().into_iter().flatten();
    notices.filter_map(|notice| notice["code"].as_str()).collect()
}
