"""`bash`: a command in the foreground."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import anyio
from pydantic import Field

from wayline.log.content import Text
from wayline.permissions.modes import Access
from wayline.tools.base import (
    Arguments,
    Card,
    Failed,
    PluginContext,
    Presentation,
    TerminalCard,
    TextCard,
    TimedOut,
    ToolOutput,
    ToolRun,
)
from wayline.tools.commands import Command, NotStarted, started
from wayline.tools.environment import UNATTENDED, scrub
from wayline.tools.paths import PathArgument, permitted, resolved, shown
from wayline.tools.presentation import bounded, plain_text, shown_whole, whole_text
from wayline.tools.terminal_text import TerminalText

name = "shell"
inject: tuple[str, ...] = ()

#: seconds
DEFAULT_LIMIT = 120
LONGEST_LIMIT = 600
#: seconds between two reports of new output, and characters that one call reports at most; the log keeps
#: 64 KB of a call's progress, so that the note about the rest is still among it
REPORT_EVERY = 0.1
REPORTED = 60 * 1024
#: characters of a description, or a folder, on a card
DESCRIPTION_LENGTH = 400


class BashArguments(Arguments):
    """A command line and how to run it."""

    command: Annotated[str, Field(min_length=1)]
    description: Annotated[str | None, Field(description="What it is for, in a few words")] = None
    timeout: Annotated[
        int | None, Field(ge=1, le=LONGEST_LIMIT, description=f"Seconds, else {DEFAULT_LIMIT}")
    ] = None
    workdir: Annotated[PathArgument | None, Field(description="Else the workspace")] = None


class BashTool:
    """Runs a command line.

    A command that ran is no error, whatever its exit code: many codes are answers (`grep`, `diff`,
    `test`), so the code is in the text and in `meta`. An error is what did not run, or not to its end.
    """

    name = "bash"
    description = (
        "Run a command line with bash: no input, stdout and stderr together. Each call starts afresh in "
        "workdir, and what it leaves in the background ends with it. Prefer read, edit, glob and grep for "
        "files."
    )
    arguments = BashArguments
    timeout = None

    def access(self, arguments: BashArguments, run: ToolRun) -> Access:
        """Runs in one folder. An answer holds for this very command line in this very folder, and for the one
        call when the person cannot be shown all of it."""
        folder = resolved(arguments.workdir or ".", run.workspace)
        # The quoted folder and the colon make the two forms unlike, whatever the command is.
        where = "" if folder == run.workspace else f" in {json.dumps(str(folder))}"
        grant = f"bash{where}: {arguments.command}" if shown_whole(arguments.command) else ""
        return Access("run", (folder,), grant)

    def parallel_safe(self, arguments: BashArguments) -> bool:
        """It may change anything."""
        return False

    def present_call(self, arguments: BashArguments, workspace: Path) -> Presentation:
        """The command line over a terminal."""
        return Presentation(
            bounded(arguments.command), "execute", cards=(*_asked_for(arguments), TerminalCard())
        )

    def present_result(
        self, arguments: BashArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """What it printed."""
        return (*_asked_for(arguments), TerminalCard(plain_text(output)))

    async def run(self, arguments: BashArguments, run: ToolRun) -> ToolOutput:
        """Run it to its end or its limit."""
        folder = permitted(run)
        if not folder.is_dir():
            raise Failed(f"workdir {shown(folder, run.workspace)} is not a folder.")
        if "\0" in arguments.command:
            raise Failed("A command line cannot hold a NUL character.")
        limit = arguments.timeout or DEFAULT_LIMIT
        printed = _Printed(run.report)
        try:
            async with started(arguments.command, folder, scrub(run.environ) | UNATTENDED) as command:
                in_time = await _watched(command, printed, limit)
                status = command.status
                left_over = await command.kill()
        except NotStarted as error:
            raise Failed(
                f"The command could not be started: {error}. One that is too long can be run from a file."
            ) from error
        return _output(printed.output.text(), status if in_time else None, limit, left_over)


def _asked_for(arguments: BashArguments) -> Iterator[Card]:
    """What the title does not say of the call. The command stands whole, however it is described."""
    if arguments.description:
        yield TextCard(bounded(arguments.description, DESCRIPTION_LENGTH))
    if arguments.workdir:
        yield TextCard(f"In {bounded(arguments.workdir, DESCRIPTION_LENGTH)}")
    if bounded(arguments.command) != arguments.command:
        yield whole_text(arguments.command, "command")


@dataclass
class _Printed:
    """What a command printed so far, and how much of it was reported."""

    report: Callable[[str], None]
    output: TerminalText = field(default_factory=TerminalText)
    _news: list[str] = field(default_factory=list)
    _room: int = REPORTED

    def take(self, raw: bytes, *, final: bool = False) -> None:
        """Keep more bytes."""
        text = self.output.feed(raw, final=final)
        if not text or self._room <= 0:
            return
        self._news.append(text[: self._room])
        self._room -= len(text)
        if self._room <= 0:
            self._news.append("\n[more output follows; it is in the result]\n")

    def tell(self) -> None:
        """Report what is new."""
        if self._news:
            self.report("".join(self._news))
            self._news.clear()


async def _watched(command: Command, printed: _Printed, limit: float) -> bool:
    """Follow the command and report what it prints as it comes; whether it ended in time."""

    async def tell() -> None:
        while True:
            await anyio.sleep(REPORT_EVERY)
            printed.tell()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        in_time = await command.follow(printed.take, limit)
        tasks.cancel_scope.cancel()
    printed.take(b"", final=True)
    printed.tell()
    return in_time


def _output(text: str, status: int | None, limit: int, left_over: int) -> ToolOutput:
    """The result; `status` None for a command that was out of time."""
    notes = []
    if left_over and status is not None:
        notes.append(f"[{left_over} processes it left in the background were stopped]")
    meta: dict[str, Any] = {"changed": True, "exitCode": status}
    if status is None:
        notes.append(f"[stopped: it took longer than {limit} s; set timeout, at most {LONGEST_LIMIT}]")
    elif status < 0:
        signal_name = signal.Signals(-status).name
        meta |= {"exitCode": None, "signal": signal_name}
        notes.append(f"[ended by {signal_name}]")
    elif status > 0:
        notes.append(f"[exit code {status}]")
    whole = "\n".join([*([text.rstrip("\n")] if text.strip() else []), *notes]) or "(no output)"
    if status is None:
        return ToolOutput(
            (Text(whole),), is_error=True, error_name=TimedOut.__name__, error_code=TimedOut.code, meta=meta
        )
    return ToolOutput((Text(whole),), meta=meta)


def apply(ctx: PluginContext, config: Mapping[str, Any]) -> None:
    """Offer `bash`; it has no settings."""
    ctx.tool(BashTool())
