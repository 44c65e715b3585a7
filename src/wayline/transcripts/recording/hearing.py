"""From lines to messages: who asked what, who answered which question. Pure.

What is no JSON-RPC message is kept as a line of the client's, and as a mark of the agent's.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from wayline.transcripts.format import REQUESTS, Frame, PeerError
from wayline.transcripts.recording.tape import Tapped

#: how deep JSON may be nested to be looked at
DEEPEST = 100


class Request(msgspec.Struct, frozen=True):
    """What the client asks for. `number` counts requests from 1."""

    number: int
    name: str
    method: str
    params: Any
    at: float = 0.0

    @property
    def session(self) -> str:
        """The session it is about; empty for none."""
        return _session(self.params)


class Notice(msgspec.Struct, frozen=True):
    """What the client says and wants no answer to. `withdraws` is the request that it takes back."""

    method: str
    params: Any
    withdraws: str | None = None
    at: float = 0.0

    @property
    def session(self) -> str:
        """The session it is about; empty for none."""
        return _session(self.params)


class Raw(msgspec.Struct, frozen=True):
    """A line of the client's that is no message, or is one that a transcript cannot say otherwise."""

    line: str
    at: float = 0.0


class Came(msgspec.Struct, frozen=True):
    """A message of the agent's; `number` is its place among all messages. `request` is what it answers."""

    number: int
    frame: Frame
    request: Request | None = None
    at: float = 0.0

    @property
    def session(self) -> str:
        """The session it is about; empty for none."""
        return _session(self.frame.get("params")) if self.request is None else self.request.session

    @property
    def is_question(self) -> bool:
        """Whether the agent waits for an answer."""
        return "method" in self.frame and "id" in self.frame

    @property
    def update(self) -> dict[str, Any]:
        """The update that it brings; empty for other messages."""
        params = self.frame.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if self.frame.get("method") == "session/update" and isinstance(update, dict) else {}

    @property
    def kind(self) -> str:
        """The kind of the update; empty for other messages."""
        return str(self.update.get("sessionUpdate", ""))

    @property
    def call(self) -> str | None:
        """The tool call it is about."""
        params = self.frame.get("params")
        asked = params.get("toolCall") if isinstance(params, dict) and self.is_question else None
        about = asked if isinstance(asked, dict) else self.update
        call = about.get("toolCallId")
        return call if isinstance(call, str) else None


class Reply(msgspec.Struct, frozen=True):
    """What the client answers to a question."""

    question: Came
    result: Any
    at: float = 0.0


class Refusal(msgspec.Struct, frozen=True):
    """The error that the client answers to a question."""

    question: Came
    error: PeerError
    at: float = 0.0


class Garbage(msgspec.Struct, frozen=True):
    """A line of the agent's that is no message."""


Said = Request | Notice | Raw | Reply | Refusal
Item = Said | Came | Garbage


def hear(tapped: Iterable[Tapped]) -> Iterator[Item]:
    """The messages of a conversation, in order."""
    hearing = _Hearing()
    for line in tapped:
        hearing.at = line.time
        item = hearing.client(line.line) if line.side == "client" else hearing.agent(line.line)
        if item is not None:
            yield item


class _Hearing:
    """What must be remembered: the requests and questions that wait, and the names taken."""

    def __init__(self) -> None:
        self._requests: dict[Any, Request] = {}
        self._questions: dict[Any, Came] = {}
        self._names: set[str] = set()
        self._numbers = 0
        self._came = 0
        #: the time of the line that is heard
        self.at = 0.0

    def client(self, line: bytes) -> Item:
        frame = _frame(line)
        said = None if frame is None else self._said(frame)
        return Raw(line.decode("utf-8", "surrogateescape"), self.at) if said is None else said

    def _said(self, frame: Frame) -> Said | None:
        """The message; None for one that only its line can stand for."""
        if "method" not in frame:
            return self._reply(frame)
        method, params = frame["method"], frame.get("params", msgspec.UNSET)
        if not isinstance(method, str):
            return None
        if "id" not in frame:
            return None if method in REQUESTS else self._notice(method, params)
        if not _is_id(frame["id"]):
            return None
        self._numbers += 1
        request = Request(self._numbers, self._name(method), method, params, self.at)
        self._requests[_key(frame["id"])] = request
        return request

    def _reply(self, frame: Frame) -> Said | None:
        question = self._questions.pop(_key(frame.get("id")), None)
        if question is None:
            return None
        if "result" in frame:
            return Reply(question, frame["result"], self.at)
        try:
            error = msgspec.convert(_known_members(frame.get("error")), PeerError)
            return Refusal(question, error, self.at)
        except msgspec.ValidationError:
            return None

    def _name(self, method: str) -> str:
        last = "".join(char if char.isalnum() else "_" for char in method.rpartition("/")[2]) or "request"
        base = "init" if method == "initialize" else last
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}{number}"
        self._names.add(name)
        return name

    def _notice(self, method: str, params: Any) -> Notice:
        if method != "$/cancel_request" or not isinstance(params, dict):
            return Notice(method, params, at=self.at)
        request = self._requests.get(_key(params.get("requestId")))
        if request is None:
            return Notice(method, params, at=self.at)
        # A request is withdrawn by its id, and a runner counts its requests from 1.
        return Notice(method, {**params, "requestId": request.number}, request.name, self.at)

    def agent(self, line: bytes) -> Item | None:
        frame = _frame(line)
        if frame is None or not ("method" in frame or "result" in frame or "error" in frame):
            return Garbage()
        self._came += 1
        if "method" not in frame:
            key = _key(frame.get("id"))
            request = self._requests.pop(key, None)
            if request is None and frame.get("id") is not None:
                return None  # an answer to nothing that a transcript names
            return Came(self._came, frame, request, self.at)
        came = Came(self._came, frame, at=self.at)
        if came.is_question:
            self._questions[_key(frame["id"])] = came
        return came


def _frame(line: bytes) -> Frame | None:
    """A JSON-RPC object; None for anything else."""
    try:
        frame = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    fine = isinstance(frame, dict) and frame.get("jsonrpc") == "2.0" and not _too_deep(frame)
    return frame if fine else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number that nobody can repeat")
    return number


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _key(value: Any) -> tuple[Literal["s", "n", "-"], Any]:
    """An id as a key: `"1"` is another than `1`."""
    if isinstance(value, str):
        return ("s", value)
    return ("n", value) if _is_id(value) else ("-", None)


def _known_members(error: Any) -> Any:
    if not isinstance(error, dict):
        return error
    return {name: error[name] for name in ("code", "message", "data") if name in error}


def _session(params: Any) -> str:
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else ""
