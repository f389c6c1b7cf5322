//! Tests against a stub service, with bodies matched in full.

use std::{
    sync::{Condvar, Mutex},
    time::Duration,
};

use aws_credential_types::{Credentials, credential_fn::provide_credentials_fn, provider::error::CredentialsError};
use aws_sdk_bedrockruntime::config::SharedCredentialsProvider;
use memory_remote::{
    bedrock::registered,
    testing::{Request, Response, Stub},
};
use pollster::block_on;
use serde_json::{Value, json};

use super::*;
use crate::remote::cause_of;

const TITAN_V1: &str = "bedrock:amazon.titan-embed-text-v1";
const TITAN_V2: &str = "bedrock:amazon.titan-embed-text-v2:0?dimensions=256";
const COHERE: &str = "bedrock:cohere.embed-english-v3";
const NOVA: &str = "bedrock:amazon.nova-2-multimodal-embeddings-v1:0?dimensions=384";

fn quick() -> RemoteOptions {
    RemoteOptions::default().first_pause(Duration::from_millis(1)).longest_pause(Duration::from_millis(2))
}

/// With a key given, nothing of this machine's environment is used.
fn options(stub: &Stub) -> BedrockOptions {
    BedrockOptions::default()
        .region("eu-central-1")
        .api_key(ApiKey::new("test-key").unwrap())
        .endpoint(stub.url())
        .calls(quick())
}

fn embedder(model: &str, stub: &Stub) -> BedrockEmbedder {
    BedrockEmbedder::new(model.parse().unwrap(), options(stub)).unwrap()
}

/// An embedder whose client reads nothing of the environment.
fn with_credentials(stub: &Stub, credentials: SharedCredentialsProvider) -> BedrockEmbedder {
    let model: BedrockModel = TITAN_V2.parse().unwrap();
    let protocol = Bedrock { model, connection: Connection::with_credentials(&stub.url(), credentials) };
    let remote = Remote::start(protocol, model.model_id(), model.dimensions(), model.limits(), quick()).unwrap();
    BedrockEmbedder { remote }
}

/// A vector whose only non-zero component is `at`.
fn axis(dimensions: usize, at: usize, length: f32) -> Value {
    json!((0..dimensions).map(|i| if i == at { length } else { 0.0 }).collect::<Vec<_>>())
}

fn refusal(status: u16, code: &str, message: &str) -> Response {
    Response::json(&json!({"message": message})).status(status).header("x-amzn-errortype", code)
}

fn documents(embedder: &BedrockEmbedder, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>, EmbedError> {
    block_on(embedder.embed_documents(texts))
}

/// The component of each text's only vector that is 1.
fn axes(found: &[Vec<Vec<f32>>]) -> Vec<usize> {
    found
        .iter()
        .map(|chunks| {
            assert_eq!(chunks.len(), 1);
            chunks[0].iter().position(|component| *component == 1.0).expect("a unit vector along an axis")
        })
        .collect()
}

#[test]
fn titan_v1_is_asked_for_one_text_a_call() {
    let stub = Stub::start(|_, request| {
        let at = if request.body["inputText"] == "Ann" { 3 } else { 5 };
        Response::json(&json!({"embedding": axis(1536, at, 7.5), "inputTextTokenCount": 1}))
    });
    let found = documents(&embedder(TITAN_V1, &stub), &["Ann", "Bob"]).unwrap();
    assert_eq!(axes(&found), [3, 5]);
    let mut bodies = stub.bodies();
    bodies.sort_by_key(ToString::to_string);
    assert_eq!(bodies, [json!({"inputText": "Ann"}), json!({"inputText": "Bob"})]);
    for request in stub.requests() {
        assert_eq!(request.line, "POST /model/amazon.titan-embed-text-v1/invoke");
        assert_eq!(request.header("authorization"), "Bearer test-key");
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!(request.header("accept"), "application/json");
    }
}

#[test]
fn titan_v2_is_asked_for_normalized_vectors_of_the_dimensions() {
    let stub = Stub::start(|_, _| Response::json(&json!({"embedding": axis(256, 9, 1.0), "inputTextTokenCount": 1})));
    let embedder = embedder(TITAN_V2, &stub);
    assert_eq!(embedder.dimensions(), 256);
    assert_eq!(embedder.model().as_str(), TITAN_V2);
    assert_eq!(axes(&documents(&embedder, &["Ann"]).unwrap()), [9]);
    assert_eq!(stub.bodies(), [json!({"inputText": "Ann", "dimensions": 256, "normalize": true})]);
    assert_eq!(stub.requests()[0].line, "POST /model/amazon.titan-embed-text-v2%3A0/invoke");
}

fn cohere(request: &Request) -> Response {
    let texts = request.body["texts"].as_array().unwrap();
    let vectors: Vec<Value> = texts.iter().map(|text| axis(1024, text.as_str().unwrap().len() % 1024, 2.0)).collect();
    Response::json(&json!({"embeddings": vectors, "id": "x", "response_type": "embeddings_floats", "texts": texts}))
}

#[test]
fn cohere_is_asked_for_many_texts_a_call_and_told_what_they_are_for() {
    let stub = Stub::start(|_, request| cohere(request));
    let embedder = embedder(COHERE, &stub);
    assert_eq!(axes(&documents(&embedder, &["Ann", "Robert"]).unwrap()), [3, 6]);
    assert_eq!(axes(&[vec![block_on(embedder.embed_query("Where?")).unwrap()]]), [6]);
    assert_eq!(
        stub.bodies(),
        [
            json!({"input_type": "search_document", "texts": ["Ann", "Robert"], "truncate": "NONE"}),
            json!({"input_type": "search_query", "texts": ["Where?"], "truncate": "NONE"}),
        ]
    );
    assert_eq!(stub.requests()[0].line, "POST /model/cohere.embed-english-v3/invoke");
}

#[test]
fn cohere_is_given_at_most_96_texts_of_2048_characters() {
    let stub = Stub::start(|_, request| cohere(request));
    let embedder = embedder(COHERE, &stub);
    let texts: Vec<String> = (0..200).map(|n| "x".repeat(1 + n % 20)).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let long = "Some words of a long story about an old ship. ".repeat(100);
    texts.push(&long);
    let found = documents(&embedder, &texts).unwrap();
    assert_eq!(axes(&found[..200]), (0..200).map(|n| 1 + n % 20).collect::<Vec<_>>());
    assert!(found[200].len() > 3);
    for body in stub.bodies() {
        let texts = body["texts"].as_array().unwrap();
        assert!(texts.len() <= 96, "{} texts", texts.len());
        assert!(texts.iter().all(|text| text.as_str().unwrap().chars().count() <= 2048));
    }
}

#[test]
fn nova_is_told_what_the_text_is_for() {
    let stub = Stub::start(|_, _| {
        Response::json(&json!({"embeddings": [{"embeddingType": "TEXT", "embedding": axis(384, 4, 1.0)}]}))
    });
    let embedder = embedder(NOVA, &stub);
    assert_eq!(axes(&documents(&embedder, &["Ann"]).unwrap()), [4]);
    assert_eq!(block_on(embedder.embed_query("Who?")).unwrap().len(), 384);
    let body = |purpose: &str, text: &str| {
        json!({
            "schemaVersion": "nova-multimodal-embed-v1",
            "taskType": "SINGLE_EMBEDDING",
            "singleEmbeddingParams": {
                "embeddingPurpose": purpose,
                "embeddingDimension": 384,
                "text": {"truncationMode": "NONE", "value": text},
            },
        })
    };
    assert_eq!(stub.bodies(), [body("GENERIC_INDEX", "Ann"), body("TEXT_RETRIEVAL", "Who?")]);
    assert_eq!(stub.requests()[0].line, "POST /model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke");
}

#[test]
fn credentials_sign_the_request() {
    let stub = Stub::start(|_, _| Response::json(&json!({"embedding": axis(256, 1, 1.0)})));
    let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
    let embedder = with_credentials(&stub, SharedCredentialsProvider::new(credentials));
    documents(&embedder, &["Ann"]).unwrap();
    let authorization = stub.requests()[0].header("authorization").to_owned();
    assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKIDTEST/"), "{authorization}");
    assert!(authorization.contains("/eu-central-1/bedrock/aws4_request"), "{authorization}");
}

#[test]
fn missing_credentials_are_an_error_that_says_how_to_give_them() {
    let stub = Stub::start(|_, _| Response::text(""));
    let none = provide_credentials_fn(|| async { Err(CredentialsError::not_loaded("nothing is set")) });
    let embedder = with_credentials(&stub, SharedCredentialsProvider::new(none));
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    assert!(
        matches!(cause_of(&error), RemoteError::Credentials { how, .. } if how.contains("AWS_PROFILE")),
        "{error:?}"
    );
    assert!(matches!(error, EmbedError::Unreachable { .. }));
    assert!(stub.requests().is_empty(), "nothing was sent");
}

#[test]
fn a_throttled_call_is_made_again() {
    let stub = Stub::start(|before, _| match before {
        0 => refusal(429, "ThrottlingException", "Too many requests"),
        1 => refusal(503, "ServiceUnavailableException", "Busy"),
        _ => Response::json(&json!({"embedding": axis(256, 2, 1.0)})),
    });
    assert_eq!(axes(&documents(&embedder(TITAN_V2, &stub), &["Ann"]).unwrap()), [2]);
    assert_eq!(stub.requests().len(), 3);
}

#[test]
fn throttling_without_end_is_an_error_that_counts() {
    let stub = Stub::start(|_, _| refusal(429, "ThrottlingException", "Too many requests"));
    let model = TITAN_V2.parse().unwrap();
    let embedder = BedrockEmbedder::new(model, options(&stub).calls(quick().attempts(3))).unwrap();
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::Throttled { attempts: 3, .. }), "{error:?}");
    assert_eq!(stub.requests().len(), 3, "the SDK adds no attempts of its own");
}

#[test]
fn refusals_are_told_apart_and_made_once() {
    type Check = fn(&RemoteError) -> bool;
    let cases: [(u16, &str, &str, Check); 9] = [
        (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", |e| {
            matches!(e, RemoteError::NoAccess { .. })
        }),
        (403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.", |e| {
            matches!(e, RemoteError::Credentials { .. })
        }),
        (403, "ExpiredTokenException", "The security token included in the request is expired", |e| {
            matches!(e, RemoteError::Credentials { .. })
        }),
        (403, "UnrecognizedClientException", "The security token included in the request is invalid.", |e| {
            matches!(e, RemoteError::Credentials { .. })
        }),
        (404, "ResourceNotFoundException", "Could not resolve the foundation model", |e| {
            matches!(e, RemoteError::UnknownModel { .. })
        }),
        (400, "ValidationException", "The provided model identifier is invalid.", |e| {
            matches!(e, RemoteError::UnknownModel { .. })
        }),
        (400, "ValidationException", "400 Bad Request: Too many input tokens. Max input tokens: 8192", |e| {
            matches!(e, RemoteError::TooLong { .. })
        }),
        (400, "ValidationException", "Malformed input request", |e| matches!(e, RemoteError::Refused { .. })),
        (418, "", "a teapot", |e| matches!(e, RemoteError::Refused { .. })),
    ];
    for (status, code, message, is_right) in cases {
        let stub = Stub::start(move |_, _| refusal(status, code, message));
        let error = documents(&embedder(TITAN_V2, &stub), &["Ann"]).unwrap_err();
        assert!(is_right(cause_of(&error)), "{code} {message}: {error:?}");
        assert_eq!(stub.requests().len(), 1, "{code} {message}");
    }
}

#[test]
fn an_answer_that_is_no_list_of_vectors_is_refused() {
    let nan = r#"{"embedding": [1.0, NaN]}"#;
    for body in ["", "{}", "not JSON", r#"{"embedding": "x"}"#, r#"{"embedding": [1e999]}"#, nan] {
        let body = body.to_owned();
        let stub = Stub::start(move |_, _| Response::text(&body));
        let error = documents(&embedder(TITAN_V2, &stub), &["Ann"]).unwrap_err();
        assert!(matches!(error, EmbedError::BadOutput { .. }), "{error:?}");
    }
    let stub = Stub::start(|_, _| Response::json(&json!({"embedding": [1.0, 0.0]})));
    let error = documents(&embedder(TITAN_V2, &stub), &["Ann"]).unwrap_err();
    assert!(error.to_string().contains("vectors of 2 dimensions, not 256"), "{error}");
}

#[test]
fn nobody_there_is_an_error_that_names_the_network() {
    let url = Stub::start(|_, _| Response::text("")).url();
    let options = BedrockOptions::default()
        .region("eu-central-1")
        .api_key(ApiKey::new("test-key").unwrap())
        .endpoint(url)
        .calls(quick().attempts(2));
    let embedder = BedrockEmbedder::new(TITAN_V2.parse().unwrap(), options).unwrap();
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::NoAnswer { attempts: 2, .. }), "{error:?}");
}

#[test]
fn an_error_never_holds_the_key() {
    let stub = Stub::start(|_, request| refusal(400, "ValidationException", request.header("authorization")));
    let embedder = embedder(TITAN_V2, &stub);
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    let shown = format!("{error:?} {embedder:?} {:?}", options(&stub).endpoint("http://me:test-key@10.0.0.1"));
    assert!(shown.contains("Bearer [redacted]") && !shown.contains("test-key"), "{shown}");
}

#[test]
fn the_secrets_of_a_chain_are_known_once_they_are_there() {
    let stub = Stub::start(|_, request| refusal(400, "ValidationException", request.header("x-amz-security-token")));
    let credentials =
        Credentials::new("AKIDTEST", "a-secret-of-a-chain", Some("a-token-of-a-chain".into()), None, "test");
    let known = registered(SharedCredentialsProvider::new(credentials));
    let embedder = with_credentials(&stub, known);
    let shown = format!("{:?}", documents(&embedder, &["Ann"]).unwrap_err());
    assert!(shown.contains("[redacted]") && !shown.contains("a-token"), "{shown}");
    assert_eq!(crate::redacted("a-secret-of-a-chain"), "[redacted]");
}

#[test]
fn a_key_does_not_go_over_plain_http_to_another_machine() {
    let options = BedrockOptions::default()
        .region("eu-central-1")
        .api_key(ApiKey::new("test-key").unwrap())
        .endpoint("http://10.0.0.1")
        .calls(quick());
    let embedder = BedrockEmbedder::new(TITAN_V2.parse().unwrap(), options).unwrap();
    let error = documents(&embedder, &["Ann"]).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::Setup { what } if what.contains("plain_http")), "{error:?}");
}

#[test]
fn calls_at_once_stay_within_the_bound() {
    let state = std::sync::Arc::new((Mutex::new((0_usize, 0_usize)), Condvar::new()));
    let stub = {
        let state = std::sync::Arc::clone(&state);
        Stub::start(move |_, _| {
            let (lock, wake) = &*state;
            let mut now = lock.lock().unwrap();
            now.0 += 1;
            now.1 = now.1.max(now.0);
            wake.notify_all();
            // Responds only once the allowed number of calls is running.
            let mut now = wake.wait_while(now, |(_, most)| *most < 2).unwrap();
            now.0 -= 1;
            Response::json(&json!({"embedding": axis(256, 0, 1.0)}))
        })
    };
    let model = TITAN_V2.parse().unwrap();
    let embedder = BedrockEmbedder::new(model, options(&stub).calls(quick().concurrency(2))).unwrap();
    assert_eq!(documents(&embedder, &["text"; 9]).unwrap().len(), 9);
    assert_eq!(state.0.lock().unwrap().1, 2, "calls at once");
}
