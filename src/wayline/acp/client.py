"""What we ask of the editor."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio

from wayline.acp import cards, limits
from wayline.acp.bridge import raw_input
from wayline.acp.schema import AskedCall, PermissionAnswer, PermissionOption, PermissionRequest
from wayline.log.events import PermissionOutcome
from wayline.loop.base import CallQuestion
from wayline.tools.cards import Presenter, ToolKind
from wayline.tools.presentation import bounded
from wayline.wire.errors import Disconnected, InvalidParams, PeerError
from wayline.wire.jsonrpc import Connection

logger = logging.getLogger(__name__)

#: characters of what an option names
OPTION_LENGTH = 200

_OUTCOMES: dict[str, PermissionOutcome] = {
    "allow-once": "allow-once",
    "allow-session": "allow-session",
    "reject": "reject",
}


class PermissionAsker:
    """Puts `session/request_permission` to the editor on behalf of one session.

    `caught_up` waits until the call's card is on the wire: a question about a card that the editor does
    not know yet could not be shown. `patience` is in seconds.
    """

    def __init__(
        self,
        connection: Connection,
        session_id: str,
        workspace: Path,
        presenter: Presenter,
        caught_up: Callable[[], Awaitable[None]],
        patience: float,
    ) -> None:
        self._connection = connection
        self._session_id = session_id
        self._workspace = workspace
        self._presenter = presenter
        self._caught_up = caught_up
        self._patience = patience

    async def ask(self, question: CallQuestion) -> PermissionOutcome:
        """The person's answer; anything but a clear yes is a no."""
        await self._caught_up()
        request = self._request(question)
        try:
            with anyio.fail_after(self._patience):
                answer = await self._connection.call("session/request_permission", request, PermissionAnswer)
        except TimeoutError:
            return "unanswered"
        except (PeerError, Disconnected, InvalidParams) as error:
            logger.warning("the permission question got no answer: %s", error)
            return "unanswered"
        if answer.outcome.outcome == "cancelled":
            return "cancelled"
        chosen = answer.outcome.option_id or ""
        if chosen not in {option.option_id for option in request.options}:
            logger.warning("the editor chose an option that was not offered: %r", limits.head(chosen, 200))
            return "not-offered"
        return _OUTCOMES[chosen]

    def _request(self, question: CallQuestion) -> PermissionRequest:
        shown = self._presenter.present_call(question.name, question.arguments, self._workspace)
        call = AskedCall(
            tool_call_id=question.call_id,
            title=limits.line(question.title),
            kind=shown.kind,
            status="pending",
            content=cards.contents(shown.cards, self._workspace),
            locations=cards.locations(shown.locations, self._workspace),
            raw_input=raw_input(question.arguments),
        )
        return PermissionRequest(self._session_id, call, tuple(_options(question.grant, shown.kind)))


def _options(grant: str, kind: ToolKind) -> Iterator[PermissionOption]:
    yield PermissionOption("allow-once", "Allow once", "allow_once")
    if grant:
        yield PermissionOption(
            "allow-session", f"Allow for this session: {_covered(grant, kind)}", "allow_always"
        )
    yield PermissionOption("reject", "Reject", "reject_once")


def _covered(grant: str, kind: ToolKind) -> str:
    """What an answer for the session covers. What would not be seen whole in one line is not begun."""
    if len(grant) <= OPTION_LENGTH and bounded(grant, OPTION_LENGTH) == grant:
        return grant
    return "exactly this command" if kind == "execute" else "this tool, exactly this path"
