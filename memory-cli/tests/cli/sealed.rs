//! Exports that only recipients of age can read.

use std::fs;

use age::{secrecy::ExposeSecret as _, x25519::Identity};

use crate::support::{Store, trip};

/// A new key in a file, and its recipient.
fn key(store: &Store, name: &str) -> (String, String) {
    let identity = Identity::generate();
    let file = store.file(name, &format!("# a key\n{}\n", identity.to_string().expose_secret()));
    (file, identity.to_public().to_string())
}

#[test]
fn an_export_for_two_recipients_is_read_by_either_and_shows_no_text() {
    let (from, to) = (trip(), Store::new());
    let [(ana, to_ana), (ben, to_ben)] = [key(&from, "ana"), key(&from, "ben")];
    let sealed = from.path("trip.age");
    from.succeed(&["export", "-c", "trip", "--recipient", &to_ana, "--recipient", &to_ben, "--output", &sealed]);
    let bytes = fs::read(&sealed).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
    assert!(!bytes.windows(4).any(|four| four == b"role"), "text in clear");
    for identity in [&ana, &ben] {
        to.succeed(&["import", "--identity", identity, &sealed]);
    }
    assert_eq!(to.succeed(&["export"]), from.succeed(&["export"]), "the same root, imported once");
}

#[test]
fn a_directory_of_sealed_exports_is_read_back() {
    let (from, to) = (trip(), Store::new());
    let (ana, to_ana) = key(&from, "ana");
    let directory = from.path("all");
    from.succeed(&["export", "--all", "--recipient", &to_ana, "--output", &directory]);
    let names: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["trip.jsonl.age"]);
    to.succeed(&["import", "--identity", &ana, &directory]);
    assert_eq!(to.succeed(&["export"]), from.succeed(&["export"]));
}

#[test]
fn nothing_is_imported_without_the_key_or_from_a_cut_file() {
    let (from, to) = (trip(), Store::new());
    let [(ana, to_ana), (other, _)] = [key(&from, "ana"), key(&from, "other")];
    let sealed = from.path("trip.age");
    from.succeed(&["export", "--recipient", &to_ana, "--output", &sealed]);
    let no_key = to.fail(&["import", &sealed], 2);
    assert!(no_key.contains("--identity FILE"), "{no_key}");
    let wrong = to.fail(&["import", "--identity", &other, &sealed], 1);
    assert!(wrong.contains("cannot decrypt"), "{wrong}");
    let bytes = fs::read(&sealed).unwrap();
    let cut = from.path("cut.age");
    fs::write(&cut, bytes.get(..bytes.len() - 20).unwrap()).unwrap();
    to.fail(&["import", "--identity", &ana, &cut], 1);
    to.fail(&["list"], 3);
}
