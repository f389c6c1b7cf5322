"""The client of programs without a framework, over a real store.

`cargo xtask adapters` runs it; `MEMORY_BINARY` names the binary.
"""

import asyncio
from datetime import datetime, timedelta, timezone
from typing import get_type_hints

import pytest

from memory_adapters import AsyncMemory, Bridge, BridgeError, BudgetTooSmall, InvalidRequest, Memory, NotFound, client


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "store", conversation="trip", words_only=True) as memory:
        yield memory


def said(memory):
    at = datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=1)))
    memory.append("user", "The locker at the harbour is QX-4471.", name="Ann", timestamp=at, key="a")
    memory.append("assistant", "Noted.", metadata={"model": "m"})
    return memory.append({"role": "user", "content": [{"type": "text", "text": "We decided to take the night train."}]})


def has_members(answer, kind):
    missing = get_type_hints(kind).keys() - answer.keys()
    assert not missing, f"{kind.__name__}: {missing}"


def test_a_conversation_is_kept_found_shown_and_erased(memory):
    appended = said(memory)
    assert (appended["node"], appended["new"], appended["nodes"]) == (3, True, 3)
    assert not memory.append("user", "The locker at the harbour is QX-4471.", name="Ann", key="a", timestamp="2026-03-01T10:00:00+01:00")["new"]
    found = memory.search("Which locker is it?", top_k=1, radius=1)
    hit = found["hits"][0]
    assert (hit["node"], hit["speaker"], hit["at"]) == (1, "Ann", "2026-03-01T09:00:00Z")
    assert [beside["node"] for beside in hit["after"]] == [2]
    context = memory.context("Which locker is it?", budget=1000, instructions="Be brief.")
    assert "QX-4471" in context["prompt"]["text"] and context["prompt"]["tokens"] <= 1000
    assert context["request"]["system"] == "Be brief." and "QX-4471" in str(context["request"]["messages"])
    assert "Current question" not in str(memory.context()["request"])
    assert "night train" in memory.resume()["text"]
    assert [entry["kind"] for entry in memory.facts()] == ["decision"]
    listed = memory.conversations()
    assert [one["conversation"] for one in listed["conversations"]] == ["trip"]
    page = memory.messages([2, 3], limit=1)
    assert (page["total"], page["shown"], page["next"]) == (3, [2, 2], 3)
    assert page["messages"][0]["message"]["metadata"] == {"model": "m"}
    for answer, kind in [
        (appended, client.Appended),
        (found, client.Found),
        (hit, client.Hit),
        (context["prompt"], client.Prompt),
        (memory.resume(), client.Reminder),
        (memory.facts()[0], client.Entry),
        (listed, client.Listing),
        (page, client.Messages),
        (page["messages"][0], client.Detail),
    ]:
        has_members(answer, kind)
    assert memory.erase(matching="QX-[0-9]+", by="a test")["scan"]["found"] == 0
    assert memory.erase([1]) is None and memory.forget() is not None


def test_errors_are_of_their_kind_and_the_next_request_is_answered(memory, tmp_path):
    said(memory)
    for kind, ask in [
        (NotFound, lambda: memory.messages(conversation="nowhere")),
        (NotFound, lambda: memory.messages([7, 8])),
        (NotFound, lambda: memory.search("Who?", conversation="nowhere")),
        (NotFound, lambda: memory.resume(conversation="nowhere")),
        (InvalidRequest, lambda: memory.append("someone", "Hello.")),
        (InvalidRequest, lambda: memory.append("user", "Hello.", timestamp="soon")),
        (InvalidRequest, lambda: memory.messages([3, 2])),
        (InvalidRequest, lambda: memory.erase(matching="a(")),
        (BudgetTooSmall, lambda: memory.context("Which locker?", budget=1)),
        (ValueError, lambda: Memory(tmp_path / "store").append("user", "Hello.")),
        (BridgeError, lambda: Memory(binary=tmp_path / "none").conversations()),
    ]:
        with pytest.raises(kind):
            ask()
    assert memory.messages()["total"] == 3


def test_all_conversations_are_searched_where_none_is_named(memory):
    said(memory)
    memory.append("user", "My locker at the station is RT-1.", conversation="other")
    names = lambda found: {hit["conversation"] for hit in found["hits"]}
    assert names(memory.search("Which locker?")) == {"trip"}
    assert names(memory.search("Which locker?", everywhere=True)) == {"trip", "other"}


def test_what_is_awaited_is_the_same(tmp_path):
    async def play():
        async with AsyncMemory(tmp_path / "store", conversation="trip", words_only=True) as memory:
            await asyncio.gather(*(memory.append("user", f"Locker {number}.") for number in range(5)))
            assert (await memory.messages())["total"] == 5
            with pytest.raises(NotFound):
                await memory.messages(conversation="nowhere")

    asyncio.run(play())
    public = [name for name, value in vars(Memory).items() if callable(value) and not name.startswith("_")]
    assert all(hasattr(AsyncMemory, name) for name in public), public


def test_nothing_of_a_memory_that_does_not_persist_reaches_a_file(tmp_path):
    with Memory(tmp_path / "store", conversation="trip", words_only=True, persist=False) as memory:
        said(memory)
        assert memory.search("locker")["hits"]
    assert not (tmp_path / "store").exists()


def test_other_commands_get_the_options_of_a_bridge_without_its_own(tmp_path):
    args = ["--words-only", "--summarizer=caller", "--caller-window=4096", "--max-line", "8"]
    bridge = Bridge(tmp_path / "store", args=args)
    assert bridge.asks
    with Memory(tmp_path / "store", conversation="trip", words_only=True) as memory:
        said(memory)
    assert bridge.run("list")["conversations"][0]["nodes"] == 3
