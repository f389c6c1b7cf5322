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
    output::{Output, grouped, megabytes},
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
    /// What a million tokens cost of the first and of the second model, in any currency [default: unknown]
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
    let models = [first.measure(&sample, globals).await?, second.measure(&sample, globals).await?];
    let comparison = Comparison::of(args, &sample, models);
    let output = globals.output;
    if output.json { Ok(output.value(&comparison.answer())?) } else { Ok(comparison.print(output)?) }
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
    models: Vec<Model>,
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

/// A comparison under way.
struct Comparison<'a> {
    args: &'a Args,
    sample: &'a Sample,
    models: [Figures; 2],
    /// Difference of the found shares: the second less the first.
    difference: Interval,
    /// Mean share of one model's best hits that are also among the other's.
    agreement: f64,
    news: Vec<News>,
}

impl<'a> Comparison<'a> {
    fn of(args: &'a Args, sample: &'a Sample, models: [Figures; 2]) -> Self {
        let [first, second] = &models;
        let difference = difference(&first.found, &second.found);
        let agreements: Vec<_> = first.best.iter().zip(&second.best).map(|(a, b)| agreement(a, b)).collect();
        let mut news = news::of(first.notices.iter().chain(&second.notices).cloned());
        news.dedup();
        let agreement = mean(&agreements);
        Self { args, sample, models, difference, agreement, news }
    }

    /// Cost of the tokens sent to each model, if known; nothing for a model on this machine.
    fn costs(&self) -> [Option<f64>; 2] {
        let [first, second] = self.args.prices.map_or([None; 2], |prices| prices.map(Some));
        let [one, other] = &self.models;
        [(one, first), (other, second)].map(|(model, price)| {
            #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
            let millions = model.spent.tokens as f64 / 1e6;
            if model.is_remote { price.map(|price| price * millions) } else { Some(0.0) }
        })
    }

    fn print(&self, output: Output) -> io::Result<()> {
        let messages = self.sample.messages();
        let conversations = match self.sample.conversations.len() {
            1 => "1 conversation".to_owned(),
            several => format!("{} conversations", grouped(several as u64)),
        };
        let of = format!("{} messages in {conversations}", grouped(messages as u64));
        let questions = grouped(self.sample.questions.len() as u64);
        output.line(&format!("{questions} messages of this store, each asked of {of}"))?;
        output.line("reply found: the reply to it is among the ten best; nobody judged whether it answers")?;
        news::print(output, &self.news);
        let [first, second] = &self.models;
        let [first_costs, second_costs] = self.costs();
        let rows = [
            (MEASURE, found as Column),
            ("a question, median", question_time),
            ("embedding a message", message_time),
            ("messages embedded in a second", rate),
            ("dimensions", |figures, _| figures.dimensions.to_string()),
            ("vectors of a message on disk", vector_bytes),
            ("weights of the model", |figures, _| {
                figures.model_bytes.map_or_else(|| "elsewhere".to_owned(), megabytes)
            }),
            ("tokens sent", tokens_sent),
            ("their price", price),
        ];
        let rows =
            rows.map(|(name, column)| [name.to_owned(), column(first, first_costs), column(second, second_costs)]);
        output.table(["", first.model.as_str(), second.model.as_str()], rows)?;
        let Interval { mean, low, high } = self.difference;
        let tells = if low <= 0.0 && 0.0 <= high { "; that does not tell them apart" } else { "" };
        output.line(&format!(
            "{}: the second has {:+.1} points, 95 % of resamples {:+.1} to {:+.1}{tells}",
            MEASURE,
            mean * 100.0,
            low * 100.0,
            high * 100.0
        ))?;
        output
            .line(&format!("of the ten best of one, {:.0} % are among those of the other", self.agreement * 100.0))?;
        if self.models.iter().any(|model| model.is_remote) {
            output.line("tokens are counted as cl100k_base counts them: a service may count others")?;
        }
        if messages < FEW {
            output.note(&format!("among {messages} messages ten are many: such a figure says little"));
        }
        Ok(())
    }

    fn answer(&self) -> Answer<'_> {
        let model = |(figures, price): (&'_ Figures, Option<f64>)| Model {
            model: figures.model.to_string(),
            found: mean(&figures.found),
            question_ms: question_seconds(figures) * 1e3,
            message_ms: message_seconds(figures) * 1e3,
            messages_per_s: 1.0 / message_seconds(figures),
            dimensions: figures.dimensions,
            bytes_per_message: bytes_per_message(figures),
            model_bytes: figures.model_bytes,
            tokens_sent: if figures.is_remote { figures.spent.tokens } else { 0 },
            price,
        };
        Answer {
            measure: MEASURE,
            messages: self.sample.messages(),
            conversations: self.sample.conversations.len(),
            questions: self.sample.questions.len(),
            models: self.models.iter().zip(self.costs()).map(model).collect(),
            difference: self.difference,
            agreement: self.agreement,
            notices: &self.news,
        }
    }
}

/// A row of the table, for one model and its cost.
type Column = fn(&Figures, Option<f64>) -> String;

fn found(figures: &Figures, _: Option<f64>) -> String {
    format!("{:.1} %", mean(&figures.found) * 100.0)
}

fn question_time(figures: &Figures, _: Option<f64>) -> String {
    format!("{:.1} ms", question_seconds(figures) * 1e3)
}

fn message_time(figures: &Figures, _: Option<f64>) -> String {
    format!("{:.2} ms", message_seconds(figures) * 1e3)
}

fn rate(figures: &Figures, _: Option<f64>) -> String {
    whole(1.0 / message_seconds(figures))
}

fn vector_bytes(figures: &Figures, _: Option<f64>) -> String {
    format!("{} bytes", whole(bytes_per_message(figures)))
}

fn tokens_sent(figures: &Figures, _: Option<f64>) -> String {
    if figures.is_remote { grouped(figures.spent.tokens) } else { "none".to_owned() }
}

fn price(figures: &Figures, costs: Option<f64>) -> String {
    match costs {
        _ if !figures.is_remote => "none".to_owned(),
        Some(costs) => format!("{costs:.4}"),
        None => "unknown: give --prices".to_owned(),
    }
}

fn question_seconds(figures: &Figures) -> f64 {
    median(figures.took.iter().map(Duration::as_secs_f64).collect())
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages")]
fn message_seconds(figures: &Figures) -> f64 {
    // Never 0, even with a coarse clock.
    figures.spent.took.as_secs_f64().max(1e-9) / figures.spent.messages.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^52")]
fn bytes_per_message(figures: &Figures) -> f64 {
    figures.vector_bytes as f64 / figures.spent.messages.max(1) as f64
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
