//! Session folders of Strands Agents.

use memory_transcripts::{Limits, Why, find};
use serde_json::{Value, json};

use crate::support::{Files, read};

fn message(number: u64, role: &str, text: &str, redacted: Option<&str>) -> String {
    let said = |text: &str| json!({"role": role, "content": [{"text": text}]});
    json!({"message": said(text), "message_id": number, "redact_message": redacted.map(said),
           "created_at": "2026-03-02T09:14:00+00:00", "updated_at": "2026-03-02T09:14:00+00:00"})
    .to_string()
}

fn session(files: &Files) {
    let agent: Value = json!({"agent_id": "default", "state": {}, "conversation_manager_state": {}});
    files.write(
        "sessions/session_trip/session.json",
        json!({"session_id": "trip", "session_type": "AGENT"}).to_string(),
    );
    for name in ["default", "critic"] {
        files.write(&format!("sessions/session_trip/agents/agent_{name}/agent.json"), agent.to_string());
        for number in 0..12 {
            let redacted = (number == 1).then_some("[redacted]");
            let text = message(
                number,
                if number % 2 == 0 { "user" } else { "assistant" },
                &format!("{name} {number}"),
                redacted,
            );
            files.write(&format!("sessions/session_trip/agents/agent_{name}/messages/message_{number}.json"), text);
        }
    }
    files.write("sessions/session_trip/agents/agent_default/messages/notes.txt", "x");
    // A session manager creates this folder in each session, and most have nothing in it.
    std::fs::create_dir(files.path("sessions/session_trip/multi_agents")).unwrap();
}

#[test]
fn a_session_folder_gives_a_conversation_for_each_agent_as_the_bridge_names_it() {
    let files = Files::new();
    session(&files);
    let read = read(&files.path("sessions"));
    assert_eq!(read.ids(), ["strands:trip:critic", "strands:trip:default"]);
    let texts = read.texts("strands:trip:default");
    assert_eq!(texts[..3], ["user: default 0", "assistant: [redacted]", "user: default 2"]);
    assert_eq!(texts[11], "assistant: default 11", "in the order of their numbers");
    assert_eq!(read.messages["strands:trip:default"][3].message.key.as_ref().unwrap().as_str(), "message:3");
    assert!(!format!("{:?}", read.messages).contains("default 1\""), "what was redacted is not there");
    assert_eq!(read.skipped(), [(Why::Unknown, "file among the messages".to_owned(), 1)]);
}

#[cfg(unix)]
#[test]
fn links_in_a_session_are_refused() {
    use std::os::unix::fs::symlink;
    let files = Files::new();
    session(&files);
    let secret = files.write("secret.json", message(12, "user", "secret", None));
    symlink(secret, files.path("sessions/session_trip/agents/agent_default/messages/message_12.json")).unwrap();
    let found = find(&files.path("sessions"), None, Limits::default()).unwrap();
    let mut reader = found.transcripts[1].open().unwrap();
    let error = loop {
        match reader.read() {
            Ok(item) => assert!(item.is_some(), "the link was read"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("message_12.json"), "{error}");
}
