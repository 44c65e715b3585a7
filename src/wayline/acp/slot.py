"""A session's place on one connection: what is open there, and the order of what was asked of it."""

from types import TracebackType

import anyio

from wayline.acp.stream import UpdateStream
from wayline.sessions.session import Session
from wayline.sessions.turns import Turns
from wayline.wire.errors import ResourceNotFound


class Change:
    """A load or a close on its way. Each begins when the one asked for before it is done.

    Whoever waits, waits for what was asked for earlier, so that no two can wait for each other.
    """

    def __init__(self, before: "Change | None") -> None:
        self._before = before
        self._done = anyio.Event()

    async def __aenter__(self) -> None:
        if self._before is not None:
            # A withdrawn load still keeps the order of those behind it.
            with anyio.CancelScope(shield=True):
                await self._before.done()
            self._before = None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()

    async def done(self) -> None:
        """Wait until it is over, well or not."""
        await self._done.wait()


class Slot:
    """A session's place: its queue of prompts, and the open session once there is one."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id
        self.turns = Turns()
        self.session: Session | None = None
        self.stream: UpdateStream | None = None
        self.stream_scope = anyio.CancelScope()
        #: what the next turn tells the person
        self.notices: list[str] = []
        #: the load or close asked for last
        self.last_change: Change | None = None
        self._requests = 0

    @property
    def unused(self) -> bool:
        """Whether no session is open here and no request is on its way to one."""
        return self.session is None and not self._requests

    def hold(self) -> None:
        """A request needs the slot from here on, until `let_go`."""
        self._requests += 1

    def let_go(self) -> None:
        """The request is answered."""
        self._requests -= 1

    def change(self) -> Change:
        """Ask for a load or a close, to be done in the order of asking."""
        self.last_change = Change(self.last_change)
        return self.last_change

    async def opened(self, change: Change | None) -> tuple[Session, UpdateStream]:
        """The open session, after `change` when none is open yet. Raises `ResourceNotFound`."""
        if self.session is None and change is not None:
            await change.done()
        if self.session is None or self.stream is None:
            raise ResourceNotFound(f"session {self.id} is not open; load it first", sessionId=self.id)
        return self.session, self.stream
