//! Erased messages through the facade: gone from every file and every answer, and completed after a crash.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use memory::{
    Access, Config, Conversation, FindRequest, Memory, Message, MessageKey, NodeId, NodeRange, Query, Scope,
    erasing::{EraseError, EraseOptions, EraseRequest},
};
use pollster::block_on;

use crate::support::{Dir, embedded};

const SECRET: &str = "My passport has the number XK4471203 and expires in March";

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn runs(all: &[(u64, u64)]) -> Vec<NodeRange> {
    all.iter().map(|(first, last)| NodeRange::new(node(*first), node(*last)).unwrap()).collect()
}

/// Files below a directory that hold a text.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
            continue;
        }
        // The background of an open memory replaces files.
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.unwrap(),
        };
        if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn talk(memory: &Memory) -> Conversation {
    let talk = memory.conversation("trip").unwrap();
    let said = [SECRET, "Noted. When do you travel?", "On 4 May, by train, with Ben.", "I booked two seats."];
    for (number, text) in said.iter().enumerate() {
        let message = if number % 2 == 0 { Message::user(*text) } else { Message::assistant(*text) };
        block_on(talk.append(message.key(MessageKey::new(&format!("k{number}")).unwrap()))).unwrap();
    }
    talk
}

#[test]
fn an_erased_message_is_in_no_answer_and_no_file_and_stays_gone() {
    let dir = Dir::new();
    let store = dir.store();
    let memory = dir.meaning().open().unwrap();
    let talk = talk(&memory);
    block_on(talk.prompt("Which number does my passport have?")).unwrap();
    block_on(memory.catch_up()).unwrap();
    assert!(!holding(&store, "XK4471203").is_empty() && !holding(&store, "xk4471203").is_empty(), "in log and words");
    let roots = block_on(memory.store().verify(None)).unwrap().root;

    let request = EraseRequest::Nodes { conversation: talk.id().clone(), nodes: runs(&[(1, 1)]) };
    let plan = block_on(memory.plan_erasure(request.clone())).unwrap();
    assert_eq!((plan.messages(), plan.conversations[0].views), (1, 1), "{plan:?}");
    assert!(!holding(&store, "XK4471203").is_empty(), "a plan erases nothing");
    let receipt = block_on(memory.erase(plan, EraseOptions::default().by("Ann"))).unwrap();
    assert!(receipt.is_clean() && receipt.scan.texts > 0 && receipt.scan.words > 0, "{receipt:?}");
    assert!(receipt.probes.searches > 0 && receipt.probes.reads == 1, "{receipt:?}");
    assert_eq!(receipt.conversations[0].root_before, receipt.conversations[0].root_after);

    for text in ["XK4471203", "xk4471203", "passport has the number", "Which number does my passport"] {
        assert_eq!(holding(&store, text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(block_on(talk.expand(node(1))).unwrap().message.text(), "[erased]");
    let found = block_on(memory.search(Query::new("passport number XK4471203", Scope::all()))).unwrap();
    assert!(found.hits.iter().all(|hit| hit.node.id != node(1)));
    assert!(!found.notices.iter().any(|notice| notice.to_string().contains("meaning counts")), "{:?}", found.notices);
    assert!(block_on(memory.find(FindRequest::new("XK4", Scope::all()))).unwrap().matches.is_empty());
    let prompt = block_on(talk.prompt("Which number does my passport have?")).unwrap();
    assert!(!prompt.text().contains("XK4471203") && prompt.text().contains("[erased]"), "{}", prompt.text());
    let verified = block_on(memory.store().verify(None)).unwrap();
    assert!(verified.is_whole() && verified.erased == 1, "{verified:?}");
    assert!(block_on(memory.plan_erasure(request)).unwrap().is_empty(), "it is erased already");
    assert_eq!(block_on(memory.store().verify(Some(talk.id()))).unwrap().root, receipt.conversations[0].root_after);
    assert_ne!(verified.root, roots, "receipts are a conversation, too");

    // An importer that meets its key again does not bring it back.
    let again = Message::user(SECRET).key(MessageKey::new("k0").unwrap());
    let appended = block_on(talk.append(again)).unwrap();
    assert!(appended.is_erased && !appended.is_new && appended.node == node(1));
    assert_eq!(holding(&store, "XK4471203"), Vec::<String>::new());
    drop((talk, memory));

    let memory = dir.meaning().open().unwrap();
    let receipts = block_on(memory.receipts()).unwrap();
    assert_eq!(receipts, std::slice::from_ref(&receipt));
    let check = block_on(memory.check_receipt(receipt.id)).unwrap();
    assert!(check.faults.is_empty() && check.erased == 1, "{check:?}");
    assert!(matches!(
        block_on(memory.check_receipt(memory_core::ErasureId::from_bytes([1; 16]))),
        Err(EraseError::NoReceipt(_))
    ));
}

#[test]
fn what_a_pattern_finds_and_whole_conversations_are_erased_with_their_forks_and_backups() {
    let dir = Dir::new();
    let (all, backup) = (dir.beside(""), dir.beside("backup"));
    let memory = dir.meaning().open().unwrap();
    let talk = talk(&memory);
    block_on(talk.set_title("My passport")).unwrap();
    block_on(talk.fork(node(2), "trip-2".parse().unwrap())).unwrap();
    let other = memory.conversation("other").unwrap();
    block_on(other.append(Message::user("Ben's passport is XK9 and stays."))).unwrap();
    memory.parts().log.backup(&backup, &()).unwrap();

    let pattern = FindRequest::new("XK\\d{7}", Scope::all());
    let plan = block_on(memory.plan_erasure(EraseRequest::Matching(pattern))).unwrap();
    let shared: Vec<_> = plan.conversations.iter().map(|one| (one.conversation.to_string(), one.messages)).collect();
    assert_eq!(shared, [("trip".to_owned(), 1)], "a shared message is erased once: {plan:?}");
    assert!(plan.conversations[0].with_title && plan.conversations[0].shared_with.len() == 1, "{plan:?}");
    let options = EraseOptions::default().backups(vec![backup.clone()]);
    let receipt = block_on(memory.erase(plan, options)).unwrap();
    assert_eq!(receipt.backups.len(), 1);
    let fork = memory.conversation("trip-2").unwrap();
    assert_eq!(block_on(fork.expand(node(1))).unwrap().message.text(), "[erased]");
    assert_ne!(block_on(talk.title()).unwrap().unwrap().text, "My passport");
    for text in ["XK4471203", "xk4471203"] {
        assert_eq!(holding(&all, text), Vec::<String>::new());
    }
    assert!(!holding(&backup, "XK9 and stays").is_empty());

    let other = || block_on(memory.plan_erasure(EraseRequest::Conversation(other.id().clone()))).unwrap();
    block_on(memory.erase(other(), EraseOptions::default())).unwrap();
    assert!(other().is_empty() && !holding(&backup, "XK9 and stays").is_empty());
    // A backup that is named afterwards does not keep it.
    let again = block_on(memory.erase(other(), EraseOptions::default().backups(vec![backup.clone()])));
    assert!(matches!(again, Err(EraseError::Nothing)), "{again:?}");
    assert_eq!(holding(&all, "XK9 and stays"), Vec::<String>::new());
    assert_eq!(block_on(memory.receipts()).unwrap().len(), 2);
    let nothing = block_on(memory.erase(Default::default(), EraseOptions::default())).unwrap_err();
    assert!(matches!(nothing, EraseError::Nothing), "{nothing}");
    let plan = block_on(memory.plan_erasure(EraseRequest::Conversation(talk.id().clone()))).unwrap();
    let no_backup = EraseOptions::default().backups(vec![dir.beside("none")]);
    assert!(matches!(block_on(memory.erase(plan, no_backup)), Err(EraseError::NoBackup { .. })));
}

/// Writes a named text of a conversation.
fn note(memory: &Memory, conversation: &str, name: &str, text: &str) {
    let (name, text) = (name.to_owned(), text.to_owned());
    let write = move |_: memory::DocumentsNow<'_>| {
        Ok::<_, ()>((memory::NoteChange::Write { name: name.clone(), text: text.clone() }, ()))
    };
    block_on(memory.documents(conversation).unwrap().change(write)).unwrap().unwrap();
}

#[test]
fn what_else_holds_a_pattern_goes_with_it_or_is_named_with_its_command() {
    const WORD: &str = "Zarathustra42";
    let dir = Dir::new();
    let memory = dir.meaning().background(false).open().unwrap();
    let talk = memory.conversation("trip").unwrap();
    for number in 0..30 {
        block_on(talk.append(crate::support::remark(number))).unwrap();
    }
    // Sealed, so that titles and tags stand in another segment than what follows.
    block_on(memory.parts().log.seal()).unwrap();
    let spoken = Message::user("Let us go.").speaker(WORD);
    block_on(talk.append(spoken)).unwrap();
    let mut described = Message::user("And further.");
    described.metadata.insert("place".to_owned(), memory_core::Json::new(&format!("\"{WORD}\"")).unwrap());
    block_on(talk.append(described)).unwrap();
    block_on(talk.set_title(&format!("About {WORD}"))).unwrap();
    block_on(talk.set_tags(&["travel".to_owned(), format!("of-{WORD}")])).unwrap();
    note(&memory, "memory-notes", "pad", &format!("{WORD} likes tea"));
    note(&memory, "memory-notes", "pad", "nobody likes tea");
    note(&memory, "memory-notes", "other", "coffee");
    block_on(talk.prompt(&format!("Who is {WORD}?"))).unwrap();
    block_on(memory.catch_up()).unwrap();
    let summaries = block_on(talk.summaries(memory::SummariesRequest::default())).unwrap().summaries;
    let summary = summaries.first().unwrap();
    block_on(talk.rewrite_summary(summary.summary, &format!("The walk of {WORD}"), "Ann")).unwrap();

    let invalid = EraseRequest::Matching(FindRequest::new("a(", Scope::all()));
    let invalid = block_on(memory.plan_erasure(invalid)).unwrap_err();
    assert_eq!(invalid.to_string(), "`a(` is not a regular expression: unclosed group");
    let beyond = EraseRequest::Nodes { conversation: talk.id().clone(), nodes: runs(&[(999, 999)]) };
    assert!(block_on(memory.plan_erasure(beyond)).unwrap_err().to_string().contains("node 999 not found"));

    let plan = block_on(memory.plan_erasure(EraseRequest::Matching(FindRequest::new(WORD, Scope::all())))).unwrap();
    let of = |name: &str| plan.conversations.iter().find(|one| one.conversation.as_str() == name).unwrap();
    let trip = of("trip");
    assert_eq!((trip.nodes.clone(), trip.with_title), (runs(&[(31, 32)]), true), "{trip:?}");
    assert_eq!(trip.tags, [format!("of-{WORD}")]);
    assert_eq!((of("memory-notes").documents.clone(), of("memory-notes").notes), (vec!["pad".to_owned()], 2));
    let held: Vec<_> = plan.held.iter().map(|held| (held.place, held.command.clone().unwrap())).collect();
    assert_eq!(held.len(), 1, "the question of the view goes with the messages before it: {held:?}");
    assert_eq!(held[0].0, memory::erasing::HeldIn::Summary);
    let run = held[0].1.strip_prefix("memory erase -c trip ").unwrap().to_owned();

    let receipt = block_on(memory.erase(plan, EraseOptions::default())).unwrap();
    assert!(receipt.is_clean(), "{receipt:?}");
    assert_eq!(block_on(talk.tags()).unwrap(), ["travel"]);
    assert!(block_on(talk.overview()).unwrap().own_title().is_none());
    let left =
        block_on(memory.documents("memory-notes").unwrap().look(|now| {
            now.all().map(|(name, document)| (name.to_owned(), document.text.clone())).collect::<Vec<_>>()
        }));
    assert_eq!(left.unwrap(), [("other".to_owned(), "coffee".to_owned())]);
    let (first, last) = run.split_once('-').unwrap_or((&run, &run));
    let nodes = runs(&[(first.parse().unwrap(), last.parse().unwrap())]);
    let plan = block_on(memory.plan_erasure(EraseRequest::Nodes { conversation: talk.id().clone(), nodes })).unwrap();
    block_on(memory.erase(plan, EraseOptions::default())).unwrap();
    assert_eq!(holding(&dir.store(), WORD), Vec::<String>::new());
    assert_eq!(holding(&dir.store(), &WORD.to_lowercase()), Vec::<String>::new());
}

#[test]
fn the_window_of_a_running_agent_loses_what_is_erased() {
    let dir = Dir::new();
    let memory = dir.meaning().open().unwrap();
    let talk = talk(&memory);
    let options = memory::PromptOptions::default();
    assert!(block_on(talk.turn(&options)).unwrap().text().contains(SECRET));
    let request = EraseRequest::Nodes { conversation: talk.id().clone(), nodes: runs(&[(1, 1)]) };
    let plan = block_on(memory.plan_erasure(request)).unwrap();
    block_on(memory.erase(plan, EraseOptions::default())).unwrap();
    block_on(talk.append(Message::user("And now?"))).unwrap();
    let prompt = block_on(talk.turn(&options)).unwrap();
    assert!(!prompt.text().contains(SECRET) && prompt.text().contains("[erased]"), "{}", prompt.text());
    assert_eq!(holding(&dir.store(), "XK4471203"), Vec::<String>::new(), "and it is not recorded again");
}

#[test]
fn what_is_erased_before_it_is_embedded_stops_no_index() {
    let dir = Dir::new();
    let said = ["train one", "train two", "train three"];
    let memory = dir.words().open().unwrap();
    let talk = memory.conversation("trip").unwrap();
    for text in said {
        block_on(talk.append(Message::user(text))).unwrap();
    }
    let request = EraseRequest::Nodes { conversation: talk.id().clone(), nodes: runs(&[(2, 2)]) };
    let plan = block_on(memory.plan_erasure(request)).unwrap();
    block_on(memory.erase(plan, EraseOptions::default())).unwrap();
    drop((talk, memory));
    let memory = dir.meaning().open().unwrap();
    block_on(memory.conversation("trip").unwrap().index()).unwrap();
    assert_eq!(embedded(&memory, "trip"), 3);
}

/// Another process, as `memory ask` is each time, begins with the last recorded view.
#[test]
fn a_window_over_an_erased_summary_is_made_anew_and_shows_every_message() {
    let dir = Dir::new();
    let options = memory::PromptOptions::new(900);
    let ask = || {
        let memory = dir.meaning().open().unwrap();
        let talk = memory.conversation("trip").unwrap();
        block_on(talk.append(Message::user("And now?"))).unwrap();
        block_on(talk.turn(&options)).unwrap()
    };
    let memory = dir.meaning().open().unwrap();
    let long = memory.conversation("trip").unwrap();
    for number in 1..=120 {
        let text = format!("Note {number}: the ferry leaves at {}:15 and the garden needs rain.", number % 24);
        block_on(long.append(Message::user(text))).unwrap();
    }
    drop((long, memory));
    let covered = |prompt: &memory::Prompt| {
        let history = prompt.pieces.iter().filter(|piece| piece.kind.is_history());
        NodeRange::merge(history.filter_map(|piece| piece.nodes).collect())
    };
    assert_eq!(covered(&ask()), runs(&[(1, 121)]));
    let memory = dir.meaning().open().unwrap();
    let request = EraseRequest::Nodes { conversation: "trip".parse().unwrap(), nodes: runs(&[(20, 21)]) };
    let plan = block_on(memory.plan_erasure(request)).unwrap();
    block_on(memory.erase(plan, EraseOptions::default())).unwrap();
    drop(memory);
    let prompt = ask();
    assert_eq!(covered(&prompt), runs(&[(1, 122)]), "{}", prompt.text());
    assert!(prompt.view.is_some(), "{:?}", prompt.notices);
}

#[test]
fn an_interrupted_erasure_is_completed_by_the_next_opening() {
    let dir = Dir::new();
    let store = dir.store();
    let memory = dir.meaning().background(false).open().unwrap();
    let talk = talk(&memory);
    let id = memory_core::ErasureId::from_bytes([5; 16]);
    // As a process leaves it that died after it wrote down what it was about to erase.
    let receipts = memory.documents("memory-receipts").unwrap();
    let text = format!("memory-erasure 1\nid {id}\nat 5\nby Ann\ntrip false false 0 1-1 -\n");
    let begun = move |_: memory::DocumentsNow<'_>| {
        let change = memory::NoteChange::Write { name: format!("begun/{id}"), text: text.clone() };
        Ok::<_, ()>((change, ()))
    };
    block_on(receipts.change(begun)).unwrap().unwrap();
    drop((receipts, talk, memory));
    assert!(!holding(&store, "XK4471203").is_empty());

    let memory = dir.meaning().background(false).open().unwrap();
    let receipt = block_on(memory.receipts()).unwrap().pop().unwrap();
    assert!(receipt.id == id && receipt.was_resumed && receipt.messages() == 1, "{receipt:?}");
    assert_eq!(holding(&store, "XK4471203"), Vec::<String>::new());
    drop(memory);
    let memory = dir.meaning().background(false).open().unwrap();
    assert_eq!(block_on(memory.receipts()).unwrap().len(), 1, "it is completed once");
}

/// Names the store to the child.
const STORE: &str = "MEMORY_TEST_ERASED_STORE";
/// Rounds of killing; `MEMORY_CRASH_ROUNDS` asks for more.
const ROUNDS: u64 = 4;
const MESSAGES: u64 = 12;

/// Backups that are named and away: a disk that was unplugged, and a backup of another store.
#[test]
fn an_erasure_waits_for_a_backup_that_is_away() {
    let dir = Dir::new();
    let (backup, away, other) = (dir.beside("backup"), dir.beside("away"), dir.beside("other"));
    let memory = dir.meaning().open().unwrap();
    let talk = talk(&memory);
    memory.parts().log.backup(&backup, &()).unwrap();
    let of_another = Dir::new();
    of_another.meaning().open().unwrap().parts().log.backup(&other, &()).unwrap();
    let plan = || {
        let nodes = EraseRequest::Nodes { conversation: talk.id().clone(), nodes: runs(&[(1, 1)]) };
        block_on(memory.plan_erasure(nodes)).unwrap()
    };
    let erase = |path: &Path| block_on(memory.erase(plan(), EraseOptions::default().backups(vec![path.to_owned()])));
    assert!(matches!(erase(&other), Err(EraseError::NoBackup { .. })), "nothing is erased for it");
    assert_eq!(plan().messages(), 1);

    // Its files cannot be replaced, so that the erasure stays open.
    fs::rename(backup.join("files"), &away).unwrap();
    fs::write(backup.join("files"), "").unwrap();
    assert!(erase(&backup).is_err());
    drop((talk, memory));
    fs::remove_file(backup.join("files")).unwrap();
    fs::rename(&backup, dir.beside("unplugged")).unwrap();
    let memory = dir.meaning().open().unwrap();
    assert_eq!(block_on(memory.receipts()).unwrap(), []);
    drop(memory);

    fs::rename(dir.beside("unplugged"), &backup).unwrap();
    fs::rename(&away, backup.join("files")).unwrap();
    let memory = dir.meaning().open().unwrap();
    let receipts = block_on(memory.receipts()).unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.backups.len()).collect::<Vec<_>>(), [1]);
    assert_eq!(holding(&backup, "XK4471203"), Vec::<String>::new());
}

fn secret(number: u64) -> String {
    format!("the code of door {number} is zq{number:03}x{:05}", number * 7_919)
}

/// The process that is killed; nothing where the test below has not started it.
#[test]
fn erase_until_killed() {
    let Some(store) = std::env::var_os(STORE) else { return };
    let memory = memory::Builder::of(Config::new(store, Access::Write).without_model()).open().unwrap();
    let conversation = memory.conversation("doors").unwrap().id().clone();
    for number in 1..=MESSAGES {
        println!("\nbegins {number}");
        let request = EraseRequest::Nodes { conversation: conversation.clone(), nodes: runs(&[(number, number)]) };
        let plan = block_on(memory.plan_erasure(request)).unwrap();
        block_on(memory.erase(plan, EraseOptions::default())).unwrap();
        println!("\nerased {number}");
    }
}

#[test]
fn a_killed_process_leaves_an_erasure_undone_or_to_be_completed_and_none_half_done() {
    let rounds = std::env::var("MEMORY_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let dir = Dir::new();
        let memory = dir.words().open().unwrap();
        let doors = memory.conversation("doors").unwrap();
        for number in 1..=MESSAGES {
            block_on(doors.append(Message::user(secret(number)))).unwrap();
        }
        block_on(memory.catch_up()).unwrap();
        drop((doors, memory));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "erasing::erase_until_killed", "--nocapture"])
            .env(STORE, dir.store())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines: Vec<String> = Vec::new();
        let begun = |lines: &[String]| lines.iter().filter(|line| line.starts_with("begins ")).count() as u64;
        while begun(&lines) <= round * 5 % (MESSAGES - 1) {
            lines.push(output.next().unwrap().unwrap());
        }
        std::thread::sleep(Duration::from_micros(round * 9_700 % 60_000));
        // SIGKILL: nothing of it runs any more.
        child.kill().unwrap();
        child.wait().unwrap();
        lines.extend(output.map_while(Result::ok));
        let erased = lines.iter().filter(|line| line.starts_with("erased ")).count() as u64;
        let begun = begun(&lines);

        let memory = dir.words().background(false).open().unwrap();
        let nodes =
            block_on(memory.conversation("doors").unwrap().messages(NodeRange::first_n(MESSAGES).unwrap())).unwrap();
        for node in nodes {
            let number = node.id.get();
            let context = format!("round {round}: door {number} of {begun} begun and {erased} erased");
            assert!(number > erased || node.is_erased, "{context}: reported as erased");
            assert!(number <= begun || !node.is_erased, "{context}: never begun");
            let code = format!("zq{number:03}x");
            assert_eq!(holding(&dir.store(), &code).is_empty(), node.is_erased, "{context}");
        }
        let receipts = block_on(memory.receipts()).unwrap();
        assert!((erased..=begun).contains(&(receipts.len() as u64)), "round {round}: {} receipts", receipts.len());
        for receipt in receipts {
            assert!(block_on(memory.check_receipt(receipt.id)).unwrap().faults.is_empty());
        }
        assert!(block_on(memory.store().verify(None)).unwrap().is_whole());
    }
}
