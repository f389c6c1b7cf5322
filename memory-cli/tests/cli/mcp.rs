//! `memory mcp` as clients start it: requests as they stand in the protocol, without any library for it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::support::{self, Store};

/// A server of the binary with a client on its standard input and output.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Server {
    fn new(store: &Store, args: &[&str]) -> Self {
        let mut command = store.command(&[&["mcp"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, requests: 0 }
    }

    /// One with which a client of the revision 2025-11-25 has begun.
    pub(crate) fn begun(store: &Store, args: &[&str]) -> Self {
        let mut server = Self::new(store, args);
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                            "clientInfo": {"name": "test", "version": "1"}});
        let begun = server.ask("initialize", client);
        assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: Value) {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
    }

    /// Asks with parameters as they are written.
    pub(crate) fn ask_written(&mut self, method: &str, params: &str) -> Value {
        self.requests += 1;
        let input = self.input.as_mut().unwrap();
        let id = self.requests;
        writeln!(input, r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {params}}}"#).unwrap();
        self.answer()
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params);
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.requests, "{answer}");
        answer
    }

    /// Structured answer of a tool, which must succeed.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Ends its input, upon which it ends with everything written.
    fn end(mut self) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(status.success() && errors.is_empty(), "{status}: {errors}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn trip() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

fn message(text: &str) -> Value {
    let key: String = text.chars().take(40).collect();
    json!({"role": "user", "text": text, "key": key})
}

#[test]
fn the_binary_serves_clients_of_both_revisions_on_standard_input_and_output() {
    let store = trip();
    let mut server = Server::begun(&store, &[]);
    let node = server.call("expand_node", json!({"conversation_id": "trip", "node_id": 7}));
    assert_eq!(node["text"], "The train leaves at 7:42 from platform 9.");
    server.end();
    // A client of the revision 2026-07-28 begins nothing, and says in each request what it is.
    let mut server = Server::new(&store, &["--profile", "full"]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {},
                      "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}});
    let discovered = server.ask("server/discover", json!({"_meta": meta}));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{discovered}");
    let tools = server.ask("tools/list", json!({"_meta": meta}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 11, "{tools}");
    server.end();
}

#[test]
fn a_client_that_never_begins_is_no_error() {
    let store = Store::new();
    Server::new(&store, &[]).end();
    // Its store was made, since a client is configured before anything is said.
    assert_eq!(store.json(&["verify"])["nodes"], 0);
}

/// The request is discarded, and the client gets an error without the request's id, which was not read.
#[test]
fn a_request_larger_than_allowed_is_refused_and_the_server_goes_on() {
    let store = trip();
    let mut server = Server::begun(&store, &["--max-body", "1"]);
    server.request("tools/call", json!({"name": "search_memory", "arguments": {"query": "a".repeat(2 << 20)}}));
    let mut line = String::new();
    server.output.read_line(&mut line).unwrap();
    let refused: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("1048576 bytes"), "{refused}");
    let node = server.call("expand_node", json!({"conversation_id": "trip", "node_id": 7}));
    assert_eq!(node["text"], "The train leaves at 7:42 from platform 9.");
    server.end();
}

/// The transport of the library answers none of these.
#[test]
fn what_cannot_be_read_on_standard_input_is_answered_and_the_server_goes_on() {
    let store = trip();
    let mut server = Server::begun(&store, &[]);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":70,"method":"ping","x":{}{}}}"#, "[".repeat(2_000), "]".repeat(2_000));
    for (line, code, id) in [
        ("{bad", -32700, Value::Null),
        (deep.as_str(), -32600, json!(70)),
        (r#"{"jsonrpc":"2.0","id":71,"method":"ping","params":{"x":1e400}}"#, -32600, json!(71)),
    ] {
        writeln!(server.input.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        server.output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    let node = server.call("expand_node", json!({"conversation_id": "trip", "node_id": 7}));
    assert_eq!(node["text"], "The train leaves at 7:42 from platform 9.");
    server.end();
}

#[test]
fn ten_servers_and_a_command_use_one_store_at_once() {
    const SERVERS: usize = 10;
    const ROUNDS: usize = 6;
    let store = trip();
    thread::scope(|scope| {
        for server in 0..SERVERS {
            let store = &store;
            scope.spawn(move || {
                let mut client = Server::begun(store, &["--allow-writes"]);
                for round in 0..ROUNDS {
                    let said = format!("Server {server} says remark {round} about the lighthouse.");
                    let messages = [message(&said), message(&format!("And {said}"))];
                    let appended =
                        client.call("append_messages", json!({"conversation_id": "talk", "messages": messages}));
                    // The messages of one call have consecutive numbers, and the server reads its own writes.
                    let nodes: Vec<_> =
                        appended["nodes"].as_array().unwrap().iter().map(|node| node.as_u64().unwrap()).collect();
                    assert_eq!(nodes[1], nodes[0] + 1);
                    let node = client.call("expand_node", json!({"conversation_id": "talk", "node_id": nodes[0]}));
                    assert_eq!(node["text"], said);
                    let line = format!("server {server} round {round}");
                    client.call("scratchpad_append", json!({"text": line}));
                    let found = client.call("search_memory", json!({"query": "platform of the train", "limit": 1}));
                    assert_eq!(found["messages"][0]["node"], 7);
                }
                client.end();
            });
        }
        for _ in 0..ROUNDS {
            let verified = store.json(&["verify"]);
            assert_eq!((&verified["nodes"], &verified["damage"]), (&verified["verified"], &json!([])));
            store.succeed(&["append", "-c", "trip", "A remark from the command line."]);
        }
    });
    let stats = store.json(&["stats", "-c", "talk"]);
    assert_eq!(stats["conversations"][0]["nodes"], (SERVERS * ROUNDS * 2) as u64);
    // No line of the scratchpad was lost to another server's.
    let read = Server::begun(&store, &["--allow-writes"]).call("scratchpad_read", json!({}));
    let lines: BTreeSet<_> = read["text"].as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), SERVERS * ROUNDS, "{read}");
    store.succeed(&["doctor"]);
}

#[test]
fn a_server_that_is_killed_while_it_appends_leaves_a_whole_store() {
    let store = trip();
    let text = |round: usize, place: usize| format!("Round {round}, message {place}: {}", "the harbour ".repeat(200));
    let mut acknowledged = 0;
    for round in 0..6 {
        let mut server = Server::begun(&store, &["--allow-append"]);
        // The first batches are waited for, the last one is cut off wherever it happens to be.
        for batch in 0..3 {
            let round = round * 3 + batch;
            let messages: Vec<_> = (0..200).map(|place| message(&text(round, place))).collect();
            let call = json!({"name": "append_messages",
                              "arguments": {"conversation_id": "harbour", "messages": messages}});
            if batch < 2 {
                assert_ne!(server.ask("tools/call", call)["result"]["isError"], true);
                acknowledged += 200;
            } else {
                server.request("tools/call", call);
            }
        }
        server.child.kill().unwrap();
        drop(server);
        let verified = store.json(&["verify"]);
        assert_eq!((&verified["nodes"], &verified["damage"]), (&verified["verified"], &json!([])), "round {round}");
        let nodes = store.json(&["stats", "-c", "harbour"])["conversations"][0]["nodes"].as_u64().unwrap();
        // A batch is there whole or not at all.
        assert!(nodes >= acknowledged && nodes.is_multiple_of(200), "round {round}: {nodes} of {acknowledged}");
        acknowledged = nodes;
    }
    store.succeed(&["doctor"]);
}

/// A listening server of the binary, with the address and the token that it printed.
struct Listening {
    child: Child,
    /// Lines of standard error.
    said: BufReader<std::process::ChildStderr>,
    address: String,
    token: Option<String>,
    /// True if the server warned of a token that others can read.
    warned: bool,
}

impl Listening {
    fn new(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut listening = Self { child, said, address: String::new(), token: None, warned: false };
        while listening.address.is_empty() {
            let mut line = String::new();
            assert_ne!(listening.said.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(made) = line.strip_prefix("token ") {
                listening.token = Some(made.trim().to_owned());
            }
            listening.warned |= line.contains("can read the token: chmod 600 ");
            if let Some(url) = line.strip_prefix("serving http://") {
                url.trim().strip_suffix("/mcp").unwrap().clone_into(&mut listening.address);
            }
        }
        listening
    }

    /// The status of a request for the tools.
    fn status(&self, token: Option<&str>) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n{token}\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Ends by a signal, as a service manager ends it; the exit code is that of success.
    fn terminate(mut self) {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert!(status.success() && rest.is_empty(), "{status}: {rest}");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_server_on_a_port_makes_a_token_takes_one_or_asks_for_none() {
    let store = trip();
    let http = ["mcp", "--http", "--port", "0"];
    let server = Listening::new(&mut store.command(&http));
    let token = server.token.clone().unwrap();
    assert_eq!((server.status(Some(&token)), server.status(None), server.status(Some("wrong"))), (200, 401, 401));
    server.terminate();
    const GIVEN: &str = "a-token-of-the-users-own";
    let server = Listening::new(store.command(&http).env("MEMORY_MCP_TOKEN", GIVEN));
    assert_eq!((server.token.as_deref(), server.status(Some(GIVEN)), server.status(None)), (None, 200, 401));
    server.terminate();
    let file = store.file("token", &format!("{GIVEN}\n"));
    let server = Listening::new(&mut store.command(&[&http[..], &["--token-file", &file]].concat()));
    assert_eq!((server.token.as_deref(), server.status(Some(GIVEN)), server.status(None)), (None, 200, 401));
    server.terminate();
    #[cfg(unix)]
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let server = Listening::new(&mut store.command(&[&http[..], &["--token-file", &file]].concat()));
        assert_eq!(server.warned, warned, "{mode:o}");
        server.terminate();
    }
    for wrong in ["https://app.example/page", "app.example", "*", "null"] {
        let refused = store.fail(&[&http[..], &["--allow-origin", wrong]].concat(), 2);
        assert!(refused.contains("is no origin: give scheme, host and port"), "{refused}");
    }
    let server = Listening::new(&mut store.command(&[&http[..], &["--no-token"]].concat()));
    assert_eq!((server.token.as_deref(), server.status(None)), (None, 200));
    server.terminate();
    let refused = store.fail(&[&http[..], &["--no-token", "--listen", "0.0.0.0"]].concat(), 2);
    assert!(refused.contains("can be reached from other machines, which needs a token"), "{refused}");
    fs::write(&file, "short").unwrap();
    let refused = store.fail(&[&http[..], &["--token-file", &file]].concat(), 2);
    assert!(refused.contains("a token has 16 to 4096 visible ASCII characters"), "{refused}");
    store.fail(&["mcp", "--no-token"], 2);
}

#[test]
fn another_owners_conversation_is_not_found_through_the_binary() {
    let store = Store::new();
    store.succeed(&["--owner", "ana", "append", "-c", "diary", "The zeppelin leaves at noon."]);
    store.succeed(&["--owner", "ben", "append", "-c", "list", "Milk and bread."]);
    let mut server = Server::begun(&store, &["--owner", "ben"]);
    let found = server.call("search_memory", json!({"query": "zeppelin"}));
    assert_eq!(found["messages"], json!([]));
    let params = json!({"name": "expand_node", "arguments": {"conversation_id": "diary", "node_id": 1}});
    let refused = server.ask("tools/call", params);
    assert_eq!(refused["result"]["isError"], true);
    assert!(refused.to_string().contains("Conversation `diary` not found"), "{refused}");
    server.end();
}
