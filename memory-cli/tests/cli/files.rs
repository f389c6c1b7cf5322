//! Permissions of files, and other things in the place of a file, through the binary.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    fs::{self, File, Permissions},
    io::Read as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{self, Store, memory};

/// Ends a command that hangs; none of them takes a hundredth of it.
const DEADLINE: Duration = Duration::from_secs(120);

/// Everything at and below a path; links are not followed.
fn all(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| found.extend(all(&entry.unwrap().path())));
    }
    found
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = all(path).into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn check_closed(path: &Path) {
    for path in all(path) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}: {:o}", path.display(), mode(&path));
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that must end by itself.
fn ended(command: &mut Command) -> Output {
    let said = tempfile::tempfile().unwrap();
    let shown = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null()).stdout(shown.try_clone().unwrap()).stderr(said.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > DEADLINE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} hangs");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        std::io::Seek::rewind(&mut file).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    Output { status, stdout: read(shown), stderr: read(said) }
}

/// A store with all that commands make in it, with vectors where the model is there, and a backup beside it.
fn filled() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    let backup = store.path("backup");
    for args in [
        &["import", "--format", "jsonl", &file][..],
        &["context", "--budget", "700", "Which platform?"],
        &["search", "platform"],
        &["backup", &backup],
    ] {
        support::success(&mut store.hybrid(args));
    }
    store
}

#[test]
fn whatever_is_made_is_for_its_owner_alone() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    let made =
        ["store", "backup", "restored", "salvaged", "export.jsonl", "exports", "kept"].map(|name| store.path(name));
    let [_, backup, restored, salvaged, export, exports, kept] = &made;
    for args in [
        &["import", "--format", "jsonl", &file][..],
        &["context", "--budget", "700", "Which platform?"],
        &["vacuum"],
        &["backup", backup],
        &["restore", backup, restored],
        &["doctor", "--salvage", salvaged],
        &["export", "--output", export],
        &["export", "--all", "--output", exports],
        &["demo", "--keep", kept],
    ] {
        let mut command = Command::new("sh");
        let binary = memory();
        command.args(["-c", "umask 022 && exec \"$@\"", "sh"]).arg(binary.get_program());
        binary.get_envs().for_each(|(name, value)| match value {
            Some(value) => drop(command.env(name, value)),
            None => drop(command.env_remove(name)),
        });
        support::success(command.args(["--store", &store.path("store")]).args(args));
    }
    made.iter().for_each(|made| check_closed(Path::new(made)));
}

#[test]
fn a_store_that_others_can_read_is_closed_when_it_is_opened_for_writing() {
    let store = filled();
    let (path, backup, outside) = (store.path("store"), store.path("backup"), store.file("outside", ""));
    fs::set_permissions(&outside, Permissions::from_mode(0o644)).unwrap();
    symlink(&outside, store.path("store/note")).unwrap();
    for path in all(Path::new(&path)).into_iter().chain(all(Path::new(&backup))) {
        if !path.is_symlink() {
            let mode = if path.is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
    }
    store.succeed(&["verify"]);
    assert_eq!(mode(Path::new(&path)), 0o755, "who reads changes nothing");
    let file = store.file("late.jsonl", &support::messages(3));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["backup", &backup]);
    fs::remove_file(store.path("store/note")).unwrap();
    check_closed(Path::new(&path));
    check_closed(Path::new(&backup));
    assert_eq!(mode(Path::new(&outside)), 0o644, "nothing behind a link is touched");
}

#[test]
fn a_link_in_a_store_is_refused_and_a_link_to_it_is_followed() {
    let store = filled();
    let link = store.path("link");
    symlink(store.path("store"), &link).unwrap();
    let late = store.file("late.jsonl", &support::messages(3));
    let commands = [&["stats"][..], &["search", "platform"], &["import", "--format", "jsonl", &late]];
    for args in commands {
        support::success(memory().args(["--store", &link, "--words-only"]).args(args));
    }
    for name in ["log", "cache", "cache/words", "log/0001.seg", "FORMAT", "HORIZON", "LOCK"] {
        let (there, aside) = (store.path(&format!("store/{name}")), store.path("aside"));
        fs::rename(&there, &aside).unwrap();
        symlink(&aside, &there).unwrap();
        for args in commands {
            let error = store.fail(args, 1);
            assert!(error.contains(&there) && error.contains("it is a symbolic link"), "{name}, {args:?}: {error}");
        }
        fs::remove_file(&there).unwrap();
        fs::rename(&aside, &there).unwrap();
    }
    assert!(store.succeed(&["stats"]).contains("late"));
}

/// Each file of a store and of a backup is replaced by one that blocks for ever or has no end.
#[test]
fn no_command_waits_for_a_fifo_or_reads_a_device_without_end() {
    let store = filled();
    let late = store.file("late.jsonl", &support::messages(3));
    type Replace = fn(&Path);
    let replaced: [(&str, Replace); 2] =
        [("a FIFO", |path| fifo(path)), ("a link to a device", |path| symlink("/dev/zero", path).unwrap())];
    let (whole, backup) = (PathBuf::from(store.path("store")), PathBuf::from(store.path("backup")));
    let mut seen = 0;
    for (at, root) in [("store", &whole), ("backup", &backup)] {
        for file in files(root) {
            let name = file.strip_prefix(root).unwrap().to_str().unwrap();
            let is_cache = at == "store" && (name.starts_with("cache/") || name == "KEY");
            // A model takes longest to load, and only these files need one.
            let needs_model = name == "MODEL" || is_cache && !name.starts_with("cache/words");
            let recall: &[&str] = if needs_model { &[] } else { &["--words-only"] };
            for (kind, replace) in replaced {
                let place = tempfile::tempdir().unwrap();
                let at_place = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
                copy(&whole, &place.path().join("store"));
                copy(&backup, &place.path().join("backup"));
                let there = place.path().join(at).join(name);
                fs::remove_file(&there).unwrap();
                replace(&there);
                let (backup, other, to) = (at_place("backup"), at_place("other"), at_place("to"));
                let commands: &[&[&str]] = match at {
                    "backup" => &[&["backup", &backup], &["restore", &backup, &to]],
                    // The last command writes; by then, a file that was set aside has been replaced.
                    _ => &[
                        &["stats"],
                        &["verify"],
                        &["search", "platform"],
                        &["context", "--budget", "700", "Which platform?"],
                        &["doctor"],
                        &["doctor", "--salvage", &to],
                        &["export", "-c", "trip"],
                        &["backup", &other],
                        &["vacuum"],
                        &["import", "--format", "jsonl", &late],
                    ],
                };
                for args in commands {
                    let output = ended(memory().args(["--store", &at_place("store")]).args(recall).args(*args));
                    let said = String::from_utf8_lossy(&output.stderr);
                    let code = output.status.code();
                    seen += 1;
                    if is_cache {
                        assert!(output.status.success(), "{name} is {kind}, {args:?}: {code:?}, {said}");
                    } else if !output.status.success() {
                        let shown = String::from_utf8_lossy(&output.stdout);
                        let names = |text: &str| text.contains(there.file_name().unwrap().to_str().unwrap());
                        assert!(names(&said) || names(&shown), "{name} is {kind}, {args:?}: {code:?}, {said}");
                    } else {
                        // The file names the writer, or only another command needs it.
                        let needed = ["FORMAT", "HORIZON", "LOCK", "LEASE", "log/0001.seg"].contains(&name);
                        assert!(!needed || args[0] == "doctor", "{name} is {kind}, {args:?} went well: {said}");
                    }
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn a_fifo_among_models_or_plugins_holds_nothing_up() {
    let store = filled();
    for model in ["some-model", "organization/other"] {
        let directory = PathBuf::from(store.path("models")).join(model);
        fs::create_dir_all(directory.join("onnx")).unwrap();
        for name in
            ["config.json", "modules.json", "tokenizer.json", "model.safetensors", "onnx/model.onnx", "hub.json"]
        {
            fifo(&directory.join(name));
        }
    }
    fs::create_dir(store.path("plugins")).unwrap();
    fifo(Path::new(&store.path(&format!("plugins/libx{}", std::env::consts::DLL_SUFFIX))));
    symlink("/dev/zero", store.path("plugins/SHA256SUMS")).unwrap();
    for args in [
        &["model", "list"][..],
        &["model", "convert", "some-model"],
        &["model", "test", "some-model"],
        &["--embedding-model", "some-model", "search", "platform"],
        &["--embedding-model", &store.path("models/some-model"), "search", "platform"],
        &["--plugins", &store.path("plugins"), "plugins", "list"],
        &["--plugins", &store.path("plugins"), "search", "platform"],
        &["plugins", "check", &store.path(&format!("plugins/libx{}", std::env::consts::DLL_SUFFIX))],
    ] {
        let output = ended(store.hybrid(args).env("MEMORY_MODELS", store.path("models")));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some(), "{args:?}: {said}");
    }
}

#[test]
fn an_export_overwrites_nothing_unless_told() {
    let store = filled();
    let file = store.file("there.jsonl", "precious");
    let error = store.fail(&["export", "--output", &file], 1);
    assert!(error.contains(&file) && error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    store.succeed(&["export", "--output", &file, "--force"]);
    let exported = store.succeed(&["export"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), exported);

    let link = store.path("link.jsonl");
    symlink(&file, &link).unwrap();
    store.fail(&["export", "--output", &link], 1);
    fs::write(&file, "old").unwrap();
    store.succeed(&["export", "--output", &link, "--force"]);
    assert!(Path::new(&link).is_symlink(), "the file that it leads to is replaced");
    assert_eq!(fs::read_to_string(&file).unwrap(), exported);
    let dangling = store.path("dangling.jsonl");
    symlink(store.path("nothing"), &dangling).unwrap();
    assert!(store.fail(&["export", "--output", &dangling, "--force"], 1).contains(&dangling));

    let directory = store.path("all");
    store.succeed(&["export", "--all", "--output", &directory]);
    fs::write(format!("{directory}/trip.jsonl"), "precious").unwrap();
    let error = store.fail(&["export", "--all", "--output", &directory], 1);
    assert!(error.contains("trip.jsonl") && error.contains("--force"), "{error}");
    store.succeed(&["export", "--all", "--output", &directory, "--force"]);
    assert_eq!(fs::read_to_string(format!("{directory}/trip.jsonl")).unwrap(), exported);
}

#[test]
fn an_export_goes_straight_into_what_is_no_regular_file() {
    let store = filled();
    let exported = store.succeed(&["export"]);
    let pipe = store.path("pipe");
    fifo(Path::new(&pipe));
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    store.succeed(&["export", "--output", &pipe]);
    assert_eq!(String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap(), exported);
    assert!(!Path::new(&pipe).is_file(), "it is a pipe still");
    assert_eq!(store.succeed(&["export", "--output", "/dev/stdout"]), exported);
    let shown = store.path("shown.jsonl");
    let status = store.command(&["export", "--output", "/dev/stdout"]).stdout(File::create(&shown).unwrap()).status();
    assert!(status.unwrap().success());
    assert_eq!(fs::read_to_string(&shown).unwrap(), exported, "the shell's file gets the export and nothing else");
    store.succeed(&["export", "--output", "/dev/null"]);
    assert!(!Path::new("/dev/null").is_file());
    assert!(store.fail(&["export", "--output", &store.path("store/..")], 1).contains("is a directory"));
}

#[test]
fn nothing_that_a_user_names_is_written_into_a_store() {
    let store = filled();
    let other = Store::new();
    support::success(&mut other.command(&["import", "--format", "jsonl", &store.path("trip.jsonl")]));
    let link = store.path("link");
    symlink(other.path("store"), &link).unwrap();
    let before = files(Path::new(&other.path("store")));
    let format = fs::read(other.path("store/FORMAT")).unwrap();
    let backup = store.path("backup");
    for inside in [other.path("store"), format!("{link}/."), store.path("store")] {
        let at = |name: &str| format!("{inside}/{name}");
        for args in [
            &["export", "--force", "--output", &at("FORMAT")][..],
            &["export", "--force", "--output", &at("new.jsonl")],
            &["export", "--force", "--output", &at("log/../cache/new.jsonl")],
            &["export", "--all", "--force", "--output", &at("log")],
            &["export", "--all", "--force", "--output", &at("none/yet")],
            &["backup", &at("backup")],
            &["restore", &backup, &at("restored")],
            &["doctor", "--salvage", &at("cache/salvaged")],
            &["demo", "--keep", &at("cache/demo")],
            &["demo", "--keep", &inside],
        ] {
            let error = store.fail(args, 1);
            assert!(error.contains("lies inside of"), "{args:?}: {error}");
        }
    }
    assert_eq!(files(Path::new(&other.path("store"))), before);
    assert_eq!(fs::read(other.path("store/FORMAT")).unwrap(), format);
}
