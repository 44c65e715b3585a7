"""Events to lines and back.

LogError
├── DamagedLine     a line that is not an event; `reason` says why
└── UnknownHeader   line 1 is not a header of a format this reader knows
"""

import json
import re
from collections.abc import Callable
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
_DELTA = re.compile(rb'\{"type":"assistant/chunk","seq":(\d{1,18}),')
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
#: what decoders raise for a line that is not what it should be
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


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
    """One line, with its newline. Lone surrogates become U+FFFD."""
    if isinstance(record, Event) and isinstance(record.data, Unknown):
        record = msgspec.structs.replace(record, data=record.data.fields)
    try:
        return _encoder.encode(record) + b"\n"
    except UnicodeEncodeError:
        return _replace_surrogates(msgspec.to_builtins(record)) + b"\n"


def decode_header(line: bytes) -> Header:
    """Line 1 of a log. Raises `UnknownHeader`."""
    try:
        header: Header = _mending(_decoder(Header).decode, line)
    except _UNREADABLE as error:
        raise UnknownHeader(f"line 1 is not a session header: {error}") from None
    if header.version != FORMAT_VERSION:
        raise UnknownHeader(f"the log has format {header.version}; this reader knows {FORMAT_VERSION}")
    return header


def decode(line: bytes) -> Event:
    """One event, its payload typed by its `type`; a type not known here becomes `Unknown`.

    Raises `DamagedLine`.
    """
    try:
        return _mending(_decode, line)
    except _UNREADABLE as error:
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


def _mending(decode: Callable[[bytes], T], line: bytes) -> T:
    """The line decoded; when lone surrogates are what is wrong with it, decoded without them.

    `json` reads them where msgspec refuses them.
    """
    try:
        return decode(line)
    except _UNREADABLE:
        if not _SURROGATE_ESCAPE.search(line):
            raise
    return decode(_replace_surrogates(json.loads(line)))


def _replace_surrogates(value: object) -> bytes:
    return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def delta_seq(line: bytes) -> int | None:
    """The `seq` of a delta line, without decoding it; None for any other line."""
    match = _DELTA.match(line)
    return int(match[1]) if match else None


def is_delta(event: Event) -> bool:
    """Whether the event is a stream delta, which no projection needs."""
    return type(event.data) is AssistantChunk
