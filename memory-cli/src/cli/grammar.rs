//! One grammar for all commands: a conversation is the first argument or follows `-c`, and a text needs no quotes.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

/// Value names of arguments that are numbers, which no conversation's name has to be mistaken for.
const NUMBERS: [&str; 5] = ["NODE", "NUMBER", "FIRST-LAST", "VIEW", "ENTRY"];
/// Value names of arguments that are texts.
const TEXTS: [&str; 6] = ["QUESTION", "PATTERN", "TEXT", "TITLE", "WORDS", "ENTRY|WORDS"];
/// Hidden option for the first of several words, which may name a conversation.
const FIRST_WORD: &str = "first-word";
/// Hidden option: the first word names a conversation, also a new one.
const BEGINS: &str = "begins";

/// The arguments in the form that the command declares: a conversation before numbers goes to `-c`, one behind `-c` to
/// the first argument of a command that has no such option, and the words of a text become one argument. The first of
/// several words goes to a hidden option of commands whose text may follow a conversation: the store says whether it is
/// one.
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
    let leads = declared.first().is_some_and(|arg| is_named(arg, &["CONVERSATION"]));
    if leads && let Some((at, count, value)) = given.conversation.take() {
        args.drain(at..at + count);
        args.insert(first, value);
        given = Given::of(&args, first, program, command);
    }
    let has_only_numbers = declared.first().is_none_or(|arg| is_named(arg, &NUMBERS));
    if has_only_numbers && takes_conversation(command) && given.conversation.is_none() {
        let count = |arg: &&Arg| match arg.get_num_args() {
            _ if is_named(arg, &TEXTS) => usize::MAX,
            values => values.map_or(1, |values| values.max_values()),
        };
        let most = declared.iter().map(count).fold(0, usize::saturating_add);
        let is_name = |at: &usize| {
            let is_number = args.get(*at).is_some_and(|arg| is_number(&arg.to_string_lossy()));
            !is_number || declared.is_empty() || given.positionals.len() > most
        };
        if let Some(at) = given.positionals.first().copied().filter(is_name) {
            args.insert(at, "-c".into());
            given = Given::of(&args, first, program, command);
        }
    }
    with_one_text(args, first, command, &given)
}

/// The arguments with the words of a text as one, and its first word in an option if it may name a conversation.
fn with_one_text(mut args: Vec<OsString>, first: usize, command: &Command, given: &Given) -> Vec<OsString> {
    let declared: Vec<&Arg> = command.get_positionals().collect();
    let before = declared.split_last().filter(|(last, _)| is_named(last, &TEXTS)).map(|(_, before)| before.len());
    let Some(mut words) = before.and_then(|before| given.positionals.get(before..)) else { return args };
    let has = |option: &str| command.get_arguments().any(|arg| arg.get_long() == Some(option));
    let value = |at: &usize| args.get(*at).cloned().unwrap_or_default();
    let is_word = |at: &usize| !value(at).to_string_lossy().contains(char::is_whitespace);
    let (mut options, mut gone) = (Vec::new(), Vec::new());
    if let [name, rest @ ..] = words
        && !rest.is_empty()
        && given.conversation.is_none()
        && has(FIRST_WORD)
        && is_word(name)
    {
        let mut option = OsString::from(format!("--{FIRST_WORD}="));
        option.push(value(name));
        options.push(option);
        // A quoted text after one word.
        options.extend(
            (has(BEGINS) && rest.len() == 1 && !rest.iter().all(is_word)).then(|| format!("--{BEGINS}").into()),
        );
        gone.push(*name);
        words = rest;
    }
    let Some((&at, rest)) = words.split_first() else { return args };
    let text = words.iter().map(value).collect::<Vec<_>>().join(OsStr::new(" "));
    args.get_mut(at).into_iter().for_each(|arg| *arg = text.clone());
    gone.extend(rest);
    gone.sort_unstable();
    gone.into_iter().rev().for_each(|at| drop(args.remove(at)));
    args.splice(first..first, options);
    args
}

fn is_named(arg: &Arg, names: &[&str]) -> bool {
    value_name(arg).is_some_and(|name| names.contains(&name))
}

/// True for the number of a message, a view, a summary or an entry, and for a run of them.
fn is_number(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_one = |text: &str| is_digits(text.strip_prefix(['s', 'v', 'e']).unwrap_or(text));
    match text.split_once(['-', '.']) {
        Some((first, last)) => is_one(first) && is_one(last),
        None => is_one(text),
    }
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
                vec!["memory", "browse", "-c", "trip", "--level", "meta"],
                vec!["memory", "browse", "trip", "--level", "meta"],
            ),
            (vec!["memory", "stats", "--conversation", "trip"], vec!["memory", "stats", "trip"]),
            (vec!["memory", "chat", "-c", "trip"], vec!["memory", "chat", "trip"]),
            (vec!["memory", "replay", "trip", "v1"], vec!["memory", "replay", "-c", "trip", "v1"]),
            (vec!["memory", "replay", "0198f2c4", "1"], vec!["memory", "replay", "-c", "0198f2c4", "1"]),
            (vec!["memory", "replay", "0198f2c4"], vec!["memory", "replay", "-c", "0198f2c4"]),
            (vec!["memory", "replay", "v1"], vec!["memory", "replay", "v1"]),
            (vec!["memory", "expand", "trip", "s5"], vec!["memory", "expand", "-c", "trip", "s5"]),
            (vec!["memory", "summaries", "trip", "s109"], vec!["memory", "summaries", "-c", "trip", "s109"]),
            (
                vec!["memory", "facts", "disable", "trip", "23.2"],
                vec!["memory", "facts", "disable", "-c", "trip", "23.2"],
            ),
            (vec!["memory", "facts", "enable", "e7"], vec!["memory", "facts", "enable", "e7"]),
            (
                vec!["memory", "facts", "correct", "trip", "e7", "at", "noon"],
                vec!["memory", "facts", "correct", "-c", "trip", "e7", "at noon"],
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
    fn words_without_quotes_are_one_text() {
        for (given, meant) in [
            (
                vec!["memory", "search", "when", "does", "-c", "trip", "it", "--limit", "3", "leave?"],
                vec!["memory", "search", "when does it leave?", "-c", "trip", "--limit", "3"],
            ),
            (
                vec!["memory", "context", "-c", "trip", "--", "-5 degrees?"],
                vec!["memory", "context", "-c", "trip", "--", "-5 degrees?"],
            ),
            (vec!["memory", "title", "trip", "To", "the", "north"], vec!["memory", "title", "trip", "To the north"]),
            (
                vec!["memory", "title", "-c", "trip", "To", "the", "north"],
                vec!["memory", "title", "trip", "To the north"],
            ),
            (vec!["memory", "tag", "trip", "long", "term"], vec!["memory", "tag", "trip", "long term"]),
            (
                vec!["memory", "append", "-c", "trip", "It", "leaves."],
                vec!["memory", "append", "-c", "trip", "It leaves."],
            ),
        ] {
            assert_eq!(uniform_line(&given), meant, "{given:?}");
            assert!(command().try_get_matches_from(&meant).is_ok(), "{meant:?}");
        }
    }

    /// The store says whether the first of several words is a conversation.
    #[test]
    fn the_first_word_before_a_text_may_name_a_conversation() {
        for (given, meant) in [
            (vec!["memory", "context", "trip", "when?"], vec!["memory", "context", "--first-word=trip", "when?"]),
            (
                vec!["memory", "find", "--limit", "3", "trip", "a", "-b"],
                vec!["memory", "find", "--first-word=trip", "--limit", "3", "a", "-b"],
            ),
            (
                vec!["memory", "append", "trip", "It leaves."],
                vec!["memory", "append", "--first-word=trip", "--begins", "It leaves."],
            ),
            (vec!["memory", "append", "It", "leaves."], vec!["memory", "append", "--first-word=It", "leaves."]),
            (vec!["memory", "ask", "It leaves.", "or not"], vec!["memory", "ask", "It leaves. or not"]),
            (vec!["memory", "search", "when"], vec!["memory", "search", "when"]),
        ] {
            assert_eq!(uniform_line(&given), meant, "{given:?}");
        }
    }
}
