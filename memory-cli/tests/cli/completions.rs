//! Completions and pages of the manual, by the programs that read them where these are here.
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use crate::support::{Store, commands, failure, memory, success};

/// True if a program can be run; a test that needs it ends early without it.
fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_completion_of_bash_loads_and_completes_commands_options_and_values() {
    let store = Store::new();
    let script = store.file("memory.bash", &success(memory().args(["completions", "bash"])));
    if !is_here("bash") {
        return;
    }
    let complete = |words: &[&str]| {
        let last = words.len() - 1;
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let program = format!(
            "set -e; source '{script}'; COMP_WORDS=({}); COMP_CWORD={last}; _memory memory '{}' '{}'; printf '%s\\n' \
             \"${{COMPREPLY[@]}}\"; complete -p memory",
            quoted.join(" "),
            words.last().unwrap(),
            words.get(last - 1).unwrap(),
        );
        success(Command::new("bash").args(["--norc", "-c", &program]))
    };
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let found = lines(complete(&["memory", "sea"]));
    assert_eq!(found.first().unwrap(), "search");
    assert!(found.iter().any(|line| line.starts_with("complete ") && line.ends_with(" memory")), "{found:?}");
    assert_eq!(lines(complete(&["memory", "model", "fe"])).first().unwrap(), "fetch");
    assert_eq!(lines(complete(&["memory", "search", "--neigh"])).first().unwrap(), "--neighbours");
    assert_eq!(lines(complete(&["memory", "mcp", "--profile", "com"])).first().unwrap(), "compact");
}

#[test]
fn every_shell_has_a_completion_of_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = success(memory().args(["completions", shell]));
        for command in commands() {
            let name = command.rsplit(' ').next().unwrap();
            assert!(script.contains(name), "{shell} lacks {command}");
        }
    }
    failure(memory().args(["completions", "tcsh"]), 2);
}

/// Every line that begins with a dot is a request that the macros of `man` know.
fn check_roff(name: &str, page: &str) {
    const KNOWN: [&str; 9] = [".ie", ".el", ".TH", ".SH", ".TP", ".PP", ".RS", ".RE", ".IP"];
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split(' ').next().unwrap();
        assert!(KNOWN.contains(&request) || request == ".br", "{name}: {line}");
    }
    assert_eq!(page.matches(".TH ").count(), 1, "{name}");
    for section in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
        assert!(page.contains(section), "{name} lacks {section}");
    }
}

#[test]
fn every_command_has_a_page_of_the_manual_that_renders_without_a_warning() {
    let store = Store::new();
    let said = success(memory().args(["man", "--to", &store.path("man1")]));
    let mut pages: Vec<_> = fs::read_dir(store.path("man1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(said.starts_with(&format!("{} pages", pages.len())), "{said}");
    for command in commands() {
        let name = format!("memory-{}.1", command.replace(' ', "-"));
        assert!(pages.iter().any(|page| page.ends_with(&name)), "no page {name}");
    }
    let has_groff = is_here("groff");
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        check_roff(&page.display().to_string(), &text);
        if has_groff {
            let output = Command::new("groff").args(["-man", "-ww", "-z", "-Tutf8"]).arg(page).output().unwrap();
            let warned = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && warned.is_empty(), "{}: {warned}", page.display());
        }
    }
    // Written again in their place.
    success(memory().args(["man", "--to", &store.path("man1")]));
}

#[test]
fn a_page_is_printed_by_the_words_of_its_command() {
    let page = success(memory().args(["man", "model", "fetch"]));
    assert_eq!(page.trim_end(), fs_page(&["model", "fetch"]));
    assert!(failure(memory().args(["man", "no", "such"]), 3).contains("no such"));
    if !is_here("groff") {
        return;
    }
    let mut groff = Command::new("groff");
    let mut child =
        groff.args(["-man", "-Tascii", "-P-cbou"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(success(memory().arg("man")).as_bytes()).unwrap();
    let shown = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    for expected in ["NAME", "memory - An agent's memory", "EXIT STATUS", "FILES", "MEMORY_STORE", "memory-search(1)"] {
        assert!(shown.contains(expected), "no {expected}: {shown}");
    }
}

fn fs_page(names: &[&str]) -> String {
    let store = Store::new();
    success(memory().args(["man", "--to", &store.path("man1")]));
    let name = format!("man1/memory-{}.1", names.join("-"));
    let text = fs::read_to_string(store.path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.trim_end().to_owned()
}
