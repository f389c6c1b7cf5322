//! The recall hook over the log on disk and the retriever of the memory.

use memory::{ContentBlock, Message, Query, Scope, blocking::Memory, hooks::RecallHookOptions};

use memory_core::NodeRange;

use crate::support::{Dir, remark};

#[test]
fn the_recall_hook_adds_to_an_outgoing_message_what_the_log_holds() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().recall_hook(RecallHookOptions::default().radius(0)).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    let empty = talk.add_message(Message::user("Which locker has my bag?")).unwrap();
    assert_eq!(empty.outgoing.text(), "Which locker has my bag?", "nothing was said before");
    for number in 1..=40 {
        talk.append(if number == 7 { Message::user("My bag is in locker 4471.") } else { remark(number) }).unwrap();
    }
    let added = talk.add_message(Message::user("Which locker has my bag?")).unwrap();
    let sent = added.outgoing.text();
    assert!(
        sent.contains("---Previous Context---\n")
            && sent.contains("[Message 8, user, 2")
            && sent.contains("]: My bag is in locker 4471."),
        "{sent}"
    );
    assert!(sent.ends_with("---End Previous Context---\n\nCurrent question: Which locker has my bag?"), "{sent}");
    assert_eq!(
        talk.expand(added.appended.node).unwrap().message.text(),
        "Which locker has my bag?",
        "the log keeps what was said"
    );

    // The result of a tool is not a question.
    let result = ContentBlock::ToolResult {
        tool_use_id: "call-1".to_owned(),
        content: vec![ContentBlock::Text("Which locker has my bag?".to_owned())],
        is_error: false,
    };
    let mut message = Message::user("");
    message.content = vec![result];
    let answered = talk.add_message(message.clone()).unwrap();
    assert_eq!(answered.outgoing, message);
    assert!(!memory.search(Query::new("locker 4471", Scope::all())).unwrap().hits.is_empty());
}

#[test]
fn the_recall_hook_adds_nothing_that_is_visible_and_nothing_to_a_goodbye() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().recall_hook(RecallHookOptions::default()).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    for number in 1..=40 {
        talk.append(if number == 7 { Message::user("My bag is in locker 4471.") } else { remark(number) }).unwrap();
    }
    for goodbye in ["Thanks, bye!", "Write me a haiku about the sea."] {
        assert_eq!(talk.add_message(Message::user(goodbye)).unwrap().outgoing.text(), goodbye);
    }
    let visible = NodeRange::first_n(20).into_iter().collect();
    let question = "Which locker has my bag?";
    let added = talk.add_message_with_visible(Message::user(question), visible).unwrap();
    assert_eq!(added.outgoing.text(), question, "the list shows it");
    let added = talk.add_message(Message::user(question)).unwrap();
    assert!(added.outgoing.text().contains("locker 4471"), "{}", added.outgoing.text());
}
