"""The adapters of LangChain and of the OpenAI Agents SDK, with the real packages over a real store.

`cargo xtask adapters` runs it; `MEMORY_BINARY` names the binary.
"""

import asyncio
import os
import subprocess

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory.session import Session
from agents.models.interface import Model
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memory_adapters import Bridge
from memory_adapters.langchain import MemoryChatMessageHistory
from memory_adapters.openai_agents import MemorySession


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def bridge(store):
    bridge = Bridge(store, args=["--words-only"])
    yield bridge
    bridge.close()


def again(store):
    """A bridge of another process."""
    return Bridge(store, args=["--words-only"])


def found(store, conversation, text):
    binary = os.environ.get("MEMORY_BINARY", "memory")
    command = [binary, "--store", str(store), "find", "-c", conversation, text]
    return text in subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Scripted(Model):
    """Calls a tool, then answers."""

    def __init__(self):
        self.inputs = []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.inputs.append(list(input))
        last = input[-1]
        if last.get("type") == "function_call_output":
            text = ResponseOutputText(text=f"It leaves at {last['output']}.", type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="m1", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            said = ResponseFunctionToolCall(
                id="f1", call_id="c1", type="function_call", name="train", arguments='{"to": "Rome"}'
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
def train(to: str) -> str:
    """When the train leaves."""
    return "7:42" if to == "Rome" else "never"


def test_an_agent_of_openai_goes_on_in_another_process(store, bridge):
    async def ask(session, model, question):
        return (await Runner.run(Agent(name="guide", model=model, tools=[train]), question, session=session)).final_output

    session = MemorySession("trip", bridge=bridge)
    assert isinstance(session, Session)
    assert asyncio.run(ask(session, Scripted(), "When does the train to Rome leave?")) == "It leaves at 7:42."
    kinds = [item.get("type", item.get("role")) for item in asyncio.run(session.get_items())]
    assert kinds == ["user", "function_call", "function_call_output", "message"]
    bridge.close()

    other, model = MemorySession("trip", bridge=again(store)), Scripted()
    asyncio.run(ask(other, model, "And tomorrow?"))
    assert [item.get("content") for item in model.inputs[0]][0] == "When does the train to Rome leave?"
    assert len(asyncio.run(other.get_items())) == 8
    assert len(asyncio.run(other.get_items(limit=3))) == 3
    assert found(store, "trip", "It leaves at 7:42.")


def test_an_item_that_is_popped_leaves_the_session_and_stays_in_the_log(store, bridge):
    async def play(session):
        items = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
        await session.add_items(items)
        assert await session.get_items() == items
        assert await session.pop_item() == items[1]
        assert await session.get_items() == items[:1]
        await session.clear_session()
        assert await session.get_items() == [] and await session.pop_item() is None

    asyncio.run(play(MemorySession("talk", bridge=bridge)))
    assert found(store, "talk", "Two.")
    assert asyncio.run(MemorySession("talk", bridge=again(store)).get_items()) == []


def test_a_history_of_langchain_keeps_messages_exactly(store, bridge):
    said = [
        HumanMessage("When does the train leave?", id="h1"),
        AIMessage("", tool_calls=[{"name": "train", "args": {"to": "Rome"}, "id": "c1"}], id="a1"),
        ToolMessage("7:42", tool_call_id="c1"),
        AIMessage([{"type": "text", "text": "At 7:42."}], additional_kwargs={"x": 1}),
    ]
    history = MemoryChatMessageHistory("trip", bridge=bridge)
    history.add_messages(said)
    assert history.messages == said
    assert MemoryChatMessageHistory("trip", bridge=again(store)).messages == said
    history.clear()
    assert history.messages == []
    assert found(store, "trip", "At 7:42.")


def test_a_chain_of_langchain_goes_on_in_another_process(store, bridge):
    def chain(bridge, answer):
        prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
        return RunnableWithMessageHistory(
            prompt | FakeListChatModel(responses=[answer]),
            lambda session: MemoryChatMessageHistory(session, bridge=bridge),
            input_messages_key="question",
            history_messages_key="history",
        )

    config = {"configurable": {"session_id": "chat"}}
    chain(bridge, "Hello Ann.").invoke({"question": "I am Ann."}, config)
    bridge.close()
    other = again(store)
    chain(other, "You are Ann.").invoke({"question": "Who am I?"}, config)
    texts = [message.content for message in MemoryChatMessageHistory("chat", bridge=other).messages]
    assert texts == ["I am Ann.", "Hello Ann.", "Who am I?", "You are Ann."]


FILLER = "We talked at length about the weather, the ferries and what the market had that day. " * 3
FACT = "The number of the locker at the harbour is QX-4471, which opens with a blue key."
QUESTION = "Which number has the locker at the harbour?"


def test_a_history_with_a_budget_is_a_view_with_recall(store, bridge):
    whole = MemoryChatMessageHistory("trip", bridge=bridge)
    whole.add_messages([HumanMessage(f"{FILLER}{FACT}"), AIMessage("Noted.")])
    for turn in range(30):
        whole.add_messages([HumanMessage(f"Turn {turn}. {FILLER}"), AIMessage(f"Answer {turn}.")])
    history = MemoryChatMessageHistory("trip", bridge=bridge, budget=1000)
    history.add_messages([HumanMessage(QUESTION)])
    shown = history.messages
    assert len(whole.messages) == 63 and len(shown) < 63
    assert sum(len(message.content) for message in shown) < 6_000
    assert isinstance(shown[-1], HumanMessage) and FACT in shown[-1].content and shown[-1].content.endswith(QUESTION)
    kinds = [type(message) for message in shown]
    assert all(one != other for one, other in zip(kinds, kinds[1:])), kinds
    history.clear()
    assert FACT not in str(MemoryChatMessageHistory("trip", bridge=bridge, budget=1000).messages)
    assert MemoryChatMessageHistory("none", bridge=bridge, budget=1000).messages == []
    with pytest.raises(ValueError, match="budget"):
        MemoryChatMessageHistory("trip", bridge=bridge, budget=0)


def test_calls_and_results_of_a_view_are_messages_of_langchain(bridge):
    said = [
        HumanMessage("When does the train leave?"),
        AIMessage("I look.", tool_calls=[{"name": "train", "args": {"to": "Rome"}, "id": "c1"}]),
        ToolMessage("7:42", tool_call_id="c1", status="error"),
        AIMessage("At 7:42."),
    ]
    history = MemoryChatMessageHistory("trip", bridge=bridge, budget=4000)
    history.add_messages(said)
    shown = history.messages
    assert [type(message) for message in shown] == [type(message) for message in said]
    assert shown[1].tool_calls[0]["args"] == {"to": "Rome"}
    assert (shown[2].content, shown[2].tool_call_id, shown[2].status) == ("7:42", "c1", "error")


def test_a_session_of_openai_with_a_budget_is_a_view_with_recall(store, bridge):
    session = MemorySession("trip", bridge=bridge, budget=1000)

    async def play(model):
        await session.add_items([{"role": "user", "content": f"{FILLER}{FACT}"}])
        for turn in range(30):
            said = [{"role": "assistant", "content": f"Answer {turn}."}, {"role": "user", "content": f"Turn {turn}. {FILLER}"}]
            await session.add_items(said)
        agent = Agent(name="guide", model=model, tools=[train])
        config = RunConfig(call_model_input_filter=session.recall)
        return (await Runner.run(agent, QUESTION, session=session, run_config=config)).final_output

    model = Scripted()
    assert asyncio.run(play(model)) == "It leaves at 7:42."
    assert len(model.inputs) == 2
    first, second = model.inputs
    assert len(first) < 62 and FACT in first[-1]["content"] and first[-1]["content"].endswith(QUESTION)
    assert second[: len(first)] == first, "the second call begins with the first, for the provider's cache"
    assert second[len(first)]["type"] == "function_call"
    items = asyncio.run(MemorySession("trip", bridge=bridge).get_items())
    assert len(items) == 65 and FACT not in str(items[-4:]), "the log has what was said"


def test_what_is_erased_is_gone_and_has_a_receipt(store, bridge):
    history = MemoryChatMessageHistory("trip", bridge=bridge)
    history.add_messages([HumanMessage("The code of the door is zebra44712.", id="h1"), AIMessage("Noted.", id="a1")])
    plan = bridge.plan_erasure(matching="zebra[0-9]+")
    assert [(one["conversation"], one["messages"]) for one in plan["conversations"]] == [("trip", 1)]
    receipt = bridge.erase(matching="zebra[0-9]+", by="a test")
    assert receipt["scan"]["found"] == 0
    assert [message.content for message in history.messages] == ["Noted."]
    assert bridge.disable("trip", [2], by="a test")[0]["nodes"] == [[2, 2]] and history.messages == []
    bridge.enable("trip", [[1, 2]])
    assert [message.content for message in history.messages] == ["Noted."]
    assert history.erase()["by"] == "" and history.messages == []
    assert len(bridge.receipts()) == 2
    assert bridge.erase(conversation="trip", all=True) is None
    assert not any(b"zebra44712" in file.read_bytes() for file in store.rglob("*") if file.is_file())


def test_what_is_known_is_listed_corrected_and_disabled(bridge):
    history = MemoryChatMessageHistory("plans", bridge=bridge)
    history.add_messages([HumanMessage("We decided to rent the hall in Ghent.", id="h1"), AIMessage("Noted.", id="a1")])
    assert [entry["id"] for entry in bridge.facts()] == ["1.1"]
    corrected = bridge.correct_fact("plans", "1.1", "We rent the barn.", by="a test")
    assert (corrected["by"], corrected["replaces"]) == ("program a test", ["1.1"])
    assert bridge.add_fact("plans", "fact", "Ann is 34.", nodes=[1])["sources"] == [[1, 1]]
    assert [entry["id"] for entry in bridge.facts("plans", question="Who rents the barn?")] == [corrected["id"]]
    assert bridge.disable_fact("plans", corrected["id"])["status"] == "disabled"
    assert [entry["text"] for entry in bridge.facts("plans", kinds=["decision"])] == ["We decided to rent the hall in Ghent."]
    assert bridge.disable_fact("plans", corrected["id"], enable=True)["status"] == "current"
    assert len(bridge.facts("plans", all=True)) == 3


def test_what_is_not_to_persist_reaches_no_file(tmp_path, monkeypatch):
    for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    bridge = Bridge(tmp_path / "store", args=["--words-only"], persist=False)
    history = MemoryChatMessageHistory("trip", bridge=bridge)
    history.add_messages([HumanMessage("The code of the door is zebra44712.", id="h1")])
    assert len(history.messages) == 1
    bridge.close()
    assert not (tmp_path / "store").exists()
    assert not any(b"zebra44712" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
