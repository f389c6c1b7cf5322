"""Sessions of the OpenAI Agents SDK in a store.

```python
from agents import Agent, Runner
from memory_adapters.openai_agents import MemorySession

session = MemorySession("trip", store="trip.memory")
await Runner.run(Agent(name="guide"), "When does the train leave?", session=session)
```
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from agents.memory.session import SessionABC

from .bridge import Bridge
from .items import ItemList, call_block, message_of, result_block, text_block

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory.session_settings import SessionSettings


class MemorySession(SessionABC):
    """A session whose items are a conversation in the log.

    `pop_item` and `clear_session` record that items left the session; what was said stays in the log, where `memory
    search` finds it.

    Args:
        session_id: The session, and the name of its conversation.
        store: The directory of the store; by default this user's.
        session_settings: Settings of the SDK, such as the number of items that it reads.
        bridge: A bridge to use; by default the one of this program for the store.
        persist: With `False` nothing of it reaches a file; it ends with this program.
    """

    def __init__(
        self,
        session_id: str,
        *,
        store: str | os.PathLike[str] | None = None,
        session_settings: "SessionSettings | None" = None,
        bridge: Bridge | None = None,
        persist: bool = True,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = ItemList(session_id, _message, store=store, bridge=bridge, persist=persist)

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The items of the session, or the newest `limit` of them, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = getattr(self.session_settings, "limit", None)
        return await asyncio.to_thread(self._items.all, limit)

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Adds items. They are on disk when it returns."""
        await asyncio.to_thread(self._items.add, items)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Removes the newest item from the session and returns it."""
        return await asyncio.to_thread(self._items.pop)

    async def clear_session(self) -> None:
        """Removes all items from the session."""
        await asyncio.to_thread(self._items.clear)

    async def erase(self, *, by: str = "") -> dict[str, Any] | None:
        """Erases what was said for good, and returns the receipt."""
        return await asyncio.to_thread(lambda: self._items.erase(by=by))


def _message(item: Any) -> dict[str, Any]:
    """What an item of the Responses API says."""
    kind = item.get("type")
    if kind is not None and kind.endswith("_call_output"):
        return message_of("user", [result_block(item.get("call_id"), item.get("output"))])
    if kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments", item.get("input", {}))
        return message_of("assistant", [call_block(item.get("call_id"), item.get("name"), arguments)])
    if kind == "reasoning":
        summary = "\n".join(part.get("text", "") for part in item.get("summary") or [])
        return message_of("assistant", [{"reasoningContent": {"reasoningText": {"text": summary}}}])
    role = "assistant" if item.get("role", "assistant") == "assistant" else "user"
    content = item.get("content")
    if isinstance(content, str):
        return message_of(role, [text_block(content)])
    parts = [part.get("text") or part.get("refusal") or f"[{part.get('type')}]" for part in content or []]
    return message_of(role, [text_block(part) for part in parts] or [text_block(f"[{kind}]")])
