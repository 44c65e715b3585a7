"""A session small enough for tests of tools: real files, real answers, everything written down."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from wayline.log.content import Text
from wayline.log.events import PermissionOutcome, TodoItem
from wayline.permissions.modes import Mode
from wayline.plugins.loader import load_built_in
from wayline.tools.base import Question, ToolOutput, ToolRun
from wayline.tools.registry import ToolRegistry


def built_in(**config) -> ToolRegistry:
    registry = ToolRegistry()
    load_built_in(registry, config)
    return registry


@dataclass
class Todos:
    lists: list[tuple[TodoItem, ...]] = field(default_factory=list)

    async def write(self, todos: tuple[TodoItem, ...]) -> None:
        self.lists.append(todos)


@dataclass
class Session:
    """One agent session: it remembers what was seen, and answers questions with `answer`."""

    workspace: Path
    spilled: Path
    registry: ToolRegistry = field(default_factory=built_in)
    mode: Mode = "full"
    answer: PermissionOutcome = "reject"
    grants: frozenset[str] = frozenset()
    seen: dict[str, str] = field(default_factory=dict)
    todos: Todos | None = field(default_factory=Todos)
    questions: list[Question] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    while_asked: Callable[[], object] = lambda: None

    async def call(self, name: str, **arguments) -> ToolOutput:
        return await self.call_raw(name, json.dumps(arguments))

    async def call_raw(self, name: str, arguments: str) -> ToolOutput:
        output = await self.registry.execute(name, arguments, self.run())
        self.seen |= output.meta.get("seen", {})
        return output

    def run(self) -> ToolRun:
        return ToolRun(
            call_id="call-1",
            workspace=self.workspace,
            mode=lambda: self.mode,
            environ=os.environ,
            grants=self.grants,
            seen=self.seen,
            todos=self.todos,
            report=self.reports.append,
            ask=self.ask,
            spill=self.spill,
            spilled=self.spilled,
        )

    async def ask(self, question: Question) -> PermissionOutcome:
        self.questions.append(question)
        self.while_asked()
        if self.answer == "allow-session":
            self.grants |= {question.grant}
        return self.answer

    def spill(self, text: str) -> Path:
        self.spilled.mkdir(exist_ok=True)
        path = self.spilled / f"{len(list(self.spilled.iterdir()))}.txt"
        path.write_text(text, encoding="utf-8", newline="")
        return path


def words(output: ToolOutput) -> str:
    return "\n".join(block.text for block in output.content if isinstance(block, Text))


def alive(pid: int) -> bool:
    """Whether the process runs: one that ended and waits for its parent does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


async def eventually(what: Callable[[], object], within: float = 10) -> None:
    """Wait until `what()` is true; a bounded wait, never a fixed one."""
    with anyio.fail_after(within):
        while not what():
            await anyio.sleep(0.005)
