//! The configuration file through the binary: flags and variables before it, defaults after it, and its faults.
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    hook::event,
    support::{self, Store, failure, memory, success},
    transcripts::{SESSION, file, lines, session, texts},
};

/// The binary with a configuration file of this text.
fn with(store: &Store, text: &str, args: &[&str]) -> Command {
    let mut command = memory();
    command.args(args).env("MEMORY_CONFIG", store.file("config.toml", text));
    command
}

fn shown(command: &mut Command) -> Value {
    serde_json::from_str(&success(command.arg("--json"))).unwrap()
}

/// The setting of a key, as `config show --json` lists it.
fn setting(shown: &Value, table: Option<&str>, key: &str) -> Value {
    let settings = shown["settings"].as_array().unwrap();
    let found = settings.iter().find(|one| one["table"].as_str() == table && one["key"] == key);
    found.unwrap_or_else(|| panic!("no {key}: {shown:#}")).clone()
}

#[test]
fn a_flag_comes_before_the_environment_that_before_the_file_and_that_before_the_default() {
    let store = Store::new();
    let text = "summarizer = \"first-words\"\nlock-timeout = 3\nreranker = \"none\"\n\n[search]\nlimit = 4\n";
    let show = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = with(&store, text, &[&["config", "show"], args].concat());
        shown(command.envs(variables.iter().copied()))
    };
    let check = |shown: &Value, table: Option<&str>, key: &str, value: Value, from: &str| {
        let setting = setting(shown, table, key);
        assert_eq!((&setting["value"], setting["from"].as_str()), (&value, Some(from)), "{setting}");
        setting
    };
    let all = show(&[], &[]);
    check(&all, None, "scorer", "rules".into(), "default");
    assert_eq!(check(&all, None, "lock-timeout", 3.into(), "file")["line"], 2);
    assert_eq!(check(&all, Some("search"), "limit", 4.into(), "file")["line"], 6);
    check(&all, Some("mcp"), "port", 8000.into(), "default");
    let all = show(&[], &[("MEMORY_LOCK_TIMEOUT", "5"), ("MEMORY_ENABLE_MCP_TOOLS", "false")]);
    assert_eq!(check(&all, None, "lock-timeout", 5.into(), "environment")["variable"], "MEMORY_LOCK_TIMEOUT");
    check(&all, Some("mcp"), "enable-mcp-tools", false.into(), "environment");
    let all = show(&["--lock-timeout", "7"], &[("MEMORY_LOCK_TIMEOUT", "5")]);
    check(&all, None, "lock-timeout", 7.into(), "flag");
    let all = show(&["--config", "none"], &[]);
    check(&all, None, "lock-timeout", 10.into(), "default");
    let table = success(&mut with(&store, text, &["config", "show", "--changed"]));
    assert!(table.contains("lock-timeout") && table.contains("config.toml:2") && !table.contains("scorer"), "{table}");
}

#[test]
fn the_file_stands_in_for_the_flags_of_every_command() {
    let store = Store::new();
    let messages = store.file("trip.jsonl", &support::messages(40));
    // Paths are relative to the file.
    let text = "store = \"store\"\nwords-only = true\nowner = \"ana\"\n[import]\nno-embed = true\n[search]\nlimit = 2\n\
                [context]\nbudget = 700\n[list]\nlimit = 1\n";
    let json = |args: &[&str]| shown(&mut with(&store, text, args));
    json(&["import", "--format", "jsonl", &messages]);
    json(&["append", "-c", "hotel", "Which hotel is near platform 9?"]);
    assert!(store.json(&["list", "--owner", "ana"])["conversations"].as_array().unwrap().len() == 2);
    let hits = |args: &[&str]| json(args)["hits"].as_array().unwrap().len();
    assert_eq!((hits(&["search", "platform remark"]), hits(&["search", "--limit", "3", "platform remark"])), (2, 3));
    assert!(json(&["context", "-c", "trip", "Which platform?"])["tokens"].as_u64().unwrap() <= 700);
    assert_eq!(json(&["list"])["conversations"].as_array().unwrap().len(), 1);
    // A flag turns off a switch of the file; without a model that is a notice.
    let mut command = with(&store, text, &["--words-only=false", "search", "platform"]);
    let found = shown(command.env("MEMORY_MODELS", store.path("none")));
    assert_eq!(support::codes(&found), ["words-only"]);
    assert_eq!(support::codes(&json(&["search", "platform"])), [""; 0]);
    // A command on the whole store says where the owner comes from.
    let error = failure(&mut with(&store, text, &["doctor"]), 2);
    assert!(error.contains("the configuration file names an owner"), "{error}");
}

#[test]
fn every_fault_is_reported_with_its_place_and_what_explains_goes_on() {
    let store = Store::new();
    let text = "embeding-model = \"x\"\nlock-timeout = \"soon\"\nvectors = \"fast\"\nbudget = 4\njson = true\n\
                words-only = 1\n\n[mcp]\nport = 70000\nhttp = true\nprofile = \"compact\"\n\n[serch]\nlimit = 1\n\n\
                [search]\nlimit = 0\nmin-relevance = 2\n\n[watch]\nevery = 0\n";
    let expected = [
        "config.toml:1:1: there is no key `embeding-model`; nearest: `embedding-model`",
        "config.toml:2:16: lock-timeout: expected a whole number, found a text in quotes",
        "config.toml:3:11: vectors: \"fast\" is none of fastest, scan, graph",
        "config.toml:4:1: there is no key `budget`: it stands in [context], in [hook]",
        "config.toml:5:1: `json` is no key: what one call does is said by its flag --json",
        "config.toml:6:14: words-only: expected true or false, found a whole number",
        "config.toml:9:8: [mcp] port: \"70000\": 70000 is not in 0..=65535",
        "config.toml:10:1: `http` in [mcp] is no key",
        "config.toml:13:2: there is no table [serch]; nearest: `search`",
        "config.toml:17:9: [search] limit: \"0\": number would be zero",
        "config.toml:18:17: [search] min-relevance: \"2\": `2` is not a number from 0 to 1",
        "config.toml:21:9: [watch] every: \"0\": 0 is not in 1..=3600",
    ];
    for args in [&["list"][..], &["config", "check"], &["config", "show"]] {
        let error = failure(&mut with(&store, text, args), 2);
        for expected in expected {
            assert!(error.contains(expected), "no {expected}: {error}");
        }
        assert_eq!(error.matches("config.toml:").count(), expected.len(), "{error}");
        assert!(!error.contains("Usage:"), "the command line is right: {error}");
    }
    let output = with(&store, text, &["config", "check", "--json"]).output().unwrap();
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&checked["valid"], output.status.code()), (&false.into(), Some(2)));
    assert_eq!(checked["faults"].as_array().unwrap().len(), expected.len());
    assert_eq!(checked["faults"][6]["line"], 9);
    assert_eq!(setting_of_check(&checked, "profile")["line"], 11, "what is right is read all the same");
    for args in
        [&["--help"][..], &["--version"], &["help", "mcp"], &["completions", "fish"], &["man"], &["config", "path"]]
    {
        success(&mut with(&store, text, args));
    }
    // A line that is not TOML is reported like other faults.
    let error = failure(&mut with(&store, "store = \n[mcp\nport = 1\n", &["list"]), 2);
    assert!(error.contains("config.toml:1:") && error.contains("not TOML"), "{error}");
    assert!(failure(&mut with(&store, "a = 1\na = 2\n", &["list"]), 2).contains("config.toml:2:1"));
}

fn setting_of_check(checked: &Value, key: &str) -> Value {
    checked["settings"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap().clone()
}

#[test]
fn a_named_file_must_exist_and_the_default_one_need_not() {
    let store = Store::new();
    let missing = store.path("missing.toml");
    let error = failure(memory().args(["--config", &missing, "list"]), 3);
    assert!(error.contains("missing.toml: there is no such file"), "{error}");
    failure(memory().args(["config", "check", &missing]), 3);
    failure(memory().args(["config", "check", "--config", &missing]), 3);
    let path = success(memory().args(["config", "path", "--config", &missing]));
    assert_eq!(path.trim_end(), missing);
    let checked = success(memory().args(["config", "check", &store.file("good.toml", "[mcp]\nport = 1\n")]));
    assert!(checked.starts_with("2: [mcp] port = 1\n") && checked.contains("one setting, nothing wrong"), "{checked}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_template_is_made_where_the_default_file_is_looked_for_and_only_its_user_reads_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let store = Store::new();
    let run = |args: &[&str]| {
        let mut command = memory();
        command.args(args).env_remove("MEMORY_CONFIG").env("XDG_CONFIG_HOME", store.path("etc"));
        command
    };
    let path = success(&mut run(&["config", "path"])).trim_end().to_owned();
    assert_eq!(path, store.path("etc/memory/config.toml"));
    assert!(success(&mut run(&["config", "check"])).contains("need not be"));
    success(&mut run(&["config", "init"]));
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert!(success(&mut run(&["config", "check"])).contains("0 settings, nothing wrong"));
    let error = failure(&mut run(&["config", "init"]), 1);
    assert!(error.contains("exists already") && error.contains("--force"), "{error}");
    fs::write(&path, "lock-timeout = 4\n").unwrap();
    let shown = shown(&mut run(&["config", "show"]));
    assert_eq!(setting(&shown, None, "lock-timeout")["value"], 4, "the default file is read");
    success(&mut run(&["config", "init", "--force"]));
    assert!(fs::read_to_string(&path).unwrap().contains("#lock-timeout = 10\n"));
}

#[cfg(unix)]
#[test]
fn a_secret_is_refused_with_where_it_belongs_and_none_is_shown() {
    use std::os::unix::fs::PermissionsExt as _;

    let store = Store::new();
    let text = "api-key = \"sk-hidden-1\"\nembedding-model = \"openai:x@https://ana:pw-hidden@host/v1\"\n[mcp]\ntoken = \"hidden-2\"\n";
    let error = failure(&mut with(&store, text, &["config", "check"]), 2);
    assert!(error.contains("OPENAI_API_KEY") && error.contains("MEMORY_MCP_TOKEN"), "{error}");
    assert!(error.contains("config.toml:2:19: the value of embedding-model holds a secret"), "{error}");
    assert!(!error.contains("hidden"), "{error}");
    // A plugin may need one: then nobody else reads the file.
    let text = "summarizer = \"mine\"\n[configure.mine]\napi_key = \"sk-hidden-3\"\nwords = 5\n";
    let path = store.file("config.toml", text);
    let check = |mode: u32| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        memory()
            .args(["config", "show", "--config", &path, "--json"])
            .env("OPENAI_API_KEY", "sk-hidden-4")
            .output()
            .unwrap()
    };
    let refused = check(0o644);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("chmod 600"));
    let shown = String::from_utf8(check(0o600).stdout).unwrap();
    assert!(!shown.contains("hidden-"), "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(setting(&shown, Some("configure"), "mine")["value"]["words"], 5);
    let key = shown["variables"].as_array().unwrap().iter().find(|one| one["name"] == "OPENAI_API_KEY").unwrap();
    assert_eq!((&key["set"], &key["value"]), (&true.into(), &Value::Null));
}

#[test]
fn settings_of_a_manager_and_of_strategies_are_tables() {
    let store = Store::new();
    let messages = store.file("trip.jsonl", &support::messages(40));
    store.succeed(&["import", "--format", "jsonl", &messages]);
    let store_flag = ["--store", &store.path("store"), "--words-only", "context"];
    let run = |text: &str, args: &[&str]| with(&store, text, &[&store_flag[..], args].concat());
    let text = "manager = \"sliding-window\"\n[manager-settings]\nwindow_size = 6\n";
    let context = success(&mut run(text, &["Where?"]));
    let flags = ["--manager", "sliding-window", "--manager-settings", "{\"window_size\": 6}", "Where?"];
    assert_eq!(context, success(&mut run("", &flags)));
    let error = failure(&mut run("manager = \"sliding-window\"\n[manager-settings]\nwindow = 6\n", &["Where?"]), 2);
    assert!(
        error.contains("config.toml:2:2: manager-settings: the settings of the manager `sliding-window`"),
        "{error}"
    );
    let error = failure(&mut with(&store, "manager = \"sliding\"\n", &["config", "check"]), 2);
    assert!(error.contains("config.toml:1:1: manager: no manager is called `sliding`"), "{error}");
    // The settings are not applied to a manager that a flag chooses.
    success(&mut run(text, &["--manager", "none", "Where?"]));
    // Settings of a strategy are checked only once it is chosen.
    let text = "[configure.first-words]\nno-such-member = 1\n";
    success(&mut run(text, &["Where?"]));
    failure(&mut run(text, &["--summarizer", "first-words", "Where?"]), 2);
    success(&mut run(text, &["--summarizer", "first-words", "--configure", "first-words={}", "Where?"]));
}

#[test]
fn a_strategy_or_plugin_that_is_not_there_is_reported_with_those_that_are() {
    let store = Store::new();
    let text = "summarizer = \"themes\"\nscorer = \"spans\"\nplugins = [\"gone\"]\n[configure.keyword-digest]\nn = 1\n";
    let error = failure(&mut with(&store, text, &["config", "check"]), 2);
    for expected in [
        "config.toml:1:1: summarizer: no summarizer is called `themes`; there are first-words, spans",
        "config.toml:2:1: scorer: no scorer is called `spans`; there are rules",
        "config.toml:3:1: plugins: ",
        "config.toml:4:12: configure: no strategy is called `keyword-digest`; there are first-words, rules, spans",
    ] {
        assert!(error.contains(expected), "no {expected}: {error}");
    }
    assert_eq!(error.matches("config.toml:").count(), 4, "{error}");
    for name in ["first-words", "caller"] {
        success(&mut with(&store, &format!("summarizer = \"{name}\"\n"), &["config", "check"]));
    }
}

#[test]
fn directories_of_plugins_are_relative_to_the_file() {
    let store = Store::new();
    fs::create_dir(store.path("plugins")).unwrap();
    let library = support::plugin("memory-plugin-first-words");
    fs::copy(&library, store.path(&format!("plugins/{}", library.file_name().unwrap().display()))).unwrap();
    let text = "plugins = [\"plugins\"]\nsummarizer = \"official-first-words\"\nwords-only = true\nstore = \"store\"\n";
    let listed = success(&mut with(&store, text, &["plugins", "list"]));
    assert!(listed.contains("official-first-words"), "{listed}");
    success(&mut with(&store, text, &["config", "check"]));
    let messages = store.file("trip.jsonl", &support::messages(60));
    success(&mut with(&store, text, &["import", "--format", "jsonl", &messages]));
    assert!(
        success(&mut with(&store, text, &["browse", "--level", "summary", "--json"])).contains("official-first-words")
    );
}

#[test]
fn a_hook_takes_a_session_in_beside_a_fault_that_does_not_hide_the_store() {
    let store = Store::new();
    let path = file(&store, &format!("projects/{SESSION}.jsonl"), lines(&session()));
    let call = |text: &str| {
        let text = format!("store = \"store\"\n{text}\n");
        let event = fs::File::open(store.file("event.json", &event("SessionEnd", &path).to_string())).unwrap();
        let output = with(&store, &text, &["hook", "claude-code"]).stdin(Stdio::from(event)).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), [].as_slice()), "{error}");
        error
    };
    for hides in ["owner = 5", "ownr = \"ana\"", "x ="] {
        let error = call(hides);
        assert!(error.starts_with("memory hook: nothing is taken in") && error.lines().count() == 1, "{error}");
        assert!(!fs::exists(store.path("store")).unwrap(), "{hides}");
    }
    let error = call("[mcp]\nport = \"x\"");
    assert!(error.contains("config.toml:3:8: [mcp] port") && error.lines().count() == 1, "{error}");
    assert!(!texts(&store, SESSION).is_empty(), "it is taken in all the same");
    assert_eq!(call(""), "");
}

#[test]
fn installed_hooks_name_the_file_and_leave_to_it_what_it_says() {
    let store = Store::new();
    let path = store.file("my config.toml", "store = \"store\"\nowner = \"ana\"\n");
    let diff = |args: &[&str]| {
        let mut command = memory();
        command.args(["hook", "install", "codex", "--dry-run"]).args(args).env("CODEX_HOME", store.path("codex"));
        success(&mut command)
    };
    let named = diff(&["--config", &path]);
    assert!(named.contains(&format!("--config '{path}' hook codex")), "{named}");
    let named = diff(&["--config", &path, "--store", &store.path("other")]);
    assert!(named.contains("/other hook codex") && !named.contains("--owner"), "{named}");
}

#[cfg(unix)]
#[test]
fn tools_for_models_are_turned_off_by_the_file() {
    let store = Store::new();
    let requests = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\
                    \"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n\
                    {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
                    {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    let input = store.file("requests", requests);
    let tools = |text: &str, args: &[&str]| {
        let base = ["--store", &store.path("store"), "--words-only", "mcp"];
        let mut command = with(&store, text, &[&base[..], args].concat());
        let output = success(command.stdin(fs::File::open(&input).unwrap()));
        let listed: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
        listed["result"]["tools"].as_array().unwrap().len()
    };
    let off = "[mcp]\nenable-mcp-tools = false\n";
    assert_eq!((tools("", &[]), tools(off, &[]), tools(off, &["--enable-mcp-tools", "true"])), (11, 0, 11));
    let more = "[mcp]\nallow-writes = true\n";
    assert_eq!((tools(more, &[]), tools(more, &["--allow-writes=false"])), (16, 11));
}
