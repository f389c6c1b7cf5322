//! Conversations that a program comes back to.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use memory::{
    ListOptions, Mark, Message, NodeRange, Period,
    blocking::{Conversation, Memory},
};

use crate::support::{Dir, remark};

fn memory(dir: &Dir) -> Memory {
    Memory::from(dir.words().background(false).open().unwrap())
}

fn begin(memory: &Memory, name: &str, text: &str) -> Conversation {
    let conversation = memory.conversation(name).unwrap();
    conversation.append(Message::user(text)).unwrap();
    conversation
}

#[test]
fn a_conversation_is_created_listed_renamed_and_resumed() {
    let dir = Dir::new();
    let opened = memory(&dir);
    begin(&opened, "trip", "Hi! Can you help me plan a trip to Rome?");
    let new = opened.new_conversation().unwrap();
    new.append(Message::user("Which train goes to Oslo?")).unwrap();
    new.set_tags(&["trains".to_owned()]).unwrap();
    new.mark(Mark::Important, true).unwrap();
    drop(opened);

    let memory = memory(&dir);
    let listing = memory.list(ListOptions::default()).unwrap();
    let titles: Vec<_> =
        listing.conversations.iter().filter_map(|one| Some(one.title.as_ref()?.text.as_str())).collect();
    assert_eq!(titles, ["Which train goes to Oslo?", "Plan a trip to Rome"]);
    let last = memory.resume("last").unwrap();
    assert_eq!(last.id(), new.id());
    assert!(last.is_marked(Mark::Important).unwrap() && last.tags().unwrap() == ["trains"]);
    last.set_title("Trains of Norway").unwrap();
    assert_eq!(memory.resume("trains of norway").unwrap().id(), new.id());
    assert_eq!(memory.resume("plan a trip").unwrap().id().as_str(), "trip");
    assert!(memory.resume("nobody").unwrap_err().is_not_found());
    begin(&memory, "trips", "Fine.");
    let error = memory.resume("tri").unwrap_err();
    assert!(matches!(error, memory::Error::Ambiguous { .. }), "{error}");
}

#[test]
fn state_reminder_details_and_figures_come_through_the_facade() {
    let dir = Dir::new();
    let memory = memory(&dir);
    let talk = begin(&memory, "talk", "The goal is a quiet hotel by the museum. We decided to take the night train.");
    for number in 1..=60 {
        talk.append(remark(number)).unwrap();
    }
    memory.catch_up().unwrap();
    let state = talk.state().unwrap();
    assert_eq!(state.goal.unwrap().text, "The goal is a quiet hotel by the museum.");
    assert_eq!(state.decisions[0].text, "We decided to take the night train.");
    let reminder = talk.reminder(200).unwrap();
    assert!(
        reminder.tokens <= 200 && reminder.text.contains("We decided to take the night train."),
        "{}",
        reminder.text
    );
    let details = talk.details(NodeRange::first_n(61).unwrap()).unwrap().nodes;
    assert!(details[1].is_expandable && !details[60].is_expandable);
    let over_time = talk.over_time(Some(Period::Month)).unwrap();
    assert_eq!(over_time.rows.iter().map(|row| row.nodes.count()).sum::<u64>(), 61);
    assert_eq!(talk.title().unwrap().unwrap().text, "The goal is a quiet hotel by the museum");
}

#[test]
fn what_a_hook_recalled_is_named_beside_the_outgoing_message() {
    let dir = Dir::new();
    let options = memory::hooks::RecallHookOptions::default().radius(0).top_k(1);
    let memory = Memory::from(dir.words().background(false).recall_hook(options).open().unwrap());
    let talk = begin(&memory, "talk", "My bag is in locker 4471.");
    let added = talk.add_message(Message::user("Which locker has my bag?")).unwrap();
    assert_eq!(added.recalled, [NodeRange::first_n(1).unwrap()]);
    let none = talk.add_message(Message::assistant("Locker 4471.")).unwrap();
    assert_eq!(none.recalled, []);
}

#[test]
fn what_a_store_takes_is_said_in_one_paragraph_and_to_no_owner() {
    let dir = Dir::new();
    let opened = memory(&dir);
    begin(&opened, "talk", "Hi.");
    let usage = opened.usage().unwrap().unwrap();
    assert_eq!((usage.messages, usage.total_bytes() >= usage.log_bytes), (1, true));
    assert!(usage.to_string().starts_with("The store holds 1 message. Their log takes "), "{usage}");
    drop(opened);
    let config = memory::Config::new(dir.store(), memory::Access::Write).without_model();
    let config = config.owner(memory::OwnerId::new("ana").unwrap());
    let hers = Memory::from(memory::Builder::of(config).background(false).open().unwrap());
    assert!(hers.usage().unwrap().is_none());
}
