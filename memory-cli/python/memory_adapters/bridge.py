"""The process behind the adapters: `memory bridge --stdio`, one JSON request a line, one answer a line."""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
import threading
from typing import Any


class BridgeError(RuntimeError):
    """A request that was answered by an error. `code` is its kind, for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BridgeClosed(RuntimeError):
    """The process ended before it answered. The next request starts another one."""


class Bridge:
    """A process that serves managers and sessions. It ends with this program.

    Args:
        store: The directory of the store, for managers and sessions that need one.
        command: The command line of the bridge; by default the binary that `MEMORY_BINARY` names, or `memory`.
        args: More options of the binary, such as `["--words-only"]`.
    """

    _shared: dict[tuple[str, ...], "Bridge"] = {}

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        command: str | None = None,
        args: list[str] | None = None,
    ) -> None:
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
    def shared(cls, store: str | os.PathLike[str] | None = None) -> "Bridge":
        """The bridge of this program for a store."""
        key = () if store is None else (os.path.abspath(os.fspath(store)),)
        if key not in cls._shared:
            cls._shared[key] = cls(store)
        return cls._shared[key]

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

    def call(self, **request: Any) -> dict[str, Any]:
        """Sends a request and returns its answer.

        Raises:
            BridgeError: The request was answered by an error.
            BridgeClosed: The process ended.
        """
        line = json.dumps(_encode(request), allow_nan=False).encode()
        with self._lock:
            process = self._start()
            assert process.stdin is not None and process.stdout is not None
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
        answer = _decode(json.loads(answered))
        if "error" in answer:
            raise BridgeError(answer["error"], answer["message"])
        return answer

    def close(self) -> None:
        """Ends the process, which first writes to disk what it derived."""
        with self._lock:
            if self._process is not None:
                self._end(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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
