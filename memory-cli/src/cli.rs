//! The command line: parses it, runs the command and returns the exit code.

mod grammar;
mod help;

use std::{error::Error, ffi::OsString, io};

use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use memory_core::text::one_line;
use schemars::JsonSchema;
use serde::Serialize;

#[cfg(feature = "mcp")]
use crate::commands::mcp;
#[cfg(feature = "chat")]
use crate::commands::{ask, chat};
use crate::{
    commands::{
        add, append, backup, bridge, browse, completions, config, context, demo, disable, doctor, encrypt, erase,
        expand, export, facts, find, fork, hook, import, index, list, man, mark, model, note, pin, plugins, prove,
        quarantine, receipt, replay, restore, resume, resummarize, retention, search, sessions, set, show, stats,
        summaries, tag, title, vacuum, verify, verify_proof, watch,
    },
    config_file::{Choice, ConfigFile, Fault, with_values},
    failure::{self, Code, Listed},
    globals::{GlobalArgs, Globals},
    output::Output,
    terminal::{Log, To, begin_paging, catch_panics, end_paging, flush_errors, output_is_closed},
};

pub(crate) use help::GLOBAL_OPTIONS;

/// An agent's memory: every message kept exactly, a small view of all of them, and what matters found again.
#[derive(Debug, Parser)]
#[command(name = "memory", bin_name = "memory", version)]
struct Cli {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Append one message to a conversation, which begins with it if it is new
    Append(append::Args),
    /// Add documents, which search and contexts recall from: text, Markdown, HTML, PDF
    Add(add::Args),
    /// Make a document of messages that settled something, which other conversations recall from
    Note(note::Args),
    /// Read conversations from files into the store
    Import(import::Args),
    /// Take sessions of Claude Code and Codex into the store as they go, without code
    Hook(hook::Args),
    /// Follow transcripts of Claude Code and Codex while they are written
    Watch(watch::Args),
    /// Write conversations to files that import brings back exactly
    Export(export::Args),
    /// Talk with a chat model in the terminal; everything is kept
    #[cfg(feature = "chat")]
    Chat(chat::Args),
    /// Ask a chat model in a conversation, and print its answer
    #[cfg(feature = "chat")]
    Ask(ask::Args),
    /// Print what a model would be shown for a question, or what it was shown
    Context(context::Args),
    /// List what a model was shown, step by step, or show one step again
    Replay(replay::Args),
    /// Continue a conversation from a message on as a new one that shares the messages so far
    ///
    /// No message is copied: the new conversation has the messages up to --at with the same numbers and proofs, and
    /// their summaries and views. What is said in one of the two from then on is not in the other. The vectors and
    /// words that recall caches are made again for the new one.
    Fork(fork::Args),
    /// Pin a message, so that views show it verbatim, or unpin it
    Pin(pin::Args),
    /// Show, add and remove the tags of a conversation
    Tag(tag::Args),
    /// Show or set the title of a conversation
    Title(title::Args),
    /// Mark a conversation as important or archived
    Mark(mark::Args),
    /// Set the title, tags, marks and pinned messages of a conversation, or show them
    Set(set::Args),
    /// List the conversations, the last one spoken in first
    List(list::Args),
    /// List, show, begin and archive sessions: conversations, and those of an agents' session
    Sessions(sessions::Args),
    /// Print where a conversation stood: goal, rules, decisions, open questions, the last exchange
    Resume(resume::Args),
    /// List what is known, and correct, disable or record it
    Facts(facts::Args),
    /// Print messages of a conversation word for word, or its state
    Show(show::Args),
    /// Find the messages that answer a question best
    Search(search::Args),
    /// Find text by a regular expression
    Find(find::Args),
    /// Print a message exactly as it was said
    Expand(expand::Args),
    /// Serve conversation managers and sessions to agents in other languages, as JSON lines
    ///
    /// docs/strands.md describes the requests, and the Python package that sends them for agents of Strands.
    Bridge(bridge::Args),
    /// Serve the memory to models as tools, over the Model Context Protocol
    ///
    /// Without --http it serves one client on standard input and output, as clients start it. docs/mcp.md describes the
    /// tools and how clients are configured.
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
    /// Keep messages or summaries out of every view and search until they are enabled
    ///
    /// Nothing is lost: the log keeps them, `memory verify` counts them, and `expand`, `find` and `search` show them with
    /// --disabled. A line says where they were. Summaries over them are written again without them, and come back when
    /// they are enabled. `memory erase` is for content that must be gone. docs/privacy.md says more.
    Disable(disable::Args),
    /// Bring disabled messages or summaries back
    Enable(disable::EnableArgs),
    /// Erase messages, a conversation or what a search finds, for good and with a receipt
    ///
    /// Content goes from the log, whose segments are rewritten, from vectors, words and every other cache, from summaries,
    /// recorded views and notes that came from it, and from backups that --backup names. The numbers of messages and the
    /// Merkle roots stay. Forks that share a message lose it, too. docs/privacy.md says what this cannot reach.
    Erase(erase::Args),
    /// Forget a conversation or what a search finds, as `memory erase` does
    Forget(erase::ForgetArgs),
    /// List, show and check the receipts of what was erased
    Receipt(receipt::Args),
    /// Take a source out of every view and search, with all that was derived from it, or bring it back
    ///
    /// A source is a tool (tool:NAME), a session (session:NAME), an import or a conversation (import:CONVERSATION,
    /// conversation:CONVERSATION). Its messages are disabled, and so is what the model said with the results of a tool
    /// until a person spoke again; summaries are written again without them. Nothing is lost: --undo brings back exactly
    /// what the quarantine took.
    Quarantine(quarantine::Args),
    /// Print who or what messages or a summary come from, and what they were made from
    Provenance(quarantine::ProvenanceArgs),
    /// Encrypt the store in place, or change the keys of an encrypted one
    ///
    /// Bodies, names, tags, metadata, vectors, words and every other cache are encrypted. The key is that of --key-file,
    /// --key-command, MEMORY_KEY or MEMORY_PASSPHRASE, and every other command takes it from there, too. If interrupted,
    /// the next command that opens the store completes it. docs/privacy.md says what this protects.
    Encrypt(encrypt::Args),
    /// Decrypt the store in place
    Decrypt(encrypt::DecryptArgs),
    /// Limit how much of old messages recall finds, or have them erased
    Retention(retention::Args),
    /// Look through the levels of a conversation
    Browse(browse::Args),
    /// List the recorded summaries of a conversation, rewrite one, or show its parts instead
    Summaries(summaries::Args),
    /// Write summaries again with the summarizer that is chosen now
    ///
    /// A summary stays as it was written, also when another summarizer is chosen. This command writes existing
    /// summaries again, from the same messages. The old ones stay in the log: recorded views show them, and new views
    /// show the new ones. Where the text comes out the same, nothing is recorded. What a person wrote or dissolved
    /// stays as it is unless --also-by-person is given.
    Resummarize(resummarize::Args),
    /// Bring the caches of recall up to the last message
    Index(index::Args),
    /// Show what is stored and what compression saves
    Stats(stats::Args),
    /// Read and hash everything again, and report damage
    Verify(verify::Args),
    /// Report what is damaged, what is whole and what to do, and save what is whole
    Doctor(doctor::Args),
    /// Copy the store, also while it is written to; files of an earlier backup are not copied again
    Backup(backup::Args),
    /// Make a store from a backup
    Restore(restore::Args),
    /// Make the log smaller, also while it is written to
    ///
    /// Removes from the log's segments what later records have replaced: importance, pins, titles and tags. Messages,
    /// summaries and roots stay the same. The segment that is being written to is not changed. A store from before
    /// notes were records is rewritten: its messages that are notes become notes and leave the roots, also in that
    /// segment, and versions from then cannot read the store any more.
    Vacuum(vacuum::Args),
    /// Print a proof that nothing was changed since an earlier root
    Prove(prove::Args),
    /// Check a proof, without any store
    VerifyProof(verify_proof::Args),
    /// Show all features on a sample conversation, in a store of its own
    Demo(demo::Args),
    /// The configuration file: what holds and where it comes from, what is wrong, a template
    Config(config::Args),
    /// Print a script that completes this command line in a shell
    Completions(completions::Args),
    /// Print a page of the manual, or write all pages
    Man(man::Args),
    /// Embedding models and their runtime
    Model(model::Args),
    /// Strategies that write summaries and score messages, built in and from plugins
    Plugins(plugins::Args),
}

impl Command {
    /// True if the command works on the conversations of all owners.
    fn is_of_the_whole_store(&self) -> bool {
        match self {
            Self::Doctor(_) | Self::Backup(_) | Self::Restore(_) | Self::Vacuum(_) => true,
            Self::Model(args) => args.is_of_the_whole_store(),
            _ => false,
        }
    }
}

/// Runs the `memory` binary.
///
/// Returns the exit code: 0 done, 2 usage, 3 not found, 4 damaged, 5 in use by another process, 1 any other error; a
/// call of an agent's hook always returns 0.
#[must_use]
pub fn run(args: Vec<OsString>) -> u8 {
    let may_fail = !hook::never_fails(&args);
    let code = run_command(&args);
    // A person may have left the pager before the end.
    drop(end_paging());
    flush_errors();
    if may_fail { code } else { 0 }
}

fn run_command(args: &[OsString]) -> u8 {
    catch_panics();
    if let [_, first, kind] = args
        && first == add::EXTRACT
    {
        let extracted = add::extract_text(&kind.to_string_lossy());
        return extracted.map_or_else(|error| report(Output { json: false }, &error, None, &[]), |()| 0);
    }
    // Called first, while this process has one thread.
    memory::limit_heap_arenas();
    memory_embed::disable_telemetry();
    // Parsed without the configuration file: it must not break the help, and the command line names it.
    let definition = match args {
        [_, help, options] if help == "help" && options == "options" => {
            return say_help(help::options(command()));
        }
        [_, help, all] if help == "help" && all == "all" => return say_help(help::all(command())),
        [] | [_] => return say_help(command()),
        _ => help::brief(command()),
    };
    let args = &grammar::uniform(args, &definition);
    let parsed = match definition.clone().try_get_matches_from(args) {
        Ok(parsed) => parsed,
        Err(error) => return refuse(error, args),
    };
    let output = Output { json: parsed.get_flag("json") };
    // A failure in a call by an agent is reported in one line.
    start_log(
        output,
        if hook::never_fails(args) { "off" } else { "warn,ort=error,rmcp=error,memory_remote::proxy=info" },
    );
    let names = names(&parsed);
    if is_read_by_a_person(&names) {
        begin_paging();
    }
    let choice = Choice::of(parsed.get_one::<OsString>("config").map(OsString::as_os_str));
    let file = ConfigFile::read(choice, &definition);
    if let Err(faults) = file.check() {
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            // These use the valid settings, or none, and report the faults themselves if they concern them.
            ["config" | "completions" | "man" | "doctor", ..] => {}
            // Hooks keep capturing with a broken configuration, unless the fault could select another store. The next
            // call after the repair captures the rest.
            ["hook", "claude-code" | "codex"] => {
                let may_hide_the_store = file.faults.iter().any(Fault::may_hide_the_store);
                let until = if may_hide_the_store { "nothing is taken in until it is mended: " } else { "" };
                let faults = faults.text.split("\n  ").collect::<Vec<_>>().join("; ");
                drop(To::Errors.line(&format!("memory hook: {until}{faults}")));
                if may_hide_the_store {
                    return Code::Usage as u8;
                }
            }
            _ => return report(output, &faults.into(), None, &names),
        }
    }
    let parsed =
        if file.settings.is_empty() { Ok(parsed) } else { file.apply(definition, &parsed).try_get_matches_from(args) };
    let parsed = parsed.and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?;
        Ok((cli, matches))
    });
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return refuse(error, args),
    };
    let globals = match Globals::new(cli.globals, file, matches, command) {
        Ok(globals) => globals,
        Err(error) => return report(output, &error.into(), None, &names),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(output, &anyhow::Error::new(error).context("cannot start"), None, &names),
    };
    // A group of commands without one of them has nothing else to show.
    if matches!(&cli.command, Command::Hook(args) if args.is_empty()) {
        return say_help(named(help::brief(command()), &names));
    }
    let may_do_without_model = !matches!(cli.command, Command::Model(_));
    match runtime.block_on(dispatch(cli.command, &globals)) {
        Ok(()) => 0,
        Err(error) => {
            let hint = failure::way_round(&error).filter(|_| may_do_without_model);
            report(output, &error, hint, &names)
        }
    }
}

/// Prints why a command line is refused, or the requested help.
fn refuse(mut error: clap::Error, args: &[OsString]) -> u8 {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
    {
        // A word in the place of another command's subcommand has the suggestions of clap.
        let is_first = args
            .iter()
            .skip(1)
            .find(|arg| !arg.to_string_lossy().starts_with('-'))
            .is_some_and(|arg| arg == &**word || arg == "help");
        let meant = if is_first { help::meant(&command(), word) } else { Vec::new() };
        if !meant.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
        }
    }
    // Help and version are not errors.
    if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
        let error = failure::Usage(words(error).trim_end().to_owned());
        return report(Output { json: true }, &error.into(), None, &[]);
    }
    say(error)
}

/// The command line, whose help groups the commands by purpose.
pub(crate) fn command() -> clap::Command {
    let options_of_every_command = Cli::command().mut_args(|argument| argument.global(true).hide_env_values(true));
    help::grouped(with_values(options_of_every_command))
}

/// The names of the given command: `["model", "list"]`.
fn names(mut matches: &clap::ArgMatches) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((name, of_command)) = matches.subcommand() {
        names.push(name.to_owned());
        matches = of_command;
    }
    names
}

/// True for a command that only prints what may be long and asks nothing.
fn is_read_by_a_person(names: &[String]) -> bool {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let name = names.first().copied().unwrap_or_default();
    let lists = ["context", "expand", "find", "list", "replay", "resume", "search", "sessions", "show", "summaries"];
    let parts = [["facts", "list"], ["facts", "search"], ["facts", "history"], ["model", "list"], ["config", "show"]];
    lists.contains(&name) || names == ["facts"] || parts.iter().any(|part| names == part)
}

async fn dispatch(command: Command, globals: &Globals) -> anyhow::Result<()> {
    if command.is_of_the_whole_store() {
        globals.check_sees_all()?;
    }
    match command {
        Command::Append(args) => append::run(&args, globals).await,
        Command::Add(args) => add::run(&args, globals).await,
        Command::Note(args) => note::run(&args, globals).await,
        Command::Import(args) => import::run(&args, globals).await,
        Command::Hook(args) => hook::run(&args, globals).await,
        Command::Watch(args) => watch::run(&args, globals).await,
        Command::Disable(args) => disable::run(&args, globals).await,
        Command::Enable(args) => disable::enable(&args, globals).await,
        Command::Encrypt(args) => encrypt::run(&args, globals),
        Command::Decrypt(_) => encrypt::decrypt(globals),
        Command::Erase(args) => erase::run(&args, globals).await,
        Command::Forget(args) => erase::forget(&args, globals).await,
        Command::Receipt(args) => receipt::run(&args, globals).await,
        Command::Quarantine(args) => quarantine::run(&args, globals).await,
        Command::Provenance(args) => quarantine::provenance(&args, globals).await,
        Command::Retention(args) => retention::run(&args, globals).await,
        Command::Export(args) => export::run(&args, globals).await,
        #[cfg(feature = "chat")]
        Command::Chat(args) => chat::run(&args, globals).await,
        #[cfg(feature = "chat")]
        Command::Ask(args) => ask::run(&args, globals).await,
        Command::Context(args) => context::run(&args, globals).await,
        Command::Replay(args) => replay::run(&args, globals).await,
        Command::Fork(args) => fork::run(&args, globals).await,
        Command::Pin(args) => pin::run(&args, globals).await,
        Command::Tag(args) => tag::run(&args, globals).await,
        Command::Title(args) => title::run(&args, globals).await,
        Command::Mark(args) => mark::run(&args, globals).await,
        Command::Set(args) => set::run(&args, globals).await,
        Command::List(args) => list::run(&args, globals).await,
        Command::Sessions(args) => sessions::run(&args, globals).await,
        Command::Summaries(args) => summaries::run(&args, globals).await,
        Command::Resume(args) => resume::run(&args, globals).await,
        Command::Facts(args) => facts::run(&args, globals).await,
        Command::Show(args) => show::run(&args, globals).await,
        Command::Search(args) => search::run(&args, globals).await,
        Command::Find(args) => find::run(&args, globals).await,
        Command::Expand(args) => expand::run(&args, globals).await,
        Command::Bridge(args) => bridge::run(&args, globals).await,
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(&args, globals),
        Command::Browse(args) => browse::run(&args, globals).await,
        Command::Resummarize(args) => resummarize::run(&args, globals).await,
        Command::Index(args) => index::run(&args, globals).await,
        Command::Stats(args) => stats::run(&args, globals).await,
        Command::Verify(args) => verify::run(&args, globals).await,
        Command::Doctor(args) => doctor::run(&args, globals).await,
        Command::Backup(args) => backup::run(&args, globals).await,
        Command::Restore(args) => restore::run(&args, globals).await,
        Command::Vacuum(args) => vacuum::run(&args, globals).await,
        Command::Prove(args) => prove::run(&args, globals).await,
        Command::VerifyProof(args) => verify_proof::run(&args, globals),
        Command::Demo(args) => demo::run(&args, globals).await,
        Command::Config(args) => config::run(&args, globals),
        Command::Completions(args) => completions::run(&args, globals),
        Command::Man(args) => man::run(&args, globals),
        Command::Model(args) => model::run(&args, globals).await,
        Command::Plugins(args) => plugins::run(&args, globals),
    }
}

/// Writes warnings to standard error; `MEMORY_LOG` selects more. With `--json`, each warning and each error is a line
/// of JSON.
fn start_log(output: Output, otherwise: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MEMORY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(otherwise));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Log { json: output.json });
    let log = log.with_ansi(false).without_time();
    // A second start in one process (a test) keeps the first log.
    drop(if output.json {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    } else {
        log.try_init()
    });
}

/// An error, on a line of standard error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorLine<'a> {
    /// The error, with its causes.
    error: &'a str,
    /// The exit code, 1 to 5.
    exit_code: u8,
    /// Advice on what to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

fn report(output: Output, error: &anyhow::Error, hint: Option<&str>, names: &[String]) -> u8 {
    let is_closed_pipe = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if output_is_closed() && error.chain().any(is_closed_pipe) {
        return 0;
    }
    let code = failure::code(error);
    let text = failure::describe(error);
    if output.json {
        let text = failure::exactly(error);
        // The text of a usage error begins like its line on a terminal.
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        drop(To::Errors.json_line(&ErrorLine { error: text, exit_code: code as u8, hint }));
    } else if code == Code::Usage && !error.is::<Listed>() {
        return say(named(command(), names).error(ErrorKind::ValueValidation, text));
    } else {
        let hint = hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        drop(To::Errors.lines(&format!("error: {text}{hint}")));
    }
    code as u8
}

/// The command of these names.
fn named(mut command: clap::Command, names: &[String]) -> clap::Command {
    command.build();
    names.iter().fold(command, |command, name| command.find_subcommand(name).cloned().unwrap_or(command))
}

/// Prints the help of a command on standard output.
fn say_help(mut command: clap::Command) -> u8 {
    begin_paging();
    drop(To::Output.lines(command.render_long_help().to_string().trim_end()));
    0
}

/// Prints clap's output: help, the version, or an error of the command line.
fn say(error: clap::Error) -> u8 {
    let to = if error.use_stderr() { To::Errors } else { To::Output };
    let code = u8::try_from(error.exit_code()).unwrap_or(1);
    if !error.use_stderr() {
        begin_paging();
    }
    drop(to.lines(words(error).trim_end()));
    code
}

/// Clap's error text; parts of the command line in it are escaped and add no lines.
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
    // The parser of a value may have repeated the value. Clap itself would remove text that looks like terminal codes.
    let (argument, value) = (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue));
    match (error.source(), argument, value) {
        (Some(why), Some(argument), Some(value)) => {
            let why = one_line(&why.to_string()).into_owned();
            format!("error: invalid value '{value}' for '{argument}': {why}\n\nFor more information, try '--help'.")
        }
        _ => error.render().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn an_error_of_a_command_shows_the_usage_of_that_command() {
        let shown = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            words(named(command(), &names).error(ErrorKind::ValueValidation, "no"))
        };
        assert!(shown(&[]).contains("Usage: memory [OPTIONS] <COMMAND>"), "{}", shown(&[]));
        assert!(shown(&["expand"]).contains("Usage: memory expand [OPTIONS] <NODE>"), "{}", shown(&["expand"]));
        let compare = shown(&["model", "compare"]);
        assert!(compare.contains("Usage: memory model compare [OPTIONS] <A> <B>"), "{compare}");
    }

    #[test]
    fn help_repeats_nothing_of_the_environment() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments().filter(|argument| argument.get_env().is_some()) {
                assert!(argument.is_hide_env_values_set(), "{}: hide_env_values is missing", argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }
}
