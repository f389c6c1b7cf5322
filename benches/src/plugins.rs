//! The group `plugins`: what it costs to call a strategy behind the plugin interface.

mod call;
mod host;
mod library;
mod load;

use anyhow::Result;

pub use load::print_load;

use crate::figure::Figure;

/// Measures the group.
///
/// # Errors
/// When a plugin's library is not where the build leaves it, or a call fails.
pub(crate) fn measure() -> Result<Vec<Figure>> {
    eprintln!("plugins: calls through the interface");
    let mut figures = vec![call::overhead()?];
    eprintln!("plugins: calls through the host");
    figures.push(host::overhead()?);
    eprintln!("plugins: loading");
    figures.push(load::measure()?);
    Ok(figures)
}
