//! The commands of the README, run as they stand there, in its order.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{env, fs, path::Path, process::Command};

const README: &str = include_str!("../../../README.md");

/// The lines behind `$ ` in the blocks of a terminal that run the binary.
fn commands() -> Vec<&'static str> {
    let blocks = README.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let of_binary = blocks.filter(|block| block.contains("$ memory "));
    of_binary.flat_map(str::lines).map(|line| line.strip_prefix("$ ").unwrap()).collect()
}

/// A new user with nothing but the binary types them one after the other.
#[test]
fn the_commands_of_the_readme_work_in_its_order() {
    let home = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_memory")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), env::var("PATH").unwrap());
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    let script = format!("set -eu\n{}\n", commands.join("\n"));
    let mut shell = Command::new("sh");
    let variables = env::vars().map(|(name, _)| name).filter(|name| name.starts_with("MEMORY_"));
    variables.for_each(|name| {
        shell.env_remove(name);
    });
    // Recall by words: the README says how a model is fetched.
    shell.env("MEMORY_MODELS", home.path().join("models")).env("HOME", home.path()).env("PATH", path);
    shell.env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME");
    let output = shell.args(["-xc", &script]).current_dir(home.path()).output().unwrap();
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    for expected in ["platform 9", "the proof holds", "nodes, root "] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert!(fs::read_to_string(home.path().join("context.txt")).unwrap().contains("7:42"));
}

#[test]
fn every_command_of_the_binary_in_the_readme_is_run() {
    let run = commands();
    for line in README.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.starts_with("memory ")) {
        assert!(run.contains(&line), "{line} is in no block that is run");
    }
    for name in ["append", "list", "show", "context", "search", "find", "expand", "set", "export"] {
        assert!(
            run.iter()
                .any(|line| line.contains(&format!("memory {name} ")) || line.ends_with(&format!("memory {name}"))),
            "{name}"
        );
    }
}
