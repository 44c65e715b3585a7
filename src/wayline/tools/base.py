"""The contract between a tool and the agent that runs it.

A tool is a small object with a name, a description, a pydantic model of its arguments and an async
`run`. What it may need of the agent comes in a `ToolRun`; what it shows of itself is computed from
its arguments and its output alone, so that a live call and a replayed one look the same.

    ToolFailure        a result the model reads: a code, and a text that says how to mend it
    ├── UnknownTool        UNKNOWN_TOOL
    ├── InvalidArguments   INVALID_ARGS
    ├── Denied             DENIED
    ├── TimedOut           TOOL_TIMEOUT
    └── Failed             TOOL_FAILED, what a tool raises when it cannot do what was asked
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from wayline.log.events import PermissionOutcome, TodoItem
from wayline.permissions.modes import Access, Mode
from wayline.tools.cards import (
    Card,
    DiffCard,
    Location,
    Presentation,
    TerminalCard,
    TextCard,
    ToolKind,
    ToolOutput,
)

__all__ = [
    "Arguments",
    "Card",
    "Denied",
    "DiffCard",
    "Failed",
    "InvalidArguments",
    "Location",
    "PluginContext",
    "Presentation",
    "Question",
    "TerminalCard",
    "TextCard",
    "TimedOut",
    "TodoSink",
    "Tool",
    "ToolFailure",
    "ToolKind",
    "ToolOutput",
    "ToolRun",
    "UnknownTool",
]


class Arguments(BaseModel):
    """Base of every tool's arguments: no extra keys, no coercion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Question:
    """What the person is asked about a call; `grant` says what an answer for the session covers."""

    title: str
    grant: str


class TodoSink(Protocol):
    """The owning session's task list. `write` returns when the new list is on disk."""

    async def write(self, todos: tuple[TodoItem, ...]) -> None:
        """Replace the list."""


@dataclass(frozen=True)
class ToolRun:
    """What one call may use of the agent.

    `workspace` is absolute with links resolved. `seen` maps absolute paths to the sha256 of the bytes
    the model knows. `todos` is None when no agent session owns the call. `report` shows output while
    the call runs. `ask` puts a question to the person and returns their answer. `spill` keeps a text in
    a private file and returns its path; files under `spilled` may be read without asking.

    `mode` is the one in force when it is called: the person can change it at any time. `environ` is the
    agent's environment, secrets and all.
    `paths` is `Access.paths` as the registry had it permitted: a tool touches these and does not resolve
    its arguments a second time, because a link may have changed while the person was asked.
    """

    call_id: str
    workspace: Path
    mode: Callable[[], Mode]
    environ: Mapping[str, str]
    grants: frozenset[str]
    seen: Mapping[str, str]
    todos: TodoSink | None
    report: Callable[[str], None]
    ask: Callable[[Question], Awaitable[PermissionOutcome]]
    spill: Callable[[str], Path]
    spilled: Path
    paths: tuple[Path, ...] = ()


A_contra = TypeVar("A_contra", bound=Arguments, contravariant=True)


class Tool(Protocol[A_contra]):
    """What a tool offers. Only `run` touches the world."""

    @property
    def name(self) -> str:
        """The name the model calls it by."""

    @property
    def description(self) -> str:
        """What the model is told of it."""

    @property
    def arguments(self) -> type[Arguments]:
        """The model of its arguments."""

    @property
    def timeout(self) -> float | None:
        """Seconds it may run, None for no limit of the registry's."""

    def access(self, arguments: A_contra, run: ToolRun) -> Access:
        """What the call wants to touch, for the permission check."""

    def parallel_safe(self, arguments: A_contra) -> bool:
        """Whether it may run beside other calls of the same step."""

    def present_call(self, arguments: A_contra, workspace: Path) -> Presentation:
        """How the call is shown before its result; pure."""

    def present_result(self, arguments: A_contra, output: ToolOutput, workspace: Path) -> tuple[Card, ...]:
        """The cards that show the finished call, in place of those of the call; pure."""

    async def run(self, arguments: A_contra, run: ToolRun) -> ToolOutput:
        """Do it. Raises `ToolFailure` for what the model should know and mend."""


class ToolFailure(Exception):
    """A call that did not do what was asked; the message is for the model."""

    code: ClassVar[str] = "TOOL_FAILED"


class UnknownTool(ToolFailure):
    """There is no tool of that name."""

    code = "UNKNOWN_TOOL"


class InvalidArguments(ToolFailure):
    """The arguments do not fit."""

    code = "INVALID_ARGS"


class Denied(ToolFailure):
    """It may not run: the mode, a rule or the person says so."""

    code = "DENIED"


class TimedOut(ToolFailure):
    """It took longer than it may."""

    code = "TOOL_TIMEOUT"


class Failed(ToolFailure):
    """The tool ran into something it cannot get past."""


class PluginContext(Protocol):
    """What a plugin is given to register its parts with; it owns them and can undo each."""

    def tool(self, tool: Tool[Any]) -> None:
        """Offer a tool to the model."""
