//! Where the credentials of Amazon Bedrock come from: the places of the default chain, in their order.
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

    /// Embeds a message in an environment of its own, and gives what signed the requests.
    fn embed(&self, store: &Store, set: impl FnOnce(&mut Command)) -> String {
        let directory = tempfile::tempdir_in(store.path("home")).unwrap();
        let kept = directory.path().to_str().unwrap();
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
        success(&mut command);
        let mut signed = std::mem::take(&mut *self.signed.lock().unwrap());
        signed.dedup();
        assert_eq!(signed.len(), 1, "{signed:?}");
        signed.remove(0)
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
    let by = authorization.split_once("Credential=").map_or(authorization.as_str(), |(_, by)| by);
    signed.lock().unwrap().push(by.split('/').next().unwrap_or_default().to_owned());
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
    assert_eq!(bedrock.embed(&store, |_| {}), "AKIDHOME", "the default profile of this user");
    assert_eq!(bedrock.embed(&store, profile("work")), "AKIDWORK");
    assert_eq!(bedrock.embed(&store, profile("tool")), "AKIDPROCESS");
    assert_eq!(bedrock.embed(&store, keys), "AKIDENV", "the environment comes before a profile");
    let with_key = |command: &mut Command| {
        keys(command);
        command.env("AWS_BEARER_TOKEN_BEDROCK", "a-bedrock-key");
    };
    assert_eq!(bedrock.embed(&store, with_key), "Bearer a-bedrock-key");
}
