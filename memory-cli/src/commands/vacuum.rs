//! `memory vacuum`: makes the log smaller.

use std::path::Path;

use clap::Args as ClapArgs;
use memory::erasing::{self, OpenErasure};
use memory_store::{CompressionOptions, VacuumOptions, VacuumReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    open,
    output::{Output, counted, grouped},
};

/// Makes the log smaller, also while it is read and written to.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Also compress the segments; messages of a compressed segment are read more slowly
    #[arg(long)]
    compress: bool,
    /// The level of zstd: a higher one compresses more slowly, but is read as fast
    #[arg(long, value_name = "N", requires = "compress", value_parser = clap::value_parser!(i32).range(1..=19))]
    level: Option<i32>,
    /// Bytes that are compressed together, a power of two: short blocks are read faster, long ones are smaller
    #[arg(long, value_name = "BYTES", requires = "compress", value_parser = block_size)]
    block_size: Option<u32>,
    /// Also decompress compressed segments
    #[arg(long, conflicts_with = "compress")]
    expand: bool,
    /// First close the segment that is being written to, so that it is included
    #[arg(long)]
    seal: bool,
}

/// Outcome of making the log smaller.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// The store's directory.
    store: String,
    #[serde(flatten)]
    report: &'a VacuumReport,
    /// Erasures that are not completed, and what each waits for.
    open_erasures: Vec<OpenErasure>,
}

impl Args {
    fn options(&self) -> VacuumOptions {
        if self.expand {
            return VacuumOptions::expand();
        }
        if !self.compress {
            return VacuumOptions::default();
        }
        let options = CompressionOptions::default();
        let options = self.level.map_or(options, |level| options.level(level));
        VacuumOptions::compress(self.block_size.map_or(options, |bytes| options.block_bytes(bytes)))
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?.without_model();
    let parts = open(&config)?;
    let store = &parts.log;
    if let Some(damage) = store.report().damage.first() {
        return Err(damaged(store.path(), damage));
    }
    let output = globals.output;
    if args.seal {
        store.seal().await?;
    }
    let bar = output.bar("rewriting");
    let report = store.vacuum(args.options(), &bar);
    bar.finish();
    match report {
        Ok(report) => {
            let open_erasures = erasing::open_erasures(&parts, &config).await?;
            if output.json {
                let store = store.path().display().to_string();
                return Ok(output.value(&Answer { store, report: &report, open_erasures })?);
            }
            print(output, &report)?;
            Ok(open_erasures.iter().try_for_each(|open| output.line(&open.to_string()))?)
        }
        Err(error) if error.is_damage() => Err(damaged(store.path(), &error)),
        Err(error) => Err(error.into()),
    }
}

fn damaged(store: &Path, why: &dyn std::fmt::Display) -> anyhow::Error {
    let store = store.display();
    Damage(format!(
        "nothing was rewritten, for the store is damaged: {why}; `memory --store {store} doctor` says what is whole \
         and what to do"
    ))
    .into()
}

fn print(output: Output, report: &VacuumReport) -> std::io::Result<()> {
    let VacuumReport { segments, replaced, dropped, noted, bytes_before, bytes_after, .. } = *report;
    if segments == 0 {
        return output.line(
            "nothing to do: the log is one segment, which is being written to; --seal closes it, to be taken too",
        );
    }
    if replaced == 0 {
        return output.line(&format!(
            "nothing to rewrite: {} bytes in sealed segments ({}), none of which would change",
            grouped(bytes_after),
            grouped(segments)
        ));
    }
    let became =
        if noted > 0 { format!(", {} became notes", counted(noted, "message", "messages")) } else { String::new() };
    output.line(&format!(
        "{} of {} sealed segments rewritten, {} replaced records dropped{became}: {} bytes before, {} after",
        grouped(replaced),
        grouped(segments),
        grouped(dropped),
        grouped(bytes_before),
        grouped(bytes_after)
    ))
}

fn block_size(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(bytes) if (1 << 10..=1 << 20).contains(&bytes) && bytes.is_power_of_two() => Ok(bytes),
        _ => Err("a block has 1024 to 1048576 bytes, a power of two".to_owned()),
    }
}
