//! Benchmarks and quality evaluation, for the binaries and criterion benches of this package.
//!
//! Three binaries use it:
//!
//! - `figures` measures one [`Group`] of figures with [`Group::report`], which takes its [`Inputs`] and returns a
//!   [`Report`]. Each [`Figure`] has a bar in `figures.toml` and the [`Measure`] of each peer, such as another store.
//!   `cargo xtask bench` runs it. Some figures need a process of their own: [`serve_appends`] for an [`Appender`],
//!   [`print_resident`], [`print_largest`], [`print_cold_search`], [`measure_by_words`], [`serve_searches`] and [`print_load`].
//! - `eval` imports evaluation data into the [`EvalParts`] of a memory and asks its questions. [`evaluate`] writes a run
//!   file as [`EvalOptions`] state, with messages packed into a [`Budget`]. [`fit()`] fits the ranker's weights to a
//!   [`Fit`], which [`weights_file`] prints. [`summaries()`] measures what summaries keep. [`question_mode()`] measures
//!   single contexts and returns a [`QuestionMode`], [`running()`] those of an agent turn by turn and returns a [`Running`]. [`score_needles`] finds planted facts again and returns a
//!   [`NeedleScore`]. [`write_contexts`] writes blinded contexts for readers, as [`ContextsOptions`] state, and
//!   [`judge()`] makes a table of the grades.
//! - `compression` prints the results of [`sweep()`]: a [`Sweep`] for each compressed segment.
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

mod corpus;
mod embed;
mod eval;
mod figure;
mod group;
mod log;
mod needles;
mod plugins;
mod process_memory;
mod retrieval;
mod rounds;
mod soak;
mod stats;
mod subprocess;
mod sweep;
mod talks;
mod tools;
mod vectors;
mod views;

pub use corpus::Corpus;
pub use embed::{print_largest, print_resident};
pub use eval::{
    Asked, Budget, ContextsOptions, EvalOptions, EvalParts, Fit, HeldOut, QuestionMode, Running, evaluate, fit, judge,
    question_mode, running, summaries, weights_file, write_contexts,
};
pub use figure::{Figure, Measure, Report};
pub use group::{Group, Inputs};
pub use log::{Appender, serve_appends};
pub use needles::{NeedleScore, SIZES as NEEDLE_SIZES, score as score_needles, summarizers};
pub use plugins::print_load;
pub use retrieval::{measure_by_words, print_cold_search, serve_searches};
pub use sweep::{Sweep, sweep};
