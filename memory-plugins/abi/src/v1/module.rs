//! What a plugin's library exports.
#![expect(non_camel_case_types, reason = "abi_stable names references to prefix types so")]

use abi_stable::{
    StableAbi,
    library::RootModule,
    sabi_types::VersionStrings,
    std_types::{RResult, RStr},
};

use super::{Failure, ScorerBox, SummarizerBox};

/// What a plugin provides; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u32);

impl Kind {
    /// A summarizer.
    pub const SUMMARIZER: Self = Self(1);
    /// An importance scorer.
    pub const SCORER: Self = Self(2);
}

/// What a plugin needs and can do, one a bit; an open set, unknown bits are ignored.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Nothing out of the ordinary.
    pub const NONE: Self = Self(0);
    /// Was compiled with `panic = "unwind"`, so that its panics can be caught. The macros set it; hosts refuse a plugin
    /// without it.
    pub const UNWINDS: Self = Self(1);
    /// Asks [`ScoreHost::embed`](crate::v1::ScoreHost::embed) for embeddings.
    pub const EMBEDDINGS: Self = Self(1 << 1);
    /// Looks at `is_cancelled` while it works and returns soon after it says yes.
    pub const CANCELLABLE: Self = Self(1 << 2);
    /// May answer one job differently from time to time, as a language model does.
    pub const VARIES: Self = Self(1 << 3);

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Who a plugin is. The macros fill it in.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct Identity {
    /// The name by which the strategy is chosen: 1 to 64 of `a-z 0-9 - _ .`
    pub name: RStr<'static>,
    /// The strategy's version. Another version may give other answers to the same job.
    pub version: RStr<'static>,
    /// What it does, in a sentence.
    pub description: RStr<'static>,
    /// The JSON Schema of its configuration; empty where it takes none.
    pub configuration_schema: RStr<'static>,
    /// What it needs and can do.
    pub capabilities: Capabilities,
}

/// The root module of a plugin.
#[repr(C)]
#[derive(StableAbi, Debug)]
#[sabi(kind(Prefix(prefix_ref = PluginModule_Ref, prefix_fields = PluginModule_Prefix)))]
#[sabi(missing_field(panic))]
pub struct PluginModule {
    /// What it provides.
    pub kind: Kind,
    /// Who it is.
    pub identity: Identity,
    /// Makes the summarizer from its configuration, JSON text or empty. [`Kind::SCORER`] answers with a failure.
    pub new_summarizer: extern "C" fn(RStr<'_>) -> RResult<SummarizerBox, Failure>,
    /// Makes the scorer from its configuration, JSON text or empty. [`Kind::SUMMARIZER`] answers with a failure.
    #[sabi(last_prefix_field)]
    pub new_scorer: extern "C" fn(RStr<'_>) -> RResult<ScorerBox, Failure>,
}

impl RootModule for PluginModule_Ref {
    abi_stable::declare_root_module_statics! {PluginModule_Ref}

    const BASE_NAME: &'static str = "memory_plugin";
    const NAME: &'static str = "memory plugin";
    const VERSION_STRINGS: VersionStrings = VersionStrings::new("1.0.0");
}
