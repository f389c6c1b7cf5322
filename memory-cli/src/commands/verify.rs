//! `memory verify`: reads everything again and hashes it again.

use clap::Args as ClapArgs;
use memory_core::port::Verification;

use super::resolve;
use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    news::{self, News},
    open,
    output::{Noted, Output, grouped, is_screen},
};

/// Reads everything again and hashes it again.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::FirstOrAll,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?.without_model();
    let runtime = open(&config)?;
    let one = args.conversations.named(&runtime).await?;
    let verification = runtime.store.verify(one.as_ref()).await?;
    let news = [news::of_erasure(&runtime, &config).await, news::of_encryption(&runtime)].concat();
    print(globals.output, &verification, &news)?;
    if verification.is_whole() {
        return Ok(());
    }
    let lost = verification.nodes - verification.verified - verification.erased;
    let places = verification.damage.len();
    Err(Damage(format!("damaged in {places} places; {lost} of {} nodes could not be verified", verification.nodes))
        .into())
}

/// The last line of every verification.
pub(super) fn last_line(verification: &Verification) -> String {
    let Verification { verified, nodes, erased, root, .. } = verification;
    let erased = if *erased > 0 { format!(", {erased} erased") } else { String::new() };
    format!("verified {verified} of {nodes} nodes{erased}, root {root}")
}

fn print(output: Output, verification: &Verification, news: &[News]) -> std::io::Result<()> {
    if output.json {
        return output.value(&Noted { answer: verification, notices: news });
    }
    news::print(output, news);
    for damage in &verification.damage {
        output.line(&format!("damaged: {damage}"))?;
    }
    if verification.conversations.len() > 1 {
        // Roots are copied from here, so each is on one line.
        for c in &verification.conversations {
            let erased = if c.erased > 0 { format!(", {} erased", grouped(c.erased)) } else { String::new() };
            let (verified, nodes) = (grouped(c.verified), grouped(c.nodes));
            if is_screen() {
                output.line(&format!("{}: {verified} of {nodes}{erased}", c.id))?;
                output.line(&format!("  {}", c.root))?;
            } else {
                output.line(&format!("{}  {verified} of {nodes}{erased}  {}", c.root, c.id))?;
            }
        }
    }
    output.line(&last_line(verification))
}
