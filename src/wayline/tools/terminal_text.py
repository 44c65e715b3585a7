"""Bytes that a command prints, as text for a model: decoded, without terminal codes, bounded in memory."""

import codecs
import re
from collections import deque

#: characters kept of the beginning and of the end of an output
KEPT_HEAD = KEPT_TAIL = 512 * 1024

#: ECMA-48: control sequences, strings such as titles and links, and two-character escapes
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]+[0-~]|[0-Z\\-~])"
)
#: the beginning of one at the end of a chunk, or the first half of a Windows line end
_UNFINISHED = re.compile(r"(?:\r|\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*))\Z")
_LONGEST_ESCAPE = 4096
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class TerminalText:
    """Takes the output of a command piece by piece."""

    def __init__(self, head: int = KEPT_HEAD, tail: int = KEPT_TAIL) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._unfinished = ""
        self._head: list[str] = []
        self._head_room = head
        self._tail: deque[str] = deque()
        self._tail_room = tail
        self.left_out = 0

    def feed(self, raw: bytes, *, final: bool = False) -> str:
        """Take more bytes; what they add, as plain text. `final` lets go what was held back."""
        text = self._unfinished + self._decoder.decode(raw, final)
        held = None if final else _UNFINISHED.search(text, max(len(text) - _LONGEST_ESCAPE, 0))
        self._unfinished = held.group() if held else ""
        whole = text[: len(text) - len(self._unfinished)]
        plain = _CONTROL.sub("", _ESCAPE.sub("", whole)).replace("\r\n", "\n")
        self._keep(plain)
        return plain

    def text(self) -> str:
        """What was printed; lines that a carriage return wrote over are as they looked in the end."""
        note = f"\n[{self.left_out} characters left out]\n" if self.left_out else ""
        joined = "".join(self._head) + note + "".join(self._tail)
        return "\n".join(map(_in_the_end, joined.split("\n"))) if "\r" in joined else joined

    def _keep(self, text: str) -> None:
        first, rest = text[: self._head_room], text[self._head_room :]
        if first:
            self._head.append(first)
            self._head_room -= len(first)
        if rest:
            self._tail.append(rest)
            self._tail_room -= len(rest)
        while self._tail_room < 0:
            oldest = self._tail.popleft()
            kept = oldest[-self._tail_room :]
            self.left_out += len(oldest) - len(kept)
            self._tail_room += len(oldest) - len(kept)
            if kept:
                self._tail.appendleft(kept)


def _in_the_end(line: str) -> str:
    """What is left of a line after its carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2]
