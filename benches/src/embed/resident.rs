//! The memory of a process that holds the default model and has embedded with it.

use std::{env, process::Command};

use anyhow::{Result, ensure};
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};

use super::{texts, vectors};
use crate::{figure::Figure, process_memory, rounds::Samples};

/// Loads the default model, embeds the mixed set and prints the peak memory of this process, in megabytes.
///
/// # Errors
/// When the model cannot be loaded, or the system does not report the peak.
pub fn print_resident() -> Result<()> {
    let files = ModelStore::discover(None)?.locate(&ALL_MINILM_L6_V2)?;
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default())?;
    vectors(&embedder, &texts::mixed())?;
    println!("{}", process_memory::megabytes("VmHWM")?);
    Ok(())
}

/// [`print_resident`] in a process of its own.
pub(super) fn measure() -> Result<Figure> {
    let output = Command::new(env::current_exe()?).arg("resident").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let megabytes = String::from_utf8(output.stdout)?.trim().parse()?;
    let samples = Samples { name: "int8".to_owned(), unit: "MB", values: vec![megabytes] };
    Ok(Figure::absolute("resident_mb", &samples, "the most that a process held that embedded the mixed set in 8 bits"))
}
