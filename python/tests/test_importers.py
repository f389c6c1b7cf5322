"""What `memory import` says of files that real packages write or read, and what those packages say of them."""

import json
import os
import pathlib
import subprocess

import pytest

BINARY = os.environ.get("MEMORY_BINARY", "memory")
# The samples that claude-code-log's sources have.
SAMPLES = pathlib.Path(os.environ.get("CLAUDE_CODE_SAMPLES", "samples"))
LONG = 12345678901234567890123


class Store:
    """A store, and files beside it."""

    def __init__(self, root):
        self.root = root

    def run(self, *args):
        command = [BINARY, "--words-only", "--store", str(self.root / "store"), *map(str, args)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def imported(self, *args):
        return json.loads(self.run("--json", "import", *args))

    def nodes(self, conversation):
        lines = [json.loads(line) for line in self.run("export", "-c", conversation).splitlines()]
        return [line["message"] for line in lines if "node" in line]

    def conversations(self):
        return [one["conversation"] for one in json.loads(self.run("--json", "list", "--archived"))["conversations"]]

    def write(self, name, value):
        path = self.root / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def texts(message):
    return [block["text"] for block in blocks(message) if block["type"] == "text"]


def calls(message):
    return [(block["id"], block["name"], block["input"]) for block in blocks(message) if block["type"] == "tool_use"]


def results(message):
    return [block["tool_use_id"] for block in blocks(message) if block["type"] == "tool_result"]


def talk():
    """Who says what in every format: a question, a call with a long number, its result, an answer."""
    return "Which train?", ("call_1", "timetable", {"to": "Rome", "n": LONG}), "7:42", "The one at 7:42."


def check(store, path, given, roles=("user", "assistant", "tool", "assistant")):
    question, call, result, answer = talk()
    report = store.imported(path)
    assert [row["format"] for row in report["transcripts"]] == [given], report
    assert report["transcripts"][0]["skipped"] == [], report
    (name,) = [row["conversation"] for row in report["conversations"]]
    nodes = store.nodes(name)
    assert [node["role"] for node in nodes] == list(roles)
    assert texts(nodes[0]) == [question] and texts(nodes[3]) == [answer]
    assert calls(nodes[1]) == [call]
    assert results(nodes[2]) == [call[0]] and result in json.dumps(nodes[2])
    again = store.imported(path)
    assert [row["new"] for row in again["conversations"]] == [0], again
    return name, nodes


@pytest.mark.parametrize("shape", ["dict", "dumpd"])
def test_messages_of_langchain(store, shape):
    from langchain_core.load import dumpd
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict

    question, (id, name, args), result, answer = talk()
    messages = [
        HumanMessage(question, id="h1"),
        AIMessage("", id="a1", tool_calls=[{"id": id, "name": name, "args": args}]),
        ToolMessage(result, tool_call_id=id, id="t1"),
        AIMessage(answer, id="a2", response_metadata={"model_name": "gpt-5"}),
    ]
    written = messages_to_dict(messages) if shape == "dict" else dumpd(messages)
    _, nodes = check(store, store.write("talk.json", written), "langchain")
    assert [node["key"] for node in nodes] == [message.id for message in messages]
    assert nodes[3]["metadata"]["model"] == "gpt-5"


def test_a_session_of_strands(store):
    from strands.session.file_session_manager import FileSessionManager
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

    question, (id, name, args), result, answer = talk()
    manager = FileSessionManager("trip", storage_dir=str(store.root / "sessions"))
    agent = SessionAgent(agent_id="a", state={}, conversation_manager_state={})
    manager.create_agent("trip", agent)
    messages = [
        {"role": "user", "content": [{"text": question}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": name, "input": args}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": id, "status": "success", "content": [{"text": result}]}}]},
        {"role": "assistant", "content": [{"text": answer}]},
    ]
    for index, message in enumerate(messages):
        manager.create_message("trip", "a", SessionMessage.from_message(message, index))
    roles = ("user", "assistant", "user", "assistant")
    name, _ = check(store, store.root / "sessions", "strands", roles)
    assert name == "strands:trip:a"
    assert len(manager.list_messages("trip", "a")) == 4


def test_messages_of_openai(store):
    from openai.types.chat import ChatCompletionMessage

    question, (id, name, args), result, answer = talk()
    function = {"name": name, "arguments": json.dumps(args)}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}
    said = [
        {"role": "user", "content": question},
        ChatCompletionMessage.model_validate(call).model_dump(),
        {"role": "tool", "tool_call_id": id, "content": result},
        ChatCompletionMessage.model_validate({"role": "assistant", "content": answer}).model_dump(),
    ]
    check(store, store.write("talk.json", {"model": "gpt-5", "messages": said}), "openai")


def test_items_of_openais_responses(store):
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

    question, (id, name, args), result, answer = talk()
    call = ResponseFunctionToolCall(type="function_call", call_id=id, name=name, arguments=json.dumps(args), id="fc_1")
    text = {"type": "output_text", "text": answer, "annotations": []}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]},
        call.model_dump(),
        {"type": "function_call_output", "call_id": id, "output": result},
        ResponseOutputMessage.model_validate(said).model_dump(),
    ]
    check(store, store.write("items.json", items), "openai-responses")


def test_messages_of_anthropic(store):
    from anthropic.types import Message

    question, (id, name, args), result, answer = talk()

    def said(id, content):
        usage = {"input_tokens": 1, "output_tokens": 1}
        members = {"id": id, "type": "message", "role": "assistant", "model": "claude", "content": content}
        return Message.model_validate({**members, "stop_reason": None, "stop_sequence": None, "usage": usage}).model_dump()

    messages = [
        {"role": "user", "content": question},
        said("m1", [{"type": "tool_use", "id": id, "name": name, "input": args}]),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]},
        said("m2", [{"type": "text", "text": answer}]),
    ]
    path = store.write("talk.json", {"system": [{"type": "text", "text": "Be brief."}], "messages": messages})
    report = store.imported(path)
    assert report["transcripts"][0]["format"] == "anthropic", report
    nodes = store.nodes("talk")
    assert [node["role"] for node in nodes] == ["system", "user", "assistant", "user", "assistant"]
    assert calls(nodes[2]) == [(id, name, args)] and results(nodes[3]) == [id]
    assert (nodes[2]["key"], nodes[4]["key"]) == ("m1", "m2")


def entries(path):
    from claude_code_log.converter import load_transcript

    said = [entry for entry in load_transcript(path, silent=True) if entry.type in ("user", "assistant")]
    return {entry.uuid: entry for entry in said}


def texts_of(entry):
    content = entry.message.content
    if isinstance(content, str):
        return [content]
    return [block.text for block in content if block.type == "text"]


def is_of_program(entry):
    """Whether a line is a command of the program, or what it printed."""
    return all(text.lstrip().startswith(("<command-", "<local-command-", "<task-notification>")) for text in texts_of(entry) or ["said"])


def agree(store, path):
    """What claude-code-log reads of a file is what we read and what we say that we skip. Returns how many messages."""
    theirs = entries(path)
    report = store.imported(path)["transcripts"][0]
    assert report["format"] == "claude-code", report
    skipped = sum(one["count"] for one in report["skipped"] if one["what"].split()[0] in ("user", "assistant", "summary"))
    nodes = [node for name in store.conversations() for node in store.nodes(name)]
    # Lines of one answer of the model are one message, under the id of the first of them.
    ours = {node["key"]: node for node in nodes}
    answers, merged = {}, 0
    for uuid, entry in theirs.items():
        id = entry.message.id if entry.type == "assistant" else None
        if uuid in ours:
            answers.setdefault(id, uuid)
        elif id is not None and id in answers:
            merged += 1
            theirs_here = texts_of(entry)
            assert all(text in texts(ours[answers[id]]) for text in theirs_here), (uuid, theirs_here)
        else:
            skipped -= 1
    for uuid, node in ours.items():
        assert node["role"] == theirs[uuid].type, uuid
        assert all(text in texts(node) for text in texts_of(theirs[uuid])), uuid
    assert skipped >= 0, f"{path} has messages that we neither read nor skip"
    return len(ours) + merged


def claude_code(lines):
    parent = None
    for number, (kind, content, more) in enumerate(lines):
        uuid = f"{number:08d}-0000-4000-8000-000000000000"
        message = {"role": kind, "content": content, **more.get("message", {})}
        if kind == "assistant":
            usage = {"input_tokens": 1, "output_tokens": 1}
            message |= {"type": "message", "model": "claude-opus-4-7", "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield json.dumps({
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "5f0c", "version": "2.1.9",
            "type": kind, "uuid": uuid, "timestamp": "2026-03-02T09:14:00.250Z", "message": message, **more.get("line", {}),
        })
        parent = uuid


def test_a_session_of_claude_code_as_claude_code_log_reads_it(store):
    question, (id, name, args), result, answer = talk()
    lines = [
        ("user", question, {}),
        ("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], {"message": {"id": "m1"}}),
        ("assistant", [{"type": "text", "text": "I look."}], {"message": {"id": "m1"}}),
        ("assistant", [{"type": "tool_use", "id": id, "name": name, "input": args}], {"message": {"id": "m1"}}),
        ("user", [{"type": "tool_result", "tool_use_id": id, "content": result}], {}),
        ("assistant", [{"type": "text", "text": answer}], {"message": {"id": "m2"}}),
        ("user", "<local-command-caveat>", {"line": {"isMeta": True}}),
        ("user", "And back?", {}),
    ]
    path = store.write("session.jsonl", "\n".join(claude_code(lines)) + "\n")
    assert agree(store, path) == 7
    assert calls(store.nodes("5f0c")[1]) == [(id, name, args)]


def samples():
    return sorted(SAMPLES.rglob("claude-code/**/*.jsonl")) if SAMPLES.is_dir() else []


@pytest.mark.skipif(not samples(), reason="the sources of claude-code-log are not there")
def test_the_samples_of_claude_code_log(tmp_path):
    agreed = 0
    for number, path in enumerate(samples()):
        root = tmp_path / str(number)
        root.mkdir()
        # A file of what the program itself says is an error that names what was skipped.
        said = [entry for entry in entries(path).values() if not entry.isMeta and not is_of_program(entry)]
        if said:
            agreed += agree(Store(root), path)
    assert agreed >= 40, agreed
