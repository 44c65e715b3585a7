"""Lines over real pipes, sockets and files, with the other end in the test's own hands."""

import fcntl
import os
import socket
import struct
import termios
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import anyio
import anyio.lowlevel
import pytest

from tests.wire.conftest import PATIENCE, Serving
from wayline.wire.stdio import StdioTransport
from wayline.wire.transport import MAX_LINE, TooLong

pytestmark = pytest.mark.anyio

MB = 1024 * 1024
#: of the two ends of a pipe
MODES = ("rb", "wb")


class Ends:
    """Two pipes: `write` feeds what the transport receives, `read` gives what it sent."""

    def __init__(self, stack: ExitStack, max_line: int = MAX_LINE) -> None:
        ends = [
            os.fdopen(fd, mode, 0)
            for pipe in (os.pipe(), os.pipe())
            for fd, mode in zip(pipe, MODES, strict=True)
        ]
        for end in ends:
            stack.callback(end.close)
        self._at_us, self.write, self.read, self._to_them = ends
        self.transport = StdioTransport(self._at_us.fileno(), self._to_them.fileno(), max_line)

    def untaken(self) -> int:
        """How many bytes the transport has not read yet."""
        (count,) = struct.unpack("i", fcntl.ioctl(self._at_us, termios.FIONREAD, bytes(4)))
        return int(count)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def ends(stack: ExitStack) -> Ends:
    return Ends(stack)


@pytest.fixture
def nothing() -> Iterator[IO[Any]]:
    with Path(os.devnull).open("r+b") as file:
        yield file


async def lines_of(transport: StdioTransport) -> list[bytes]:
    """All lines until the end; `TOO LONG` for one that was."""
    lines: list[bytes] = []
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                line = await transport.receive()
            except TooLong:
                line = b"TOO LONG"
            if line is None:
                return lines
            lines.append(line)


async def feed(end: IO[Any], data: bytes) -> None:
    """Write all of it in a thread, as another process would, and close."""

    def write() -> None:
        with end:
            view = memoryview(data)
            while view:
                view = view[end.write(view) :]

    await anyio.to_thread.run_sync(write)


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        (b"", []),
        (b"one\n", [b"one"]),
        (b"one\ntwo\n\nthree\n", [b"one", b"two", b"", b"three"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"a\rb\r\r\n", [b"a\rb\r"]),
        (b"one\nlast without an end", [b"one", b"last without an end"]),
        (b"\xff\x00\n", [b"\xff\x00"]),
    ],
)
async def test_lines_come_without_their_ends(ends: Ends, sent: bytes, lines: list[bytes]):
    await feed(ends.write, sent)
    assert await lines_of(ends.transport) == lines


async def test_a_line_that_comes_byte_by_byte_is_one_line(ends: Ends):
    lines: list[bytes] = []

    async def read() -> None:
        lines.extend(await lines_of(ends.transport))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        with anyio.fail_after(PATIENCE):
            for byte in b"one\r\ntwo\n":
                ends.write.write(bytes([byte]))
                while ends.untaken():
                    await anyio.lowlevel.checkpoint()
        ends.write.close()
    assert lines == [b"one", b"two"]


async def test_five_megabytes_are_a_line_like_any_other(ends: Ends):
    line = b"x" * (5 * MB)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed, ends.write, line + b"\nnext\n")
        assert await lines_of(ends.transport) == [line, b"next"]


@pytest.mark.parametrize("size", [1000, 1001, 300 * 1024, 2 * MB])
@pytest.mark.parametrize("in_one_write", [True, False])
async def test_a_line_over_the_limit_is_skipped_and_the_next_one_read(
    stack: ExitStack, size: int, in_one_write: bool
):
    ends = Ends(stack, max_line=1000)
    expected = b"x" * size if size <= 1000 else b"TOO LONG"
    async with anyio.create_task_group() as tasks:
        if in_one_write:
            tasks.start_soon(feed, ends.write, b"before\n" + b"x" * size + b"\nafter\n")
            assert await lines_of(ends.transport) == [b"before", expected, b"after"]
        else:
            tasks.start_soon(feed, ends.write, b"x" * size)
            assert await lines_of(ends.transport) == [expected]


async def test_a_line_of_seventy_megabytes_is_refused_and_the_connection_lives_on(
    serving: Serving, link: "object"
):
    async with serving() as peer:
        peer.say(
            b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": "' + b"x" * (70 * MB) + b'"}}'
        )
        error = await peer.error()
        assert (error["id"], error["code"]) == (None, -32600)
        assert error["data"]["details"] == f"the line is longer than {MAX_LINE} bytes"
        await peer.lives()


async def test_stdin_may_be_a_file(stack: ExitStack, tmp_path: Path):
    path = tmp_path / "requests"
    path.write_bytes(b"one\n" + b"x" * MB + b"\nlast")
    source = stack.enter_context(path.open("rb"))
    sink = stack.enter_context((tmp_path / "answers").open("wb"))
    transport = StdioTransport(source.fileno(), sink.fileno())
    assert await lines_of(transport) == [b"one", b"x" * MB, b"last"]


async def test_stdin_may_be_nothing(nothing: IO[Any]):
    assert await lines_of(StdioTransport(nothing.fileno(), nothing.fileno())) == []


async def test_stdout_may_be_a_file(nothing: IO[Any], tmp_path: Path):
    with (tmp_path / "answers").open("wb") as sink:
        transport = StdioTransport(nothing.fileno(), sink.fileno())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.write_on)
            transport.send(b"x" * MB + b"\n")
            transport.send(b"two\n")
            await transport.flush()
            tasks.cancel_scope.cancel()
    assert (tmp_path / "answers").read_bytes() == b"x" * MB + b"\ntwo\n"


async def test_nothing_is_lost_or_waited_for_when_nobody_reads(ends: Ends):
    """50 MB go out while nobody reads: the event loop turns, `drain` waits, and the order stays."""
    sent = b"".join(b"%d " % n + b"x" * 50_000 + b"\n" for n in range(1000))
    drained = anyio.Event()

    async def drain() -> None:
        await ends.transport.drain()
        drained.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ends.transport.write_on)
        for line in sent.splitlines(keepends=True):
            ends.transport.send(line)
            await anyio.lowlevel.checkpoint()
        tasks.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()
        with anyio.fail_after(PATIENCE):
            received = await anyio.to_thread.run_sync(_read_all, ends.read, len(sent))
            await drained.wait()
            await ends.transport.flush()
        tasks.cancel_scope.cancel()
    assert received == sent


def _read_all(end: IO[Any], size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        parts.append(end.read(MB))
        size -= len(parts[-1])
    return b"".join(parts)


async def test_what_is_sent_does_not_overtake_what_is_queued(ends: Ends):
    sent = b"x" * MB + b"\n"
    ends.transport.send(sent)
    taken = ends.read.read(MB)
    ends.transport.send(b"two\n")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ends.transport.write_on)
        with anyio.fail_after(PATIENCE):
            rest = await anyio.to_thread.run_sync(_read_all, ends.read, len(sent) + 4 - len(taken))
        tasks.cancel_scope.cancel()
    assert taken + rest == sent + b"two\n"


async def test_what_the_peer_takes_at_once_is_with_it_at_once(ends: Ends):
    ends.transport.send(b"one\n")
    assert ends.read.read(100) == b"one\n"
    await ends.transport.drain()
    await ends.transport.flush()


async def test_a_closed_reader_is_noticed_and_nothing_raises(ends: Ends):
    ends.read.close()
    ends.transport.send(b"one\n")
    assert ends.transport.peer_gone.is_set()
    ends.transport.send(b"two\n")
    with anyio.fail_after(PATIENCE):
        await ends.transport.drain()
        await ends.transport.flush()


async def test_a_reader_that_closes_while_much_is_queued_is_noticed_and_nobody_waits_for_it(ends: Ends):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ends.transport.write_on)
        ends.transport.send(b"x" * (5 * MB) + b"\n")
        tasks.start_soon(ends.transport.drain)
        tasks.start_soon(ends.transport.flush)
        await anyio.wait_all_tasks_blocked()
        ends.read.close()
        with anyio.fail_after(PATIENCE):
            await ends.transport.peer_gone.wait()
            await ends.transport.flush()
            await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
async def test_a_full_disk_under_stdout_is_a_peer_that_has_gone(nothing: IO[Any]):
    with Path("/dev/full").open("wb", 0) as full:
        transport = StdioTransport(nothing.fileno(), full.fileno())
        transport.send(b"one\n")
    assert transport.peer_gone.is_set()


async def test_a_peer_that_breaks_off_is_at_its_end(stack: ExitStack):
    ours, theirs = socket.socketpair()
    stack.callback(ours.close)
    transport = StdioTransport(ours.fileno(), ours.fileno())
    transport.send(b"never read\n")
    theirs.send(b"one\n")
    # Closing with unread data resets the connection.
    theirs.close()
    assert await lines_of(transport) == [b"one"]


async def test_what_another_reader_took_is_not_waited_for_in_a_system_call(stack: ExitStack):
    """Two readers of one stdin that does not block: one wakes for nothing, and goes on."""
    ours, theirs = socket.socketpair()
    stack.callback(ours.close)
    other = stack.enter_context(ours.dup())
    ours.setblocking(False)
    lines: list[bytes] = []
    came, ended = anyio.Event(), anyio.Event()

    async def read(end: socket.socket) -> None:
        transport = StdioTransport(end.fileno(), end.fileno())
        while (line := await transport.receive()) is not None:
            lines.append(line)
            came.set()
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, ours)
        tasks.start_soon(read, other)
        await anyio.wait_all_tasks_blocked()
        theirs.send(b"one\n")
        with anyio.fail_after(PATIENCE):
            await came.wait()
        await anyio.wait_all_tasks_blocked()
        assert not ended.is_set()
        theirs.close()
    assert lines == [b"one"]


async def test_stdout_is_given_back_as_it_was(ends: Ends):
    assert not os.get_blocking(ends._to_them.fileno())
    ends.transport.release()
    assert os.get_blocking(ends._to_them.fileno())
