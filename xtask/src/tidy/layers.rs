//! The layer rule: a star around `memory-core`, with the exceptions that ARCHITECTURE.md names.

use cargo_metadata::{Dependency, DependencyKind, Metadata, Package};

use super::Fault;

/// The packages of one layer, by their directories, and the layers that they may use.
struct Layer {
    name: &'static str,
    /// Directories below the root; one that ends with `/` stands for all below it.
    directories: &'static [&'static str],
    uses: Uses,
}

enum Uses {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// The layer of a package in none of the others' directories.
const LIBRARY: Layer = Layer { name: "library", directories: &[], uses: Uses::Only(&["core", "files"]) };

const LAYERS: &[Layer] = &[
    only("core", &["memory-core"], &[]),
    only("files", &["memory-files"], &[]),
    only("remote", &["memory-remote"], &[]),
    only("abi", &["memory-plugins/abi"], &[]),
    only("xtask", &["xtask"], &[]),
    only("embed", &["memory-embed"], &["core", "files", "remote", "convert"]),
    only("convert", &["memory-embed/convert"], &["core"]),
    only("strategies", &["memory-plugins/strategies"], &["core"]),
    only("models", &["memory-models"], &["core", "remote"]),
    only("search", &["memory-search"], &["core"]),
    only("hooks", &["memory-hooks"], &["core", "search", "strategies"]),
    only("plugin", &["memory-plugins/official/", "memory-plugins/fixtures/"], &["core", "abi", "strategies"]),
    only("host", &["memory-plugins"], &["core", "files", "abi", "strategies"]),
    all_but(
        "facade",
        &["memory"],
        &["facade", "transcripts", "capture", "tools", "door", "application", "benches", "xtask"],
    ),
    only("transcripts", &["memory-transcripts"], &["core", "files"]),
    // `files`: the path of a transcript may be anything, and the facade opens no files.
    only("capture", &["memory-capture"], &["facade", "transcripts", "files"]),
    only("tools", &["memory-tools"], &["facade"]),
    only("door", &["memory-mcp", "memory-web", "memory-agent"], &["facade", "capture", "tools"]),
    all_but("application", &["memory-cli"], &["benches", "xtask"]),
    all_but("benches", &["benches"], &["xtask"]),
];

const fn only(name: &'static str, directories: &'static [&'static str], uses: &'static [&'static str]) -> Layer {
    Layer { name, directories, uses: Uses::Only(uses) }
}

const fn all_but(name: &'static str, directories: &'static [&'static str], barred: &'static [&'static str]) -> Layer {
    Layer { name, directories, uses: Uses::AllBut(barred) }
}

impl Layer {
    fn holds(&self, directory: &str) -> bool {
        let is_at = |at: &&str| directory == *at || at.ends_with('/') && directory.starts_with(*at);
        self.directories.iter().any(is_at)
    }

    fn may_use(&self, on: &Self, for_tests: bool) -> bool {
        // The host loads plugins at run time; only its tests name them, so that they are built.
        let is_tested = for_tests && self.name == "host" && on.name == "plugin";
        is_tested
            || match self.uses {
                Uses::Only(layers) => layers.contains(&on.name),
                Uses::AllBut(barred) => !barred.contains(&on.name),
            }
    }

    fn rule(&self) -> String {
        match self.uses {
            Uses::Only([]) => format!("the layer {} uses none of ours", self.name),
            Uses::Only(layers) => format!("the layer {} uses {} alone", self.name, layers.join(", ")),
            Uses::AllBut(barred) => format!("the layer {} uses no {}", self.name, barred.join(", no ")),
        }
    }
}

fn layer_of(directory: &str) -> &'static Layer {
    LAYERS.iter().find(|layer| layer.holds(directory)).unwrap_or(&LIBRARY)
}

/// Returns a fault for each forbidden edge, including those of dev- and build-dependencies.
pub(super) fn check(metadata: &Metadata) -> Vec<Fault> {
    let packages = metadata.workspace_packages();
    let layer = |package: &Package| {
        let directory = package.manifest_path.parent().unwrap_or(&package.manifest_path);
        layer_of(directory.strip_prefix(&metadata.workspace_root).unwrap_or(directory).as_str())
    };
    let mut faults = Vec::new();
    for package in &packages {
        for Dependency { name, kind, .. } in &package.dependencies {
            let on = packages.iter().find(|on| *on.name == *name);
            let is_itself = package.name.as_str() == name;
            let on = on.map(|on| layer(on));
            faults.extend(forbidden((package.name.as_str(), layer(package)), (name, on), is_itself, *kind));
        }
    }
    faults
}

/// A fault if a package may not depend on another; `on` is the layer of one of ours.
fn forbidden(
    (name, from): (&str, &Layer),
    (dependency, on): (&str, Option<&Layer>),
    is_itself: bool,
    kind: DependencyKind,
) -> Option<Fault> {
    let for_tests = kind == DependencyKind::Development;
    let is_allowed = match on {
        // A package may turn on its own `testing` feature for its tests.
        Some(_) if is_itself => for_tests,
        Some(on) => from.may_use(on, for_tests),
        None => from.name != "abi" || for_tests || dependency == "abi_stable",
    };
    let word = if for_tests { "dev-dependency" } else { "dependency" };
    (!is_allowed).then(|| Fault::new(format!("{name} -> {dependency}"), format!("forbidden {word}: {}", from.rule())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR: &[(&str, &str)] = &[
        ("memory-core", "memory-core"),
        ("memory-files", "memory-files"),
        ("memory-store", "memory-store"),
        ("memory-search", "memory-search"),
        ("memory-embed", "memory-embed"),
        ("memory-remote", "memory-remote"),
        ("memory-convert", "memory-embed/convert"),
        ("memory-hooks", "memory-hooks"),
        ("memory-models", "memory-models"),
        ("memory-plugins", "memory-plugins"),
        ("memory-plugin-abi", "memory-plugins/abi"),
        ("memory-strategies", "memory-plugins/strategies"),
        ("memory-plugin-first-words", "memory-plugins/official/first-words"),
        ("memory", "memory"),
        ("memory-transcripts", "memory-transcripts"),
        ("memory-capture", "memory-capture"),
        ("memory-tools", "memory-tools"),
        ("memory-agent", "memory-agent"),
        ("memory-mcp", "memory-mcp"),
        ("memory-web", "memory-web"),
        ("memory-cli", "memory-cli"),
        ("memory-benches", "benches"),
        ("xtask", "xtask"),
    ];

    /// The fault of one edge between packages of the star, or from one to a crate of others.
    fn faults(from: &str, on: &str, dev: bool) -> Vec<String> {
        let layer = |name: &str| STAR.iter().find(|(known, _)| *known == name).map(|(_, at)| layer_of(at));
        let kind = if dev { DependencyKind::Development } else { DependencyKind::Normal };
        let fault = forbidden((from, layer(from).unwrap()), (on, layer(on)), from == on, kind);
        fault.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn forbidden_edges_are_found() {
        for (from, on, dev) in [
            ("memory-core", "memory-store", false),
            ("memory-core", "memory-store", true),
            ("memory-core", "memory-core", false),
            ("memory-core", "memory-files", false),
            ("memory-files", "memory-core", false),
            ("memory-files", "memory-store", true),
            ("memory-strategies", "memory-files", false),
            ("memory-plugin-first-words", "memory-files", false),
            ("memory-store", "memory-search", false),
            ("memory-store", "memory-search", true),
            ("memory-store", "memory-strategies", false),
            ("memory-search", "memory-hooks", true),
            ("memory-hooks", "memory-plugins", false),
            ("memory-search", "memory-cli", true),
            ("memory-search", "memory-remote", false),
            ("memory-remote", "memory-core", false),
            ("memory-remote", "memory-files", true),
            ("memory-convert", "memory-files", false),
            ("memory-convert", "memory-embed", true),
            ("memory-embed", "memory-store", false),
            ("memory-embed", "memory", true),
            ("memory-models", "memory-hooks", false),
            ("memory-models", "memory-embed", false),
            ("memory-hooks", "memory-models", false),
            ("memory-hooks", "memory", true),
            ("memory", "memory-cli", false),
            ("memory", "memory-mcp", true),
            ("memory", "memory-benches", true),
            ("memory", "memory-capture", true),
            ("memory-transcripts", "memory", false),
            ("memory-capture", "memory-core", false),
            ("memory-capture", "memory-hooks", true),
            ("memory-capture", "memory-tools", false),
            ("memory-capture", "memory-cli", true),
            ("memory-tools", "memory-capture", false),
            ("memory-tools", "memory-core", false),
            ("memory-agent", "memory-models", false),
            ("memory-mcp", "memory-store", false),
            ("memory-mcp", "memory-store", true),
            ("memory-mcp", "memory-core", false),
            ("memory-mcp", "memory-web", false),
            ("memory-mcp", "memory-cli", true),
            ("memory-plugins", "memory-store", false),
            ("memory-plugins", "memory-plugin-first-words", false),
            ("memory-plugin-abi", "memory-core", false),
            ("memory-plugin-abi", "serde", false),
            ("memory-strategies", "memory-plugin-abi", false),
            ("memory-plugin-first-words", "memory-plugins", true),
            ("memory-cli", "memory-benches", true),
            ("memory-cli", "xtask", false),
            ("memory-benches", "xtask", false),
            ("xtask", "memory-core", false),
            ("xtask", "memory-core", true),
        ] {
            assert_eq!(faults(from, on, dev).len(), 1, "{from} -> {on}, dev {dev}");
        }
    }

    #[test]
    fn allowed_edges_pass() {
        for (from, on, dev) in [
            ("memory-core", "memory-core", true),
            ("memory-core", "serde", false),
            ("memory-store", "memory-core", false),
            ("memory-store", "memory-core", true),
            ("memory-store", "memory-files", false),
            ("memory-plugins", "memory-files", false),
            ("memory-cli", "memory-files", false),
            ("memory-cli", "memory", false),
            ("memory-cli", "memory-mcp", false),
            ("memory-remote", "tokio", false),
            ("memory-convert", "memory-core", false),
            ("memory-embed", "memory-files", false),
            ("memory-embed", "memory-remote", false),
            ("memory-embed", "memory-convert", false),
            ("memory-models", "memory-core", false),
            ("memory-models", "memory-remote", false),
            ("memory", "memory-core", false),
            ("memory", "memory-store", false),
            ("memory", "memory-embed", false),
            ("memory", "memory-models", false),
            ("memory", "memory-plugins", false),
            ("memory-capture", "memory", false),
            ("memory-capture", "memory-transcripts", false),
            ("memory-capture", "memory-files", false),
            ("memory-tools", "memory", false),
            ("memory-mcp", "memory", false),
            ("memory-mcp", "memory-tools", false),
            ("memory-agent", "memory", false),
            ("memory-agent", "memory-tools", false),
            ("memory-web", "memory", true),
            ("memory-hooks", "memory-search", false),
            ("memory-hooks", "memory-strategies", false),
            ("memory-plugins", "memory-plugin-abi", false),
            ("memory-plugins", "memory-strategies", false),
            ("memory-plugins", "memory-plugin-first-words", true),
            ("memory-plugin-abi", "abi_stable", false),
            ("memory-plugin-abi", "tempfile", true),
            ("memory-strategies", "memory-core", false),
            ("memory-plugin-first-words", "memory-plugin-abi", false),
            ("memory-cli", "memory-plugins", false),
            ("memory-benches", "memory-cli", false),
            ("xtask", "anyhow", false),
        ] {
            assert_eq!(faults(from, on, dev), [""; 0], "{from} -> {on}, dev {dev}");
        }
    }

    #[test]
    fn a_fault_names_both_ends_and_the_rule() {
        assert_eq!(
            faults("memory-store", "memory-search", true),
            ["memory-store -> memory-search: forbidden dev-dependency: the layer library uses core, files alone"]
        );
    }

    #[test]
    fn a_door_that_names_the_store_is_a_fault() {
        assert_eq!(
            faults("memory-mcp", "memory-store", false),
            ["memory-mcp -> memory-store: forbidden dependency: the layer door uses facade, capture, tools alone"]
        );
    }

    #[test]
    fn the_directory_decides_the_layer() {
        for (directory, layer) in [
            ("memory-core", "core"),
            ("memory-store", "library"),
            ("memory-plugins", "host"),
            ("memory-plugins/abi", "abi"),
            ("memory-plugins/official/first-words", "plugin"),
            ("memory-plugins/fixtures/panics", "plugin"),
            ("memory-embed", "embed"),
            ("memory-remote", "remote"),
            ("memory-models", "models"),
            ("memory-hooks", "hooks"),
            ("memory-cli", "application"),
            ("memory", "facade"),
            ("memory-transcripts", "transcripts"),
            ("memory-capture", "capture"),
            ("memory-tools", "tools"),
            ("memory-something-new", "library"),
        ] {
            assert_eq!(layer_of(directory).name, layer, "{directory}");
        }
    }
}
