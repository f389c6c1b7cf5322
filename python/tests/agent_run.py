"""A run of a real agent of Strands over a store, which may be killed at any moment and goes on.

    agent_run.py run MANAGER STORE TURNS    runs the turns that the log does not have; prints `bridge PID`, then `turn N`
    agent_run.py check MANAGER STORE TURNS  compares the log with what was said, and asks for the first fact

Turn 1 states a fact, the last turn asks for it, and every fifth turn calls a tool. `MEMORY_BINARY` is the binary.
"""

import functools
import json
import os
import subprocess
import sys

from strands import Agent, tool
from tests.fixtures.mocked_model_provider import MockedModelProvider

from memory_adapters.bridge import Bridge
from memory_adapters.strands import HierarchicalConversationManager, SemanticConversationManager

MANAGERS = {
    "hierarchical": HierarchicalConversationManager,
    "semantic": SemanticConversationManager,
    # Summaries by the agent's model.
    "written": functools.partial(HierarchicalConversationManager, summarizer="caller"),
}
WRITTEN = "They talked about the weather, and decided nothing."
BUDGET = 2000
CODE = "QX-4471"
FACT = f"My locker at the harbour has the number {CODE} and opens with the blue key."
QUESTION = "What number has my locker at the harbour?"
FILLER = "We talked at length about the weather, the ferries and what the market had that day, and decided nothing. " * 3


def said(turn: int, turns: int) -> str:
    return {1: FACT, turns: QUESTION}.get(turn, f"Turn {turn}: {FILLER}")


def replies(turn: int) -> list:
    """What the model says in a turn, in order."""
    answer = {"role": "assistant", "content": [{"text": f"Answer to turn {turn}. {FILLER}"}]}
    if turn % 5 != 0:
        return [answer]
    call = {"toolUse": {"toolUseId": f"call-{turn}", "name": "look_up", "input": {"turn": turn}}}
    return [{"role": "assistant", "content": [call]}, answer]


@tool(name="look_up")
def look_up(turn: int) -> str:
    """Looks something up."""
    return f"Result of turn {turn}. {FILLER}"


class Model(MockedModelProvider):
    """The package's own mocked model, which also keeps what it was shown last."""

    async def stream(self, messages, *args, **kwargs):
        if kwargs.get("system_prompt") and messages[0]["content"][0]["text"].startswith("---Previous Context---"):
            for event in self.map_agent_message_to_events({"role": "assistant", "content": [{"text": WRITTEN}]}):
                yield event
            return
        self.shown = json.dumps(messages)
        async for event in super().stream(messages, *args, **kwargs):
            yield event


def memory(store: str, *args: str) -> dict:
    """What a command of the binary prints."""
    command = [os.environ.get("MEMORY_BINARY", "memory"), "--store", store, "--words-only", "--json", *args]
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    if printed.returncode == 3:
        return {"messages": []}
    if printed.returncode != 0:
        sys.exit(f"{' '.join(command)}: {printed.stderr}")
    return json.loads(printed.stdout)


def kind(message: dict) -> str:
    """What a message of the log is: `said`, `call`, `result` or `answer`."""
    blocks = message["content"] if isinstance(message["content"], list) else []
    kinds = {block["type"] for block in blocks}
    if "tool_use" in kinds:
        return "call"
    if "tool_result" in kinds:
        return "result"
    return "said" if message["role"] == "user" else "answer"


def logged(store: str, name: str) -> list:
    """The messages of the log."""
    shown = memory(store, "show", name, "1-100000", "--limit", "100000")
    return [node["message"] for node in shown["messages"]]


def run(name: str, store: str, turns: int) -> None:
    asks = ["--summarizer", "caller", "--caller-model", "mocked"] if name == "written" else []
    bridge = Bridge(store, args=["--words-only", *asks])
    manager = MANAGERS[name](name, budget=BUDGET, bridge=bridge)
    print(f"bridge {bridge._process.pid}", flush=True)
    before = [kind(message) for message in logged(store, name)]
    turn = before.count("said")
    model = Model([])
    agent = Agent(model=model, conversation_manager=manager, tools=[look_up], callback_handler=None)
    if before and before[-1] != "answer":
        # The turn that was cut off: what the model has not said yet.
        model.agent_responses = replies(turn)[-1:] if before[-1] in ("call", "result") else replies(turn)
        agent()
        print(f"turn {turn}", flush=True)
    while turn < turns:
        turn += 1
        model.agent_responses, model.index = replies(turn), 0
        agent(said(turn, turns))
        print(f"turn {turn}", flush=True)
    if before.count("said") < turns and CODE not in model.shown:
        sys.exit(f"the last question was asked without the fact: {model.shown[-2000:]}")


def check(name: str, store: str, turns: int) -> None:
    expected = []
    for turn in range(1, turns + 1):
        expected.append(("said", said(turn, turns)))
        expected.extend(("call", f"call-{turn}") for _ in replies(turn)[1:])
        expected.extend(("result", f"Result of turn {turn}.") for _ in replies(turn)[1:])
        expected.append(("answer", f"Answer to turn {turn}."))
    found = logged(store, name)
    for index, (message, (what, words)) in enumerate(zip(found, expected)):
        if kind(message) != what or words not in json.dumps(message):
            sys.exit(f"message {index + 1} should be {what} `{words}`: {json.dumps(message)[:500]}")
    if len(found) != len(expected):
        sys.exit(f"the log has {len(found)} messages of {len(expected)}: {[kind(message) for message in found][-5:]}")
    hits = memory(store, "search", "-c", name, "--limit", "3", QUESTION)["hits"]
    if CODE not in json.dumps(hits):
        sys.exit(f"the first fact is not found: {json.dumps(hits)[:2000]}")
    if name == "written" and WRITTEN not in json.dumps(memory(store, "browse", "-c", name, "--level", "summary")):
        sys.exit("no summary is the model's")
    print(f"{name}: {len(found)} messages, each once and in order; the first fact is found")


if __name__ == "__main__":
    command, name, store, turns = sys.argv[1:]
    {"run": run, "check": check}[command](name, store, int(turns))
