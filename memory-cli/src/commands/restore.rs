//! `memory restore`: makes a store from a backup.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use memory_core::port::Verification;
use memory_store::{LogStore, RestoreReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::verify::last_line;
use crate::{Access, failure::Damage, globals::Globals, open, output::grouped};

/// Makes a store from a backup.
///
/// Checks every file of the backup first, and then verifies the new store: an encrypted one only with its key.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The directory with the backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The store to make, in a directory that is empty or does not exist yet [default: that of --store]
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
}

/// A store that was made from a backup, and verified unless it is encrypted and no key is named.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Restored<'a> {
    #[serde(flatten)]
    report: &'a RestoreReport,
    #[serde(flatten)]
    verification: Option<&'a Verification>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let target = args.target.clone().map_or_else(|| globals.store(), Ok)?;
    let bar = output.bar("checking");
    let report = memory_store::restore(&args.backup, &target, &bar)?;
    bar.finish();
    let config = globals.config_at(target, Access::Read).without_model();
    let locked = config.key.is_none() && LogStore::is_encrypted_at(&config.store);
    let verification = match locked {
        true => None,
        false => {
            let verified = async { anyhow::Ok(open(&config)?.store.verify(None).await?) };
            let unverified = |error: anyhow::Error| {
                error.context(format!("{} holds the whole store of the backup, not verified", config.store.display()))
            };
            Some(verified.await.map_err(unverified)?)
        }
    };
    if output.json {
        output.value(&Restored { report: &report, verification: verification.as_ref() })?;
    } else {
        let (files, bytes) = (grouped(report.files), grouped(report.bytes));
        output.line(&format!("{files} files, {bytes} bytes, as they were at {}", report.taken))?;
        let unverified = || "encrypted, and no key was given: memory verify checks its records with the key".to_owned();
        output.line(&verification.as_ref().map_or_else(unverified, last_line))?;
    }
    if verification.is_none_or(|verification| verification.is_whole()) {
        return Ok(());
    }
    // The checksums match, so the backup was made of a damaged store.
    Err(Damage("the store was damaged already when it was backed up: memory doctor reports what is whole".to_owned())
        .into())
}
