//! Events and status of plugins at run time.

use std::fmt;

use crate::error::CallError;

/// An event of a plugin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PluginEvent {
    /// A call failed, or its answer was invalid.
    CallFailed {
        /// The plugin.
        plugin: String,
        /// Failures in a row, this one included.
        failures: u32,
        /// Why.
        error: CallError,
    },
    /// The plugin failed so often that it is not called any more. Each further call is an error at once.
    Quarantined {
        /// The plugin.
        plugin: String,
        /// Failures in a row.
        failures: u32,
        /// The last of them.
        error: CallError,
    },
}

/// Receives the events of plugins, on the thread that called the plugin. It must return soon.
pub trait PluginObserver: fmt::Debug + Send + Sync {
    /// Handles an event.
    fn notice(&self, event: &PluginEvent);
}

/// Statistics of a plugin's calls since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginStatus {
    /// Calls that ended, with or without success.
    pub calls: u64,
    /// Calls that failed, or whose answer was invalid.
    pub failures: u64,
    /// Calls that were given up at their deadline.
    pub late: u64,
    /// True if the plugin is quarantined.
    pub quarantined: bool,
}
