//! Memory of the first answer of a process, in a test binary of its own, because other tests would count too.
#![cfg(target_os = "linux")]

use std::{env, fs};

use memory_core::port::Embedder;
use memory_embed::{MULTILINGUAL_E5_SMALL, ModelStore, OnnxEmbedder, OnnxOptions};
use pollster::block_on;

/// Bytes of this process that no other one shares, at the most: its vocabulary of 250,000 pieces is read compiled, and
/// its table of 96 MB is mapped.
const MAX_BYTES: u64 = 250 << 20;

#[test]
fn a_large_vocabulary_takes_little_memory_of_its_own() {
    let files = match ModelStore::discover(None).and_then(|store| store.locate(&MULTILINGUAL_E5_SMALL)) {
        Ok(files) => files,
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default()).unwrap();
    block_on(embedder.embed_query("När går färjan?")).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let own: u64 = own.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    assert!(own << 10 < MAX_BYTES, "{own} KiB");
}
