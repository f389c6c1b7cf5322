"""A pytest plugin (`-p strands_plugin`): Strands' own tests run through the adapter.

It puts our managers, and the bridge's decisions about splits and pins, in the place of Strands' before a test imports them.
`expected_differences.txt` lists the tests that must fail, each with its reason: one that passes is an error, and so is one
that does not exist.
"""

from pathlib import Path

import pytest
from strands.agent.conversation_manager import sliding_window_conversation_manager as sliding
from strands.agent.conversation_manager import summarizing_conversation_manager as summarizing
from strands.agent.conversation_manager.compression import context_compression, pin_message

from memory_adapters import strands as ours
from memory_adapters.bridge import Bridge, BridgeError

_bridge = Bridge.shared()


def _split(messages, split_point):
    try:
        return _bridge.call(op="split", messages=messages, split=split_point)["split"]
    except BridgeError as error:
        ours._raise(error)


def _query(messages, start_index):
    found = _bridge.call(op="query", messages=messages, start=start_index)["query"]
    return len(messages) if found is None else found


def _is_pinned(messages, index):
    return _bridge.call(op="kept", messages=messages)["kept"][index]


sliding.SlidingWindowConversationManager = ours.SlidingWindowConversationManager
summarizing.SummarizingConversationManager = ours.SummarizingConversationManager
context_compression.adjust_split_point_for_tool_pairs = _split
context_compression.find_valid_trim_point = _query
pin_message.is_pinned = _is_pinned


def _expected():
    """The listed tests, by name, with their reasons."""
    lines = Path(__file__).with_name("expected_differences.txt").read_text().splitlines()
    entries = (line.split(" | ", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {name.strip(): reason.strip() for name, reason in entries}


def pytest_collection_modifyitems(items):
    expected = _expected()
    missing = set(expected)
    for item in items:
        name = f"{Path(item.fspath).name}::{item.name}"
        if name in expected:
            missing.discard(name)
            item.add_marker(pytest.mark.xfail(reason=expected[name], strict=True))
    collected = {Path(item.fspath).name for item in items}
    missing = [name for name in sorted(missing) if name.split("::")[0] in collected]
    if missing:
        raise pytest.UsageError(f"expected_differences.txt lists tests that do not exist: {', '.join(missing)}")
