//! The root module that a plugin's library exports.
#![expect(non_camel_case_types, reason = "abi_stable names references to prefix types so")]

use abi_stable::{
    StableAbi,
    library::RootModule,
    sabi_types::VersionStrings,
    std_types::{RResult, RStr},
};

use super::{Failure, ScorerBox, SummarizerBox};

/// The kind of a plugin's strategy; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u32);

impl Kind {
    /// A summarizer.
    pub const SUMMARIZER: Self = Self(1);
    /// An importance scorer.
    pub const SCORER: Self = Self(2);
}

/// Capabilities and requirements of a plugin, one per bit; an open set. Unknown bits are ignored.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// No capabilities.
    pub const NONE: Self = Self(0);
    /// Compiled with `panic = "unwind"`, so that its panics can be caught. The macros set this bit; hosts refuse a
    /// plugin without it.
    pub const UNWINDS: Self = Self(1);
    /// Requests embeddings with [`ScoreHost::embed`](crate::v1::ScoreHost::embed).
    pub const EMBEDDINGS: Self = Self(1 << 1);
    /// Checks `is_cancelled` during work, and returns soon after it becomes true.
    pub const CANCELLABLE: Self = Self(1 << 2);
    /// May give different answers to the same job, as a language model does.
    pub const VARIES: Self = Self(1 << 3);

    /// The union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The identity of a plugin, filled in by the macros.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct Identity {
    /// Name by which the strategy is chosen: 1 to 64 of `a-z 0-9 - _ .`
    pub name: RStr<'static>,
    /// Version of the strategy. Other versions may answer the same job differently.
    pub version: RStr<'static>,
    /// Description in one sentence.
    pub description: RStr<'static>,
    /// JSON Schema of the configuration; empty if there is none.
    pub configuration_schema: RStr<'static>,
    /// Capabilities and requirements.
    pub capabilities: Capabilities,
}

/// The root module of a plugin.
#[repr(C)]
#[derive(StableAbi, Debug)]
#[sabi(kind(Prefix(prefix_ref = PluginModule_Ref, prefix_fields = PluginModule_Prefix)))]
#[sabi(missing_field(panic))]
pub struct PluginModule {
    /// Kind of the strategy.
    pub kind: Kind,
    /// Identity of the plugin.
    pub identity: Identity,
    /// Creates the summarizer from its configuration: JSON text, or empty. Fails for [`Kind::SCORER`].
    pub new_summarizer: extern "C" fn(RStr<'_>) -> RResult<SummarizerBox, Failure>,
    /// Creates the scorer from its configuration: JSON text, or empty. Fails for [`Kind::SUMMARIZER`].
    #[sabi(last_prefix_field)]
    pub new_scorer: extern "C" fn(RStr<'_>) -> RResult<ScorerBox, Failure>,
}

impl RootModule for PluginModule_Ref {
    abi_stable::declare_root_module_statics! {PluginModule_Ref}

    const BASE_NAME: &'static str = "memory_plugin";
    const NAME: &'static str = "memory plugin";
    const VERSION_STRINGS: VersionStrings = VersionStrings::new("1.0.0");
}
