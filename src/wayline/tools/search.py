"""`glob` and `grep`: files by name, and lines by what they say."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from wayline.log.content import Text
from wayline.permissions.modes import Access
from wayline.tools import matcher
from wayline.tools.base import (
    Arguments,
    Card,
    Failed,
    InvalidArguments,
    Location,
    PluginContext,
    Presentation,
    ToolOutput,
    ToolRun,
)
from wayline.tools.globs import Glob
from wayline.tools.line_process import ProgramFailed, run_lines
from wayline.tools.listing import RIPGREP_FILES, Missed, files_below, gathered, relative, ripgrep, run_ripgrep
from wayline.tools.matches import Matches
from wayline.tools.paths import PathArgument, absolute, explained, missing, permitted, resolved, shown
from wayline.tools.presentation import bounded, text_cards

name = "search"
inject: tuple[str, ...] = ()

#: paths that one glob shows
MOST_PATHS = 500
#: matching lines that one grep shows, unless told otherwise
MOST_MATCHES = 100
#: bytes of paths that one ripgrep is given
COMMAND_LINE = 100_000

PathOption = Annotated[PathArgument | None, Field(description="Where, else the workspace")]


class GlobArguments(Arguments):
    """A pattern for paths."""

    pattern: Annotated[str, Field(min_length=1)]
    path: PathOption = None


class GrepArguments(Arguments):
    """A pattern for lines."""

    pattern: Annotated[str, Field(min_length=1, description="Regular expression")]
    path: PathOption = None
    glob: Annotated[str | None, Field(description="Only files that fit: *.py, or all but these: !*.py")] = (
        None
    )
    ignore_case: bool = False
    context: Annotated[int, Field(ge=0, le=20, description="Lines around each match")] = 0
    max_results: Annotated[int, Field(ge=1, le=1000)] = MOST_MATCHES


def _access(tool: str, path: str | None, run: ToolRun) -> Access:
    """Reads below one place."""
    root = resolved(path or ".", run.workspace)
    spilled = root.is_relative_to(run.spilled.resolve())
    return Access("read", (root,), f"{tool} {root}", trusted=spilled)


def _presented(verb: str, pattern: str, path: str | None, workspace: Path) -> Presentation:
    if path is None:
        return Presentation(f"{verb} {bounded(pattern)}", "search")
    root = absolute(path, workspace)
    return Presentation(
        f"{verb} {bounded(pattern)} in {shown(root, workspace)}", "search", (Location(str(root)),)
    )


def _wanted(pattern: str, root: Path) -> Glob:
    mark = "!" if pattern.startswith("!") else ""
    try:
        return Glob(mark + pattern.removeprefix(mark).removeprefix(f"{root}/"))
    except ValueError as error:
        raise InvalidArguments(str(error)) from error


async def _fitting(files: Sequence[Path], pattern: Glob, root: Path) -> list[Path]:
    return await gathered(files, lambda path: pattern.fits(PurePosixPath(relative(path, root))))


class GlobTool:
    """Finds files by their paths."""

    name = "glob"
    description = (
        "List files whose path fits a glob such as src/**/*.py; a pattern without / fits names at any depth. "
        "Ignored files (.gitignore) are left out."
    )
    arguments = GlobArguments
    timeout = 60.0

    def access(self, arguments: GlobArguments, run: ToolRun) -> Access:
        """Reads names below one folder."""
        return _access("glob", arguments.path, run)

    def parallel_safe(self, arguments: GlobArguments) -> bool:
        """Reading disturbs nobody."""
        return True

    def present_call(self, arguments: GlobArguments, workspace: Path) -> Presentation:
        """`Find *.py in src`."""
        return _presented("Find", arguments.pattern, arguments.path, workspace)

    def present_result(
        self, arguments: GlobArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """The paths."""
        return text_cards(output)

    async def run(self, arguments: GlobArguments, run: ToolRun) -> ToolOutput:
        """Look for them."""
        root = permitted(run)
        pattern = _wanted(arguments.pattern, root)
        _searchable(root, run.workspace)
        missed = Missed()
        found = await _fitting(await files_below(root, missed), pattern, root)
        lines = [shown(path, run.workspace) for path in found[:MOST_PATHS]] or ["No files fit."]
        if len(found) > MOST_PATHS:
            lines.append(f"(the first {MOST_PATHS} of {len(found)}; narrow the pattern for others)")
        return ToolOutput((Text("\n".join([*lines, *missed.notes()])),))


class GrepTool:
    """Finds lines by a regular expression."""

    name = "grep"
    description = (
        "Search file contents by lines, in a folder or a file. Ignored (.gitignore) and binary files are "
        "left out. Shows line numbers."
    )
    arguments = GrepArguments
    timeout = 60.0

    def access(self, arguments: GrepArguments, run: ToolRun) -> Access:
        """Reads files below one place."""
        return _access("grep", arguments.path, run)

    def parallel_safe(self, arguments: GrepArguments) -> bool:
        """Reading disturbs nobody."""
        return True

    def present_call(self, arguments: GrepArguments, workspace: Path) -> Presentation:
        """`Search def main in src`."""
        return _presented("Search", arguments.pattern, arguments.path, workspace)

    def present_result(
        self, arguments: GrepArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """The lines."""
        return text_cards(output)

    async def run(self, arguments: GrepArguments, run: ToolRun) -> ToolOutput:
        """Look for them, with ripgrep when it is there."""
        root = permitted(run)
        _searchable(root, run.workspace)
        only = _wanted(arguments.glob, root) if arguments.glob else None
        matches = Matches(arguments.max_results, shown=lambda path: shown(path, run.workspace))
        search = _with_ripgrep if ripgrep() else _with_python
        missed = Missed()
        try:
            await search(arguments, root, only, matches, missed)
        except ProgramFailed as failure:
            if failure.status == 2:
                raise InvalidArguments(f"The pattern was refused: {failure}") from failure
            raise Failed(f"The search ended early, with status {failure.status}. {failure}") from failure
        return ToolOutput((Text("\n".join([matches.text(), *missed.notes()])),))


async def _with_ripgrep(
    arguments: GrepArguments, root: Path, only: Glob | None, matches: Matches, missed: Missed
) -> None:
    """With a glob, ripgrep is given the files that fit: its own `--glob` would let in what git ignores."""
    program = ripgrep() or "rg"
    options = ["--json", "--sort=path", "--no-mmap", f"--context={arguments.context}", *RIPGREP_FILES]
    if arguments.ignore_case:
        options.append("--ignore-case")
    argv = [program, *options, "--regexp", arguments.pattern]
    if only is None:
        await run_ripgrep([*argv, str(root)], matches.take, missed)
        return
    files = await files_below(root, missed)
    # Nothing to search still shows whether ripgrep takes the pattern.
    for some in _command_lines(await _fitting(files, only, root) or [Path(os.devnull)]):
        await run_ripgrep([*argv, *some], matches.take, missed)
        if not matches.complete:
            return


def _command_lines(files: Sequence[Path]) -> Iterator[list[str]]:
    """The paths, as many at once as surely fit on a command line."""
    some: list[str] = []
    room = COMMAND_LINE
    for path in map(str, files):
        size = len(os.fsencode(path)) + 1
        if size > room and some:
            yield some
            some, room = [], COMMAND_LINE
        some.append(path)
        room -= size
    yield some


async def _with_python(
    arguments: GrepArguments, root: Path, only: Glob | None, matches: Matches, missed: Missed
) -> None:
    files = await files_below(root, missed)
    if only is not None:
        files = await _fitting(files, only, root)
    case = "i" if arguments.ignore_case else "-"
    program = [sys.executable, "-I", "-S", matcher.__file__]
    status = await run_lines(
        [*program, arguments.pattern, case, str(arguments.context)],
        matches.take,
        given=b"\0".join(os.fsencode(path) for path in files),
        good=(0, matcher.UNREAD),
    )
    missed.unread |= status == matcher.UNREAD


def _searchable(root: Path, workspace: Path) -> None:
    """Raises `Failed` for what is not there, or is neither a folder nor a regular file: a pipe or a device
    has no end."""
    with explained(root, workspace):
        if not root.exists():
            raise missing(root, workspace)
        if not (root.is_dir() or root.is_file()):
            raise Failed(f"{shown(root, workspace)} is neither a folder nor a regular file.")


def apply(ctx: PluginContext, config: Mapping[str, Any]) -> None:
    """Offer the searches; they have no settings."""
    ctx.tool(GlobTool())
    ctx.tool(GrepTool())
