"""The history a model is sent: a fold over the surface of the log and nothing else."""

import msgspec

from wayline.log.content import ContentBlock, Message, Text, ToolResult
from wayline.log.events import (
    AssistantMessage,
    ContextMessage,
    Event,
    Replace,
    SteeringMessage,
    ToolResultRecorded,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from wayline.projections.vector import Vector


class Messages(msgspec.Struct, frozen=True):
    """`history` in order; `seqs` says which event each came from; `turn_begins` is how many there were
    when the last turn opened."""

    history: Vector[Message] = Vector()
    seqs: Vector[int] = Vector()
    turn_begins: int = 0


def fold(state: Messages, event: Event) -> Messages:
    """Take one event. A turn that ended in a refusal leaves the history."""
    match event.data:
        case TurnStart():
            return Messages(state.history, state.seqs, len(state.history))
        case TurnEnd(reason=reason) if reason.kind == "refusal":
            return _first(state, state.turn_begins)
    message = _message(event)
    if message is None:
        return state
    if isinstance(event.surface_op, Replace):
        return _replace(state, event.surface_op, message, event.seq)
    return Messages(state.history.append(message), state.seqs.append(event.seq), state.turn_begins)


def _message(event: Event) -> Message | None:
    match event.data:
        case UserMessage(content=content) | SteeringMessage(content=content):
            return Message("user", content)
        case ContextMessage(content=content, source=source):
            return Message("user", _enveloped(content, source.kind))
        case AssistantMessage(content=content):
            return Message("assistant", content)
        case ToolResultRecorded(call_id=call_id, content=content, is_error=is_error):
            return Message("tool", (ToolResult(call_id, content, is_error),))
        case _:
            return None


def _enveloped(content: tuple[ContentBlock, ...], kind: str) -> tuple[ContentBlock, ...]:
    """Mark text that no person typed, so that the model does not take it for theirs."""
    return (Text(f'<context source="{kind}">'), *content, Text("</context>"))


def _first(state: Messages, size: int) -> Messages:
    return Messages(state.history.first(size), state.seqs.first(size), size)


def _replace(state: Messages, op: Replace, message: Message, seq: int) -> Messages:
    seqs = list(state.seqs)
    first, last = seqs.index(op.start), seqs.index(op.end)
    history = [*state.history[:first], message, *state.history[last + 1 :]]
    shrunk = len(state.history) - len(history)
    return Messages(
        Vector(history), Vector([*seqs[:first], seq, *seqs[last + 1 :]]), max(0, state.turn_begins - shrunk)
    )
