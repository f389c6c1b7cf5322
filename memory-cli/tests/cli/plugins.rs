//! `memory plugins`, and the tutorial for writing one.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{env::consts::DLL_SUFFIX, fs};

use crate::support::{self, Store};

/// A directory with a good plugin and a broken one.
fn directory(store: &Store) -> String {
    let plugins = store.path("plugins");
    fs::create_dir(&plugins).unwrap();
    for package in ["memory-plugin-first-words", "memory-plugin-fixture-misbehaves"] {
        let library = support::plugin(package);
        fs::copy(&library, store.path(&format!("plugins/{}", library.file_name().unwrap().display()))).unwrap();
    }
    store.file(&format!("plugins/broken{DLL_SUFFIX}"), "no library");
    plugins
}

#[test]
fn plugins_are_listed_with_their_versions_and_the_broken_ones_named() {
    let store = Store::new();
    let plugins = directory(&store);
    let listed = store.json(&["--plugins", &plugins, "plugins", "list"]);
    let strategies = listed["strategies"].as_array().unwrap();
    let of = |name: &str| strategies.iter().find(|strategy| strategy["name"] == name).unwrap();
    assert_eq!(of("official-first-words")["version"], "0.1.0");
    assert_eq!(of("official-first-words")["kind"], "summarizer");
    assert_eq!(of("rules")["from"], "built in");
    let refused = listed["refused"][0].as_str().unwrap();
    assert!(refused.contains(&format!("broken{DLL_SUFFIX}")) && !refused.contains('\n'), "{refused}");
    let table = store.succeed(&["--plugins", &plugins, "plugins", "list"]);
    assert!(table.contains("official-first-words") && table.contains("0.1.0"), "{table}");
}

#[test]
fn a_plugin_is_shown_by_name_and_by_file() {
    let store = Store::new();
    let plugins = directory(&store);
    let by_name = store.json(&["--plugins", &plugins, "plugins", "info", "misbehaves-00"]);
    let file = support::plugin("memory-plugin-fixture-misbehaves");
    let by_file = store.json(&["plugins", "info", file.to_str().unwrap()]);
    assert_eq!(by_name["sha256"], by_file["sha256"]);
    assert_eq!(by_name["capabilities"]["varies"], true);
    assert_eq!(by_name["configuration_schema"]["properties"]["conduct"]["type"], "string");
    let error = store.fail(&["plugins", "info", "nobody"], 3);
    assert!(error.contains("nobody"), "{error}");
    store.fail(&["plugins", "info", &store.path(&format!("plugins/broken{DLL_SUFFIX}"))], 1);
}

#[test]
fn a_plugin_is_checked_in_a_process_of_its_own() {
    let store = Store::new();
    let good = support::plugin("memory-plugin-first-words");
    let good = good.to_str().unwrap();
    let checked = store.json(&["plugins", "check", good, "--deadline", "60"]);
    assert_eq!(checked["checks"].as_array().unwrap().len(), 9);
    let bad = support::plugin("memory-plugin-fixture-misbehaves");
    let check = |conduct: &str| {
        let configuration = format!(r#"{{"conduct":"{conduct}"}}"#);
        let mut command = support::memory();
        let args = ["plugins", "check", bad.to_str().unwrap(), "--configuration", &configuration, "--deadline", "60"];
        let output = command.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{conduct}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = check("panic");
    assert!(said.contains("the plugin panicked"), "{said}");
    // The plugin ends the checking child, and the command survives.
    let said = check("run out of memory");
    assert!(said.contains("it ended the process: signal: 6") || cfg!(not(unix)), "{said}");
    let error = store.fail(&["plugins", "check", &store.file("text.so", "no library")], 1);
    assert!(error.contains("text.so"), "{error}");
}

#[test]
fn a_configuration_goes_to_the_strategy_that_it_names() {
    let store = Store::new();
    let plugins = directory(&store);
    let file = store.file("trip.jsonl", &support::messages(60));
    let configured = |configuration: &str| {
        let args = ["--plugins", &plugins, "--summarizer", "misbehaves-00", "--configure", configuration];
        [&args[..], &["import", "--format", "jsonl", &file]]
            .concat()
            .iter()
            .map(|arg| arg.to_string())
            .collect::<Vec<_>>()
    };
    let run = |configuration: &str, code| {
        let args = configured(configuration);
        store.fail(&args.iter().map(String::as_str).collect::<Vec<_>>(), code)
    };
    assert!(run(r#"misbehaves-00={"conduct": 7}"#, 2).contains("/conduct"));
    assert!(run("misbehaves-00", 2).contains("NAME=JSON"));
    let good = configured(r#"misbehaves-00={"conduct": "answer"}"#);
    store.succeed(&good.iter().map(String::as_str).collect::<Vec<_>>());
    let browsed = store.json(&["browse", "--level", "summary"]);
    let written_by = &browsed["entries"][0]["written_by"];
    let version = written_by["version"].as_str().unwrap();
    assert!(
        written_by["strategy"] == "misbehaves-00" && version.starts_with("0.1.0+"),
        "the configuration is a part of the label: {written_by}"
    );
}

#[test]
fn a_configuration_that_nothing_reads_is_refused() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(5));
    let refused = |configured: &[&str], expected: &str| {
        let error = store.fail(&[configured, &["import", "--format", "jsonl", &file]].concat(), 2);
        assert!(error.contains(expected), "{error}");
        assert!(!std::fs::exists(store.path("store/log/0001.seg")).unwrap(), "before anything is done");
    };
    let expected = "the configuration of first-words has no use: the summarizer is spans, the scorer rules";
    refused(&["--configure", r#"first-words={"words": 2}"#], expected);
    refused(&["--configure", "first-words=3"], "--configure first-words: expected a JSON object");
    refused(&["--configure", "rules=[]"], "--configure rules: expected a JSON object");
    let twice = ["--scorer", "rules", "--configure", "rules={}", "--configure", r#"rules={"words": 3}"#];
    refused(&twice, "--configure rules: it is configured twice");
    store.succeed(&[&twice[..4], &["import", "--format", "jsonl", &file]].concat());
}

/// Runs the commands of `docs/plugins.md` as they stand there.
#[cfg(target_os = "linux")]
#[test]
fn the_tutorial_does_what_it_says() {
    use std::{env, path::Path, process::Command};

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("docs/plugins.md")).unwrap();
    let blocks: Vec<_> = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 5, "the commands are gone from the tutorial");
    let scratch = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_memory")).parent().unwrap();
    let path = env::join_paths([binary.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())));
    let run = Command::new("bash")
        .args(["-euxo", "pipefail", "-c", &blocks.concat()])
        .current_dir(root)
        .env("PATH", path.unwrap())
        .env("TMPDIR", scratch.path())
        .env_remove("MEMORY_STORE")
        .env_remove("MEMORY_SUMMARIZER")
        .env_remove("MEMORY_SCORER")
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}\n{said}\n{errors}", run.status);
    for expected in ["last-words 0.1.0", "The first words of each message", "early. sleep and"] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}\n{errors}");
    }
}
