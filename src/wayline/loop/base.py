"""What the loop needs of the rooms above it, and they of it; light, since an editor's first session waits
for it."""

from pathlib import Path
from typing import Annotated, Protocol

import anyio
import msgspec

from wayline.log.content import Image, Text
from wayline.log.events import Event, Header, Payload, PermissionOutcome, Sources, SurfaceOp
from wayline.projections.state import State


class TurnLog(Protocol):
    """The session a turn runs in."""

    @property
    def id(self) -> str:
        """The session's id."""

    header: Header
    cwd: Path
    folder: Path
    state: State
    call_ids: set[str]
    turn_events: list[Event]
    open_deltas: list[Event]

    def append(
        self, data: Payload, *, surface_op: SurfaceOp | None = None, sources: Sources | None = None
    ) -> Event:
        """Write one event. Raises `StorageError`."""

    async def checkpoint(self) -> None:
        """Return when all events are durable. Raises `StorageError`."""

    async def wait_for_followers(self, limit: int) -> None:
        """Wait until nobody who follows is more than `limit` events behind."""


class CallQuestion(msgspec.Struct, frozen=True):
    """What the person is asked about one call; `grant` is what an answer for the session covers."""

    call_id: str
    name: str
    arguments: str
    title: str
    grant: str


class Asker(Protocol):
    """Whoever puts questions to the person."""

    async def ask(self, question: CallQuestion) -> PermissionOutcome:
        """Their answer. It is bounded: no answer is `unanswered`, a withdrawn question `cancelled`, one that
        was not among the choices `not-offered`."""


class Cancellation:
    """How a turn is ended from outside; `why` goes into the log, None when the person asked for it."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.why: str | None = None

    def cancel(self, why: str | None = None) -> None:
        """End the turn, now or as soon as it would begin."""
        self.why = self.why or why
        self.scope.cancel()


class Prompt(msgspec.Struct, frozen=True):
    """What opens a turn: its content, and what the person is told along with it."""

    content: tuple[Text | Image, ...]
    notices: tuple[str, ...] = ()


Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a turn may go. Delays are in seconds.

    A failed attempt is made again after `first_delay`, doubled each time up to `longest_delay`, with
    `jitter` as a share of it, until `tries` attempts were made.
    """

    steps: Count = 200
    tries: Count = 5
    first_delay: Seconds = 0.5
    longest_delay: Seconds = 10.0
    jitter: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    #: no step begins while a follower is this many events behind
    followers_behind: Count = 10_000
    #: how many calls of one step run at once
    parallel_calls: Count = 8
