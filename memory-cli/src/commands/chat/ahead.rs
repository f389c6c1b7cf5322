//! Keys that are pressed while an answer is shown: the terminal keeps them quiet, and they stand in the editor after it.

/// Text that was typed or pasted during an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(super) text: String,
    /// True if the end of a pasted text did not arrive, or there was too much of it.
    pub(super) is_cut: bool,
}

/// Begin and end of a pasted text, as terminals mark them.
const PASTED: [&str; 2] = ["\u{1b}[200~", "\u{1b}[201~"];

impl Typed {
    /// Reads keys as an editor would: those that erase do so, and those that move the cursor do nothing.
    fn of(bytes: &[u8]) -> Self {
        let keys = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
        let [begin, end] = PASTED;
        let mut typed = Self::default();
        let mut rest = keys.as_str();
        while let Some(c) = rest.chars().next() {
            if let Some(pasted) = rest.strip_prefix(begin) {
                let (pasted, after) = pasted.split_once(end).unwrap_or_else(|| {
                    typed.is_cut = true;
                    (pasted, "")
                });
                typed.text.push_str(pasted);
                rest = after;
                continue;
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            match c {
                '\u{1b}' => rest = after_escape(rest),
                '\u{8}' | '\u{7f}' => drop(typed.text.pop()),
                // Ctrl-U and Ctrl-W.
                '\u{15}' => typed.keep_up_to(|c| c == '\n'),
                '\u{17}' => {
                    typed.text.truncate(typed.text.trim_end().len());
                    typed.keep_up_to(char::is_whitespace);
                }
                '\n' | '\t' => typed.text.push(c),
                c if c.is_control() => {}
                c => typed.text.push(c),
            }
        }
        // A line that was finished is sent by the next Enter, after its writer has seen it.
        typed.text.truncate(typed.text.trim_end_matches('\n').len());
        typed
    }

    /// Drops the text after the last character that `is_kept`.
    fn keep_up_to(&mut self, is_kept: impl Fn(char) -> bool) {
        let end = self.text.char_indices().rev().find(|(_, c)| is_kept(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        self.text.truncate(end);
    }
}

/// The keys after one that begins with an escape character.
fn after_escape(rest: &str) -> &str {
    let (rest, is_last): (_, fn(char) -> bool) = match rest.strip_prefix('[') {
        Some(rest) => (rest, |c| ('@'..='~').contains(&c)),
        None => (rest.strip_prefix('O').unwrap_or(rest), |_| true),
    };
    rest.split_once(is_last).map_or("", |(_, after)| after)
}

#[cfg(unix)]
pub(crate) use unix::{Quiet, is_ready};

#[cfg(unix)]
mod unix {
    use std::{
        io::{self, IsTerminal as _},
        time::Duration,
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::{Errno, read},
        termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
    };

    use super::{PASTED, Typed};
    use crate::terminal;

    /// Wait for the next piece of a pasted text that has begun, and of one that may follow.
    const PATIENCE: Duration = Duration::from_secs(1);
    const MOMENT: Duration = Duration::from_millis(20);
    /// Most bytes of keys during an answer.
    const MOST: usize = 1 << 20;

    /// A terminal that echoes no key and keeps each, until [`end`](Self::end).
    #[derive(Debug)]
    pub(crate) struct Quiet {
        before: Termios,
    }

    impl Quiet {
        /// `None` where nobody types.
        pub(crate) fn begin() -> Option<Self> {
            if !io::stdin().is_terminal() || !terminal::To::Output.is_terminal() {
                return None;
            }
            let before = tcgetattr(io::stdin()).ok()?;
            let mut quiet = before.clone();
            // A terminal in lines would drop all of a line beyond 4,096 bytes.
            quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            // Ctrl-C would take the keys before it along.
            quiet.local_modes.insert(LocalModes::NOFLSH);
            tcsetattr(io::stdin(), OptionalActions::Drain, &quiet).ok()?;
            drop(terminal::mark_pastes(true));
            Some(Self { before })
        }

        /// Takes the keys so far, and makes the terminal as it was.
        pub(crate) fn end(self) -> Typed {
            let (mut bytes, mut is_cut) = (Vec::new(), false);
            let mut piece = [0; 4_096];
            while is_ready(if is_in_paste(&bytes) { PATIENCE } else { MOMENT }) {
                let Ok(count @ 1..) = read(io::stdin(), &mut piece) else { break };
                is_cut |= bytes.len() + count > MOST;
                bytes.extend(piece.iter().take(count).take(MOST - bytes.len()));
            }
            self.restore();
            let typed = Typed::of(&bytes);
            Typed { is_cut: is_cut || typed.is_cut, ..typed }
        }

        /// Makes the terminal as it was.
        pub(crate) fn restore(&self) {
            drop(terminal::mark_pastes(false));
            tcsetattr(io::stdin(), OptionalActions::Drain, &self.before).unwrap_or_default();
        }
    }

    /// True once standard input has bytes, or its end; `false` after `patience`.
    pub(crate) fn is_ready(patience: Duration) -> bool {
        let stdin = io::stdin();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        let Ok(most) = Timespec::try_from(patience) else { return false };
        loop {
            match poll(&mut asked, Some(&most)) {
                Err(Errno::INTR) => {}
                ready => return ready.is_ok_and(|ready| ready > 0),
            }
        }
    }

    /// True if a pasted text has begun and not ended.
    fn is_in_paste(bytes: &[u8]) -> bool {
        let [begin, end] = PASTED.map(|mark| bytes.windows(mark.len()).rposition(|at| at == mark.as_bytes()));
        begin > end
    }
}

#[cfg(not(unix))]
pub(crate) const fn is_ready(_: std::time::Duration) -> bool {
    false
}

/// A terminal whose keys only the editor reads.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) enum Quiet {}

#[cfg(not(unix))]
impl Quiet {
    pub(super) const fn begin() -> Option<Self> {
        None
    }

    pub(super) fn end(self) -> Typed {
        match self {}
    }

    pub(super) fn restore(&self) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &str, text: &str, is_cut: bool) {
        assert_eq!(Typed::of(keys.as_bytes()), Typed { text: text.to_owned(), is_cut });
    }

    #[test]
    fn keys_give_the_text_that_an_editor_would() {
        check("And tea\u{7f}\u{7f}\u{7f}coffee?\n", "And coffee?", false);
        check("one\ntwo\n", "one\ntwo", false);
        check("one\nno\u{15}two three\u{17}four\u{1b}[D\u{1b}OA\u{1b}b\u{4}\t.", "one\ntwo four\t.", false);
        check("grüß\u{7f}", "grü", false);
    }

    #[test]
    fn a_pasted_text_is_kept_whole_and_one_without_its_end_is_cut() {
        let [begin, end] = PASTED;
        check(&format!("See: {begin}a\r  b\r\r{end} ok\r"), "See: a\n  b\n\n ok", false);
        check(&format!("{begin}only the firs"), "only the firs", true);
    }
}
