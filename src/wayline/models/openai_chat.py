"""The chat-completions dialect over HTTP: DeepSeek, and any server that speaks it.

One request, no retries: those belong to the loop, which knows what came before a failure.
"""

import email.utils
import json
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress

import anyio
import httpx2

from wayline import __version__
from wayline.log.content import Chunk
from wayline.models import chat_errors, chat_stream
from wayline.models.base import (
    ContextOverflow,
    ModelError,
    ModelRequest,
    NoCredentials,
    RequestRefused,
    Unavailable,
)
from wayline.models.catalog import ProviderConfig
from wayline.models.chat_request import RequestEncoder
from wayline.models.chat_stream import ChunkMaker
from wayline.models.sse import SseDecoder

CONNECT_TIMEOUT = 10.0
#: A part that took longer than this to come, in seconds, was not in the buffer: the network is slower than
#: we are. Then we rest before the next read and take several tokens at once. At 1,000 tokens a second that
#: is a third of the processor time, and nobody sees the difference.
WAITED = 0.0002
REST = 0.016
#: seconds given to the end of a body whose answer is whole, so that its connection can be used again
DRAIN = 0.25
#: Every session may have a request under way; a connection outlives a command that runs between two steps.
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=120.0)
#: bytes of an error's body that are read
_ERROR_BODY = 64 * 1024
#: bytes that may come before an event, or a whole answer, ends
_MOST = 16 * 1024 * 1024


class ChatModel:
    """A model behind `POST {base_url}/chat/completions`.

    `key` gives the key anew for each request, None when there is none.
    """

    def __init__(
        self, provider: str, name: str, config: ProviderConfig, key: Callable[[], str | None]
    ) -> None:
        self.provider = provider
        self.name = name
        self.context_window = config.context_window
        self.takes_images = config.takes_images
        self._config = config
        self._key = key
        self._encoder = RequestEncoder(name, config)
        self._url = config.base_url.rstrip("/") + "/chat/completions"
        timeout = httpx2.Timeout(config.read_timeout, connect=CONNECT_TIMEOUT)
        self._client = httpx2.AsyncClient(timeout=timeout, limits=LIMITS)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Ask, and give the answer chunk by chunk."""
        key = self._read_key()
        headers = self._headers(key)
        body = self._encoder.body(request)
        answer: StreamedAnswer | WholeAnswer | None = None
        try:
            async with self._client.stream("POST", self._url, content=body, headers=headers) as response:
                if not response.is_success:
                    raise await self._failure(response, key)
                async with aclosing(_parts(response)) as parts:
                    asked = time.perf_counter()
                    async for received in parts:
                        waited = time.perf_counter() - asked
                        if answer is None and not (received := received.lstrip()):
                            continue
                        answer = answer or self._answer(received)
                        for chunk in answer.feed(received):
                            yield chunk
                        if answer.done:
                            break
                        if waited > WAITED:
                            await anyio.sleep(REST)
                        asked = time.perf_counter()
                    for chunk in (answer or self._answer(b"")).end():
                        yield chunk
                    await _drain(parts)
        except ModelError as error:
            # Providers repeat the key in the words they refuse it with.
            error.args = (_without(key, str(error)),)
            raise
        except (httpx2.InvalidURL, httpx2.RequestError) as error:
            raise self._unanswered(error) from None

    def _unanswered(self, error: httpx2.InvalidURL | httpx2.RequestError) -> ModelError:
        """What it means that there was no answer, or no end of it."""
        match error:
            case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
                return RequestRefused(f"{self._url} is not a URL that can be asked: {error}")
            case httpx2.LocalProtocolError():
                # Its own words quote the header, which may be a secret.
                return RequestRefused(f"{self.provider} cannot be asked: HTTP does not allow a header of it")
            case httpx2.TimeoutException():
                return Unavailable(f"{self.provider} did not answer in time ({type(error).__name__})")
            case httpx2.DecodingError():
                return Unavailable(f"{self.provider} sent bytes that cannot be decoded: {error}")
            case _:
                return Unavailable(f"no connection to {self.provider}: {error or type(error).__name__}")

    def _read_key(self) -> str:
        """The key as it is now, "" when none is needed. Raises `NoCredentials`."""
        if self._config.key_env is None:
            return ""
        key = (self._key() or "").strip()
        if not key:
            raise NoCredentials(f"{self.provider} needs a key: set {self._config.key_env}")
        if not (key.isascii() and key.isprintable()):
            raise NoCredentials(
                f"the key of {self.provider} ({self._config.key_env}) holds characters that no key has; "
                "copy it again"
            )
        return key

    def _headers(self, key: str) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # What compresses a stream holds back words.
            "accept-encoding": "identity",
            "user-agent": f"wayline/{__version__}",
            **self._config.headers,
        }
        return {**headers, "authorization": f"Bearer {key}"} if key else headers

    def _answer(self, first: bytes) -> "StreamedAnswer | WholeAnswer":
        """What an answer that begins so is. Its `content-type` is no help: servers of the dialect send
        events as JSON and JSON as plain text."""
        if first.startswith(b"{"):
            return WholeAnswer(self.provider)
        return StreamedAnswer(self.provider, "ends_with_done" in self._config.quirks)

    async def _failure(self, response: httpx2.Response, key: str) -> ModelError:
        said = await self._words(response, key)
        status = response.status_code
        full = f"{self.provider} answered {status}: {said}"
        if status in (401, 403):
            return NoCredentials(full)
        if status == 402:
            return RequestRefused(f"{full} (the account's balance does not cover the request)")
        if response.has_redirect_location:
            # Not followed: the key is for the server that was named.
            return RequestRefused(f"{full} (moved to {response.headers['location']}: change its base_url)")
        if status in (408, 409, 425, 429) or status >= 500:
            return Unavailable(full, _retry_after(response.headers.get("retry-after")))
        return ContextOverflow(full) if chat_errors.is_overflow(said) else RequestRefused(full)

    async def _words(self, response: httpx2.Response, key: str) -> str:
        body = b""
        async with aclosing(response.aiter_bytes()) as parts:
            async for received in parts:
                body += received
                if len(body) > _ERROR_BODY:
                    break
        # Before its words are cut to their length, or half of the key could be left at the end.
        text = _without(key, body.decode("utf-8", "replace"))
        try:
            return chat_errors.words(json.loads(text))
        except (ValueError, RecursionError):
            return text.strip()[: chat_errors.WORDS]


def _parts(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes; what a server compressed although nobody asked for it is decoded."""
    return response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()


async def _drain(parts: AsyncGenerator[bytes, None]) -> None:
    """Read what is left of a body that nobody needs any more; however it ends is fine."""
    with anyio.move_on_after(DRAIN), suppress(httpx2.RequestError):
        async for _ in parts:
            pass


def _without(key: str, said: str) -> str:
    """Words with the key taken out; "" is no key."""
    return said.replace(key, "…") if key else said


class StreamedAnswer:
    """The body of a streamed answer: server-sent events, and `[DONE]` behind the last."""

    def __init__(self, provider: str, ends_with_done: bool) -> None:
        self._provider = provider
        self._ends_with_done = ends_with_done
        self._events = SseDecoder()
        self._maker = ChunkMaker()
        #: whether `[DONE]` came: nothing that matters comes after it
        self.done = False

    def feed(self, received: bytes) -> Iterator[Chunk]:
        """The chunks of what came. Raises `ModelError` for what is wrong with it."""
        yield from self._take(self._events.feed(received))
        if self._events.unfinished > _MOST:
            raise Unavailable(f"{self._provider} sent {_MOST >> 20} MiB without the end of an event")

    def _take(self, events: list[bytes]) -> Iterator[Chunk]:
        for data in events:
            if data == b"[DONE]":
                self.done = True
            elif not self.done:
                yield from self._maker.take(chat_stream.decode(data))

    def end(self) -> Iterator[Chunk]:
        """What closes the answer. Raises `Unavailable` when it was cut."""
        yield from self._take(self._events.end())
        if not self.done and (self._ends_with_done or self._maker.finish_reason is None):
            raise Unavailable(f"{self._provider} cut the answer off")
        yield from self._maker.end()


class WholeAnswer:
    """The body of an answer that a server sent at once, as JSON, though a stream was asked for."""

    done = False

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._body = bytearray()

    def feed(self, received: bytes) -> Iterator[Chunk]:
        """Nothing yet: the body is one value. Raises `Unavailable` when it is too long."""
        self._body += received
        if len(self._body) > _MOST:
            raise Unavailable(f"{self._provider} sent an answer of more than {_MOST >> 20} MiB")
        yield from ()

    def end(self) -> Iterator[Chunk]:
        """All of it. Raises `ModelError` for what is wrong with it."""
        maker = ChunkMaker()
        yield from maker.take(chat_stream.decode(bytes(self._body)))
        yield from maker.end()


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait, from either form of `Retry-After` (RFC 9110, section 10.2.3)."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
