"""A connection and its peer, over every kind of wire."""

import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest

from wayline.wire.jsonrpc import Connection, Handler, Listener
from wayline.wire.stdio import StdioTransport
from wayline.wire.transport import MemoryTransport

#: seconds any single wait may take
PATIENCE = 20.0

Frame = dict[str, Any]
AnyTransport = StdioTransport | MemoryTransport


class Link:
    """Two ends of a wire; `hang_up` closes what goes from theirs to ours."""

    def __init__(self, ours: AnyTransport, theirs: AnyTransport, hang_up: Callable[[], None]) -> None:
        self.ours = ours
        self.theirs = theirs
        self.hang_up = hang_up


def over_memory(stack: ExitStack) -> Link:
    to_us, at_us = anyio.create_memory_object_stream[bytes](8)
    to_them, at_them = anyio.create_memory_object_stream[bytes](8)
    for stream in (to_us, at_us, to_them, at_them):
        stack.callback(stream.close)
    return Link(MemoryTransport(at_us, to_them), MemoryTransport(at_them, to_us), to_us.close)


def over_pipes(stack: ExitStack) -> Link:
    at_us, to_us = map(os.fdopen, os.pipe(), ("rb", "wb"))
    at_them, to_them = map(os.fdopen, os.pipe(), ("rb", "wb"))
    for end in (at_us, to_us, at_them, to_them):
        stack.callback(end.close)
    ours = StdioTransport(at_us.fileno(), to_them.fileno())
    return Link(ours, StdioTransport(at_them.fileno(), to_us.fileno()), to_us.close)


def over_sockets(stack: ExitStack) -> Link:
    a, b = socket.socketpair()
    stack.callback(a.close)
    stack.callback(b.close)
    ours, theirs = StdioTransport(a.fileno(), a.fileno()), StdioTransport(b.fileno(), b.fileno())
    return Link(ours, theirs, lambda: b.shutdown(socket.SHUT_WR))


class Peer:
    """Who is at the other end of a connection."""

    def __init__(self, connection: Connection, link: Link) -> None:
        self.connection = connection
        self.hang_up = link.hang_up
        self._transport = link.theirs

    def say(self, message: bytes | Frame) -> None:
        """Send a line: bytes as they are, or a message."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._transport.send(line + b"\n")

    def ask(self, method: str, params: Any = None, request_id: Any = 1) -> None:
        """Send a request."""
        self.say({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def hear(self) -> Frame:
        """The next message."""
        with anyio.fail_after(PATIENCE):
            line = await self._transport.receive()
        assert line is not None, "the wire ended"
        frame: Frame = json.loads(line)
        assert frame["jsonrpc"] == "2.0"
        return frame

    async def error(self) -> Frame:
        """The error of the next message, with the id it answers."""
        frame = await self.hear()
        assert set(frame) == {"jsonrpc", "id", "error"}, frame
        return {"id": frame["id"], **frame["error"]}

    async def lives(self) -> None:
        """Fail unless the next request is answered, and by the very next message."""
        self.ask("echo", {"still": "here"}, "alive")
        assert await self.hear() == {"jsonrpc": "2.0", "id": "alive", "result": {"still": "here"}}


async def echo(request: Any) -> object:
    return request.decode(dict)


Serving = Callable[..., AbstractAsyncContextManager[Peer]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=[over_memory, over_pipes, over_sockets])
def link(request: pytest.FixtureRequest, anyio_backend: str) -> Iterator[Link]:
    with ExitStack() as stack:
        yield request.param(stack)


@pytest.fixture
def serving(link: Link) -> Serving:
    """Serves these handlers beside `echo`, and gives the peer; ends when the peer hangs up."""

    @asynccontextmanager
    async def serve(
        handlers: Mapping[str, Handler] | None = None,
        listeners: Mapping[str, Listener] | None = None,
        closing: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[Peer]:
        connection = Connection(link.ours)
        served = anyio.Event()

        async def run() -> None:
            await connection.serve({"echo": echo, **(handlers or {})}, listeners or {}, closing)
            served.set()

        async with anyio.create_task_group() as tasks:
            for transport in (link.ours, link.theirs):
                tasks.start_soon(transport.write_on)
            tasks.start_soon(run)
            yield Peer(connection, link)
            link.hang_up()
            with anyio.fail_after(PATIENCE):
                await served.wait()
            tasks.cancel_scope.cancel()

    return serve
