//! Registry of summarizers and importance scorers: built-in strategies, and plugins loaded at run time from libraries
//! that implement `memory-plugin-abi`.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. [`Registry::with_builtins`] creates a registry with the built-in strategies. [`Registry::with_options`] also
//!    takes [`PluginOptions`]: deadline, threads, allowed files, configurations.
//! 2. [`Registry::load`] and [`Registry::load_dir`] load plugins. Each gives a [`PluginInfo`], or a [`LoadError`] that
//!    states what is wrong with the file.
//! 3. [`Registry::summarizer`] and [`Registry::scorer`] create a strategy by name and [`StrategyKind`] as a port of
//!    [`memory_core`], or return a [`ChooseError`]. [`Registry::list`] and [`Registry::get`] describe all strategies.
//! 4. [`Registry::status`] reports how a plugin has fared as a [`PluginStatus`]. A [`PluginObserver`] receives each
//!    [`PluginEvent`].
//!
//! [`conformance`] checks a plugin's file against the contract of its kind.
//!
//! # How plugins are run
//!
//! A plugin's file must be complete before it is opened. Calls run on threads of the host, under a deadline, and
//! answers are checked against the contract. A call that never returns cannot be ended, so it is given up and its
//! thread is replaced, up to a limit.
//!
//! A plugin that fails several times in a row is quarantined: further calls return [`CallError::Quarantined`] at once.
//! The caller (`memory-hooks`) chooses the fallback.
//!
//! # Trust
//!
//! A plugin runs in this process with all its rights. The checks guard against accidents (a truncated copy, another
//! interface, a panic), not against malice, so load only trusted code. A plugin that runs out of memory, overflows its
//! stack or exits ends the host. Libraries are never unloaded.
//!
//! # Features and non-goals
//!
//! The crate has no Cargo features. It does not isolate plugins in another process, write strategies
//! (`memory-strategies`) or define the interface (`memory-plugin-abi`). Its public API has no type of abi_stable.

mod call;
pub mod conformance;
mod convert;
mod error;
mod health;
mod library;
mod options;
mod plugin;
mod registry;
mod scorer;
mod sha256;
mod summarizer;
mod workers;

pub use error::{CallError, ChooseError, LoadError, UnknownStrategy};
pub use health::{PluginEvent, PluginObserver, PluginStatus};
pub use options::PluginOptions;
pub use registry::{Origin, PluginCapabilities, PluginInfo, Registry, StrategyKind};
pub use sha256::{InvalidSha256, Sha256};
