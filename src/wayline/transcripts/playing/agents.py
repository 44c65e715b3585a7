"""The agent at the other end of a transcript: the seam, and a process of any command.

AgentGone     what was to be sent had nobody to take it
NotStarted    the command could not be started
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
import anyio.abc
import msgspec

from wayline.transcripts.playing.places import Place

#: seconds that an agent has to end after its stdin was closed, when no step waits for that
GRACE = 2.0
#: characters of stderr that are kept: the end of it
KEPT = 64 * 1024


class AgentGone(Exception):
    """What was to be sent had nobody to take it."""


class NotStarted(Exception):
    """The agent could not be started; the message says why."""


class RunningAgent(Protocol):
    """One run of an agent."""

    async def send(self, line: bytes) -> None:
        """Write one line. Raises `AgentGone`."""

    async def receive(self) -> bytes | None:
        """The next line without its newline; None when its stdout ended. One caller."""

    async def eof(self) -> None:
        """Close its stdin."""

    async def kill(self) -> None:
        """End it at once, without a chance to clean up."""

    async def ended(self) -> None:
        """Wait until it is gone."""

    @property
    def stderr(self) -> str:
        """What it said to people so far."""


class Agents(Protocol):
    """Starts the agent of a transcript, once and again after `restart` and `kill`."""

    def start(self, place: Place) -> AbstractAsyncContextManager[RunningAgent]:
        """Run it on this place until the block is left. Raises `NotStarted`."""


class Commands(msgspec.Struct, frozen=True):
    """Agents that are processes of `command`, with what the place adds to its arguments and environment."""

    command: Sequence[str]
    environ: Mapping[str, str]

    @asynccontextmanager
    async def start(self, place: Place) -> AsyncIterator[RunningAgent]:
        """See `Agents`."""
        command = [*self.command, *place.arguments]
        try:
            process = await anyio.open_process(
                command,
                env={**self.environ, **place.environ},
                cwd=place.workspace,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(f"{command[0]}: {error.strerror or error}") from None
        async with process, anyio.create_task_group() as tasks:
            agent = AgentProcess(process)
            tasks.start_soon(agent.read_stderr)
            try:
                yield agent
                await agent.eof()
                with anyio.move_on_after(GRACE):
                    await process.wait()
            finally:
                agent.kill_all()
                tasks.cancel_scope.cancel()


class AgentProcess:
    """An agent in a process that leads a session of its own."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._buffer = bytearray()
        self._said = ""

    async def send(self, line: bytes) -> None:
        """See `RunningAgent`."""
        try:
            await self._stdin.send(line + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise AgentGone from None

    async def receive(self) -> bytes | None:
        """See `RunningAgent`. A last line that was not ended is a line too."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            try:
                self._buffer += await self._stdout.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest or None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    async def eof(self) -> None:
        """See `RunningAgent`."""
        await self._stdin.aclose()

    async def kill(self) -> None:
        """See `RunningAgent`. Only the agent itself is killed: that its tools end is its own affair."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def ended(self) -> None:
        """See `RunningAgent`."""
        await self._process.wait()

    @property
    def stderr(self) -> str:
        """See `RunningAgent`."""
        return self._said

    async def read_stderr(self) -> None:
        """Keep the end of what it says to people."""
        async for data in self._stderr:
            self._said = (self._said + data.decode(errors="replace"))[-KEPT:]

    def kill_all(self) -> None:
        """Kill what is left of its process group: a wrapper's child may go on without it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def wayline_acp() -> list[str]:
    """This very program as a command: the one beside the interpreter, else by the module's name."""
    command = Path(sys.executable).with_name("wayline")
    return [str(command), "acp"] if command.exists() else [sys.executable, "-m", "wayline", "acp"]
