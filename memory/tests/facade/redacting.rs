//! Named texts under a redaction.

use std::convert::Infallible;

use memory::{Access, Builder, Config, NoteChange};
use pollster::block_on;

use crate::support::Dir;

#[test]
fn a_named_text_is_kept_as_a_message_is() {
    let dir = Dir::new();
    let open = |redaction: &str| {
        let mut config = Config::new(dir.store(), Access::Write).without_model();
        config.redaction = redaction.parse().unwrap();
        Builder::of(config).open().unwrap()
    };
    let write = |memory: &memory::Memory, text: &'static str| {
        let notes = memory.documents("notes").unwrap();
        block_on(notes.change(move |_| {
            let change = NoteChange::Write { name: "plan".to_owned(), text: text.to_owned() };
            Ok::<_, Infallible>((change, ()))
        }))
    };
    let memory = open("email=mask");
    write(&memory, "Write to anna@example.org.").unwrap().unwrap();
    let notes = memory.documents("notes").unwrap();
    let kept = block_on(notes.look(|now| now.get("plan").unwrap().text.clone())).unwrap();
    assert!(kept.starts_with("Write to [email "), "{kept}");
    drop((notes, memory));
    let refused = write(&open("email=refuse"), "Or to bo@example.org.").unwrap_err();
    assert!(refused.to_string().contains("email"), "{refused}");
}
