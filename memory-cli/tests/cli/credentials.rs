//! Sources of credentials for Amazon Bedrock: the default chain, in its order.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use crate::support::{Store, memory, messages, success};

const MODEL: &str = "bedrock:amazon.titan-embed-text-v1";
const DIMENSIONS: usize = 1_536;

/// A Bedrock that embeds every text alike and notes who signed.
struct Bedrock {
    address: SocketAddr,
    signed: Arc<Mutex<Vec<String>>>,
}

impl Bedrock {
    /// Answers until the process ends.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, signed) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let seen = Arc::clone(&signed);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || answer(&connection.unwrap(), &seen));
            }
        });
        Self { address, signed }
    }

    /// Embeds a message in an environment of its own, and returns the signer and the region of the requests.
    fn embed(&self, store: &Store, set: impl FnOnce(&mut Command)) -> String {
        success(&mut self.embedding(store, set));
        let mut signed = std::mem::take(&mut *self.signed.lock().unwrap());
        signed.dedup();
        assert_eq!(signed.len(), 1, "{signed:?}");
        signed.remove(0)
    }

    /// The command that embeds a message.
    fn embedding(&self, store: &Store, set: impl FnOnce(&mut Command)) -> Command {
        let directory = tempfile::tempdir_in(store.path("home")).unwrap().keep();
        let kept = directory.to_str().unwrap();
        let talk = store.file("talk.jsonl", &messages(1));
        success(memory().args(["--store", kept, "--embedding-model", MODEL, "import", "--format", "jsonl", &talk]));
        let mut command = memory();
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", store.path("home"))
            .env("AWS_REGION", "eu-central-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", format!("http://{}", self.address))
            .args(["--store", kept, "index"]);
        set(&mut command);
        command
    }
}

fn answer(connection: &TcpStream, signed: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(connection);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.trim_end().split_once(": ").unwrap_or((line.trim_end(), ""));
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => value.clone_into(&mut authorization),
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    // `AWS4-HMAC-SHA256 Credential=AKID/20251101/eu-central-1/bedrock/aws4_request, …`, or `Bearer KEY`.
    let scope = authorization.split_once("Credential=").map(|(_, scope)| scope.split('/').collect::<Vec<_>>());
    signed.lock().unwrap().push(match scope.as_deref() {
        Some([id, _, region, ..]) => format!("{id} in {region}"),
        _ => authorization,
    });
    let body = json!({"embedding": vec![0.1; DIMENSIONS], "inputTextTokenCount": 3}).to_string();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
    drop((&*connection).write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()));
}

#[test]
fn credentials_come_from_the_environment_a_profile_or_a_process_and_a_bedrock_key_comes_first() {
    let (bedrock, store) = (Bedrock::start(), Store::new());
    let aws = store.path("home/.aws");
    fs::create_dir_all(&aws).unwrap();
    let secret = |id: &str| format!("aws_access_key_id = {id}\naws_secret_access_key = secret\n");
    fs::write(format!("{aws}/credentials"), format!("[default]\n{}[work]\n{}", secret("AKIDHOME"), secret("AKIDWORK")))
        .unwrap();
    let process = json!({"Version": 1, "AccessKeyId": "AKIDPROCESS", "SecretAccessKey": "secret"}).to_string();
    fs::write(format!("{aws}/printed"), process).unwrap();
    fs::write(format!("{aws}/config"), format!("[profile tool]\ncredential_process = cat {aws}/printed\n")).unwrap();

    let profile = |name: &'static str| {
        move |command: &mut Command| {
            command.env("AWS_PROFILE", name);
        }
    };
    let keys = |command: &mut Command| {
        command.env("AWS_ACCESS_KEY_ID", "AKIDENV").env("AWS_SECRET_ACCESS_KEY", "secret");
    };
    assert_eq!(bedrock.embed(&store, |_| {}), "AKIDHOME in eu-central-1", "the default profile of this user");
    assert_eq!(bedrock.embed(&store, profile("work")), "AKIDWORK in eu-central-1");
    assert_eq!(bedrock.embed(&store, profile("tool")), "AKIDPROCESS in eu-central-1");
    assert_eq!(bedrock.embed(&store, keys), "AKIDENV in eu-central-1", "the environment comes before a profile");
    let with_key = |command: &mut Command| {
        keys(command);
        command.env("AWS_BEARER_TOKEN_BEDROCK", "a-bedrock-key");
    };
    assert_eq!(bedrock.embed(&store, with_key), "Bearer a-bedrock-key");
}

#[test]
fn the_region_is_the_named_one_else_that_of_the_environment_else_that_of_the_profile() {
    let (bedrock, store) = (Bedrock::start(), Store::new());
    let aws = store.path("home/.aws");
    fs::create_dir_all(&aws).unwrap();
    let keys = |command: &mut Command| {
        command.env("AWS_ACCESS_KEY_ID", "AKIDENV").env("AWS_SECRET_ACCESS_KEY", "secret");
    };
    let named = |command: &mut Command| {
        keys(command);
        command.args(["--region", "us-west-2"]);
    };
    let nowhere = |command: &mut Command| {
        keys(command);
        command.env_remove("AWS_REGION");
    };
    assert_eq!(bedrock.embed(&store, named), "AKIDENV in us-west-2");
    assert_eq!(bedrock.embed(&store, keys), "AKIDENV in eu-central-1");
    let without = bedrock.embedding(&store, nowhere).output().unwrap();
    let said = String::from_utf8_lossy(&without.stderr);
    assert!(said.contains("no AWS region: give one, or set AWS_REGION"), "{said}");
    fs::write(format!("{aws}/config"), "[default]\nregion = eu-west-3\n").unwrap();
    assert_eq!(bedrock.embed(&store, nowhere), "AKIDENV in eu-west-3");
}
