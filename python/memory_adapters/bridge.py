"""The process behind the adapters: `memory bridge --stdio`, one JSON request a line, one answer a line."""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable
from typing import Any


class BridgeError(RuntimeError):
    """A request that was answered by an error. `code` is its kind, for programs; `next_id` the next free id of a message
    where the id that was given is taken (`message_exists`)."""

    def __init__(self, code: str, message: str, next_id: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.next_id = next_id


class NotFound(BridgeError):
    """There is no such conversation, message or entry."""


class InvalidRequest(BridgeError):
    """A member of the request is not one that the binary takes."""


class BudgetTooSmall(BridgeError):
    """Nothing fits the budget."""


_KINDS = {
    "not_found": NotFound,
    "malformed": InvalidRequest,
    "invalid_config": InvalidRequest,
    "invalid_message": InvalidRequest,
    "invalid_pattern": InvalidRequest,
    "budget_too_small": BudgetTooSmall,
    "question_too_long": BudgetTooSmall,
}


class BridgeClosed(RuntimeError):
    """The process ended before it answered. The next request starts another one."""


class Bridge:
    """A process that serves managers and sessions. It ends with this program.

    Args:
        store: The directory of the store, for managers and sessions that need one.
        command: The command line of the bridge; by default the binary that `MEMORY_BINARY` names, or `memory`.
        args: More options of the binary, such as `["--words-only"]`.
        persist: With `False` everything stays in the memory of the process: nothing of it reaches a file.
    """

    _shared: dict[tuple[str, ...], "Bridge"] = {}
    _ASKS = ["--summarizer", "caller"]
    _NO_PERSIST = ["--no-persist"]
    _OF_BRIDGE = ["--summarizer", "--max-line", "--caller-model", "--caller-window", "--caller-requests"]

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        command: str | None = None,
        args: list[str] | None = None,
        persist: bool = True,
    ) -> None:
        args = [*(args or []), *([] if persist else self._NO_PERSIST)]
        options = [*(["--store", os.fspath(store)] if store is not None else []), *(args or [])]
        given = shlex.split(command or os.environ.get("MEMORY_BRIDGE", ""))
        binary = os.environ.get("MEMORY_BINARY", "memory")
        self._command = [*given, *options] if given else [binary, "bridge", "--stdio", *options]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._next_id = 0
        self.generation = 0
        """Counts the processes that were started: a manager that was opened in an earlier one is not open any more."""

    @classmethod
    def shared(
        cls,
        store: str | os.PathLike[str] | None = None,
        *,
        asks: bool = False,
        persist: bool = True,
        args: list[str] | None = None,
    ) -> "Bridge":
        """The bridge of this program for a store; another one where the program is asked for summaries (`asks`), where
        nothing is to reach a file (`persist=False`), or for other options of the binary (`args`)."""
        key = () if store is None else (os.path.abspath(os.fspath(store)),)
        args = [*(cls._ASKS if asks else []), *([] if persist else cls._NO_PERSIST), *(args or [])]
        if (key := (*key, *args)) not in cls._shared:
            cls._shared[key] = cls(store, args=args)
        return cls._shared[key]

    @property
    def asks(self) -> bool:
        """Whether the program is asked for summaries."""
        pairs = [word for words in self._command for word in words.split("=", 1)]
        return any(pairs[at : at + 2] == self._ASKS for at in range(len(pairs)))

    @property
    def persists(self) -> bool:
        """Whether anything reaches a file."""
        return self._NO_PERSIST[0] not in self._command

    def new_id(self) -> int:
        """An id that no other manager of this bridge has."""
        with self._lock:
            self._next_id += 1
            return self._next_id

    def ready(self) -> int:
        """Starts the process if none is running, and returns its generation."""
        with self._lock:
            self._start()
            return self.generation

    def call(self, *, reply: Callable[[dict[str, Any]], dict[str, Any]] | None = None, **request: Any) -> dict[str, Any]:
        """Sends a request and returns its answer.

        Args:
            reply: Gives the reply to what is asked of a model meanwhile; without it that is left to the binary. It sends
                no request through this bridge.
            request: The members of the request.

        Raises:
            BridgeError: The request was answered by an error.
            BridgeClosed: The process ended.
        """
        with self._lock:
            process = self._start()
            answer = self._exchange(process, request)
            while "ask" in answer:
                replied = reply(answer["ask"]) if reply else {"error": "the program has no model for this"}
                answer = self._exchange(process, {"op": "reply", **replied})
        if "error" in answer:
            kind = _KINDS.get(answer["error"], BridgeError)
            raise kind(answer["error"], answer["message"], answer.get("next_id"))
        return answer

    def run(self, *arguments: str) -> dict[str, Any] | None:
        """What another command of the binary prints as JSON, in a process of its own over the same store and with the
        same options; `None` where it finds nothing.

        Raises:
            BridgeError: The command failed (`command`), or the store is only in memory (`not_persisted`).
        """
        if not self.persists:
            raise BridgeError("not_persisted", "the store is in memory alone, where no other process reads it")
        # Without the words of the bridge alone, which other commands refuse: the first ones of their kind, and options
        # with their values.
        words, given, own = [], iter(self._command), ["bridge", "--stdio"]
        for word in given:
            option, has_value, _ = word.partition("=")
            if option in self._OF_BRIDGE:
                if not has_value:
                    next(given, None)
            elif word in own:
                own.remove(word)
            else:
                words.append(word)
        done = subprocess.run([*words, "--json", *arguments], capture_output=True, check=False)
        if done.returncode == 3:
            return None
        if done.returncode != 0:
            printed = (done.stdout or done.stderr).decode(errors="replace")
            raise BridgeError("command", f"`{self._command[0]} {arguments[0]}` failed: {printed.strip()}")
        return json.loads(done.stdout)

    def plan_erasure(self, **what: Any) -> dict[str, Any]:
        """What `erase` with these members would erase; nothing is changed."""
        return self.call(op="plan_erasure", what=what)["plan"]

    def erase(self, *, by: str = "", backups: list[str] | None = None, **what: Any) -> dict[str, Any] | None:
        """Erases for good, and returns the receipt; `None` where there was nothing to erase.

        Args:
            by: Person or program that erases, for the receipt.
            backups: Directories that `memory backup` was given, which are brought up to date.
            what: `conversation` with `nodes` (numbers, or `[first, last]`), `all=True` or `document`; or `matching`, a
                regular expression, in one `conversation` or in all; or `owner` with `all=True`.
        """
        return self.call(op="erase", what=what, by=by, backups=backups or [])["receipt"]

    def disable(self, conversation: str, nodes: list[Any], *, by: str = "") -> list[dict[str, Any]]:
        """Keeps messages (numbers, or `[first, last]`) out of every view and search until `enable`; nothing is lost.
        Returns what changed."""
        return self.call(op="disable", conversation=conversation, nodes=nodes, by=by)["changes"]

    def quarantine(self, source: str, *, undo: bool = False, by: str = "") -> dict[str, Any]:
        """Takes a source out of views and searches with all that was derived from it, or brings it back.

        A source is `tool:NAME`, `session:NAME`, `import:CONVERSATION` or `conversation:CONVERSATION`."""
        return self.call(op="quarantine", source=source, undo=undo, by=by)

    def enable(self, conversation: str, nodes: list[Any], *, by: str = "") -> list[dict[str, Any]]:
        """Brings disabled messages back. Returns what changed."""
        return self.call(op="enable", conversation=conversation, nodes=nodes, by=by)["changes"]

    def facts(
        self,
        conversation: str | None = None,
        *,
        question: str | None = None,
        kinds: list[str] | None = None,
        all: bool = False,
    ) -> list[dict[str, Any]]:
        """What is known in a conversation, or in all: rules, decisions, preferences, facts and open questions. With a
        question those that have its words, best first; with `all` also what was replaced or disabled."""
        about = {"conversation": conversation, "question": question, "kinds": kinds or [], "all": all}
        return self.call(op="facts", **about)["entries"]

    def add_fact(
        self, conversation: str, kind: str, text: str, *, nodes: list[Any] | None = None, by: str = ""
    ) -> dict[str, Any]:
        """Records an entry, which is erased with any of its source messages."""
        about = {"kind": kind, "text": text, "nodes": nodes or [], "by": by}
        return self.call(op="add_fact", conversation=conversation, **about)["entry"]

    def correct_fact(
        self, conversation: str, id: str, text: str, *, nodes: list[Any] | None = None, by: str = ""
    ) -> dict[str, Any]:
        """Records other words in the place of an entry, which stays as superseded."""
        about = {"id": id, "text": text, "nodes": nodes or [], "by": by}
        return self.call(op="correct_fact", conversation=conversation, **about)["entry"]

    def disable_fact(self, conversation: str, id: str, *, enable: bool = False) -> dict[str, Any]:
        """Shows an entry no more as a rule, a decision or a fact; with `enable` brings it back."""
        return self.call(op="disable_fact", conversation=conversation, id=id, enable=enable)["entry"]

    def receipts(self) -> list[dict[str, Any]]:
        """The receipts of all erasures, the last one first."""
        return self.call(op="receipts")["receipts"]

    def _exchange(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        line = json.dumps(_encode(request), allow_nan=False).encode()
        try:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answered = process.stdout.readline()
        except OSError as error:
            answered, cause = b"", error
        else:
            cause = None
        if not answered.endswith(b"\n"):
            self._end(process)
            raise BridgeClosed(f"`{self._command[0]}` ended before it answered") from cause
        return _decode(json.loads(answered))

    def close(self) -> None:
        """Ends the process, which first writes to disk what it derived."""
        with self._lock:
            if self._process is not None:
                self._end(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            try:
                self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except FileNotFoundError as error:
                named = f"`{self._command[0]}` is not there: put the `memory` binary on the path, or name it by MEMORY_BINARY"
                raise BridgeError("no_binary", named) from error
            self.generation += 1
        return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._process = None
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        process.wait()


def _encode(value: Any) -> Any:
    """Wraps bytes as Strands' sessions do."""
    if isinstance(value, (bytes, bytearray)):
        return {"__bytes_encoded__": True, "data": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: _encode(of) for name, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(of) for of in value]
    return value


def _decode(value: Any) -> Any:
    """Unwraps bytes."""
    if isinstance(value, dict):
        if value.get("__bytes_encoded__") is True and "data" in value:
            return base64.b64decode(value["data"])
        return {name: _decode(of) for name, of in value.items()}
    if isinstance(value, list):
        return [_decode(of) for of in value]
    return value
