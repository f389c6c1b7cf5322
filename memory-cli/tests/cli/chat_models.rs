//! Summaries by a chat model of the configuration: what is asked, what is not sent, limits, upgrades and costs.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use memory_remote::testing::{Request, Response, Stub};
use serde_json::{Value, json};

use crate::support::{self, Store, codes};

/// A service that says of every message that it is a remark; as JSON if several are asked for at once.
fn service() -> Stub {
    Stub::start(|_, request| answer(request))
}

fn asked(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

fn answer(request: &Request) -> Response {
    let asked = asked(request);
    let text = match asked.split_once("each message by itself") {
        None => "They made remarks.".to_owned(),
        Some((_, task)) => {
            let list = task.split_once("messages ").unwrap().1.split_once(". Reply").unwrap().0;
            let numbers = list.split(", ").map(|part| part.split(' ').next().unwrap().parse::<u64>().unwrap());
            let said = |number| json!({"message": number, "summary": "A remark was made.", "importance": 0.5});
            json!({"summaries": numbers.map(said).collect::<Vec<_>>()}).to_string()
        }
    };
    let message = json!({"role": "assistant", "content": text});
    Response::json(&json!({"choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}}}))
}

/// Arguments that name the model of a service.
fn model(stub: &Stub) -> [String; 6] {
    let base = format!("{}/v1", stub.url());
    ["--chat-model", "openai:m?window=32000", "--chat-base-url", &base, "--chat-key-variable", "PATH"]
        .map(str::to_owned)
}

fn with<'a>(args: &[&'a str], model: &'a [String]) -> Vec<&'a str> {
    args.iter().copied().chain(model.iter().map(String::as_str)).collect()
}

/// Authors of the summaries of `trip`.
fn authors(store: &Store) -> Vec<String> {
    let of = |level| store.json(&["browse", "-c", "trip", "--level", level, "--limit", "1000"])["entries"].clone();
    let entries = ["summary", "meta"].map(of);
    let author = |entry: &Value| entry["written_by"]["strategy"].as_str().unwrap().to_owned();
    entries.iter().flat_map(|entries| entries.as_array().unwrap().iter().map(author).collect::<Vec<_>>()).collect()
}

/// Summaries that the model wrote: all but that of the seventh message, which is too short for one.
fn by_model(store: &Store) -> usize {
    authors(store).iter().filter(|author| *author == "model:m").count()
}

fn imported(store: &Store, messages: &str, model: &[String]) {
    let file = store.file("trip.jsonl", messages);
    store.succeed(&with(&["import", "--format", "jsonl", &file], model));
}

#[test]
fn an_import_asks_one_request_a_twenty_messages_and_never_sends_what_is_kept_out() {
    let (store, stub) = (Store::new(), service());
    let secret = json!({"role": "user", "content": "The vault opens with QX-4471-93B.", "keep_out_of_summaries": true});
    let messages = format!("{}{secret}\n{}", support::messages(8), support::messages(58).replace(":\"k", ":\"l"));
    imported(&store, &messages, &model(&stub));
    let requests = stub.requests();
    let many = requests.iter().filter(|request| asked(request).contains("each message by itself")).count();
    assert!(many <= 67_usize.div_ceil(20) && requests.len() <= many + 4, "{many} of {}", requests.len());
    assert!(requests.iter().all(|request| !request.body.to_string().contains("4471")));
    assert!(requests.iter().all(|request| request.line == "POST /v1/chat/completions"));
    let authors = authors(&store);
    assert!(authors.len() > 50 && by_model(&store) + 3 >= authors.len());

    // What was spent is counted, and shown without a model.
    let day = &store.json(&["stats"])["spending"][0];
    let sum = requests.len() as u64;
    let counts = ["requests", "prompt_tokens", "cached_tokens", "reply_tokens"].map(|name| day[name].as_u64().unwrap());
    assert_eq!(counts, [sum, sum * 1000, sum * 600, sum * 50]);
    assert_eq!(day["models"]["m"], sum);
    assert!(store.succeed(&["stats"]).contains("tokens asked"));
    // The files of a day hold counts alone.
    let spending = store.path("store/cache/spending");
    for file in std::fs::read_dir(spending).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(text.lines().all(|line| line.split(' ').take(4).all(|word| word.parse::<u64>().is_ok())), "{text}");
    }
}

#[test]
fn no_prompt_waits_for_the_model_and_index_writes_what_is_due() {
    let (store, stub) = (Store::new(), service());
    let model = model(&stub);
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", "--no-summaries", &file]);
    let shown = store.succeed(&with(&["context", "--budget", "900", "Which platform?"], &model));
    assert!(shown.contains("platform 9") && stub.requests().is_empty(), "{shown}");
    let indexed = store.json(&with(&["index"], &model));
    assert_eq!(indexed["conversations"][0]["summaries"].as_u64().unwrap(), authors(&store).len() as u64);
    let asked = stub.requests().len();
    assert!(asked == 3 && by_model(&store) + 1 == authors(&store).len(), "{asked}");
    store.succeed(&with(&["index"], &model));
    let shown = store.succeed(&with(&["context", "--budget", "2500", "Which platform?"], &model));
    assert!(shown.contains("A remark was made."), "{shown}");
    assert_eq!(stub.requests().len(), asked, "nothing is paid for twice");
}

#[test]
fn a_limit_of_the_day_leaves_the_rest_to_spans_which_are_upgraded_later() {
    let (store, stub) = (Store::new(), service());
    let model = model(&stub);
    let mut limited = model.to_vec();
    limited.extend(["--chat-requests-per-day".to_owned(), "1".to_owned()]);
    imported(&store, &support::messages(60), &limited);
    assert_eq!((stub.requests().len(), by_model(&store)), (1, 19));
    // The day is that of all processes.
    let report = store.json(&with(&["resummarize", "trip", "--fallbacks"], &limited));
    assert_eq!((report["rewritten"].as_u64(), stub.requests().len()), (Some(0), 1), "{report}");
    let report = store.json(&with(&["resummarize", "trip", "--fallbacks"], &model));
    let rest = authors(&store).len() - 20;
    assert_eq!(
        (report["rewritten"].as_u64(), report["by_fallback"].as_u64()),
        (Some(rest as u64), Some(0)),
        "{report}"
    );
    assert_eq!(by_model(&store) + 1, authors(&store).len());
    let asked = stub.requests().len();
    store.succeed(&with(&["resummarize", "trip", "--fallbacks"], &model));
    assert_eq!(stub.requests().len(), asked);
}

#[test]
fn a_failure_is_told_and_stops_nothing() {
    let store = Store::new();
    let stub = Stub::start(|_, _| Response::json(&json!({"error": {"message": "no such key"}})).status(401));
    imported(&store, &support::messages(60), &model(&stub));
    assert!(authors(&store).iter().all(|author| author == "spans"));
    assert!(stub.requests().len() <= 3, "{}", stub.requests().len());
    let error = store.fail(&with(&["model", "test", "openai:m"], &model(&stub)), 1);
    assert!(error.contains("no access to m") && error.contains("no such key"), "{error}");
    let error = store.fail(&["--chat-model", "gpt", "list"], 2);
    assert!(error.contains("openai:NAME"), "{error}");
}

#[test]
fn a_chat_model_is_tested_by_one_request() {
    let (store, stub) = (Store::new(), service());
    let model = model(&stub);
    let tested = store.json(&with(&["model", "test", "openai:m?window=32000"], &model));
    assert_eq!((tested["model"].as_str(), tested["window"].as_u64()), (Some("m"), Some(32_000)), "{tested}");
    assert_eq!((tested["reply"].as_str(), tested["prompt_tokens"].as_u64()), (Some("They made remarks."), Some(1000)));
    let lines = store.succeed(&with(&["model", "test", "openai:m?window=32000"], &model));
    assert!(lines.contains("1,000 asked, 600 of them cached, 50 replied"), "{lines}");
    assert_eq!(stub.requests().len(), 2);
    assert!(!std::path::Path::new(&store.path("store")).exists(), "a test makes no store");
}

#[test]
fn a_model_judges_summaries_where_that_is_asked_for() {
    let store = Store::new();
    let stub = Stub::start(|_, request| match asked(request).contains("Which numbers?") {
        true => {
            let message = json!({"role": "assistant", "content": "1"});
            Response::json(&json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
        }
        false => answer(request),
    });
    let mut model = model(&stub).to_vec();
    imported(&store, &support::messages(60), &model);
    let asked = stub.requests().len();
    model.push("--smart-context".to_owned());
    let shown = store.json(&with(&["context", "--budget", "2000", "What about day 3?"], &model));
    assert_eq!(stub.requests().len(), asked + 1);
    assert!(!codes(&shown).contains(&"not_judged"), "{shown}");
}
