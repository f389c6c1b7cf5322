"""The chat history of LangChain and LangGraph in a store.

```python
from langchain_core.runnables.history import RunnableWithMessageHistory
from memory_adapters.langchain import MemoryChatMessageHistory

chat = RunnableWithMessageHistory(model, lambda session: MemoryChatMessageHistory(session, store="trip.memory"))
```
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from .bridge import Bridge
from .items import ItemList, call_block, message_of, parts_of, result_block, result_text, text_block


class MemoryChatMessageHistory(BaseChatMessageHistory):
    """A chat history whose messages are a conversation in the log.

    `clear` records that the messages left the history; what was said stays in the log, where `memory search` finds it.

    Args:
        session_id: The session, and the name of its conversation.
        store: The directory of the store; by default this user's.
        bridge: A bridge to use; by default the one of this program for the store.
        persist: With `False` nothing of it reaches a file; it ends with this program.
        budget: The most tokens of `messages`, which then are a view of the whole conversation, and after a message of the
            user also the exact earlier words that bear on it. Without a budget they are the list, whole. Messages that
            are cleared are then kept out of views and searches, too.
    """

    def __init__(
        self,
        session_id: str,
        *,
        store: str | os.PathLike[str] | None = None,
        bridge: Bridge | None = None,
        persist: bool = True,
        budget: int | None = None,
    ) -> None:
        super().__init__()
        self.session_id = session_id
        self._items = ItemList(session_id, _message, store=store, bridge=bridge, persist=persist, budget=budget)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, oldest first; with a budget a view of them."""
        if self._items.budget is None:
            return messages_from_dict(self._items.all())
        return [message for shown in self._items.shown() for message in _shown(shown)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds messages. All are on disk when it returns, or none."""
        self._items.add(message_to_dict(message) for message in messages)

    def clear(self) -> None:
        """Removes all messages from the history."""
        self._items.clear()

    def erase(self, *, by: str = "") -> dict[str, Any] | None:
        """Erases what was said for good, and returns the receipt."""
        return self._items.erase(by=by)


def _shown(message: dict[str, Any]) -> list[BaseMessage]:
    """A message of a view in LangChain's shape."""
    text, calls, results = parts_of(message)
    if message["role"] == "assistant":
        called = [{"id": call["id"], "name": call["name"], "args": call["input"]} for call in calls]
        return [AIMessage(text, tool_calls=called)]
    said: list[BaseMessage] = [
        ToolMessage(result_text(one), tool_call_id=one["tool_use_id"], status="error" if one.get("is_error") else "success")
        for one in results
    ]
    return [*said, HumanMessage(text)] if text or not said else said


def _message(item: Any) -> dict[str, Any]:
    """What a message in LangChain's shape says."""
    data = item.get("data") or {}
    kind = str(item.get("type") or data.get("type") or "").removesuffix("MessageChunk").lower()
    content = data.get("content")
    if kind == "tool":
        return message_of("user", [result_block(data.get("tool_call_id"), content, data.get("status") == "error")])
    blocks = [text_block(content)] if isinstance(content, str) and content else []
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else part.get("text") or f"[{part.get('type')}]" for part in content)
        calls = ("[tool_use]", "[tool_call]")
        blocks = [text_block(part) for part in parts if part not in calls]
    for call in data.get("tool_calls") or []:
        blocks.append(call_block(call.get("id"), call.get("name"), call.get("args")))
    return message_of("assistant" if kind == "ai" else "user", blocks)
