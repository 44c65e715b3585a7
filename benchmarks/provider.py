"""A provider that streams as fast as it can: one event a chunk and a write, as real ones flush.

`python -m benchmarks.provider CHUNKS SECONDS` prints its port. A request whose text names `warm-up` gets
20 chunks at once, any other CHUNKS of 20 characters spread over SECONDS.
"""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
WARM_UP = 20


def event(data: bytes) -> bytes:
    """One server-sent event as one HTTP chunk."""
    line = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(line), line)


DELTA = event(
    b'{"id":"c","object":"chat.completion.chunk",'
    b'"choices":[{"index":0,"delta":{"content":"twenty characters ok"}}]}'
)
END = (
    event(
        b'{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":1000,"completion_tokens":500}}'
    )
    + event(b"[DONE]")
    + b"0\r\n\r\n"
)


def requests(connection: socket.socket) -> Iterator[bytes]:
    """The bodies of the requests of one connection."""
    with connection.makefile("rb") as stream:
        while stream.readline():
            length = 0
            while (header := stream.readline()) not in (b"\r\n", b""):
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            yield stream.read(length)


def answer(connection: socket.socket, chunks: int, seconds: float) -> None:
    """Answer the requests of one connection, until the agent at its other end is killed."""
    with contextlib.suppress(ConnectionError):
        _answer(connection, chunks, seconds)


def _answer(connection: socket.socket, chunks: int, seconds: float) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for body in requests(connection):
        warm = b"warm-up" in body.rpartition(b'"role":"user"')[2]
        connection.sendall(HEAD)
        begun = time.perf_counter()
        count = WARM_UP if warm else chunks
        for number in range(count):
            if seconds and not warm:
                time.sleep(max(0.0, begun + seconds * number / count - time.perf_counter()))
            connection.sendall(DELTA)
        connection.sendall(END)


def main() -> None:
    """Serve until killed."""
    chunks, seconds = int(sys.argv[1]), float(sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection, chunks, seconds), daemon=True).start()


if __name__ == "__main__":
    main()
