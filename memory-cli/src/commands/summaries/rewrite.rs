//! `memory summaries rewrite`: replaces the words of a summary by a person's.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_core::SummaryId;

use super::print;
use crate::{Access, commands::resolve, editor, failure::Usage, globals::Globals, open};

/// Most bytes of a text, far beyond the limit of a summary.
const MOST_BYTES: u64 = 1 << 20;

/// Puts your own words in the place of a summary.
///
/// Its level and messages stay. The text may have as many tokens as a summary of that level and of those messages.
/// Words of messages that are kept out of summaries are removed from it. `memory resummarize` leaves it as it is.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The number of the summary, as `memory summaries` lists it
    #[arg(value_name = "NUMBER", value_parser = resolve::summary)]
    summary: SummaryId,
    /// The new text [default: from standard input, or on a terminal from $VISUAL or $EDITOR, which opens with the old
    /// text]
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    conversation: resolve::One,
    /// Read the text from this file; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// Bring back the words that this summary had before it was replaced or dissolved
    #[arg(long, conflicts_with_all = ["text", "file"])]
    again: bool,
    /// Your name, to be recorded as the author
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    by: String,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let text = match (&args.text, &args.file) {
        _ if args.again => conversation.summary(args.summary).await?.body.text,
        (Some(text), _) => text.clone(),
        (None, Some(file)) if file.as_os_str() == "-" => read("standard input", io::stdin().lock())?,
        (None, Some(file)) => {
            let name = file.display().to_string();
            read(&name, File::open(file).with_context(|| format!("cannot open {name}"))?)?
        }
        (None, None) if io::stdin().is_terminal() => {
            let before = conversation.summary(args.summary).await?.body.text;
            match editor::edit(&before)? {
                Some(text) => text,
                None => {
                    globals.output.note("the text is as it was: nothing was recorded");
                    return Ok(());
                }
            }
        }
        (None, None) => read("standard input", io::stdin().lock())?,
    };
    let repaired = conversation.rewrite_summary(args.summary, &text, &args.by).await?;
    print(globals.output, &id, &repaired)
}

fn read(name: &str, from: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    from.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Usage(format!("{name} has more than {MOST_BYTES} bytes, which is no summary")).into());
    }
    Ok(text)
}
