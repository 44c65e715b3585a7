"""Wayline in this very process, over memory streams: a hundred transcripts a second."""

import json
import logging
import traceback
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from wayline import compose, settings
from wayline.chosen_models import UnusableModel
from wayline.homes import Homes
from wayline.log.store import LogFile, StorageError, Store
from wayline.transcripts.playing.agents import GRACE, AgentGone, NotStarted, RunningAgent
from wayline.transcripts.playing.places import Place
from wayline.wire.jsonrpc import Connection
from wayline.wire.transport import MAX_LINE, TooLong


class InProcess(msgspec.Struct, frozen=True):
    """Agents that are Wayline itself, without a process around it."""

    environ: Mapping[str, str]
    tools: dict[str, compose.Tools] = msgspec.field(default_factory=dict)

    @asynccontextmanager
    async def start(self, place: Place) -> AsyncIterator[RunningAgent]:
        """See `Agents`."""
        if place.arguments:
            raise NotStarted("meta.args is for commands: in process, use meta.model, mode, env and settings")
        logs = Logs()
        homes, environ = Homes(place.home, place.home), {**self.environ, **place.environ}
        try:
            chosen = settings.load(homes, environ)
            program = compose.Program(
                homes, chosen, environ, logs.open, self._tools(msgspec.to_builtins(chosen.plugins))
            )
        except (settings.SettingsError, UnusableModel) as error:
            raise NotStarted(str(error)) from None
        agent = Inside(logs)
        logging.getLogger("wayline").addHandler(_DIAGNOSTICS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.run, program)
            try:
                yield agent
                await agent.eof()
                with anyio.move_on_after(GRACE):
                    await agent.ended()
            finally:
                await agent.kill()

    def _tools(self, config: Mapping[str, Any]) -> compose.Tools:
        """The tools of these settings: making them takes longer than most conversations."""
        return self.tools.setdefault(json.dumps(config, sort_keys=True), compose.Tools(config))


class Logs:
    """The logs that one agent has open; dropped, they take nothing more, as if its process were dead."""

    def __init__(self) -> None:
        self.dropped = False
        self._files: list[LogFile] = []

    def open(self, path: Path, *, create: bool) -> Store:
        """See `wayline.sessions.registry.OpenLog`."""
        file = LogFile(path, create=create)
        self._files.append(file)
        return _Log(file, self)

    def drop(self) -> None:
        """From now on nothing is written, and whoever comes next may write."""
        self.dropped = True
        for file in self._files:
            file.close()


class _Log:
    """A log file that is written as long as its agent lives. Nothing outlives the run, so that a flush to
    the disk would only cost time: it is never dirty."""

    dirty = False

    def __init__(self, file: LogFile, logs: Logs) -> None:
        self._file = file
        self._logs = logs

    def read(self) -> bytes:
        return self._file.read()

    def append(self, line: bytes) -> None:
        self._check()
        self._file.append(line)

    def sync(self) -> None:
        self._check()

    def truncate(self, size: int) -> None:
        self._check()
        self._file.truncate(size)

    def close(self) -> None:
        self._file.close()

    def _check(self) -> None:
        if self._logs.dropped:
            raise StorageError("the agent was killed")


class _Diagnostics(logging.Handler):
    """Gives each agent its own records, where there are many in one process."""

    def emit(self, record: logging.LogRecord) -> None:
        records = _RECORDS.get()
        if records is not None:
            records.append(f"wayline: {record.levelname} {self.format(record)}\n")


_RECORDS: ContextVar[list[str] | None] = ContextVar("records", default=None)
_DIAGNOSTICS = _Diagnostics()


class Lines:
    """Lines on their way from one side to the other, as many as there are: both sides are here."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._news = anyio.Event()
        self.closed = False

    def put(self, lines: list[bytes]) -> None:
        """Add lines; after the end they are dropped."""
        if not self.closed:
            self._lines += lines
            self._news.set()

    def close(self) -> None:
        """There are no more."""
        self.closed = True
        self._news.set()

    async def take(self) -> bytes | None:
        """The next line; None at the end."""
        while not self._lines:
            if self.closed:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        return self._lines.popleft()


class _Transport:
    """The agent's side of two `Lines`: see `wayline.wire.transport.Transport`."""

    def __init__(self, incoming: Lines, outgoing: Lines) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> bytes | None:
        line = await self._incoming.take()
        if line is not None and len(line) > MAX_LINE:
            raise TooLong
        return line

    def send(self, data: bytes) -> None:
        self._outgoing.put(data.splitlines())

    async def drain(self) -> None:
        """The other side takes what there is, whenever it is its turn."""
        await anyio.lowlevel.checkpoint()

    async def flush(self) -> None:
        await anyio.lowlevel.checkpoint()


class Inside:
    """A running agent of this process."""

    def __init__(self, logs: "Logs") -> None:
        self._to_agent = Lines()
        self._from_agent = Lines()
        self._logs = logs
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._records: list[str] = []

    async def run(self, program: compose.Program) -> None:
        """Serve until the client has gone, or it is killed. A crash is told as a process would tell it."""
        _RECORDS.set(self._records)
        try:
            with self._scope:
                connection = Connection(_Transport(self._to_agent, self._from_agent))
                await compose.converse(connection, program)
        except Exception:  # noqa: BLE001 - whatever it is, it ends this agent and nothing else
            self._records.append(traceback.format_exc())
        finally:
            self._from_agent.close()
            self._ended.set()

    async def send(self, line: bytes) -> None:
        """See `RunningAgent`."""
        if self._ended.is_set() or self._to_agent.closed:
            raise AgentGone
        self._to_agent.put(line.split(b"\n"))

    async def receive(self) -> bytes | None:
        """See `RunningAgent`."""
        return await self._from_agent.take()

    async def eof(self) -> None:
        """See `RunningAgent`."""
        self._to_agent.close()

    async def kill(self) -> None:
        """Drop it: nothing more reaches a log, its tools end."""
        self._logs.drop()
        self._scope.cancel()
        self._to_agent.close()
        self._from_agent.close()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()

    async def ended(self) -> None:
        """See `RunningAgent`."""
        await self._ended.wait()

    @property
    def stderr(self) -> str:
        """See `RunningAgent`."""
        return "".join(self._records)
