"""A workspace, a data home, and an editor on a script."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.editor import Answer, Editor, editor

Step = list[dict[str, Any]]
Play = Callable[..., AbstractAsyncContextManager[Editor]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def play(tmp_path: Path, home: Path) -> Play:
    """An editor on an agent whose model plays these steps; the same data home each time."""

    def start(
        *steps: Step, mode: str | None = None, answer: Answer | None = None, env: dict[str, str] | None = None
    ) -> AbstractAsyncContextManager[Editor]:
        script = tmp_path / "script.jsonl"
        script.write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")
        arguments = ["--model", f"scripted:{script}", *(["--mode", mode] if mode else [])]
        return editor(home, *arguments, answer=answer, env=env)

    return start


def call(name: str, call_id: str = "c1", /, **arguments: Any) -> dict[str, Any]:
    """A script's item: one tool call."""
    return {"call": {"id": call_id, "name": name, "arguments": arguments}}


def todos(*items: tuple[str, str], call_id: str = "t1") -> dict[str, Any]:
    """A script's item: one write of the list."""
    return call("todo_write", call_id, todos=[{"content": text, "status": status} for text, status in items])


DONE: Step = [{"text": "DONE"}]


def log_of(home: Path, session_id: str) -> list[dict[str, Any]]:
    """The events of a session, as they stand on disk."""
    (path,) = home.glob(f"sessions/*/{session_id}/log.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][1:]


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The payloads of one type."""
    return [event["data"] for event in events if event["type"] == kind]
