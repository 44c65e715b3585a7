"""The prompt slot of a session: one turn at a time, later prompts wait in the order they came."""

from collections import deque

import anyio

from wayline.loop.base import Cancellation


class Ticket:
    """A prompt's place in the queue, taken the moment the prompt arrives.

    It can be cancelled at any time: before its turn comes, while it runs, or after, when that means
    nothing.
    """

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns
        self._head = anyio.Event()
        self.cancellation = Cancellation()

    async def comes_up(self) -> None:
        """Wait until every prompt before this one is done. A cancelled prompt keeps its place."""
        await self._head.wait()

    def cancel(self) -> None:
        """End this prompt's turn, now or as soon as it would begin."""
        self.cancellation.cancel()

    def called(self) -> None:
        """Nothing is before it any more."""
        self._head.set()

    def release(self) -> None:
        """The prompt is answered: let the next one come up."""
        self._turns.remove(self)


class Turns:
    """The queue itself."""

    def __init__(self) -> None:
        self._queue: deque[Ticket] = deque()

    def submit(self) -> Ticket:
        """Take a place at the end."""
        ticket = Ticket(self)
        self._queue.append(ticket)
        self._queue[0].called()
        return ticket

    def cancel(self, why: str | None = None) -> None:
        """Cancel the running turn and every prompt that waits now. Nothing stays behind for later ones."""
        for ticket in self._queue:
            ticket.cancellation.cancel(why)

    def remove(self, ticket: Ticket) -> None:
        """Take a ticket out, wherever it stands."""
        self._queue.remove(ticket)
        if self._queue:
            self._queue[0].called()
