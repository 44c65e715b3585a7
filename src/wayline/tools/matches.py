"""Matches of a search: out of the JSON that a searching program prints, into the text a model reads."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: characters of a line, and how many of them come before the match in a longer one
WIDTH = 500
BEFORE = 200


class Matches:
    """Takes the events of `rg --json` and keeps `most` matching lines.

    A file counts when it is through, because only then it is known not to be binary.
    """

    def __init__(self, most: int, shown: Callable[[Path], str]) -> None:
        self._most = most
        self._shown = shown
        self._lines: list[str] = []
        self._pending: list[str] = []
        self._pending_matches = 0
        self._last_line = 0
        self._has_context = False
        self._over = False
        self.count = 0
        self.complete = True

    def take(self, line: bytes) -> bool:
        """Take one event; False when no more are needed."""
        if not line:
            return True
        event = json.loads(line)
        data = event["data"]
        match event["type"]:
            case "match" | "context" as kind:
                self._line(kind == "match", data)
            case "end":
                self._end(binary=data["binary_offset"] is not None)
        return self.complete

    def _line(self, matched: bool, data: dict[str, Any]) -> None:
        self._over = self._over or (matched and self.count + self._pending_matches == self._most)
        if self._over:
            return
        number = data["line_number"]
        if not self._pending:
            self._pending.append(self._shown(Path(_text(data["path"]))))
        elif number > self._last_line + 1 and self._last_line and self._has_context:
            self._pending.append("  --")
        self._last_line = number
        self._has_context = self._has_context or not matched
        self._pending_matches += matched
        text = _text(data["lines"]).rstrip("\r\n")
        start = data["submatches"][0]["start"] if matched else 0
        self._pending.append(f"{number:>5}{':' if matched else '-'} {narrow(text, start)}")

    def _end(self, *, binary: bool) -> None:
        if not binary and self._pending_matches:
            self._lines += self._pending
            self.count += self._pending_matches
        self.complete = binary or not self._over
        self._over = False
        self._pending = []
        self._pending_matches = 0
        self._last_line = 0

    def text(self) -> str:
        """The matches, grouped by file, with a note when there are more."""
        if not self._lines:
            return "No matches."
        if self.complete:
            return "\n".join(self._lines)
        note = f"(the first {self.count} matching lines; narrow the search for others)"
        return "\n".join([*self._lines, note])


def narrow(line: str, start: int) -> str:
    """At most `WIDTH` characters of a line, around byte `start` of it."""
    if len(line) <= WIDTH:
        return line
    first = max(len(line.encode()[:start].decode(errors="ignore")) - BEFORE, 0)
    first = min(first, len(line) - WIDTH)
    return ("…" if first else "") + line[first : first + WIDTH] + ("…" if first + WIDTH < len(line) else "")


def _text(value: dict[str, str]) -> str:
    """A text of `rg --json`, which sends what is not UTF-8 as Base64."""
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(errors="replace")
