//! Lets the user edit a text in the editor of the environment.

use std::{
    env, fs,
    io::Write,
    process::{Command, ExitStatus},
};

use anyhow::Context as _;

use crate::failure::Usage;

/// Opens the editor with a text. Returns the saved text without its last line end; `None` if it is unchanged.
///
/// # Errors
/// If no editor can be started, or it fails.
pub(crate) fn edit(before: &str) -> anyhow::Result<Option<String>> {
    let mut file = tempfile::Builder::new().prefix("memory-").suffix(".txt").tempfile().context("no temporary file")?;
    writeln!(file, "{before}").context("cannot write the text for the editor")?;
    let editor =
        ["VISUAL", "EDITOR"].into_iter().filter_map(|name| env::var(name).ok()).find(|it| !it.trim().is_empty());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let status = start(&editor, file.path()).with_context(|| format!("cannot start the editor `{editor}`"))?;
    if !status.success() {
        return Err(Usage(format!("the editor `{editor}` ended with {status}: nothing was recorded")).into());
    }
    // The file is read by its name, since an editor may have replaced it.
    let after = fs::read_to_string(file.path()).context("cannot read what the editor saved")?;
    let after = after.strip_suffix('\n').unwrap_or(&after);
    Ok((after != before).then(|| after.to_owned()))
}

/// Starts the editor by the shell, as other programs do, since it may have arguments, as in `code --wait`.
#[cfg(unix)]
fn start(editor: &str, file: &std::path::Path) -> std::io::Result<ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("memory").arg(file).status()
}

#[cfg(not(unix))]
fn start(editor: &str, file: &std::path::Path) -> std::io::Result<ExitStatus> {
    let mut words = editor.split_whitespace();
    Command::new(words.next().unwrap_or("notepad")).args(words).arg(file).status()
}
