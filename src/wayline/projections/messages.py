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
    """Put a message in the place of a run. A run that reaches into the open turn was not all said in it,
    so a refusal leaves its summary."""
    seqs = list(state.seqs)
    if op.start not in seqs or op.end not in seqs:
        return Messages(state.history.append(message), state.seqs.append(seq), state.turn_begins)
    first, last = seqs.index(op.start), seqs.index(op.end)
    begins = state.turn_begins
    if first < begins:
        begins = max(first + 1, begins - (last - first))
    return Messages(
        Vector([*state.history[:first], message, *state.history[last + 1 :]]),
        Vector([*seqs[:first], seq, *seqs[last + 1 :]]),
        begins,
    )
