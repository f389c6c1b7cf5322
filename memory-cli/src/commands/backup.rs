//! `memory backup`: copies the store, also while it is written to.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use memory::erasing::{self, EraseError, Receipt};
use memory_store::{BackupCheck, check_backup, is_backup_encrypted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::{Damage, NotFound},
    globals::Globals,
    news, open,
    output::grouped,
};

/// Copies the store, also while it is written to.
///
/// Copies only files that the directory does not hold yet. The earlier backup stays usable until the new one is
/// complete.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The directory of the backup; created if it is missing
    #[arg(value_name = "DIR")]
    backup: PathBuf,
    /// Back nothing up: read the backup again and compare every file with its checksum
    #[arg(long, conflicts_with = "lost")]
    verify: bool,
    /// Back nothing up: the backup is lost, so that erasures that wait for it are completed without it; their receipts
    /// say so
    #[arg(long)]
    lost: bool,
}

/// Erasures that were completed without a backup.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Lost<'a> {
    /// Directory of the backup.
    backup: String,
    /// Their receipts.
    receipts: &'a [Receipt],
}

/// A backup that was read again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Checked<'a> {
    /// Directory of the backup.
    backup: String,
    #[serde(flatten)]
    check: &'a BackupCheck,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    if args.verify {
        return verify(globals, &args.backup);
    }
    if args.lost {
        return lost(&args.backup, globals).await;
    }
    let config = globals.config(Access::Read)?.without_model();
    let mut runtime = open(&config)?;
    if erasing::is_pending(&runtime, &config).await? {
        // Opening for writing completes it; a backup would keep what is to go.
        runtime = open(&globals.config(Access::Existing)?.without_model())?;
        if let Some(left) = erasing::open_erasures(&runtime, &config).await?.first() {
            return Err(Damage(format!("a backup would keep what is to go: {left}")).into());
        }
    }
    let bar = output.bar("backing up");
    let report = runtime.log.backup(&args.backup, &bar)?;
    bar.finish();
    if output.json {
        output.value(&report)?;
    } else {
        output.line(&format!(
            "{} files, {} bytes; copied {} of them, {} bytes",
            grouped(report.files),
            grouped(report.bytes),
            grouped(report.copied),
            grouped(report.copied_bytes)
        ))?;
    }
    if !output.json {
        news::print(output, &news::of_encryption(&runtime));
    }
    if report.damage.is_empty() {
        return Ok(());
    }
    let damage: Vec<_> = report.damage.iter().map(ToString::to_string).collect();
    Err(Damage(format!("backed up as it is, with its damage: {}", damage.join("; "))).into())
}

/// Completes the erasures that wait for a backup which will not come back.
async fn lost(backup: &Path, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let config = globals.config(Access::Existing)?.without_model();
    let parts = open(&config)?;
    let receipts = erasing::abandon_backup(&parts, &config, backup).await.map_err(|error| match error {
        EraseError::NotAwaited { .. } => NotFound(error.to_string()).into(),
        error => anyhow::Error::from(error),
    })?;
    let backup = backup.display().to_string();
    if output.json {
        return Ok(output.value(&Lost { backup, receipts: &receipts })?);
    }
    for receipt in &receipts {
        output.line(&format!("receipt {}: completed without the backup in {backup}, which may hold it", receipt.id))?;
    }
    Ok(())
}

fn verify(globals: &Globals, backup: &Path) -> anyhow::Result<()> {
    let output = globals.output;
    let is_encrypted = is_backup_encrypted(backup)?;
    let source = globals.config_at(backup.to_owned(), Access::Read).key.filter(|_| is_encrypted);
    let key = source.map(|source| source.read(backup)).transpose()?;
    let bar = output.bar("verifying");
    let check = check_backup(backup, key.as_ref(), &bar)?;
    bar.finish();
    if output.json {
        output.value(&Checked { backup: backup.display().to_string(), check: &check })?;
    } else {
        for (path, why) in &check.damaged {
            output.line(&format!("damaged: {} {why}", path.display()))?;
        }
        let whole = check.files - (check.damaged.len() as u64).min(check.files);
        output.line(&format!("verified {whole} of {} files, taken {}", check.files, check.taken))?;
        if is_encrypted && key.is_none() {
            output.line("encrypted, and no key was given: with the key each record is opened, too")?;
        }
    }
    if check.damaged.is_empty() {
        return Ok(());
    }
    let many = check.damaged.len();
    Err(Damage(format!("{many} files of the backup are damaged: delete them, and the next backup copies them anew"))
        .into())
}
