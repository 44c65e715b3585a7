"""`read`: a page of a text file with line numbers, or an image."""

import base64
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from pydantic import Field

from wayline.log.content import Image, Text
from wayline.permissions.modes import Access
from wayline.tools.base import Arguments, Card, Failed, Location, Presentation, ToolOutput, ToolRun
from wayline.tools.disk import content_of, sha256
from wayline.tools.paths import PathArgument, absolute, explained, permitted, resolved, shown
from wayline.tools.presentation import text_cards
from wayline.tools.results import MAX_BYTES, MAX_LINES, size
from wayline.tools.text_files import Binary, decode, image_type, lines_of

#: characters of one line
WIDTH = 2_000
#: bytes of an image
IMAGE_SIZE = 5 * 1024 * 1024


class ReadArguments(Arguments):
    """What to read; lines count from 1."""

    file_path: PathArgument
    offset: Annotated[int | None, Field(ge=1, description="First line, from 1")] = None
    limit: Annotated[int | None, Field(ge=1, description="How many lines")] = None


class ReadTool:
    """Shows a file to the model, which may then change it."""

    name = "read"
    description = (
        "Read a file: numbered lines, at most 2,000 or 50 KB a call (go on with offset), or an image. "
        "Relative paths start at the workspace. Read a file before you change it."
    )
    arguments = ReadArguments
    timeout = 60.0

    def access(self, arguments: ReadArguments, run: ToolRun) -> Access:
        """Reads one file; one that a result was spilled to may lie anywhere."""
        path = resolved(arguments.file_path, run.workspace)
        spilled = path.is_relative_to(run.spilled.resolve())
        return Access("read", (path,), f"read {path}", trusted=spilled)

    def parallel_safe(self, arguments: ReadArguments) -> bool:
        """Reading disturbs nobody."""
        return True

    def present_call(self, arguments: ReadArguments, workspace: Path) -> Presentation:
        """`Read src/a.py (from line 10)`, at that line."""
        path = absolute(arguments.file_path, workspace)
        title = f"Read {shown(path, workspace)}"
        if arguments.offset is None:
            return Presentation(title, "read", (Location(str(path)),))
        line = arguments.offset
        return Presentation(f"{title} (from line {line})", "read", (Location(str(path), line - 1),))

    def present_result(
        self, arguments: ReadArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """What was read."""
        return text_cards(output)

    async def run(self, arguments: ReadArguments, run: ToolRun) -> ToolOutput:
        """Read and show."""
        return await anyio.to_thread.run_sync(_read, arguments, run)


def _read(arguments: ReadArguments, run: ToolRun) -> ToolOutput:
    path = permitted(run)
    with explained(path, run.workspace):
        raw = content_of(path, run.workspace)
    name = shown(path, run.workspace)
    seen = {"seen": {str(path): sha256(raw)}}
    if kind := image_type(raw):
        return ToolOutput(_image(name, kind, raw), meta=seen)
    try:
        text = decode(raw).text
    except Binary as binary:
        raise Failed(f"{name} is not text: it is {binary}.") from None
    return ToolOutput((Text(page(name, text, arguments.offset or 1, arguments.limit)),), meta=seen)


def _image(name: str, kind: str, raw: bytes) -> tuple[Text, Image]:
    if len(raw) > IMAGE_SIZE:
        raise Failed(
            f"{name} is {kind} of {len(raw)} bytes; an image may have {IMAGE_SIZE}: make it smaller."
        )
    caption = Text(f"{name}: {kind}, {len(raw)} bytes")
    return caption, Image(data=base64.b64encode(raw).decode(), mime_type=kind)


def page(name: str, text: str, offset: int, limit: int | None) -> str:
    """The lines from number `offset` on, numbered, as many as fit, and a note when there are more."""
    lines = lines_of(text)
    if not lines:
        return f"({name} is empty)"
    if offset > len(lines):
        raise Failed(f"{name} has only {len(lines)} lines: offset {offset} is past its end.")
    chosen = lines[offset - 1 : offset - 1 + min(limit or MAX_LINES, MAX_LINES)]
    shown_lines: list[str] = []
    room = MAX_BYTES
    for number, line in enumerate(chosen, offset):
        numbered = f"{number:>6}\t{_narrow(line)}\n"
        room -= size(numbered)
        if room < 0:
            break
        shown_lines.append(numbered)
    last = offset - 1 + len(shown_lines)
    note = (
        "" if last == len(lines) else f"(lines {offset}-{last} of {len(lines)}; go on with offset {last + 1})"
    )
    return "".join(shown_lines) + note


def _narrow(line: str) -> str:
    over = len(line) - WIDTH
    return line if over <= 0 else f"{line[:WIDTH]} [{over} more characters in this line]"
