//! Encrypted stores: keys from every source, nothing in clear, and what the commands say.

use std::{fs, path::Path, process::Stdio, thread, time::Duration};

use crate::support::{Store, memory, messages, success};

/// The bytes of all files below a directory, and their names.
#[expect(clippy::unwrap_used, reason = "a helper of tests, which the lint does not know as one")]
fn all_bytes(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            all.extend(all_bytes(&entry));
        } else {
            all.push((entry.display().to_string(), fs::read(&entry).unwrap()));
        }
    }
    all
}

fn in_clear(store: &Store, texts: &[&str]) -> Vec<(String, String)> {
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let found = |text: &str| {
        let all = all_bytes(Path::new(&store.path("store")));
        let files = all.into_iter().filter(|(_, bytes)| holds(bytes, text));
        files.map(|(path, _)| (path, text.to_owned())).collect::<Vec<_>>()
    };
    texts.iter().flat_map(|text| found(text)).collect()
}

/// Texts that the tests put into a store: a text of the sample, a name, a title, a tag and a note.
const TEXTS: [&str; 4] = ["the-trip-name", "A title of trains", "harbour-tag", "platform"];

fn joined<'a>(options: &[&'a str], args: &[&'a str]) -> Vec<&'a str> {
    [options, args].concat()
}

fn fill(store: &Store, options: &[&str]) {
    let file = store.file("the-trip-name.jsonl", &messages(30));
    store.succeed(&joined(options, &["import", "--format", "jsonl", &file]));
    store.succeed(&joined(options, &["title", "-c", "the-trip-name", "A title of trains"]));
    store.succeed(&joined(options, &["tag", "-c", "the-trip-name", "--add", "harbour-tag"]));
    store.succeed(&joined(options, &["context", "-c", "the-trip-name", "--budget", "300", "Which platform?"]));
    store.succeed(&joined(options, &["search", "platform"]));
}

#[test]
fn a_store_is_encrypted_from_its_first_message_and_nothing_of_it_is_in_clear() {
    let store = Store::new();
    let key = store.file("key", &"k".repeat(32));
    let keyed = ["--key-file", key.as_str()];
    let file = store.file("the-trip-name.jsonl", &messages(30));
    let refused = store.fail(&["import", "--encrypt", "--format", "jsonl", &file], 1);
    assert!(refused.contains("MEMORY_KEY_FILE"), "{refused}");
    assert!(!Path::new(&store.path("store")).exists(), "nothing is made without a key");
    store.succeed(&joined(&keyed, &["import", "--encrypt", "--format", "jsonl", &file]));
    fill(&store, &["--key-file", &key]);
    assert_eq!(in_clear(&store, &TEXTS), []);
    // Every way to name the key.
    let list = |name: &str, value: &str| store.command(&["list"]).env(name, value).output().unwrap();
    assert!(list("MEMORY_KEY_FILE", &key).status.success());
    assert!(list("MEMORY_KEY", &"6b".repeat(32)).status.success());
    assert!(list("MEMORY_KEY_COMMAND", &format!("cat '{key}'")).status.success());
    assert!(!list("MEMORY_PASSPHRASE", "correct horse").status.success());
    let odd = list("MEMORY_KEY", "6b");
    assert_eq!(odd.status.code(), Some(2));
    // Every error says what to do, and changes nothing.
    let other = store.file("other", &"o".repeat(32));
    let short = store.file("short", "k");
    for (args, says) in [
        (&["list"][..], "no key was given"),
        (&["--key-file", &other, "list"], "not that of this store"),
        (&["--key-file", &short, "verify"], "has 1 bytes"),
        (&["--key-file", &other, "doctor"], "not that of this store"),
    ] {
        let error = store.fail(args, 1);
        assert!(error.contains(says), "{args:?}: {error}");
    }
    assert!(store.succeed(&joined(&keyed, &["verify"])).contains("30"));
    assert!(store.succeed(&joined(&keyed, &["doctor"])).contains("30"));
}

#[test]
fn a_store_is_encrypted_given_other_keys_and_decrypted_in_place() {
    let store = Store::new();
    fill(&store, &[]);
    let exported = store.succeed(&["export", "-c", "the-trip-name"]);
    assert!(!in_clear(&store, &TEXTS).is_empty());
    let (key, other) = (store.file("key", &"k".repeat(32)), store.file("other", &"o".repeat(32)));
    let refused = store.fail(&["encrypt"], 2);
    assert!(refused.contains("/dev/urandom"), "{refused}");
    let said = store.succeed(&["--key-file", &key, "encrypt"]);
    assert!(said.contains("keep its key"), "{said}");
    assert_eq!(in_clear(&store, &TEXTS), []);
    assert_eq!(store.succeed(&["--key-file", &key, "export", "-c", "the-trip-name"]), exported);
    store.fail(&["--key-file", &key, "encrypt"], 1);
    store.succeed(&["--key-file", &key, "encrypt", "--new-key-file", &other]);
    store.fail(&["--key-file", &key, "list"], 1);
    store.succeed(&["--key-file", &other, "encrypt", "--rotate"]);
    assert_eq!(in_clear(&store, &TEXTS), []);
    // A backup is encrypted as the store is, and is restored with its keys.
    let (backup, restored) = (store.path("backup"), store.path("restored"));
    store.succeed(&["--key-file", &other, "backup", &backup]);
    assert!(store.succeed(&["restore", &backup, &restored]).contains("no key was given"));
    let args = ["--store", &restored, "--key-file", &other, "export", "-c", "the-trip-name"];
    assert_eq!(success(memory().args(args)), exported);
    store.succeed(&["--key-file", &other, "decrypt"]);
    assert_eq!(store.succeed(&["export", "-c", "the-trip-name"]), exported);
    assert!(store.fail(&["--key-file", &other, "decrypt"], 1).contains("not encrypted"));
}

#[test]
fn an_erasure_of_an_encrypted_store_overwrites_keys_and_its_receipt_says_so() {
    let store = Store::new();
    let key = store.file("key", &"k".repeat(32));
    fill(&store, &[]);
    store.succeed(&["--key-file", &key, "encrypt"]);
    let salts = fs::read(store.path("store/SALTS")).unwrap();
    store.succeed(&["--key-file", &key, "erase", "-c", "the-trip-name", "3-4", "--yes"]);
    let now = fs::read(store.path("store/SALTS")).unwrap();
    assert!(now.len() >= salts.len() && now[..salts.len()] != salts);
    let receipt = store.succeed(&["--key-file", &key, "receipt", "show"]);
    assert!(receipt.contains("are overwritten"), "{receipt}");
    assert!(store.succeed(&["--key-file", &key, "verify"]).contains("2 erased"));
}

#[test]
fn rotations_at_once_of_which_one_is_killed_lose_nothing() {
    let store = Store::new();
    let key = store.file("key", &"k".repeat(32));
    fill(&store, &[]);
    store.succeed(&["--key-file", &key, "encrypt"]);
    let exported = store.succeed(&["--key-file", &key, "export", "-c", "the-trip-name"]);
    let rotating = |change: &[&str]| {
        let mut command = store.command(&joined(&["--key-file", &key, "encrypt"], change));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for round in 0..6 {
        let (mut one, mut other) = (rotating(&["--rotate"]), rotating(&["--rotate"]));
        thread::sleep(Duration::from_millis(15 * round));
        one.kill().unwrap();
        one.wait().unwrap();
        store.succeed(&["--key-file", &key, "append", "-c", "others", "next to a change"]);
        assert!(other.wait().unwrap().success(), "round {round}");
        assert_eq!(store.succeed(&["--key-file", &key, "export", "-c", "the-trip-name"]), exported, "round {round}");
        store.succeed(&["--key-file", &key, "verify"]);
    }
}

#[test]
fn a_format_of_before_is_an_error_that_removes_no_key_and_encrypt_writes_it_again() {
    let store = Store::new();
    let key = store.file("key", &"k".repeat(32));
    fill(&store, &[]);
    let format = store.path("store/FORMAT");
    let before = fs::read(&format).unwrap();
    store.succeed(&["--key-file", &key, "encrypt"]);
    let exported = store.succeed(&["--key-file", &key, "export", "-c", "the-trip-name"]);
    let keys = || [store.path("store/KEYRING"), store.path("store/SALTS")].map(|path| fs::read(path).unwrap());
    let kept = keys();
    fs::write(&format, &before).unwrap();
    for args in [&["append", "-c", "x", "y"][..], &["vacuum"], &["encrypt", "--rotate"], &["decrypt"]] {
        let refused = store.command(&joined(&["--key-file", &key], args)).output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && error.contains("memory encrypt"), "{args:?}: {error}");
        assert!(keys() == kept, "{args:?}");
    }
    let said = store.succeed(&["--key-file", &key, "encrypt"]);
    assert!(said.contains("completed"), "{said}");
    assert_eq!(store.succeed(&["--key-file", &key, "export", "-c", "the-trip-name"]), exported);
}

#[test]
fn keys_of_the_command_line_precede_variables_and_a_passphrase_replaces_a_key() {
    let store = Store::new();
    let (key, other) = (store.file("key", &"k".repeat(32)), store.file("other", &"o".repeat(32)));
    let noted = store.command(&["--key-file", &key, "append", "-c", "a", "b"]).output().unwrap();
    assert!(String::from_utf8(noted.stderr).unwrap().contains("is not encrypted"), "a key without --encrypt");
    store.succeed(&["--key-file", &key, "encrypt"]);
    let listed = |args: &[&str], variable: (&str, &str)| {
        store.command(&joined(args, &["list"])).env(variable.0, variable.1).output().unwrap().status.success()
    };
    let command = format!("cat '{key}'");
    assert!(listed(&["--key-command", &command], ("MEMORY_KEY_FILE", &other)));
    assert!(!listed(&["--key-command", "cat no-such-file"], ("MEMORY_KEY_FILE", &key)));
    let config = store.file("config.toml", &format!("key-file = \"{other}\"\n"));
    assert!(listed(&["--config", &config], ("MEMORY_KEY_COMMAND", &command)));
    assert!(!listed(&["--config", &config], ("NONE", "")));
    // A backup of a store that a wrong key does not open is restored all the same, and the error says so.
    let (backup, restored) = (store.path("backup"), store.path("restored"));
    store.succeed(&["--key-file", &key, "backup", &backup]);
    let unverified = store.fail(&["--key-file", &other, "restore", &backup, &restored], 1);
    assert!(
        unverified.contains("holds the whole store") && !unverified.contains("nothing was changed"),
        "{unverified}"
    );
    let mut changing = store.command(&["--key-file", &key, "encrypt", "--new-passphrase"]);
    assert!(changing.env("MEMORY_NEW_PASSPHRASE", "correct horse").output().unwrap().status.success());
    assert!(listed(&[], ("MEMORY_PASSPHRASE", "correct horse")) && !listed(&["--key-file", &key], ("NONE", "")));
    assert!(store.fail(&["list"], 1).contains("MEMORY_PASSPHRASE"));
}
