"""Kills `memory erase` at random points, and looks for what it erased in the raw bytes of the store afterwards.

`cargo xtask nightly` runs it, and `cargo xtask erasure` alone; `MEMORY_BINARY` names the binary, `MEMORY_KILL_ROUNDS` the
number of erasures that are killed.
"""

import json
import os
import random
import subprocess
import time

import pytest
import raw_bytes

BINARY = os.environ.get("MEMORY_BINARY", "memory")
ROUNDS = int(os.environ.get("MEMORY_KILL_ROUNDS", "100"))
SEED = int(os.environ.get("MEMORY_KILL_SEED", "20261130"))
MESSAGES = 60
# A part of a sentence, and a word that no other message has, as an index of words keeps it.
SENTENCE = "the vault in Bergen opens with"


def memory(store, *arguments, check=True):
    # The summaries of a kept configuration or another model would make the store another one each time.
    command = [BINARY, "--store", str(store), "--config", "none", "--words-only", *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def fill(store, secret):
    said = [f"Note {n}: the ferry leaves at {n % 24}:15 and the garden needs rain." for n in range(1, MESSAGES + 1)]
    said[20] = f"Please remember: {SENTENCE} {secret}, and nothing else does."
    said[40] = f"As I said, {SENTENCE} {secret}."
    path = store.parent / f"{store.name}.jsonl"
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in said))
    memory(store, "import", "--format", "jsonl", "--as", "talk", str(path))
    path.unlink()
    for budget in ("600", "4000"):
        memory(store, "context", "-c", "talk", "--budget", budget, f"Which {SENTENCE} {secret}?")
    memory(store, "index")
    memory(store, "vacuum", "--seal", "--compress", "--block-size", "4096")
    memory(store, "append", "-c", "talk", f"Once more: {SENTENCE} {secret}!")


def erase(store, secret):
    command = [BINARY, "--store", str(store), "--config", "none", "--words-only", "erase", "--matching", secret]
    return subprocess.Popen([*command, "--yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_read(store, secret):
    """True if a look finds it: one writes nothing, and so shows whether an erasure was begun."""
    return bool(json.loads(memory(store, "find", "--json", secret).stdout)["matches"])


def texts(secret):
    return [secret, f"{SENTENCE} {secret}"]


def test_the_scanner_finds_what_is_there(tmp_path):
    store, secret = tmp_path / "store", "quillfeather4711"
    fill(store, secret)
    found, files, _ = raw_bytes.scan(store, texts(secret))
    assert found and files > 3
    # In a compressed segment as well, of which no byte shows most of its texts.
    raw = (store / "log" / "0001.seg").read_bytes()
    opened = raw_bytes.image(raw)
    lines = [f"Note {n}: the ferry leaves at {n % 24}:15".encode() for n in range(2, 20)]
    assert secret.encode() in opened and all(line in opened for line in lines)
    assert not all(line in raw for line in lines)
    for name, needle in raw_bytes.encodings(secret).items():
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        (other / "file").write_bytes(b"\x01" * 7 + needle + b"\x02" * 5)
        assert raw_bytes.scan(other, [secret])[0], name


def test_nothing_is_left_after_an_erasure_that_was_killed(tmp_path):
    chance, begun, completed = random.Random(SEED), 0, 0
    # How long an erasure takes here, from one that nobody kills.
    store = tmp_path / "whole"
    fill(store, "quillfeather0")
    started = time.monotonic()
    assert erase(store, "quillfeather0").wait() == 0
    longest = time.monotonic() - started
    for number in range(1, ROUNDS + 1):
        secret = f"quillfeather{number}x"
        store = tmp_path / f"store-{number}"
        fill(store, secret)
        process = erase(store, secret)
        time.sleep(chance.uniform(0, 1.1 * longest))
        process.kill()
        process.communicate()
        completed += process.returncode == 0
        had_begun = not is_read(store, secret)
        memory(store, "vacuum")
        begun += had_begun
        if is_read(store, secret):
            assert not had_begun
            assert erase(store, secret).wait() == 0, "it goes through now"
        left, files, _ = raw_bytes.scan(store, texts(secret))
        assert not left and files > 3, f"round {number}: {left}"
        verified = memory(store, "verify")
        assert "3 erased" in verified.stdout, verified.stdout
        subprocess.run(["rm", "-r", str(store)], check=True)
    print(f"{ROUNDS} erasures killed, {begun} of them after they had begun, {completed} after their end")
    assert begun >= ROUNDS // 4, "the kills came too early to say anything"


if __name__ == "__main__":
    pytest.main([__file__, "-s"])
