//! What a host learns about its plugins while they run.

use std::fmt;

use crate::error::CallError;

/// Something that happened to a plugin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PluginEvent {
    /// A call gave no answer that counts.
    CallFailed {
        /// The plugin.
        plugin: String,
        /// Failures in a row, this one included.
        failures: u32,
        /// Why.
        error: CallError,
    },
    /// It failed so often that it is asked no more; each call is an error at once.
    Quarantined {
        /// The plugin.
        plugin: String,
        /// Failures in a row.
        failures: u32,
        /// The last of them.
        error: CallError,
    },
}

/// Is told what happens to plugins, on the thread that asked the plugin; must return soon.
pub trait PluginObserver: fmt::Debug + Send + Sync {
    /// Something happened.
    fn notice(&self, event: &PluginEvent);
}

/// How a plugin has fared since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginStatus {
    /// Calls that ended, well or not.
    pub calls: u64,
    /// Calls that gave no answer that counts.
    pub failures: u64,
    /// Calls that were given up at their deadline.
    pub late: u64,
    /// Whether it is asked no more.
    pub quarantined: bool,
}
