//! Options for running plugins.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use memory_core::port::Embedder;

use crate::{health::PluginObserver, sha256::Sha256};

/// Options for running plugins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginOptions {
    /// Deadline of a call, including the wait for a thread; 10 s by default.
    pub deadline: Duration,
    /// Maximum threads that call plugins, at least 1; 4 by default. Started on demand.
    pub workers: usize,
    /// Maximum calls that wait for a thread; 256 by default. Further calls are refused at once.
    pub queue: usize,
    /// Maximum threads that are replaced because their call never returned; 8 by default. Beyond that, calls wait.
    pub replacements: usize,
    /// Failures in a row that quarantine a plugin, at least 1; 3 by default.
    pub failures: u32,
    /// Maximum bytes of a file; 256 MiB by default.
    pub largest_file: u64,
    /// SHA-256 of the allowed files; `None`, the default, allows any. Independently, the libraries of a directory with
    /// a `SHA256SUMS` must match that list.
    pub allowed: Option<BTreeSet<Sha256>>,
    /// Embedder for scorers that request embeddings; `None` by default.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Configurations as JSON text, by the strategy's name.
    pub configurations: BTreeMap<String, String>,
    /// Observer of failures and quarantines, which are also logged; `None` by default.
    pub observer: Option<Arc<dyn PluginObserver>>,
}

impl PluginOptions {
    memory_core::setters! {
        const deadline: Duration,
        const workers: usize,
        const queue: usize,
        const replacements: usize,
        const failures: u32,
        const largest_file: u64,
        some allowed: BTreeSet<Sha256>,
        some embedder: Arc<dyn Embedder>,
        configurations: BTreeMap<String, String>,
        some observer: Arc<dyn PluginObserver>,
    }
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
