//! Benchmarks and quality evaluation, for the binaries and criterion benches of this package.
//!
//! Two binaries use it, which `cargo xtask bench` and `cargo xtask eval` run:
//!
//! - `figures` measures one [`Group`] of figures with [`Group::report`], which takes its [`Inputs`] and returns a
//!   [`Report`]. Each [`Figure`] has a bar in `figures.toml` and the [`Measure`] of each peer, such as another store.
//!   A [`Task`] is work that a group measures in a process of its own; an [`Appender`] names the store of such a task.
//! - `eval` imports evaluation data into the [`EvalParts`] of a memory and asks its questions. [`evaluate`] writes a
//!   run file as [`EvalOptions`] state, with messages packed into a [`Budget`]. [`fit()`] fits the ranker's weights to
//!   a [`Fit`], which [`weights_file`] prints. [`question_mode()`] measures single contexts and returns a
//!   [`QuestionMode`], [`running()`] those of an agent turn by turn and returns a [`Running`]. [`write_contexts`]
//!   writes blinded contexts for readers, as [`ContextsOptions`] state, and [`judge()`] makes a table of the grades.
//!
//! [`Corpus`] generates the texts of the benches: the same texts from the same seed, on every machine.
//!
//! ```
//! use memory_benches::Corpus;
//!
//! assert_eq!(Corpus::new(1).text(200), Corpus::new(1).text(200));
//! ```
//!
//! # How figures are measured
//!
//! All contenders are measured by turns in several rounds, after one round that does not count. A figure is the median
//! of the rounds, with half the interquartile range. Without evaluation data, figures that need it are skipped with a
//! message on standard error, and vectors are generated.
//!
//! # Features
//!
//! - `usearch`: compares the group `vectors` with usearch, which compiles minutes of C and C++.
//!
//! # Non-goals
//!
//! No package depends on this one. It supports binaries only, so it reports errors through `anyhow`.

mod agent;
mod corpus;
mod embed;
mod eval;
mod figure;
mod languages;
mod log;
mod plugins;
mod process;
mod retrieval;
mod talks;
mod tools;
mod vectors;
mod views;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;

pub use corpus::Corpus;
pub use eval::{
    Asked, Budget, Calibration, ContextsOptions, EvalOptions, EvalParts, Fit, HeldOut, QuestionMode, Running, evaluate,
    fit, judge, question_mode, running, weights_file, write_contexts,
};
pub use figure::{Figure, Inputs, Measure, Report};
pub use log::Appender;

/// A table of `figures.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Appending and reading records.
    Log,
    /// Finding the nearest vectors.
    Vectors,
    /// Embedding texts.
    Embed,
    /// Searching, and packing the results.
    Retrieval,
    /// Calling strategies behind the plugin interface.
    Plugins,
    /// Views and compaction.
    Views,
    /// Serving tools, answering hooks, importing.
    Tools,
    /// Turns of an agent.
    Agent,
    /// Encrypting, and erasing.
    Privacy,
    /// Recall in twelve languages.
    Languages,
}

/// Work that a group measures in a process of its own: this binary, started again.
#[derive(Debug, clap::Subcommand)]
pub enum Task {
    /// Appends to a store once for every line that is read; for the group `log`.
    Append {
        /// The store.
        store: log::Appender,
        /// Bytes of a record's text.
        bytes: usize,
        /// Where to create it.
        directory: PathBuf,
    },
    /// Asks all conversations one question and prints how long that took; for the group `retrieval`.
    ColdSearch {
        /// The store.
        store: PathBuf,
        /// The question.
        question: String,
    },
    /// Searches all conversations for each line that is read; for the group `retrieval`.
    ServeSearches {
        /// The store.
        store: PathBuf,
        /// By words, without a model.
        #[arg(long)]
        by_words: bool,
    },
    /// Prints what a message of 5 MB takes in memory; for the group `embed`.
    LargestMessage {
        /// Where to make its store.
        store: PathBuf,
    },
    /// Loads one plugin and prints how long it took; for the group `plugins`.
    LoadPlugin {
        /// The library.
        library: PathBuf,
    },
}

impl Task {
    /// Does the work.
    ///
    /// # Errors
    /// When it fails, or the system reports no memory of a process.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Append { store, bytes, directory } => log::serve_appends(store, bytes, &directory),
            Self::ColdSearch { store, question } => retrieval::print_cold_search(&store, &question),
            Self::ServeSearches { store, by_words } => retrieval::serve_searches(&store, by_words),
            Self::LargestMessage { store } => embed::print_largest(&store),
            Self::LoadPlugin { library } => plugins::print_load(&library),
        }
    }
}

impl Group {
    /// The name of its table.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Measures the group, with its files under `scratch`; takes minutes.
    ///
    /// # Errors
    /// When a measurement fails.
    pub fn report(self, scratch: &Path, inputs: &Inputs) -> Result<Report> {
        let eval = inputs.eval.as_deref();
        let figures = match self {
            Self::Log => log::measure(scratch)?,
            Self::Vectors => vectors::measure(scratch, eval)?,
            Self::Embed => embed::measure(scratch)?,
            Self::Retrieval => retrieval::measure(scratch, inputs)?,
            Self::Plugins => plugins::measure(eval)?,
            Self::Views => views::measure(scratch, eval)?,
            Self::Tools => tools::measure(scratch, inputs)?,
            Self::Agent => agent::measure(scratch)?,
            Self::Privacy => log::privacy::measure(scratch)?,
            Self::Languages => languages::measure(scratch)?,
        };
        Ok(Report { group: self.name(), machine: figure::machine(), figures })
    }
}
