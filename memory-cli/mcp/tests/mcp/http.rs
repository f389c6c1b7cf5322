//! Streamable HTTP as raw requests meet it.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use memory_mcp::{HttpError, HttpOptions, HttpServer, Options, Server, Token};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
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
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses a request may hang up before all of it is sent.
        drop(stream.write_all(request.as_bytes()).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status, body)
    }

    async fn post(&self, headers: &str, body: &Value) -> (u16, String) {
        let (body, address) = (body.to_string(), self.address);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.send(&request).await
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.serving).await.unwrap();
    }
}

fn authorized() -> String {
    format!("Authorization: Bearer {TOKEN}\r\nMcp-Protocol-Version: 2025-11-25\r\n")
}

fn list_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
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
    let server = Running::new(|options| options.origins(vec!["https://app.example:443".to_owned()])).await;
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

#[tokio::test]
async fn a_server_that_stops_answers_what_it_is_asked() {
    let server = Running::new(|options| options).await;
    let address = server.address;
    let (one, other) = (authorized(), list_tools());
    let asked = server.post(&one, &other);
    assert_eq!(asked.await.0, 200);
    server.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
}
