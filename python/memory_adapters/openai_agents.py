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
import json
import os
from typing import TYPE_CHECKING, Any

from agents.memory.session import SessionABC
from agents.run import ModelInputData

from .bridge import Bridge
from .items import ItemList, call_block, message_of, parts_of, result_block, result_text, text_block

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory.session_settings import SessionSettings
    from agents.run import CallModelData


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
        budget: The most tokens of what the agent is shown, which then is a view of the whole conversation. With
            `RunConfig(call_model_input_filter=session.recall)` it also has the exact earlier words that bear on the
            question. Items that leave the session are then kept out of views and searches, too.
    """

    def __init__(
        self,
        session_id: str,
        *,
        store: str | os.PathLike[str] | None = None,
        session_settings: "SessionSettings | None" = None,
        bridge: Bridge | None = None,
        persist: bool = True,
        budget: int | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = ItemList(session_id, _message, store=store, bridge=bridge, persist=persist, budget=budget)
        self._recalled: "tuple[Any, list[TResponseInputItem]]" = (None, [])

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The items of the session, or the newest `limit` of them, oldest first; with a budget and without a limit a view
        of them."""
        if limit is None and self.session_settings is not None:
            limit = getattr(self.session_settings, "limit", None)
        if limit is None and self._items.budget is not None:
            return await asyncio.to_thread(self._shown)
        return await asyncio.to_thread(self._items.all, limit)

    async def recall(self, data: "CallModelData[Any]") -> "ModelInputData":
        """A `call_model_input_filter`: the view with what is recalled for the last message of the user in place of all
        up to that message. It needs a budget."""
        items = data.model_data.input
        asked = [at for at, item in enumerate(items) if item.get("role") == "user"]
        if asked and self._items.budget is not None:
            given = items[: asked[-1] + 1]
            # The calls of one turn begin with the same items, for the provider's cache.
            if self._recalled[0] != given:
                shown = await asyncio.to_thread(self._shown)
                is_kept = bool(shown) and _text(given[-1]) in _text(shown[-1])
                self._recalled = (given, shown if is_kept else given)
            items = [*self._recalled[1], *items[asked[-1] + 1 :]]
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    def _shown(self) -> "list[TResponseInputItem]":
        return [item for message in self._items.shown() for item in _items_of(message)]

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


def _items_of(message: dict[str, Any]) -> list[Any]:
    """A message of a view as items of the Responses API."""
    text, calls, results = parts_of(message)
    said = [{"role": message["role"], "content": text}] if text or not (calls or results) else []
    called = [
        {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": json.dumps(call["input"])}
        for call in calls
    ]
    answered = [
        {"type": "function_call_output", "call_id": one["tool_use_id"], "output": result_text(one)} for one in results
    ]
    return [*answered, *said, *called]


def _text(item: Any) -> str:
    """The words of a message."""
    content = item.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


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
