//! The registry of all strategies, built in and loaded at run time from libraries that speak `memory-plugin-abi`.
//!
//! A plugin is checked before it is opened, called on threads of the host's own under a deadline, and its answers are
//! checked against the contract. One that fails again and again is quarantined: each call is an error at once, without
//! its being asked. Who answers in the place of a strategy that fails is for whoever asks it (`memory-hooks`). A call
//! that never returns cannot be ended: it is given up, and its thread replaced up to a bound.
//!
//! **Trust.** A plugin runs inside this process with all its rights. The checks guard against accidents (a truncated or
//! damaged copy, another interface, a panic), not against malice: load only what you would run. What a plugin does to
//! the whole process is not survived: when it runs out of memory, overflows its stack or exits, so does the host.
//! Libraries are never unloaded.
//!
//! Non-goals: isolation in another process, writing strategies (`memory-strategies`), the interface
//! (`memory-plugin-abi`). No type of abi_stable is public here.
//!
//! ```
//! use memory_plugins::Registry;
//!
//! let mut registry = Registry::with_builtins();
//! for loaded in registry.load_dir("plugins".as_ref()) {
//!     match loaded {
//!         Ok(plugin) => println!("loaded {} {}", plugin.name, plugin.version),
//!         Err(error) => eprintln!("{error}"),
//!     }
//! }
//! let summarizer = registry.summarizer("extractive").unwrap();
//! assert_eq!(summarizer.identity().strategy, "extractive");
//! let error = registry.summarizer("extractiv").unwrap_err().to_string();
//! assert_eq!(error, "no summarizer is called \"extractiv\"; did you mean extractive?");
//! ```

mod call;
pub mod conformance;
mod convert;
mod digest;
mod embedded;
mod error;
mod events;
mod exit;
mod health;
mod held;
mod image;
mod library;
mod moment;
mod options;
mod registry;
mod scorer;
mod summarizer;
mod workers;

pub use digest::{Digest, InvalidDigest};
pub use error::{CallError, ChooseError, LoadError, UnknownStrategy};
pub use events::{PluginEvent, PluginObserver, PluginStatus};
pub use exit::exit;
pub use options::PluginOptions;
pub use registry::{Origin, PluginCapabilities, PluginInfo, Registry, StrategyKind};
