//! Lines of the user: edited on a terminal, or read one by one.

use std::{
    borrow::Cow,
    io::{self, BufRead as _, IsTerminal as _},
};

use memory_core::text::is_hidden;
use rustyline::{
    Config, Context, Editor,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::MemHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};

use super::bang;
use crate::{output::Output, terminal::To};

/// The mark of the user's lines, and that of lines of which nothing is kept.
const PROMPT: &str = "> ";
const NOT_KEPT: &str = "(not kept) > ";
/// Sign at the end of a line that goes on in the next.
const GOES_ON: char = '\\';

/// An input of the user.
pub(super) enum Entered {
    Text(String),
    /// Ctrl-C, which dropped the line.
    Interrupt,
    End,
}

/// Source of the user's lines.
pub(super) enum Input {
    Edited(Box<Editor<Line, MemHistory>>),
    /// Lines of a script, which are repeated in the output.
    Read,
}

impl Input {
    /// Opens the input, with earlier messages for the arrow keys. They come from the log, since a history file would
    /// keep erased messages.
    pub(super) fn open(said: Vec<String>) -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() || !To::Output.is_terminal() {
            return Ok(Self::Read);
        }
        let config = Config::builder().auto_add_history(true).max_history_size(1_000)?.build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        editor.set_helper(Some(Line));
        let mut input = Self::Edited(Box::new(editor));
        input.recall(said)?;
        Ok(input)
    }

    /// Makes these the earlier messages of the arrow keys.
    pub(super) fn recall(&mut self, said: Vec<String>) -> anyhow::Result<()> {
        let Self::Edited(editor) = self else { return Ok(()) };
        editor.clear_history()?;
        for text in said.into_iter().filter(|text| !text.chars().any(steers_terminal)) {
            editor.add_history_entry(text)?;
        }
        Ok(())
    }

    /// True if no person types.
    pub(super) const fn is_script(&self) -> bool {
        matches!(self, Self::Read)
    }

    /// The next line, which begins with what was `typed` already.
    pub(super) fn next(&mut self, typed: &str, is_kept_nowhere: bool) -> anyhow::Result<Entered> {
        let prompt = if is_kept_nowhere { NOT_KEPT } else { PROMPT };
        let text = match self {
            Self::Edited(editor) => match editor.readline_with_initial(prompt, (typed, "")) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => return Ok(Entered::Interrupt),
                Err(ReadlineError::Eof) => return Ok(Entered::End),
                Err(error) => return Err(error.into()),
            },
            Self::Read => match read()? {
                Some(line) => {
                    Output { json: false }.text(&format!("{prompt}{line}"))?;
                    line
                }
                None => return Ok(Entered::End),
            },
        };
        Ok(Entered::Text(text.replace("\\\n", "\n").trim().to_owned()))
    }

    /// True if the user agrees to an act that cannot be undone. A script never does.
    pub(super) fn agrees(&mut self) -> anyhow::Result<bool> {
        match self {
            Self::Edited(editor) => {
                Ok(editor.readline("Type `erase` to erase it: ").is_ok_and(|line| line.trim() == "erase"))
            }
            Self::Read => Ok(false),
        }
    }
}

/// Next line of a script, joined with those that continue it.
fn read() -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        let before = text.len();
        if io::stdin().lock().read_line(&mut text)? == 0 {
            return Ok((before > 0).then_some(text));
        }
        let end = text.trim_end_matches(['\n', '\r']).len();
        text.truncate(end);
        if !text.ends_with(GOES_ON) {
            return Ok(Some(text));
        }
        text.push('\n');
    }
}

/// A line that is edited.
pub(super) struct Line;

impl rustyline::Helper for Line {}

impl Validator for Line {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with(GOES_ON);
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Line {
    type Hint = String;
}

impl Completer for Line {
    type Candidate = String;

    fn complete(&self, line: &str, _: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let names = bang::names().filter(|name| line.starts_with('!') && name.starts_with(line));
        Ok((0, names.map(|name| format!("{name} ")).collect()))
    }
}

/// True for a character that a terminal might obey.
fn steers_terminal(c: char) -> bool {
    c != '\n' && is_hidden(c)
}

impl Highlighter for Line {
    /// The line without characters that steer the terminal, which pasted text may hold.
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match line.chars().any(steers_terminal) {
            false => Cow::Borrowed(line),
            true => line.chars().map(|c| if steers_terminal(c) { '\u{fffd}' } else { c }).collect(),
        }
    }

    fn highlight_char(&self, line: &str, _: usize, _: rustyline::highlight::CmdKind) -> bool {
        line.chars().any(steers_terminal)
    }
}
