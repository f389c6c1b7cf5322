//! The memory of a process, as the system reports it.

use std::fs;

use anyhow::{Context, Result};

/// A field of `/proc/self/status` such as `RssAnon` (memory that no file backs) or `VmHWM` (the most there was), in
/// megabytes.
///
/// # Errors
/// When the system has no such report.
pub(crate) fn megabytes(field: &str) -> Result<f64> {
    in_status("self", field)
}

/// The same of another process.
///
/// # Errors
/// When it has ended, or the system has no such report.
pub(crate) fn megabytes_of(process: u32, field: &str) -> Result<f64> {
    in_status(&process.to_string(), field)
}

fn in_status(process: &str, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.context("this system reports no memory of a process")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes: f64 =
        line.with_context(|| format!("no {field} is reported"))?.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_no_field_of_another_name() {
        let (anonymous, most) = (megabytes("RssAnon").unwrap(), megabytes("VmHWM").unwrap());
        assert!(0.1 < anonymous && anonymous < most, "{anonymous} {most}");
        assert!(megabytes("Rss").is_err());
    }
}
