//! `memory bridge`: conversation managers and sessions for programs in other languages, as JSON lines.

use std::io;

use clap::Args as ClapArgs;

use crate::{
    bridge::{Bridge, BridgeError, Request, RequestLines},
    globals::Globals,
    terminal::To,
};

/// Serves conversation managers and sessions to an agent in another language, as JSON lines.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Read requests from standard input, one JSON object a line, and answer each with one line on standard output, until
    /// the input ends
    #[arg(long, required = true)]
    stdio: bool,
    /// The longest line that is read
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    max_line: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let mut lines = RequestLines::new(io::stdin().lock(), args.max_line << 20);
    let mut bridge = Bridge::new(globals);
    while let Some(line) = lines.next()? {
        let answer = match line.and_then(Request::parse) {
            Ok(request) => bridge.answer(request).await,
            Err(error) => Err(error),
        };
        To::Output.json_line(&answer.unwrap_or_else(|error: BridgeError| error.to_json()))?;
    }
    bridge.close().await
}
