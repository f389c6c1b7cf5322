//! Several processes of the binary on one store: at once, stuck in the middle of writing, killed.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    fs::{self, File, TryLockError},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{self, Store};

/// `count` messages as JSONL whose keys and words begin with a name.
fn lines(name: &str, count: usize) -> String {
    let line = |number: usize| {
        let content = format!("{name} {number} is a remark about the museum that we could see on day {number}.");
        format!("{}\n", json!({"key": format!("{name}-{number}"), "role": "user", "content": content}))
    };
    (1..=count).map(line).collect()
}

fn start(store: &Store, args: &[&str]) -> Child {
    store.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn nodes(store: &Store, conversation: &str) -> Value {
    store.json(&["stats", "-c", conversation])["conversations"][0]["nodes"].clone()
}

#[test]
fn several_processes_write_and_read_one_store_without_gap_or_double() {
    let store = Store::new();
    let [ours, theirs] = ["ours", "theirs"].map(|name| store.file(&format!("{name}.jsonl"), &lines(name, 700)));
    let begin = store.file("begin.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", "-c", "talk", &begin]);
    let import = |file: &str, conversation: &str| {
        start(&store, &["--json", "import", "--format", "jsonl", "-c", conversation, file])
    };
    // One file twice at once: its keys keep it from being doubled.
    let mut running = [import(&ours, "talk"), import(&theirs, "talk"), import(&theirs, "talk"), import(&ours, "other")];
    loop {
        let is_over = running.iter_mut().all(|child| child.try_wait().unwrap().is_some());
        let verified = store.json(&["verify"]);
        assert_eq!((&verified["nodes"], &verified["damage"]), (&verified["verified"], &json!([])));
        let context = store.json(&["context", "-c", "talk", "--budget", "1500", "Which platform?"]);
        assert!(context["text"].as_str().unwrap().contains("platform 9"), "{context}");
        assert_eq!(store.json(&["search", "platform of the train"])["hits"][0]["node"], 7);
        assert!(nodes(&store, "talk").as_u64() >= Some(30));
        if is_over {
            break;
        }
    }
    running.into_iter().for_each(finish);
    assert_eq!((nodes(&store, "talk"), nodes(&store, "other")), (json!(1_430), json!(700)));
    for (file, conversation) in [(&ours, "talk"), (&theirs, "talk"), (&ours, "other")] {
        let again = store.json(&["import", "--format", "jsonl", "-c", conversation, file]);
        assert_eq!((&again["conversations"][0]["read"], &again["conversations"][0]["new"]), (&json!(700), &json!(0)));
    }
    // The messages of each file are in the order of the file, with others in between.
    for name in ["ours", "theirs"] {
        let pattern = format!(r"^{name} \d+");
        let found = store.json(&["find", "-c", "talk", "--limit", "1000", &pattern]);
        let said: Vec<_> =
            found["matches"].as_array().unwrap().iter().map(|found| found["matched"].as_str().unwrap()).collect();
        assert_eq!(said, (1..=700).map(|number| format!("{name} {number}")).collect::<Vec<_>>());
    }
    store.succeed(&["doctor"]);
}

#[test]
fn readers_next_to_the_first_appends_see_no_store_or_a_whole_one() {
    for round in 0..4 {
        let store = Store::new();
        // In place as well.
        if round % 2 == 1 {
            fs::create_dir(store.path("store")).unwrap();
        }
        let append = |name: &str| start(&store, &["append", "-c", name, "The museum opens at nine."]);
        let mut running = [append("ours"), append("theirs")];
        let mut codes = Vec::new();
        while codes.last() != Some(&0) || running.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
            let lists: Vec<_> = (0..3).map(|_| store.command(&["list"]).output().unwrap()).collect();
            for list in lists {
                let said = String::from_utf8(list.stderr).unwrap();
                match list.status.code() {
                    Some(3) => assert!(said.contains("there is no store at"), "{said}"),
                    code => assert!(code == Some(0) && said.is_empty(), "{code:?}: {said}"),
                }
                codes.push(list.status.code().unwrap());
            }
        }
        running.into_iter().for_each(finish);
        assert!(codes.is_sorted_by(|before, after| before >= after), "a store that was seen stays: {codes:?}");
        assert_eq!((nodes(&store, "ours"), nodes(&store, "theirs")), (json!(1), json!(1)));
        assert!(!fs::exists(store.path(".store.memory-new")).unwrap());
    }
}

/// A process of the binary that is stopped while it holds the write lock.
struct Stuck(Child);

impl Stuck {
    fn new(store: &Store, file: &str) -> Self {
        for round in 0.. {
            let conversation = format!("stuck-{round}");
            let mut child = start(store, &["import", "--format", "jsonl", "-c", &conversation, file]);
            while child.try_wait().unwrap().is_none() {
                signal(&child, "-STOP");
                if holds_the_write_lock(store, &child) {
                    return Self(child);
                }
                signal(&child, "-CONT");
            }
            assert!(round < 50, "it never held the lock when it was stopped");
        }
        unreachable!()
    }
}

fn signal(child: &Child, name: &str) {
    // A failure means that the child has ended, which the caller checks.
    Command::new("kill").args([name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Asked of a process that was told to stop.
fn holds_the_write_lock(store: &Store, child: &Child) -> bool {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next())
    };
    while !matches!(state(), Some('T' | 'Z') | None) {
        std::thread::yield_now();
    }
    let Ok(log) = File::open(store.path("store/log")) else { return false };
    let is_held = matches!(log.try_lock(), Err(TryLockError::WouldBlock));
    let signed = fs::read_to_string(store.path("store/LOCK")).unwrap_or_default();
    is_held && state() == Some('T') && signed.lines().any(|line| line == format!("pid {}", child.id()))
}

#[test]
fn a_stuck_process_is_named_and_a_killed_one_is_no_obstacle() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let long = store.file("long.jsonl", &lines("long", 20_000));
    let Stuck(mut stuck) = Stuck::new(&store, &long);

    let import = ["--lock-timeout", "1", "import", "--format", "jsonl", "-c", "late", &file];
    let error = store.fail(&import, 5);
    assert!(error.contains(&format!("in use by process {} on ", stuck.id())), "{error}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(error.contains(&format!(" on {}", host.trim())), "{error}");
    // Reading does not wait for the writer, and a context is shown without new summaries.
    assert_eq!(nodes(&store, "trip"), json!(30));
    store.succeed(&["verify", "-c", "trip"]);
    let context = store.succeed(&["--lock-timeout", "0", "context", "-c", "trip", "Which platform?"]);
    assert!(context.contains("platform 9"), "{context}");

    stuck.kill().unwrap();
    stuck.wait().unwrap();
    store.succeed(&import);
    let verified = store.json(&["verify"]);
    assert_eq!((&verified["nodes"], &verified["damage"]), (&verified["verified"], &json!([])));
    store.succeed(&["doctor"]);
}

#[test]
fn background_work_is_left_to_the_process_that_is_at_it() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let other = memory_store::LogStore::open(store.path("store")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let lease = runtime.block_on(memory_core::port::Store::lease(&other)).unwrap();
    let holder = format!("in use by process {} on ", std::process::id());
    for command in ["index", "vacuum", "resummarize"] {
        let error = store.fail(&[command], 5);
        assert!(error.contains(&holder), "{error}");
    }
    let late = store.json(&["import", "--format", "jsonl", "-c", "late", &file]);
    let notices = late["notices"].to_string();
    assert!(notices.contains("not compacted: background work"), "{notices}");
    let summaries = || store.json(&["stats", "-c", "late"])["conversations"][0]["summaries"].as_u64().unwrap();
    assert_eq!(summaries(), 0);
    // A view that must fit is made to fit.
    store.succeed(&["context", "-c", "late", "--budget", "700", "Which platform?"]);
    assert!(summaries() > 0);
    drop(lease);
    store.succeed(&["index"]);
    store.succeed(&["resummarize", "trip"]);
    store.succeed(&["vacuum"]);
}
