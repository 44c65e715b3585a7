"""The wire over this process's own stdin and stdout.

The two are claimed first: the wire works on duplicates, fd 0 reads nothing and fd 1 is stderr from
then on, so that a print in a tool, a plugin or a C library cannot break a conversation, and no child
inherits the wire.
"""

import logging
import os

import anyio
import anyio.to_thread

from wayline.wire.transport import MAX_LINE, TooLong

logger = logging.getLogger(__name__)

_READ_SIZE = 256 * 1024
#: `drain` waits while more than this is queued.
_HIGH_WATER = 256 * 1024


def claim() -> tuple[int, int]:
    """Take stdin and stdout for the wire; returns their duplicates, which children do not inherit."""
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire_in, wire_out


class StdioTransport:
    """Lines over two file descriptors: pipes, sockets, terminals or files.

    `write_on` must run beside it: it sends what `send` could not send at once.
    """

    def __init__(self, wire_in: int, wire_out: int, max_line: int = MAX_LINE) -> None:
        self._in = wire_in
        self._out = wire_out
        self._max_line = max_line
        self._buffer = bytearray()
        self._searched = 0
        self._pollable = True
        self._queue = bytearray()
        self._queued = anyio.Event()
        self._sent = anyio.Event()
        self.peer_gone = anyio.Event()
        os.set_blocking(wire_out, False)

    def release(self) -> None:
        """Give stdout back as it was found: it may be a terminal that others go on using."""
        os.set_blocking(self._out, True)

    async def receive(self) -> bytes | None:
        while True:
            if (line := self._next_line()) is not None:
                return line
            if len(self._buffer) > self._max_line:
                await self._skip_line()
                raise TooLong
            data = await self._read()
            if not data:
                return self._rest()
            self._buffer += data

    def _next_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        with memoryview(self._buffer) as view:
            line = bytes(view[:end]) if end <= self._max_line else None
        del self._buffer[: end + 1]
        self._searched = 0
        if line is None:
            raise TooLong
        return line.removesuffix(b"\r")

    def _rest(self) -> bytes | None:
        """The last line, when the peer closed its side without ending it; None when there is none."""
        line = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return line or None

    async def _skip_line(self) -> None:
        """Read up to the end of a line that is too long, keeping nothing of it."""
        while (end := self._buffer.find(b"\n")) < 0:
            self._buffer.clear()
            data = await self._read()
            if not data:
                break
            self._buffer += data
        del self._buffer[: end + 1]
        self._searched = 0

    async def _read(self) -> bytes:
        """What there is to read; empty at the end, which a peer that broke off has reached too."""
        while self._pollable:
            try:
                await anyio.wait_readable(self._in)
            except PermissionError:
                # epoll refuses plain files, which are always ready.
                self._pollable = False
                break
            try:
                return os.read(self._in, _READ_SIZE)
            except BlockingIOError:
                continue
            except OSError as error:
                logger.warning("the wire cannot be read any more: %s", error)
                return b""
        return await anyio.to_thread.run_sync(os.read, self._in, _READ_SIZE, abandon_on_cancel=True)

    def send(self, data: bytes) -> None:
        if self.peer_gone.is_set():
            return
        if not self._queue:
            data = data[self._write(data) :]
        if data:
            self._queue += data
            self._queued.set()

    def _write(self, data: bytes | bytearray) -> int:
        """How many bytes could be written without waiting."""
        try:
            return os.write(self._out, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            logger.info("the wire cannot be written any more: %s", error)
            self._queue.clear()
            self.peer_gone.set()
            return len(data)

    async def write_on(self) -> None:
        """Send what is queued, as fast as the peer takes it; until cancelled."""
        while True:
            await self._queued.wait()
            self._queued = anyio.Event()
            while self._queue:
                await anyio.wait_writable(self._out)
                del self._queue[: self._write(self._queue[:_READ_SIZE])]
                self._sent.set()
                self._sent = anyio.Event()

    async def drain(self) -> None:
        await self._wait_below(_HIGH_WATER)

    async def flush(self) -> None:
        await self._wait_below(0)

    async def _wait_below(self, size: int) -> None:
        while len(self._queue) > size:
            await self._sent.wait()
