"""Reading a whole log: header, events, the torn tail, and whether it may be written to.

LogError
└── DamagedLog    a line before the last cannot be read: the session is damaged
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from wayline.log.codec import DamagedLine, LogError, decode, decode_header, delta_seq, is_delta
from wayline.log.events import AssistantMessage, Event, Header, LlmRetry, StepEnd, Unknown
from wayline.log.invariants import InvariantBroken, Invariants

T = TypeVar("T")


class DamagedLog(LogError):
    """The log cannot be read; the message names the line and the reason."""


class Reading(msgspec.Struct, frozen=True):
    """What a log says.

    `events` leaves out the deltas of finished steps, which no projection needs; `open_deltas` are those
    of a step that was not finished. `length` is the bytes that hold whole lines; `torn` those behind
    them, never acknowledged. `fault` says why the log must not be written to, None when it may be. `rules`
    have seen every event.
    """

    header: Header
    events: list[Event]
    open_deltas: list[Event]
    next_seq: int
    length: int
    torn: int
    fault: str | None
    rules: Invariants


def read(data: bytes) -> Reading:
    """Read a log. Raises `UnknownHeader`, `DamagedLog`."""
    lines, torn = _whole_lines(data)
    header = decode_header(lines[0] if lines else b"")
    events: list[Event] = []
    deltas: list[tuple[int, bytes]] = []
    rules = Invariants()
    fault: str | None = None
    for number, line in enumerate(lines[1:], start=2):
        seq = delta_seq(line)
        if seq is not None:
            fault = fault or _broken(rules.check_delta, seq)
            deltas.append((number, line))
            continue
        event = _decode(number, line)
        fault = fault or _unknown(event, header) or _broken(rules.check, event)
        if is_delta(event):
            # Another program's, with its keys in another order.
            deltas.append((number, line))
            continue
        events.append(event)
        if isinstance(event.data, AssistantMessage | StepEnd | LlmRetry):
            deltas.clear()
    return Reading(
        header=header,
        events=events,
        open_deltas=[_decode(number, line) for number, line in deltas],
        next_seq=rules.next_seq,
        length=len(data) - torn,
        torn=torn,
        fault=fault,
        rules=rules,
    )


def _decode(number: int, line: bytes) -> Event:
    try:
        return decode(line)
    except DamagedLine as error:
        raise DamagedLog(f"line {number}: {error}") from None


def _whole_lines(data: bytes) -> tuple[list[bytes], int]:
    """The lines that were written whole, and the number of bytes behind them.

    A write can be torn anywhere, so the last line counts only when it ends and parses.
    """
    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    torn = len(data) - end
    if len(lines) > 1:
        try:
            decode(lines[-1])
        except DamagedLine:
            torn += len(lines.pop()) + 1
    return lines, torn


def _unknown(event: Event, header: Header) -> str | None:
    if not isinstance(event.data, Unknown) or event.ignorable:
        return None
    producer = header.producer or {}
    writer = " ".join(producer.values()) or "an unnamed program"
    return f"event {event.seq} has type {event.type!r}, written by {writer}, which this version does not know"


def _broken(check: Callable[[T], None], what: T) -> str | None:
    try:
        check(what)
    except InvariantBroken as error:
        return str(error)
    return None
