"""One open session: append to its log, follow it, and know what it adds up to."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from wayline.log.codec import LogError, encode
from wayline.log.events import (
    SURFACE,
    TYPE_NAMES,
    AssistantChunk,
    AssistantMessage,
    Event,
    Header,
    LlmRetry,
    Payload,
    Sources,
    StepEnd,
    SurfaceOp,
    ToolCallStarted,
    TurnStart,
)
from wayline.log.invariants import Invariants
from wayline.log.store import Store
from wayline.projections.state import State, fold

#: Epoch milliseconds.
Clock = Callable[[], int]


def system_clock() -> int:
    """The time of this machine."""
    return time.time_ns() // 1_000_000


class ReadOnlySession(LogError):
    """The session can be read and not continued; the message says why."""


class Cursor:
    """A subscriber's place in the log. It misses nothing and sees every event once, in order."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.position = session.next_seq
        self._news = anyio.Event()

    @property
    def behind(self) -> int:
        """How many events there are that it has not taken."""
        return self._session.next_seq - self.position

    async def take(self) -> Sequence[Event]:
        """All events it has not taken yet; waits until there is one."""
        while not self.behind:
            self._news = anyio.Event()
            await self._news.wait()
        events = self._session.tail_from(self.position)
        self.position += len(events)
        self._session.moved()
        return events

    def wake(self) -> None:
        """There is something to take."""
        self._news.set()


class Session:
    """An open log and its projections.

    `state` is always the fold of all events so far. `cwd` is absolute with links resolved. `fault` says
    why nothing may be appended, None when something may. `rules`, when given, have seen all events so far
    and are asked before each append.
    """

    def __init__(
        self,
        header: Header,
        store: Store,
        folder: Path,
        cwd: Path,
        *,
        state: State | None = None,
        next_seq: int = 0,
        call_ids: Sequence[str] = (),
        fault: str | None = None,
        rules: Invariants | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self.header = header
        self.folder = folder
        self.cwd = cwd
        self.state = state or State()
        self.next_seq = next_seq
        self.fault = fault
        #: every tool call id of the log, so that a new one can be made unique
        self.call_ids = set(call_ids)
        #: events of the open turn without deltas, and the deltas that no message holds yet
        self.turn_events: list[Event] = []
        self.open_deltas: list[Event] = []
        self._store = store
        self._clock = clock
        self._cursors: list[Cursor] = []
        self._tail: list[Event] = []
        self._tail_start = next_seq
        self._caught_up = anyio.Event()
        self._rules = rules

    @property
    def id(self) -> str:
        """The session's id, as clients know it."""
        return self.header.id

    def append(
        self, data: Payload, *, surface_op: SurfaceOp | None = None, sources: Sources | None = None
    ) -> Event:
        """Write one event and wake whoever follows. It is on disk, though not flushed, when this returns.

        Raises `StorageError`, `ReadOnlySession`, and `InvariantBroken` when rules are checked.
        """
        if self.fault is not None:
            raise ReadOnlySession(f"session {self.id} can only be read: {self.fault}")
        kind = type(data)
        if surface_op is None and kind in SURFACE:
            surface_op = "append"
        event = Event(TYPE_NAMES[kind], self.next_seq, self._clock(), data, surface_op, sources)
        if self._rules is not None:
            self._rules.allow(event)
        self._store.append(encode(event))
        if self._rules is not None:
            self._rules.take(event)
        self.next_seq += 1
        self._take(event)
        if self._cursors:
            self._tail.append(event)
            for cursor in self._cursors:
                cursor.wake()
        else:
            self._tail_start = self.next_seq
        return event

    def _take(self, event: Event) -> None:
        data = event.data
        if isinstance(data, AssistantChunk):
            self.open_deltas.append(event)
            return
        self.state = fold(self.state, event)
        if isinstance(data, TurnStart):
            self.turn_events.clear()
        elif isinstance(data, AssistantMessage | StepEnd | LlmRetry):
            self.open_deltas.clear()
        elif isinstance(data, ToolCallStarted):
            self.call_ids.add(data.call_id)
        self.turn_events.append(event)

    async def checkpoint(self) -> None:
        """Return when everything appended is durable. Raises `StorageError`.

        It cannot be cancelled half-way: what waits for it must know whether it happened.
        """
        if self._store.dirty:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._store.sync)

    def subscribe(self) -> Cursor:
        """A cursor that begins behind the last event."""
        cursor = Cursor(self)
        self._cursors.append(cursor)
        return cursor

    def unsubscribe(self, cursor: Cursor) -> None:
        """Stop keeping events for it."""
        self._cursors.remove(cursor)
        self.moved()

    def tail_from(self, position: int) -> Sequence[Event]:
        """The events from `position` on, which a cursor has not taken yet."""
        return self._tail[position - self._tail_start :]

    def moved(self) -> None:
        """A cursor took what there was, or went: forget what nobody needs, and wake whoever waits for it.

        Events are dropped in batches, since cutting a list moves what is left.
        """
        taken = min((cursor.position for cursor in self._cursors), default=self.next_seq) - self._tail_start
        if taken >= 1024 or taken == len(self._tail):
            del self._tail[:taken]
            self._tail_start += taken
        self._caught_up.set()
        self._caught_up = anyio.Event()

    async def wait_for_followers(self, limit: int) -> None:
        """Wait until no cursor is more than `limit` events behind, so that memory stays bounded."""
        while any(cursor.behind > limit for cursor in self._cursors):
            await self._caught_up.wait()

    def close(self) -> None:
        """Free the log. Whoever still holds the session finds that it cannot be appended to."""
        self.fault = self.fault or "it was closed"
        self._store.close()
