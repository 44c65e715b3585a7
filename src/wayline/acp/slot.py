"""A session's place on one connection."""

import anyio

from wayline.acp.stream import UpdateStream
from wayline.sessions.session import Session
from wayline.sessions.turns import Turns
from wayline.wire.errors import ResourceNotFound


class Slot:
    """A session's place here: its queue of prompts, and the open session once there is one."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id
        self.turns = Turns()
        #: held while the session is opened or closed
        self.changing = anyio.Lock()
        self.session: Session | None = None
        self.stream: UpdateStream | None = None
        self.stream_scope = anyio.CancelScope()
        #: what the next turn tells the person
        self.notices: list[str] = []
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

    async def opened(self) -> tuple[Session, UpdateStream]:
        """The open session; waits while it is being opened. Raises `ResourceNotFound`."""
        if self.session is None:
            async with self.changing:
                pass
        if self.session is None or self.stream is None:
            raise ResourceNotFound(f"session {self.id} is not open; load it first", sessionId=self.id)
        return self.session, self.stream
