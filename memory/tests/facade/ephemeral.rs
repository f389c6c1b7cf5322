//! A memory in memory alone: as able as any other, and in no file.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{fs, path::Path};

use memory::{
    Access, Builder, Config, FindRequest, Message, PromptOptions, Query, Scope,
    erasing::{EraseOptions, EraseRequest},
};
use pollster::block_on;

use crate::support::{Dir, remark};

const SECRET: &str = "The code of the door is zebra44712.";

/// All files below a directory, with their bytes.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_of_an_ephemeral_memory_reaches_a_file() {
    let dir = Dir::new();
    let memory = dir.meaning().background(false).open().unwrap();
    block_on(memory.conversation("kept").unwrap().append(Message::user("This is kept."))).unwrap();
    block_on(memory.catch_up()).unwrap();
    let before = files(&dir.beside(""));
    let gone = memory.ephemeral().unwrap();
    let talk = gone.conversation("trip").unwrap();
    block_on(talk.append(Message::user(SECRET))).unwrap();
    for number in 0..60 {
        block_on(talk.append(remark(number))).unwrap();
    }
    block_on(talk.set_title("About zebra44712")).unwrap();
    block_on(talk.set_tags(&["of-zebra44712".to_owned()])).unwrap();
    block_on(gone.catch_up()).unwrap();
    let options = PromptOptions::new(1_000);
    let prompt = block_on(talk.prompt_with("What is the code zebra44712 of?", &options)).unwrap();
    assert!(prompt.text().contains("zebra44712") && prompt.view.is_some());
    block_on(talk.turn(&PromptOptions::default())).unwrap();
    let hits = block_on(gone.search(Query::new("code of the door", Scope::all()))).unwrap().hits;
    assert!(hits.iter().any(|hit| hit.node.message.text() == SECRET));
    assert_eq!(block_on(gone.find(FindRequest::new("zebra", Scope::all()))).unwrap().matches.len(), 1);
    block_on(talk.fork(memory::NodeId::FIRST, "fork".parse().unwrap())).unwrap();
    assert!(block_on(gone.store().verify(None)).unwrap().is_whole());
    assert_eq!(block_on(gone.usage()).unwrap().unwrap().log_bytes, 0);
    assert!(block_on(memory.find(FindRequest::new("zebra", Scope::all()))).unwrap().matches.is_empty());
    let request = EraseRequest::Matching(FindRequest::new("zebra", Scope::all()));
    let receipt = block_on(gone.erase(block_on(gone.plan_erasure(request)).unwrap(), EraseOptions::default())).unwrap();
    assert!(receipt.is_clean());
    block_on(gone.flush()).unwrap();
    assert_eq!(files(&dir.beside("")), before, "no file was made or changed");
    drop((talk, gone));
    assert_eq!(files(&dir.beside("")), before);

    // Another one knows nothing of it, and neither do two at once of each other.
    let (one, other) = (memory.ephemeral().unwrap(), memory.ephemeral().unwrap());
    block_on(one.conversation("trip").unwrap().append(Message::user(SECRET))).unwrap();
    assert_eq!(block_on(one.conversations()).unwrap().len(), 1);
    assert!(block_on(other.conversations()).unwrap().is_empty());
}

#[test]
fn a_builder_opens_a_memory_that_looks_at_no_directory() {
    let dir = Dir::new();
    std::fs::create_dir(dir.store()).unwrap();
    let config = Config::new(dir.store(), Access::Write).without_model().in_memory();
    let memory = Builder::of(config).open().unwrap();
    block_on(memory.conversation("trip").unwrap().append(Message::user(SECRET))).unwrap();
    drop(memory);
    assert_eq!(files(&dir.store()), [], "not even a key");
}
