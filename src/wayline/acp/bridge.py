"""Session events to session updates: one translator, the same for live and load.

Pure but for what it must remember of calls that are still open: which cards they show.
"""

import json
import logging
from collections.abc import Callable, Container, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from wayline.acp import cards, limits
from wayline.acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AnyUpdate,
    ImageContent,
    MessageChunk,
    ModeChanged,
    Plan,
    PlanEntry,
    SessionInfoChanged,
    TextContent,
    ToolCallBegun,
    ToolCallChanged,
    ToolStatus,
    UsageChanged,
    UserMessageChunk,
)
from wayline.log.content import ContentBlock, Image, Reasoning, ReasoningDelta, Text, TextDelta
from wayline.log.events import (
    AssistantChunk,
    AssistantMessage,
    CommandDone,
    Event,
    LlmRetry,
    Notice,
    PermissionAsked,
    PermissionDecided,
    PromptBlocked,
    SessionMode,
    SessionTitle,
    SteeringMessage,
    TodoItem,
    TodoWrite,
    ToolCallStarted,
    ToolProgress,
    ToolResultRecorded,
    TurnEnd,
    UserMessage,
)
from wayline.projections.state import State
from wayline.tools.cards import Presentation, Presenter, TerminalCard, ToolOutput

logger = logging.getLogger(__name__)

#: the end of the year 9999, in milliseconds
LAST_MOMENT = 253_402_300_799_000


class _OpenCall(msgspec.Struct):
    """A call on its way: its id on the wire, what it shows, and the end of its output so far."""

    wire_id: str
    call: ToolCallStarted
    shown: Presentation
    output: str = ""


class Translator:
    """Makes updates of the events of one session.

    `window` is the context window in tokens, when known; it may be set anew.
    """

    def __init__(self, presenter: Presenter, workspace: Path, window: int | None) -> None:
        self._presenter = presenter
        self._workspace = workspace
        self.window = window
        self._open: dict[str, _OpenCall] = {}
        self._wire_ids: set[str] = set()
        self._retries = ""

    def live(self, events: Iterable[Event]) -> list[AnyUpdate]:
        """What the editor is told of events as they happen. Adjacent deltas of one message are joined."""
        updates: list[AnyUpdate] = []
        run: list[str] = []
        run_id = ""
        run_kind: type[MessageChunk] = AgentMessageChunk

        def end_run() -> None:
            if run:
                updates.extend(_chunks(run_kind, "".join(run), run_id))
                run.clear()

        for event in events:
            data = event.data
            if not isinstance(data, AssistantChunk):
                end_run()
                updates += _guarded(self._live, event)
                continue
            chunk = data.chunk
            if not isinstance(chunk, TextDelta | ReasoningDelta):
                continue
            kind = AgentMessageChunk if isinstance(chunk, TextDelta) else AgentThoughtChunk
            message_id = f"{data.turn}.{data.step}{self._retries}.{chunk.index}"
            if (kind, message_id) != (run_kind, run_id):
                end_run()
                run_kind, run_id = kind, message_id
            run.append(chunk.text)
        end_run()
        return updates

    def _live(self, event: Event) -> list[AnyUpdate]:
        """An event that is not a delta. Messages were streamed, and the editor has what it sent."""
        match event.data:
            case UserMessage():
                return []
            case AssistantMessage():
                self._retries = ""
                return self._usage(event.data)
            case LlmRetry(attempt=attempt):
                # What is said anew is another message than what was said before it failed.
                self._retries = f"r{attempt}"
                return self._either(event)
            case TodoWrite(todos=todos):
                return [plan(todos)]
            case _:
                return self._either(event)

    def replay(self, events: Iterable[Event], asked: Container[str] = ()) -> list[AnyUpdate]:
        """What the editor is told of a transcript: each message and each call once, whole. The calls
        `asked` about wait for the person."""
        return [
            update
            for event in events
            for update in _guarded(lambda event: self._replayed(event, asked), event)
        ]

    def _replayed(self, event: Event, asked: Container[str]) -> list[AnyUpdate]:
        match event.data:
            case UserMessage(content=content) | PromptBlocked(content=content):
                return _user_chunks(content, f"u{event.seq}")
            case AssistantMessage(turn=turn, step=step, content=content):
                return _assistant_chunks(content, f"{turn}.{step}")
            case TodoWrite():
                return []
            case ToolCallStarted(call_id=call_id) as begun if call_id in asked:
                return [self._begin(begun, event.seq, "pending")]
            case _:
                return self._either(event)

    def _either(self, event: Event) -> list[AnyUpdate]:  # noqa: C901, PLR0912 - a table of events
        """What is told the same way, live and on load."""
        match event.data:
            case ToolCallStarted():
                return [self._begin(event.data, event.seq)]
            case PermissionAsked(call_id=call_id):
                return [ToolCallChanged(self._wire_id(call_id), status="pending")]
            case PermissionDecided(call_id=call_id, outcome="allow-once" | "allow-session"):
                return [ToolCallChanged(self._wire_id(call_id), status="in_progress")]
            case ToolProgress(call_id=call_id, text=text):
                return self._progress(call_id, text)
            case ToolResultRecorded():
                return [*self._end(event.data)]
            case TurnEnd(reason=reason):
                said = f"Not sent to the model: {reason.reason}" if reason.kind == "rejected" else ""
                return [*self._fail_open(), *_said(said, event.seq)]
            case SteeringMessage(content=content):
                return [*_user_chunks(content, f"u{event.seq}")]
            case SessionTitle(title=title):
                return [SessionInfoChanged(limits.line(title), timestamp(event.time))]
            case SessionMode(mode=mode):
                return [ModeChanged(mode)]
            case Notice(text=text):
                return _said(f"*{text}*", event.seq)
            case CommandDone(text=text):
                return _said(text, event.seq)
            case LlmRetry(error=error, delay_ms=delay):
                return _said(f"*{error}. Asking again in {delay / 1000:.1f} s.*", event.seq)
            case _:
                return []

    def _usage(self, message: AssistantMessage) -> list[AnyUpdate]:
        if message.usage is None or self.window is None:
            return []
        return [UsageChanged(message.usage.context_tokens, self.window)]

    def _begin(self, call: ToolCallStarted, seq: int, status: ToolStatus = "in_progress") -> ToolCallBegun:
        shown = self._presenter.present_call(call.name, call.arguments, self._workspace)
        wire_id = limits.identifier(call.call_id)
        if wire_id in self._wire_ids:
            # A log of another program may repeat a provider's ids.
            wire_id = f"{wire_id}#{seq}"
        self._wire_ids.add(wire_id)
        self._open[call.call_id] = _OpenCall(wire_id, call, shown)
        return ToolCallBegun(
            tool_call_id=wire_id,
            title=limits.line(shown.title),
            kind=shown.kind,
            status=status,
            content=cards.contents(shown.cards, self._workspace),
            locations=cards.locations(shown.locations, self._workspace),
            raw_input=raw_input(call.arguments),
        )

    def _wire_id(self, call_id: str) -> str:
        return self._open[call_id].wire_id

    def _progress(self, call_id: str, text: str) -> list[AnyUpdate]:
        call = self._open[call_id]
        call.output = (call.output + text)[-limits.STRING :]
        grown = [card for card in call.shown.cards if not isinstance(card, TerminalCard)]
        return [
            ToolCallChanged(
                call.wire_id,
                content=cards.contents([*grown, TerminalCard(call.output)], self._workspace),
            )
        ]

    def _end(self, result: ToolResultRecorded) -> list[AnyUpdate]:
        call = self._open.pop(result.call_id, None)
        if call is None:
            # Logs of other programs answer calls that were never announced.
            begun = ToolCallStarted(result.turn, result.step, result.call_id, "", "")
            return [self._begin(begun, -1), *self._end(result)]
        output = ToolOutput(result.content, result.is_error, meta=result.meta or {})
        shown = self._presenter.present_result(call.call.name, call.call.arguments, output, self._workspace)
        content = cards.contents(shown or call.shown.cards, self._workspace)
        return [
            ToolCallChanged(
                call.wire_id,
                status="failed" if result.is_error else "completed",
                content=content or None,
                raw_output=raw_output(result),
            )
        ]

    def _fail_open(self) -> list[AnyUpdate]:
        """No card stays open at the end of a turn, whatever the log left out."""
        left, self._open = self._open, {}
        return [ToolCallChanged(call.wire_id, status="failed") for call in left.values()]


def plan(todos: Sequence[TodoItem]) -> Plan:
    """The list as a plan. ACP asks for a priority, which the list does not have: it is constant, and
    put on here alone."""
    return Plan(tuple(PlanEntry(item.content, "medium", item.status) for item in todos))


def asked_about(events: Iterable[Event]) -> frozenset[str]:
    """The calls of a turn that wait for the person's answer."""
    waiting: set[str] = set()
    for event in events:
        match event.data:
            case PermissionAsked(call_id=call_id):
                waiting.add(call_id)
            case PermissionDecided(call_id=call_id) | ToolResultRecorded(call_id=call_id):
                waiting.discard(call_id)
    return frozenset(waiting)


def closing(state: State, window: int | None, updated_at: int) -> list[AnyUpdate]:
    """What follows the transcript on load: the title, the usage when the window is known, the plan."""
    updates: list[AnyUpdate] = []
    if state.meta.title:
        updates.append(SessionInfoChanged(limits.line(state.meta.title), timestamp(updated_at)))
    if window is not None and state.usage.context_tokens:
        updates.append(UsageChanged(state.usage.context_tokens, window))
    if state.todos.items is not None:
        updates.append(plan(state.todos.items))
    return updates


def _guarded(tell: Callable[[Event], list[AnyUpdate]], event: Event) -> list[AnyUpdate]:
    """What is told of an event. One that cannot be told ends neither its session nor the others."""
    try:
        return tell(event)
    except Exception:
        logger.exception("event %d cannot be shown", event.seq)
        return _said("*Something happened here that cannot be shown; the diagnostics say why.*", event.seq)


def timestamp(milliseconds: int) -> str:
    """RFC 3339, in UTC. A time that no calendar has becomes the nearest one that it has."""
    milliseconds = min(max(milliseconds, 0), LAST_MOMENT)
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")


def raw_input(arguments: str) -> Any:
    """The arguments as JSON, or the string as it is when the model sent something else."""
    try:
        return limits.raw(json.loads(arguments))
    except (ValueError, RecursionError):
        return limits.raw(arguments)


def raw_output(result: ToolResultRecorded) -> Any:
    """The text of a result, and its error code."""
    text = "\n".join(block.text for block in result.content if isinstance(block, Text))
    output: dict[str, Any] = {"output": text}
    if result.error is not None:
        output["error"] = result.error.code
    return limits.raw(output)


def _said(text: str, seq: int) -> list[AnyUpdate]:
    return list(_chunks(AgentMessageChunk, text, f"n{seq}")) if text else []


def _chunks(kind: type[MessageChunk], text: str, message_id: str) -> list[AnyUpdate]:
    return [kind(TextContent(piece), message_id) for piece in limits.pieces(text)]  # type: ignore[misc]


def _user_chunks(content: Sequence[ContentBlock], message_id: str) -> list[AnyUpdate]:
    updates: list[AnyUpdate] = []
    for block in content:
        if isinstance(block, Text):
            updates += _chunks(UserMessageChunk, block.text, message_id)
        elif isinstance(block, Image) and block.data is not None:
            image = ImageContent(block.data, block.mime_type or "image/png")
            updates.append(UserMessageChunk(image, message_id))
    return updates


def _assistant_chunks(content: Sequence[ContentBlock], step: str) -> list[AnyUpdate]:
    updates: list[AnyUpdate] = []
    for index, block in enumerate(content):
        if isinstance(block, Text):
            updates += _chunks(AgentMessageChunk, block.text, f"{step}.{index}")
        elif isinstance(block, Reasoning):
            updates += _chunks(AgentThoughtChunk, block.text, f"{step}.{index}")
    return updates
