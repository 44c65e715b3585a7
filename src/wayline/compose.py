"""The only place that joins concrete parts: sessions, models, tools, settings.

What only a prompt needs (pydantic, the tools, the loop, HTTP) is imported when it is needed, and
begun in the background once the first session was answered.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from wayline import settings
from wayline.acp.agent import Agent
from wayline.acp.options import ModelChoice
from wayline.chosen_models import Models
from wayline.homes import Homes
from wayline.log.codec import LogError
from wayline.log.events import Notice, TurnEndReason
from wayline.log.store import LogFile
from wayline.loop.base import Asker, Cancellation, Prompt
from wayline.permissions.modes import Mode
from wayline.sessions.registry import OpenLog, Registry
from wayline.sessions.session import Session
from wayline.settings import Settings
from wayline.tools.cards import Card, Presentation, ToolOutput
from wayline.wire.jsonrpc import Connection

if TYPE_CHECKING:
    from wayline.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)


class Program:
    """Everything behind one connection: what `acp.agent.Services` asks for."""

    def __init__(
        self,
        homes: Homes,
        chosen: Settings,
        environ: Mapping[str, str] = os.environ,
        open_log: OpenLog = LogFile,
        tools: "Tools | None" = None,
    ) -> None:
        """`tools`, made with the same settings, may be shared by many programs."""
        self.registry = Registry(homes.data, open_log=open_log)
        self.default_mode: Mode = chosen.mode
        self.patience = chosen.permissions.patience
        self._settings = chosen
        self._environ = environ
        self._models = Models(homes, chosen, environ)
        self.default_model = self._models.default
        self._tools = tools or Tools(msgspec.to_builtins(chosen.plugins))
        self._preloading: threading.Thread | None = None

    @property
    def presenter(self) -> "Tools":
        return self._tools

    def models(self) -> Sequence[ModelChoice]:
        return self._models.choices

    def window(self, model: str) -> int | None:
        return self._models.window(model)

    def takes_images(self, model: str) -> bool:
        return self._models.takes_images(model)

    def missing_credentials(self, model: str) -> str | None:
        return self._models.missing_credentials(model)

    def preload(self) -> None:
        """Import in a thread what the first prompt needs. A failure shows when it is needed."""
        if self._preloading is None and not self._tools.loaded:
            self._preloading = threading.Thread(target=self._import_all, daemon=True, name="preload")
            self._preloading.start()

    def _import_all(self) -> None:
        from wayline.loop import loop  # noqa: F401

        self._tools.registry()
        self._models.get(self.default_model)

    async def load_tools(self) -> None:
        await anyio.to_thread.run_sync(self._tools.registry)

    async def run_turn(
        self,
        session: Session,
        model: str,
        mode: Callable[[], Mode],
        asker: Asker,
        said: Prompt,
        cancellation: Cancellation,
    ) -> TurnEndReason:
        if self._preloading is not None and self._preloading.is_alive():
            await anyio.to_thread.run_sync(self._preloading.join)
        from wayline.loop.loop import Turn
        from wayline.loop.parts import Parts

        tools = self._tools.registry()
        if not self._settings.todo.enabled_for(model):
            tools = tools.without("todo_write")
            said = _told_once(session, said, f"The task list is off for {model} (setting todo).")
        parts = Parts(self._models.get(model), tools, asker, mode, self._settings.limits, self._environ)
        return await Turn(session, parts, cancellation).run(said)

    def workspace_warnings(self, cwd: Path) -> Sequence[str]:
        return settings.ignored_in(cwd)

    async def close(self) -> None:
        """Free what the models hold."""
        await self._models.close()


async def converse(
    connection: Connection, program: Program, closing: Callable[[], None] = lambda: None
) -> None:
    """Serve one connection to a clean end; `closing` is called when its peer has gone."""
    async with anyio.create_task_group() as tasks:
        agent = Agent(connection, program, tasks)

        def peer_gone() -> None:
            closing()
            agent.closing()

        await connection.serve(agent.handlers(), agent.listeners(), peer_gone)
        await connection.flush()
        try:
            await agent.close()
        except LogError as error:
            logger.error("a log could not be closed: %s", error)
        await program.close()
        tasks.cancel_scope.cancel()


def _told_once(session: Session, said: Prompt, notice: str) -> Prompt:
    """The prompt with a notice for the person, unless the session's log has it already."""
    if any(
        isinstance(event.data, Notice) and event.data.text == notice for event in session.state.transcript
    ):
        return said
    return msgspec.structs.replace(said, notices=(*said.notices, notice))


class Tools:
    """The built-in tools, loaded when first needed; what shows them, whether they run or are replayed."""

    def __init__(self, config: Mapping[str, Mapping[str, Any]]) -> None:
        self._config = config
        self._registry: ToolRegistry | None = None
        self._loading = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether they are there, and all that a turn imports with them."""
        return self._registry is not None

    def registry(self) -> "ToolRegistry":
        """The tools; blocks while they are loaded."""
        with self._loading:
            if self._registry is None:
                from wayline.plugins.loader import load_built_in
                from wayline.tools.registry import ToolRegistry

                registry = ToolRegistry()
                load_built_in(registry, self._config)
                self._registry = registry
        return self._registry

    def present_call(self, name: str, arguments: str, workspace: Path) -> Presentation:
        return self.registry().present_call(name, arguments, workspace)

    def present_result(
        self, name: str, arguments: str, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        return self.registry().present_result(name, arguments, output, workspace)
