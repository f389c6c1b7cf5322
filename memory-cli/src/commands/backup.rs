//! `memory backup`: copies the store, also while it is written to.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use memory::erasing;
use memory_store::{BackupCheck, check_backup};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    open,
    output::{Output, grouped},
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
    #[arg(long)]
    verify: bool,
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
        return verify(output, &args.backup);
    }
    let config = globals.config(Access::Read)?.without_model();
    let mut runtime = open(&config)?;
    if erasing::is_pending(&runtime, &config).await? {
        // Opening for writing completes it; a backup would keep what is to go.
        runtime = open(&globals.config(Access::Existing)?.without_model())?;
        if erasing::is_pending(&runtime, &config).await? {
            let why = "an erasure that was interrupted is not completed, and a backup would keep its bytes";
            return Err(Damage(why.to_owned()).into());
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
    if report.damage.is_empty() {
        return Ok(());
    }
    let damage: Vec<_> = report.damage.iter().map(ToString::to_string).collect();
    Err(Damage(format!("backed up as it is, with its damage: {}", damage.join("; "))).into())
}

fn verify(output: Output, backup: &Path) -> anyhow::Result<()> {
    let bar = output.bar("verifying");
    let check = check_backup(backup, &bar)?;
    bar.finish();
    if output.json {
        output.value(&Checked { backup: backup.display().to_string(), check: &check })?;
    } else {
        for (path, why) in &check.damaged {
            output.line(&format!("damaged: {} {why}", path.display()))?;
        }
        let whole = check.files - (check.damaged.len() as u64).min(check.files);
        output.line(&format!("verified {whole} of {} files, taken {}", check.files, check.taken))?;
    }
    if check.damaged.is_empty() {
        return Ok(());
    }
    let many = check.damaged.len();
    Err(Damage(format!("{many} files of the backup are damaged: delete them, and the next backup copies them anew"))
        .into())
}
