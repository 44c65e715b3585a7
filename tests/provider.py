"""A provider of the chat-completions dialect on loopback: real HTTP/1.1, answering as a test says.

    async with provider([stream(text("hi"), finish(), done())]) as p:   # p.url, p.requests
    with provider_thread([...]) as p:                                   # faces an agent process
    python -m tests.provider --port 0 --chunks 5000 --size 20 --delay 0 # as fast as it can, until killed

Each request takes the next answer. One request too many is answered with 400, and leaving the block then
raises `AssertionError`. Every event is one HTTP chunk and one write, since real providers flush each.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

#: seconds any single wait may take
PATIENCE = 20.0


class Signal:
    """An event that is set once, in any thread, and waited for in any event loop."""

    def __init__(self) -> None:
        self._future: Future[None] = Future()

    def set(self) -> None:
        """Let everybody go on who waits."""
        if not self._future.done():
            self._future.set_result(None)

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._future.done()

    async def wait(self, patience: float = PATIENCE) -> None:
        """Wait for it; raises `TimeoutError`."""
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._future)), patience)


@dataclass(frozen=True)
class Gate:
    """A pause in an answer: `reached` is set by the server when it comes to it, `opened` by the test."""

    reached: Signal = field(default_factory=Signal)
    opened: Signal = field(default_factory=Signal)


#: A `dict` is an event as JSON, a `str` the data of an event, `bytes` go out as they are; `cut` closes
#: the connection in mid-answer, `reset` does it so that the client gets an error at once.
Part = dict[str, Any] | str | bytes | Gate | Literal["cut", "reset"]
CUT: Literal["cut"] = "cut"
RESET: Literal["reset"] = "reset"


@dataclass(frozen=True)
class Answer:
    """One answer; with `body` it is sent whole, else its parts are streamed."""

    parts: Sequence[Part] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Request:
    """A request as it came; `body` is its JSON, `raw` its bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes


def delta(**members: Any) -> dict[str, Any]:
    """An event with a delta of these members."""
    return {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": members, "finish_reason": None}],
    }


def text(piece: str) -> dict[str, Any]:
    """An event with a piece of text."""
    return delta(content=piece)


def reasoning(piece: str) -> dict[str, Any]:
    """An event with a piece of reasoning."""
    return delta(content=None, reasoning_content=piece)


def tool_call(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    """An event with a fragment of a tool call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    fragment = {
        "index": index,
        "id": call_id,
        "type": "function" if call_id else None,
        "function": {member: value for member, value in function.items() if value is not None},
    }
    return delta(tool_calls=[{member: value for member, value in fragment.items() if value is not None}])


def finish(reason: str = "stop", **counts: Any) -> dict[str, Any]:
    """The event that says why the model stopped; some servers send the usage with it."""
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": reason}
    return {"id": "c-1", "choices": [choice], **({"usage": counts} if counts else {})}


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """The trailing event without choices."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **more}
    return {"id": "c-1", "choices": [], "usage": counts}


def done() -> str:
    """The data of the last event."""
    return "[DONE]"


def stream(*parts: Part, **headers: str) -> Answer:
    """A streamed answer of these parts."""
    return Answer(parts, headers=_named(headers))


def says(*pieces: str) -> Answer:
    """A whole answer of text in these pieces, with usage."""
    return stream(*map(text, pieces), finish(), usage(10, 2), done())


def whole(value: Any, status: int = 200, **headers: str) -> Answer:
    """An answer that is JSON, or bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Answer(status=status, headers={"content-type": "application/json", **_named(headers)}, body=body)


def failure(status: int, words: str, **headers: str) -> Answer:
    """An error as providers send it: `retry_after="2"`, or an HTTP date."""
    return whole({"error": {"message": words, "type": "some_error", "code": None}}, status, **headers)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def event(part: dict[str, Any] | str | bytes) -> bytes:
    """One event as one HTTP chunk."""
    if not isinstance(part, bytes):
        part = b"data: %s\n\n" % (part if isinstance(part, str) else json.dumps(part)).encode()
    return b"%x\r\n%s\r\n" % (len(part), part)


class Provider:
    """A running server. `hung_up` is set when a client closed its connection in mid-answer."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.connections = 0
        self.hung_up = Signal()
        self._answers = list(answers)
        self._faults: list[str] = []
        self._conversations: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection. Its task is ours, since asyncio complains when its own are cancelled."""
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._conversations.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._conversations.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._faults.append(repr(error))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _receive(reader)) is not None:
                self.requests.append(request)
                if not await self._send(reader, writer, self._next_answer()):
                    break
        except ConnectionError:
            self.hung_up.set()
        finally:
            writer.close()

    def _next_answer(self) -> Answer:
        number = len(self.requests)
        if number > len(self._answers):
            self._faults.append(f"{len(self._answers)} answers were given and {number} asked for")
            return failure(400, self._faults[-1])
        return self._answers[number - 1]

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        """Send an answer; whether the connection can go on."""
        if answer.body is not None:
            writer.write(_head(answer, f"content-length: {len(answer.body)}") + answer.body)
            await writer.drain()
            return True
        writer.write(_head(answer, "transfer-encoding: chunked"))
        for part in answer.parts:
            if part in (CUT, RESET):
                if part == RESET:
                    writer.transport.abort()
                return False
            if isinstance(part, Gate):
                part.reached.set()
                await _wait(part.opened, reader)
            else:
                writer.write(event(part))
                await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def close(self) -> None:
        """Hang up on everybody."""
        conversations = list(self._conversations)
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    def check(self) -> None:
        """Raise `AssertionError` when something went wrong here: one request too many, a fault."""
        assert not self._faults, self._faults


async def _receive(reader: asyncio.StreamReader) -> Request | None:
    """The next request; None when the client closed the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, json.loads(raw) if raw else None, raw)


def _head(answer: Answer, framing: str) -> bytes:
    headers = {"content-type": "text/event-stream", **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} Status", framing, *(f"{name}: {headers[name]}" for name in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _wait(opened: Signal, reader: asyncio.StreamReader) -> None:
    """Wait at a gate, and notice meanwhile when the client hangs up."""
    gate = asyncio.ensure_future(opened.wait())
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({gate, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise ConnectionResetError("the client hung up")
        gate.result()
    finally:
        gate.cancel()
        gone.cancel()
        await asyncio.gather(gate, gone, return_exceptions=True)


@asynccontextmanager
async def provider(answers: Sequence[Answer]) -> AsyncIterator[Provider]:
    """A server with these answers, one a request, in the event loop that runs."""
    running = Provider(answers)
    server = await asyncio.start_server(running.connected, "127.0.0.1", 0)
    running.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield running
    finally:
        server.close()
        await running.close()
    running.check()


@contextmanager
def provider_thread(answers: Sequence[Answer]) -> Iterator[Provider]:
    """The same in a thread of its own, for tests that drive a process."""
    started: Future[Provider] = Future()
    stop = Signal()

    async def serve() -> None:
        async with provider(answers) as running:
            started.set_result(running)
            await stop.wait(3600)

    with ThreadPoolExecutor(1, "provider") as thread:
        served = thread.submit(asyncio.run, serve())
        try:
            yield started.result(PATIENCE)
        except BaseException:
            stop.set()
            with suppress(AssertionError):
                served.result(PATIENCE)
            raise
        stop.set()
        served.result(PATIENCE)


async def flood(port: int, chunks: int, size: int, delay: float) -> None:
    """Answer every request with `chunks` events of `size` characters, `delay` seconds apart."""
    words = ("twenty characters ok " * (size // 20 + 1))[:size]
    piece = event(text(words))
    end = event(finish()) + event(usage(1000, chunks)) + event(done()) + b"0\r\n\r\n"

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)
        with suppress(ConnectionError):
            while await _receive(reader) is not None:
                writer.write(_head(Answer(), "transfer-encoding: chunked"))
                for _ in range(chunks):
                    writer.write(piece)
                    await (asyncio.sleep(delay) if delay else writer.drain())
                writer.write(end)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


def main() -> None:
    """Serve until killed; the port is printed first."""
    parser = argparse.ArgumentParser(prog="python -m tests.provider")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.0)
    chosen = parser.parse_args()
    asyncio.run(flood(chosen.port, chosen.chunks, chosen.size, chosen.delay))


if __name__ == "__main__":
    main()
