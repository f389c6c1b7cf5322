//! The help of the binary: its commands grouped by purpose, which clap cannot do.

use std::fmt::Write;

use clap::Command;

/// The heading of the options that every command takes.
pub(crate) const GLOBAL_OPTIONS: &str = "Options of every command";

/// The commands by purpose, each once.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Begin", &["demo", "append", "import", "add", "hook", "watch", "help"]),
    ("Ask", &["chat", "ask", "context", "search", "find", "replay"]),
    (
        "Read and arrange",
        &["list", "sessions", "resume", "facts", "show", "expand", "browse", "title", "tag", "mark", "pin", "fork"],
    ),
    ("Keep", &["stats", "verify", "doctor", "backup", "restore", "export", "vacuum", "prove", "verify-proof"]),
    (
        "Privacy",
        &[
            "disable",
            "enable",
            "provenance",
            "quarantine",
            "retention",
            "erase",
            "forget",
            "receipt",
            "encrypt",
            "decrypt",
        ],
    ),
    ("Models and strategies", &["index", "summaries", "resummarize", "model", "plugins"]),
    ("Serve", &["mcp", "bridge"]),
    ("Set up", &["config", "completions", "man"]),
];

/// The command, whose help has its subcommands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(groups, "\n{heading}:");
        // Some builds leave some commands out.
        for name in names.iter().filter(|name| **name == "help" || command.find_subcommand(name).is_some()) {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this list, or the help of a command".to_owned(),
            };
            let _ = writeln!(groups, "  {name:12}  {about}");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n`memory COMMAND --help` shows the options of a \
         command, `memory {OPTIONS}` those of every command.\n"
    );
    command.help_template(template)
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

/// Words that ask for the options of every command.
const OPTIONS: &str = "help options";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let mut command = command();
        command.build();
        let listed: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let commands: BTreeSet<_> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), commands);
        assert_eq!(listed.len(), commands.len(), "none is listed twice");
        let help = command.render_long_help().to_string();
        for (heading, names) in GROUPS {
            assert!(help.contains(&format!("\n{heading}:\n  {} ", names[0])), "{help}");
        }
        assert!(help.contains("  search        Find the messages that answer a question best\n"), "{help}");
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
