"""What a call gave and how it is shown: plain data, light enough for those who only show it.

Nothing here imports pydantic, which an editor's first session must not wait for.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from wayline.log.content import Image, Text

#: ACP's tool kinds
ToolKind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]


class ToolOutput(msgspec.Struct, frozen=True):
    """What a call gave.

    `meta` is kept with the result in the log. Keys in use: `changed` (bool, it changed something),
    `diffs` (list of `{path, oldText, newText}`, `oldText` null for a new file, only the changed hunks
    when files are large), `seen` (`{absolute path: sha256 of its bytes}`, files whose content the
    model now knows), `exitCode` (int or null), `signal` (string).
    """

    content: tuple[Text | Image, ...]
    is_error: bool = False
    error_name: str | None = None
    error_code: str | None = None
    meta: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Location(msgspec.Struct, frozen=True):
    """A place in a file; `line` is 0-based, as editors use it."""

    path: str
    line: int | None = None


class DiffCard(msgspec.Struct, frozen=True):
    """A change of one file; `old` is None for a new one."""

    path: str
    old: str | None
    new: str


class TextCard(msgspec.Struct, frozen=True):
    """Text in Markdown."""

    text: str


class TerminalCard(msgspec.Struct, frozen=True):
    """Output of a command, as plain text; it grows by `tool/progress` while the command runs."""

    text: str = ""


Card = DiffCard | TextCard | TerminalCard


class Presentation(msgspec.Struct, frozen=True):
    """How a call is shown: what an editor's tool card needs."""

    title: str
    kind: ToolKind = "other"
    locations: tuple[Location, ...] = ()
    cards: tuple[Card, ...] = ()


class Presenter(Protocol):
    """Whoever knows how the calls of each tool are shown. Both answer for any name and arguments."""

    def present_call(self, name: str, arguments: str, workspace: Path) -> Presentation:
        """How a call is shown before its result."""

    def present_result(
        self, name: str, arguments: str, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """The cards of the finished call, in place of those of the call."""
