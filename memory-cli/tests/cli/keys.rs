//! Keys of models over a network: nobody reads them but the service.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

use crate::{network::Watch, support::memory};

/// With characters that are escaped in addresses, in JSON and in HTML.
const KEY: &str = "sk-Very/Secret+Key=12345&67890";
const OPENAI: &str = "openai:x?dimensions=4";
const BEDROCK: &str = "bedrock:amazon.titan-embed-text-v1";

/// A server that repeats the headers it was sent, in every form that a key can take, with the status that its path
/// begins with, or 400.
struct Echo {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Echo {
    /// Answers until the process ends.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&requests);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let count = Arc::clone(&count);
                thread::spawn(move || echo(&connection.unwrap(), &count));
            }
        });
        Self { address, requests }
    }
}

fn echo(connection: &TcpStream, requests: &AtomicUsize) {
    let mut reader = BufReader::new(connection);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let Some(first) = lines.first() else { return };
    requests.fetch_add(1, Ordering::SeqCst);
    let status = first.split('/').nth(1).and_then(|part| part.parse::<u16>().ok()).unwrap_or(400);
    let lower = |line: &String| line.to_lowercase();
    let length = lines.iter().map(lower).find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
    let said = format!("{} {}", forms().join(" , "), lines.join(" , "));
    let html = KEY.replace('&', "&amp;").replace('/', "&#x2F;");
    let error = json!({"message": said, "code": KEY, "param": html});
    let body = json!({"error": error, "message": said, "data": [{"index": 0, "embedding": KEY}], "embedding": KEY});
    let body = body.to_string().replace('/', "\\/");
    let head = format!(
        "HTTP/1.1 {status} {KEY}\r\nconnection: close\r\nx-echo: {KEY}\r\nx-amzn-errortype: ValidationException\r\n"
    );
    drop((&*connection).write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()));
}

/// The key as it is, percent-encoded, in hexadecimal digits, and in base64 alone and as it stands in two headers.
fn forms() -> Vec<String> {
    vec![
        KEY.to_owned(),
        KEY.replace('/', "%2F").replace('+', "%2b").replace('=', "%3D").replace('&', "%26"),
        KEY.bytes().map(|byte| format!("{byte:02x}")).collect(),
        base64(KEY),
        base64(&format!("Bearer {KEY}")),
        base64(&format!(":{KEY}")),
    ]
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = String::new();
    for three in text.as_bytes().chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..=three.len() {
            digits.push(char::from(DIGITS[number >> (18 - 6 * at) & 63]));
        }
    }
    digits
}

/// The binary in an environment that holds nothing of this user's but the key, and logs all there is.
fn command(args: &[&str]) -> Command {
    let mut command = memory();
    command
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("MEMORY_LOG", "trace")
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .args(args);
    with_keys(&mut command);
    command
}

fn with_keys(command: &mut Command) {
    for variable in ["OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "HF_TOKEN"] {
        command.env(variable, KEY);
    }
}

/// Runs a command that must fail; returns all its output.
fn failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn assert_no_key(said: &str) {
    let plain = said.replace('\\', "");
    for form in forms().iter().map(String::as_str).chain(["Secret+Key", "Secret%2bKey", "12345&amp;", "hunter22"]) {
        assert!(!plain.contains(form), "{form}: {said}");
    }
}

#[test]
fn no_error_and_no_line_of_the_log_holds_a_key_that_a_server_repeats() {
    let echo = Echo::start();
    for json in [&[][..], &["--json"]] {
        for status in [200, 400, 401, 403] {
            let base = format!("http://{}/{status}/v1", echo.address);
            let args = [json, &["model", "test", OPENAI]].concat();
            let said = failure(command(&args).env("OPENAI_BASE_URL", &base));
            assert!(said.contains("[redacted]"), "{said}");
            assert_no_key(&said);
            let args = [json, &["model", "test", BEDROCK]].concat();
            let said = failure(command(&args).env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &base));
            assert!(said.contains("[redacted]"), "{said}");
            assert_no_key(&said);
        }
        let args = [json, &["model", "fetch", "some/model"]].concat();
        assert_no_key(&failure(command(&args).env("HF_ENDPOINT", format!("http://{}/400", echo.address))));
    }
    // Asked again, and each failure logged.
    let failing = format!("http://{}/500", echo.address);
    let said = failure(command(&["model", "test", OPENAI]).env("OPENAI_BASE_URL", failing));
    assert!(said.contains("is repeated") && said.contains("[redacted]"), "{said}");
    assert_no_key(&said);
    assert!(echo.requests.load(Ordering::SeqCst) > 10);
}

#[test]
fn the_aws_client_is_asked_where_nobody_hears_what_it_logs() {
    let echo = Echo::start();
    let mut command = command(&["model", "test", BEDROCK]);
    command.env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", format!("http://{}", echo.address));
    let said = failure(&mut command);
    // The SDK's error names `(service env) "AWS_BEARER_TOKEN" = …`, which must not be shown.
    assert!(!said.contains("env_config") && !said.contains("BEARER_TOKEN"), "{said}");
    // Credentials that sign are never sent, and a token of theirs is.
    let (secret, token) = ("wJalrXUtnFEMI/K7MDENG+bPxRfiCY", "IQoJb3JpZ2luX2VjEXAMPLEtoken/+==");
    command.env_remove("AWS_BEARER_TOKEN_BEDROCK").env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    let said = failure(command.env("AWS_SECRET_ACCESS_KEY", secret).env("AWS_SESSION_TOKEN", token));
    assert!(!said.contains(secret) && !said.contains(token), "{said}");
}

#[test]
fn plain_http_to_another_machine_is_refused_with_a_key_before_anything_is_asked_of_the_network() {
    let watch = Watch::new();
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = memory();
        watch.over(command.args(args)).env("AWS_REGION", "eu-central-1").envs(variables.iter().copied());
        with_keys(&mut command);
        let said = failure(&mut command);
        assert_no_key(&said);
        said
    };
    for host in ["http://10.0.0.1", "http://models.invalid:8080", "http://me:hunter22@10.0.0.1"] {
        let openai = run(&["model", "test", OPENAI], &[("OPENAI_BASE_URL", host)]);
        let bedrock = run(&["model", "test", BEDROCK], &[("AWS_ENDPOINT_URL", host)]);
        let hub = run(&["model", "fetch", "some/model"], &[("HF_ENDPOINT", host)]);
        for said in [openai, bedrock, hub] {
            assert!(said.contains("plain http on another machine") && said.contains("--plain-http"), "{said}");
        }
    }
    // A proxy on another machine reads along, even where the service is on this one.
    for variable in ["HTTP_PROXY", "ALL_PROXY"] {
        let proxy = (variable, "http://me:hunter22@10.0.0.1:3128");
        let bedrock = run(&["model", "test", BEDROCK], &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), proxy]);
        let hub = run(&["model", "fetch", "some/model"], &[("HF_ENDPOINT", "http://127.0.0.1:9"), proxy]);
        for said in [bedrock, hub] {
            assert!(said.contains("the proxy http://10.0.0.1:3128") && said.contains("NO_PROXY=127.0.0.1"), "{said}");
        }
    }
    assert_eq!(watch.asked(), Vec::<String>::new());
}

#[test]
fn plain_http_can_be_allowed_and_the_proxy_is_said_once_without_its_password() {
    // Stands in for a proxy, which is on this machine for the test's sake alone.
    let echo = Echo::start();
    let proxy = format!("http://me:hunter22@{}", echo.address);
    let (args, allowed) = (["model", "test", OPENAI], ["--plain-http", "model", "test", OPENAI]);
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(args);
        let proxied = [("OPENAI_BASE_URL", "http://10.0.0.1/v1"), ("http_proxy", &proxy)];
        failure(command.env_remove("MEMORY_LOG").envs(proxied).envs(variables.iter().copied()))
    };
    assert!(run(&args, &[]).contains("would be sent a key"));
    assert!(run(&args, &[("MEMORY_PLAIN_HTTP", "0")]).contains("would be sent a key"));
    assert_eq!(echo.requests.load(Ordering::SeqCst), 0);
    for said in [run(&allowed, &[]), run(&args, &[("MEMORY_PLAIN_HTTP", "1")])] {
        let note = format!("http://10.0.0.1 is reached through the proxy http://{}\n", echo.address);
        assert_eq!(said.matches(&note).count(), 1, "{said}");
        assert_no_key(&said);
    }
    assert_eq!(echo.requests.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let echo = Echo::start();
    let base = format!("http://{}/v1", echo.address);
    let proxy = ("HTTP_PROXY", "http://10.0.0.1:3128");
    let said = failure(command(&["model", "test", OPENAI]).envs([("OPENAI_BASE_URL", base.as_str()), proxy]));
    assert!(!said.contains("10.0.0.1") && said.contains("refused the request"), "{said}");
    assert_eq!(echo.requests.load(Ordering::SeqCst), 1);
}

#[test]
fn a_key_in_a_name_or_an_address_is_not_repeated() {
    let shown = [
        failure(&mut command(&["model", "test", "openai:x?api_key=hunter22"])),
        failure(&mut command(&["model", "test", "bedrock:amazon.titan-embed-text-v1?key=hunter22"])),
        failure(command(&["model", "test", OPENAI]).env("OPENAI_BASE_URL", "ftp://me:hunter22@host/v1")),
        failure(command(&["model", "test", OPENAI]).env("OPENAI_BASE_URL", "http://me:hunter22@host:port/v1")),
        failure(command(&["model", "test", OPENAI]).env("OPENAI_BASE_URL", "http://10.0.0.1/?token=hunter22")),
    ];
    for said in shown {
        assert_no_key(&said);
    }
    let help = command(&["model", "fetch", "--help"]).env("HF_ENDPOINT", "http://me:hunter22@host").output().unwrap();
    assert_no_key(&String::from_utf8(help.stdout).unwrap());
}
