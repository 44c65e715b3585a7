"""Events to lines and back.

LogError
├── DamagedLine     a line that is not an event; `reason` says why
└── UnknownHeader   line 1 is not a header of a format this reader knows
"""

import json
import re
from functools import cache
from typing import TypeVar

import msgspec

from wayline.log.events import (
    FORMAT_VERSION,
    PAYLOADS,
    AssistantChunk,
    Event,
    Header,
    Payload,
    Sources,
    SurfaceOp,
    Unknown,
)

T = TypeVar("T")

#: How every line of a delta begins. A reader that only folds can skip it and still know its `seq`.
_DELTA = re.compile(rb'\{"type":"assistant/chunk","seq":(\d+),')
_SURROGATE = re.compile("[\ud800-\udfff]")


class LogError(Exception):
    """A session log could not be read or written."""


class DamagedLine(LogError):
    """A line that is not an event of the format."""


class UnknownHeader(LogError):
    """The first line is not a header of format 0."""


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    type: str
    seq: int
    time: int
    data: msgspec.Raw
    surface_op: SurfaceOp | None = None
    source_event_seqs: Sources | None = None
    ignorable: bool = False


_encoder = msgspec.json.Encoder()


@cache
def _decoder(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """Made when first needed: two dozen of them are 5 ms that a new session need not wait for."""
    return msgspec.json.Decoder(kind)


def encode(record: Event | Header) -> bytes:
    """One line, with its newline."""
    return _encoder.encode(record) + b"\n"


def decode_header(line: bytes) -> Header:
    """Line 1 of a log. Raises `UnknownHeader`."""
    try:
        header: Header = _decoder(Header).decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnknownHeader(f"line 1 is not a session header: {error}") from None
    if header.version != FORMAT_VERSION:
        raise UnknownHeader(f"the log has format {header.version}; this reader knows {FORMAT_VERSION}")
    return header


def decode(line: bytes) -> Event:
    """One event, its payload typed by its `type`; a type not known here becomes `Unknown`.

    Raises `DamagedLine`.
    """
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        mended = _without_surrogates(line)
        if mended is None:
            raise DamagedLine(str(error)) from None
    try:
        return _decode(mended)
    except msgspec.MsgspecError as error:
        raise DamagedLine(str(error)) from None


def _decode(line: bytes) -> Event:
    envelope = _decoder(_Envelope).decode(line)
    kind = PAYLOADS.get(envelope.type)
    data: Payload
    if kind is None:
        data = Unknown(_decoder(dict).decode(envelope.data))
    else:
        data = _decoder(kind).decode(envelope.data)
    return Event(
        envelope.type,
        envelope.seq,
        envelope.time,
        data,
        envelope.surface_op,
        envelope.source_event_seqs,
        envelope.ignorable,
    )


def _without_surrogates(line: bytes) -> bytes | None:
    """The line with lone surrogates replaced, or None when they are not what was wrong with it.

    `json` reads them where msgspec refuses them.
    """
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except ValueError:
        return None
    mended, count = _SURROGATE.subn("\ufffd", text)
    return mended.encode() if count else None


def delta_seq(line: bytes) -> int | None:
    """The `seq` of a delta line, without decoding it; None for any other line."""
    match = _DELTA.match(line)
    return int(match[1]) if match else None


def is_delta(event: Event) -> bool:
    """Whether the event is a stream delta, which no projection needs."""
    return type(event.data) is AssistantChunk
