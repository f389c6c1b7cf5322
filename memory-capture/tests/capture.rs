//! The public API over a store in a temporary directory.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{fs, path::PathBuf};

use memory::{Access, Config, ConversationId, Message};
use memory_capture::{
    Afterwards, AgentEvent, Capture, Error, Format, ImportNotice, Options, TranscriptError, TranscriptPart,
    WatchedFiles,
};
use pollster::block_on;
use serde_json::{Value, json};
use tempfile::TempDir;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// A capture, and a directory with transcripts.
struct Desk {
    directory: TempDir,
    capture: Capture,
}

impl Desk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let capture = Capture::open(Config::new(directory.path().join("store"), Access::Write)).unwrap();
        Self { directory, capture }
    }

    /// Writes a session of so many remarks, each of which follows the one before it.
    fn session(&self, remarks: usize) -> PathBuf {
        let line = |number: usize| -> Value {
            let parent = number.checked_sub(1).map(|parent| format!("remark-{parent}"));
            json!({"type": "user", "uuid": format!("remark-{number}"), "parentUuid": parent, "sessionId": SESSION,
                   "cwd": "/trip", "timestamp": "2026-03-02T08:00:00.000Z",
                   "message": {"role": "user", "content": format!("Remark {number}.")}})
        };
        let path = self.directory.path().join("sessions").join(format!("{SESSION}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, (0..remarks).map(|number| format!("{}\n", line(number))).collect::<String>()).unwrap();
        path
    }

    fn texts(&self, id: &ConversationId) -> Vec<String> {
        let store = &self.capture.parts().store;
        let nodes = block_on(store.conversation(id)).unwrap().nodes;
        let text = |node| block_on(store.node(id, memory::NodeId::new(node).unwrap())).unwrap().message.text();
        (1..=nodes).map(text).collect()
    }
}

fn remarks(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("Remark {number}.")).collect()
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

#[test]
fn an_import_that_is_repeated_appends_nothing() {
    let desk = Desk::new();
    let path = desk.session(3);
    let first = block_on(desk.capture.import(&path, &Options::default(), &())).unwrap();
    assert_eq!(first.conversations.len(), 1);
    assert_eq!((first.conversations[0].read, first.conversations[0].new), (3, 3));
    assert_eq!((first.files[0].format, first.files[0].report.messages), (Some(Format::ClaudeCode), 3));
    let again = block_on(desk.capture.import(&path, &Options::default(), &())).unwrap();
    assert_eq!(again.conversations[0].new, 0);
    let there = ImportNotice::ThereBefore { conversation: id(SESSION), messages: 3, read: 3, new: 0 };
    assert!(again.conversations[0].notices.contains(&there), "{:?}", again.conversations[0].notices);
    assert_eq!(desk.texts(&id(SESSION)), remarks(3));
}

#[test]
fn messages_of_one_id_in_a_new_conversation_are_imported() {
    let desk = Desk::new();
    let said = |text: &str| json!({"info": {"id": "m", "role": "user"}, "parts": [{"type": "text", "text": text}]});
    let session = json!({"info": {"id": "boats"}, "messages": [said("Ferry?"), said("Ferry?"), said("When?")]});
    let path = desk.directory.path().join("boats.json");
    fs::write(&path, session.to_string()).unwrap();
    for new in [1, 0] {
        let report = block_on(desk.capture.import(&path, &Options::default(), &())).unwrap();
        let imported = &report.conversations[0];
        assert_eq!((imported.read, imported.new), (3, new));
        let differs = ImportNotice::Differs { conversation: id("boats"), messages: 1 };
        assert!(imported.notices.contains(&differs), "{:?}", imported.notices);
        assert_eq!(desk.texts(&id("boats")), ["Ferry?"]);
    }
}

#[test]
fn an_import_says_which_conversations_it_archives() {
    let desk = Desk::new();
    let path = desk.directory.path().join("run.jsonl");
    let line = |text: &str| json!({"type": "item.completed", "item": {"type": "agent_message", "text": text}});
    let begin = json!({"type": "thread.started", "thread_id": "run-of-the-night"});
    fs::write(&path, format!("{begin}\n{}\n", line("Done."))).unwrap();
    let import = |path| block_on(desk.capture.import(path, &Options::default(), &())).unwrap().conversations;
    let is_archived = |path| import(path).iter().map(|one| one.is_archived).collect::<Vec<_>>();
    assert_eq!((is_archived(&path), is_archived(&path)), (vec![true], vec![false]));
    assert_eq!(is_archived(&desk.session(1)), [false]);
}

#[test]
fn a_grown_file_is_captured_once() {
    let desk = Desk::new();
    let path = desk.session(2);
    let take = |part| block_on(desk.capture.take(&path, Format::ClaudeCode, part)).unwrap();
    assert_eq!(take(TranscriptPart::Settled).grown, [(id(SESSION), 2)]);
    assert_eq!(take(TranscriptPart::Settled).grown, []);
    desk.session(5);
    let grown = take(TranscriptPart::All);
    assert_eq!((grown.grown, grown.last), (vec![(id(SESSION), 3)], Some(id(SESSION))));
    assert_eq!(take(TranscriptPart::All).grown, []);
    // An import of the same file has nothing to add.
    let imported = block_on(desk.capture.import(&path, &Options::default(), &())).unwrap();
    assert_eq!(imported.conversations[0].new, 0);
    assert_eq!(desk.texts(&id(SESSION)), remarks(5));
}

#[test]
fn a_divergent_file_goes_to_a_branch_and_says_so() {
    let desk = Desk::new();
    let path = desk.session(2);
    block_on(desk.capture.take(&path, Format::ClaudeCode, TranscriptPart::All)).unwrap();
    let own = desk.capture.parts().memory.conversation(id(SESSION));
    block_on(own.append(Message::user("A note of my own."))).unwrap();
    desk.session(4);
    let taken = block_on(desk.capture.take(&path, Format::ClaudeCode, TranscriptPart::All)).unwrap();
    let [(branch, 2)] = &taken.grown[..] else { panic!("{taken:?}") };
    let diverged = ImportNotice::Diverged { conversation: id(SESSION), branch: branch.clone() };
    assert_eq!(taken.notices, [diverged]);
    assert_eq!(desk.texts(branch), remarks(4));
    assert_eq!(desk.texts(&id(SESSION)), ["Remark 0.", "Remark 1.", "A note of my own."]);
}

#[test]
fn watched_directories_return_what_changed() {
    let desk = Desk::new();
    let path = desk.session(1);
    let mut files = WatchedFiles::new(&[desk.directory.path().join("sessions")]);
    let seen = files.look();
    assert_eq!(
        (seen.len(), &seen[0].path, seen[0].format, seen[0].part()),
        (1, &path, Format::ClaudeCode, TranscriptPart::Settled)
    );
    files.taken(&seen[0], TranscriptPart::Settled);
    assert!(files.look().is_empty());
    desk.session(2);
    assert_eq!(files.look().len(), 1);
}

#[test]
fn an_event_names_its_transcripts() {
    let event = json!({"hook_event_name": "Stop", "transcript_path": "/trip/session.jsonl", "cwd": "/trip"});
    let event = AgentEvent::from_json(event.to_string().into_bytes()).unwrap();
    assert_eq!(event.transcripts(), [(PathBuf::from("/trip/session.jsonl"), TranscriptPart::All)]);
    assert!(matches!(AgentEvent::from_json(b"{}".to_vec()), Err(Error::Event(_))));
}

#[test]
fn messages_of_an_own_source_are_appended_in_batches() {
    let desk = Desk::new();
    let mut appender = desk.capture.conversation(id("diary"), 700, &());
    for number in 0..700 {
        block_on(appender.take(Message::user(format!("Day {number}.")), "here", None, 8)).unwrap();
    }
    let afterwards = Afterwards::default().summarize(false).embed(false);
    let imported = block_on(appender.finish(afterwards)).unwrap();
    assert_eq!((imported.read, imported.new, imported.stats.nodes), (700, 700, 700));
}

#[test]
fn faults_are_named_before_anything_is_appended() {
    let desk = Desk::new();
    let missing = desk.directory.path().join("nothing.jsonl");
    let error = block_on(desk.capture.import(&missing, &Options::default(), &())).unwrap_err();
    assert!(matches!(error.transcript(), Some(TranscriptError::Io { path, .. }) if *path == missing), "{error:?}");
    let named = Options::default().conversation(id("trip"));
    let error = block_on(desk.capture.import(&desk.session(1), &named, &())).unwrap_err();
    assert!(matches!(error, Error::NamesItself { .. }), "{error:?}");
    assert!(block_on(desk.capture.parts().store.conversations()).unwrap().is_empty());
}

#[test]
fn futures_may_move_between_threads() {
    fn is_send<T: Send>(_: T) {}
    let desk = Desk::new();
    let path = desk.session(1);
    let options = Options::default();
    is_send(desk.capture.import(&path, &options, &()));
    is_send(desk.capture.take(&path, Format::ClaudeCode, TranscriptPart::All));
    is_send(desk.capture.catch_up(&path, Format::ClaudeCode));
}

/// Writes a session of messages with these ids, which others may have, too.
fn linked(desk: &Desk, session: &str, ids: &[&str]) -> PathBuf {
    let line = |(number, id): (usize, &&str)| {
        let parent = number.checked_sub(1).and_then(|parent| ids.get(parent));
        json!({"type": "user", "uuid": id, "parentUuid": parent, "sessionId": session,
               "timestamp": format!("2026-03-02T08:00:{number:02}.000Z"), "message": {"role": "user", "content": format!("Said {id}.")}})
    };
    let path = desk.directory.path().join("sessions").join(format!("{session}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, ids.iter().enumerate().map(|line_of| format!("{}\n", line(line_of))).collect::<String>()).unwrap();
    path
}

#[test]
fn resumed_sessions_share_their_beginning_in_any_order_of_the_files() {
    let ids: Vec<String> = (0..8).map(|number| format!("{number}0000000-0000-4000-8000-000000000000")).collect();
    let of = |numbers: &[usize]| numbers.iter().map(|number| ids[*number].as_str()).collect::<Vec<_>>();
    let sessions =
        [("first", of(&[0, 1, 2, 3])), ("second", of(&[0, 1, 2, 3, 4, 5])), ("third", of(&[0, 1, 2, 3, 6, 7]))];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let desk = Desk::new();
        let import = |path: &PathBuf| block_on(desk.capture.import(path, &Options::default(), &())).unwrap();
        for number in order {
            let (session, ids) = &sessions[number];
            import(&linked(&desk, session, ids));
        }
        for (session, ids) in &sessions {
            let said: Vec<_> = ids.iter().map(|id| format!("Said {id}.")).collect();
            assert_eq!(desk.texts(&id(session)), said, "{order:?}");
        }
        let states = block_on(desk.capture.parts().store.conversations()).unwrap();
        let own = |state: &memory::ConversationState| {
            state.nodes - state.forked_from.as_ref().map_or(0, |from| from.node.get())
        };
        assert_eq!(states.iter().map(own).sum::<u64>(), 8, "{order:?}");
        // Another import of all of them appends nothing, and a resumed session may go on.
        let all = import(&desk.directory.path().join("sessions"));
        assert!(all.conversations.iter().all(|one| one.new == 0), "{order:?}");
        let more = import(&linked(
            &desk,
            "third",
            &[sessions[2].1.as_slice(), &["80000000-0000-4000-8000-000000000000"]].concat(),
        ));
        assert_eq!((more.conversations[0].new, desk.texts(&id("third")).len()), (1, 7));
    }
    // All at once, and followed.
    let desk = Desk::new();
    for (session, ids) in &sessions {
        linked(&desk, session, ids);
    }
    let all = block_on(desk.capture.import(&desk.directory.path().join("sessions"), &Options::default(), &())).unwrap();
    assert_eq!(all.conversations.iter().map(|one| one.new).sum::<usize>(), 8);
    let desk = Desk::new();
    for (session, ids) in &sessions {
        let path = linked(&desk, session, ids);
        block_on(desk.capture.take(&path, Format::ClaudeCode, TranscriptPart::All)).unwrap();
        assert_eq!(desk.texts(&id(session)).len(), ids.len());
    }
}

#[test]
fn a_title_in_another_file_and_a_torn_file_stop_nothing() {
    let desk = Desk::new();
    let session =
        linked(&desk, "first", &["a0000000-0000-4000-8000-000000000000", "b0000000-0000-4000-8000-000000000000"]);
    let directory = session.parent().unwrap();
    let title = json!({"type": "summary", "summary": "A trip", "leafUuid": "b0000000-0000-4000-8000-000000000000"});
    fs::write(directory.join("another.jsonl"), format!("{title}\n")).unwrap();
    fs::write(directory.join("torn.json"), r#"{"messages": [{"role": "user", "content": "Hi."}, {"role":"#).unwrap();
    let read = block_on(desk.capture.import(directory, &Options::default(), &())).unwrap();
    assert_eq!(read.conversations.len(), 1);
    let state = block_on(desk.capture.parts().store.conversation(&id("first"))).unwrap();
    assert_eq!(state.title.as_deref(), Some("A trip"));
    let others = read.files.iter().find(|files| files.format.is_none()).unwrap();
    let torn: Vec<_> =
        others.report.skipped().map(|skipped| (skipped.what.as_str(), skipped.first.contains("torn.json"))).collect();
    assert_eq!(torn, [("file that cannot be read", true)]);
}
