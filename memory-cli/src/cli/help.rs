//! The help of the binary: its commands grouped by purpose, which clap cannot do.

use std::fmt::Write;

use clap::Command;

use crate::output::width;

/// The heading of the options that every command takes.
pub(crate) const GLOBAL_OPTIONS: &str = "Options of every command";

/// The commands by purpose, each once: those of the first page, and those that only `memory help all` lists.
const GROUPS: [(&str, &[&str], &[&str]); 8] = [
    ("First steps", &["demo", "import", "search", "context", "show", "chat", "ask"], &[]),
    ("Write", &["append", "add", "set"], &["note", "fork"]),
    ("Read", &["list", "expand", "find", "browse", "facts", "summaries"], &["replay"]),
    ("Agents", &["hook", "mcp"], &["watch", "bridge"]),
    (
        "Privacy",
        &["disable", "erase", "retention", "encrypt"],
        &["enable", "quarantine", "provenance", "receipt", "decrypt"],
    ),
    ("Keep", &["stats", "verify", "doctor", "backup", "export"], &["restore", "vacuum", "prove", "verify-proof"]),
    ("Set up", &["config", "model", "help"], &["index", "resummarize", "plugins", "completions", "man"]),
    (OLD, &[], &["sessions", "resume", "title", "tag", "mark", "pin", "forget"]),
];

/// Heading of the commands that others replace.
const OLD: &str = "Older names, which still work (list, show --state, set, erase)";

/// The command, whose help has its first subcommands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let groups = groups(&command, false);
    with_list(command, &groups, &format!("`memory {ALL}` lists all commands"))
}

/// The same command, whose help has all subcommands in groups.
pub(super) fn all(command: Command) -> Command {
    let groups = groups(&command, true);
    with_list(command, &groups, &format!("`memory {FIRST}` lists the first ones"))
}

fn with_list(command: Command, groups: &str, hint: &str) -> Command {
    let hint = format!(
        "{hint}, `memory COMMAND --help` shows the options of a command, `memory {OPTIONS}` those of every command."
    );
    let hint = filled(&hint, "", "");
    command.help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{hint}\n"))
}

/// The commands with what they do, under their headings.
fn groups(command: &Command, has_all: bool) -> String {
    let mut groups = String::new();
    for (heading, first, more) in GROUPS {
        // Some builds leave some commands out.
        let is_there = |name: &&&str| **name == "help" || command.find_subcommand(name).is_some();
        let more = more.iter().filter(|_| has_all);
        let names: Vec<_> = first.iter().chain(more).filter(is_there).collect();
        if names.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(groups, "\n{heading}:");
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this list, or the help of a command".to_owned(),
            };
            let _ = writeln!(groups, "{}", filled(&about, &format!("  {name:12}  "), "                "));
        }
    }
    groups
}

/// A text that is wrapped as clap wraps its own.
fn filled(text: &str, first: &str, further: &str) -> String {
    const MOST: u16 = 100;
    let options = textwrap::Options::new(usize::from(width().min(MOST)))
        .initial_indent(first)
        .subsequent_indent(further)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

/// The same command, whose help leaves the options of every command to `memory help options`: they are longer than what
/// most commands have of their own.
pub(super) fn brief(program: Command) -> Command {
    fn with_hint(command: Command) -> Command {
        command.after_help(format!("{GLOBAL_OPTIONS}: `memory {OPTIONS}`")).mut_subcommands(with_hint)
    }
    let hidden = program.mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    hidden.mut_subcommands(with_hint)
}

/// The same command, whose help is the options of every command.
pub(super) fn options(program: Command) -> Command {
    program.help_template(format!("{GLOBAL_OPTIONS}:\n\n{{options}}\n"))
}

/// Words that ask for the options of every command, for all commands and for the first ones.
const OPTIONS: &str = "help options";
const ALL: &str = "help all";
const FIRST: &str = "help";

/// Names that other programs have for our commands.
const MEANINGS: [(&[&str], &[&str]); 17] = [
    (&["delete", "rm", "remove", "del", "purge", "wipe"], &["erase", "disable"]),
    (&["history", "log", "cat", "get", "print", "read", "view"], &["show"]),
    (&["recall", "query", "lookup", "retrieve", "remember"], &["search", "context"]),
    (&["grep", "regex"], &["find"]),
    (&["ls", "conversations"], &["list"]),
    (&["write", "save", "store", "insert", "put", "say"], &["append", "add"]),
    (&["load", "ingest", "read-files"], &["import"]),
    (&["dump"], &["export", "backup"]),
    (&["prompt", "view-of"], &["context"]),
    (&["talk", "start", "run"], &["chat", "ask"]),
    (&["rename", "label", "archive", "edit"], &["set"]),
    (&["init", "setup", "configure", "settings"], &["config", "demo"]),
    (&["status", "info", "usage", "size"], &["stats"]),
    (&["check", "fsck", "repair", "fix"], &["verify", "doctor"]),
    (&["gc", "clean", "compact", "prune"], &["vacuum", "retention"]),
    (&["serve", "server"], &["mcp"]),
    (&["summary", "summarize"], &["summaries"]),
];

/// Commands that an unknown word may mean: those of near names, or else of its meaning.
pub(super) fn meant(command: &Command, word: &str) -> Vec<String> {
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let by_meaning = MEANINGS.iter().find(|(words, _)| words.contains(&word.to_lowercase().as_str()));
    match by_meaning {
        Some((_, meant)) => meant
            .iter()
            .filter(|name| names.iter().any(|known| known == *name))
            .map(|name| (*name).to_owned())
            .collect(),
        None => memory_core::text::nearest(word, &names, String::as_str),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command;

    #[test]
    fn every_command_is_in_one_group_of_the_help_and_the_first_page_is_short() {
        let mut command = command();
        command.build();
        let listed: Vec<_> = GROUPS.iter().flat_map(|(_, first, more)| first.iter().chain(*more).copied()).collect();
        let commands: BTreeSet<_> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), commands);
        assert_eq!(listed.len(), commands.len(), "none is listed twice");
        let first = command.render_long_help().to_string();
        let names = |help: &str| help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count();
        assert!(names(&first) <= 30, "{first}");
        let all = all(command).render_long_help().to_string();
        assert_eq!(names(&all), listed.len(), "{all}");
        for (heading, names, _) in GROUPS.iter().filter(|(_, names, _)| !names.is_empty()) {
            assert!(first.contains(&format!("\n{heading}:\n  {} ", names[0])), "{first}");
        }
        assert!(first.contains("  search        Find the messages that answer a question best\n"), "{first}");
    }

    #[test]
    fn a_word_that_is_no_command_suggests_those_that_it_may_mean() {
        let command = command();
        for (word, expected) in [
            ("serach", &["search"][..]),
            ("delete", &["erase", "disable"]),
            ("rm", &["erase", "disable"]),
            ("history", &["show"]),
            ("recall", &["search", "context"]),
            ("imprt", &["import"]),
            ("quux", &[]),
            ("xyzzy", &[]),
        ] {
            assert_eq!(meant(&command, word), expected, "{word}");
        }
        for (words, meant) in MEANINGS {
            assert!(meant.iter().all(|name| command.find_subcommand(name).is_some()), "{meant:?}");
            assert!(words.iter().all(|word| command.find_subcommand(word).is_none()), "{words:?}");
        }
    }

    /// The command's own options are shown, and a line says how to see those of every command.
    #[test]
    fn help_shows_the_options_of_a_command_and_names_those_of_every_command() {
        fn check(command: &mut Command, of_every_command: &BTreeSet<String>) {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let is_global = of_every_command.contains(argument.get_id().as_str());
                let heading = argument.get_help_heading();
                assert_eq!(
                    heading == Some(GLOBAL_OPTIONS),
                    is_global,
                    "{name}: {} is under {heading:?}",
                    argument.get_id()
                );
            }
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                let (own, hint) = help.split_once(GLOBAL_OPTIONS).unwrap_or_else(|| panic!("{help}"));
                assert!(hint.contains("`memory help options`") && !help.contains("--store <"), "{name}: {help}");
                assert!(own.contains("-h, --help"), "{name}: {help}");
                let usage = own.lines().find(|line| line.starts_with("Usage: ")).unwrap_or_default();
                assert!(format!("{usage} ").starts_with(&format!("Usage: {name} ")), "{usage}");
                for positional in command.get_positionals() {
                    assert!(usage.contains(&positional.to_string()), "{usage} lacks {positional}");
                }
            }
            for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
                check(subcommand, of_every_command);
            }
        }
        assert!(options(command()).render_long_help().to_string().contains("--store <"));
        let mut command = brief(command());
        command.build();
        let is_global = |argument: &&clap::Arg| argument.is_global_set();
        let of_every_command = command.get_arguments().filter(is_global).map(|arg| arg.get_id().to_string()).collect();
        for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
            check(subcommand, &of_every_command);
        }
    }

    /// A heading stands over exactly the options that belong under it.
    #[test]
    fn filters_alone_are_under_the_heading_of_filters() {
        let command = command();
        for name in ["search", "context"] {
            let of = command.find_subcommand(name).unwrap();
            let under: BTreeSet<_> = of
                .get_arguments()
                .filter(|argument| argument.get_help_heading() == Some("Which messages"))
                .map(|argument| argument.get_id().as_str())
                .collect();
            let filters = ["during", "level", "role", "session", "since", "tag", "trust", "until"];
            assert_eq!(under, filters.into_iter().collect(), "{name}");
        }
    }
}
