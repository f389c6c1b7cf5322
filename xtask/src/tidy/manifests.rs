//! Checks that versions are only in `[workspace.dependencies]`.

use toml::{Table, Value};

use super::fault::Fault;
use super::tree::TreeFile;

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn check(files: &[TreeFile]) -> Vec<Fault> {
    files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        .flat_map(|file| match file.text.parse::<Table>() {
            Ok(manifest) => inline_versions(&manifest).into_iter().map(|name| fault(&file.path, &name)).collect(),
            Err(error) => vec![Fault::new(&file.path, format!("not TOML: {error}"))],
        })
        .collect()
}

fn fault(path: &str, name: &str) -> Fault {
    Fault::new(
        path,
        format!(
            "`{name}` has its version here; put it in [workspace.dependencies] and write `{name}.workspace = true`"
        ),
    )
}

fn inline_versions(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table)).chain([manifest]);
    tables
        .flat_map(|table| SECTIONS.iter().filter_map(|section| table.get(*section)))
        .filter_map(Value::as_table)
        .flatten()
        .filter(|(_, source)| is_versioned(source))
        .map(|(name, _)| name.clone())
        .collect()
}

/// A version requirement or a git source: the workspace must state either of them.
fn is_versioned(source: &Value) -> bool {
    source.is_str() || source.get("version").is_some() || source.get("git").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = TreeFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_version_in_any_section_is_found() {
        for text in [
            "[dependencies]\nserde = \"1\"",
            "[dependencies.serde]\nversion = \"1\"",
            "[dependencies]\nserde = { git = \"somewhere\" }",
            "[dev-dependencies]\nserde = { version = \"1\", features = [\"derive\"] }",
            "[build-dependencies]\nserde = \"1\"",
            "[target.'cfg(unix)'.dependencies]\nserde = \"1\"",
        ] {
            let found = faults("memory-store/Cargo.toml", text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("memory-store/Cargo.toml: `serde`"), "{found:?}");
        }
    }

    #[test]
    fn the_workspace_table_and_inherited_dependencies_pass() {
        let inherited = "[dependencies]\nserde.workspace = true\nregex = { workspace = true, features = [\"x\"] }";
        assert_eq!(faults("memory-store/Cargo.toml", inherited), [""; 0]);
        let workspace = "[workspace.dependencies]\nserde = \"1\"";
        assert_eq!(faults("Cargo.toml", workspace), [""; 0]);
    }

    #[test]
    fn a_manifest_that_does_not_parse_is_a_fault() {
        assert_eq!(faults("memory-store/Cargo.toml", "[dependencies").len(), 1);
    }
}
