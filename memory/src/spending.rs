//! Requests to chat models and their tokens by day, kept in the store's cache, for all processes together.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use memory_core::port::{ChatUsage, Clock as _};
use memory_files::{Links, create_dir_all, open_with, options};
use memory_hooks::SystemClock;

/// Most bytes of a day's file that are read: some hundred thousand requests.
const LARGEST: u64 = 32 << 20;
/// Days that are kept.
const KEPT: usize = 400;

/// Requests to chat models on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct DaySpending {
    /// The day in UTC, as in `2026-11-29`.
    pub day: String,
    /// Number of requests, failed ones included.
    pub requests: u64,
    /// Tokens of the requests, cached ones included, as the providers count them.
    pub prompt_tokens: u64,
    /// Tokens of the requests that were read from the providers' caches.
    pub cached_tokens: u64,
    /// Tokens of the replies.
    pub reply_tokens: u64,
    /// Requests by model.
    pub models: BTreeMap<String, u64>,
}

impl DaySpending {
    /// Tokens of requests and replies together.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.reply_tokens)
    }
}

/// The record of a store: a file for each day, with a line for each request that was begun, and one for its tokens.
/// Holds no content.
#[derive(Clone, Debug)]
pub(crate) struct Spending {
    store: PathBuf,
    directory: PathBuf,
}

#[cfg_attr(not(feature = "chat"), expect(dead_code, reason = "without chat models nothing is spent"))]
impl Spending {
    pub(crate) fn of(store: &Path) -> Self {
        Self { store: store.to_owned(), directory: store.join("cache").join("spending") }
    }

    /// The present day in UTC.
    pub(crate) fn today() -> String {
        SystemClock.now().to_string().chars().take(10).collect()
    }

    /// The sums of a day.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub(crate) fn day(&self, day: &str) -> io::Result<DaySpending> {
        let mut sum = DaySpending { day: day.to_owned(), ..DaySpending::default() };
        let text = match memory_files::read_to_string(&self.directory.join(day), Links::Refuse, LARGEST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(sum),
            Err(error) => return Err(error),
        };
        for line in text.lines() {
            let mut words = line.splitn(5, ' ');
            let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
            let [requests, prompt, cached, reply] = [number(), number(), number(), number()];
            sum.requests = sum.requests.saturating_add(requests);
            sum.prompt_tokens = sum.prompt_tokens.saturating_add(prompt);
            sum.cached_tokens = sum.cached_tokens.saturating_add(cached);
            sum.reply_tokens = sum.reply_tokens.saturating_add(reply);
            if requests > 0 {
                *sum.models.entry(words.next().unwrap_or_default().to_owned()).or_default() += requests;
            }
        }
        Ok(sum)
    }

    /// Adds a request that begins.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin(&self, day: &str, model: &str) -> io::Result<()> {
        self.add(day, &format!("1 0 0 0 {}\n", one_line(model)))
    }

    /// Adds the tokens of a request.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn end(&self, day: &str, model: &str, usage: ChatUsage) -> io::Result<()> {
        let count = |tokens: Option<u32>| tokens.unwrap_or_default();
        let (prompt, cached) = (count(usage.prompt_tokens), count(usage.cached_tokens));
        self.add(day, &format!("0 {prompt} {cached} {} {}\n", count(usage.reply_tokens), one_line(model)))
    }

    /// The days with requests, oldest first.
    pub(crate) fn days(&self) -> Vec<DaySpending> {
        self.names().into_iter().filter_map(|day| self.day(&day).ok()).collect()
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| name.len() == 10 && name.starts_with('2')).collect();
        names.sort_unstable();
        names
    }

    fn add(&self, day: &str, line: &str) -> io::Result<()> {
        // A test of a model must not make half of a store.
        if !self.store.is_dir() {
            return Ok(());
        }
        create_dir_all(&self.directory)?;
        let path = self.directory.join(day);
        if !path.exists() {
            let names = self.names();
            let old = names.iter().take(names.len().saturating_sub(KEPT));
            old.for_each(|name| drop(fs::remove_file(self.directory.join(name))));
        }
        // A line is one write at the end, so that lines of several processes do not mix.
        open_with(options().create(true).append(true), &path, Links::Refuse)?.write_all(line.as_bytes())
    }
}

fn one_line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_summed_by_day() {
        let directory = tempfile::tempdir().unwrap();
        let spending = Spending::of(directory.path());
        assert_eq!((spending.days(), spending.day("2026-11-29").unwrap().requests), (Vec::new(), 0));
        let usage = |prompt, cached, reply| {
            ChatUsage::default().prompt_tokens(Some(prompt)).cached_tokens(Some(cached)).reply_tokens(Some(reply))
        };
        for (day, model) in [("2026-11-28", "a"), ("2026-11-29", "a"), ("2026-11-29", "b\nc"), ("2026-11-29", "a")] {
            spending.begin(day, model).unwrap();
            spending.end(day, model, usage(100, 60, 7)).unwrap();
        }
        // A request whose process was killed is counted.
        spending.begin("2026-11-29", "a").unwrap();
        let today = spending.day("2026-11-29").unwrap();
        assert_eq!((today.requests, today.tokens(), today.cached_tokens), (4, 321, 180));
        assert_eq!(today.models, BTreeMap::from([("a".to_owned(), 3), ("b c".to_owned(), 1)]));
        assert_eq!(spending.days().len(), 2);
        assert_eq!(Spending::today().len(), 10);
    }

    #[test]
    fn only_so_many_days_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let spending = Spending::of(directory.path());
        for day in 0..KEPT + 5 {
            spending.begin(&format!("2{:03}-01-{:02}", day / 28, day % 28 + 1), "a").unwrap();
        }
        assert_eq!(spending.names().len(), KEPT + 1);
    }
}
