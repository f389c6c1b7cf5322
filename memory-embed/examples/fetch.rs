//! Fetches the pinned model into the model store, converts its weights to ONNX graphs and prints the result.

use std::error::Error;

use memory_embed::{ALL_MINILM_L6_V2, FetchOptions, ModelStore, PrepareOptions, fetch, prepare};

fn main() -> Result<(), Box<dyn Error>> {
    let store = ModelStore::discover(None)?;
    let report = fetch(&store, &ALL_MINILM_L6_V2, &FetchOptions::default(), &mut |_| {})?;
    for package in report.packages {
        let did = if package.downloaded { "downloaded" } else { "already there" };
        println!("{} {}: {} bytes, {did}", package.name, package.version, package.bytes);
    }
    let name = ALL_MINILM_L6_V2.name;
    let options = PrepareOptions::default();
    let prepared = prepare(&store.directory_of(name), name, &store.runtime()?, &options, &mut |_| {})?;
    println!("{}: int8 {:?}", report.root.display(), prepared.int8?);
    Ok(())
}
