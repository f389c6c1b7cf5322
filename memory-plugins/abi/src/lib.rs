//! The stable ABI between a strategy plugin of an agent's memory and its host.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! A plugin is a `cdylib` that exports one strategy. Its author implements [`v1::SummarizerPlugin`] or
//! [`v1::ScorerPlugin`] in safe Rust and names the type in [`export_summarizer!`] or [`export_scorer!`]; the macro
//! wraps every entry so that a panic becomes a [`v1::Failure`] and never unwinds into the host.
//!
//! Only types of this crate cross the boundary: flat `repr(C)` structs, borrowed strings and slices in, owned ones out,
//! newtyped integers for open sets. Host and plugin may have different compiler versions and allocators. A plugin must
//! be built with `panic = "unwind"` (the default); the host refuses one built with `abort`, because its panics would
//! end the host.
//!
//! **Invariant.** Once released, [`v1`] never changes: `abi_stable` compares layouts when a plugin is loaded, so an
//! additional field or method would make a new host refuse every old plugin. Additions go into a `v2`, which hosts try
//! first.
//!
//! Non-goals: loading (see `memory-plugins`), strategies (see `memory-strategies`), isolation. A plugin runs in the
//! host's process and is trusted code.

mod export;
pub mod testing;
pub mod v1;

pub use export::is_name;

#[doc(hidden)]
pub mod __private {
    //! Support for the export macros; not part of the interface.
    pub use abi_stable::{
        library::{__call_root_module_loader, CheckTypeLayout, LibHeader, RootModuleResult},
        std_types::{RResult, RStr},
    };
}
