//! The program's own path, as it was called, and the commands that call it.

use std::{
    env, fs,
    path::{self, Path, PathBuf},
};

use anyhow::Context as _;

use super::Agent;

/// Options of the installed calls.
const OPTIONS: [&str; 3] = ["--config", "--store", "--owner"];

/// The program as this call found it. A link stays a link: its target may go with the next version.
pub(in crate::commands) fn own_path() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("cannot find this program's own path")?;
    let called = env::args_os().next().and_then(|called| as_called(Path::new(&called), &program));
    Ok(called.unwrap_or(program))
}

/// The path by which a program was called, if it leads to `program`.
fn as_called(called: &Path, program: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(program).ok()?;
    let leads_there = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|leads| leads == real);
    if called.components().count() > 1 {
        return path::absolute(called).ok().filter(leads_there);
    }
    let found = env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(called)).find(leads_there)?;
    path::absolute(found).ok()
}

/// True if a command is an installed call, with any path, store and owner: `PROGRAM --store DIR hook AGENT` and nothing
/// else. A command of a person that does more is the person's.
pub(in crate::commands) fn is_call(command: &str, agent: Agent, own: &Path) -> bool {
    let Some(words) = words(command) else { return false };
    let [program, options @ .., hook, named] = words.as_slice() else { return false };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_own = own.file_name().is_some_and(|own| own == name);
    // A name with a version, such as `memory-0.2`.
    let version = name.strip_prefix("memory-").and_then(|rest| rest.strip_prefix('v').or(Some(rest)));
    let is_version = version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    let is_ours = is_own || is_version || matches!(name, "memory" | "memory.exe");
    let are_options = options.len() % 2 == 0
        && options.chunks(2).all(|pair| matches!(pair, [name, _] if OPTIONS.contains(&name.as_str())));
    is_ours && are_options && hook == "hook" && named == agent.as_str()
}

/// The words of a command as a POSIX shell reads them; `None` if the command is more than words, such as `a && b`.
pub(in crate::commands) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' | '\n' | '\r' | '*' | '?' | '#' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_call_of_this_program_is_ours() {
        let check = |command: &str, expected: bool| {
            let is_ours = is_call(command, Agent::ClaudeCode, Path::new("/opt/my-memory"));
            assert_eq!(is_ours, expected, "{command}");
        };
        check("/usr/bin/memory hook claude-code", true);
        check("memory hook claude-code", true);
        check("/opt/memory-0.1 hook claude-code", true);
        check("/opt/my-memory --owner ana hook claude-code", true);
        check(r"'/opt/Ana B/it'\''s/memory' --store '/a b' --owner ana hook claude-code", true);
        check("/usr/bin/memory hook codex", false);
        check("/usr/bin/memory hook claude-code --budget 100", false);
        check("echo memory hook claude-code", false);
        check("other-memory hook claude-code", false);
        check("memory-hook hook claude-code", false);
        check("cd /x && /opt/memory hook claude-code", false);
        check("MEMORY_LOG=debug memory hook claude-code", false);
        check("memory hook claude-code; true", false);
        check("memory hook claude-code 2>/dev/null", false);
        check("", false);
    }
}
