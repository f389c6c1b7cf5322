//! `memory bridge`: conversation managers and sessions for programs in other languages, as JSON lines.

use std::{future::poll_fn, io, task::Poll};

use clap::Args as ClapArgs;
use serde_json::Value;

use crate::{
    bridge::{Bridge, BridgeError, CallersModel, Question, Request, RequestLines},
    globals::Globals,
    terminal::To,
};

/// Serves conversation managers and sessions to an agent in another language, as JSON lines.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Read requests from standard input, one JSON object a line, and answer each with one line on standard output,
    /// until the input ends. With `--summarizer caller` the program is asked for summaries meanwhile
    #[arg(long, required = true)]
    stdio: bool,
    /// The longest line that is read
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    max_line: u64,
    /// Keep everything in memory: nothing of this session reaches a file, and it begins with no conversation
    #[arg(long)]
    no_persist: bool,
    /// With `--summarizer caller`: the name of the model that the program asks, by which summaries name their writer
    #[arg(long, value_name = "NAME", default_value = "caller")]
    caller_model: String,
    /// With `--summarizer caller`: tokens that a request to that model and its reply may have together
    #[arg(long, value_name = "TOKENS", default_value_t = 8192)]
    caller_window: u32,
    /// With `--summarizer caller`: the most requests of one compaction; what is left is summarized offline
    #[arg(long, value_name = "N", default_value_t = 64)]
    caller_requests: u64,
}

impl Args {
    fn model(&self) -> CallersModel {
        CallersModel { name: self.caller_model.clone(), window: self.caller_window, requests: self.caller_requests }
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let mut lines = RequestLines::new(io::stdin().lock(), args.max_line << 20);
    let (mut bridge, mut questions) = Bridge::new(globals, args.model(), args.no_persist);
    while let Some(line) = lines.next()? {
        let answer = match line.and_then(Request::parse) {
            Ok(request) => {
                let mut answering = Box::pin(bridge.answer(request));
                loop {
                    let answered_or_asked = poll_fn(|context| match answering.as_mut().poll(context) {
                        Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                        Poll::Pending => match questions.poll_recv(context) {
                            Poll::Ready(Some(question)) => Poll::Ready(Err(question)),
                            Poll::Ready(None) | Poll::Pending => Poll::Pending,
                        },
                    });
                    match answered_or_asked.await {
                        Ok(answer) => break answer,
                        Err(question) => ask(question, &mut lines)?,
                    }
                }
            }
            Err(error) => Err(error),
        };
        print(answer)?;
    }
    bridge.close().await
}

/// Asks the caller, and waits for its reply. At the end of the input there is none.
fn ask<R: io::BufRead>(mut question: Question, lines: &mut RequestLines<R>) -> anyhow::Result<()> {
    To::Output.json_line(&question.to_json())?;
    while let Some(line) = lines.next()? {
        let refused = match line.and_then(Request::parse) {
            Ok(request) => match request.reply_to(question) {
                Ok(()) => return Ok(()),
                Err(refused) => {
                    let (error, again) = *refused;
                    question = again;
                    error
                }
            },
            Err(error) => error,
        };
        print(Err(refused))?;
    }
    Ok(())
}

fn print(answer: Result<Value, BridgeError>) -> anyhow::Result<()> {
    To::Output.json_line(&answer.unwrap_or_else(|error| error.to_json()))?;
    Ok(())
}
