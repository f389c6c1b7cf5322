//! Keys and personal data on the way in, in summaries and in indexes.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{fs, path::Path};

use crate::support::Store;

/// Made up, and the same in every test.
const KEY: &str = concat!("ghp", "_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYz1aB");
const CARD: &str = "4111 1111 1111 1111";

/// A conversation whose message 3 has a key, long enough to be summarized.
fn talk(store: &Store) {
    let told =
        format!("The deploy token for staging is {KEY} and the runner in Oslo needs it by Friday. It expires soon.");
    for number in 1..=40 {
        let text = if number == 3 {
            told.clone()
        } else {
            format!("Step {number} of the migration went through without trouble.")
        };
        store.succeed(&["append", "-c", "talk", &text]);
    }
}

/// Paths of the files below a directory that hold `needle`, in any case.
fn holding(directory: &Path, needle: &str) -> Vec<String> {
    let needle = needle.to_lowercase();
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, &needle));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).to_lowercase().contains(&needle) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_key_enters_no_summary_and_no_index_and_its_message_is_found_whole() {
    let store = Store::new();
    talk(&store);
    let shown = store.succeed(&["context", "-c", "talk", "--budget", "600", "How did step 30 go?"]);
    assert!(!shown.contains(KEY), "{shown}");
    let found = store.succeed(&["search", "-c", "talk", "deploy token staging Oslo"]);
    assert!(found.contains(KEY), "{found}");
    assert!(store.succeed(&["expand", "3"]).contains(KEY));
    for listing in [&["summaries", "-c", "talk"][..], &["resume", "talk"], &["show", "--state", "talk"], &["list"]] {
        let listed = store.command(listing).output().unwrap();
        assert!(!String::from_utf8_lossy(&listed.stdout).contains(KEY), "{listing:?}");
    }
    let cache = holding(Path::new(&store.path("store/cache")), KEY);
    assert!(cache.is_empty(), "{cache:?}");
    assert!(!holding(Path::new(&store.path("store/log")), KEY).is_empty(), "the log keeps what was said");
}

/// A title is cut, and no detector knows a part of a key.
#[test]
fn a_key_enters_no_title() {
    let store = Store::new();
    store.succeed(&[
        "append",
        "-c",
        "talk",
        &format!("Please use {KEY} for the deploy of the shop and its long tail."),
    ]);
    store.succeed(&["append", "-c", "trip", &format!("I decided to remember for the trip to Lisbon: {KEY}")]);
    for listing in [&["list"][..], &["list", "--json"], &["resume", "trip"], &["show", "--state", "talk"]] {
        let listed = store.succeed(listing);
        assert!(!listed.contains(&KEY[..12]), "{listing:?}: {listed}");
    }
}

#[test]
fn personal_data_is_masked_or_refused_as_it_was_asked() {
    let store = Store::new();
    let said = format!("Write to anna@example.org, and again to anna@example.org. Card {CARD}.");
    store.succeed(&["--redact", "email=mask", "append", "-c", "talk", &said]);
    let kept = store.succeed(&["expand", "1"]);
    assert!(!kept.contains("anna@") && kept.contains(CARD), "{kept}");
    let placeholders: Vec<_> = kept.split("[email ").skip(1).map(|rest| &rest[..8]).collect();
    assert!(placeholders.len() == 2 && placeholders[0] == placeholders[1], "{kept}");
    assert!(holding(Path::new(&store.path("store")), "anna@example.org").is_empty());

    let refused = store.fail(&["--redact", "all=mask", "--redact", "card=refuse", "append", "-c", "talk", &said], 1);
    assert!(refused.contains("refused here (card)") && refused.contains("card=mask"), "{refused}");
    assert!(!refused.contains(CARD), "{refused}");
    assert!(store.fail(&["--redact", "mail=mask", "append", "-c", "talk", "Hi"], 2).contains("url-credentials"));

    let lines = format!("{}\n", serde_json::json!({"role": "user", "speaker": "bo@example.org", "content": said}));
    let file = store.file("more.jsonl", &lines);
    store.succeed(&["--redact", "all=mask", "import", "--format", "jsonl", &file]);
    assert!(holding(Path::new(&store.path("store")), "bo@example.org").is_empty());
    assert!(holding(Path::new(&store.path("store")), "anna@example.org").is_empty());
}

#[test]
fn everything_that_is_kept_of_a_message_and_its_conversation_is_masked() {
    let store = Store::new();
    let masked = |args: &[&str]| store.succeed(&[&["--redact", "all=mask"], args].concat());
    let metadata = r#"{"by": "bo@example.org"}"#;
    let hello = ["append", "-c", "talk", "--key", "mail-bo@example.org", "--metadata", metadata, "Hello"];
    masked(&hello);
    masked(&hello);
    assert_eq!(store.json(&["verify"])["nodes"], 1, "its key is known");
    masked(&["title", "talk", "Mail of bo@example.org"]);
    masked(&["tag", "talk", "--add", "bo@example.org"]);
    masked(&["context", "-c", "talk", "What did bo@example.org say?"]);
    let call = serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {
        "card": 4_111_111_111_111_111_u64, "pin": 4711, "password": "swordfish", "amount": 1_700_000_000,
        "nested": {"client_secret": "correct horse"}
    }}]});
    let result =
        serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]});
    let file = store.file("calls.jsonl", &format!("{call}\n{result}\n"));
    masked(&["import", "--format", "jsonl", &file]);
    for word in ["bo@example.org", "4111111111111111", "4711", "swordfish", "correct horse"] {
        assert!(holding(Path::new(&store.path("store")), word).is_empty(), "{word} is kept");
    }
    assert!(!holding(Path::new(&store.path("store")), "1700000000").is_empty(), "a number is no secret");
}

#[test]
fn masking_may_begin_between_two_imports_of_a_file_that_grows() {
    let store = Store::new();
    let line = |text: &str| format!("{}\n", serde_json::json!({"role": "user", "content": text}));
    let lines = line("Write to anna@example.org.") + &line("And to ben@example.org, too.");
    let file = store.file("talk.jsonl", &lines);
    store.succeed(&["import", "--format", "jsonl", &file]);
    let file = store.file("talk.jsonl", &(lines.clone() + &line("Then to cleo@example.org.")));
    let grown = store.json(&["--redact", "email=mask", "import", "--format", "jsonl", &file]);
    assert_eq!(
        (&grown["conversations"][0]["new"], &grown["conversations"][0]["nodes"]),
        (&1.into(), &3.into()),
        "{grown}"
    );
    assert!(holding(Path::new(&store.path("store")), "cleo@example.org").is_empty());
    // And may end there.
    let file = store.file("talk.jsonl", &(lines + &line("Then to cleo@example.org.") + &line("Bye.")));
    let grown = store.json(&["import", "--format", "jsonl", &file]);
    assert_eq!(
        (&grown["conversations"][0]["new"], &grown["conversations"][0]["nodes"]),
        (&1.into(), &4.into()),
        "{grown}"
    );
}

#[test]
fn an_import_goes_on_behind_what_it_refuses_and_says_where_that_stands() {
    let store = Store::new();
    let line = |text: &str| format!("{}\n", serde_json::json!({"role": "user", "content": text}));
    let lines =
        line("One.") + "\n" + &line(&format!("Card {CARD}.")) + &line("Three.") + &line(&format!("Again {CARD}."));
    let file = store.file("talk.jsonl", &lines);
    let output = store.command(&["--redact", "card=refuse", "import", "--format", "jsonl", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("talk.jsonl:3 (card); ") && said.contains("talk.jsonl:5 (card)"), "{said}");
    assert!(said.contains("2 messages refused by --redact; all others were appended"), "{said}");
    assert!(!said.contains(CARD), "{said}");
    assert_eq!(store.json(&["verify"])["nodes"], 2);
}
