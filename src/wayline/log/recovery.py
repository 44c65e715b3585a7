"""What must be appended so that a step that stopped in the middle is whole: after a crash, a cancel
or a failure.

An open turn is closed, never cut. Repairing a repaired log appends nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from wayline.log.content import Chunk, ContentBlock, Text, ToolCall
from wayline.log.events import (
    AssistantChunk,
    AssistantMessage,
    Event,
    Payload,
    PermissionAsked,
    PermissionDecided,
    StepEnd,
    StepStart,
    ToolCallStarted,
    ToolError,
    ToolResultRecorded,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)

#: Makes content blocks of the chunks of a stream that did not end, without calls that did not.
Assemble = Callable[[Iterable[Chunk]], tuple[ContentBlock, ...]]


class Wording(msgspec.Struct, frozen=True):
    """What unanswered calls are answered with: `(code, text)` for those that had not begun, and for
    those that had."""

    not_begun: tuple[str, str]
    begun: tuple[str, str]


AFTER_CRASH = Wording(
    (
        "TOOL_NOT_STARTED",
        "The call was not started: the agent stopped before it. Make it again if it is still needed.",
    ),
    (
        "TOOL_OUTCOME_UNKNOWN",
        "The agent stopped while this call ran, so whether it did anything is not known. "
        "Look at the state of things before you make it again.",
    ),
)
AFTER_CANCEL = Wording(
    ("ABORTED_BEFORE_DISPATCH", "The turn was cancelled before this call was started."),
    ("ABORTED", "The turn was cancelled while this call ran; what it had done by then stays done."),
)
AFTER_FAILURE = Wording(
    ("ABORTED_BEFORE_DISPATCH", "The step failed before this call was started."),
    ("ABORTED", "The step failed while this call ran; what it had done by then stays done."),
)


class _Open(msgspec.Struct):
    """What the log leaves open at its end."""

    turn: int = 0
    step: int = 0
    message: AssistantMessage | None = None
    started: dict[str, ToolCallStarted] = msgspec.field(default_factory=dict)
    answered: set[str] = msgspec.field(default_factory=set)
    #: calls the person was asked about and did not allow
    waiting: set[str] = msgspec.field(default_factory=set)


def repair(events: Sequence[Event], open_deltas: Sequence[Event], assemble: Assemble) -> list[Payload]:
    """The payloads that close a log after a crash, in order; none when no turn is open."""
    turn = _find_open(events).turn
    if not turn:
        return []
    closing = close_step(events, open_deltas, assemble, AFTER_CRASH)
    return [*closing, TurnEnd(turn, TurnEndReason("interrupted"))]


def close_step(
    events: Sequence[Event], open_deltas: Sequence[Event], assemble: Assemble, wording: Wording
) -> list[Payload]:
    """The payloads that close the open step of a log, in order; none when no step is open.

    `events` begin at the open turn or before it; `open_deltas` are the deltas that no message holds yet.
    """
    state = _find_open(events)
    if not state.step:
        return []
    turn, step, message = state.turn, state.step, state.message
    closing: list[Payload] = []
    chunks = [event.data.chunk for event in open_deltas if isinstance(event.data, AssistantChunk)]
    if message is None and (content := assemble(chunks)):
        message = AssistantMessage(turn, step, content, interrupted=True)
        closing.append(message)
    for call in _calls(message, state.started):
        if call.id in state.answered:
            continue
        begun = call.id in state.started
        if not begun:
            closing.append(ToolCallStarted(turn, step, call.id, call.name, call.arguments))
        running = begun and call.id not in state.waiting
        code, text = wording.begun if running else wording.not_begun
        error = ToolError("Interrupted", code)
        closing.append(ToolResultRecorded(turn, step, call.id, (Text(text),), True, error))
    closing.append(StepEnd(turn, step))
    return closing


def _find_open(events: Sequence[Event]) -> _Open:
    state = _Open()
    for event in events:
        match event.data:
            case TurnStart(turn=turn):
                state = _Open(turn=turn)
            case TurnEnd():
                state = _Open()
            case StepStart(step=step):
                state = _Open(turn=state.turn, step=step)
            case StepEnd():
                state = _Open(turn=state.turn)
            case AssistantMessage():
                state.message = event.data
            case ToolCallStarted(call_id=call_id):
                state.started[call_id] = event.data
            case PermissionAsked(call_id=call_id):
                state.waiting.add(call_id)
            case PermissionDecided(call_id=call_id, outcome="allow-once" | "allow-session"):
                state.waiting.discard(call_id)
            case ToolResultRecorded(call_id=call_id):
                state.answered.add(call_id)
            case _:
                pass
    return state


def _calls(message: AssistantMessage | None, started: Mapping[str, ToolCallStarted]) -> list[ToolCall]:
    """The calls of a step: those of its message, and any that another program wrote without one."""
    asked = [block for block in message.content if isinstance(block, ToolCall)] if message else []
    known = {call.id for call in asked}
    others = [ToolCall(call.call_id, call.name, call.arguments) for call in started.values()]
    return [*asked, *(call for call in others if call.id not in known)]
