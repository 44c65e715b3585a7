"""How lines come and go: the seam between JSON-RPC and the bytes under it."""

from collections import deque
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

MAX_LINE = 64 * 1024 * 1024


class TooLong(Exception):
    """A line longer than the limit came in; it was skipped, and the next one can be read."""


class Transport(Protocol):
    """A duplex of lines. One reader; `send` may be called by many and keeps their order."""

    async def receive(self) -> bytes | None:
        """The next line without its newline; None at the end. Raises `TooLong`."""

    def send(self, data: bytes) -> None:
        """Queue whole lines. After the peer has gone, what is sent is dropped."""

    async def drain(self) -> None:
        """Wait while the peer is slow and much is queued."""

    async def flush(self) -> None:
        """Wait until all that was queued is with the peer, or the peer has gone."""


class MemoryTransport:
    """Lines over memory streams: the same server without a process around it.

    `write_on` must run beside it: it sends what the stream has no room for at once.
    """

    def __init__(
        self, incoming: MemoryObjectReceiveStream[bytes], outgoing: MemoryObjectSendStream[bytes]
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._queue: deque[bytes] = deque()
        self._queued = anyio.Event()
        self._sent = anyio.Event()

    async def receive(self) -> bytes | None:
        try:
            line = await self._incoming.receive()
        except anyio.EndOfStream:
            return None
        if len(line) > MAX_LINE:
            raise TooLong
        return line

    def send(self, data: bytes) -> None:
        self._queue += data.splitlines()
        self._queued.set()

    async def write_on(self) -> None:
        """Send what is queued, as fast as the peer takes it; until cancelled."""
        while True:
            await self._queued.wait()
            self._queued = anyio.Event()
            while self._queue:
                try:
                    await self._outgoing.send(self._queue[0])
                    self._queue.popleft()
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    self._queue.clear()
            self._sent.set()
            self._sent = anyio.Event()

    async def drain(self) -> None:
        await self.flush()

    async def flush(self) -> None:
        while self._queue:
            await self._sent.wait()
