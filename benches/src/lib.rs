//! Benchmarks and quality evaluation, for the binaries and criterion benches of this package.
//!
//! [`Group::report`] measures the figures that have bars in `figures.toml`, beside the stores one might use instead;
//! [`evaluate`] runs retrieval over evaluation data. [`Corpus`] makes up the texts that benches are about.
//!
//! Non-goals: being depended on. As support of binaries alone it reports errors through `anyhow`.
//!
//! ```
//! use memory_benches::Corpus;
//!
//! assert_eq!(Corpus::new(1).text(200), Corpus::new(1).text(200));
//! ```

mod corpus;
mod embed;
mod eval;
mod figure;
mod group;
mod log;
mod needles;
mod plugins;
mod retrieval;
mod rounds;
mod stats;
mod subprocess;
mod sweep;
mod vectors;
mod views;

pub use corpus::Corpus;
pub use embed::print_resident;
pub use eval::{
    Budget, ContextsOptions, EvalOptions, EvalParts, Fit, QuestionMode, evaluate, fit, judge, question_mode, summaries,
    weights_file, write_contexts,
};
pub use figure::{Figure, Measure, Report};
pub use group::{Group, Inputs};
pub use log::{Appender, serve_appends};
pub use needles::{NeedleScore, SIZES as NEEDLE_SIZES, score as score_needles, summarizers};
pub use plugins::print_load;
pub use retrieval::print_cold_search;
pub use sweep::{Sweep, sweep};
