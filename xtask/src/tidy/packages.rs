//! Checks that a library can be taken into another project: its manifest is complete, and nothing that it compiles lies
//! outside of its package.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use regex::Regex;
use toml::{Table, Value};

use super::fault::Fault;
use super::tree::TreeFile;

const FIELDS: [&str; 7] = ["description", "license", "readme", "keywords", "categories", "rust-version", "edition"];

pub(super) fn check(files: &[TreeFile]) -> Result<Vec<Fault>> {
    let manifests: Vec<(&TreeFile, Table)> = files
        .iter()
        .filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
        // `manifests` reports one that does not parse.
        .filter_map(|file| Some((file, file.text.parse().ok()?)))
        .collect();
    let directories: Vec<&str> = manifests.iter().map(|(file, _)| directory(&file.path)).collect();
    let included = Regex::new(r#"(?m)^[^\n"]*(?:include_(?:str|bytes)!\(|#!?\[path = )"([^"\n]+)""#)?;
    let workspace = manifests.iter().find(|(file, _)| file.path == "Cargo.toml");
    let mut faults = Vec::new();
    for (file, manifest) in manifests.iter().filter(|(_, manifest)| is_published(manifest)) {
        let home = directory(&file.path);
        faults.extend(incomplete(file, manifest, files));
        faults.extend(workspace.and_then(|(_, workspace)| unversioned(home, manifest, workspace)));
        let sources = files.iter().filter(|source| package_of(&source.path, &directories) == home);
        for source in sources.filter(|source| source.path.ends_with(".rs") && source.path.contains("src/")) {
            faults.extend(outside(source, home, &directories, &included));
        }
    }
    Ok(faults)
}

/// Libraries are published; everything else has `publish = false`, by itself or from the workspace.
fn is_published(manifest: &Table) -> bool {
    let package = manifest.get("package").and_then(Value::as_table);
    package.is_some_and(|package| package.get("publish").is_none_or(|publish| publish.as_bool() == Some(true)))
}

fn directory(manifest: &str) -> &str {
    manifest.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The innermost of the packages' directories that a file is in.
fn package_of<'a>(path: &str, directories: &[&'a str]) -> &'a str {
    let is_in = |home: &&&str| path.strip_prefix(**home).is_some_and(|rest| rest.starts_with('/'));
    directories.iter().filter(is_in).max_by_key(|home| home.len()).copied().unwrap_or_default()
}

fn incomplete(file: &TreeFile, manifest: &Table, files: &[TreeFile]) -> Vec<Fault> {
    let package = manifest.get("package").and_then(Value::as_table);
    let missing = FIELDS
        .iter()
        .filter(|field| package.is_none_or(|package| !package.contains_key(**field)))
        .map(|field| format!("a library's manifest states `{field}`, or `publish.workspace = true`"));
    let beside = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]
        .into_iter()
        .map(|name| format!("{}/{name}", directory(&file.path)))
        .filter(|path| !files.iter().any(|file| file.path == *path))
        .map(|path| format!("a library has its {path}"));
    missing.chain(beside).map(|what| Fault::new(&file.path, what)).collect()
}

/// A dependency on a published package has a version beside its path, which is the package's.
fn unversioned(home: &str, manifest: &Table, workspace: &Table) -> Option<Fault> {
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let stated = workspace.get("workspace")?.get("dependencies")?.get(name)?.get("version");
    let own = manifest.get("package")?.get("version")?;
    let inherited = || workspace.get("workspace")?.get("package")?.get("version");
    let own = if own.is_str() { Some(own) } else { inherited() };
    (stated != own).then(|| {
        let own = own.and_then(Value::as_str).unwrap_or("?");
        Fault::new("Cargo.toml", format!("`{name}` of {home} needs `version = \"{own}\"` beside its path"))
    })
}

/// What a source compiles into itself from outside of its package, where a packaged copy would not find it.
fn outside(source: &TreeFile, home: &str, directories: &[&str], included: &Regex) -> Vec<Fault> {
    let beside = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    included
        .captures_iter(&source.text)
        .filter_map(|found| found.get(1))
        .filter(|path| package_of(&normal(&beside.join(path.as_str())), directories) != home)
        .map(|path| Fault::new(&source.path, format!("includes {}, which is not in its package", path.as_str())))
        .collect()
}

/// A path without `..`, with forward slashes.
fn normal(path: &Path) -> String {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.package]\nversion = \"0.1.0\"\n\
        [workspace.dependencies]\nmemory-a = { path = \"memory-a\", version = \"0.1.0\" }\n";
    const MANIFEST: &str = "[package]\nname = \"memory-a\"\nversion.workspace = true\ndescription = \"A.\"\n\
        license.workspace = true\nreadme = \"README.md\"\nkeywords = [\"a\"]\ncategories = [\"b\"]\n\
        rust-version.workspace = true\nedition.workspace = true\n";

    /// The faults of a workspace with a whole library and these files more, which replace its own.
    fn faults(more: &[(&str, &str)]) -> Vec<String> {
        let whole = [
            ("Cargo.toml", WORKSPACE),
            ("memory-a/Cargo.toml", MANIFEST),
            ("memory-a/README.md", ""),
            ("memory-a/LICENSE-MIT", ""),
            ("memory-a/LICENSE-APACHE", ""),
        ];
        let kept = whole.iter().filter(|(path, _)| more.iter().all(|(other, _)| other != path));
        let file = |(path, text): &(&str, &str)| TreeFile { path: (*path).to_owned(), text: (*text).to_owned() };
        let files: Vec<_> = kept.chain(more).map(file).collect();
        check(&files).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_whole_library_has_no_fault() {
        assert_eq!(faults(&[("memory-a/src/b.rs", "const A: &str = include_str!(\"../README.md\");")]), [""; 0]);
    }

    #[test]
    fn each_field_that_is_missing_is_named() {
        let found = faults(&[("memory-a/Cargo.toml", &MANIFEST.replace("keywords = [\"a\"]\n", ""))]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`keywords`"), "{found:?}");
    }

    #[test]
    fn what_is_not_published_needs_nothing() {
        for publish in ["publish = false", "publish.workspace = true"] {
            let manifest = format!("[package]\nname = \"memory-a\"\nversion.workspace = true\n{publish}\n");
            assert_eq!(faults(&[("memory-a/Cargo.toml", &manifest)]), [""; 0], "{publish}");
        }
    }

    #[test]
    fn a_version_stands_beside_the_path() {
        let found = faults(&[("Cargo.toml", &WORKSPACE.replace(", version = \"0.1.0\" }", " }"))]);
        assert_eq!(found, ["Cargo.toml: `memory-a` of memory-a needs `version = \"0.1.0\"` beside its path"]);
    }

    #[test]
    fn what_lies_outside_of_the_package_or_in_another_is_found() {
        let other = ("memory-a/fuzz/Cargo.toml", "[package]\nname = \"f\"\npublish = false\n");
        for path in ["../../README.md", "../fuzz/corpus/whole", "../../memory-b/src/lib.rs"] {
            let text = format!("const A: &[u8] = include_bytes!(\"{path}\");");
            let found = faults(&[other, ("memory-a/src/b.rs", &text)]);
            assert_eq!(found, [format!("memory-a/src/b.rs: includes {path}, which is not in its package")]);
        }
        assert_eq!(faults(&[other, ("memory-a/src/b.rs", "#[path = \"../../c.rs\"]\nmod c;")]).len(), 1);
    }
}
