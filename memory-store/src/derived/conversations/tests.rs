//! Values held for conversations, which count how often they were loaded and saved.

use std::{cell::Cell, thread};

use super::*;

const BYTES: usize = 100;

/// A value of [`BYTES`] bytes.
#[derive(Debug, Default)]
struct Value {
    name: String,
    changes: u32,
    saved: u32,
    is_outdated: bool,
    refreshed: bool,
}

impl Loaded for Value {
    fn heap(&self) -> usize {
        BYTES
    }

    fn is_saved(&self) -> bool {
        self.changes == self.saved
    }

    fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    fn refresh(&mut self) {
        (self.is_outdated, self.refreshed) = (false, true);
    }
}

struct Setup {
    all: Conversations<Value>,
    loads: Cell<u32>,
}

impl Setup {
    /// Room for `values` values.
    fn with_room_for(values: usize) -> Self {
        Self { all: Conversations::new(values * BYTES), loads: Cell::new(0) }
    }

    fn load(&self, name: &str) -> Value {
        self.loads.set(self.loads.get() + 1);
        Value { name: name.to_owned(), ..Value::default() }
    }

    fn read(&self, name: &str) {
        self.all.read(&id(name), || self.load(name), |value| assert_eq!(value.name, name));
    }

    fn change(&self, name: &str) {
        self.all.write(&id(name), || self.load(name), |value| value.changes += 1);
    }

    /// The names of the values that are flushed, each of which `saves` or not.
    fn flush(&self, saves: bool) -> Vec<String> {
        let mut flushed = Vec::new();
        let result = self.all.flush(|value| {
            flushed.push(value.name.clone());
            if saves {
                value.saved = value.changes;
            }
            saves.then_some(()).ok_or(())
        });
        assert_eq!(result.is_ok(), saves || flushed.is_empty());
        flushed
    }

    fn loaded(&self) -> Vec<String> {
        let mut names = self.all.look_at_loaded(|id, _| id.to_string());
        names.sort();
        names
    }
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

#[test]
fn what_was_not_used_for_the_longest_time_is_dropped() {
    let setup = Setup::with_room_for(4);
    ["a", "b", "c", "d", "a"].iter().for_each(|name| setup.read(name));
    assert_eq!((setup.loads.get(), setup.all.heap()), (4, 4 * BYTES));
    // Beyond the limit, as many go as leave an eighth free.
    setup.read("e");
    assert_eq!((setup.loaded(), setup.all.heap()), (vec!["a".into(), "d".into(), "e".into()], 3 * BYTES));
    setup.read("b");
    assert_eq!(setup.loads.get(), 6);
}

#[test]
fn what_is_not_saved_stays() {
    let setup = Setup::with_room_for(2);
    ["a", "b", "c", "d"].iter().for_each(|name| setup.change(name));
    ["x", "y", "z"].iter().for_each(|name| setup.read(name));
    let unsaved = |names: &[String]| ["a", "b", "c", "d"].iter().all(|name| names.iter().any(|one| one == name));
    assert!(unsaved(&setup.loaded()));
    setup.flush(false);
    assert!(unsaved(&setup.loaded()));
    setup.flush(true);
    assert!(setup.all.heap() <= 2 * BYTES, "{:?}", setup.loaded());
}

#[test]
fn what_is_in_use_stays() {
    let setup = Setup::with_room_for(1);
    let read_others = |_: &Value| {
        ["b", "c", "d"].iter().for_each(|name| setup.read(name));
        assert!(setup.loaded().contains(&"a".to_owned()));
    };
    setup.all.read(&id("a"), || setup.load("a"), read_others);
    setup.read("e");
    assert!(setup.all.heap() <= BYTES, "{:?}", setup.loaded());
}

#[test]
fn a_flush_looks_at_nothing_but_changes() {
    let setup = Setup::with_room_for(10);
    ["a", "b", "c"].iter().for_each(|name| setup.read(name));
    assert_eq!(setup.flush(true), [""; 0]);
    setup.change("b");
    setup.change("b");
    assert_eq!(setup.flush(false), ["b"]);
    assert_eq!(setup.flush(true), ["b"], "what could not be saved is tried again");
    assert_eq!(setup.flush(true), [""; 0]);
}

#[test]
fn several_are_read_together_in_their_order() {
    let all = Conversations::new(usize::MAX);
    let names: Vec<_> = (0..100).map(|number| id(&format!("{}", number % 40))).collect();
    let ids: Vec<_> = names.iter().collect();
    let load = |id: &ConversationId| Value { name: id.to_string(), ..Value::default() };
    let read = all.read_all(&ids, load, |values| values.iter().map(|value| value.name.clone()).collect::<Vec<_>>());
    assert_eq!(read, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(all.heap(), 40 * BYTES);
}

#[test]
fn what_another_process_changed_is_read_again_before_it_is_used() {
    let setup = Setup::with_room_for(10);
    setup.change("a");
    setup.all.write(&id("a"), || setup.load("a"), |value| value.is_outdated = true);
    let refreshed = || setup.all.read(&id("a"), || setup.load("a"), |value| value.refreshed);
    // Not in the second in which it was looked at.
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    while !refreshed() {
        assert!(Instant::now() < deadline, "it is never read again");
        thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(setup.loads.get(), 1);
    assert!(setup.all.read(&id("a"), || setup.load("a"), |value| value.changes == 1), "its own changes stay");
}
