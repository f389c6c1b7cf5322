//! The group `tools`: what programs wait for that use the memory through its binary: clients of its server, agents with
//! hooks, and imports.

mod binary;
mod client;
mod hook;
mod import;
mod notes;
mod served;
mod sessions;
mod start;
mod store;

use std::path::Path;

use anyhow::Result;

use self::{binary::Binary, store::MESSAGES};
use crate::{figure::Figure, group::Inputs};

/// Measures the group, with its files under `scratch`.
///
/// # Errors
/// When the binary or the model is missing, or a call fails.
pub(crate) fn measure(scratch: &Path, inputs: &Inputs) -> Result<Vec<Figure>> {
    let binary = Binary::find(inputs.memory.as_deref())?;
    let memory = binary.with_store(&scratch.join("ten-thousand"));
    eprintln!("tools: embedding {MESSAGES} messages");
    served::fill(&memory, scratch)?;
    let mut figures = served::measure(&memory)?;
    figures.extend(start::measure(&memory)?);
    figures.push(served::tools_list(&memory)?);
    // Later than the others, since it appends.
    figures.push(hook::measure(&memory, scratch)?);
    figures.extend(import::rates(&binary, scratch)?);
    figures.push(import::resident(&binary, scratch, inputs.short)?);
    figures.push(notes::growth(&binary, scratch, inputs.short)?);
    Ok(figures)
}
