"""How lines come and go: the seam between JSON-RPC and the bytes under it."""

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

    `drain` waits until the peer has taken what was sent, within the buffer of its stream.
    """

    def __init__(
        self, incoming: MemoryObjectReceiveStream[bytes], outgoing: MemoryObjectSendStream[bytes]
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._queue: list[bytes] = []
        self._sending = anyio.Lock()

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

    async def drain(self) -> None:
        await self.flush()

    async def flush(self) -> None:
        async with self._sending:
            while self._queue:
                try:
                    await self._outgoing.send(self._queue[0])
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    self._queue.clear()
                    return
                self._queue.pop(0)
