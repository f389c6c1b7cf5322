//! One grammar for all commands: a conversation is the first argument or follows `-c`, and a question needs no quotes.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

/// Value names of arguments that are numbers, which no conversation's name has to be mistaken for.
const NUMBERS: [&str; 3] = ["NODE", "NUMBER", "FIRST-LAST"];
/// Value names of arguments that are sentences.
const SENTENCES: [&str; 2] = ["QUESTION", "PATTERN"];

/// The arguments in the form that the command declares: a conversation before numbers goes to `-c`, one behind `-c` to
/// the first argument of a command that has no such option, and the words of a question become one argument.
///
/// A conversation whose name is a number is named by `-c` where numbers follow.
pub(super) fn uniform(args: &[OsString], program: &Command) -> Vec<OsString> {
    let mut args = args.to_vec();
    let (mut command, mut first) = (program, 1);
    let mut given = Given::of(&args, first, program, command);
    while let Some(&at) = given.positionals.first()
        && let Some(next) = args.get(at).and_then(|name| command.find_subcommand(name))
    {
        (command, first) = (next, at + 1);
        given = Given::of(&args, first, program, command);
    }
    let declared: Vec<&Arg> = command.get_positionals().collect();
    let is_named = |arg: &&Arg, names: &[&str]| value_name(arg).is_some_and(|name| names.contains(&name));
    if declared.iter().any(|arg| is_named(arg, &["CONVERSATION"])) {
        if let Some((at, count, value)) = given.conversation {
            args.drain(at..at + count);
            args.insert(first, value);
        }
    } else if declared.iter().any(|arg| is_named(arg, &SENTENCES)) {
        if let Some((&at, rest)) = given.positionals.split_first() {
            let words: Vec<_> = given.positionals.iter().filter_map(|at| args.get(*at).cloned()).collect();
            rest.iter().rev().for_each(|at| drop(args.remove(*at)));
            args.get_mut(at).into_iter().for_each(|arg| *arg = words.join(OsStr::new(" ")));
        }
    } else if declared.iter().all(|arg| is_named(arg, &NUMBERS)) && takes_conversation(command) {
        let least = declared.iter().filter(|arg| arg.is_required_set()).count();
        let name = given.positionals.first().copied().filter(|_| given.conversation.is_none());
        let is_name = |at: &usize| {
            let starts_with_digit =
                args.get(*at).is_some_and(|arg| arg.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()));
            !starts_with_digit || declared.is_empty() || least > 0 && given.positionals.len() > declared.len()
        };
        if let Some(at) = name.filter(is_name) {
            args.insert(at, "-c".into());
        }
    }
    args
}

/// True if a command has the option `-c` for one conversation.
fn takes_conversation(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_short() == Some('c') && matches!(arg.get_action(), ArgAction::Set))
}

fn value_name(arg: &Arg) -> Option<&str> {
    Some(arg.get_value_names()?.first()?.as_str())
}

/// The arguments of a command as they were given.
#[derive(Default)]
struct Given {
    /// Indices of arguments that belong to no option.
    positionals: Vec<usize>,
    /// Index and number of the arguments of `-c`, and its value.
    conversation: Option<(usize, usize, OsString)>,
}

impl Given {
    fn of(args: &[OsString], first: usize, program: &Command, command: &Command) -> Self {
        let mut given = Self::default();
        let mut at = first;
        while let Some(arg) = args.get(at) {
            let text = arg.to_string_lossy();
            if text == "--" {
                given.positionals.extend(at + 1..args.len());
                break;
            }
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                given.positionals.extend((!text.is_empty()).then_some(at));
                at += 1;
                continue;
            };
            let (name, inline) = match option.strip_prefix('-') {
                Some(long) => long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))),
                None => option.split_at_checked(1).map_or((option, None), |(name, value)| (name, Some(value))),
            };
            let inline = inline.filter(|value| !value.is_empty());
            let is_short = !option.starts_with('-');
            let is_it = |arg: &&Arg| match is_short {
                true => arg.get_short().is_some_and(|short| name.starts_with(short)),
                false => arg.get_long() == Some(name),
            };
            let known = command.get_arguments().chain(program.get_arguments()).find(is_it);
            // Commands that take the conversation first have no such option.
            let is_conversation = is_short && name == "c" || name == "conversation";
            let takes_next = inline.is_none() && (is_conversation || known.is_some_and(takes_value));
            let count = 1 + usize::from(takes_next);
            if is_conversation {
                let value = inline.map(OsString::from).or_else(|| args.get(at + 1).cloned());
                given.conversation = value.map(|value| (at, count, value));
            }
            at += count;
        }
        given
    }
}

/// True if an option is followed by a value.
fn takes_value(arg: &Arg) -> bool {
    let least = arg.get_num_args().map_or(1, |values| values.min_values());
    arg.get_action().takes_values() && !arg.is_require_equals_set() && least > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn uniform_line(line: &[&str]) -> Vec<String> {
        let args: Vec<_> = line.iter().map(OsString::from).collect();
        uniform(&args, &command()).into_iter().map(|arg| arg.into_string().unwrap()).collect()
    }

    #[test]
    fn a_conversation_is_named_first_or_by_an_option_everywhere() {
        for (given, meant) in [
            (vec!["memory", "expand", "trip", "1"], vec!["memory", "expand", "-c", "trip", "1"]),
            (vec!["memory", "--json", "expand", "2024", "1"], vec!["memory", "--json", "expand", "-c", "2024", "1"]),
            (vec!["memory", "expand", "1", "-c", "trip"], vec!["memory", "expand", "1", "-c", "trip"]),
            (
                vec!["memory", "browse", "trip", "--level", "meta"],
                vec!["memory", "browse", "-c", "trip", "--level", "meta"],
            ),
            (vec!["memory", "summaries", "trip"], vec!["memory", "summaries", "-c", "trip"]),
            (vec!["memory", "disable", "trip", "5-7"], vec!["memory", "disable", "-c", "trip", "5-7"]),
            (
                vec!["memory", "--store", "s", "pin", "-c", "trip", "3"],
                vec!["memory", "--store", "s", "pin", "trip", "3"],
            ),
            (vec!["memory", "show", "-ctrip", "1-4"], vec!["memory", "show", "trip", "1-4"]),
            (vec!["memory", "title", "New", "--conversation=trip"], vec!["memory", "title", "trip", "New"]),
            (vec!["memory", "show", "trip", "1-4"], vec!["memory", "show", "trip", "1-4"]),
        ] {
            assert_eq!(uniform_line(&given), meant, "{given:?}");
            assert!(command().try_get_matches_from(&meant).is_ok(), "{meant:?}");
        }
    }

    #[test]
    fn words_without_quotes_are_one_question() {
        let given = ["memory", "search", "when", "does", "-c", "trip", "it", "--limit", "3", "leave?"];
        assert_eq!(uniform_line(&given), ["memory", "search", "when does it leave?", "-c", "trip", "--limit", "3"]);
        let given = ["memory", "context", "-c", "trip", "--", "-5 degrees?"];
        assert_eq!(uniform_line(&given), given);
    }

    #[test]
    fn what_is_written_to_a_conversation_needs_its_quotes() {
        let given = ["memory", "append", "trip", "The train leaves."];
        assert_eq!(uniform_line(&given), given);
        assert!(command().try_get_matches_from(given).is_err());
    }
}
