//! Pager (`MEMORY_PAGER`, `PAGER`, else `less`) for an output that is longer than the screen.

use std::{
    env,
    io::{self, Write as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use signal_hook::{consts::SIGINT, flag};
use textwrap::core::display_width;

/// Options of `less` where the user sets none, as git sets them: colours, and the text stays on the screen.
const LESS: &str = "FRX";

static OUTPUT: Mutex<Output> = Mutex::new(Output::Plain);

/// Way of the command's output.
#[derive(Debug)]
enum Output {
    /// To standard output.
    Plain,
    /// Held until it ends or the screen is full.
    Held(Held),
    /// To a pager.
    Paged(Child),
}

/// The begin of an output, no longer than the screen.
#[derive(Debug)]
struct Held {
    text: String,
    rows: usize,
    /// Columns and rows of the screen.
    screen: (usize, usize),
    /// The pager and its arguments.
    pager: String,
}

/// Has the output shown by a pager if it gets longer than the screen and a person is there who wants one.
pub(crate) fn begin() {
    let pager = ["MEMORY_PAGER", "PAGER"].into_iter().find_map(|name| env::var(name).ok());
    let pager = pager.unwrap_or_else(|| "less".to_owned());
    let is_wanted = !["", "cat"].contains(&pager.trim()) && super::can_be_drawn_on();
    let screen = terminal_size::terminal_size().map(|(columns, rows)| (columns.0.into(), rows.0.into()));
    if let Some(screen) = screen.filter(|_| is_wanted) {
        *output() = Output::Held(Held { text: String::new(), rows: 0, screen, pager });
    }
}

/// Writes lines on their way.
pub(super) fn write(lines: &str) -> io::Result<()> {
    let mut output = output();
    match &mut *output {
        Output::Plain => writeln!(io::stdout().lock(), "{lines}"),
        Output::Paged(pager) => pager.stdin.as_mut().map_or(Ok(()), |pager| writeln!(pager, "{lines}")),
        Output::Held(held) => {
            if held.add(lines) {
                return Ok(());
            }
            let text = std::mem::take(&mut held.text);
            let pager = start(&held.pager);
            *output = pager.map_or(Output::Plain, Output::Paged);
            drop(output);
            write(text.trim_end_matches('\n'))
        }
    }
}

/// Writes what is held, or waits until the person leaves the pager.
pub(crate) fn end() -> io::Result<()> {
    let before = std::mem::replace(&mut *output(), Output::Plain);
    match before {
        Output::Plain => Ok(()),
        Output::Held(held) => io::stdout().lock().write_all(held.text.as_bytes()),
        // Waiting closes the standard input of the pager, which is its end of the text.
        Output::Paged(mut pager) => pager.wait().map(drop),
    }
}

impl Held {
    /// Adds lines; false if they fill the screen, whose last row is the prompt's.
    fn add(&mut self, lines: &str) -> bool {
        let (columns, rows) = self.screen;
        self.text.push_str(lines);
        self.text.push('\n');
        self.rows += lines.split('\n').map(|line| display_width(line).div_ceil(columns).max(1)).sum::<usize>();
        self.rows < rows
    }
}

/// Starts the pager. Ctrl-C is the pager's from then on.
fn start(pager: &str) -> io::Result<Child> {
    let mut words = pager.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let pager = command.args(words).stdin(Stdio::piped()).spawn()?;
    flag::register(SIGINT, Arc::default())?;
    Ok(pager)
}

fn output() -> MutexGuard<'static, Output> {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_full_before_its_last_row_and_a_long_line_takes_several() {
        let held = || Held { text: String::new(), rows: 0, screen: (10, 4), pager: String::new() };
        let fits = |lines: &[&str]| {
            lines.iter().fold((held(), true), |(mut held, _), line| {
                let fits = held.add(line);
                (held, fits)
            })
        };
        assert!(fits(&["a", "b", "c"]).1 && fits(&["a\nb\n"]).1 && fits(&["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]).1);
        assert!(!fits(&["a", "b", "c", "d"]).1 && !fits(&["日本語日本語", "b", "c"]).1);
        assert_eq!(fits(&["a\nb", "c"]).0.text, "a\nb\nc\n");
    }
}
