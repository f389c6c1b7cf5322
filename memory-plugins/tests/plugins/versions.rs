//! Versions of the interface's package: what was built against one of the same layout and major version is loaded.
//!
//! The package is compiled here as it would be released, against the libraries that cargo built for this test.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use memory_plugins::{LoadError, Registry};
use tempfile::TempDir;

use crate::support::{TEXT, ask, deps, rlibs};

/// The interface's package under another version, and what is built against it.
struct Release {
    version: &'static str,
    place: TempDir,
    abi_stable: PathBuf,
}

impl Release {
    fn of(version: &'static str) -> Self {
        let mut place = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi/src/lib.rs");
        // Libraries of other builds may lie next to the tests; their own dependencies are gone.
        let mut said = Vec::new();
        for abi_stable in rlibs("abi_stable") {
            let release = Self { version, place, abi_stable };
            let output = release.rustc("memory_plugin_abi", "rlib", &source, "libmemory_plugin_abi.rlib", false);
            if output.status.success() {
                return release;
            }
            said.push(String::from_utf8_lossy(&output.stderr).into_owned());
            place = release.place;
        }
        panic!("memory-plugin-abi {version} cannot be compiled: {said:?}");
    }

    fn rustc(&self, name: &str, kind: &str, source: &Path, to: &str, uses_abi: bool) -> std::process::Output {
        let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command
            .args(["--edition", "2024", "--cap-lints", "allow", "--crate-name", name, "--crate-type", kind])
            .env("CARGO_PKG_NAME", name.replace('_', "-"))
            .env("CARGO_PKG_VERSION", self.version)
            .arg("-L")
            .arg(format!("dependency={}", deps().display()))
            .arg("--extern")
            .arg(format!("abi_stable={}", self.abi_stable.display()));
        if uses_abi {
            let abi = self.path("libmemory_plugin_abi.rlib");
            command.arg("--extern").arg(format!("memory_plugin_abi={}", abi.display()));
        }
        command.arg("-o").arg(self.path(to)).arg(source).output().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Library that is compiled from `source` against this release.
    fn build(&self, name: &str, kind: &str, source: &str, to: &str) -> PathBuf {
        let file = self.path(&format!("{name}.rs"));
        fs::write(&file, source).unwrap();
        let output = self.rustc(name, kind, &file, to, true);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.path(to)
    }

    fn plugin(&self) -> PathBuf {
        self.build("versioned", "cdylib", PLUGIN, "versioned.so")
    }
}

const PLUGIN: &str = r#"
use memory_plugin_abi::v1::{Failure, SummarizerPlugin, SummaryHost, SummaryJob, Written};

struct Versioned;

impl SummarizerPlugin for Versioned {
    fn new(_configuration: &str) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn summarize(&self, _job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        Ok(Written { text: format!("{} tokens", host.count_tokens("one two".into())).into(), ..Written::default() })
    }
}

memory_plugin_abi::export_summarizer! { plugin: Versioned, name: "versioned", description: "Of another version." }
"#;

#[test]
fn a_plugin_built_against_1_1_of_an_unchanged_layout_is_loaded_and_asked() {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&Release::of("1.1.0").plugin()).unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("versioned", "1.1.0"));
    assert_eq!(ask(&*registry.summarizer("versioned").unwrap(), TEXT).unwrap(), "2 tokens");
}

#[test]
fn a_plugin_built_against_2_0_is_refused_by_its_version() {
    let error = Registry::with_builtins().load(&Release::of("2.0.0").plugin()).unwrap_err();
    assert!(
        matches!(&error, LoadError::OtherInterface { version: Some(version), .. } if version == "2.0.0"),
        "{error}"
    );
    let line = error.to_string();
    assert!(line.contains("(memory-plugin-abi 2.0.0)") && !line.contains('\n'), "{line}");
}

/// A host built against a later release, which loads plugins in the same way as `memory_plugins`.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_host_of_1_1_loads_the_golden_plugins_of_1_0() {
    const HOST: &str = r#"
use abi_stable::library::lib_header_from_path;
use memory_plugin_abi::v1::PluginModule_Ref;

fn main() {
    for path in std::env::args().skip(1) {
        let module: PluginModule_Ref = lib_header_from_path(path.as_ref()).unwrap().init_root_module().unwrap();
        println!("{}", module.identity().name);
    }
}
"#;
    let release = Release::of("1.1.0");
    let host = release.build("host", "bin", HOST, "host");
    let output = Command::new(host).arg(crate::golden::path()).arg(release.plugin()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "golden-summarizer\nversioned\n", "{}", String::from_utf8_lossy(&output.stderr));
}
