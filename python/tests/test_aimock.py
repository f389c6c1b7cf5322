"""Talks with providers as others imitate them (npm @copilotkit/aimock): shapes, overflow, and what goes wrong on the way.

`cargo xtask agent-trial` runs it; `MEMORY_BINARY` names the binary, `AIMOCK` the program and `NODE` its runtime. Bedrock is left out: the
imitation begins a text with an event that the AWS SDK refuses.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request

import pytest

BINARY, AIMOCK = os.environ.get("MEMORY_BINARY", "memory"), os.environ.get("AIMOCK", "")
TOO_LONG = "This model's maximum context length is 3000 tokens. However, your messages resulted in 3500 tokens."
OVERFLOW = {"message": TOO_LONG, "type": "invalid_request_error", "code": "context_length_exceeded"}
FIXTURES = [
    {"match": {"userMessage": "harbour"}, "response": {"content": "The harbour is Vågen, its wharf Bryggen."}},
    {
        "match": {"userMessage": "look up", "hasToolResult": False},
        "response": {"toolCalls": [{"id": "call_1", "name": "search_memory", "arguments": '{"query": "tea"}'}]},
    },
    {"match": {"userMessage": "look up", "hasToolResult": True}, "response": {"content": "It was green tea."}},
    {"match": {"userMessage": "sum up", "sequenceIndex": 0}, "response": {"error": OVERFLOW, "status": 400}},
    {"match": {"userMessage": "sum up"}, "response": {"content": "Twenty cups of tea."}},
    {
        "match": {"userMessage": "cut"},
        "response": {"content": "one two three four five six seven eight"},
        "chunkSize": 4,
        "latency": 50,
        "truncateAfterChunks": 4,
    },
]
MODELS = {"openai": ("openai:gpt-4o", "/v1"), "anthropic": ("anthropic:claude-haiku-4-5", "")}


def called(base, path, method="GET", body=None):
    request = urllib.request.Request(base + path, method=method, headers={"content-type": "application/json"})
    request.data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


@pytest.fixture(params=MODELS)
def provider(request, tmp_path):
    """The address of the imitation, and the arguments that select a model there."""
    if not AIMOCK:
        pytest.skip("aimock is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    command = [os.environ.get("NODE", "node"), AIMOCK, "-p", str(port), "-f", str(tmp_path / "fixtures.json"), "--log-level", "silent"]
    server = subprocess.Popen(command)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    model, path = MODELS[request.param]
    base = f"http://127.0.0.1:{port}"
    yield base, ["--chat-model", f"{model}?window=8000", "--chat-base-url", base + path, "--chat-key-variable", "PATH"]
    server.kill()
    server.wait()


def ask(store, model, question):
    arguments = ["--store", str(store), "--config", "none", "--words-only", *model]
    command = [BINARY, *arguments, "ask", "-c", "tea", "--json", question]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def answered(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["text"]


def test_a_reply_and_a_call_come_whole(provider, tmp_path):
    base, model = provider
    assert answered(ask(tmp_path / "s", model, "What of the harbour?")) == "The harbour is Vågen, its wharf Bryggen."
    assert answered(ask(tmp_path / "s", model, "Please look up the tea.")) == "It was green tea."
    bodies = [json.dumps(entry["body"]) for entry in called(base, "/__aimock/journal")]
    assert len(bodies) == 3 and "call_1" in bodies[2] and "What of the harbour?" in bodies[2]


def test_an_overflow_is_answered_by_a_smaller_prompt(provider, tmp_path):
    base, model = provider
    lines = [{"role": role, "content": f"Cup {cup}: " + "a leaf of tea " * 20} for cup in range(20) for role in ("user", "assistant")]
    (tmp_path / "tea.jsonl").write_text("\n".join(map(json.dumps, lines)))
    start = [BINARY, "--store", str(tmp_path / "s"), "--config", "none", "--words-only"]
    subprocess.run([*start, "import", "--format", "jsonl", str(tmp_path / "tea.jsonl")], check=True, capture_output=True)
    done = ask(tmp_path / "s", model, "Now sum up.")
    assert answered(done) == "Twenty cups of tea."
    first, second = (len(json.dumps(entry["body"])) for entry in called(base, "/__aimock/journal"))
    assert second < first


def test_what_was_cut_is_kept_and_said(provider, tmp_path):
    _, model = provider
    done = ask(tmp_path / "s", model, "Now cut.")
    assert done.returncode == 1 and "broke off" in done.stderr + done.stdout, (done.stdout, done.stderr)
    shown = subprocess.run([BINARY, "--store", str(tmp_path / "s"), "--config", "none", "show", "tea"], capture_output=True, text=True)
    assert "one" in shown.stdout and "[cut off]" in shown.stdout


@pytest.mark.parametrize(
    "chaos, said",
    [
        ("dropRate", "status 500"),
        ("malformedRate", "cut off"),
        ("disconnectRate", "no answer from the service"),
        ("rateLimitRate", "too many requests"),
    ],
)
def test_a_failure_is_named_and_the_next_request_goes_on(provider, tmp_path, chaos, said):
    base, model = provider
    called(base, "/__aimock/chaos", "POST", {chaos: 1})
    failed = ask(tmp_path / "s", model, "What of the harbour?")
    assert failed.returncode == 1 and said in json.loads(failed.stderr.splitlines()[-1])["error"], failed.stderr
    assert len(called(base, "/__aimock/journal")) >= 2, "a failure is tried again"
    called(base, "/__aimock/chaos", "DELETE")
    done = subprocess.run(
        [BINARY, "--store", str(tmp_path / "s"), "--config", "none", "--words-only", *model, "ask", "-c", "tea", "--json"],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )
    assert answered(done).startswith("The harbour")
