//! How plugins are run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use memory_core::Embedder;

use crate::{digest::Digest, events::PluginObserver};

/// How plugins are run. Begin with [`PluginOptions::default`] and change what differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginOptions {
    /// How long a call may take, waiting for a thread included; 10 s.
    pub deadline: Duration,
    /// Threads that call plugins, at least 1; 4. They start when they are needed.
    pub workers: usize,
    /// Calls that may wait for a thread; 256. More are refused at once.
    pub queue: usize,
    /// Threads that are replaced because their call never returned; 8. Beyond it calls wait.
    pub replacements: usize,
    /// Failures in a row after which a plugin is asked no more, at least 1; 3.
    pub failures: u32,
    /// The largest file that is opened, in bytes; 256 MiB.
    pub largest_file: u64,
    /// The files that may be opened, by the digests of their bytes; `None`, the default, for any. Apart from it, where a
    /// directory holds a `SHA256SUMS` its libraries must be as that says.
    pub allowed: Option<BTreeSet<Digest>>,
    /// Embeds for scorers that ask for it; none by default.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Configurations as JSON text, by the strategy's name.
    pub configurations: BTreeMap<String, String>,
    /// Is told of failed calls and of quarantine; nobody by default. The log is told in any case.
    pub observer: Option<Arc<dyn PluginObserver>>,
}

impl Default for PluginOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            workers: 4,
            queue: 256,
            replacements: 8,
            failures: 3,
            largest_file: 256 << 20,
            allowed: None,
            embedder: None,
            configurations: BTreeMap::new(),
            observer: None,
        }
    }
}
