"""The seam to language models: one request in, a stream of chunks out.

    ModelError                 every failure of a model; `code` is a stable word for the log
    ├── NoCredentials          no key, or the provider refused it: tell the client, do not retry
    ├── RequestRefused         the provider will never take this request: tell the client
    │   └── ContextOverflow    because it is too long
    └── Unavailable            may work later: retry, after `retry_after` seconds when given

The chunk contract, which every adapter keeps and the adapters' common test suite checks:

* a block opens with `block-start`, goes on with deltas of its `index`, and ends with `block-end`,
  which holds the whole block (a call that the token limit left half-built does not end); indexes
  count 0, 1, 2 in the order of opening; blocks may interleave;
* empty deltas and empty blocks are not sent; a call's `id` and `name` are as the provider gave them,
  an `id` the provider left out or repeated within the reply is made up, unique within the reply;
* `usage` at most once, then `finish`, then nothing;
* a stream that ends without `finish` was cut, and the adapter raises `Unavailable` instead of ending.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal, Protocol

import msgspec

from wayline.log.content import Chunk, Message

Purpose = Literal["turn", "title", "summary"]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything one request says.

    `ordinal` counts the requests of this session before this one (steps and retries), so that a
    scripted model knows its place after a restart. `session_id` tells sessions apart. `workspace` is
    the session's, for a replayed model that was in another.
    """

    session_id: str
    system: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...]
    ordinal: int
    turn: int
    step: int
    purpose: Purpose = "turn"
    workspace: str = ""


class Model(Protocol):
    """A language model.

    `stream` raises `ModelError` and its kinds, at once or in the middle; closing the generator ends
    the request. `context_window` is in tokens, None when not known.
    """

    @property
    def provider(self) -> str:
        """The provider's name, as in settings."""

    @property
    def name(self) -> str:
        """The model's name, as the provider knows it."""

    @property
    def context_window(self) -> int | None:
        """The most tokens a request and its answer may take together."""

    @property
    def takes_images(self) -> bool:
        """Whether `Image` blocks may be sent."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Ask, and give the reply chunk by chunk."""


class ModelError(Exception):
    """A model could not answer; the message is for the person."""

    code = "PROVIDER"


class NoCredentials(ModelError):
    """There is no key, or the provider does not take it."""

    code = "AUTH"


class RequestRefused(ModelError):
    """The provider will not take this request, now or later."""

    code = "REQUEST_REFUSED"


class ContextOverflow(RequestRefused):
    """The request is longer than the model's window."""

    code = "CONTEXT_OVERFLOW"


class Unavailable(ModelError):
    """It may work later. `retry_after` is in seconds, when the provider said so."""

    code = "UNAVAILABLE"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
