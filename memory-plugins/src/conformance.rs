//! Conformance kit: checks a plugin's file against the contract of its kind.
//!
//! The kit uses the host's view. A plugin that passes keeps the contract on these jobs, not on all. A plugin that ends
//! its process also ends the kit, so check an untrusted file in a separate process, as `memory plugins check` does.

mod scorer;
mod summarizer;

use std::{
    error::Error,
    fmt,
    path::Path,
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use memory_core::{
    ModelId,
    port::{BoxError, BoxFuture, EmbedError, Embedder, ImportanceScorer, Summarizer},
};
use memory_plugin_abi::testing;

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
    /// The check does not apply; states why.
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
        embedder: Some(Arc::new(Letters)),
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
    match info.kind {
        StrategyKind::Summarizer => trial.run_all::<Arc<dyn Summarizer>>(&registry, begin, end),
        StrategyKind::Scorer => trial.run_all::<Arc<dyn ImportanceScorer>>(&registry, begin, end),
    }
}

/// A strategy under test.
trait Subject: Sync + Sized {
    type Job: Sync;
    type Answer: PartialEq + Send + Sync;

    /// Name of a job in messages.
    const JOB: &str;

    fn create(registry: &Registry, name: &str) -> Result<Self, ChooseError>;

    /// Jobs of a check. Checks of repeated answers use only the first.
    fn jobs(check: Check) -> Vec<Self::Job>;

    /// Answer to a job; the adapter has validated it.
    fn ask(&self, job: &Self::Job) -> Result<Self::Answer, BoxError>;

    fn describe(job: &Self::Job) -> String;
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
    /// Runs all checks; returns true if no check is broken.
    fn run_all<S: Subject>(
        &mut self,
        registry: &Registry,
        begin: &mut dyn FnMut(Check),
        end: &mut dyn FnMut(Check, &Verdict),
    ) -> Result<bool, CheckError> {
        let subject = S::create(registry, &self.info.name)?;
        let mut sound = true;
        for check in Check::ALL {
            if check != Check::Configuration {
                begin(check);
            }
            let verdict = self.run(check, &subject);
            sound &= !matches!(verdict, Verdict::Broken(_));
            end(check, &verdict);
        }
        Ok(sound)
    }

    fn run<S: Subject>(&mut self, check: Check, subject: &S) -> Verdict {
        let jobs = S::jobs(check);
        match (check, jobs.first()) {
            (Check::Configuration, _) => self.configuration(),
            (Check::Panics, _) => self.panics(),
            (Check::Determinism, _) if self.info.capabilities.varies => {
                Verdict::Skipped("it says that its answers vary")
            }
            (Check::Determinism, Some(job)) => self.determinism(subject, job),
            (Check::Concurrency, Some(job)) => self.concurrency(subject, job),
            (Check::Deadline, Some(job)) => self.deadline::<S>(job),
            _ => self.contract(subject, &jobs),
        }
    }

    /// The first fault among the answers.
    fn contract<S: Subject>(&mut self, subject: &S, jobs: &[S::Job]) -> Verdict {
        let mut broken = None;
        for job in jobs {
            if let Err(error) = subject.ask(job) {
                let said = self.note(&*error);
                broken.get_or_insert(format!("{}: {said}", S::describe(job)));
            }
        }
        broken.map_or(Verdict::Kept, Verdict::Broken)
    }

    fn determinism<S: Subject>(&mut self, subject: &S, job: &S::Job) -> Verdict {
        let answers: Result<Vec<_>, _> = (0..3).map(|_| subject.ask(job)).collect();
        match answers {
            Err(error) => Verdict::Broken(self.note(&*error)),
            Ok(answers) if answers.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) => Verdict::Kept,
            Ok(_) => Verdict::Broken(format!("two answers to the same {} differ", S::JOB)),
        }
    }

    /// Checks that many concurrent threads get the answer of a single one, or any, if answers vary.
    fn concurrency<S: Subject>(&mut self, subject: &S, job: &S::Job) -> Verdict {
        let expected = match subject.ask(job) {
            Err(error) => return Verdict::Broken(self.note(&*error)),
            Ok(answer) => Some(answer).filter(|_| !self.info.capabilities.varies),
        };
        let ask = || match subject.ask(job) {
            Ok(answer) if expected.as_ref().is_none_or(|expected| answer == *expected) => None,
            Ok(_) => Some("an answer differs from that of a single thread".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let wrong = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().find_map(|thread| thread.join().unwrap_or(Some("a thread panicked".to_owned())))
        });
        wrong.map_or(Verdict::Kept, Verdict::Broken)
    }

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

    /// Checks that earlier calls kept the deadline, and that a call which the hasty registry gives up ends soon.
    fn deadline<S: Subject>(&self, job: &S::Job) -> Verdict {
        if self.late > 0 {
            return Verdict::Broken(format!("{} calls took longer than {} ms", self.late, self.deadline.as_millis()));
        }
        if !self.info.capabilities.cancellable {
            return Verdict::Kept;
        }
        // On a busy machine even creating the strategy may exceed the deadline.
        let mut subject = S::create(self.hasty, &self.info.name);
        for _ in 0..50 {
            if !matches!(&subject, Err(ChooseError::Refused { source: CallError::Late(_) | CallError::Busy, .. })) {
                break;
            }
            subject = S::create(self.hasty, &self.info.name);
        }
        match subject {
            Err(error) => return Verdict::Broken(error.to_string()),
            // Only the deadline matters here, not the outcome.
            Ok(subject) => drop(subject.ask(job)),
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

/// Number of concurrent threads.
const THREADS: usize = 32;

/// A typical conversation: a question, figures, a decision, code, an error, small talk.
const TALK: &[&str] = &[
    "Could you look at why the nightly build fails since Tuesday?",
    "It fails in step 7 of 12: `cargo test` ends with error E0599 after 14 minutes, because version 2.3.1 dropped the \
     method. I can pin version 2.3.0 or change 4 call sites.",
    "Thanks! We decided to change the call sites, and Priya will review it before 12 March.",
    "fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n",
    "ok",
    "Never deploy on Fridays. My preference is Monday morning, at 09:30, after the stand-up; the budget is 1,250 euros.",
];

/// Texts in many scripts, with joined, bidirectional, doubled, invisible and control characters.
const UNICODE: &[&str] = &[
    "我们决定在三月十二日发布第二版。价格是一千二百元。",
    "กำหนดส่งงานคือวันศุกร์ที่สิบสอง",
    "نحن قررنا أن ننشر النسخة الثانية في الثاني عشر من مارس.",
    "Решили выпустить версию 2.4 двенадцатого марта; цена — 1 200 ₽.",
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽 e\u{301}e\u{301}e\u{301} Z\u{351}\u{36b}a\u{343}\u{36a}lgo",
    "\u{202e}txet detrever\u{202c} \u{200b}\u{feff} \0 \u{7}\u{1b}[31m \u{fffd} \u{10ffff}",
    "İstanbul ǆ ß ﬁ ½ Ⅷ",
    "\u{2028}\u{2029}\r\n\u{85}\u{a0}",
];

/// Megabytes of text: of words, of a single word, of one line in another script.
fn huge() -> Vec<String> {
    vec![
        "The price of part 17 rose to 250 euros, so we decided to wait. ".repeat(32 << 10),
        "x".repeat(2 << 20),
        "山".repeat(1 << 20),
    ]
}

/// Thousands of short messages.
fn many() -> Vec<&'static str> {
    TALK.iter().copied().cycle().take(5_000).collect()
}

/// Embeds a text by its letters.
#[derive(Debug)]
struct Letters;

impl Embedder for Letters {
    fn model(&self) -> &ModelId {
        static MODEL: LazyLock<ModelId> = LazyLock::new(|| ModelId::new("letters"));
        &MODEL
    }

    fn dimensions(&self) -> usize {
        testing::DIMENSIONS
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vec![testing::embed(text)]).collect()) })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move { Ok(testing::embed(text)) })
    }
}
