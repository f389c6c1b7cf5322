//! The location and the packages of the workspace.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::invocation::Invocation;

/// The workspace of this xtask, as `cargo metadata` reports it.
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    /// Finds the workspace at run time: by the manifest that `cargo run` names, otherwise from the current directory.
    pub(crate) fn locate() -> Result<Self> {
        let mut command = MetadataCommand::new();
        command.no_deps();
        if let Some(manifest_dir) = env::var_os("CARGO_MANIFEST_DIR") {
            command.current_dir(PathBuf::from(manifest_dir));
        }
        let metadata = command.exec().context("reading `cargo metadata`")?;
        Ok(Self { metadata })
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// The packages that other projects may take: those that are published.
    pub(crate) fn libraries(&self) -> Vec<&Package> {
        self.metadata.workspace_packages().into_iter().filter(|package| package.publish.is_none()).collect()
    }

    /// A path in `shared/`, a folder next to the checkout that may be missing.
    pub(crate) fn shared(&self, relative: &str) -> PathBuf {
        let beside = self.root().parent().unwrap_or_else(|| self.root());
        beside.join("shared").join(relative)
    }

    /// The directory of cargo's build outputs.
    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// Builds the binaries and examples with the features of the tests' build, so that nothing is compiled twice.
    pub(crate) fn build(&self, step: &'static str) -> Result<()> {
        Invocation::cargo(self, step)
            .args(["build", "--locked", "--workspace", "--exclude", "xtask", "--bins", "--examples"])
            .run()
    }

    /// Path of the `memory` binary that cargo builds in a profile, `debug` or `release`.
    pub(crate) fn memory_binary(&self, profile: &str) -> PathBuf {
        let name = format!("memory{}", env::consts::EXE_SUFFIX);
        self.target().join(profile).join(name)
    }
}
