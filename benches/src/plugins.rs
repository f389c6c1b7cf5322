//! The group `plugins`: the cost of calling a strategy behind the plugin interface, and the speed of the built-in ones.

mod call;
mod host;
mod library;
mod load;
mod strategies;

use std::path::Path;

use anyhow::Result;

pub use load::print_load;

use crate::figure::Figure;

/// Measures the group; with evaluation `data`, the strategies read that as well.
///
/// # Errors
/// When a plugin's library is not where the build puts it, or a call fails.
pub(crate) fn measure(data: Option<&Path>) -> Result<Vec<Figure>> {
    eprintln!("plugins: calls through the interface");
    let mut figures = vec![call::overhead()?];
    eprintln!("plugins: calls through the host");
    figures.push(host::overhead()?);
    eprintln!("plugins: loading");
    figures.push(load::measure()?);
    eprintln!("plugins: built-in strategies");
    figures.extend(strategies::measure(data)?);
    Ok(figures)
}
