//! Lays out the tables in which the tokens of a vocabulary are looked up.

use std::{env, error::Error, fs, path::Path};

#[path = "src/tokens/hash.rs"]
mod hash;

use hash::Hash;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/tokens/hash.rs");
    println!("cargo::rerun-if-changed=vocabularies");
    if env::var_os("CARGO_FEATURE_TOKENS").is_none() {
        return Ok(());
    }
    let out = env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?;
    for name in ["cl100k_base", "o200k_base"] {
        let tokens = fs::read(format!("vocabularies/{name}.tokens"))?;
        let slots = slots(&tokens).ok_or("a vocabulary that ends within a token, or of 16 MiB")?;
        fs::write(Path::new(&out).join(format!("{name}.slots")), slots.as_flattened())?;
    }
    Ok(())
}

/// A table twice as long as there are tokens, so that it always has empty slots. Colliding tokens lie in the next free
/// ones.
fn slots(tokens: &[u8]) -> Option<Vec<[u8; 4]>> {
    let placed = placed(tokens)?;
    let mut slots = vec![[0; 4]; placed.len() * 2];
    for (offset, token) in placed {
        let hash = Hash::of(token);
        let mut at = hash.home(slots.len());
        while slots.get(at)? != &[0; 4] {
            at = (at + 1) % slots.len();
        }
        *slots.get_mut(at)? = hash.slot(u32::try_from(offset).ok()?)?;
    }
    Some(slots)
}

/// Each token with its offset, behind the byte of its length.
fn placed(tokens: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    let (mut placed, mut offset) = (Vec::new(), 0);
    while let Some(length) = tokens.get(offset) {
        let token = tokens.get(offset + 1..)?.get(..usize::from(*length))?;
        placed.push((offset + 1, token));
        offset += 1 + token.len();
    }
    Some(placed)
}
