"""One handler a method. What takes its place in order does so in the call itself, not after an await."""

import logging
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import msgspec

from wayline import __version__
from wayline.acp import listing, options, prompt
from wayline.acp.client import PermissionAsker
from wayline.acp.schema import (
    LATEST_VERSION,
    Authenticate,
    CommandsChanged,
    Initialize,
    ListSessions,
    LoadSession,
    NewSession,
    OfSession,
    OptionsChanged,
    Prompt,
    SetConfigOption,
    SetMode,
)
from wayline.acp.services import Services
from wayline.acp.slot import Change, Slot
from wayline.acp.stream import UpdateStream
from wayline.acp.workspace import absolute, mcp_notices, workspace
from wayline.log.codec import LogError
from wayline.log.events import SessionConfig, SessionMode, TurnEndReason
from wayline.log.lock import HeldElsewhere
from wayline.loop.base import Prompt as TurnPrompt
from wayline.models.base import ModelError
from wayline.permissions.modes import MODES, Mode
from wayline.sessions.registry import UnknownSession, WrongWorkspace, check_workspace
from wayline.sessions.session import Session
from wayline.sessions.turns import Ticket
from wayline.wire.errors import AuthRequired, InternalError, InvalidParams, ResourceNotFound, RpcError
from wayline.wire.jsonrpc import Connection, Handler, Listener, Request, decode_params

logger = logging.getLogger(__name__)

#: Clients register a session only after the answer that names it, some of them late.
COMMANDS_DELAY = 0.1
API_KEY_METHOD = "api-key"


class Agent:
    """The agent's side of one connection."""

    def __init__(self, connection: Connection, services: Services, tasks: anyio.abc.TaskGroup) -> None:
        self._connection = connection
        self._services = services
        self._tasks = tasks
        self._slots: dict[str, Slot] = {}

    def handlers(self) -> Mapping[str, Handler]:
        """Requests we answer."""
        return {
            "initialize": self.initialize,
            "authenticate": self.authenticate,
            "session/new": self.new_session,
            "session/load": self.load_session,
            "session/list": self.list_sessions,
            "session/close": self.close_session,
            "session/set_mode": self.set_mode,
            "session/set_config_option": self.set_config_option,
            "session/prompt": self.prompt,
        }

    def listeners(self) -> Mapping[str, Listener]:
        """Notifications we hear."""
        return {"session/cancel": self.cancel}

    async def initialize(self, request: Request) -> object:
        """Works before any credential, network or heavy import."""
        request.decode(Initialize)
        return {
            "protocolVersion": LATEST_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {
                    "image": self._services.takes_images(self._services.default_model),
                    "audio": False,
                    "embeddedContext": True,
                },
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "close": {}},
            },
            "agentInfo": {"name": "wayline", "title": "Wayline", "version": __version__},
            "authMethods": [
                {
                    "id": API_KEY_METHOD,
                    "name": "API key",
                    "description": "Read the provider's key from the environment or the credentials file",
                }
            ],
        }

    async def authenticate(self, request: Request) -> object:
        """Look again for a key of the default model."""
        method = request.decode(Authenticate).method_id
        if method != API_KEY_METHOD:
            raise InvalidParams(
                f"there is no method {method!r}; the one there is: {API_KEY_METHOD!r}", path="params.methodId"
            )
        self._require_credentials(self._services.default_model)
        return {}

    async def new_session(self, request: Request) -> object:
        params = request.decode(NewSession)
        cwd = workspace(params)
        model = self._services.default_model
        self._require_credentials(model)
        try:
            session = self._services.registry.new(cwd)
        except (LogError, OSError) as error:
            raise _storage(f"the session's log cannot be made: {error}") from None
        slot = Slot(session.id)
        slot.notices += mcp_notices(params)
        self._slots[session.id] = slot
        self._begin_stream(slot, session, cwd)
        request.after_answer(lambda: self._announce(slot))
        return {"sessionId": session.id, **self._settings(session)}

    def load_session(self, request: Request) -> Awaitable[object]:
        params = request.decode(LoadSession)
        slot = self._slots.setdefault(params.session_id, Slot(params.session_id))
        self._hold(slot, request)
        return self._load(request, params, slot, slot.change())

    def _hold(self, slot: Slot, request: Request) -> None:
        """Keep the slot until the request is answered, and no longer when there is nothing in it then."""

        def let_go() -> None:
            slot.let_go()
            if slot.unused:
                self._slots.pop(slot.id, None)

        slot.hold()
        request.after_answer(let_go)

    async def _load(self, request: Request, params: LoadSession, slot: Slot, change: Change) -> object:
        async with change:
            cwd = workspace(params)
            was_open = slot.session is not None
            session, stream = await self._open(slot, cwd)
            slot.notices = mcp_notices(params)
            try:
                await self._services.load_tools()
                await stream.replay()
            except BaseException:
                if not was_open:
                    # A load that failed, or was withdrawn, leaves nothing open.
                    with anyio.CancelScope(shield=True):
                        await self._end(slot)
                raise
        request.after_answer(stream.resume)
        request.after_answer(lambda: self._announce(slot))
        return self._settings(session)

    async def _open(self, slot: Slot, cwd: Path) -> tuple[Session, UpdateStream]:
        try:
            if slot.session is None or slot.stream is None:
                session = await self._services.registry.open(slot.id, cwd)
                return session, self._begin_stream(slot, session, cwd)
            check_workspace(slot.session.header, cwd)
            return slot.session, slot.stream
        except UnknownSession as error:
            raise ResourceNotFound(str(error), sessionId=slot.id) from None
        except WrongWorkspace as error:
            raise InvalidParams(str(error), path="params.cwd") from None
        except HeldElsewhere as error:
            raise InternalError(f"session {slot.id}: {error}", code="HELD_ELSEWHERE", pid=error.pid) from None
        except (LogError, OSError) as error:
            raise _storage(f"session {slot.id} cannot be opened: {error}") from None

    async def list_sessions(self, request: Request) -> object:
        params = request.decode(ListSessions)
        cwd = absolute(params.cwd) if params.cwd is not None else None
        return listing.page(await self._services.registry.list(cwd), params.cursor)

    def close_session(self, request: Request) -> Awaitable[object]:
        session_id = request.decode(OfSession).session_id
        slot = self._slots.get(session_id)
        if slot is None:
            raise ResourceNotFound(f"session {session_id} is not open", sessionId=session_id)
        slot.turns.cancel("the session was closed")
        ticket = slot.turns.submit()
        request.after_answer(ticket.release)
        self._hold(slot, request)
        return self._close(slot, ticket, slot.change())

    async def _close(self, slot: Slot, ticket: Ticket, change: Change) -> object:
        async with change:
            await ticket.comes_up()
            await self._end(slot)
        return {}

    async def _end(self, slot: Slot) -> None:
        if slot.session is None or slot.stream is None:
            return
        await slot.stream.caught_up()
        slot.session.close()
        slot.stream_scope.cancel()
        slot.stream.close()
        slot.session = slot.stream = None

    async def set_mode(self, request: Request) -> object:
        params = request.decode(SetMode)
        await self._change_mode(params.session_id, params.mode_id, "params.modeId")
        session, stream = await self._opened(params.session_id)
        await stream.send([OptionsChanged(self._config_options(session))])
        return {}

    async def set_config_option(self, request: Request) -> object:
        params = request.decode(SetConfigOption)
        match params.config_id:
            case "mode":
                await self._change_mode(params.session_id, params.value, "params.value")
            case "model":
                await self._change_model(params.session_id, params.value)
            case other:
                raise InvalidParams(
                    f"there is no option {other!r}; there are mode, model", path="params.configId"
                )
        session, _ = await self._opened(params.session_id)
        return {"configOptions": self._config_options(session)}

    async def _change_mode(self, session_id: str, mode: str | bool, path: str) -> None:
        session, stream = await self._opened(session_id)
        if mode not in MODES:
            raise InvalidParams(f"there is no mode {mode!r}; there are {', '.join(MODES)}", path=path)
        try:
            session.append(SessionMode(str(mode)))
        except LogError as error:
            raise _storage(str(error)) from None
        await stream.caught_up()

    async def _change_model(self, session_id: str, model: str | bool) -> None:
        session, stream = await self._opened(session_id)
        known = [choice.id for choice in self._services.models()]
        if model not in known:
            raise InvalidParams(
                f"there is no model {model!r}; there are {', '.join(known)}", path="params.value"
            )
        try:
            session.append(SessionConfig("model", str(model)))
        except LogError as error:
            raise _storage(str(error)) from None
        stream.window = self._services.window(str(model))

    def prompt(self, request: Request) -> Awaitable[object]:
        params = request.decode(Prompt)
        slot = self._slot(params.session_id)
        model = self._model(slot.session) if slot.session else self._services.default_model
        content = prompt.content(params.prompt, self._services.takes_images(model))
        ticket = slot.turns.submit()
        request.cancel = ticket.cancel
        request.after_answer(ticket.release)
        self._hold(slot, request)
        return self._prompt(slot, slot.last_change, ticket, TurnPrompt(content))

    async def _prompt(self, slot: Slot, change: Change | None, ticket: Ticket, said: TurnPrompt) -> object:
        await ticket.comes_up()
        session, stream = await slot.opened(change)
        model = self._model(session)
        self._require_credentials(model)
        said = msgspec.structs.replace(said, notices=tuple(slot.notices))
        slot.notices.clear()
        asker = PermissionAsker(
            self._connection,
            session.id,
            session.cwd,
            self._services.presenter,
            stream.caught_up,
            self._services.patience,
        )
        try:
            reason = await self._services.run_turn(
                session, model, lambda: self._mode(session), asker, said, ticket.cancellation
            )
        except LogError as error:
            raise _storage(str(error)) from None
        except ModelError as error:
            raise InternalError(str(error), code=error.code) from None
        finally:
            with anyio.CancelScope(shield=True):
                await stream.caught_up()
        return _answer(reason)

    def cancel(self, params: bytes) -> None:
        """End the running turn and the prompts that wait; on an idle or unknown session, nothing."""
        slot = self._slots.get(decode_params(params, OfSession).session_id)
        if slot is not None:
            slot.turns.cancel()

    def closing(self) -> None:
        """The client has gone: end every turn."""
        for slot in self._slots.values():
            slot.turns.cancel("the client has gone")

    async def close(self) -> None:
        """Close every log; no request runs any more."""
        for slot in self._slots.values():
            await self._end(slot)

    async def _opened(self, session_id: str) -> tuple[Session, UpdateStream]:
        slot = self._slot(session_id)
        return await slot.opened(slot.last_change)

    def _slot(self, session_id: str) -> Slot:
        slot = self._slots.get(session_id)
        if slot is None:
            raise ResourceNotFound(f"session {session_id} is not open; load it first", sessionId=session_id)
        return slot

    def _begin_stream(self, slot: Slot, session: Session, cwd: Path) -> UpdateStream:
        window = self._services.window(self._model(session))
        stream = UpdateStream(self._connection, session, self._services.presenter, window)
        slot.session, slot.stream, slot.stream_scope = session, stream, anyio.CancelScope()
        self._tasks.start_soon(self._run_stream, stream, slot.stream_scope)
        for line in self._services.workspace_warnings(cwd):
            logger.warning("%s", line)
        return stream

    async def _run_stream(self, stream: UpdateStream, scope: anyio.CancelScope) -> None:
        with scope:
            await stream.run()

    def _announce(self, slot: Slot) -> None:
        """After the answer that names a session: its commands, and what the first prompt will need."""
        self._services.preload()
        self._tasks.start_soon(self._announce_commands, slot)

    async def _announce_commands(self, slot: Slot) -> None:
        await anyio.sleep(COMMANDS_DELAY)
        if slot.stream is not None:
            await slot.stream.send([CommandsChanged(())])

    def _require_credentials(self, model: str) -> None:
        missing = self._services.missing_credentials(model)
        if missing is not None:
            raise AuthRequired(missing)

    def _mode(self, session: Session) -> Mode:
        chosen = session.state.meta.mode
        return chosen if chosen in MODES else self._services.default_mode

    def _model(self, session: Session) -> str:
        chosen = session.state.meta.model
        known = (choice.id for choice in self._services.models())
        return chosen if chosen is not None and chosen in known else self._services.default_model

    def _config_options(self, session: Session) -> list[dict[str, Any]]:
        return options.config_options(self._mode(session), self._model(session), self._services.models())

    def _settings(self, session: Session) -> dict[str, Any]:
        return {"modes": options.modes(self._mode(session)), "configOptions": self._config_options(session)}


def _storage(details: str) -> InternalError:
    """Whatever a log does not give or take, the code is the same."""
    return InternalError(details, code="STORAGE")


def _answer(reason: TurnEndReason) -> dict[str, Any]:
    """A prompt's answer. A turn that failed is an error with the provider's words."""
    match reason.kind:
        case "completed":
            return {"stopReason": "end_turn"}
        case "max-tokens":
            return {"stopReason": "max_tokens"}
        case "max-turn-requests":
            return {"stopReason": "max_turn_requests"}
        case "refusal":
            return {"stopReason": "refusal"}
        case "error":
            error: RpcError = InternalError(reason.message, code=reason.code)
            raise AuthRequired(reason.message) if reason.code == "AUTH" else error
        case _:
            return {"stopReason": "cancelled"}
