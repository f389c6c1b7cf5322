//! The keys of the configuration file: options of the command line that stay the same between calls.

use std::{
    any::TypeId,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
};

use clap::{Arg, ArgAction, Command, builder::ValueParser};

/// Options of every command, at the top of the file. [`MANAGER_SETTINGS`] and [`CONFIGURE`] are tables.
const TOP: &str = "store owner embedding-model words-only models reranker min-score max-num-archived-messages \
                   max-memory-archived-messages redact time-zone embedding-cache-mb vectors chat-model chat-base-url \
                   chat-key-variable summary-model summary-prompt smart-context chat-requests-per-day \
                   chat-tokens-per-day chat-requests-per-run chat-tokens-per-run region plain-http manager summarizer \
                   scorer plugins key-file key-command backup-directory backup-interval-hours \
                   lock-timeout manager-settings configure";

/// The table of the manager's settings.
pub(crate) const MANAGER_SETTINGS: &str = "manager-settings";
/// The table that has a table for each strategy.
pub(crate) const CONFIGURE: &str = "configure";

/// Options of commands, in a table that is named as the command is. A table of a command that has commands of its own
/// holds for each of those that take the option.
///
/// No table has the name of a key at the top, as `plugins` is one: TOML would have both be the same.
///
/// Options that decide what one call does are no keys (`--http`, `--json`, `--raw`), nor are those that lower a guard
/// (`--no-token`).
const OF_COMMANDS: [(&str, &str); 14] = [
    ("bridge", "max-line caller-model caller-window caller-requests"),
    ("browse", "limit"),
    ("context", "budget radius least-share follow-mentions no-documents no-record"),
    ("find", "limit context max-seconds"),
    ("hook", "budget"),
    ("import", "no-embed max-line max-piped"),
    ("list", "limit"),
    (
        "mcp",
        "profile enable-mcp-tools allow-append allow-erase allow-correct allow-writes conversation memory-tool listen port token-file allow-origin \
         allow-host max-rate max-body",
    ),
    ("model", "endpoint"),
    ("replay", "limit"),
    ("resume", "budget"),
    ("search", "limit min-relevance neighbours"),
    ("show", "limit"),
    ("watch", "every"),
];

/// Type of a key's value in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    Text,
    /// A list of texts.
    List,
    /// A table of anything that JSON has.
    Table,
    /// Tables of anything that JSON has, by the names of strategies.
    Tables,
}

impl Kind {
    /// The kind in the words of an error.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Text => "a text in quotes",
            Self::List => "a list of texts in quotes",
            Self::Table | Self::Tables => "a table",
        }
    }
}

/// A key, with the option that it sets.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The table; `None` at the top.
    pub(crate) table: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) argument: Arg,
}

impl Key {
    pub(crate) fn kind(&self) -> Kind {
        match self.name {
            MANAGER_SETTINGS => Kind::Table,
            CONFIGURE => Kind::Tables,
            _ if matches!(self.argument.get_action(), ArgAction::Append) => Kind::List,
            _ => kind_of(self.argument.get_value_parser()),
        }
    }

    /// Name that the help shows in place of a value, as in `NAME|DIR`.
    pub(crate) fn value_name(&self) -> &str {
        let names = self.argument.get_value_names().unwrap_or_default();
        names.first().map_or("VALUE", |name| name.as_str())
    }

    /// The environment variable that sets it as well.
    pub(crate) fn variable(&self) -> Option<&str> {
        self.argument.get_env().and_then(|name| name.to_str())
    }

    /// Name of the key in messages, such as `[mcp] port`.
    pub(crate) fn shown(&self) -> String {
        shown(self.table, self.name)
    }
}

/// A key as messages name it.
pub(super) fn shown(table: Option<&str>, name: &str) -> String {
    table.map_or_else(|| name.to_owned(), |table| format!("[{table}] {name}"))
}

fn kind_of(parser: &ValueParser) -> Kind {
    fn is<T: 'static>(parser: &ValueParser) -> bool {
        parser.type_id() == TypeId::of::<T>()
    }
    let whole = [is::<u16>, is::<u32>, is::<u64>, is::<usize>, is::<NonZeroU32>, is::<NonZeroU64>, is::<NonZeroUsize>];
    if is::<bool>(parser) {
        Kind::Switch
    } else if whole.iter().any(|is| is(parser)) {
        Kind::Whole
    } else if is::<f32>(parser) || is::<f64>(parser) {
        Kind::Number
    } else {
        Kind::Text
    }
}

/// The names of all tables of commands, also of those that this build does not have.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    OF_COMMANDS.iter().map(|(table, _)| *table)
}

/// All keys of `command`, in the order of the template.
pub(crate) fn keys(command: &Command) -> Vec<Key> {
    let top = TOP.split(' ').map(|name| (None, name, option(command, name)));
    let of_commands = OF_COMMANDS.iter().flat_map(|(table, names)| {
        names.split(' ').map(|name| (Some(*table), name, takers(command, table).find_map(|taker| option(taker, name))))
    });
    let there = top.chain(of_commands);
    there.filter_map(|(table, name, argument)| Some(Key { table, name, argument: argument?.clone() })).collect()
}

/// The command of a table and its own commands.
pub(super) fn takers<'a>(command: &'a Command, table: &str) -> impl Iterator<Item = &'a Command> {
    let of_table = command.find_subcommand(table);
    of_table.into_iter().chain(of_table.into_iter().flat_map(Command::get_subcommands))
}

pub(super) fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

/// The command, whose switches that are keys also take a value, so that the command line can turn off what the file
/// turns on: `--words-only=false`.
pub(crate) fn with_values(command: Command) -> Command {
    let keys = keys(&command);
    let switches = keys.into_iter().filter(|key| matches!(key.argument.get_action(), ArgAction::SetTrue));
    switches.fold(command, |command, key| {
        mutate(command, &key, &|argument| {
            argument
                .action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .default_value("false")
                .hide_default_value(true)
                .hide_possible_values(true)
                .value_name("true|false")
        })
    })
}

/// Changes the option of a key wherever it is.
pub(super) fn mutate(command: Command, key: &Key, change: &dyn Fn(Arg) -> Arg) -> Command {
    let changed = |command: Command| match option(&command, key.name).map(|argument| argument.get_id().clone()) {
        Some(id) => command.mut_arg(id, change),
        None => command,
    };
    match key.table {
        None => changed(command),
        Some(table) => command.mut_subcommand(table, |of_table| {
            let below: Vec<_> = of_table.get_subcommands().map(|below| below.get_name().to_owned()).collect();
            below.into_iter().fold(changed(of_table), |of_table, below| of_table.mut_subcommand(below, changed))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command;

    #[test]
    fn every_key_is_an_option_and_every_option_is_decided_on() {
        // Options that decide what one call does, and on what.
        const OF_A_CALL: [&str; 78] = [
            "again",
            "agent",
            "all",
            "archived",
            "as",
            "as-of",
            "at",
            "before",
            "block-size",
            "by",
            "changed",
            "chat",
            "check",
            "compress",
            "config",
            "configuration",
            "continue",
            "conversation",
            "deadline",
            "disabled",
            "dry-run",
            "during",
            "encrypt",
            "expand",
            "explain",
            "fallbacks",
            "for-model",
            "force",
            "format",
            "from",
            "here",
            "http",
            "identity",
            "documents",
            "important",
            "json",
            "keep",
            "keep-out-of-summaries",
            "key",
            "kind",
            "level",
            "list",
            "messages",
            "metadata",
            "model",
            "name",
            "new-key-file",
            "new-passphrase",
            "no-persist",
            "no-token",
            "no-tools",
            "nodes",
            "now",
            "off",
            "once",
            "output",
            "over-time",
            "project",
            "proof",
            "questions",
            "raw",
            "recipient",
            "reply-tokens",
            "revision",
            "role",
            "root",
            "rotate",
            "salvage",
            "scope",
            "seal",
            "session",
            "since",
            "speaker",
            "state",
            "stdio",
            "strict",
            "summary",
            "system",
        ];
        const AND: [&str; 40] = [
            "add",
            "after",
            "archive",
            "begins",
            "first-word",
            "pin",
            "also-by-person",
            "backup",
            "bytes",
            "days",
            "document",
            "erase",
            "file",
            "help",
            "limit",
            "lost",
            "matching",
            "no-summaries",
            "of",
            "plain",
            "previous",
            "prices",
            "remove",
            "replaced",
            "source",
            "tag",
            "title",
            "to",
            "trust",
            "turn",
            "unarchive",
            "undo",
            "unimportant",
            "unpin",
            "untag",
            "until",
            "verify",
            "version",
            "whole",
            "yes",
        ];
        fn longs(command: &Command, found: &mut BTreeSet<String>) {
            found.extend(command.get_arguments().filter_map(Arg::get_long).map(str::to_owned));
            command.get_subcommands().for_each(|command| longs(command, found));
        }
        let command = command();
        let keys = keys(&command);
        assert_eq!(
            keys.len(),
            [TOP].into_iter().chain(OF_COMMANDS.map(|(_, names)| names)).flat_map(|names| names.split(' ')).count()
        );
        let decided: BTreeSet<_> = keys.iter().map(|key| key.name).chain(OF_A_CALL).chain(AND).collect();
        let mut all = BTreeSet::new();
        longs(&command, &mut all);
        let undecided: Vec<_> = all.iter().filter(|long| !decided.contains(long.as_str())).collect();
        assert!(undecided.is_empty(), "a key of the configuration, or of one call? {undecided:?}");
    }

    #[test]
    fn kinds_follow_from_the_types_of_options() {
        let command = command();
        let kind = |table: Option<&str>, name: &str| {
            keys(&command).iter().find(|key| key.table == table && key.name == name).unwrap().kind()
        };
        assert_eq!(kind(None, "words-only"), Kind::Switch);
        assert_eq!(kind(None, "plain-http"), Kind::Switch);
        assert_eq!(kind(None, "lock-timeout"), Kind::Whole);
        assert_eq!(kind(None, "min-score"), Kind::Number);
        assert_eq!(kind(None, "vectors"), Kind::Text);
        assert_eq!(kind(None, "plugins"), Kind::List);
        assert_eq!(kind(None, "manager-settings"), Kind::Table);
        assert_eq!(kind(Some("search"), "limit"), Kind::Whole);
        assert_eq!(kind(Some("watch"), "every"), Kind::Whole);
    }
}
