//! The layer rule: a star around `memory-core`, with the exceptions DESIGN.md section 2 names.

use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata};

use super::fault::Fault;

/// Layer of a package, which its directory decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Core,
    /// A leaf that every library may use.
    Files,
    Library,
    /// Support for network services of any kind: a leaf for the libraries that use them.
    Remote,
    /// The library of embedding models, which converts some models and uses others over a network.
    Embed,
    /// Conversion of models to the form that the embedding library runs.
    Convert,
    /// The library that has a default summarizer of its own.
    Hooks,
    /// Language models behind the port of the core.
    Models,
    PluginHost,
    PluginAbi,
    Strategies,
    /// A plugin library, official or a test fixture.
    Plugin,
    /// The one package that wires the libraries, for use by programs.
    Facade,
    /// An entry from outside, such as a protocol or a web page, over the facade alone.
    Door,
    Application,
    Benches,
    Xtask,
}

/// A package of the workspace and its dependencies, including dev- and build-dependencies.
pub(super) struct Package {
    name: String,
    layer: Layer,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    dev: bool,
}

pub(super) fn packages(metadata: &Metadata) -> Vec<Package> {
    let root = metadata.workspace_root.as_std_path();
    metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Package {
            name: package.name.to_string(),
            layer: layer_of(root, package.manifest_path.as_std_path()),
            dependencies: package.dependencies.iter().map(dependency).collect(),
        })
        .collect()
}

fn dependency(declared: &cargo_metadata::Dependency) -> Dependency {
    Dependency { name: declared.name.clone(), dev: declared.kind == DependencyKind::Development }
}

fn layer_of(root: &Path, manifest: &Path) -> Layer {
    let directory = manifest.parent().unwrap_or(manifest);
    let directory = directory.strip_prefix(root).unwrap_or(directory);
    let parts: Vec<_> = directory.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["memory-core"] => Layer::Core,
        ["memory-files"] => Layer::Files,
        ["memory-embed"] => Layer::Embed,
        ["memory-embed", "remote"] => Layer::Remote,
        ["memory-embed", "convert"] => Layer::Convert,
        ["memory-hooks"] => Layer::Hooks,
        ["memory-hooks", "models"] => Layer::Models,
        ["memory-plugins"] => Layer::PluginHost,
        ["memory-plugins", "abi"] => Layer::PluginAbi,
        ["memory-plugins", "strategies"] => Layer::Strategies,
        ["memory-plugins", "official" | "fixtures", _] => Layer::Plugin,
        ["memory-cli"] => Layer::Application,
        ["memory-cli", "runtime"] => Layer::Facade,
        ["memory-cli", "mcp" | "web" | "proxy" | "chat"] => Layer::Door,
        ["benches"] => Layer::Benches,
        ["xtask"] => Layer::Xtask,
        _ => Layer::Library,
    }
}

/// Returns a fault for each forbidden edge.
pub(super) fn check(packages: &[Package]) -> Vec<Fault> {
    packages
        .iter()
        .flat_map(|package| {
            package
                .dependencies
                .iter()
                .filter(|dependency| !allowed(packages, package, dependency))
                .map(|dependency| forbidden(package, dependency))
        })
        .collect()
}

fn allowed(packages: &[Package], from: &Package, dependency: &Dependency) -> bool {
    let ours = packages.iter().find(|package| package.name == dependency.name);
    match ours {
        // A package may turn on its own `testing` feature for its tests.
        Some(on) if on.name == from.name => dependency.dev,
        Some(on) => may_depend(from.layer, on.layer, dependency.dev),
        None => from.layer != Layer::PluginAbi || dependency.dev || dependency.name == "abi_stable",
    }
}

fn may_depend(from: Layer, on: Layer, dev: bool) -> bool {
    match from {
        Layer::Core | Layer::Files | Layer::Remote | Layer::PluginAbi | Layer::Xtask => false,
        Layer::Library => matches!(on, Layer::Core | Layer::Files),
        Layer::Embed => matches!(on, Layer::Core | Layer::Files | Layer::Remote | Layer::Convert),
        Layer::Convert | Layer::Strategies => on == Layer::Core,
        Layer::Models => matches!(on, Layer::Core | Layer::Remote),
        Layer::Hooks => matches!(on, Layer::Core | Layer::Strategies),
        Layer::Plugin => matches!(on, Layer::Core | Layer::PluginAbi | Layer::Strategies),
        // The host loads plugins at run time; only its tests may name them, so that they are built.
        Layer::PluginHost => match on {
            Layer::Core | Layer::Files | Layer::PluginAbi | Layer::Strategies => true,
            on => dev && on == Layer::Plugin,
        },
        Layer::Facade => {
            !matches!(on, Layer::Facade | Layer::Door | Layer::Application | Layer::Benches | Layer::Xtask)
        }
        Layer::Door => on == Layer::Facade,
        Layer::Application => !matches!(on, Layer::Benches | Layer::Xtask),
        Layer::Benches => on != Layer::Xtask,
    }
}

fn forbidden(from: &Package, dependency: &Dependency) -> Fault {
    let kind = if dependency.dev { "dev-dependency" } else { "dependency" };
    Fault::new(format!("{} -> {}", from.name, dependency.name), format!("forbidden {kind}: {}", rule(from.layer)))
}

fn rule(layer: Layer) -> &'static str {
    match layer {
        Layer::Core => "memory-core depends on none of ours",
        Layer::Files => "memory-files depends on none of ours",
        Layer::Library => "a library depends on memory-core, on memory-files and on no sibling",
        Layer::Remote => "memory-remote depends on none of ours",
        Layer::Embed => "memory-embed depends on memory-core, memory-files, memory-remote and memory-convert alone",
        Layer::Convert => "memory-convert depends on memory-core alone",
        Layer::Models => "memory-models depends on memory-core and memory-remote alone",
        Layer::Hooks => "memory-hooks depends on memory-core and memory-strategies alone",
        Layer::PluginHost => {
            "memory-plugins depends on memory-core, memory-files and its nested packages, on plugins for tests alone"
        }
        Layer::PluginAbi => "memory-plugin-abi depends on abi_stable alone",
        Layer::Strategies => "memory-strategies depends on memory-core alone",
        Layer::Plugin => "a plugin depends on the ABI, the strategies and memory-core",
        Layer::Facade => "the facade depends on the libraries alone",
        Layer::Door => "a door depends on the facade alone",
        Layer::Application => "memory-cli depends on no bench and not on xtask",
        Layer::Benches => "benches do not depend on xtask",
        Layer::Xtask => "xtask depends on none of ours",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR: &[(&str, Layer)] = &[
        ("memory-core", Layer::Core),
        ("memory-files", Layer::Files),
        ("memory-store", Layer::Library),
        ("memory-search", Layer::Library),
        ("memory-embed", Layer::Embed),
        ("memory-remote", Layer::Remote),
        ("memory-convert", Layer::Convert),
        ("memory-hooks", Layer::Hooks),
        ("memory-models", Layer::Models),
        ("memory-plugins", Layer::PluginHost),
        ("memory-plugin-abi", Layer::PluginAbi),
        ("memory-strategies", Layer::Strategies),
        ("memory-plugin-first-words", Layer::Plugin),
        ("memory", Layer::Facade),
        ("memory-mcp", Layer::Door),
        ("memory-web", Layer::Door),
        ("memory-cli", Layer::Application),
        ("memory-benches", Layer::Benches),
        ("xtask", Layer::Xtask),
    ];

    /// The faults of the star with one more edge.
    fn faults(from: &str, on: &str, dev: bool) -> Vec<String> {
        let packages: Vec<Package> = STAR
            .iter()
            .map(|&(name, layer)| Package {
                name: name.to_owned(),
                layer,
                dependencies: (name == from).then(|| Dependency { name: on.to_owned(), dev }).into_iter().collect(),
            })
            .collect();
        check(&packages).iter().map(Fault::to_string).collect()
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
            ("memory-hooks", "memory-search", true),
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
            ("memory-mcp", "memory", false),
            ("memory-web", "memory", true),
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
            ["memory-store -> memory-search: forbidden dev-dependency: \
                a library depends on memory-core, on memory-files and on no sibling"]
        );
    }

    #[test]
    fn a_door_that_names_the_store_is_a_fault() {
        assert_eq!(
            faults("memory-mcp", "memory-store", false),
            ["memory-mcp -> memory-store: forbidden dependency: a door depends on the facade alone"]
        );
    }

    #[test]
    fn the_directory_decides_the_layer() {
        let layer = |directory: &str| {
            let root = Path::new("/checkout");
            layer_of(root, &root.join(directory).join("Cargo.toml"))
        };
        assert_eq!(layer("memory-core"), Layer::Core);
        assert_eq!(layer("memory-files"), Layer::Files);
        assert_eq!(layer("memory-store"), Layer::Library);
        assert_eq!(layer("memory-plugins"), Layer::PluginHost);
        assert_eq!(layer("memory-plugins/abi"), Layer::PluginAbi);
        assert_eq!(layer("memory-plugins/strategies"), Layer::Strategies);
        assert_eq!(layer("memory-plugins/official/first-words"), Layer::Plugin);
        assert_eq!(layer("memory-plugins/fixtures/panics"), Layer::Plugin);
        assert_eq!(layer("memory-embed"), Layer::Embed);
        assert_eq!(layer("memory-embed/remote"), Layer::Remote);
        assert_eq!(layer("memory-embed/convert"), Layer::Convert);
        assert_eq!(layer("memory-hooks"), Layer::Hooks);
        assert_eq!(layer("memory-hooks/models"), Layer::Models);
        assert_eq!(layer("memory-cli"), Layer::Application);
        assert_eq!(layer("memory-cli/runtime"), Layer::Facade);
        for door in ["mcp", "web", "proxy", "chat"] {
            assert_eq!(layer(&format!("memory-cli/{door}")), Layer::Door);
        }
        assert_eq!(layer("benches"), Layer::Benches);
        assert_eq!(layer("xtask"), Layer::Xtask);
        assert_eq!(layer("memory-cli/transcripts"), Layer::Library);
        assert_eq!(layer("memory-something-new"), Layer::Library);
    }
}
