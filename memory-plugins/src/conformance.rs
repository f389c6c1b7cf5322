//! Conformance kit: checks a plugin's file against the contract of its kind.
//!
//! The kit uses the host's view. A plugin that passes keeps the contract on these jobs, not on all. A plugin that ends
//! its process also ends the kit, so check an untrusted file in a separate process, as `memory plugins check` does.

mod jobs;
mod scorer;
mod stand_ins;
mod summarizer;

use std::{
    error::Error,
    fmt,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use memory_core::port::{ImportanceScorer, Summarizer};

use crate::{
    error::{CallError, ChooseError, LoadError},
    options::PluginOptions,
    registry::{PluginInfo, Registry, StrategyKind, configuration},
};

/// Options of a check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Deadline of each call; 5 s by default.
    pub deadline: Duration,
    /// Configuration as JSON text; empty by default.
    pub configuration: Option<String>,
}

impl CheckOptions {
    memory_core::setters! {
        const deadline: Duration,
        some into configuration: String,
    }
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(5), configuration: None }
    }
}

/// Why a plugin cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The file cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The strategy cannot be created.
    #[error(transparent)]
    Choose(#[from] ChooseError),
}

/// One check of the kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// The schema is valid and allows the configuration.
    Configuration,
    /// Ordinary jobs of every level and limit: answers are within the limit, in range, not blank.
    Contract,
    /// Texts in many scripts, emoji, combining and control characters.
    Unicode,
    /// Empty texts, and no sources.
    Empty,
    /// Megabytes in one message, and thousands of messages.
    Huge,
    /// Equal answers to equal jobs.
    Determinism,
    /// Equal answers from 32 concurrent threads.
    Concurrency,
    /// No call panicked.
    Panics,
    /// Every call keeps its deadline. A plugin that declares itself cancellable returns soon after a call is given up.
    Deadline,
}

impl Check {
    /// All checks, in the order in which they are run.
    pub const ALL: [Self; 9] = [
        Self::Configuration,
        Self::Contract,
        Self::Unicode,
        Self::Empty,
        Self::Huge,
        Self::Determinism,
        Self::Concurrency,
        Self::Panics,
        Self::Deadline,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Contract => "contract",
            Self::Unicode => "unicode",
            Self::Empty => "empty",
            Self::Huge => "huge",
            Self::Determinism => "determinism",
            Self::Concurrency => "concurrency",
            Self::Panics => "panics",
            Self::Deadline => "deadline",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Result of a check.
///
/// Exhaustive, so that no caller treats a new verdict as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plugin keeps the contract.
    Kept,
    /// The plugin breaks the contract; states how.
    Broken(String),
    /// There is nothing to check; states why.
    Skipped(&'static str),
}

/// Checks the plugin at `path`. Calls `begin` before each check and `end` with its result, so that a caller can tell
/// which check ended the process. Returns true if no check is broken.
///
/// # Errors
/// If there is nothing to check: the file cannot be loaded, or creates no strategy.
pub fn check(
    path: &Path,
    options: &CheckOptions,
    begin: &mut dyn FnMut(Check),
    end: &mut dyn FnMut(Check, &Verdict),
) -> Result<bool, CheckError> {
    let mut plugin_options = PluginOptions {
        deadline: options.deadline,
        workers: 8,
        // No quarantine, so that every check runs.
        failures: u32::MAX,
        embedder: Some(Arc::new(stand_ins::Letters)),
        ..PluginOptions::default()
    };
    begin(Check::Configuration);
    let info = Registry::with_options(plugin_options.clone()).load(path)?;
    if let Some(configuration) = &options.configuration {
        plugin_options.configurations.insert(info.name.clone(), configuration.clone());
    }
    let mut hasty = Registry::with_options(plugin_options.clone().deadline(HASTE));
    hasty.load(path)?;
    let mut registry = Registry::with_options(plugin_options);
    registry.load(path)?;
    let mut trial = Trial { hasty: &hasty, info: &info, deadline: options.deadline, panics: 0, late: 0 };
    let subject = match info.kind {
        StrategyKind::Summarizer => Subject::Summarizer(registry.summarizer(&info.name)?),
        StrategyKind::Scorer => Subject::Scorer(registry.scorer(&info.name)?),
    };
    let mut sound = true;
    for check in Check::ALL {
        if check != Check::Configuration {
            begin(check);
        }
        let verdict = match (check, &subject) {
            (Check::Configuration, _) => trial.configuration(),
            (Check::Panics, _) => trial.panics(),
            (_, Subject::Summarizer(subject)) => summarizer::run(&mut trial, check, &**subject),
            (_, Subject::Scorer(subject)) => scorer::run(&mut trial, check, &**subject),
        };
        sound &= !matches!(verdict, Verdict::Broken(_));
        end(check, &verdict);
    }
    Ok(sound)
}

enum Subject {
    Summarizer(Arc<dyn Summarizer>),
    Scorer(Arc<dyn ImportanceScorer>),
}

/// One plugin under test.
struct Trial<'a> {
    /// Registry with a deadline that large jobs exceed.
    hasty: &'a Registry,
    info: &'a PluginInfo,
    deadline: Duration,
    panics: usize,
    late: usize,
}

impl Trial<'_> {
    fn configuration(&self) -> Verdict {
        match &self.info.configuration_schema {
            // The strategy was created, so its schema, if any, allows the configuration.
            Some(schema) => configuration::Validator::new(schema).map_or_else(Verdict::Broken, |_| Verdict::Kept),
            None => Verdict::Skipped("it takes none"),
        }
    }

    fn panics(&self) -> Verdict {
        match self.panics {
            0 => Verdict::Kept,
            panics => Verdict::Broken(format!("{panics} calls panicked")),
        }
    }

    /// Counts a failure; returns its description.
    fn note(&mut self, error: &(dyn Error + 'static)) -> String {
        match error.downcast_ref() {
            Some(CallError::Panicked(_)) => self.panics += 1,
            Some(CallError::Late(_)) => self.late += 1,
            _ => {}
        }
        error.to_string()
    }

    /// Verdict on earlier calls, which must have kept the deadline, and on calls by `ask` that the hasty registry gives
    /// up.
    fn deadline(&self, ask: impl FnOnce(&Registry) -> Result<(), ChooseError>) -> Verdict {
        if self.late > 0 {
            return Verdict::Broken(format!("{} calls took longer than {} ms", self.late, self.deadline.as_millis()));
        }
        if !self.info.capabilities.cancellable {
            return Verdict::Kept;
        }
        if let Err(error) = ask(self.hasty) {
            return Verdict::Broken(error.to_string());
        }
        let started = Instant::now();
        while self.hasty.stuck_calls() > 0 {
            if started.elapsed() > SOON {
                return Verdict::Broken(format!("a call that was given up still ran {} ms later", SOON.as_millis()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Verdict::Kept
    }
}

/// Maximum time that a call of a cancellable plugin may continue after it was given up.
const SOON: Duration = Duration::from_secs(1);

/// Deadline that a large job exceeds.
const HASTE: Duration = Duration::from_millis(30);

/// Creates a strategy with the hasty registry; retries, because on a busy machine even that may exceed the deadline.
fn patiently<T>(mut make: impl FnMut() -> Result<T, ChooseError>) -> Result<T, ChooseError> {
    let mut made = make();
    for _ in 0..50 {
        if !matches!(&made, Err(ChooseError::Refused { source: CallError::Late(_) | CallError::Busy, .. })) {
            break;
        }
        made = make();
    }
    made
}

/// Number of concurrent threads.
const THREADS: usize = 32;

/// Verdict on whether `answer` returns `expected` on many concurrent threads.
fn from_many_threads<T: PartialEq + Sync>(expected: &T, answer: impl Fn() -> Result<T, String> + Sync) -> Verdict {
    let wrong = thread::scope(|scope| {
        let ask = || match answer() {
            Ok(answer) if answer == *expected => None,
            Ok(_) => Some("an answer differs from that of a single thread".to_owned()),
            Err(error) => Some(error),
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().find_map(|thread| thread.join().unwrap_or(Some("a thread panicked".to_owned())))
    });
    wrong.map_or(Verdict::Kept, Verdict::Broken)
}
