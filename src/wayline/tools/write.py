"""`write` and `edit`: the two ways to change a file."""

from pathlib import Path
from typing import Annotated

import anyio.from_thread
import anyio.to_thread
from pydantic import Field

from wayline.log.content import Text
from wayline.permissions.modes import Access
from wayline.tools.base import Arguments, Card, DiffCard, Failed, Location, Presentation, ToolOutput, ToolRun
from wayline.tools.diffs import diffs
from wayline.tools.disk import content_if_any, content_of, known, put, sha256
from wayline.tools.edits import edited
from wayline.tools.paths import PathArgument, absolute, explained, permitted, resolved, shown
from wayline.tools.presentation import diff_cards, text_cards
from wayline.tools.text_files import Binary, TextFile, decode


class WriteArguments(Arguments):
    """A whole file."""

    file_path: PathArgument
    content: str


class EditArguments(Arguments):
    """One string in place of another."""

    file_path: PathArgument
    old_string: str
    new_string: str
    replace_all: Annotated[bool, Field(description="Replace every occurrence")] = False


class WriteTool:
    """Makes a file, or replaces all of one."""

    name = "write"
    description = (
        "Write a whole file; folders are made. An existing file must have been read before and keeps its "
        "encoding and line ends. To change parts of a file use edit."
    )
    arguments = WriteArguments
    timeout = 60.0

    def access(self, arguments: WriteArguments, run: ToolRun) -> Access:
        """Changes one file."""
        path = resolved(arguments.file_path, run.workspace)
        return Access("write", (path,), f"write {path}")

    def parallel_safe(self, arguments: WriteArguments) -> bool:
        """It changes files."""
        return False

    def present_call(self, arguments: WriteArguments, workspace: Path) -> Presentation:
        """The new content."""
        path = absolute(arguments.file_path, workspace)
        card = DiffCard(str(path), None, arguments.content)
        return Presentation(f"Write {shown(path, workspace)}", "edit", (Location(str(path)),), (card,))

    def present_result(
        self, arguments: WriteArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """What changed."""
        return diff_cards(output) or text_cards(output)

    async def run(self, arguments: WriteArguments, run: ToolRun) -> ToolOutput:
        """Write it."""
        return await anyio.to_thread.run_sync(_write, arguments, run)


class EditTool:
    """Changes a part of a file."""

    name = "edit"
    description = (
        "Replace old_string by new_string in a file that was read before. old_string is matched exactly, "
        "with its indentation and without the line numbers of read, and must be unique unless replace_all."
    )
    arguments = EditArguments
    timeout = 60.0

    def access(self, arguments: EditArguments, run: ToolRun) -> Access:
        """Changes one file."""
        path = resolved(arguments.file_path, run.workspace)
        return Access("write", (path,), f"edit {path}")

    def parallel_safe(self, arguments: EditArguments) -> bool:
        """It changes files."""
        return False

    def present_call(self, arguments: EditArguments, workspace: Path) -> Presentation:
        """The two strings as a diff."""
        path = absolute(arguments.file_path, workspace)
        card = DiffCard(str(path), arguments.old_string, arguments.new_string)
        return Presentation(f"Edit {shown(path, workspace)}", "edit", (Location(str(path)),), (card,))

    def present_result(
        self, arguments: EditArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """What changed."""
        return diff_cards(output) or text_cards(output)

    async def run(self, arguments: EditArguments, run: ToolRun) -> ToolOutput:
        """Edit it."""
        return await anyio.to_thread.run_sync(_edit, arguments, run)


def _write(arguments: WriteArguments, run: ToolRun) -> ToolOutput:
    path = permitted(run)
    name = shown(path, run.workspace)
    with explained(path, run.workspace):
        before = content_if_any(path, run.workspace)
        if before is None:
            raw = arguments.content.encode()
            put(path, raw)
            return _changed(f"Created {name}.", path, None, arguments.content, raw)
        known(path, before, run)
        file = _text(name, before)
        text = file.ended(arguments.content)
        return _replaced(f"Wrote {name}", path, file, before, text)


def _edit(arguments: EditArguments, run: ToolRun) -> ToolOutput:
    path = permitted(run)
    name = shown(path, run.workspace)
    with explained(path, run.workspace):
        before = content_of(path, run.workspace)
        known(path, before, run)
        file = _text(name, before)
        edit = edited(
            file,
            arguments.old_string,
            arguments.new_string,
            replace_all=arguments.replace_all,
            go_on=anyio.from_thread.check_cancelled,
        )
        places = f" at line {', '.join(map(str, edit.lines))}" if edit.lines else ""
        return _replaced(f"Edited {name}{places}", path, file, before, edit.text)


def _text(name: str, raw: bytes) -> TextFile:
    try:
        return decode(raw)
    except Binary as binary:
        raise Failed(f"{name} is not text: it is {binary}. Change it with a command instead.") from None


def _replaced(done: str, path: Path, file: TextFile, before: bytes, text: str) -> ToolOutput:
    """The file with `text` in place of what it held; untouched when that is the same."""
    raw = file.encode(text)
    if raw == before:
        meta = {"changed": False, "seen": {str(path): sha256(raw)}}
        return ToolOutput((Text(f"{done}: it held exactly this already, so nothing changed."),), meta=meta)
    anyio.from_thread.check_cancelled()
    put(path, raw)
    note = "" if file.can_say(text) else " It is UTF-8 now: Latin-1 cannot say the new text."
    return _changed(f"{done}.{note}", path, file.text, text, raw)


def _changed(done: str, path: Path, old: str | None, new: str, raw: bytes) -> ToolOutput:
    meta = {"changed": True, "diffs": diffs(str(path), old, new), "seen": {str(path): sha256(raw)}}
    return ToolOutput((Text(done),), meta=meta)
