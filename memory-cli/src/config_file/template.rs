//! The template of a configuration file: every key with its meaning and default, from the options themselves.

use std::fmt::Write as _;

use clap::Command;

use super::keys::{Key, Kind, keys};

const HEAD: &str = "\
# The configuration of `memory`. It holds for every call; a flag comes before an environment variable, that before
# this file, and this file before what is built in. Take the `#` off a line to set its key. The values are those that
# are built in, or examples where it says \"not set\" or \"default\". Below each meaning stand the flag and the variable.
# Paths are relative to the directory of this file, and `~/` is your home.
# Keys, tokens and passwords do not belong here: they come from the environment.
# `memory config check` says what is wrong, `memory config show` what holds and where it comes from.
";

/// Characters of a line of a comment.
const WIDTH: usize = 118;

/// The template for the options of `command`.
pub(crate) fn template(command: &Command) -> String {
    let keys = keys(command);
    let mut out = HEAD.to_owned();
    let is_table = |key: &&Key| matches!(key.kind(), Kind::Table | Kind::Tables);
    for key in keys.iter().filter(|key| key.table.is_none()).filter(|key| !is_table(key)) {
        push(&mut out, key);
    }
    let mut last = None;
    for key in keys.iter().filter(|key| key.table.is_some()) {
        if let Some(table) = key.table.filter(|table| last != Some(*table)) {
            let about = command.find_subcommand(table).and_then(Command::get_about);
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(out, "\n# `memory {table}`{about}\n[{table}]\n");
            last = Some(table);
        }
        push(&mut out, key);
    }
    for key in keys.iter().filter(is_table) {
        comment(&mut out, key);
        let header = if key.kind() == Kind::Tables { format!("{}.NAME", key.name) } else { key.name.to_owned() };
        let _ = writeln!(out, "#[{header}]");
    }
    out
}

fn push(out: &mut String, key: &Key) {
    comment(out, key);
    let _ = writeln!(out, "#{} = {}", key.name, default(key));
}

/// Purpose of a key, and other ways to set it.
fn comment(out: &mut String, key: &Key) {
    let help = key.argument.get_long_help().or_else(|| key.argument.get_help());
    let mut help = match key.kind() {
        Kind::Table => "The settings of the manager, each under its name".to_owned(),
        Kind::Tables => {
            "The configuration of the strategy NAME, for when it is the summarizer or the scorer".to_owned()
        }
        Kind::Switch | Kind::Whole | Kind::Number | Kind::Text | Kind::List => {
            help.map(ToString::to_string).unwrap_or_default()
        }
    };
    let possible = key.argument.get_possible_values();
    if key.kind() == Kind::Text && !possible.is_empty() {
        let names: Vec<_> = possible.iter().map(|value| value.get_name()).collect();
        let _ = write!(help, "; one of {}", names.join(", "));
    }
    let is_table = matches!(key.kind(), Kind::Table | Kind::Tables);
    if !is_table && key.argument.get_default_values().is_empty() && !help.contains("[default:") {
        help.push_str(" [not set]");
    }
    out.push('\n');
    let whole_words = textwrap::Options::new(WIDTH - 2).word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(&help, whole_words) {
        let _ = writeln!(out, "# {line}");
    }
    let value = if key.kind() == Kind::Switch { String::new() } else { format!(" {}", key.value_name()) };
    let variable = key.variable().map(|variable| format!(", {variable}")).unwrap_or_default();
    let _ = writeln!(out, "# --{}{value}{variable}", key.name);
}

/// The default in TOML, or an example of what a key takes that has none.
fn default(key: &Key) -> String {
    let defaults = key.argument.get_default_values();
    let text = defaults.first().and_then(|text| text.to_str());
    match (key.kind(), text) {
        (Kind::Switch | Kind::Whole | Kind::Number, Some(text)) => text.to_owned(),
        (Kind::Text, Some(text)) => quoted(text),
        (Kind::Switch, None) => "false".to_owned(),
        (Kind::Whole, None) => "1000000".to_owned(),
        (Kind::Number, None) => "0.0".to_owned(),
        (Kind::List, _) => format!("[{}]", quoted(&example(key))),
        (_, _) => quoted(&example(key)),
    }
}

/// Example in the help of a key, or the name of its value.
fn example(key: &Key) -> String {
    let help = key.argument.get_help().map(ToString::to_string).unwrap_or_default();
    let given = help.split_once(", as in ").and_then(|(_, behind)| behind.split([';', ' ']).next());
    given.unwrap_or(key.value_name()).to_owned()
}

fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's as well.
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{cli::command, config_file::reader};

    #[test]
    fn every_key_of_the_template_is_taken_as_it_stands() {
        let command = command();
        let text = template(&command);
        let (settings, faults) = reader::read(&text, Path::new("/etc/memory"), &command, false);
        assert!(settings.is_empty() && faults.is_empty(), "as it is made, it sets nothing: {faults:?}");
        let set: String = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(line) if !line.starts_with(' ') => format!("{line}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let (settings, faults) = reader::read(&set, Path::new("/etc/memory"), &command, false);
        assert!(faults.is_empty(), "{faults:?}");
        for key in keys(&command) {
            let is_set = settings.iter().any(|setting| setting.key.shown() == key.shown());
            assert!(is_set, "{}", key.shown());
        }
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn the_documentation_shows_the_template() {
        let documentation = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
        let text = std::fs::read_to_string(documentation).unwrap();
        let shown = text.split("```toml\n").find(|block| block.starts_with("# The configuration of `memory`."));
        let shown = shown.and_then(|block| block.split("```").next()).unwrap();
        // The shipped binary is built without the feature `hnsw-rs`.
        let made = template(&command()).replace(", hnsw-rs", "");
        assert!(shown == made, "docs/configuration.md shows another template than:\n{made}");
    }
}
