//! Named steps, each printed with its duration; the first failure stops them.

use std::time::{Duration, Instant};

use anyhow::Result;

/// The steps of one command.
pub(crate) struct Steps {
    started: Instant,
    done: usize,
}

impl Steps {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), done: 0 }
    }

    /// Runs one step and prints its duration, also if it fails.
    pub(crate) fn run<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("==> {name}");
        let started = Instant::now();
        let outcome = work();
        let word = if outcome.is_ok() { "done" } else { "failed" };
        eprintln!("    {name}: {word} in {}", shown(started.elapsed()));
        let value = outcome.map_err(|error| error.context(format!("step `{name}`")))?;
        self.done += 1;
        Ok(value)
    }

    /// The number of steps and their total duration: `9 steps in 3 min 20 s`.
    pub(crate) fn summary(&self) -> String {
        let noun = if self.done == 1 { "step" } else { "steps" };
        format!("{} {noun} in {}", self.done, shown(self.started.elapsed()))
    }
}

/// A duration for people: `0.4 s`, `75.0 s`, `3 min 20 s`.
pub(crate) fn shown(duration: Duration) -> String {
    if duration < Duration::from_secs(120) {
        return format!("{:.1} s", duration.as_secs_f64());
    }
    let seconds = duration.as_secs();
    format!("{} min {} s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_failed_step_is_named_and_not_counted() {
        let mut steps = Steps::start();
        steps.run("first", || Ok(())).unwrap();
        let error = steps.run("second", || -> Result<()> { bail!("broken") }).unwrap_err();
        assert_eq!(format!("{error:#}"), "step `second`: broken");
        assert!(steps.summary().starts_with("1 step in "));
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(shown(Duration::from_millis(440)), "0.4 s");
        assert_eq!(shown(Duration::from_secs(75)), "75.0 s");
        assert_eq!(shown(Duration::from_secs(200)), "3 min 20 s");
    }
}
