"""A list of items of a framework, kept in the log by a bridge."""

from __future__ import annotations

import json
import os
import uuid
from typing import Any, Callable, Iterable

from .bridge import Bridge, NotFound


class ItemList:
    """Items of one conversation. Each is stored exactly as it came, beside the message that it says, so that it is found
    by `memory search`. What is removed from the list stays in the log, and its removal is recorded.

    Args:
        conversation: The name of the conversation.
        message: What an item says, in Strands' shape.
        store: The directory of the store; by default this user's.
        bridge: A bridge to use; by default the one of this program for the store.
        persist: With `False` nothing of the conversation reaches a file; it ends with this program.
        budget: The most tokens of what `shown` gives; what then leaves the list is kept out of it, and out of searches.
    """

    def __init__(
        self,
        conversation: str,
        message: Callable[[Any], dict[str, Any]],
        *,
        store: str | os.PathLike[str] | None = None,
        bridge: Bridge | None = None,
        persist: bool = True,
        budget: int | None = None,
    ) -> None:
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
            raise ValueError(f"budget must be a whole number of tokens of at least 1, got {budget!r}")
        self.budget = budget
        self._conversation = conversation
        self._message = message
        self._bridge = bridge or Bridge.shared(store, persist=persist)

    def add(self, items: Iterable[Any]) -> None:
        """Adds items. All are on disk when it returns, or none."""
        new = [{"item": item, "message": self._message(item), "key": str(uuid.uuid4())} for item in items]
        if new:
            self._call("add_items", items=new)

    def all(self, limit: int | None = None) -> list[Any]:
        """The items, or the newest `limit` of them, oldest first."""
        if limit is not None and limit <= 0:
            return []
        return self._call("list_items", limit=limit)["items"]

    def pop(self) -> Any | None:
        """Removes the newest item and returns it; `None` where there is none."""
        return self._call("pop_item", disable=self.budget is not None)["item"]

    def clear(self) -> None:
        """Removes all items."""
        self._call("clear_items", disable=self.budget is not None)

    def shown(self) -> list[dict[str, Any]]:
        """The whole conversation within the budget, as messages with `role` and `content`: recent ones verbatim, older
        ones by summaries, and before a question of the user at the end the exact words that bear on it."""
        try:
            context = self._call("context", budget=self.budget, turn=True)
        except NotFound:
            return []
        return context["request"]["messages"]

    def erase(self, *, by: str = "") -> dict[str, Any] | None:
        """Erases the conversation for good, and returns the receipt; `None` where there was nothing."""
        return self._bridge.erase(conversation=self._conversation, all=True, by=by)

    def _call(self, op: str, **request: Any) -> dict[str, Any]:
        return self._bridge.call(op=op, conversation=self._conversation, **request)


def parts_of(message: dict[str, Any]) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """The text of a message that `shown` gives, its tool calls, and its results of tools."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kinds = {"tool_use": [], "tool_result": []}
    text = []
    for block in blocks:
        if block["type"] in kinds:
            kinds[block["type"]].append(block)
        elif block["type"] == "text":
            text.append(block["text"])
    return "\n".join(text), kinds["tool_use"], kinds["tool_result"]


def result_text(result: dict[str, Any]) -> str:
    """The text of a tool's result."""
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def message_of(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    """A message in Strands' shape; one that says nothing has a blank text."""
    return {"role": role, "content": content or [{"text": ""}]}


def text_block(text: Any) -> dict[str, Any]:
    """What is not a text is shown as JSON."""
    return {"text": text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)}


def call_block(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A tool call. Arguments that are the text of a JSON value are read."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            pass
    return {"toolUse": {"toolUseId": str(call_id or name or "call"), "name": str(name or "tool"), "input": arguments}}


def result_block(call_id: Any, output: Any, is_error: bool = False) -> dict[str, Any]:
    """The result of a tool call."""
    status = "error" if is_error else "success"
    return {"toolResult": {"toolUseId": str(call_id or "call"), "content": [text_block(output)], "status": status}}
