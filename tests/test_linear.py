"""Text from outside costs what it is long: ten times as much of it never takes a hundred times as long."""

import contextlib
import time
from collections.abc import Callable

import msgspec
import pytest

from wayline.acp import limits
from wayline.acp.bridge import raw_input
from wayline.tools import presentation
from wayline.tools.base import ToolFailure
from wayline.tools.diffs import diffs
from wayline.tools.edits import edited
from wayline.tools.environment import scrub
from wayline.tools.matches import narrow
from wayline.tools.read import page
from wayline.tools.results import ends
from wayline.tools.schema import parse
from wayline.tools.shell import BashArguments
from wayline.tools.terminal_text import TerminalText
from wayline.tools.text_files import Binary, TextFile, decode, lines_of
from wayline.wire.errors import InvalidParams
from wayline.wire.jsonrpc import decode_params

#: pieces that a text is made of by repeating them
PIECES = {
    "carriage returns": "\r",
    "returns and text": "\ra",
    "returns on returns": "\r\r\n",
    "escapes": "\x1b",
    "control sequences": "\x1b[",
    "control sequences with numbers": "\x1b[0 ",
    "titles": "\x1b]",
    "titles that end": "\x1b]0;a\x07",
    "strings": "\x1bP\x07",
    "brackets": "[",
    "backticks": "`",
    "fences": "```\n",
    "spaces": " ",
    "newlines": "\n",
    "letters": "a",
    "lines": "a\n",
    "windows lines": "a\r\n",
    "places": " - at `",
    "colons": "://a:",
    "control characters": "\x01",
    "euros": "€",
}
#: beginnings that leave something open for the whole of the text
STARTS = ["", "\x1b[", "\x1b]", "\x1b "]


def terminal(text: str) -> None:
    output = TerminalText(head=10_000_000)
    output.feed(text.encode(), final=True)
    output.text()


def terminal_in_pieces(text: str) -> None:
    output = TerminalText(head=10_000_000)
    raw = text.encode()
    for start in range(0, len(raw), 65536):
        output.feed(raw[start : start + 65536])
    output.feed(b"", final=True)
    output.text()


def read(text: str) -> None:
    with contextlib.suppress(Binary):
        page("f", decode(text.encode("latin-1", errors="replace")).text, 1, None)


def edit(text: str) -> None:
    for old in ("a", "\r", "\n\n", text[:1000], text[:1000] + "b"):
        with contextlib.suppress(ToolFailure):
            edited(TextFile(text), old, "b", replace_all=True)


def invalid_params(text: str) -> None:
    with contextlib.suppress(InvalidParams):
        decode_params(msgspec.json.encode({text: text, "a": text}), dict[str, int])


def arguments(text: str) -> None:
    for raw in (text, msgspec.json.encode({"command": text}).decode()):
        with contextlib.suppress(ToolFailure):
            parse(BashArguments, raw)


WAYS: list[Callable[[str], object]] = [
    terminal,
    terminal_in_pieces,
    read,
    edit,
    invalid_params,
    arguments,
    raw_input,
    presentation.fenced,
    presentation.bounded,
    limits.size,
    lines_of,
    lambda text: scrub({"A": text, text: "A"}),
    lambda text: ends(text, 25_000, 1000),
    lambda text: narrow(text, len(text) // 2),
    lambda text: diffs("f", text, text + "b"),
    lambda text: list(limits.pieces(text)),
    lambda text: limits.head(text, 16_000),
    lambda text: limits.tail(text, 16_000),
]


def seconds(way: Callable[[str], object], text: str) -> float:
    start = time.perf_counter()
    way(text)
    return time.perf_counter() - start


def in_proportion(way: Callable[[str], object], piece: str, start: str) -> bool:
    small, large = ((start + piece * length)[:length] for length in (30_000, 300_000))
    # What takes less than 10 ms is counted as that: anything else would compare noise.
    return seconds(way, large) <= 20 * max(seconds(way, small), 0.01)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: getattr(way, "__name__", ""))
def test_ten_times_the_text_takes_no_hundred_times_as_long(way):
    for piece in PIECES.values():
        for start in STARTS if way in (terminal, terminal_in_pieces) else [""]:
            # Once is enough: the machine may have been busy with something else the other times.
            assert any(in_proportion(way, piece, start) for _ in range(3)), (start, piece)
