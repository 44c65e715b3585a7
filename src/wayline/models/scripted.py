"""A model that plays a script: one JSON list a line, a line for each request of a session.

A line's items are `{"text"}`, `{"deltas": [...]}` (text in these pieces), `{"reasoning"}`,
`{"call": {"id", "name", "arguments"}}` (an object, or a string as it is), `{"usage"}`,
`{"pause": seconds}`, `{"hang": true}`, `{"error": {"code", "message", "retry_after"?}}`,
`{"finish": kind}`, and `{"cut": true}` for a stream that breaks off. A first item `{"for": purpose}`
keeps a line for requests of that purpose.

    ScriptError    a script that cannot be read; the message names file, line and reason
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    FinishKind,
    FinishReason,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from wayline.models.base import (
    ContextOverflow,
    ModelError,
    ModelRequest,
    NoCredentials,
    Purpose,
    RequestRefused,
    Unavailable,
)

#: the script that `wayline demo` plays
DEMO = Path(__file__).with_name("demo.jsonl")


class ScriptError(Exception):
    """A script that cannot be read."""


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of a script."""

    name: str
    arguments: dict[str, Any] | str
    id: str = ""


class ScriptedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure of a script; `retry_after` in seconds."""

    code: Literal["AUTH", "REQUEST_REFUSED", "CONTEXT_OVERFLOW", "UNAVAILABLE", "PROVIDER"]
    message: str
    retry_after: float | None = None


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"purpose": "for"}):
    """One item of a line; exactly one member is given."""

    text: str | None = None
    deltas: tuple[str, ...] | None = None
    reasoning: str | None = None
    call: ScriptedCall | None = None
    usage: Usage | None = None
    pause: float | None = None
    hang: Literal[True] | None = None
    error: ScriptedError | None = None
    finish: FinishKind | None = None
    cut: Literal[True] | None = None
    purpose: Purpose | None = None


Line = tuple[Item, ...]


def parse(lines: Sequence[str], source: str) -> list[Line]:
    """The lines of a script, empty ones left out. Raises `ScriptError`."""
    script: list[Line] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            items = msgspec.json.decode(line, type=Line)
        except msgspec.MsgspecError as error:
            raise ScriptError(f"{source}, line {number}: {error}") from None
        for place, item in enumerate(items):
            if sum(value is not None for value in msgspec.structs.astuple(item)) != 1:
                raise ScriptError(f"{source}, line {number}: an item has exactly one member")
            if item.purpose is not None and place > 0:
                raise ScriptError(f'{source}, line {number}: "for" is the first item of a line')
        script.append(items)
    return script


def load(path: Path) -> "ScriptedModel":
    """A model of a script file. Raises `ScriptError`."""
    return ScriptedModel(read(path), name=path.name)


def read(path: Path) -> list[Line]:
    """The lines of a script file. Raises `ScriptError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"cannot read the script {path}: {error}") from None
    # Not splitlines(): JSON strings may hold the other line ends of Unicode as they are.
    return parse(text.split("\n"), str(path))


class ScriptedModel:
    """Plays its lines. A session's place is the number of requests it made before, so that it goes on
    where it was after a restart."""

    provider = "scripted"
    context_window: int | None = None
    takes_images = True

    def __init__(self, script: Sequence[Line], name: str = "script") -> None:
        self.name = name
        self._lines: Mapping[Purpose, list[Line]] = {
            purpose: [line for line in script if purpose_of(line) == purpose]
            for purpose in ("turn", "title", "summary")
        }

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Play the line of `request.ordinal`."""
        lines = self._lines[request.purpose]
        if request.ordinal >= len(lines):
            raise ModelError(
                f"the script {self.name} has {len(lines)} lines and was asked for line {request.ordinal + 1}"
            )
        index, usage = 0, Usage()
        kind: FinishKind = "stop"
        ids: set[str] = set()
        for item in lines[request.ordinal]:
            if item.pause is not None:
                await anyio.sleep(item.pause)
            elif item.hang:
                await anyio.sleep_forever()
            elif item.error is not None:
                raise _failure(item.error)
            elif item.cut:
                raise Unavailable("the script cut the answer off")
            else:
                usage, kind = item.usage or usage, item.finish or ("tool-calls" if item.call else kind)
                for chunk in _block(index, item, _call_id(item, ids, f"script_{request.ordinal}_{index}")):
                    yield chunk
                    index += isinstance(chunk, BlockEnd)
        yield UsageChunk(usage)
        yield Finish(FinishReason(kind))


def purpose_of(line: Line) -> Purpose:
    """What a line is for."""
    return (line[0].purpose if line else None) or "turn"


def _call_id(item: Item, taken: set[str], own: str) -> str:
    """The id of an item's call; one that is missing or was taken in this answer is made up."""
    given = item.call.id if item.call is not None else ""
    call_id = given if given and given not in taken else own
    taken.add(call_id)
    return call_id


def _block(index: int, item: Item, call_id: str) -> Iterator[Chunk]:
    """The chunks of one item; none for an item that is no content, or empty."""
    if item.text is not None:
        yield from _text(index, re.findall(r"\S+\s*|\s+", item.text))
    elif item.deltas is not None:
        yield from _text(index, item.deltas)
    elif item.reasoning:
        yield BlockStart(index, "reasoning")
        yield ReasoningDelta(index, item.reasoning)
        yield BlockEnd(index, Reasoning(item.reasoning))
    elif item.call is not None:
        call = item.call
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        yield BlockStart(index, "tool-call")
        yield ToolCallDelta(index, call_id, arguments, call.name)
        yield BlockEnd(index, ToolCall(call_id, call.name, arguments))


def _text(index: int, deltas: Sequence[str]) -> Iterator[Chunk]:
    if not any(deltas):
        return
    yield BlockStart(index, "text")
    for delta in filter(None, deltas):
        yield TextDelta(index, delta)
    yield BlockEnd(index, Text("".join(deltas)))


def _failure(error: ScriptedError) -> ModelError:
    match error.code:
        case "AUTH":
            return NoCredentials(error.message)
        case "REQUEST_REFUSED":
            return RequestRefused(error.message)
        case "CONTEXT_OVERFLOW":
            return ContextOverflow(error.message)
        case "UNAVAILABLE":
            return Unavailable(error.message, error.retry_after)
        case _:
            return ModelError(error.message)
