//! Fetches the pinned model into the model store and says what it did.

use std::error::Error;

use memory_embed::{ALL_MINILM_L6_V2, FetchOptions, ModelStore, fetch};

fn main() -> Result<(), Box<dyn Error>> {
    let store = ModelStore::discover(None)?;
    let report = fetch(&store, &ALL_MINILM_L6_V2, &FetchOptions::default(), &mut |_| {})?;
    for package in report.packages {
        let did = if package.downloaded { "downloaded" } else { "already there" };
        println!("{} {}: {} bytes, {did}", package.name, package.version, package.bytes);
    }
    println!("{}", report.root.display());
    Ok(())
}
