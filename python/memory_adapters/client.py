"""A memory for a program without a framework.

```python
from memory_adapters import Memory

with Memory("trip.memory", conversation="trip") as memory:
    memory.append("user", "The locker at the harbour is QX-4471.")
    print(memory.context("Which locker is it?")["prompt"]["text"])
```

Answers are those of the commands with `--json`, whose members `docs/json.md` describes; the types here name the members
that most programs read.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Concatenate, Literal, ParamSpec, TypedDict, TypeVar

from .bridge import Bridge

Role = Literal["user", "assistant", "system", "tool"]
Run = list[int]
"""The first and the last number of messages, both included."""


class Notice(TypedDict):
    code: str
    text: str


class Appended(TypedDict):
    conversation: str
    node: int
    new: bool
    nodes: int


class Brief(TypedDict):
    node: int
    speaker: str
    at: str | None
    text: str


class Hit(Brief):
    conversation: str
    relevance: float | None
    score: dict[str, Any]
    excerpt: dict[str, Any]
    before: list[Brief]
    after: list[Brief]


class Found(TypedDict):
    question: str
    hits: list[Hit]
    notices: list[Notice]


class Prompt(TypedDict):
    conversation: str
    question: str
    text: str
    tokens: int
    budget: int
    full_tokens: int
    pieces: list[dict[str, Any]]
    notices: list[Notice]


class ChatRequest(TypedDict):
    system: str | None
    messages: list[dict[str, Any]]
    breakpoints: list[dict[str, Any]]


class Context(TypedDict):
    prompt: Prompt
    request: ChatRequest


class Reminder(TypedDict):
    conversation: str
    text: str
    tokens: int
    budget: int
    nodes: list[int]
    state: dict[str, Any]


class Entry(TypedDict):
    conversation: str
    id: str
    kind: str
    text: str
    status: str
    by: str
    sources: list[Run]


class Listing(TypedDict):
    conversations: list[dict[str, Any]]
    more: int
    archived: int


class Detail(Brief):
    conversation: str
    message: dict[str, Any]


class Messages(TypedDict):
    conversation: str
    total: int
    shown: Run
    next: int | None
    messages: list[Detail]
    lost: list[Run]


class Memory:
    """The conversations of a store, served by a process of the `memory` binary that ends with `close`. Threads may share
    it; its requests are answered one after the other.

    Args:
        store: The directory of the store, made if it is not there; by default this user's.
        conversation: The conversation of requests that name none.
        model: The embedding model, by name or directory; by default the store's own.
        words_only: Recall by words, without a model.
        owner: The owner whose conversations alone are there.
        binary: The `memory` binary; by default the one that `MEMORY_BINARY` names, or `memory` on the path.
        persist: With `False` everything stays in the memory of the process.
        args: More options of the binary (`memory help options`).

    Raises (by all methods):
        NotFound: There is no such conversation, message or entry.
        InvalidRequest: A value is not one that the binary takes.
        BudgetTooSmall: No context fits the budget.
        BridgeError: The parent of these, with a `code`; `BridgeClosed` where the process ended.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        conversation: str | None = None,
        model: str | None = None,
        words_only: bool = False,
        owner: str | None = None,
        binary: str | os.PathLike[str] | None = None,
        persist: bool = True,
        args: list[str] | None = None,
    ) -> None:
        options = [f"--embedding-model={model}"] if model is not None else []
        options += ["--words-only"] if words_only else []
        options += [f"--owner={owner}"] if owner is not None else []
        command = None if binary is None else shlex.join([os.fspath(binary), "bridge", "--stdio"])
        self.conversation = conversation
        self.bridge = Bridge(store, command=command, args=[*options, *(args or [])], persist=persist)

    def append(
        self,
        role: Role | Mapping[str, Any],
        text: str | None = None,
        *,
        conversation: str | None = None,
        name: str | None = None,
        timestamp: str | datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Appended:
        """Appends a message, by its role and its text or as a whole (`role`, `content`, …). It is on disk when this
        returns. Under a `key` that the conversation has it is not appended again."""
        message = dict(role) if isinstance(role, Mapping) else {"role": role, "content": "" if text is None else text}
        given = {"speaker": name, "metadata": metadata, "key": key}
        message |= {member: value for member, value in given.items() if value is not None}
        at = timestamp.isoformat() if isinstance(timestamp, datetime) else timestamp
        return self._call("append", conversation=self._named(conversation), message=message, at=at)

    def search(
        self,
        question: str,
        *,
        conversation: str | None = None,
        everywhere: bool = False,
        top_k: int = 10,
        min_score: float = 0.0,
        radius: int = 0,
    ) -> Found:
        """The messages that bear on a question, best first: at most `top_k`, of a `relevance` (a probability) of at
        least `min_score`, each with `radius` messages `before` and `after`. It searches the conversation, or all
        where none is named or `everywhere` is true."""
        named = None if everywhere else conversation or self.conversation
        limits = {"limit": top_k, "min_relevance": min_score, "neighbours": radius}
        return self._call("search", question=question, conversation=named, **limits)

    def context(
        self,
        question: str | None = None,
        *,
        conversation: str | None = None,
        budget: int = 4000,
        radius: int = 0,
        instructions: str | None = None,
        model: str | None = None,
        follow_mentions: bool = False,
    ) -> Context:
        """What a model is shown, in at most `budget` tokens: the whole conversation, older parts by summaries, and the
        exact words that bear on the question. `["prompt"]["text"]` is the text, `["request"]` the same as messages,
        for the `model` of that name."""
        what = {"question": question, "budget": budget, "radius": radius, "instructions": instructions}
        what |= {"model": model, "follow_mentions": follow_mentions}
        return self._call("context", conversation=self._named(conversation), **what)

    def resume(self, *, conversation: str | None = None, budget: int = 400) -> Reminder:
        """Where a conversation stood: goal, rules, decisions, open questions, the last exchange."""
        return self._call("reminder", conversation=self._named(conversation), budget=budget)

    def facts(
        self, question: str | None = None, *, conversation: str | None = None, kinds: list[str] | None = None, all: bool = False
    ) -> list[Entry]:
        """What is known in the conversation, or in all where none is named (`Bridge.facts`)."""
        return self.bridge.facts(conversation or self.conversation, question=question, kinds=kinds, all=all)

    def conversations(
        self, *, limit: int = 50, skip: int = 0, tags: list[str] | None = None, archived: bool = False
    ) -> Listing:
        """The conversations, the one last spoken in first."""
        return self._call("conversations", limit=limit, skip=skip, tags=tags, archived=archived)

    def messages(
        self, nodes: Run | None = None, *, conversation: str | None = None, limit: int = 20
    ) -> Messages:
        """The messages of a run verbatim, or the last ones; `next` is where the next page begins."""
        return self._call("messages", conversation=self._named(conversation), nodes=nodes, limit=limit)

    def erase(
        self, nodes: list[int | Run] | None = None, *, matching: str | None = None, conversation: str | None = None, by: str = ""
    ) -> dict[str, Any] | None:
        """Erases messages for good, by numbers or by a regular expression, and returns the receipt; `None` where there
        was nothing to erase."""
        what = {"nodes": nodes} if nodes is not None else {"matching": matching}
        return self.bridge.erase(conversation=self._named(conversation), by=by, **what)

    def forget(self, conversation: str | None = None, *, by: str = "") -> dict[str, Any] | None:
        """Erases a whole conversation for good, and returns the receipt."""
        return self.bridge.erase(conversation=self._named(conversation), all=True, by=by)

    def close(self) -> None:
        """Ends the process, which first writes to disk what it derived."""
        self.bridge.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _named(self, conversation: str | None) -> str:
        if named := conversation or self.conversation:
            return named
        raise ValueError("no conversation: name one for the call, or for the Memory by conversation=")

    def _call(self, op: str, **request: Any) -> Any:
        return self.bridge.call(op=op, **{name: value for name, value in request.items() if value is not None})


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _in_thread(
    method: Callable[Concatenate[Memory, _P], _T],
) -> "Callable[Concatenate[AsyncMemory, _P], Awaitable[_T]]":
    async def call(self: "AsyncMemory", *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class AsyncMemory:
    """`Memory` with methods to await: each runs in a thread. The arguments are those of `Memory`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.memory = Memory(*args, **kwargs)

    append = _in_thread(Memory.append)
    search = _in_thread(Memory.search)
    context = _in_thread(Memory.context)
    resume = _in_thread(Memory.resume)
    facts = _in_thread(Memory.facts)
    conversations = _in_thread(Memory.conversations)
    messages = _in_thread(Memory.messages)
    erase = _in_thread(Memory.erase)
    forget = _in_thread(Memory.forget)
    close = _in_thread(Memory.close)

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
