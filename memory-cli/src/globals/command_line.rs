//! The command line that reaches the same store again, for a shell.

use std::{borrow::Cow, path};

use clap::parser::ValueSource;

use super::GlobalArgs;
use crate::config_file::{Choice, NONE};

impl super::Globals {
    /// `program` with the configuration file, the store and the owner that were named for this call. Settings of that
    /// file are left out: the other call reads it.
    pub(crate) fn command_line(&self, program: &str) -> String {
        let GlobalArgs { store, owner, .. } = &self.args;
        let mut words = vec![quoted(program).into_owned()];
        let named = match &self.file.choice {
            Choice::Named(path) => Some(path.display().to_string()),
            Choice::Off if self.matches.value_source("config") == Some(ValueSource::CommandLine) => {
                Some(NONE.to_owned())
            }
            Choice::Off | Choice::Default(_) => None,
        };
        if let Some(named) = named {
            words.extend(["--config".to_owned(), quoted(&named).into_owned()]);
        }
        if let Some(store) = store.as_ref().filter(|_| !self.is_of_the_file("store")) {
            // Another call has another working directory.
            let place = path::absolute(store).ok().filter(|_| !store.contains("://"));
            let place = place.map_or_else(|| store.clone(), |place| place.display().to_string());
            words.extend(["--store".to_owned(), quoted(&place).into_owned()]);
        }
        if let Some(owner) = owner.as_ref().filter(|_| !self.is_of_the_file("owner")) {
            words.extend(["--owner".to_owned(), quoted(owner.as_str()).into_owned()]);
        }
        words.join(" ")
    }
}

/// A word that a POSIX shell reads as this text.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_a_quoted_word_as_the_text() {
        assert_eq!(quoted("/usr/bin/memory"), "/usr/bin/memory");
        assert_eq!(quoted("/opt/Ana B/it's; rm -rf $X"), r"'/opt/Ana B/it'\''s; rm -rf $X'");
        assert_eq!(quoted(""), "''");
    }
}
