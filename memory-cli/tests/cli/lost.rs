//! Conversations that lost messages, before salvage and after, through the binary.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::process::Command;

use serde_json::Value;

use crate::{
    rescue::{damage, on},
    support::{self, Store, failure, success},
};

/// A damaged store of two conversations and the one that was salvaged from it. Node 7 of `trip`, which stands in a
/// frame of its own, is lost.
fn damaged_and_salvaged() -> (Store, [&'static str; 2]) {
    let store = Store::new();
    for (name, messages) in [("trip", 6), ("trip", 7), ("late", 30), ("trip", 30)] {
        let file = store.file(&format!("{name}.jsonl"), &support::messages(messages));
        store.succeed(&["import", "--format", "jsonl", &file]);
    }
    damage(&store);
    store.fail(&["doctor", "--salvage", &store.path("saved")], 4);
    (store, ["store", "saved"])
}

fn words(store: &Store, at: &str, args: &[&str]) -> Command {
    let mut command = on(store, at, args);
    command.arg("--words-only");
    command
}

fn json(store: &Store, at: &str, args: &[&str]) -> Value {
    serde_json::from_str(&success(&mut words(store, at, &[&["--json"], args].concat()))).unwrap()
}

/// Standard error of a command that must succeed.
fn warning(store: &Store, at: &str, args: &[&str]) -> String {
    let output = words(store, at, args).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{at}: {args:?}: {error}");
    error
}

fn numbers(rows: &Value) -> Vec<u64> {
    rows.as_array().unwrap().iter().map(|row| row["node"].as_u64().unwrap()).collect()
}

#[test]
fn what_is_not_lost_is_found_and_what_is_lost_is_named() {
    let (store, stores) = damaged_and_salvaged();
    for at in stores {
        for (args, needs) in [
            (&["search", "-c", "trip", "the museum on day 7 or day 23"][..], "Remark number 23"),
            (&["find", "-c", "trip", "number 23"], "23:1:"),
            (&["index", "-c", "trip"], "trip"),
            (&["context", "-c", "trip", "the museum on day 7 or day 23"], "Remark number 23"),
            (&["browse", "-c", "trip", "--level", "full"], "(lost)"),
        ] {
            let said = warning(&store, at, args);
            let names = "node 7 of `trip` cannot be read (";
            assert!(said.contains(&format!("note: {names}")) && said.contains("0001.seg"), "{at}: {args:?}: {said}");
            assert!(said.contains("at byte ") && said.contains("run `memory doctor`"), "{at}: {args:?}: {said}");
            assert!(success(&mut words(&store, at, args)).contains(needs), "{at}: {args:?}");
            let told = json(&store, at, args);
            let notices = told["notices"].as_array().unwrap();
            let is_named = notices.iter().any(|notice| notice["text"].as_str().unwrap().starts_with(names));
            assert!(is_named, "{at}: {args:?}: {notices:?}");
            let codes = support::codes(&told);
            assert!(codes.contains(&"unreadable"), "{at}: {args:?}: {codes:?}");
        }
        let found = json(&store, at, &["find", "-c", "trip", "Remark number"]);
        assert_eq!(numbers(&found["matches"]), (1..=30).filter(|node| *node != 7).collect::<Vec<_>>(), "{at}");
        assert!(!numbers(&json(&store, at, &["search", "-c", "trip", "train platform 9"])["hits"]).contains(&7));
    }
}

#[test]
fn coverage_a_view_of_a_damaged_conversation_shows_what_is_lost() {
    let (store, stores) = damaged_and_salvaged();
    for at in stores {
        for budget in ["4000", "900", "500"] {
            let context = json(&store, at, &["context", "-c", "trip", "--budget", budget, "Which platform?"]);
            let history = context["pieces"].as_array().unwrap().iter();
            let history = history
                .filter(|piece| !["standing", "recalled", "question"].contains(&piece["kind"].as_str().unwrap()));
            let shown: Vec<_> = history.flat_map(|piece| support::nodes(&piece["nodes"])).collect();
            assert_eq!(shown, (1..=30).collect::<Vec<_>>(), "{at}: {budget}");
            let text = context["text"].as_str().unwrap();
            assert_eq!(text.contains("\n[Message 7: lost]\n"), budget == "4000", "{at}: {budget}: {text}");
        }
    }
}

#[test]
fn other_conversations_do_not_notice() {
    let (store, stores) = damaged_and_salvaged();
    for at in stores {
        for args in [
            &["search", "-c", "late", "Which platform does the train leave from?"][..],
            &["find", "-c", "late", "platform"],
            &["context", "-c", "late", "Which platform?"],
        ] {
            assert!(!warning(&store, at, args).contains("note: node"), "{at}: {args:?}");
            assert!(success(&mut words(&store, at, args)).contains("platform 9"), "{at}: {args:?}");
        }
        let hits = json(&store, at, &["search", "train platform 9"]);
        assert_eq!((&hits["hits"][0]["conversation"], &hits["hits"][0]["node"]), (&"late".into(), &7.into()), "{at}");
    }
}

#[test]
fn damage_is_still_an_error_where_it_must_be() {
    let (store, stores) = damaged_and_salvaged();
    for at in stores {
        for args in [&["verify"][..], &["doctor"], &["expand", "-c", "trip", "7"]] {
            failure(&mut on(&store, at, args), 4);
        }
        let error = failure(&mut on(&store, at, &["export", "-c", "trip"]), 4);
        assert!(error.contains("`trip` cannot be exported") && error.contains("`memory doctor`"), "{error}");
        let directory = store.path(&format!("exported-{at}"));
        let error = failure(&mut on(&store, at, &["export", "--all", "--output", &directory]), 4);
        assert!(error.contains("`trip` cannot be exported"), "{error}");
        assert!(std::fs::exists(format!("{directory}/late.jsonl")).unwrap(), "the others are exported all the same");
        assert!(!std::fs::exists(format!("{directory}/trip.jsonl")).unwrap());
    }
}

#[test]
fn an_export_for_other_programs_names_what_is_lost_and_exits_with_4() {
    let (store, stores) = damaged_and_salvaged();
    for at in stores {
        for format in ["openai", "anthropic", "markdown", "html"] {
            let file = store.path(&format!("{at}.{format}"));
            let error =
                failure(&mut on(&store, at, &["export", "-c", "trip", "--format", format, "--output", &file]), 4);
            assert!(error.contains("`trip` without the lost messages 7"), "{format}: {error}");
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains("Message 7: lost]") && text.contains("Remark number 30"), "{format}: {text}");
            success(&mut on(&store, at, &["export", "-c", "late", "--format", format]));
        }
        let directory = store.path(&format!("written-{at}"));
        failure(&mut on(&store, at, &["export", "--all", "--format", "openai", "--output", &directory]), 4);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2, "both are written");
        let again = store.path(&format!("{at}.openai"));
        success(&mut words(&store, &format!("again-{at}"), &["import", "--no-embed", "--format", "openai", &again]));
    }
}

#[test]
fn a_damaged_conversation_goes_on() {
    let (store, stores) = damaged_and_salvaged();
    let more = store.file(
        "trip.jsonl",
        "{\"key\":\"new\",\"role\":\"user\",\"content\":\"The ferry is booked.\",\"at\":1800000000000}\n",
    );
    for at in stores {
        success(&mut on(&store, at, &["import", "--format", "jsonl", &more]));
        assert_eq!(numbers(&json(&store, at, &["search", "-c", "trip", "ferry"])["hits"])[0], 31, "{at}");
    }
}
