//! The time in which a process loads its first plugin and creates its strategy.

use std::{env, fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use memory_plugins::Registry;

use super::library::official;
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Processes of a round.
const PROCESSES: u32 = 8;

pub(super) fn measure() -> Result<Figure> {
    let library = official()?;
    let [[load]] = interleave([Entrant::new("memory-plugins", ["ms"], || {
        let times = (0..PROCESSES).map(|_| in_child(&library)).collect::<Result<Vec<_>>>()?;
        Ok([times.iter().sum::<f64>() / f64::from(PROCESSES)])
    })])?;
    let name = library.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kilobytes = fs::metadata(&library)?.len() / 1_000;
    let note = format!(
        "checks, digest, opening, comparing layouts and making the strategy, each in a new process; an official plugin, \
         {name}, {kilobytes} kB"
    );
    Ok(Figure::absolute("load_ms", &load, note))
}

/// Milliseconds of a new process.
fn in_child(library: &Path) -> Result<f64> {
    let child = Command::new(env::current_exe()?).arg("load-plugin").arg(library).output()?;
    ensure!(child.status.success(), "{}: {}", child.status, String::from_utf8_lossy(&child.stderr));
    let said = String::from_utf8(child.stdout)?;
    said.trim().parse().with_context(|| format!("{said:?} is not a time"))
}

/// Loads the plugin at `library` in this process and prints how many milliseconds it took.
///
/// # Errors
/// When it cannot be loaded.
pub fn print_load(library: &Path) -> Result<()> {
    let start = Instant::now();
    let mut registry = Registry::with_builtins();
    let info = registry.load(library)?;
    let summarizer = registry.summarizer(&info.name)?;
    let took = start.elapsed();
    ensure!(summarizer.identity().strategy == info.name, "another strategy was made");
    println!("{}", took.as_secs_f64() * 1e3);
    Ok(())
}
