//! Documents: added in chunks, cited by name and page, replaced, erased, and hostile ones within limits.

use crate::support::Store;

/// A PDF with one line of text on each page.
fn pdf(pages: &[String]) -> String {
    let count = pages.len();
    let kids: String = (0..count).map(|index| format!("{} 0 R ", 4 + 2 * index)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (index, text) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * index
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut out = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(out.len());
        out += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let xref = out.len();
    let size = objects.len() + 1;
    let lines: String = places.iter().map(|place| format!("{place:010} 00000 n \n")).collect();
    let trailer = format!("trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF\n");
    format!("{out}xref\n0 {size}\n0000000000 65535 f \n{lines}{trailer}")
}

#[test]
fn documents_are_searched_and_cited_by_name_and_page() {
    let store = Store::new();
    let pages: Vec<String> =
        (1..=200).map(|number| format!("Pump P-{number} is served in shelf {}.", 7 * number)).collect();
    let manual = store.file("manual.pdf", &pdf(&pages));
    let page =
        "<!doctype html><title>x</title><h1>House</h1><script>alert(1)</script><p>Always lock the <b>gate</b>.</p>";
    let page = store.file("house.html", page);
    let notes =
        store.file("notes.md", "# Deploy\n\nAlways deploy from main.\n\n## Rollback\n\nRun the rollback of Zurich.\n");
    let added = store.json(&["add", &manual, &page, &notes]);
    let of = |index: usize, name: &str| added["documents"][index][name].clone();
    assert_eq!(of(0, "conversation"), "manual-pdf");
    assert_eq!([of(0, "pages"), of(0, "new")], [200, 200]);
    assert_eq!([of(1, "chunks"), of(2, "chunks")], [1, 2]);
    // What is there stays.
    let again = store.json(&["add", &manual, &notes]);
    assert_eq!([again["documents"][0]["new"].clone(), again["documents"][1]["new"].clone()], [0, 0]);
    let found = store.succeed(&["search", "In which shelf is pump P-142?"]);
    assert!(found.contains("manual.pdf, page 142") && found.contains("994"), "{found}");
    let shown = store.succeed(&["show", "house-html"]);
    assert!(shown.contains("# House\nAlways lock the gate.") && !shown.contains("alert"), "{shown}");
    // They are no conversations.
    assert_eq!(store.json(&["list"])["conversations"].as_array().unwrap().len(), 0);
    assert_eq!(store.json(&["list", "--documents"])["conversations"].as_array().unwrap().len(), 3);
    assert_eq!(store.json(&["facts"])["entries"].as_array().unwrap().len(), 0, "rules of a document are nobody's");
    // A context recalls from them, next to the only conversation.
    store.succeed(&["append", "-c", "talk", "Hello, I am the new caretaker."]);
    let ask = |more: &[&str]| store.succeed(&[&["context", "In which shelf is pump P-77?"], more].concat());
    let shown = ask(&[]);
    assert!(shown.contains("manual.pdf, page 77]: Pump P-77 is served in shelf 539."), "{shown}");
    assert!(!ask(&["--no-documents"]).contains("539"));
    assert!(!ask(&["--trust", "person"]).contains("539"), "a document is no person");
}

#[test]
fn another_text_of_a_name_takes_the_place_of_the_earlier_one_and_what_is_erased_is_gone() {
    let store = Store::new();
    let file = |text: &str| store.file("plan.txt", text);
    store.succeed(&["add", &file("The gate closes at nine, says Quintus.")]);
    let added = store.json(&["add", &file("The gate closes at ten, says Quintus.")]);
    let document = &added["documents"][0];
    assert_eq!([&document["conversation"], &document["replaces"]], ["plan-txt-2", "plan-txt"]);
    let found = store.succeed(&["search", "When does the gate close?"]);
    assert!(found.contains("at ten") && !found.contains("at nine"), "{found}");
    let again = store.json(&["add", &file("The gate closes at ten, says Quintus.")]);
    assert_eq!(again["documents"][0]["new"], 0);
    store.succeed(&["erase", "-c", "plan-txt", "--all", "--yes"]);
    store.succeed(&["erase", "-c", "plan-txt-2", "--all", "--yes"]);
    assert_eq!(store.json(&["find", "--all", "Quintus"])["hits"].as_array().map_or(0, Vec::len), 0);
    // Added on purpose, it comes back under a name of its own.
    let added = store.command(&["add", &file("The gate closes at ten, says Quintus.")]).output().unwrap();
    let said = String::from_utf8(added.stderr).unwrap();
    assert!(said.contains("`plan-txt` was erased: the file is added again, as `plan-txt-3`"), "{said}");
}

#[test]
fn a_file_that_cannot_be_read_adds_nothing_and_says_why() {
    let store = Store::new();
    let good = store.file("good.txt", "Good.");
    for (name, text, why) in [
        ("bad.pdf", "%PDF-1.4\ngarbage", "damaged"),
        (
            "loop.pdf",
            "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R /Kids [1 0 R] >>\nendobj\ntrailer << /Root 1 0 R >>",
            "damaged",
        ),
        ("zeros.dat", "a\0b", "neither UTF-8 text"),
        ("empty.md", " \n", "no text"),
    ] {
        let error = store.fail(&["add", &good, &store.file(name, text)], 1);
        assert!(error.contains(name) && error.contains(why), "{error}");
    }
    let error = store.fail(&["add", &good, "missing.pdf"], 1);
    assert!(error.contains("missing.pdf"), "{error}");
    assert!(store.fail(&["list", "--documents"], 3).contains("there is no store"));
}

/// A store with a talk of three messages about a gate, whose second one an importer or a tool may have brought.
fn talk(store: &Store) {
    for (role, text) in [
        ("user", "Which gate does the ferry to Vis leave from?"),
        ("assistant", "It leaves from gate K-77, says the harbour office."),
        ("user", "Good, gate K-77 then."),
    ] {
        store.succeed(&["--words-only", "append", "-c", "trip", "--role", role, text]);
    }
}

#[test]
fn an_exchange_becomes_a_document_that_other_conversations_recall() {
    let store = Store::new();
    talk(&store);
    store.succeed(&["--words-only", "append", "-c", "other", "Hello."]);
    let note = store.json(&["--words-only", "note", "-c", "trip", "1-3", "--name", "Ferry gate"]);
    assert_eq!(
        (&note["messages"], &note["left_out"], &note["document"]["conversation"]),
        (&3.into(), &0.into(), &"ferry-gate".into())
    );
    let shown = store.succeed(&["--words-only", "show", "ferry-gate"]);
    assert!(shown.contains("assistant (") && shown.contains("gate K-77, says the harbour office"), "{shown}");
    let context =
        store.succeed(&["--words-only", "context", "-c", "other", "Which gate does the ferry to Vis leave from?"]);
    assert!(context.contains("Ferry gate") && context.contains("gate K-77"), "{context}");
    let again = store.json(&["--words-only", "note", "-c", "trip", "1-3", "--name", "Ferry gate"]);
    assert_eq!(again["document"]["new"], 0);
    let sources = store.json(&["--words-only", "provenance", "-c", "ferry-gate", "1"]);
    assert_eq!(sources["sources"][0]["source"], "model", "no more trusted than the least trusted message");
}

#[test]
fn a_document_of_an_exchange_goes_with_its_messages() {
    let store = Store::new();
    talk(&store);
    store.succeed(&["--words-only", "note", "-c", "trip", "2-3"]);
    let held = store.json(&["--words-only", "quarantine", "conversation:trip"]);
    assert_eq!(held["conversations"].as_array().unwrap().len(), 2, "{held}");
    store.succeed(&["--words-only", "quarantine", "--undo", "conversation:trip"]);
    let erased = store.json(&["--words-only", "erase", "-c", "trip", "2", "--yes"]);
    let names: Vec<_> =
        erased["plan"]["conversations"].as_array().unwrap().iter().map(|one| &one["conversation"]).collect();
    assert_eq!(names, ["trip", "trip-2-3"], "{erased}");
    let found = store.json(&["--words-only", "find", "harbour office"]);
    assert_eq!(found["matches"].as_array().unwrap().len(), 0, "{found}");
}

#[test]
fn a_note_of_nothing_is_refused() {
    let store = Store::new();
    talk(&store);
    store.succeed(&["--words-only", "disable", "-c", "trip", "2"]);
    let error = store.fail(&["--words-only", "note", "-c", "trip", "2"], 1);
    assert!(error.contains("no text to show"), "{error}");
    store.fail(&["--words-only", "note", "-c", "trip", "4"], 3);
}
