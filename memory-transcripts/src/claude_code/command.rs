//! Text that the program writes into user messages: its own commands and their output.

use memory_core::ContentBlock;

/// Tags around a command, its output, and news for the model.
#[rustfmt::skip]
const TAGS: [&str; 8] = [
    "<command-name>", "<command-message>", "<command-args>", "<command-contents>", "<local-command-stdout>",
    "<local-command-stderr>", "<local-command-caveat>", "<task-notification>",
];

/// Commands that configure the program; their arguments are not addressed to the model.
#[rustfmt::skip]
const SETTINGS: [&str; 22] = [
    "add-dir", "agents", "clear", "color", "config", "context", "copy", "effort", "exit", "export", "fast", "login",
    "mcp", "memory", "model", "output-style", "permissions", "plugin", "quit", "rename", "resume", "theme",
];

/// Origin of the text of a user message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// A person wrote it.
    None,
    /// The program wrote it.
    Note,
    /// A command with a person's words after it, as typed: `/review the parser`.
    Typed(String),
}

/// Distinguishes a command from a person's words.
pub(super) fn command(blocks: &[ContentBlock]) -> Command {
    let mut texts = blocks.iter().map(|block| match block {
        ContentBlock::Text(text) => Some(text.trim()),
        _ => None,
    });
    let is_command = |text: &str| TAGS.iter().any(|tag| text.starts_with(tag));
    if blocks.is_empty() || !texts.clone().all(|text| text.is_some_and(is_command)) {
        return Command::None;
    }
    let typed = texts.find_map(|text| {
        let name = inner(text?, "command-name")?.trim_start_matches('/');
        let args = inner(text?, "command-args").filter(|args| !args.is_empty())?;
        (!SETTINGS.contains(&name)).then(|| format!("/{name} {args}"))
    });
    typed.map_or(Command::Note, Command::Typed)
}

fn inner<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_note_and_the_words_after_it_are_the_persons() {
        let check = |text: &str, expected: Command| {
            assert_eq!(command(&[ContentBlock::Text(text.to_owned())]), expected, "{text}");
        };
        check("<command-name>/exit</command-name>\n<command-args></command-args>", Command::Note);
        check("<local-command-stdout>Bye!</local-command-stdout>", Command::Note);
        check("<command-name>/model</command-name><command-args>opus</command-args>", Command::Note);
        check(
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the parser</command-args>",
            Command::Typed("/review the parser".to_owned()),
        );
        check("What does <command-name> mean?", Command::None);
        assert_eq!(command(&[]), Command::None);
    }
}
