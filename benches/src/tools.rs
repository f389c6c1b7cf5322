//! The group `tools`: latency of the binary for programs that use it: clients of its server, agents with hooks, and
//! imports.

mod binary;
mod import;
mod served;

use std::path::Path;

use anyhow::Result;

use self::binary::Binary;
use crate::figure::{Figure, Inputs};

/// Messages of the measured store.
const MESSAGES: usize = 10_000;
/// The only conversation of the measured store.
const CONVERSATION: &str = "ten-thousand";

/// Measures the group, with its files under `scratch`.
///
/// # Errors
/// When the binary or the model is missing, or a call fails.
pub(crate) fn measure(scratch: &Path, inputs: &Inputs) -> Result<Vec<Figure>> {
    let binary = Binary::find(inputs.memory.as_deref())?;
    let memory = binary.with_store(&scratch.join("ten-thousand"));
    eprintln!("tools: embedding {MESSAGES} messages");
    served::fill(&memory, scratch)?;
    let mut figures = served::calls(&memory)?;
    figures.extend(served::starts(&memory)?);
    figures.push(served::tools_list(&memory)?);
    // Appends to the store, so it comes after the others.
    figures.push(served::hook_calls(&memory, scratch)?);
    figures.extend(import::rates(&binary, scratch)?);
    figures.push(import::resident(&binary, scratch, inputs.short)?);
    figures.push(served::growth(&binary, scratch, inputs.short)?);
    Ok(figures)
}
