"""Kills `memory encrypt`, `encrypt --rotate` and `decrypt` at random points: the store opens with its key, is completed by
the next command, and nothing of an encrypted one is in clear.

`cargo xtask nightly` runs it, and `cargo xtask erasure` alone, with the same variables as test_erasure.py.
"""

import json
import os
import random
import subprocess
import time

import pytest
import raw_bytes
from test_erasure import BINARY, ROUNDS, SEED, fill, memory

# A text, a speaker, a tag, a title, a key of metadata, and the name of the conversation that `fill` makes.
SAID = ["quillfeather", "the ferry leaves", "Henriette", "harbour-tag", "A title of trains", "ticket-class"]


def called(store, key, *arguments, check=True):
    command = [BINARY, "--store", str(store), "--config", "none", "--words-only", *arguments]
    environment = {**os.environ, "MEMORY_KEY_FILE": str(key)}
    return subprocess.run(command, check=check, capture_output=True, text=True, env=environment)


def filled(store, key):
    fill(store, "quillfeather")
    path = store.parent / "more.jsonl"
    line = {"role": "user", "content": "By train?", "speaker": "Henriette", "metadata": {"ticket-class": "second"}}
    path.write_text(json.dumps(line) + "\n")
    called(store, key, "import", "--format", "jsonl", "--as", "trip", str(path))
    path.unlink()
    called(store, key, "tag", "-c", "trip", "--add", "harbour-tag")
    called(store, key, "title", "-c", "trip", "A title of trains")
    called(store, key, "index")


def shown(store, key):
    return called(store, key, "export", "-c", "talk").stdout, called(store, key, "verify", "--json").stdout


def in_clear(store):
    return raw_bytes.scan(store, SAID)[0]


@pytest.mark.parametrize("change", [["encrypt"], ["encrypt", "--rotate"], ["decrypt"]], ids=" ".join)
def test_a_change_that_was_killed_is_completed_and_loses_nothing(tmp_path, change):
    chance = random.Random(SEED)
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    template = tmp_path / "template"
    filled(template, key)
    assert in_clear(template)
    before, _ = shown(template, key)
    if change != ["encrypt"]:
        called(template, key, "encrypt")
        assert not in_clear(template)
    longest, rounds, half = None, max(ROUNDS // 4, 4), 0
    for number in range(rounds + 1):
        store = tmp_path / "store"
        subprocess.run(["cp", "-a", str(template), str(store)], check=True)
        command = [BINARY, "--store", str(store), "--config", "none", "--key-file", str(key), *change]
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if longest is not None:
            time.sleep(chance.uniform(0, longest))
            process.kill()
        process.communicate()
        if longest is None:
            assert process.returncode == 0
            longest = time.monotonic() - started
        half += process.returncode != 0
        # Any command that opens the store for writing completes it.
        called(store, key, "append", "-c", "other", "and on")
        exported, verified = shown(store, key)
        assert exported == before
        assert all(one["verified"] == one["nodes"] for one in json.loads(verified)["conversations"])
        is_encrypted = b"format 2" in (store / "FORMAT").read_bytes()
        assert is_encrypted == bool(called(store, tmp_path / "none", "list", check=False).returncode)
        left = in_clear(store)
        assert bool(left) != is_encrypted, f"round {number}: {left}"
        subprocess.run(["rm", "-r", str(store)], check=True)
    print(f"{' '.join(change)}: {rounds} times, {half} killed")
    assert half


def test_an_erased_message_of_an_encrypted_store_is_in_no_file_and_another_store_is_unlike(tmp_path):
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    stores = [tmp_path / "one", tmp_path / "other"]
    for store in stores:
        filled(store, key)
        called(store, key, "encrypt")
    # The image, since zstd writes the lengths of equal records alike.
    logs = [raw_bytes.image((store / "log" / "0001.seg").read_bytes()) for store in stores]
    pieces = {logs[0][at : at + 16] for at in range(0, len(logs[0]) - 16)}
    pieces = {piece for piece in pieces if piece.count(0) < 2}
    assert not any(logs[1][at : at + 16] in pieces for at in range(len(logs[1]) - 16))
    salts = (stores[0] / "SALTS").read_bytes()
    called(stores[0], key, "erase", "--matching", "quillfeather", "--yes")
    assert (stores[0] / "SALTS").read_bytes()[: len(salts)] != salts, "the salts are overwritten in place"
    assert not json.loads(called(stores[0], key, "find", "--json", "quillfeather").stdout)["matches"]
    assert "keys" in called(stores[0], key, "receipt", "show").stdout
    called(stores[0], key, "decrypt")
    assert not raw_bytes.scan(stores[0], ["quillfeather"])[0], "not even decrypted"
    assert memory(stores[0], "verify").stdout


if __name__ == "__main__":
    pytest.main([__file__, "-s"])
