//! `memory model compare`: compares two embedding models on the user's own messages.

mod contender;
mod meter;
mod paired;
mod sample;

use std::{io, time::Duration};

use clap::Args as ClapArgs;
use schemars::JsonSchema;
use serde::Serialize;

use self::{
    contender::{Contender, Figures},
    paired::{Interval, agreement, difference, mean, median},
    sample::Sample,
};
use crate::{
    Access,
    globals::Globals,
    news::{self, News},
    open,
    output::{Output, counted, grouped, megabytes},
};

/// Fewest messages that tell models apart: with less, too many of them are among the best.
const FEW: usize = 100;

/// The name of the figure that distinguishes the models.
const MEASURE: &str = "reply found";

/// Compares two embedding models side by side: what is found, time, size and cost.
///
/// A sample of the store's messages is embedded by each model into a temporary store; the store itself is
/// not changed. Some of the messages are not stored there but asked as questions, and it is counted how often the reply
/// to such a message is among the ten best. Nobody has judged whether these replies answer: the figure tells two models
/// apart, and does not say how good one is.
///
/// The figure is of the whole search, by words and by meaning. A model over a network is sent the sample and the
/// questions.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The first model: its name in the model store, its directory, or one over a network
    #[arg(value_name = "A")]
    first: String,
    /// The second model
    #[arg(value_name = "B")]
    second: String,
    /// The most messages of the store to compare on
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    messages: u64,
    /// The most questions
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    questions: u32,
    /// The price of a million tokens of the first and of the second model, in any currency [default: unknown]
    #[arg(long, value_name = "A,B", value_parser = prices)]
    prices: Option<[f64; 2]>,
}

pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    // Both models are loaded before the work of one could be in vain.
    let (first, second) = (Contender::load(&args.first, globals)?, Contender::load(&args.second, globals)?);
    let questions = usize::try_from(args.questions).unwrap_or(usize::MAX);
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let sample = Sample::of_store(&*runtime.store, args.messages, questions).await?;
    drop(runtime);
    let [one, other] = [first.measure(&sample, globals).await?, second.measure(&sample, globals).await?];
    let mut news = news::of(one.notices.iter().chain(&other.notices).cloned());
    news.dedup();
    let prices = args.prices.map_or([None; 2], |prices| prices.map(Some));
    let agreements: Vec<_> = one.best.iter().zip(&other.best).map(|(a, b)| agreement(a, b)).collect();
    let answer = Answer {
        measure: MEASURE,
        messages: sample.messages(),
        conversations: sample.conversations.len(),
        questions: sample.questions.len(),
        difference: difference(&one.found, &other.found),
        agreement: mean(&agreements),
        models: [Model::of(&one, prices[0]), Model::of(&other, prices[1])],
        notices: &news,
    };
    let output = globals.output;
    if output.json { Ok(output.value(&answer)?) } else { Ok(answer.print(output)?) }
}

/// Two models side by side.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the figure `found`.
    measure: &'static str,
    /// Number of messages that were embedded.
    messages: usize,
    /// Number of their conversations.
    conversations: usize,
    /// Number of questions that were asked.
    questions: usize,
    #[schemars(with = "Vec<Model>")]
    models: [Model; 2],
    /// Difference of their `found`: the second less the first.
    difference: Interval,
    /// Share of hits that both models find.
    agreement: f64,
    /// Notices about the comparison.
    notices: &'a [News],
}

#[derive(Debug, Serialize, JsonSchema)]
struct Model {
    /// Id of the model.
    model: String,
    /// Share of questions whose reply was found.
    found: f64,
    /// Milliseconds per question.
    question_ms: f64,
    /// Milliseconds per message.
    message_ms: f64,
    /// Messages per second.
    messages_per_s: f64,
    /// Number of components of a vector.
    dimensions: usize,
    /// Bytes of vectors per message.
    bytes_per_message: f64,
    /// Bytes of the model's files; null for a remote model.
    model_bytes: Option<u64>,
    /// Tokens sent to a remote model.
    tokens_sent: u64,
    /// Price of these tokens, with `--prices`.
    price: Option<f64>,
}

impl Model {
    /// Figures of a model, at so much a million tokens if it is remote.
    #[expect(clippy::cast_precision_loss, reason = "counts of messages, tokens and bytes are far below 2^52")]
    fn of(figures: &Figures, per_million: Option<f64>) -> Self {
        let messages = figures.spent.messages.max(1) as f64;
        // Never 0, even with a coarse clock.
        let message_seconds = figures.spent.took.as_secs_f64().max(1e-9) / messages;
        let tokens = figures.spent.tokens;
        Self {
            model: figures.model.to_string(),
            found: mean(&figures.found),
            question_ms: median(figures.took.iter().map(Duration::as_secs_f64).collect()) * 1e3,
            message_ms: message_seconds * 1e3,
            messages_per_s: 1.0 / message_seconds,
            dimensions: figures.dimensions,
            bytes_per_message: figures.vector_bytes as f64 / messages,
            model_bytes: figures.model_bytes,
            tokens_sent: if figures.is_remote { tokens } else { 0 },
            price: if figures.is_remote { per_million.map(|price| price * tokens as f64 / 1e6) } else { Some(0.0) },
        }
    }

    const fn is_remote(&self) -> bool {
        self.model_bytes.is_none()
    }

    fn price(&self) -> String {
        match self.price {
            _ if !self.is_remote() => "none".to_owned(),
            Some(price) => format!("{price:.4}"),
            None => "unknown: give --prices".to_owned(),
        }
    }
}

impl Answer<'_> {
    fn print(&self, output: Output) -> io::Result<()> {
        let conversations = counted(self.conversations as u64, "conversation", "conversations");
        let of = format!("{} messages in {conversations}", grouped(self.messages as u64));
        output.line(&format!("{} messages of this store, each asked of {of}", grouped(self.questions as u64)))?;
        output.line("reply found: the reply to it is among the ten best; nobody judged whether it answers")?;
        news::print(output, self.notices);
        let row = |name: &str, shown: &dyn Fn(&Model) -> String| {
            let [first, second] = self.models.each_ref().map(shown);
            [name.to_owned(), first, second]
        };
        let elsewhere = || "elsewhere".to_owned();
        let sent = |model: &Model| if model.is_remote() { grouped(model.tokens_sent) } else { "none".to_owned() };
        let rows = [
            row(MEASURE, &|model| format!("{:.1} %", model.found * 100.0)),
            row("a question, median", &|model| format!("{:.1} ms", model.question_ms)),
            row("embedding a message", &|model| format!("{:.2} ms", model.message_ms)),
            row("messages embedded in a second", &|model| whole(model.messages_per_s)),
            row("dimensions", &|model| model.dimensions.to_string()),
            row("vectors of a message on disk", &|model| format!("{} bytes", whole(model.bytes_per_message))),
            row("weights of the model", &|model| model.model_bytes.map_or_else(elsewhere, megabytes)),
            row("tokens sent", &sent),
            row("their price", &Model::price),
        ];
        let [first, second] = &self.models;
        output.table(["", &first.model, &second.model], rows)?;
        let Interval { mean, low, high } = self.difference;
        let tells = if low <= 0.0 && 0.0 <= high { "; that does not tell them apart" } else { "" };
        output.line(&format!(
            "{MEASURE}: the second has {:+.1} points, 95 % of resamples {:+.1} to {:+.1}{tells}",
            mean * 100.0,
            low * 100.0,
            high * 100.0
        ))?;
        output
            .line(&format!("of the ten best of one, {:.0} % are among those of the other", self.agreement * 100.0))?;
        if self.models.iter().any(Model::is_remote) {
            output.line("tokens are counted as cl100k_base counts them: a service may count others")?;
        }
        if self.messages < FEW {
            output.note(&format!("among {} messages ten are many: such a figure says little", self.messages));
        }
        Ok(())
    }
}

fn whole(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates and bytes are far below 2^52")]
    let whole = number.round() as u64;
    grouped(whole)
}

/// Parses two prices.
fn prices(text: &str) -> Result<[f64; 2], String> {
    let prices: Option<Vec<f64>> = text.split(',').map(|price| price.trim().parse().ok()).collect();
    match prices.as_deref() {
        Some(&[first, second]) if [first, second].iter().all(|price| price.is_finite() && *price >= 0.0) => {
            Ok([first, second])
        }
        _ => Err(format!("`{text}` is not two prices from 0 on, such as 0,0.5")),
    }
}
