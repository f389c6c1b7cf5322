//! Encrypted stores: keys from every source, nothing in clear, and what the commands say.

use std::{fs, path::Path};

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

/// What the tests put into a store: a text of the sample, a name, a title, a tag and a note.
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
