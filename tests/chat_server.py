"""A provider on loopback that speaks the chat-completions dialect over real HTTP, as a script says.

It runs in a thread of its own, so that it can face an agent process as well as an adapter in the test.
"""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Payload = dict[str, Any] | str | bytes


@dataclass
class Answer:
    """One answer: a stream of events, or a plain body.

    A `dict` among the events is sent as JSON, a `str` as the data it is, `bytes` as they are. `wait` is
    waited for before the event of number `wait_before`. `cut` closes the connection without an end.
    """

    events: Sequence[Payload] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: bool = False
    wait: threading.Event | None = None
    wait_before: int = 0


@dataclass
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Any


def delta(**members: Any) -> dict[str, Any]:
    """An event with a delta."""
    return {"choices": [{"index": 0, "delta": members}]}


def finish(reason: str, **usage: Any) -> dict[str, Any]:
    """The event with the finish reason, and usage when given."""
    event: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return {**event, "usage": usage} if usage else event


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    """An event with a fragment of a tool call; members that are None are left out."""
    fragment: dict[str, Any] = {"type": "function", "function": {}}
    if index is not None:
        fragment["index"] = index
    if call_id is not None:
        fragment["id"] = call_id
    if name is not None:
        fragment["function"]["name"] = name
    if arguments is not None:
        fragment["function"]["arguments"] = arguments
    return delta(tool_calls=[fragment])


DONE = "[DONE]"


def text(*pieces: str) -> Answer:
    """An answer of text, in these pieces."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return Answer([*(delta(content=piece) for piece in pieces), finish("stop", **usage), DONE])


def failure(status: int, words: str, **headers: str) -> Answer:
    """An error with a body as providers send it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": words, "type": "some_error"}}).encode()
    return Answer(status=status, headers=named, body=body)


class ChatServer:
    """Answers one request after the other, whatever connection it comes by."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.requests: list[Received] = []
        #: set when a client hung up in the middle of an answer
        self.hung_up = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []

    def serve(self) -> None:
        """Take connections until closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Hang up on everybody."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            connection.close()

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while (received := _receive(stream)) is not None:
                    self.requests.append(received)
                    number = len(self.requests) - 1
                    answer = self._answers[number] if number < len(self._answers) else _too_many(number)
                    _send(connection, answer)
                    if answer.cut:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
        except (BrokenPipeError, ConnectionResetError, OSError):
            self.hung_up.set()


def _too_many(number: int) -> Answer:
    return failure(400, f"the test scripted {number} answers and was asked for one more")


def _receive(stream: Any) -> Received | None:
    line = stream.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := stream.readline().strip()) != b"":
        name, _, value = header.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Received(line.split()[1].decode(), headers, json.loads(body))


def _send(connection: socket.socket, answer: Answer) -> None:
    headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **answer.headers}
    if answer.body is not None:
        headers = {
            "content-type": "application/json",
            "content-length": str(len(answer.body)),
            **answer.headers,
        }
    head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
    connection.sendall(head.encode())
    if answer.body is not None:
        connection.sendall(answer.body)
        return
    for number, event in enumerate(answer.events):
        if answer.wait is not None and number == answer.wait_before:
            _wait(connection, answer.wait)
        data = _event(event)
        connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
    if not answer.cut:
        connection.sendall(b"0\r\n\r\n")


def _wait(connection: socket.socket, event: threading.Event) -> None:
    """Wait for the event, and notice meanwhile when the client hangs up."""
    connection.settimeout(0.02)
    while not event.is_set():
        try:
            if not connection.recv(1, socket.MSG_PEEK):
                raise BrokenPipeError
        except TimeoutError:
            continue
    connection.settimeout(None)


def _event(event: Payload) -> bytes:
    if isinstance(event, bytes):
        return event
    data = event if isinstance(event, str) else json.dumps(event)
    return b"data: " + data.encode() + b"\n\n"


@contextmanager
def chat_server(*answers: Answer) -> Iterator[ChatServer]:
    """A server with these answers, one a request."""
    server = ChatServer(answers)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(timeout=10)
