//! A sign of life while a model or a tool is waited for: a line of a terminal, which goes without a trace.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use memory_core::text::one_line;

use crate::output::shorten;

/// Time before anything is shown: a fast answer shows none.
const BEFORE: Duration = Duration::from_millis(300);
/// Time after which the line says how long it has been there.
const LONG: Duration = Duration::from_secs(3);
const BETWEEN_TICKS: Duration = Duration::from_millis(120);
/// Most characters of a name.
const NAME: usize = 30;

/// A line that says what is waited for, until it is dropped.
#[derive(Debug)]
pub(super) struct Waiting {
    bar: ProgressBar,
    /// Time of the next attempt, if the provider took no request.
    next: Arc<Mutex<Option<Instant>>>,
}

impl Waiting {
    /// Draws a line on the terminal of standard output.
    pub(super) fn begin(name: &str) -> Self {
        let next: Arc<Mutex<Option<Instant>>> = Arc::default();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        if let Ok(style) = ProgressStyle::with_template("{say}") {
            let (next, name) = (Arc::clone(&next), shorten(&one_line(name), NAME));
            bar.set_style(style.with_key("say", move |state: &ProgressState, to: &mut dyn fmt::Write| {
                let next = *next.lock().unwrap_or_else(PoisonError::into_inner);
                let left = next.map(|next| next.saturating_duration_since(Instant::now()));
                // Writing to a string cannot fail.
                let _ = to.write_str(&line(&name, state.elapsed(), left.filter(|left| !left.is_zero())));
            }));
        }
        bar.enable_steady_tick(BETWEEN_TICKS);
        Self { bar, next }
    }

    /// Says that the request is made again after a pause.
    pub(super) fn again_after(&self, pause: Duration) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + pause);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The line after so long, with the time that is left until the next attempt.
fn line(name: &str, elapsed: Duration, left: Option<Duration>) -> String {
    match left {
        Some(left) => format!("trying again in {} s…", left.as_millis().div_ceil(1_000)),
        None if elapsed < BEFORE => String::new(),
        None if elapsed < LONG => format!("waiting for {name}…"),
        None => format!("waiting for {name}… {} s", elapsed.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_says_how_long_and_a_pause_when_it_ends() {
        let of =
            |elapsed, left: Option<u64>| line("m", Duration::from_millis(elapsed), left.map(Duration::from_millis));
        assert_eq!(of(100, None), "");
        assert_eq!(of(2_000, None), "waiting for m…");
        assert_eq!(of(25_000, None), "waiting for m… 25 s");
        assert_eq!(of(50, Some(2_100)), "trying again in 3 s…");
    }
}
