//! The group `managers`: what managing conversations adds to a turn, in a long conversation and in many at once.

mod many;
mod overhead;
mod waiting;

use std::path::Path;

use anyhow::Result;
use memory::{Access, Builder, Config};

use crate::{
    figure::Figure,
    soak::{self, Use},
};

/// Measures the group, with its stores under `scratch`; a tenth of everything if it `is_short`.
///
/// # Errors
/// When a call of the memory fails.
pub(crate) fn measure(scratch: &Path, is_short: bool) -> Result<Vec<Figure>> {
    memory::limit_heap_arenas();
    let mut figures = vec![overhead::measure(scratch, is_short)?];
    figures.extend(many::measure(&scratch.join("many"), is_short)?);
    eprintln!("managers: a simulated day of running agents");
    let agents = Builder::of(Config::new(scratch.join("agents"), Access::Write).without_model());
    figures.push(soak::growth("memory_growth_agents", agents, Use::Running, is_short)?);
    Ok(figures)
}
