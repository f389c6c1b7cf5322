//! Tests against a stub endpoint, with bodies matched in full.

use std::time::{Duration, Instant};

use memory_remote::testing::{Request, Response, Stub};
use pollster::block_on;
use serde_json::{Value, json};

use super::*;
use crate::remote::cause_of;

fn options(stub: &Stub) -> OpenAiOptions {
    OpenAiOptions::default()
        .base(format!("{}/v1/", stub.url()))
        .api_key(ApiKey::new("test-key").unwrap())
        .calls(RemoteOptions::default().first_pause(Duration::from_millis(1)).longest_pause(Duration::from_millis(2)))
}

fn embedder(model: &str, stub: &Stub) -> OpenAiEmbedder {
    OpenAiEmbedder::new(model.parse().unwrap(), options(stub)).unwrap()
}

fn documents(embedder: &OpenAiEmbedder, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>, EmbedError> {
    block_on(embedder.embed_documents(texts))
}

/// Returns for each text the axis of its length, in reverse order.
fn backwards(dimensions: usize, request: &Request) -> Response {
    let texts = request.body["input"].as_array().unwrap();
    let vector = |text: &Value| -> Vec<f32> {
        let at = text.as_str().unwrap().len() % dimensions;
        (0..dimensions).map(|i| if i == at { 3.0 } else { 0.0 }).collect()
    };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    Response::json(&json!({"object": "list", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}))
}

fn refusal(status: u16, code: &str, message: &str) -> Response {
    Response::json(&json!({"error": {"message": message, "type": "x", "code": code}})).status(status)
}

fn axis(vector: &[f32]) -> Option<usize> {
    vector.iter().position(|component| *component == 1.0)
}

#[test]
fn texts_go_together_and_vectors_come_by_index() {
    let stub = Stub::start(|_, request| backwards(1536, request));
    let embedder = embedder("openai:text-embedding-3-small", &stub);
    let found = documents(&embedder, &["Ann", "Robert"]).unwrap();
    assert_eq!(found.iter().map(|chunks| axis(&chunks[0])).collect::<Vec<_>>(), [Some(3), Some(6)]);
    let body = json!({
        "model": "text-embedding-3-small",
        "input": ["Ann", "Robert"],
        "encoding_format": "float",
        "dimensions": 1536,
    });
    assert_eq!(stub.bodies(), [body]);
    let request = &stub.requests()[0];
    assert_eq!(request.line, "POST /v1/embeddings");
    assert_eq!(request.header("authorization"), "Bearer test-key");
    assert_eq!(request.header("content-type"), "application/json");
}

#[test]
fn dimensions_are_asked_for_only_where_there_is_a_choice() {
    let stub = Stub::start(|_, request| backwards(8, request));
    let embedder = embedder("openai:local-model?dimensions=8", &stub);
    assert_eq!(axis(&block_on(embedder.embed_query("Ann")).unwrap()), Some(3));
    assert_eq!(stub.bodies(), [json!({"model": "local-model", "input": ["Ann"], "encoding_format": "float"})]);
}

#[test]
fn many_texts_make_several_calls() {
    let stub = Stub::start(|_, request| backwards(8, request));
    let texts = vec!["word"; 200];
    assert_eq!(documents(&embedder("openai:local-model?dimensions=8", &stub), &texts).unwrap().len(), 200);
    let mut sizes: Vec<usize> = stub.bodies().iter().map(|body| body["input"].as_array().unwrap().len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [8, 96, 96]);
}

#[test]
fn a_wait_that_the_endpoint_asks_for_is_kept() {
    let stub = Stub::start(|before, request| match before {
        0 => refusal(429, "rate_limit_exceeded", "slow down").header("retry-after", "0.3"),
        _ => backwards(8, request),
    });
    let start = Instant::now();
    documents(&embedder("openai:local-model?dimensions=8", &stub), &["Ann"]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn a_failing_server_is_asked_again() {
    let stub = Stub::start(|before, request| match before {
        0 => Response::text("<html>bad gateway</html>").status(502),
        1 => refusal(500, "", "broken"),
        _ => backwards(8, request),
    });
    documents(&embedder("openai:local-model?dimensions=8", &stub), &["Ann"]).unwrap();
    assert_eq!(stub.requests().len(), 3);
}

#[test]
fn refusals_are_told_apart_and_made_once() {
    type Check = fn(&RemoteError) -> bool;
    let is_too_long: Check = |e| matches!(e, RemoteError::TooLong { .. });
    let cases: [(u16, &str, &str, Check); 13] = [
        (
            401,
            "invalid_api_key",
            "Incorrect API key provided",
            |e| matches!(e, RemoteError::Credentials { how, .. } if how.contains("OPENAI_API_KEY")),
        ),
        (403, "unsupported_country_region_territory", "no", |e| matches!(e, RemoteError::NoAccess { .. })),
        (404, "model_not_found", "The model does not exist", |e| matches!(e, RemoteError::UnknownModel { .. })),
        (404, "", "page not found", |e| matches!(e, RemoteError::UnknownModel { .. })),
        (429, "insufficient_quota", "You exceeded your current quota", |e| matches!(e, RemoteError::Quota { .. })),
        (400, "", "This model's maximum context length is 8192 tokens", is_too_long),
        (400, "", "the input length exceeds the context length", is_too_long),
        (422, "", "Input validation error: `inputs` must have less than 512 tokens. Given: 534", is_too_long),
        (413, "", "batch size 96 > maximum allowed batch size 32", is_too_long),
        (500, "", "input (992 tokens) is too large to process. increase the physical batch size", is_too_long),
        (500, "", "input is larger than the max context size. skipping", is_too_long),
        (400, "", "'input' is of the wrong type", |e| matches!(e, RemoteError::Refused { .. })),
        (307, "", "elsewhere", |e| matches!(e, RemoteError::Refused { .. })),
    ];
    for (status, code, message, is_right) in cases {
        let stub = Stub::start(move |_, _| refusal(status, code, message).header("location", "/elsewhere"));
        let error = documents(&embedder("openai:local-model?dimensions=8", &stub), &["Ann"]).unwrap_err();
        assert!(is_right(cause_of(&error)), "{code} {message}: {error:?}");
        assert_eq!(stub.requests().len(), 1, "{code} {message}");
    }
}

#[test]
fn texts_are_cut_by_what_the_model_is_known_to_read() {
    let stub = Stub::start(|_, request| backwards(4, request));
    let embedder = embedder("openai:short?dimensions=4&tokens=64", &stub);
    assert_eq!(embedder.model().as_str(), "openai:short?dimensions=4&tokens=64");
    let text = "A sentence of six short words. ".repeat(40);
    let chunks = documents(&embedder, &[&text]).unwrap().concat();
    assert!(chunks.len() > 4, "{}", chunks.len());
    for request in stub.requests() {
        for input in request.body["input"].as_array().unwrap() {
            assert!(input.as_str().unwrap().len() <= 64 * 4);
        }
    }
}

#[test]
fn an_answer_that_is_no_list_of_vectors_is_refused() {
    let twice = r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#;
    let beyond = r#"{"data": [{"index": 5, "embedding": [1]}]}"#;
    for body in ["", "{}", "[]", r#"{"data": []}"#, twice, beyond, r#"{"data": [{"index": 0, "embedding": "AAAA"}]}"#] {
        let body = body.to_owned();
        let stub = Stub::start(move |_, _| Response::text(&body));
        let error = documents(&embedder("openai:local-model?dimensions=1", &stub), &["Ann"]).unwrap_err();
        assert!(matches!(error, EmbedError::BadOutput { .. }), "{error:?}");
    }
    let stub = Stub::start(|_, request| backwards(8, request));
    let error = documents(&embedder("openai:local-model?dimensions=9", &stub), &["Ann"]).unwrap_err();
    assert!(error.to_string().contains("vectors of 8 dimensions, not 9"), "{error}");
}

#[test]
fn an_address_that_is_none_is_refused_before_anything_is_sent() {
    for base in ["nowhere", "ftp://example.org/v1", "http://"] {
        let model = "openai:local-model?dimensions=8".parse().unwrap();
        let error = OpenAiEmbedder::new(model, OpenAiOptions::default().base(base)).unwrap_err();
        assert!(matches!(&error, RemoteError::Setup { what } if what.contains(base)), "{error}");
    }
}

#[test]
fn a_key_does_not_go_over_plain_http_to_another_machine() {
    let model = || "openai:local-model?dimensions=8".parse().unwrap();
    let options = || OpenAiOptions::default().base("http://10.0.0.1/v1").api_key(ApiKey::new("test-key").unwrap());
    let error = OpenAiEmbedder::new(model(), options()).unwrap_err();
    assert!(matches!(&error, RemoteError::Setup { what } if what.contains("plain_http")), "{error}");
    OpenAiEmbedder::new(model(), options().plain_http(true)).unwrap();
}

#[test]
fn neither_key_nor_address_is_shown() {
    let gone = Stub::start(|_, _| Response::text("")).url().replace("http://", "http://user:password@");
    let options = OpenAiOptions::default()
        .base(gone)
        .api_key(ApiKey::new("test-key").unwrap())
        .calls(RemoteOptions::default().attempts(1));
    let embedder = OpenAiEmbedder::new("openai:local-model?dimensions=8".parse().unwrap(), options.clone()).unwrap();
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::NoAnswer { attempts: 1, .. }), "{error:?}");
    let shown = format!("{error:?} {options:?} {embedder:?}");
    assert!(!shown.contains("test-key") && !shown.contains("password"), "{shown}");
}
