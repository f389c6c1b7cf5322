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
    /// The plugin is no longer called after repeated failures. Each further call returns an error at once.
    Quarantined {
        /// The plugin.
        plugin: String,
        /// Failures in a row.
        failures: u32,
        /// The last failure.
        error: CallError,
    },
}

/// Receives events of plugins, on the thread that called the plugin. Must return soon.
pub trait PluginObserver: fmt::Debug + Send + Sync {
    /// Handles an event.
    fn notice(&self, event: &PluginEvent);
}

/// Statistics of calls since the plugin was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginStatus {
    /// Finished calls, successful or not.
    pub calls: u64,
    /// Calls that failed or returned an invalid answer.
    pub failures: u64,
    /// Calls that were given up at their deadline.
    pub late: u64,
    /// True if the plugin is quarantined.
    pub quarantined: bool,
}
