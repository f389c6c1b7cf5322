//! The words of the command line, and the way from them to a command and an exit code.

mod vectors;

use std::{collections::BTreeMap, error::Error as _, ffi::OsString, io, path::PathBuf, time::Duration};

use clap::{
    CommandFactory, Parser, Subcommand,
    builder::FalseyValueParser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use memory_core::one_line;
use memory_plugins::PluginOptions;
use serde_json::json;

use self::vectors::Vectors;
use crate::{
    Access, Config, Recall,
    commands::{
        backup, browse, context, demo, doctor, expand, export, find, fork, import, index, model, plugins, prove,
        replay, restore, resummarize, search, stats, vacuum, verify, verify_proof,
    },
    config::STORE_VARIABLE,
    failure::{self, Code, Usage},
    output::Output,
    terminal::{Log, To, catch_panics},
};

/// An agent's memory: every message kept exactly, a small view of all of them, and what matters found again.
#[derive(Debug, Parser)]
#[command(name = "memory", bin_name = "memory", version, arg_required_else_help = true)]
struct Cli {
    /// The store's directory [default: this user's data directory]
    #[arg(long, global = true, env = STORE_VARIABLE, value_name = "DIR|URL")]
    #[arg(hide_env_values = true)]
    store: Option<String>,
    /// Print one JSON value instead of tables and text
    #[arg(long, global = true)]
    json: bool,
    /// Recall by words alone, without the embedding model
    #[arg(long, global = true)]
    words_only: bool,
    /// The embedding model; also bedrock:ID and openai:NAME, with ?dimensions=N where there is a choice [default: the
    /// store's own]
    #[arg(long, global = true, value_name = "NAME|DIR", env = "MEMORY_EMBEDDING_MODEL")]
    #[arg(hide_env_values = true)]
    embedding_model: Option<String>,
    /// The AWS region of a model of Bedrock [default: that of the environment or the profile]
    #[arg(long, global = true, value_name = "REGION")]
    region: Option<String>,
    /// Send keys over plain http to other machines as well, where others can read them
    #[arg(long, global = true, env = "MEMORY_PLAIN_HTTP", value_parser = FalseyValueParser::new())]
    #[arg(hide_env_values = true)]
    plain_http: bool,
    /// A cross-encoder that reads question and candidates together: ms-marco-MiniLM, an id of a hub, a directory, or none
    #[arg(
        long,
        global = true,
        value_name = "NAME|DIR",
        env = "MEMORY_RERANKER",
        hide_env_values = true,
        default_value = "none"
    )]
    reranker: String,
    /// The least score on the cross-encoder's scale, a logit, of a message that it is to leave among the hits [default:
    /// none]
    #[arg(
        long,
        global = true,
        value_name = "SCORE",
        env = "MEMORY_MIN_SCORE",
        hide_env_values = true,
        allow_negative_numbers = true
    )]
    #[arg(value_parser = finite)]
    min_score: Option<f32>,
    /// Megabytes of vectors to keep of texts that were embedded before; 0 for none
    #[arg(
        long,
        global = true,
        value_name = "MB",
        env = "MEMORY_EMBEDDING_CACHE_MB",
        hide_env_values = true,
        default_value_t = 256
    )]
    embedding_cache_mb: u32,
    /// How vectors are compared
    #[arg(
        long,
        global = true,
        value_name = "HOW",
        env = "MEMORY_VECTORS",
        hide_env_values = true,
        default_value = "fastest"
    )]
    vectors: Vectors,
    /// What writes summaries: a built-in strategy or a plugin
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "MEMORY_SUMMARIZER",
        hide_env_values = true,
        default_value = "spans"
    )]
    summarizer: String,
    /// What scores messages: a built-in strategy or a plugin
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "MEMORY_SCORER",
        hide_env_values = true,
        default_value = "rules"
    )]
    scorer: String,
    /// The configuration of a strategy, as JSON; may be repeated
    #[arg(long, global = true, value_name = "NAME=JSON")]
    configure: Vec<String>,
    /// A directory with strategy plugins; may be repeated
    #[arg(long, global = true, value_name = "DIR")]
    plugins: Vec<PathBuf>,
    /// How long to wait for another process that is writing to the store
    #[arg(
        long,
        global = true,
        value_name = "SECONDS",
        env = "MEMORY_LOCK_TIMEOUT",
        hide_env_values = true,
        default_value_t = 10
    )]
    lock_timeout: u32,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read conversations from files into the store
    Import(import::Args),
    /// Write conversations to files that import brings back exactly
    Export(export::Args),
    /// Print what a model would be shown for a question, or what it was shown
    Context(context::Args),
    /// List what a model was shown, step by step, or show one step again
    Replay(replay::Args),
    /// Continue a conversation from a message on as a new one that shares the past
    ///
    /// No message is copied: the new conversation has those up to --at under the same numbers and with the same proofs,
    /// and the summaries and views of them. What is said in one of the two from then on is not in the other. The
    /// vectors and words that recall caches are made anew for it.
    Fork(fork::Args),
    /// Find the messages that answer a question best
    Search(search::Args),
    /// Find text by a regular expression
    Find(find::Args),
    /// Print a message exactly as it was said
    Expand(expand::Args),
    /// Look through the levels of a conversation
    Browse(browse::Args),
    /// Write summaries anew, with the summarizer that is chosen now
    ///
    /// Summaries stay as they were written, also when another summarizer is chosen. This writes those that are there
    /// again, from the same messages. The old ones stay in the log: views that were recorded show them, and new ones show
    /// the new. Where the same words come out, nothing is recorded.
    Resummarize(resummarize::Args),
    /// Bring what recall has cached up to the last message
    Index(index::Args),
    /// Show what is stored and what compression saves
    Stats(stats::Args),
    /// Read everything again, hash it again, and say what is whole
    Verify(verify::Args),
    /// Say what is damaged, what is whole and what to do, and save what is whole
    Doctor(doctor::Args),
    /// Copy the store, also while it is written to; what was copied before is not copied again
    Backup(backup::Args),
    /// Make a store out of a backup
    Restore(restore::Args),
    /// Make the log smaller, also while it is written to
    ///
    /// Leaves out of the log's segments what later records have replaced: weights, pins, titles and tags. Messages and
    /// summaries stay as they are, and so do the roots. The segment that is being written to is left as it is.
    Vacuum(vacuum::Args),
    /// Print a proof that nothing was changed since an earlier root
    Prove(prove::Args),
    /// Check a proof, without any store
    VerifyProof(verify_proof::Args),
    /// Show all of it on a sample conversation, in a store of its own
    Demo(demo::Args),
    /// Embedding models and their runtime
    Model(model::Args),
    /// Strategies that write summaries and score messages, built in and from plugins
    Plugins(plugins::Args),
}

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Globals {
    pub(crate) output: Output,
    store: Option<String>,
    words_only: bool,
    embedding_model: Option<String>,
    region: Option<String>,
    pub(crate) plain_http: bool,
    reranker: Option<String>,
    min_score: Option<f32>,
    embedding_cache_bytes: u64,
    vectors: Vectors,
    summarizer: String,
    scorer: String,
    configurations: BTreeMap<String, String>,
    plugins: Vec<PathBuf>,
    lock_timeout: Duration,
}

impl Globals {
    /// Drops the notice that the user asked for by `--words-only`.
    pub(crate) fn keep_news(&self, notices: &mut Vec<String>) {
        if self.words_only {
            notices.retain(|notice| !notice.starts_with("recall is by words only"));
        }
    }

    /// The configuration for a command that reads or writes the store.
    pub(crate) fn config(&self, access: Access) -> anyhow::Result<Config> {
        let store = match &self.store {
            Some(url) if url.contains("://") => {
                let scheme = url.split("://").next().unwrap_or_default();
                let why = format!("this build keeps stores in directories only, not behind `{scheme}://`");
                return Err(Usage(why).into());
            }
            Some(directory) => PathBuf::from(directory),
            None => Config::default_store()
                .ok_or_else(|| Usage(format!("this user has no data directory: give --store or {STORE_VARIABLE}")))?,
        };
        Ok(self.config_at(store, access))
    }

    /// How plugins are run, and the directories they lie in.
    pub(crate) fn plugins(&self) -> (PluginOptions, &[PathBuf]) {
        let mut options = PluginOptions::default();
        options.configurations.clone_from(&self.configurations);
        (options, &self.plugins)
    }

    /// The configuration over another store.
    pub(crate) fn config_at(&self, store: PathBuf, access: Access) -> Config {
        let mut config = Config::new(store, access);
        config.recall = if self.words_only { Recall::Words } else { Recall::Hybrid };
        config.model.clone_from(&self.embedding_model);
        config.region.clone_from(&self.region);
        config.plain_http = self.plain_http;
        config.reranker.clone_from(&self.reranker);
        config.min_score = self.min_score;
        config.embedding_cache_bytes = self.embedding_cache_bytes;
        config.vectors = self.vectors.into();
        config.summarizer.clone_from(&self.summarizer);
        config.scorer.clone_from(&self.scorer);
        config.configurations.clone_from(&self.configurations);
        config.plugins.clone_from(&self.plugins);
        config.lock_timeout = self.lock_timeout;
        config
    }
}

/// Runs the `memory` binary.
///
/// Gives the exit code: 0 done, 2 usage, 3 not found, 4 damaged, 5 in use by another process, 1 anything else. To be ended
/// by [`memory_plugins::exit`], for a plugin may keep a process from ending.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    catch_panics();
    // First, while this process has one thread.
    memory_embed::disable_telemetry();
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        // Help and version are asked for, and are no errors.
        Err(error) if error.use_stderr() && args.iter().any(|arg| arg == "--json") => {
            return report(Output { json: true }, &failure::Usage(words(error).trim_end().to_owned()).into(), None);
        }
        Err(error) => return say(error),
    };
    let output = Output { json: cli.json };
    start_log(output);
    let configurations = match configurations(&cli.configure) {
        Ok(configurations) => configurations,
        Err(error) => return report(output, &error.into(), None),
    };
    let globals = Globals {
        output,
        store: cli.store,
        words_only: cli.words_only,
        embedding_model: cli.embedding_model,
        region: cli.region,
        plain_http: cli.plain_http,
        reranker: Some(cli.reranker).filter(|name| name != "none"),
        min_score: cli.min_score,
        embedding_cache_bytes: u64::from(cli.embedding_cache_mb) << 20,
        vectors: cli.vectors,
        summarizer: cli.summarizer,
        scorer: cli.scorer,
        configurations,
        plugins: cli.plugins,
        lock_timeout: Duration::from_secs(cli.lock_timeout.into()),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(output, &anyhow::Error::new(error).context("cannot start"), None),
    };
    let may_do_without_model = !matches!(cli.command, Command::Model(_));
    match runtime.block_on(dispatch(cli.command, &globals)) {
        Ok(()) => 0,
        Err(error) => {
            let hint = failure::way_round(&error).filter(|_| may_do_without_model);
            report(output, &error, hint)
        }
    }
}

async fn dispatch(command: Command, globals: &Globals) -> anyhow::Result<()> {
    match command {
        Command::Import(args) => import::run(&args, globals).await,
        Command::Export(args) => export::run(&args, globals).await,
        Command::Context(args) => context::run(&args, globals).await,
        Command::Replay(args) => replay::run(&args, globals).await,
        Command::Fork(args) => fork::run(&args, globals).await,
        Command::Search(args) => search::run(&args, globals).await,
        Command::Find(args) => find::run(&args, globals).await,
        Command::Expand(args) => expand::run(&args, globals).await,
        Command::Browse(args) => browse::run(&args, globals).await,
        Command::Resummarize(args) => resummarize::run(&args, globals).await,
        Command::Index(args) => index::run(&args, globals).await,
        Command::Stats(args) => stats::run(&args, globals).await,
        Command::Verify(args) => verify::run(&args, globals).await,
        Command::Doctor(args) => doctor::run(&args, globals),
        Command::Backup(args) => backup::run(&args, globals),
        Command::Restore(args) => restore::run(&args, globals).await,
        Command::Vacuum(args) => vacuum::run(&args, globals).await,
        Command::Prove(args) => prove::run(&args, globals).await,
        Command::VerifyProof(args) => verify_proof::run(&args, globals),
        Command::Demo(args) => demo::run(&args, globals).await,
        Command::Model(args) => model::run(&args, globals).await,
        Command::Plugins(args) => plugins::run(&args, globals),
    }
}

fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().map_err(|error| error.to_string())?;
    if number.is_finite() { Ok(number) } else { Err("a score is a finite number".to_owned()) }
}

/// Configurations by the names of strategies.
fn configurations(given: &[String]) -> Result<BTreeMap<String, String>, Usage> {
    let split = |given: &String| {
        let (name, json) =
            given.split_once('=').ok_or_else(|| Usage(format!("--configure {given}: write NAME=JSON")))?;
        Ok((name.to_owned(), json.to_owned()))
    };
    given.iter().map(split).collect()
}

/// Warnings go to standard error; `MEMORY_LOG` asks for more. With `--json`, each is a line of JSON, and so is the
/// error that may follow.
fn start_log(output: Output) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MEMORY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,ort=error,memory_embed::proxy=info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Log { json: output.json });
    let log = log.with_ansi(false).without_time();
    // A second start in one process (a test) keeps the first log.
    drop(if output.json {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    } else {
        log.try_init()
    });
}

fn report(output: Output, error: &anyhow::Error, hint: Option<&str>) -> u8 {
    if error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_closed_pipe)) {
        // Whoever read the output has seen enough, as `head` does.
        return 0;
    }
    let code = failure::code(error);
    let text = failure::describe(error);
    if output.json {
        let mut value = json!({"error": failure::exactly(error), "exit_code": code as u8});
        if let (Some(hint), Some(object)) = (hint, value.as_object_mut()) {
            object.insert("hint".to_owned(), hint.into());
        }
        drop(To::Errors.json_line(&value));
    } else if code == Code::Usage {
        return say(Cli::command().error(ErrorKind::ValueValidation, text));
    } else {
        let hint = hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        drop(To::Errors.lines(&format!("error: {text}{hint}")));
    }
    code as u8
}

/// Prints what clap says: help, the version, or what is wrong with the command line.
fn say(error: clap::Error) -> u8 {
    let to = if error.use_stderr() { To::Errors } else { To::Output };
    let code = u8::try_from(error.exit_code()).unwrap_or(1);
    drop(to.lines(words(error).trim_end()));
    code
}

/// What clap says, where what it repeats of the command line makes no line.
fn words(mut error: clap::Error) -> String {
    let repeated = error.context().filter_map(|(kind, value)| {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(one_line(text).into_owned()),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|text| one_line(text).into_owned()).collect())
            }
            _ => return None,
        };
        Some((kind, value))
    });
    for (kind, value) in repeated.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    // The parser of a value may have repeated it, too. Clap itself would leave out what looks like a terminal's codes.
    let (argument, value) = (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue));
    match (error.source(), argument, value) {
        (Some(why), Some(argument), Some(value)) => {
            let why = one_line(&why.to_string()).into_owned();
            format!("error: invalid value '{value}' for '{argument}': {why}\n\nFor more information, try '--help'.")
        }
        _ => error.render().to_string(),
    }
}

fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_repeats_nothing_of_the_environment() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments().filter(|argument| argument.get_env().is_some()) {
                assert!(argument.is_hide_env_values_set(), "{}: hide_env_values is missing", argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
