"""A session's stream to the editor: a cursor over its log that sends what the translator makes."""

from collections.abc import Sequence

import anyio
import anyio.lowlevel

from wayline.acp import bridge
from wayline.acp.bridge import Translator
from wayline.acp.schema import AnyUpdate, SessionUpdate
from wayline.sessions.session import Cursor, Session
from wayline.tools.cards import Presenter
from wayline.wire.jsonrpc import Connection

#: events of a transcript that are translated before others get their turn
REPLAYED_AT_ONCE = 100


class UpdateStream:
    """Sends the updates of one open session, each event once and in order."""

    def __init__(
        self, connection: Connection, session: Session, presenter: Presenter, window: int | None
    ) -> None:
        self._connection = connection
        self._session = session
        self._presenter = presenter
        self._cursor: Cursor = session.subscribe()
        self._translator = Translator(presenter, session.cwd, window)
        self._sent = session.next_seq
        self._progress = anyio.Event()
        self._sending = anyio.Lock()
        self._closed = False

    @property
    def window(self) -> int | None:
        """The context window of the session's model."""
        return self._translator.window

    @window.setter
    def window(self, tokens: int | None) -> None:
        self._translator.window = tokens

    async def run(self) -> None:
        """Send what happens, until cancelled."""
        try:
            while True:
                events = await self._cursor.take()
                async with self._sending:
                    fresh = [event for event in events if event.seq >= self._sent]
                    await self.send(self._translator.live(fresh))
                    self._passed(self._cursor.position)
        finally:
            # What was not sent by now never is: nobody may wait for it, least of all behind a shield.
            self._stop()

    def _passed(self, seq: int) -> None:
        self._sent = max(self._sent, seq)
        self._progress.set()
        self._progress = anyio.Event()

    async def send(self, updates: Sequence[AnyUpdate]) -> None:
        """Put updates on the wire, in order; waits while the editor is slow."""
        if updates:
            params: list[object] = [SessionUpdate(self._session.id, update) for update in updates]
            await self._connection.notify("session/update", params)

    async def caught_up(self) -> None:
        """Wait until all that the log has now is on the wire, or the stream is closed."""
        seq = self._session.next_seq
        while self._sent < seq and not self._closed:
            await self._progress.wait()

    async def replay(self) -> None:
        """Send the session up to this moment, as a load does; what happens later follows `resume`."""
        await self._sending.acquire()
        try:
            await self._send_all()
        except BaseException:
            self.resume()
            raise

    async def _send_all(self) -> None:
        state, upto = self._session.state, self._session.next_seq
        deltas = list(self._session.open_deltas)
        asked = bridge.asked_about(self._session.turn_events)
        self._translator = Translator(self._presenter, self._session.cwd, self.window)
        for start in range(0, len(state.transcript), REPLAYED_AT_ONCE):
            events = state.transcript[start : start + REPLAYED_AT_ONCE]
            for update in self._translator.replay(events, asked):
                await self.send([update])
            # Other sessions stream meanwhile, and the load may be withdrawn.
            await anyio.lowlevel.checkpoint()
        await self.send(self._translator.live(deltas))
        await self.send(bridge.closing(state, self.window, state.meta.updated_at))
        self._passed(upto)

    def resume(self) -> None:
        """Go on with what happened since `replay`."""
        self._sending.release()

    def close(self) -> None:
        """Let the log forget what was kept for this stream, and whoever waits for it go on."""
        self._session.unsubscribe(self._cursor)
        self._stop()

    def _stop(self) -> None:
        self._closed = True
        self._passed(self._sent)
