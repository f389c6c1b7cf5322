//! Streamable HTTP as raw requests meet it.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use memory_mcp::{HttpError, HttpOptions, HttpServer, Options, Server, Token};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig},
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use crate::support::{Store, trip};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that is stopped with the value.
struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    _store: Store,
}

impl Running {
    async fn new(change: impl FnOnce(HttpOptions) -> HttpOptions) -> Self {
        let store = Store::new();
        let memory = store.memory();
        trip(&memory, 5).await;
        let options = HttpOptions::new(Some(Token::new(TOKEN).unwrap())).listen("127.0.0.1:0".parse().unwrap());
        let server = Server::new(memory, Options::default()).unwrap();
        let server = HttpServer::bind(server, change(options)).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(async move { drop(stopped.await) }));
        Self { address, stop: Some(stop), serving, _store: store }
    }

    /// The status and the body that a request is answered with.
    async fn send(&self, request: &str) -> (u16, String) {
        parted(&whole(self.address, request).await)
    }

    /// The whole answer to a request.
    async fn whole(&self, request: &str) -> String {
        whole(self.address, request).await
    }

    async fn post(&self, headers: &str, body: &Value) -> (u16, String) {
        post(self.address, headers, &body.to_string()).await
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.serving).await.unwrap();
    }
}

async fn whole(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses a request may hang up before all of it is sent.
    drop(stream.write_all(request.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status and the body of an answer.
fn parted(answer: &str) -> (u16, String) {
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

fn request(address: SocketAddr, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

async fn post(address: SocketAddr, headers: &str, body: &str) -> (u16, String) {
    parted(&whole(address, &request(address, headers, body)).await)
}

fn authorized() -> String {
    format!("Authorization: Bearer {TOKEN}\r\nMcp-Protocol-Version: 2025-11-25\r\n")
}

fn list_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

#[tokio::test]
async fn a_request_with_half_a_character_is_answered() {
    let server = Running::new(|options| options).await;
    let call = r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search_memory",
                   "arguments": {"query": "platform \ud83d"}}, "\udcff": "\ud83d"}"#;
    let (status, body) = post(server.address, &authorized(), call).await;
    assert!(status == 200 && body.contains("platform 9"), "{status} {body}");
}

#[tokio::test]
async fn a_request_with_the_token_is_answered_and_none_without() {
    let server = Running::new(|options| options).await;
    let (status, body) = server.post(&authorized(), &list_tools()).await;
    assert!(status == 200 && body.contains("search_memory"), "{status} {body}");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                      "params": {"name": "expand_node", "arguments": {"conversation_id": "trip", "node_id": 3}}});
    let (status, body) = server.post(&authorized(), &call).await;
    assert!(status == 200 && body.contains("platform 9"), "{status} {body}");
    for headers in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic dXNlcg==\r\n"] {
        let (status, body) = server.post(headers, &list_tools()).await;
        assert_eq!((status, body.as_str()), (401, "a bearer token is needed\n"), "{headers}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_origin_or_host_is_refused_and_the_servers_own_is_not() {
    let server = Running::new(|options| options.origins(vec!["https://app.example:443".parse().unwrap()])).await;
    for origin in ["http://evil.example", "null", "https://app.example.evil", "http://localhost:1", "\u{7f}"] {
        let headers = format!("{}Origin: {origin}\r\n", authorized());
        let (status, body) = server.post(&headers, &list_tools()).await;
        assert!(status == 403 || status == 400, "{origin}: {status} {body}");
    }
    let own = [format!("http://localhost:{}", server.address.port()), "https://app.example".to_owned()];
    for origin in own {
        let headers = format!("{}Origin: {origin}\r\n", authorized());
        assert_eq!(server.post(&headers, &list_tools()).await.0, 200, "{origin}");
    }
    let rebound = format!(
        "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nContent-Length: 2\r\n{}\r\n{{}}",
        authorized()
    );
    assert_eq!(server.send(&rebound).await.0, 403);
    let elsewhere = format!("GET /other HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    assert_eq!(server.send(&elsewhere).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_however_it_comes() {
    let server = Running::new(|options| options.max_body(10_000)).await;
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "y".repeat(20_000)});
    assert_eq!(server.post(&authorized(), &long).await.0, 413);
    let chunk = format!("{:x}\r\n{}\r\n", 8_000, "y".repeat(8_000));
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: \
         chunked\r\n{}\r\n{chunk}{chunk}0\r\n\r\n",
        server.address,
        authorized()
    );
    assert_eq!(server.send(&chunked).await.0, 413);
    // A head without end.
    let head = format!("POST /mcp HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(2_000_000));
    assert_eq!(server.send(&head).await.0, 431);
    assert_eq!(server.post(&authorized(), &list_tools()).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn slow_clients_are_given_up_on() {
    let server = Running::new(|options| options.patience(Duration::from_millis(200))).await;
    // A head, and then a body, that never come to their end: the server ends them by itself.
    let (status, _) = server.send("POST /mcp HTTP/1.1\r\nHost: loc").await;
    assert!(status == 408 || status == 0, "{status}");
    let body =
        format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n{}\r\n{{", server.address, authorized());
    assert_eq!(server.send(&body).await.0, 408);
    server.stop().await;
}

#[tokio::test]
async fn more_requests_than_allowed_are_told_to_wait() {
    let server = Running::new(|options| options.per_second(NonZeroU32::MIN)).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(server.post(&authorized(), &list_tools()).await.0);
    }
    assert!(statuses.starts_with(&[200]) && statuses.contains(&429), "{statuses:?}");
    server.stop().await;
}

#[tokio::test]
async fn without_a_token_nothing_but_loopback_is_listened_at() {
    let store = Store::new();
    let server = || Server::new(store.memory(), Options::default()).unwrap();
    let open = HttpOptions::new(None).listen("0.0.0.0:0".parse().unwrap());
    let refused = HttpServer::bind(server(), open).await.unwrap_err();
    assert!(matches!(refused, HttpError::Open(_)), "{refused}");
    let loopback = HttpOptions::new(None).listen("127.0.0.1:0".parse().unwrap());
    HttpServer::bind(server(), loopback).await.unwrap();
}

/// A server whose only tool waits until it is let go.
#[derive(Clone, Debug, Default)]
struct Waiting {
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl ServerHandler for Waiting {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        asked: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.begun.notify_one();
        tokio::select! {
            () = self.go_on.notified() => Ok(CallToolResult::success(vec![ContentBlock::text("all stored")]).into()),
            () = asked.ct.cancelled() => Err(ErrorData::internal_error("broken off", None)),
        }
    }
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_is_asked() {
    let waiting = Waiting::default();
    let options = HttpOptions::new(None).listen("127.0.0.1:0".parse().unwrap());
    let server = HttpServer::bind(waiting.clone(), options).await.unwrap();
    let address = server.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async move { drop(stopped.await) }));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait", "arguments": {}}});
    let asked =
        tokio::spawn(async move { post(address, "Mcp-Protocol-Version: 2025-11-25\r\n", &call.to_string()).await });
    waiting.begun.notified().await;
    drop(stop);
    // The server is stopping once it refuses connections.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    waiting.go_on.notify_one();
    let (status, body) = asked.await.unwrap();
    assert!(status == 200 && body.contains("all stored"), "{status} {body}");
    serving.await.unwrap();
}

#[tokio::test]
async fn a_browser_is_told_which_pages_may_ask() {
    let server = Running::new(|options| options.origins(vec!["https://app.example".parse().unwrap()])).await;
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: \
             POST\r\nAccess-Control-Request-Headers: authorization,content-type\r\n\r\n",
            server.address
        )
    };
    let allowed = server.whole(&preflight("https://app.example")).await.to_lowercase();
    assert!(allowed.starts_with("http/1.1 204 "), "{allowed}");
    for header in [
        "access-control-allow-origin: https://app.example\r\n",
        "access-control-allow-headers: authorization,content-type\r\n",
        "access-control-allow-methods: post, get, delete\r\n",
    ] {
        assert!(allowed.contains(header), "{header}: {allowed}");
    }
    for other in ["https://evil.example", "https://app.example:8443", "http://app.example", "null"] {
        let refused = server.whole(&preflight(other)).await.to_lowercase();
        assert!(
            refused.starts_with("http/1.1 403 ") && !refused.contains("access-control-allow"),
            "{other}: {refused}"
        );
    }
    // The page may read answers, also why it is refused.
    for headers in [authorized(), String::new()] {
        let request =
            request(server.address, &format!("{headers}Origin: https://app.example\r\n"), &list_tools().to_string());
        let answer = server.whole(&request).await.to_lowercase();
        assert!(answer.contains("access-control-allow-origin: https://app.example\r\n"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_header_that_is_given_twice_is_refused() {
    let server = Running::new(|options| options).await;
    let host = format!("Host: {}\r\n", server.address);
    let origin = format!("Origin: http://{0}\r\nOrigin: http://{0}\r\n", server.address);
    for twice in [host, origin, "Authorization: Bearer another\r\n".to_owned()] {
        let (status, body) = server.post(&format!("{}{twice}", authorized()), &list_tools()).await;
        assert!(status == 400 && body.contains("is given twice"), "{twice}: {status} {body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn another_name_of_the_server_in_a_request_is_refused() {
    let server = Running::new(|options| options).await;
    let at = server.address;
    let body = list_tools().to_string();
    let request = request(at, &authorized(), &body);
    for (from, to) in [
        (format!("Host: {at}"), format!("Host: evil.example@{at}")),
        (format!("Host: {at}"), format!("Host: {at}, evil.example")),
        ("POST /mcp".to_owned(), "POST http://evil.example/mcp".to_owned()),
        ("POST /mcp".to_owned(), format!("POST http://evil.example@{at}/mcp")),
    ] {
        let (status, answer) = server.send(&request.replacen(&from, &to, 1)).await;
        assert_eq!(status, 400, "{to}: {answer}");
    }
    let (status, answer) = server.send(&request.replacen("POST /mcp", &format!("POST http://{at}/mcp"), 1)).await;
    assert_eq!(status, 200, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_request_is_answered_by_an_error_of_the_protocol() {
    let server = Running::new(|options| options).await;
    let deep = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","x":{}{}}}"#, "[".repeat(2_000), "]".repeat(2_000));
    for (body, code, id) in [
        ("{bad", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":3,"x":1}"#, -32600, json!(3)),
        (deep.as_str(), -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"x":1e400}}"#, -32600, json!(4)),
    ] {
        let (status, answer) = post(server.address, &authorized(), body).await;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| json!(answer));
        assert_eq!(status, 400, "{body}: {answer}");
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{body}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn parameters_that_a_method_does_not_take_are_told_from_methods_that_there_are_not() {
    let server = Running::new(|options| options).await;
    for (method, params, code) in [
        ("tools/call", Value::Null, -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "find", "arguments": [1]}), -32602),
        ("resources/read", json!({}), -32602),
        ("prompts/get", Value::Null, -32602),
        ("tools/nothing", json!({}), -32601),
    ] {
        let mut call = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        if !params.is_null() {
            call["params"] = params.clone();
        }
        let (_, answer) = server.post(&authorized(), &call).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn no_revision_is_agreed_on_that_is_not_spoken() {
    let server = Running::new(|options| options).await;
    for (asked, agreed) in [
        ("2024-11-05", "2025-11-25"),
        ("2025-03-26", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let (status, answer) = server.post(&format!("Authorization: Bearer {TOKEN}\r\n"), &begin).await;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| json!(answer));
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}: {status} {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn connections_without_a_token_keep_nobody_out() {
    let server = Running::new(|options| options.connections(3).patience(Duration::from_secs(3_600))).await;
    let mut strangers = Vec::new();
    for _ in 0..9 {
        // A head that is never ended.
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
        strangers.push(stream);
    }
    let (status, body) = server.post(&authorized(), &list_tools()).await;
    assert!(status == 200 && body.contains("search_memory"), "{status} {body}");
    // The oldest were hung up on.
    assert_eq!(strangers[0].read(&mut [0; 8]).await.unwrap_or_default(), 0);
}
