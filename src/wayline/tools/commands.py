"""A command as a process: in a session of its own, under a watchdog, ended whole whatever happens."""

import os
import secrets
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from wayline.tools import watchdog

#: seconds a command that is out of time has to end by itself
GRACE = 2.0
#: seconds that what a command left running may go on printing after the command ended
LINGER = 0.5
#: seconds that the end of killed processes is waited for
PATIENCE = 2.0

CHUNK = 64 * 1024


class NotStarted(Exception):
    """The system would not start a command; the message says why."""


class Command:
    """A command that runs; made by `started`."""

    def __init__(self, process: Process, mark: str, output: int) -> None:
        self._process = process
        self._mark = mark
        self._output = output
        self._killed = False

    async def follow(self, take: Callable[[bytes], None], limit: float) -> bool:
        """Give what it prints to `take` until it ends; False when it did not within `limit` seconds."""
        with anyio.move_on_after(limit):
            await self._to_its_end(take)
            return True
        watchdog.send(signal.SIGTERM, self._members())
        with anyio.move_on_after(GRACE):
            await self._to_its_end(take)
        return False

    async def kill(self) -> int:
        """Kill all that is left of it, and wait for that; how many processes there were beside it.

        Only the first time: after that the number of its session may be another's.
        """
        if self._killed:
            return 0
        killed: set[int] = set()
        for _ in range(watchdog.LOOKS):
            signalled = watchdog.send(signal.SIGKILL, self._members())
            killed |= signalled
            if not signalled or (self.status is not None and len(killed) == 1):
                break  # at the end of most commands there is the watchdog and nothing else
            await anyio.sleep(watchdog.PAUSE)
        await self._process.wait()
        self._killed = True
        the_watchdog = 1
        return max(len(killed - {self._process.pid}) - the_watchdog, 0)

    @property
    def status(self) -> int | None:
        """Its exit code, negative for a signal that ended it; None while it runs."""
        return self._process.returncode

    def _members(self) -> frozenset[int]:
        return watchdog.members(self._process.pid, self._mark)

    async def _to_its_end(self, take: Callable[[bytes], None]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, take)
            await self._process.wait()
            # Something it left in the background may hold the output open for ever.
            tasks.cancel_scope.deadline = anyio.current_time() + LINGER

    async def _read(self, take: Callable[[bytes], None]) -> None:
        while True:
            await anyio.wait_readable(self._output)
            raw = os.read(self._output, CHUNK)
            if not raw:
                return
            take(raw)


@asynccontextmanager
async def started(command: str, folder: Path, environ: Mapping[str, str]) -> AsyncGenerator[Command, None]:
    """Run `command` with bash (sh where there is none) in `folder`, without input.

    Whatever way the block is left, nothing of the command runs any more, or `PATIENCE` is over. Raises
    `NotStarted`.
    """
    mark = secrets.token_hex(16)
    alive_here, alive = os.pipe()
    output, output_there = os.pipe()
    try:
        try:
            process = await anyio.open_process(
                _guarded(command),
                stdin=alive_here,
                stdout=output_there,
                stderr=output_there,
                cwd=folder,
                env={**environ, watchdog.MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(error.strerror or str(error)) from error
        finally:
            os.close(alive_here)
            os.close(output_there)
        running = Command(process, mark, output)
        try:
            yield running
        finally:
            with anyio.move_on_after(PATIENCE, shield=True):
                await running.kill()
    finally:
        os.close(output)
        os.close(alive)


def _guarded(command: str) -> list[str]:
    shell = shutil.which("bash") or "/bin/sh"
    return ["/bin/sh", "-c", watchdog.LAUNCH, "sh", sys.executable, watchdog.__file__, shell, command]
