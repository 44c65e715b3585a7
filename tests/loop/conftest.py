"""A turn in a session in memory, with the real tools and a model that remembers what it was asked."""

import json
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from wayline.log.codec import decode, encode
from wayline.log.content import Chunk, Text
from wayline.log.events import Event, Header, PermissionOutcome, TurnEndReason
from wayline.log.invariants import Invariants
from wayline.log.memory import MemoryStore
from wayline.loop.base import CallQuestion, Cancellation, Limits, Prompt
from wayline.loop.loop import Turn
from wayline.loop.parts import Parts
from wayline.models.base import ModelRequest
from wayline.models.scripted import ScriptedModel, parse
from wayline.permissions.modes import Mode
from wayline.plugins.loader import load_built_in
from wayline.sessions.session import Session
from wayline.tools.registry import ToolRegistry

Step = list[dict[str, Any]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Remembering(ScriptedModel):
    """Plays a script and keeps the requests."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(parse([json.dumps(step) for step in steps], "test"))
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        async for chunk in super().stream(request):
            yield chunk


class Yes:
    """A person who allows everything."""

    async def ask(self, question: CallQuestion) -> PermissionOutcome:
        return "allow-once"


class Conversation:
    """A session in memory that prompts can be run in."""

    def __init__(self, folder: Path, steps: Sequence[Step], limits: Limits, store: MemoryStore) -> None:
        workspace = folder / "workspace"
        workspace.mkdir()
        header = Header(version=0, id="s", created_at=0, cwd=str(workspace))
        store.append(encode(header))
        ticks = iter(range(10**9))
        self.store = store
        self.workspace = workspace
        self.session = Session(header, store, folder, workspace, clock=lambda: next(ticks))
        self.model = Remembering(steps)
        self.tools = ToolRegistry()
        load_built_in(self.tools)
        self.limits = limits
        self.mode: Mode = "ask"
        self.cancellation = Cancellation()

    async def prompt(self, text: str = "go") -> TurnEndReason:
        """Run one turn."""
        parts = Parts(self.model, self.tools, Yes(), lambda: self.mode, self.limits, os.environ)
        return await Turn(self.session, parts, self.cancellation).run(Prompt((Text(text),)))

    def events(self) -> list[Event]:
        """The log as it stands in the store, held against every rule."""
        events = [decode(line) for line in self.store.read().splitlines()[1:]]
        rules = Invariants()
        for event in events:
            rules.check(event)
        return events

    def types(self) -> list[str]:
        """The types of the log, deltas left out."""
        return [event.type for event in self.events() if event.type != "assistant/chunk"]


@pytest.fixture
def conversation(tmp_path: Path) -> Any:
    """Makes a conversation of steps."""

    def make(*steps: Step, store: MemoryStore | None = None, **limits: Any) -> Conversation:
        quick = Limits(first_delay=0.0, **limits)
        return Conversation(tmp_path, steps, quick, store or MemoryStore())

    return make
