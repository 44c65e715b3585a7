"""JSON-RPC 2.0 over lines: requests and answers, order, cancellation, limits.

A handler is called in the order of the messages, and gives an awaitable for what takes time: what it
does in the call itself (taking a place in a queue, say) no later message can overtake.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import anyio.abc
import msgspec

from wayline.wire.errors import (
    Disconnected,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    PeerError,
    RequestCancelled,
    RpcError,
)
from wayline.wire.transport import MAX_LINE, TooLong, Transport

logger = logging.getLogger(__name__)

RequestId = int | str | None
T = TypeVar("T")
_UNSET = msgspec.UNSET
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
#: any escape in a JSON string: a whole pair of surrogates, or one that stands alone, or another
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_PATH = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)


class _Frame(msgspec.Struct, frozen=True):
    """Any message; what it is depends on which members are there."""

    jsonrpc: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw | msgspec.UnsetType = _UNSET
    method: msgspec.Raw | msgspec.UnsetType = _UNSET
    params: msgspec.Raw | msgspec.UnsetType = _UNSET
    result: msgspec.Raw | msgspec.UnsetType = _UNSET
    error: msgspec.Raw | msgspec.UnsetType = _UNSET


class _PeerError(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


class _CancelRequest(msgspec.Struct, frozen=True, rename="camel"):
    request_id: int | str | None


_frames = msgspec.json.Decoder(_Frame)
_ids = msgspec.json.Decoder(RequestId)
_names = msgspec.json.Decoder(str)
_encode = msgspec.json.Encoder().encode


def decode_params(raw: bytes, kind: type[T]) -> T:
    """Parameters as typed data. Raises `InvalidParams` with the path and what was expected."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        match = _PATH.match(str(error))
        assert match is not None
        raise InvalidParams(match["what"], path=(match["path"] or "$").replace("$", "params", 1)) from None


class Request:
    """A request from the peer, until it is answered."""

    def __init__(self, request_id: RequestId, method: str, params: bytes) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        self.scope = anyio.CancelScope()
        #: what `$/cancel_request` does; a handler may put its own way of ending in place of it
        self.cancel: Callable[[], None] = self.scope.cancel
        self._afterwards: list[Callable[[], None]] = []

    def decode(self, kind: type[T]) -> T:
        """The parameters as typed data. Raises `InvalidParams`."""
        return decode_params(self.params, kind)

    def after_answer(self, action: Callable[[], None]) -> None:
        """Call `action` once the answer, whatever it is, was written."""
        self._afterwards.append(action)

    def answered(self) -> None:
        """The answer was written."""
        for action in self._afterwards:
            action()


Handler = Callable[[Request], Awaitable[object]]
Listener = Callable[[bytes], None]


class Connection:
    """One peer. `serve` takes its messages until it goes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._handlers: Mapping[str, Handler] = {}
        self._listeners: Mapping[str, Listener] = {}
        self._running: dict[RequestId, Request] = {}
        self._asked: dict[int, _Answer] = {}
        self._next_id = 1
        self._gone = False
        self._reading = anyio.CancelScope()

    async def serve(
        self,
        handlers: Mapping[str, Handler],
        listeners: Mapping[str, Listener],
        closing: Callable[[], None],
    ) -> None:
        """Answer requests by `handlers` and hear notifications by `listeners` until the peer closes its
        side or `stop` is called; then call `closing` and wait for the requests that still run."""
        self._handlers = handlers
        self._listeners = {**listeners, "$/cancel_request": self._cancel_request}
        async with anyio.create_task_group() as tasks:
            with self._reading:
                await self._read(tasks)
            self._gone = True
            for answer in self._asked.values():
                answer.arrive(Disconnected("the client has gone"))
            closing()

    def stop(self) -> None:
        """Take no more messages, as if the peer had closed its side."""
        self._reading.cancel()

    async def _read(self, tasks: anyio.abc.TaskGroup) -> None:
        while True:
            try:
                line = await self._transport.receive()
            except TooLong:
                self._answer_error(None, InvalidRequest(f"the line is longer than {MAX_LINE} bytes"))
                continue
            if line is None:
                return
            if line.strip():
                self._take(line, tasks)

    def _take(self, line: bytes, tasks: anyio.abc.TaskGroup) -> None:
        try:
            frame = _decode(line)
            if frame.method is _UNSET and self._is_answer(frame):
                self._take_answer(frame)
                return
            request_id = _request_id(frame)
        except RpcError as error:
            self._answer_error(None, error)
            return
        try:
            method = _method(frame)
        except RpcError as error:
            self._answer_error(request_id, error)
            return
        params = b"{}" if isinstance(frame.params, msgspec.UnsetType) else bytes(frame.params)
        if frame.id is _UNSET:
            self._hear(method, params)
        else:
            self._begin(Request(request_id, method, params), tasks)

    def _hear(self, method: str, params: bytes) -> None:
        listener = self._listeners.get(method)
        if listener is None:
            logger.debug("unknown notification %s", method)
            return
        try:
            listener(params)
        except RpcError as error:
            logger.warning("notification %s ignored: %s %s", method, error, error.data)
        except Exception:
            logger.exception("notification %s failed", method)

    def _begin(self, request: Request, tasks: anyio.abc.TaskGroup) -> None:
        handler = self._handlers.get(request.method)
        if handler is None:
            self._answer_error(request.id, MethodNotFound(f"there is no method {request.method!r}"))
        elif request.id in self._running:
            self._answer_error(None, InvalidRequest(f"request id {request.id!r} is still in use"))
        else:
            self._running[request.id] = request
            try:
                outcome = handler(request)
            except Exception as failure:  # noqa: BLE001 - see `_as_error`
                self._answer(request, _as_error(failure, request.method))
                return
            tasks.start_soon(self._run, request, outcome)

    async def _run(self, request: Request, outcome: Awaitable[object]) -> None:
        answer: object = None
        try:
            with request.scope:
                answer = await outcome
        except Exception as failure:  # noqa: BLE001 - see `_as_error`
            answer = _as_error(failure, request.method)
        if request.scope.cancelled_caught:
            answer = RequestCancelled()
        self._answer(request, answer)

    def _answer(self, request: Request, answer: object) -> None:
        """Answer with a result, or with the error it is."""
        del self._running[request.id]
        if isinstance(answer, RpcError):
            self._answer_error(request.id, answer)
        else:
            self._send({"jsonrpc": "2.0", "id": request.id, "result": answer})
        request.answered()

    def _cancel_request(self, params: bytes) -> None:
        request = self._running.get(decode_params(params, _CancelRequest).request_id)
        if request is not None:
            request.cancel()

    def _answer_error(self, request_id: RequestId, error: RpcError) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "error": error.as_object()})

    def _is_answer(self, frame: _Frame) -> bool:
        """Whether a message without a method answers something; one to our question does, whatever it
        leaves out, or the question would stay open."""
        has_answer = frame.result is not _UNSET or frame.error is not _UNSET
        return has_answer or self._asked_by(frame) is not None

    def _asked_by(self, frame: _Frame) -> "_Answer | None":
        try:
            return self._asked.get(_ids.decode(frame.id))  # type: ignore[arg-type]
        except (msgspec.MsgspecError, TypeError):
            return None

    def _take_answer(self, frame: _Frame) -> None:
        asked = self._asked_by(frame)
        if asked is None:
            logger.debug("an answer to nothing that was asked: %r", frame)
        elif isinstance(frame.error, msgspec.Raw) and bytes(frame.error) != b"null":
            try:
                error = msgspec.json.decode(frame.error, type=_PeerError)
            except msgspec.MsgspecError:
                error = _PeerError(0, "an error of unknown form")
            asked.arrive(PeerError(error.code, error.message))
        elif isinstance(frame.result, msgspec.Raw):
            asked.arrive(bytes(frame.result))
        else:
            asked.arrive(PeerError(0, "an answer with neither a result nor an error"))

    async def call(self, method: str, params: object, kind: type[T]) -> T:
        """Ask the peer and wait for its answer; cancelled, the question is withdrawn.

        Raises `PeerError`, `Disconnected`, and `InvalidParams` when the answer is not a `kind`.
        """
        if self._gone:
            raise Disconnected("the client has gone")
        own_id = self._next_id
        self._next_id += 1
        answer = self._asked[own_id] = _Answer()
        self._send({"jsonrpc": "2.0", "id": own_id, "method": method, "params": params})
        try:
            return decode_params(await answer.wait(), kind)
        except anyio.get_cancelled_exc_class():
            self._send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": own_id}})
            raise
        finally:
            del self._asked[own_id]

    async def notify(self, method: str, params: list[object]) -> None:
        """Send one notification for each of `params`; waits while the peer is slow."""
        self._transport.send(
            b"".join(_line({"jsonrpc": "2.0", "method": method, "params": each}) for each in params)
        )
        await self._transport.drain()

    async def flush(self) -> None:
        """Wait until all that was sent is with the peer."""
        await self._transport.flush()

    def _send(self, message: dict[str, Any]) -> None:
        self._transport.send(_line(message))


def _as_error(failure: Exception, method: str) -> RpcError:
    """What a handler raised, as an answer: the last place where a bug can become one."""
    if isinstance(failure, RpcError):
        return failure
    logger.error("request %s failed", method, exc_info=failure)
    return InternalError(f"{type(failure).__name__}: {failure}")


class _Answer:
    """What the peer will say to one request of ours."""

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._value: bytes | Exception = b""

    def arrive(self, value: bytes | Exception) -> None:
        """Take what came; only the first counts."""
        if not self._arrived.is_set():
            self._value = value
            self._arrived.set()

    async def wait(self) -> bytes:
        await self._arrived.wait()
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def _decode(line: bytes) -> _Frame:
    try:
        if not line.isascii():
            # What is kept raw for later is not looked into by msgspec.
            line.decode()
        return _frames.decode(_without_surrogates(line))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(line, str(error)) from None


def _without_surrogates(line: bytes) -> bytes:
    """The line with lone surrogates replaced: JSON of clients may have them, and msgspec refuses them."""
    if not _SURROGATE_ESCAPE.search(line):
        return line
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["alone"] else match[0], line)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refusal(line: bytes, reason: str) -> RpcError:
    """What is wrong with a line that is no frame."""
    try:
        value = json.loads(line.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return ParseError(f"the line is not JSON: {reason}")
    if isinstance(value, list):
        return InvalidRequest("a batch is not supported; send one message a line")
    if not isinstance(value, dict):
        return InvalidRequest("a message is an object")
    return InvalidRequest(reason)


def _line(message: object) -> bytes:
    """A message as it goes out. A lone surrogate, from a file name that is not UTF-8 say, becomes U+FFFD."""
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
        return _SURROGATE.sub("\ufffd", text).encode() + b"\n"


def _request_id(frame: _Frame) -> RequestId:
    if isinstance(frame.id, msgspec.UnsetType):
        return None
    try:
        return _ids.decode(frame.id)
    except msgspec.MsgspecError:
        raise InvalidRequest("an id is a string, an integer or null") from None


def _method(frame: _Frame) -> str:
    if bytes(frame.jsonrpc) != b'"2.0"':
        raise InvalidRequest('the message needs "jsonrpc": "2.0"')
    if isinstance(frame.method, msgspec.UnsetType):
        raise InvalidRequest("the message has neither a method nor a result")
    try:
        return _names.decode(frame.method)
    except msgspec.MsgspecError:
        raise InvalidRequest("the method is not a string") from None
