//! Durations of questions.

use std::fmt;

use memory_core::SearchStep;

/// Durations of one kind of call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    millis: Vec<f64>,
}

impl Latencies {
    /// Adds a call of so many milliseconds.
    pub(crate) fn add_millis(&mut self, millis: f64) {
        self.millis.push(millis);
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.millis.clone();
        sorted.sort_by(f64::total_cmp);
        crate::stats::quantile(&sorted, share)
    }
}

impl fmt::Display for Latencies {
    /// Median and 95th percentile, as in `3.1 ms, 8.4 ms`; a dash without calls.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.millis.is_empty() {
            return f.write_str("–");
        }
        let [p50, p95] = [0.5, 0.95].map(|share| self.quantile(share));
        write!(f, "{p50:.1} ms, {p95:.1} ms")
    }
}

/// Durations of the steps of each kind of call, and the numbers of candidates.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    by_name: Vec<((&'static str, &'static str), Latencies, u64)>,
}

impl Steps {
    /// Adds a call.
    pub(crate) fn add(&mut self, call: &'static str, steps: &[SearchStep]) {
        for step in steps {
            let name = (call, step.name);
            let at = self.by_name.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                self.by_name.push((name, Latencies::default(), 0));
                self.by_name.len() - 1
            });
            if let Some((_, latencies, candidates)) = self.by_name.get_mut(at) {
                latencies.add_millis(step.took.as_secs_f64() * 1_000.0);
                *candidates += step.candidates as u64;
            }
        }
    }
}

impl Steps {
    /// The medians of one kind of call in one line, as in `words 0.8 ms, embed 4.1 ms`.
    pub(crate) fn line(&self, call: &str) -> String {
        let of_call = self.by_name.iter().filter(|((of, _), ..)| *of == call);
        let steps = of_call.map(|((_, step), latencies, _)| format!("{step} {:.1} ms", latencies.quantile(0.5)));
        steps.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Steps {
    /// A Markdown table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| call | step | p50, p95 | candidates, mean |\n|---|---|---|---|")?;
        for ((call, step), latencies, candidates) in &self.by_name {
            write!(f, "\n| {call} | {step} | {latencies} | {} |", candidates / latencies.millis.len().max(1) as u64)?;
        }
        Ok(())
    }
}
