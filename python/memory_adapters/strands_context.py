"""A strategy and a storage for Strands' `ContextManager`, which is experimental there (strands-agents 1.62 or newer)."""

from __future__ import annotations

import asyncio
import base64
import builtins
import copy
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from strands.hooks import AfterInvocationEvent, MessageAddedEvent
from strands.storage.storage import (
    _EPHEMERAL,
    _NAMESPACED,
    StorageSearchResult,
    _normalize_key,
    _normalize_prefix,
)
from strands.types.exceptions import ContextWindowOverflowException, SessionException, StorageError
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from .bridge import Bridge, BridgeClosed, BridgeError
from .strands import MemorySessionRepository, _StoredManager

if TYPE_CHECKING:
    from strands.agent.agent import Agent
    from strands.experimental.context_manager import ContextState

__all__ = ["MemoryContextStrategy", "MemoryStorage"]

_T = TypeVar("_T")


class MemoryContextStrategy:
    """A manager over a store as a strategy of `ContextManager`: the agent's list is the manager's view of the log.

    Before other strategies in the list, it has every message in the log before those cut any.

    Args:
        manager: `HierarchicalConversationManager`, `SemanticConversationManager` or
            `SemanticSummarizingConversationManager`.
        utilization: The share of the model's window from which on the list is made smaller, above 0 and at most 1; when
            the window overflows it is in any case.
    """

    def __init__(self, manager: _StoredManager, *, utilization: float = 0.85) -> None:
        if not isinstance(manager, _StoredManager):
            raise ValueError(f"manager must be one over a store, as HierarchicalConversationManager is, got {manager!r}")
        if not isinstance(utilization, (int, float)) or not 0 < utilization <= 1:
            raise ValueError(f"utilization must be a number above 0 and at most 1, got {utilization!r}")
        self.manager = manager
        self._utilization = utilization

    @property
    def name(self) -> str:
        """The name for logs."""
        return f"memory:{self.manager._manager}"

    def init(self, agent: "Agent", stash: Any = None) -> None:
        """Registers the hooks of the manager, which the agent does not do: its own manager does nothing."""
        self.manager.register_hooks(agent.hooks)
        # Other strategies cut messages as soon as they are added, and so it is no news that the list has other words.
        self.manager._expected = frozenset({"other_words"})
        agent.hooks.add_callback(MessageAddedEvent, self.manager._on_message_added)
        agent.hooks.add_callback(AfterInvocationEvent, lambda event: self.manager.apply_management(event.agent))

    async def apply(self, context: "ContextState") -> bool:
        """Makes the list smaller if it is due. Returns whether it did."""
        before = builtins.list(context.messages)
        if context.overflow:
            self.manager.reduce_context(context.agent, ContextWindowOverflowException("the window overflowed"))
        elif context.utilization >= self._utilization:
            self.manager.reduce_context(context.agent)
        return before != context.messages


class MemoryStorage:
    """A `Storage` of Strands in a store: for stashed results (`ContextManager(stash={"storage": …})`) and whatever else
    takes one. What is written is on disk, and `search` finds it by words and meaning.

    Each value is a message of the conversation `strands:NAME:storage`, of a tool. Writing another value under a key
    leaves the earlier one in the log; `delete` erases all of the key for good.

    Args:
        store: The directory of the store; by default this user's.
        name: The storage; others in the store have other names.
        bridge: A bridge to use; by default the one of this program for the store.
    """

    _AGENT = "storage"
    # How many values a search finds, how many it looks through for those of a namespace, and the least probability that
    # one bears on the question.
    _FOUND, _MOST, _LEAST = 20, 1000, 0.01

    def __init__(
        self, store: str | os.PathLike[str] | None = None, *, name: str = "storage", bridge: Bridge | None = None
    ) -> None:
        self._bridge = bridge or Bridge.shared(store)
        self._repository = MemorySessionRepository(bridge=self._bridge)
        self._name = name
        self._prefix = ""
        self._read = _Read()
        if not self._bridge.persists:
            self._ephemeral = _EPHEMERAL

    async def write(self, key: str, data: bytes) -> None:
        """Stores data under a key. The same data again changes nothing."""
        key, data = self._prefix + _normalize_key(key), bytes(data)

        def written() -> None:
            if self._value(key) == data:
                return
            content = [{"toolResult": {"toolUseId": key, "status": "success", "content": [_content(data)]}}]
            message: Any = {"role": "user", "content": content, "metadata": {"custom": {"storage_key": key}}}
            record = SessionMessage(message=message, message_id=self._read.next)
            self._repository.create_message(self._name, self._AGENT, record)

        await self._do(f"'{key}' was not written", written)

    async def read(self, key: str) -> bytes | None:
        """The data under a key, or `None`."""
        key = self._prefix + _normalize_key(key)
        return await self._do(f"'{key}' was not read", lambda: self._value(key))

    async def delete(self, key: str) -> None:
        """Erases the data under a key for good, with all that was there before."""
        key = self._prefix + _normalize_key(key)

        def erased() -> None:
            if places := self._read.places.get(key):
                nodes = [place + 1 for place in places]
                self._bridge.erase(conversation=self._read.conversation, nodes=nodes, by="Strands")
                del self._read.places[key]

        await self._do(f"'{key}' was not deleted", erased)

    async def list(self, query: str = "") -> builtins.list[str]:
        """The keys that begin with a prefix, sorted."""
        prefix = _normalize_prefix(query)
        keys = await self._do("keys were not listed", lambda: sorted(self._keys()))
        return [key for key in keys if key.startswith(prefix)]

    async def search(self, query: str) -> builtins.list[StorageSearchResult]:
        """The values that bear on a question, best first; the score is a probability."""
        def found() -> builtins.list[StorageSearchResult]:
            current = {self._read.places[self._prefix + key][-1] + 1: key for key in self._keys()}
            if not current or not query.strip():
                return []
            limit = self._MOST if self._prefix else self._FOUND
            request = {"conversation": self._read.conversation, "limit": limit, "min_relevance": self._LEAST}
            hits = self._bridge.call(op="search", question=query, **request)["hits"]
            named = [(current[hit["node"]], hit.get("relevance") or 0.0) for hit in hits if hit["node"] in current]
            return [
                StorageSearchResult(key=key, score=score, data=self._value(self._prefix + key))
                for key, score in named[: self._FOUND]
            ]

        return await self._do("nothing was searched", found)

    def namespace(self, prefix: str) -> "MemoryStorage":
        """The same storage, of which only the keys under a prefix are seen, without it."""
        scoped = copy.copy(self)
        inner = _normalize_prefix(prefix).rstrip("/")
        scoped._prefix = f"{self._prefix}{inner}/" if inner else self._prefix
        scoped._namespaced = _NAMESPACED  # type: ignore[attr-defined]
        return scoped

    async def _do(self, failed: str, work: Callable[[], _T]) -> _T:
        """Does the work beside the event loop, with what other programs wrote meanwhile."""

        def done() -> _T:
            with self._read.lock:
                self._follow()
                return work()

        try:
            return await asyncio.to_thread(done)
        except (BridgeError, BridgeClosed, SessionException, OSError) as error:
            raise StorageError(f"{failed}: {error}") from error

    def _keys(self) -> builtins.list[str]:
        return [key[len(self._prefix) :] for key in self._read.places if key.startswith(self._prefix)]

    def _follow(self) -> None:
        """Reads the keys of what was written since."""
        if not self._read.conversation:
            self._begin()
        for record in self._repository.list_messages(self._name, self._AGENT, offset=self._read.next):
            if key := _key(record):
                self._read.places.setdefault(key, []).append(record.message_id)
            self._read.next = record.message_id + 1

    def _begin(self) -> None:
        if self._repository.read_session(self._name) is None:
            try:
                self._repository.create_session(Session(session_id=self._name, session_type=SessionType.AGENT))
            except SessionException:
                # Another program was first.
                pass
        if self._repository.read_agent(self._name, self._AGENT) is None:
            agent = SessionAgent(agent_id=self._AGENT, state={}, conversation_manager_state={})
            self._repository.create_agent(self._name, agent)
        self._read.conversation = self._repository.conversation(self._name, self._AGENT)

    def _value(self, key: str) -> bytes | None:
        places = self._read.places.get(key, [])
        while places:
            record = self._repository.read_message(self._name, self._AGENT, places[-1])
            if record is not None and _key(record) == key:
                return _data(record.message["content"][0]["toolResult"]["content"][0])
            # Another program has erased it.
            places.pop()
        self._read.places.pop(key, None)
        return None


@dataclass
class _Read:
    """What was read of the conversation of a storage, for all its namespaces: places of the values of each key, the last
    one last, and the next place."""

    conversation: str = ""
    next: int = 0
    places: dict[str, list[int]] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)


def _key(record: SessionMessage) -> str | None:
    return record.message.get("metadata", {}).get("custom", {}).get("storage_key")


def _content(data: bytes) -> Any:
    """Data as the content of a tool result. A block of text, as a stash has it, is stored as its words, so that they are
    found."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"json": {"base64": base64.b64encode(data).decode()}}
    try:
        block = json.loads(text)
        words = block["text"]
        if json.dumps({"text": words}) == text and words.encode():
            return {"text": words}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    return {"json": {"data": text}}


def _data(content: Any) -> bytes:
    if "text" in content:
        return json.dumps({"text": content["text"]}).encode()
    value = content["json"]
    return value["data"].encode() if "data" in value else base64.b64decode(value["base64"])
