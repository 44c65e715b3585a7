"""What the tap tells the writer: pieces of the conversation as they passed, and what is around it.

On the pipe each entry is its length in four bytes, then itself as MessagePack.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal

import msgspec

Side = Literal["client", "agent"]

_LENGTH = struct.Struct(">I")


class Passed(msgspec.Struct, frozen=True, tag=True):
    """Bytes that passed, `time` seconds after the start."""

    side: Side
    time: float
    data: bytes


class Copying(msgspec.Struct, frozen=True, tag=True):
    """A copy of the workspace is being made in this folder, which the writer removes."""

    folder: str


class Workspace(msgspec.Struct, frozen=True, tag=True):
    """The workspace as it was before the first session: its path as the client says it and with links
    resolved, the folder with its copy, and why there is none."""

    path: str
    resolved: str
    folder: str | None
    missing: str | None = None


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The agent ended, with this status, and all it wrote has passed."""

    status: int


Entry = Passed | Copying | Workspace | Ended

_decoder = msgspec.msgpack.Decoder(Entry)


class Tapped(msgspec.Struct, frozen=True):
    """A line that passed, without its newline; `time` is that of its last byte. The last line of a side
    may be one that was never ended."""

    side: Side
    time: float
    line: bytes


def encode(entry: Entry) -> bytes:
    """An entry as it is on the pipe."""
    body = msgspec.msgpack.encode(entry)
    return _LENGTH.pack(len(body)) + body


def entries(stream: BinaryIO) -> Iterator[Entry]:
    """The entries of a stream up to its end; one that was torn off by it is left out."""
    while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        body = stream.read(length)
        if len(body) < length:
            return
        yield _decoder.decode(body)


def lines(passed: Iterable[Passed]) -> Iterator[Tapped]:
    """The lines that passed, in the order in which they were complete; empty ones are none."""
    begun: dict[Side, list[bytes]] = {"client": [], "agent": []}
    time = 0.0
    for piece in passed:
        time = piece.time
        *ended, rest = piece.data.split(b"\n")
        for end in ended:
            line = b"".join([*begun[piece.side], end])
            begun[piece.side].clear()
            if line.strip():
                yield Tapped(piece.side, time, line)
        if rest:
            begun[piece.side].append(rest)
    for side, rests in begun.items():
        if rest := b"".join(rests):
            yield Tapped(side, time, rest)
