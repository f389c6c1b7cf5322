"""Conversation managers and sessions for agents of Strands (strands-agents 1.62 or newer)."""

from __future__ import annotations

import json
import math
import os
import uuid
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from strands._async import run_async
from strands.agent.conversation_manager import summarizing_conversation_manager as _official
from strands.agent.conversation_manager.conversation_manager import ConversationManager
from strands.event_loop.streaming import process_stream
from strands.hooks import (
    AgentInitializedEvent,
    BeforeModelCallEvent,
    HookProvider,
    HookRegistry,
    MessageAddedEvent,
)
from strands.session.session_repository import SessionRepository
from strands.types.exceptions import ContextWindowOverflowException, SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from .bridge import Bridge, BridgeClosed, BridgeError

if TYPE_CHECKING:
    from strands.agent.agent import Agent
    from strands.multiagent.base import MultiAgentBase
    from strands.types.content import Message

__all__ = [
    "HierarchicalConversationManager",
    "MemorySessionRepository",
    "SemanticConversationManager",
    "SemanticMemoryHook",
    "SemanticSummarizingConversationManager",
    "SlidingWindowConversationManager",
    "SummarizingConversationManager",
]

_OfficialSummarizing = _official.SummarizingConversationManager

# What Strands says for the same, before what the bridge says.
_OVERFLOWS = {
    "insufficient_messages": "Cannot summarize: insufficient messages for summarization",
    "all_pinned": "Cannot summarize: all messages in summarize range are pinned",
    "no_trim_point": "Unable to trim conversation context!",
    "tail_preserved": "Unable to trim conversation context!",
    "split_beyond_end": "Split point exceeds message array length",
    "exhausted": "Unable to reduce conversation context",
    "no_progress": "Unable to reduce conversation context",
    "budget_too_small": "Unable to reduce conversation context",
    "question_too_long": "Unable to reduce conversation context",
    "not_managed": "Unable to reduce conversation context",
}


def _raise(error: BridgeError) -> NoReturn:
    """Raises the exception by which Strands knows this kind of error."""
    if error.code in _OVERFLOWS:
        raise ContextWindowOverflowException(f"{_OVERFLOWS[error.code]}: {error}") from error
    if error.code in ("other_manager", "invalid_state"):
        raise ValueError(f"Invalid conversation manager state. {error}") from error
    if error.code in ("invalid_config", "unknown_manager"):
        raise ValueError(str(error)) from error
    if error.code in ("session_exists", "message_exists", "no_session"):
        raise SessionException(str(error)) from error
    raise error


class _BridgedManager(ConversationManager):
    """A manager whose decisions are made by the bridge. The list of the agent is changed in place."""

    _manager: str
    # Kinds of notices that are no news.
    _expected: frozenset[str] = frozenset()

    def __init__(self, config: dict[str, Any], bridge: Bridge, proactive_compression: Any) -> None:
        super().__init__(proactive_compression=proactive_compression)
        self._bridge = bridge
        self._id = bridge.new_id()
        self._config = config
        self._state: dict[str, Any] = {}
        self._opened: int | None = None
        self._open()

    def _open(self) -> None:
        """Opens the manager in the process that is running, and gives it the state of an earlier one."""
        generation = self._bridge.ready()
        if self._opened == generation:
            return
        try:
            answer = self._bridge.call(op="open", id=self._id, manager=self._manager, config=self._config)
            if self._state:
                self._bridge.call(reply=self._reply, op="restore", id=self._id, state=self._state)
            else:
                self._state = answer.get("state", {})
        except BridgeError as error:
            _raise(error)
        self._opened = generation

    def _call(self, **request: Any) -> dict[str, Any]:
        try:
            self._open()
            try:
                return self._bridge.call(reply=self._reply, id=self._id, **request)
            except BridgeClosed:
                # Another process goes on from the last state.
                self._open()
                return self._bridge.call(reply=self._reply, id=self._id, **request)
        except BridgeError as error:
            _raise(error)

    def _reply(self, ask: dict[str, Any]) -> dict[str, Any]:
        """What is replied to a question to the agent's model."""
        return {"error": "this manager asks no model"}

    def _take(self, agent: "Agent", answer: dict[str, Any]) -> None:
        """Makes the agent's list what the bridge answered. Messages that stay are the same objects."""
        given = agent.messages
        taken = []
        for message, index in zip(answer["messages"], answer["from"], strict=True):
            if index is not None:
                kept = given[index]
                if kept != message:
                    kept.clear()
                    kept.update(message)
                message = kept
            taken.append(message)
        given[:] = taken
        self._note(answer)

    def _note(self, answer: dict[str, Any]) -> None:
        self._state = answer["state"]
        self.removed_message_count = self._state["removed_message_count"]
        for notice in answer.get("notices", []):
            if notice["code"] not in self._expected:
                _official.logger.warning("%s: %s", notice["code"], notice["message"])

    def apply_management(self, agent: "Agent", **kwargs: Any) -> None:
        """Looks after the list at the end of an invocation."""
        self._take(agent, self._call(op="apply", messages=agent.messages))

    def reduce_context(self, agent: "Agent", e: Exception | None = None, **kwargs: Any) -> None:
        """Makes the list smaller; with `e` it must."""
        cause = None if e is None else str(e) or "overflow"
        try:
            self._take(agent, self._call(op="reduce", messages=agent.messages, cause=cause))
        except ContextWindowOverflowException as error:
            if e is not None:
                raise error from e
            _official.logger.warning("the list was not reduced: %s", error)

    def get_state(self) -> dict[str, Any]:
        """The state for a session: Strands' members, and the bridge's own as `memory`."""
        answer = self._call(op="state")
        self._state = answer["state"]
        count = self._state["removed_message_count"]
        return {**super().get_state(), "removed_message_count": count, "memory": self._state}

    def restore_from_session(self, state: dict[str, Any]) -> "list[Message] | None":
        """Goes on from a state, also from one of Strands' own manager of the same name.

        `removed_message_count` is then where the session's messages go on, as Strands reads it from there: what was
        removed, and the pinned messages, which are among those that are returned.
        """
        if state.get("__name__") != type(self).__name__:
            raise ValueError("Invalid conversation manager state.")
        answer = self._call(op="restore", state=state.get("memory") or self._from_strands(state))
        self._state = answer["state"]
        self.removed_message_count = answer["session_offset"]
        return answer["messages"] or None

    def _from_strands(self, state: dict[str, Any]) -> dict[str, Any]:
        return {
            "manager": self._manager,
            "version": "1",
            "removed_message_count": state["removed_message_count"],
            "data": {},
        }


class SlidingWindowConversationManager(_BridgedManager):
    """Keeps the last messages. The arguments are those of Strands' manager."""

    _manager = "sliding-window"

    def __init__(
        self,
        window_size: int = 40,
        should_truncate_results: bool = True,
        *,
        per_turn: bool | int = False,
        pin_first: int | None = None,
        proactive_compression: Any = None,
        bridge: Bridge | None = None,
    ) -> None:
        config = {
            "window_size": window_size,
            "should_truncate_results": should_truncate_results,
            "per_turn": per_turn,
            "pin_first": None if pin_first is None else max(0, pin_first),
        }
        super().__init__(config, bridge or Bridge.shared(), proactive_compression)
        self.per_turn = per_turn
        self._model_call_count = 0

    @property
    def window_size(self) -> int:
        """The most messages that stay."""
        return self._config["window_size"]

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hooks of the base class, and the one of `per_turn`."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._on_before_model_call)

    def _on_before_model_call(self, event: BeforeModelCallEvent) -> None:
        # `per_turn` may be changed between two calls.
        if self.per_turn is False:
            return
        self._model_call_count += 1
        if self.per_turn is True or self._model_call_count % self.per_turn == 0:
            self.apply_management(event.agent)

    def get_state(self) -> dict[str, Any]:
        """The state for a session."""
        self._call(op="state", model_call_count=self._model_call_count)
        return {**super().get_state(), "model_call_count": self._model_call_count}

    def restore_from_session(self, state: dict[str, Any]) -> "list[Message] | None":
        """Goes on from a state."""
        messages = super().restore_from_session(state)
        self._model_call_count = state.get("model_call_count", 0)
        return messages

    def _truncate_tool_results(self, messages: "list[Message]", msg_idx: int) -> bool:
        """Shortens the tool results of one message."""
        if not 0 <= msg_idx < len(messages):
            return False
        answer = self._call_free(op="shorten", message=messages[msg_idx])
        if answer["changed"]:
            messages[msg_idx].clear()
            messages[msg_idx].update(answer["message"])
        return answer["changed"]

    def _call_free(self, **request: Any) -> dict[str, Any]:
        try:
            return self._bridge.call(**request)
        except BridgeError as error:
            _raise(error)


class SummarizingConversationManager(_BridgedManager):
    """Replaces the oldest messages by a summary. The arguments are those of Strands' manager, and:

    Args:
        summarizer: A strategy of the binary that writes the summaries, such as `spans`, without any model. By default
            they are written as Strands' manager has them written: by the agent's model, or by `summarization_agent`.
    """

    _manager = "summarizing"

    def __init__(
        self,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int = 10,
        summarization_agent: "Agent | None" = None,
        summarization_system_prompt: str | None = None,
        *,
        summarizer: str | None = None,
        pin_first: int | None = None,
        proactive_compression: Any = None,
        bridge: Bridge | None = None,
    ) -> None:
        if summarizer is not None and (summarization_agent is not None or summarization_system_prompt is not None):
            raise ValueError("Cannot provide both a summarizer and a model's summarization_agent or _system_prompt.")
        # The writer of the summaries that a model writes. It refuses an agent together with a prompt.
        self._writer = _OfficialSummarizing(
            summarization_agent=summarization_agent, summarization_system_prompt=summarization_system_prompt
        )
        config = {
            "summary_ratio": summary_ratio,
            "preserve_recent_messages": preserve_recent_messages,
            "pin_first": None if pin_first is None else max(0, pin_first),
            "summarizer": summarizer or "caller",
        }
        super().__init__(config, bridge or Bridge.shared(), proactive_compression)

    @classmethod
    def clamped(cls, summary_ratio: float, *args: Any, **kwargs: Any) -> "SummarizingConversationManager":
        """The manager with a ratio out of range moved to the nearest one in range, as Strands does silently."""
        return cls(max(0.1, min(0.8, summary_ratio)), *args, **kwargs)

    @property
    def summary_ratio(self) -> float:
        """The share of the messages that one reduction summarizes."""
        return self._config["summary_ratio"]

    @property
    def preserve_recent_messages(self) -> int:
        """How many of the last messages are never summarized."""
        return self._config["preserve_recent_messages"]

    @property
    def summarization_agent(self) -> "Agent | None":
        """The dedicated agent that writes the summaries."""
        return self._writer.summarization_agent

    @property
    def summarization_system_prompt(self) -> str | None:
        """The instructions of the model that writes the summaries."""
        return self._writer.summarization_system_prompt

    @property
    def _summary_message(self) -> "Message | None":
        return (self._state.get("data") or {}).get("summary")

    def reduce_context(self, agent: "Agent", e: Exception | None = None, **kwargs: Any) -> None:
        """Summarizes the oldest messages. A summary that fails leaves list and count as they were."""
        try:
            cause = None if e is None else str(e) or "overflow"
            answer = self._call(op="reduce", messages=agent.messages, cause=cause)
            if "summarize" in answer:
                summary = self._generate_summary([agent.messages[index] for index in answer["remove"]], agent)
                _official._ensure_tracking_id(summary)
                answer = self._call(op="summary", message=summary)
            self._take(agent, answer)
        except Exception as error:
            if e is not None:
                _official.logger.error("Summarization failed: %s", error)
                raise error from e
            _official.logger.warning("Proactive summarization failed, continuing: %s", error)

    def get_state(self) -> dict[str, Any]:
        """The state for a session."""
        state = super().get_state()
        return {"summary_message": self._summary_message, **state}

    def _from_strands(self, state: dict[str, Any]) -> dict[str, Any]:
        ours = super()._from_strands(state)
        return {**ours, "data": {"summary": state.get("summary_message")}}

    def _generate_summary(self, messages: "list[Message]", agent: "Agent") -> "Message":
        """Has a summary written by the dedicated agent, or by the agent's model."""
        return self._writer._generate_summary(messages, agent)

    def _adjust_split_point_for_tool_pairs(self, messages: "list[Message]", split_point: int) -> int:
        """Moves a split forward to where no tool call is parted from its result."""
        try:
            return self._bridge.call(op="split", messages=messages, split=split_point)["split"]
        except BridgeError as error:
            _raise(error)


class _StoredManager(_BridgedManager):
    """A manager over a conversation in a store. Every message is appended there, and the agent's list is a view of it.

    Args:
        conversation: The name of the conversation. One agent has it for itself; `MemorySessionRepository.conversation`
            names that of an agent in a session.
        store: The directory of the store; by default this user's.
        budget: The most tokens of the agent's list.
        summarizer: `caller` to have summaries written by a model: that of `summarization_agent`, or the agent's
            (`aux_model`, else `model`). By default they are written offline, and no model is asked.
        summarization_agent: A dedicated agent, which may use tools.
        summarization_system_prompt: Instructions of the model in place of the default ones; not together with an agent,
            which has its own.
    """

    def __init__(
        self,
        conversation: str,
        *,
        store: str | os.PathLike[str] | None = None,
        budget: int = 4000,
        summarizer: str | None = None,
        summarization_agent: "Agent | None" = None,
        summarization_system_prompt: str | None = None,
        proactive_compression: Any = None,
        bridge: Bridge | None = None,
    ) -> None:
        if summarization_agent is not None and summarization_system_prompt is not None:
            raise ValueError("Cannot provide both summarization_agent and summarization_system_prompt.")
        if summarizer not in (None, "caller"):
            raise ValueError(f"summarizer must be `caller`, got {summarizer!r}: the binary's own is chosen for the bridge")
        asks = summarizer is not None
        if not asks and (summarization_agent is not None or summarization_system_prompt is not None):
            raise ValueError("A model writes summaries only with summarizer='caller'.")
        bridge = bridge or Bridge.shared(store, asks=asks)
        if asks and not bridge.asks:
            raise ValueError("The bridge writes its own summaries: give it args=['--summarizer', 'caller'].")
        self._agent: Callable[[], "Agent | None"] = lambda: None
        self._summarization_agent = summarization_agent
        self._system_prompt = summarization_system_prompt
        self._asks = asks
        config = {"conversation": conversation, "budget": budget}
        super().__init__(config, bridge, proactive_compression)

    def _reply(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Asks the dedicated agent, or the agent's model."""
        agent = self._agent()
        if not self._asks or (agent is None and self._summarization_agent is None):
            return {"error": "there is no agent to ask"}
        try:
            if self._summarization_agent is not None:
                return {"message": _asked_agent(self._summarization_agent, ask)}
            system_prompt = self._system_prompt or ask["system"]
            return {"message": run_async(lambda: _asked_model(agent.aux_model or agent.model, ask, system_prompt))}
        except ContextWindowOverflowException:
            return {"overflow": True}
        except Exception as error:
            _official.logger.warning("a summary is written offline: %s", error)
            return {"error": str(error) or type(error).__name__}

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hooks of the base class, and those that begin again and recall."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._on_initialized)
        registry.add_callback(BeforeModelCallEvent, self._on_before_model_call)

    def _on_initialized(self, event: AgentInitializedEvent) -> None:
        """Gives an agent that has no messages those of the conversation."""
        self._agent = weakref.ref(event.agent)
        if not event.agent.messages:
            answer = self._call(op="resume")
            event.agent.messages[:] = answer["messages"]
            self._note(answer)

    def _on_before_model_call(self, event: Any) -> None:
        self._take(event.agent, self._call(op="before_model", messages=event.agent.messages))

    # For the strategy of a `ContextManager`, which appends before others cut.
    _on_message_added = _on_before_model_call


async def _asked_model(model: Any, ask: dict[str, Any], system_prompt: str | None) -> "Message":
    """What a model replies, without tools and beside any conversation of its agent."""
    chunks = model.stream(ask["messages"], tool_specs=None, system_prompt=system_prompt)
    message = None
    async for event in process_stream(chunks):
        if "stop" in event:
            message = event["stop"][1]
    if message is None:
        raise RuntimeError("the model did not reply")
    return message


def _asked_agent(agent: "Agent", ask: dict[str, Any]) -> "Message":
    """What a dedicated agent replies, whose own messages stay as they were."""
    messages = list(agent.messages)
    try:
        agent.messages = ask["messages"][:-1]
        return agent(ask["messages"][-1]["content"]).message
    finally:
        agent.messages = messages


class HierarchicalConversationManager(_StoredManager):
    """The agent's list is a view of the log: recent messages word for word, older ones by summaries, and for each question
    the exact words that bear on it."""

    _manager = "hierarchical"


class SemanticConversationManager(_StoredManager):
    """The agent's list is a view of the log; what bears on a question is added to the user's message, between
    `---Previous Context---` lines."""

    _manager = "semantic"


class SemanticSummarizingConversationManager(_StoredManager):
    """Summarizes the oldest messages when the model's window overflows, and keeps all messages in an archive that is
    searched by meaning. `SemanticMemoryHook` adds what is found to the user's message.

    The archive is the log: every message is in it word for word before the model is asked.

    Args:
        summary_ratio: The share of the messages that one reduction summarizes, 0.1 to 0.8.
        preserve_recent_messages: How many of the last messages are never summarized.
        message_context_radius: Messages before and after each one that is found, at most 20.
        semantic_search_top_k: How many messages are found.
        semantic_search_min_score: The least score, a logit: on the scale of the cross-encoder that `reranker` names,
            else of the probability that a message bears on the question (-2 is 12 %). `None` for no limit.
        max_num_archived_messages: The most messages that are found, the newest; the log keeps them all.
        max_memory_archived_messages: The same in bytes.
        embedding_model: A local model by name or directory, or `bedrock:ID`; by default the store's own. Where a local
            one is not installed, the archive is searched by words, with a warning.
        aws_region: The region of a `bedrock:` model.
        embedding_dimensions: The size of the vectors of a `bedrock:` or `openai:` model that has a choice.
        conversation: The name of the conversation; by default a new one, which a session remembers.
        store: The directory of the store; by default this user's.
        reranker: A cross-encoder, such as `ms-marco-MiniLM`.
        args: More options of the binary (`memory help options`).

    `summarizer`, `summarization_agent`, `summarization_system_prompt` and `proactive_compression` are those of the other
    managers over a store. Where the model states its window, the list never holds more tokens than that.
    """

    _manager = "semantic"
    # The size of the list where the window of the model is not known: no limit.
    _UNLIMITED = 1_000_000_000

    def __init__(
        self,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int = 10,
        message_context_radius: int = 2,
        semantic_search_top_k: int = 3,
        semantic_search_min_score: float | None = -2.0,
        max_num_archived_messages: int | None = None,
        max_memory_archived_messages: int | None = None,
        embedding_model: str | None = None,
        aws_region: str | None = None,
        embedding_dimensions: int | None = None,
        *,
        conversation: str | None = None,
        store: str | os.PathLike[str] | None = None,
        reranker: str | None = None,
        args: list[str] | None = None,
        summarizer: str | None = None,
        summarization_agent: "Agent | None" = None,
        summarization_system_prompt: str | None = None,
        proactive_compression: Any = None,
    ) -> None:
        _check_number("summary_ratio", summary_ratio, 0.1, 0.8, of=(int, float))
        _check_number("preserve_recent_messages", preserve_recent_messages, 0)
        _check_number("message_context_radius", message_context_radius, 0, 20)
        _check_number("semantic_search_top_k", semantic_search_top_k, 1)
        if semantic_search_min_score is not None:
            _check_number("semantic_search_min_score", semantic_search_min_score, -math.inf, of=(int, float))
        limits = {
            "max_num_archived_messages": max_num_archived_messages,
            "max_memory_archived_messages": max_memory_archived_messages,
        }
        for name, most in limits.items():
            if most is not None:
                _check_number(name, most, 1)
        remote = (embedding_model or "").partition(":")[0]
        if aws_region is not None and remote != "bedrock":
            raise ValueError("aws_region is for an embedding_model `bedrock:ID`: name one, or leave it out.")
        if embedding_dimensions is not None:
            _check_number("embedding_dimensions", embedding_dimensions, 1)
            if remote not in ("bedrock", "openai"):
                raise ValueError(
                    "embedding_dimensions is for an embedding_model `bedrock:ID` or `openai:NAME`: a local model has a "
                    "fixed size, so leave it out."
                )
            embedding_model = f"{embedding_model}?dimensions={embedding_dimensions}"
        settings = {"summary_ratio": summary_ratio, "preserve_recent_messages": preserve_recent_messages}
        options: dict[str, Any] = {
            "--manager": "semantic-summarizing",
            "--manager-settings": json.dumps(settings),
            "--embedding-model": embedding_model,
            "--region": aws_region,
            "--reranker": reranker,
            "--min-score": semantic_search_min_score if reranker else None,
            "--max-num-archived-messages": max_num_archived_messages,
            "--max-memory-archived-messages": max_memory_archived_messages,
        }
        given = [f"{option}={value}" for option, value in options.items() if value is not None]
        self.message_context_radius = message_context_radius
        self.semantic_search_top_k = semantic_search_top_k
        self.semantic_search_min_score = semantic_search_min_score
        self._limits = limits
        self._least = None
        if reranker is None and semantic_search_min_score is not None:
            self._least = 1 / (1 + math.exp(-max(-700, semantic_search_min_score)))
        self._has_new_name = conversation is None
        self._told: set[str] = set()
        self._hook: SemanticMemoryHook | None = None
        try:
            super().__init__(
                f"strands-{uuid.uuid4()}" if conversation is None else conversation,
                budget=self._UNLIMITED,
                summarizer=summarizer,
                summarization_agent=summarization_agent,
                summarization_system_prompt=summarization_system_prompt,
                proactive_compression=proactive_compression,
                bridge=Bridge.shared(store, asks=summarizer is not None, args=[*given, *(args or [])]),
            )
        except BridgeError as error:
            # The model, the cross-encoder or the store is not what was named.
            raise ValueError(str(error)) from error

    clamped = classmethod(SummarizingConversationManager.clamped.__func__)

    @property
    def conversation(self) -> str:
        """The name of the conversation."""
        return self._config["conversation"]

    def search_archive(self, question: str, limit: int | None = None) -> list[dict[str, Any]]:
        """The messages that bear on a question, best first: `node`, `speaker`, `at`, `text` and, of the same members,
        the ones `before` and `after`."""
        request = {"conversation": self.conversation, "limit": limit or self.semantic_search_top_k}
        request |= {"neighbours": self.message_context_radius, "min_relevance": self._least}
        try:
            found = self._bridge.call(op="search", question=question, **request)
        except BridgeError as error:
            if error.code == "not_found":
                return []
            raise
        for notice in found["notices"]:
            if notice["code"] == "words-only" and notice["text"] not in self._told:
                self._told.add(notice["text"])
                _official.logger.warning("%s", notice["text"])
        return found["hits"]

    def get_memory_usage_stats(self) -> dict[str, Any]:
        """Figures of the archive: `message_count` (what is found; `evicted_count` is what the limits leave out), bytes of
        messages (`messages_memory`), of vectors (`embeddings_memory`) and of words and graphs (`index_memory`), their sum
        (`total_memory`), and the limits."""
        found = self._bridge.run("stats", "-c", self.conversation)
        of = found["conversations"][0] if found else {"archive": {"held": 0, "evicted": 0}, "bytes": {}}
        kinds = (("messages",), ("vectors", "tokens", "embeddings"), ("words", "graph"))
        messages, embeddings, index = (sum(of["bytes"].get(part, 0) for part in kind) for kind in kinds)
        return {
            "message_count": of["archive"]["held"],
            "evicted_count": of["archive"]["evicted"],
            "messages_memory": messages,
            "embeddings_memory": embeddings,
            "index_memory": index,
            "total_memory": messages + embeddings + index,
            **self._limits,
        }

    def get_memory_usage_summary(self) -> str:
        """The same figures as a paragraph."""
        figures = self.get_memory_usage_stats()
        said = f"The archive of `{self.conversation}` finds {figures['message_count']:,} messages"
        if figures["evicted_count"]:
            said += f"; {figures['evicted_count']:,} older ones are beyond its limits, and stay in the log"
        return said + (
            f". Its messages take {figures['messages_memory']:,} bytes, embeddings {figures['embeddings_memory']:,} and "
            f"the index {figures['index_memory']:,}: {figures['total_memory']:,} bytes in all."
        )

    def restore_from_session(self, state: dict[str, Any]) -> "list[Message] | None":
        """Goes on from a state, with its conversation if none was named."""
        of = ((state.get("memory") or {}).get("data") or {}).get("conversation")
        if self._has_new_name and of:
            self._config["conversation"] = of
            self._state, self._opened = {}, None
        return super().restore_from_session(state)

    def _on_initialized(self, event: AgentInitializedEvent) -> None:
        window = event.agent.model.context_window_limit
        if window and window != self._config["budget"]:
            self._config["budget"] = window
            self._opened = None
        super()._on_initialized(event)

    def _open(self) -> None:
        hook = self._hook
        recall: dict[str, Any] = {"enabled": hook is not None and hook.enabled}
        if hook is not None:
            recall |= {"characters": hook.max_context_length, "metadata": hook.include_metadata}
            recall |= {"top_k": self.semantic_search_top_k, "radius": self.message_context_radius}
            recall["min_relevance"] = self._least or 0.0
        # The hook comes after the manager, and may be changed at any time.
        if self._config.get("recall") != recall:
            self._config["recall"] = recall
            self._opened = None
        super()._open()

    def _on_message_added(self, event: MessageAddedEvent) -> None:
        # Recall waits for the call of the model.
        self.apply_management(event.agent)

    def _on_before_model_call(self, event: BeforeModelCallEvent) -> None:
        if self._config["budget"] != self._UNLIMITED:
            self.apply_management(event.agent)
        super()._on_before_model_call(event)


def _check_number(name: str, value: Any, least: float, most: float = math.inf, *, of: Any = int) -> None:
    if isinstance(value, of) and not isinstance(value, bool) and math.isfinite(value) and least <= value <= most:
        return
    kind = "a whole number" if of is int else "a number"
    limits = f" of at least {least}" if least > -math.inf else ""
    limits += f" and at most {most}" if most < math.inf else ""
    raise ValueError(f"{name} must be {kind}{limits}, got {value!r}")


class SemanticMemoryHook(HookProvider):
    """Has messages of the archive added to a user's message, between `---Previous Context---` lines. The log keeps the
    message as it was said.

    Args:
        enabled: With `False` nothing is added.
        max_context_length: The most characters between the lines. The best message is shortened in its middle if need
            be; the others are left out where they do not fit.
        include_metadata: Whether each message is labelled with number, speaker and day.
        manager: The manager whose archive is searched; by default that of the agent.
    """

    def __init__(
        self,
        enabled: bool = True,
        max_context_length: int = 2000,
        include_metadata: bool = True,
        *,
        manager: SemanticSummarizingConversationManager | None = None,
    ) -> None:
        _check_number("max_context_length", max_context_length, 1)
        self.enabled = enabled
        self.max_context_length = max_context_length
        self.include_metadata = include_metadata
        self._manager = manager

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hook, which names itself to the manager: recall is the bridge's."""
        registry.add_callback(AgentInitializedEvent, self._on_initialized)

    def _on_initialized(self, event: AgentInitializedEvent) -> None:
        manager = self._manager or event.agent.conversation_manager
        if not isinstance(manager, SemanticSummarizingConversationManager):
            raise ValueError(
                "SemanticMemoryHook searches the archive of a SemanticSummarizingConversationManager: give the agent one "
                "as its conversation_manager, or the hook by manager=."
            )
        manager._hook = self


class MemorySessionRepository(SessionRepository):
    """Sessions in a store, for Strands' `RepositorySessionManager`.

    The messages of an agent are a conversation; the documents of a session are another, in which the last one counts.
    Nothing is ever overwritten: a message that a guardrail replaced stays in the log.
    """

    def __init__(self, store: str | os.PathLike[str] | None = None, *, bridge: Bridge | None = None) -> None:
        self._bridge = bridge or Bridge.shared(store)

    def _call(self, **request: Any) -> dict[str, Any]:
        try:
            return self._bridge.call(**request)
        except BridgeError as error:
            _raise(error)

    def conversation(self, session_id: str, agent_id: str) -> str:
        """The name of the conversation that holds the messages of an agent."""
        return self._call(op="read_agent", session_id=session_id, agent_id=agent_id)["conversation"]

    def erase(self, session_id: str, agent_id: str, *, by: str = "") -> dict[str, Any] | None:
        """Erases what an agent of a session said and heard for good, and returns the receipt. The session stays, with
        its records and the agent's state: `Bridge.erase` erases those of the conversation `strands-documents:SESSION`."""
        return self._bridge.erase(conversation=self.conversation(session_id, agent_id), all=True, by=by)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Creates a session."""
        self._call(op="create_session", session_id=session.session_id, session=session.to_dict())
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Reads a session."""
        found = self._call(op="read_session", session_id=session_id)["session"]
        return None if found is None else Session.from_dict(found)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Creates an agent in a session."""
        agent = session_agent.to_dict()
        self._call(op="create_agent", session_id=session_id, agent_id=session_agent.agent_id, agent=agent)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Reads an agent."""
        found = self._call(op="read_agent", session_id=session_id, agent_id=agent_id)["agent"]
        return None if found is None else SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Updates an agent; when it was created stays."""
        known = self.read_agent(session_id, session_agent.agent_id)
        if known is not None:
            session_agent.created_at = known.created_at
        agent = session_agent.to_dict()
        self._call(op="update_agent", session_id=session_id, agent_id=session_agent.agent_id, agent=agent)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Appends a message. Where another program has taken its id meanwhile, it gets the next one."""
        request = {"op": "create_message", "session_id": session_id, "agent_id": agent_id}
        while True:
            try:
                answer = self._bridge.call(**request, message=session_message.to_dict())
            except BridgeError as error:
                if error.next_id is None:
                    _raise(error)
                session_message.message_id = error.next_id
            else:
                session_message.message_id = answer["message_id"]
                return

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Reads a message."""
        request = {"session_id": session_id, "agent_id": agent_id, "message_id": message_id}
        found = self._call(op="read_message", **request)["message"]
        return None if found is None else SessionMessage.from_dict(found)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Updates the record of a message; when it was created stays."""
        known = self.read_message(session_id, agent_id, session_message.message_id)
        if known is not None:
            session_message.created_at = known.created_at
        message = session_message.to_dict()
        self._call(op="update_message", session_id=session_id, agent_id=agent_id, message=message)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Lists messages, `limit` of them from `offset` on."""
        request = {"session_id": session_id, "agent_id": agent_id, "limit": limit, "offset": offset}
        return [SessionMessage.from_dict(found) for found in self._call(op="list_messages", **request)["messages"]]

    def create_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **kwargs: Any) -> None:
        """Creates the state of a multi-agent."""
        state = multi_agent.serialize_state()
        self._call(op="write_multi_agent", session_id=session_id, multi_agent_id=multi_agent.id, state=state)

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Reads the state of a multi-agent."""
        return self._call(op="read_multi_agent", session_id=session_id, multi_agent_id=multi_agent_id)["state"]

    def update_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **kwargs: Any) -> None:
        """Updates the state of a multi-agent."""
        self.create_multi_agent(session_id, multi_agent)
