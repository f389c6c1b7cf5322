//! One generated tree for each rule.

use super::*;

/// The uses that form a cycle of five files. Each of `a.rs` to `d.rs` uses the next; the text of `e.rs` and the other
/// files are given.
fn edges(e: &str, others: &[(&str, &str)]) -> Vec<String> {
    let ring = ["a", "b", "c", "d"].iter().zip(["b::B", "c::C", "d::D", "e::E"]);
    let mut files: Vec<(String, String)> = ring
        .map(|(file, next)| (format!("{file}.rs"), format!("pub struct {}(crate::{next});", file.to_uppercase())))
        .collect();
    files.push(("e.rs".to_owned(), format!("pub struct E; {e}")));
    files.extend(others.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())));
    if !others.iter().any(|(file, _)| *file == "lib.rs") {
        files.push(("lib.rs".to_owned(), "mod a; mod b; mod c; mod d; mod e; pub use a::A;".to_owned()));
    }
    let file = |(path, text): (String, String)| TreeFile { path: format!("p/src/{path}"), text };
    let files: Vec<_> = files.into_iter().map(file).collect();
    let faults: Vec<_> = check(&files).iter().map(Fault::to_string).collect();
    faults.iter().flat_map(|fault| fault.lines().skip(1)).map(|line| line.trim().to_owned()).collect()
}

fn assert_closed(e: &str, others: &[(&str, &str)], last: &str) {
    let found = edges(e, others);
    let expected = ["a.rs uses B of b.rs", "b.rs uses C of c.rs", "c.rs uses D of d.rs", "d.rs uses E of e.rs", last];
    assert_eq!(found, expected, "{e}");
}

fn assert_open(e: &str, others: &[(&str, &str)]) {
    assert_eq!(edges(e, others), [""; 0], "{e}");
}

#[test]
fn a_circle_of_five_files_is_a_fault_however_it_is_closed() {
    let last = "e.rs uses A of a.rs";
    for e in [
        "use crate::a::A;",
        "use super::a::A as Other;",
        "use crate::{a::{self}, b};  fn f(_: a::A) {}",
        "fn f() { let x = crate::a::A::new(); }",
        "fn f() { format!(\"{}\", crate::a::A::NAME); }",
        "impl From<super::a::A> for E {}",
        "use super::*; fn f(_: A) {}",
        "mod inner { use crate::a::A; }",
        "fn f() { use crate::a::A; }",
    ] {
        assert_closed(e, &[], last);
    }
}

#[test]
fn four_files_may_use_each_other() {
    assert_open("use crate::b::B;", &[]);
}

#[test]
fn a_re_export_is_followed_to_the_definition() {
    assert_closed("use crate::A;", &[], "e.rs uses A of a.rs");
    let lib = "mod a; mod b; mod c; mod d; mod e; mod f;";
    let of_f = [("lib.rs", lib), ("f.rs", "pub(crate) use crate::a::A as Alias;")];
    assert_closed("use crate::f::Alias;", &of_f, "e.rs uses A of a.rs");
    let glob = [("lib.rs", lib), ("f.rs", "pub use crate::a::*;")];
    assert_closed("use crate::f::A;", &glob, "e.rs uses A of a.rs");
}

#[test]
fn a_re_export_is_no_use() {
    assert_open("pub use crate::a::A;", &[]);
    assert_open("pub(crate) use super::a::A;", &[]);
}

#[test]
fn a_module_alone_is_no_use() {
    assert_open("use crate::a;", &[]);
    assert_open("pub(in crate::a) struct Other;", &[]);
}

#[test]
fn code_for_tests_is_left_out() {
    assert_open("#[cfg(test)] mod tests { use crate::a::A; }", &[]);
    assert_open("#[cfg(test)] use crate::a::A;", &[]);
    assert_open("#[cfg(all(test, unix))] fn f(_: crate::a::A) {}", &[]);
    assert_open("#[cfg(test)] mod tests;", &[("e/tests.rs", "use crate::a::A;")]);
    assert_closed("#[cfg(any(test, unix))] use crate::a::A;", &[], "e.rs uses A of a.rs");
}

#[test]
fn what_is_in_braces_is_of_its_file() {
    let lib = [("lib.rs", "mod a; mod b; mod c; mod d; mod e { pub struct E; use crate::a::A; mod f; }")];
    let found = edges("", &lib);
    assert_eq!(found.last().map(String::as_str), Some("lib.rs uses A of a.rs"), "{found:?}");
}

#[test]
fn a_module_and_a_function_may_have_one_name() {
    let lib = "mod a; mod b; mod c; mod d; mod e; mod f;";
    let both = [("lib.rs", lib), ("f.rs", "mod g; pub use g::g;"), ("f/g.rs", "pub fn g(_: crate::a::A) {}")];
    let found = edges("fn h() { crate::f::g(); }", &both);
    assert!(found.contains(&"e.rs uses g of f/g.rs".to_owned()), "{found:?}");
}

#[test]
fn imports_of_each_other_end() {
    let lib = "mod a; mod b; mod c; mod d; mod e; mod f;";
    assert_open("pub use crate::f::*; use crate::f::Nothing;", &[("lib.rs", lib), ("f.rs", "pub use crate::e::*;")]);
}

#[test]
fn a_file_that_is_no_rust_is_a_fault() {
    let file = TreeFile { path: "p/src/lib.rs".to_owned(), text: "fn".to_owned() };
    let faults: Vec<_> = check(&[file]).iter().map(Fault::to_string).collect();
    assert!(matches!(&faults[..], [fault] if fault.starts_with("p/src/lib.rs: cannot be read as Rust")), "{faults:?}");
}

#[test]
fn a_fault_names_the_crate_and_counts_the_files() {
    let text = "mod a; pub struct L(a::A);";
    let ring = |name: &str, next: &str| TreeFile {
        path: format!("p/src/{name}.rs"),
        text: format!("pub struct {}(crate::{next});", name.to_uppercase()),
    };
    let lib = TreeFile { path: "p/src/lib.rs".to_owned(), text: format!("{text} mod b; mod c; mod d;") };
    let files = [lib, ring("a", "b::B"), ring("b", "c::C"), ring("c", "d::D"), ring("d", "L")];
    let faults: Vec<_> = check(&files).iter().map(Fault::to_string).collect();
    assert!(faults[0].starts_with("p/src: 5 files use each other in a circle"), "{faults:?}");
    assert!(faults[0].contains("\n    lib.rs uses A of a.rs"), "{faults:?}");
}
