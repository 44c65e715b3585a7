"""A client that drives the installed `wayline acp` as an editor does, line by line.

It reads every line as it is, holds it against the SDK's models, answers what the agent asks, and lets a
test send anything, also what no client library would.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from tests import frames

WAYLINE = Path(sys.executable).with_name("wayline")
#: seconds any single wait may take
PATIENCE = 20.0

Frame = dict[str, Any]
Answer = Callable[[Frame], Frame | None]


class Refused(Exception):
    """The agent answered with an error."""

    def __init__(self, error: Frame) -> None:
        super().__init__(f"{error['code']} {error['message']} {error.get('data')}")
        self.code: int = error["code"]
        self.data: Frame = error.get("data", {})
        self.details: str = self.data.get("details", "")


def choose(option: str) -> Answer:
    """Answers every permission question with this option."""
    return lambda frame: {"outcome": {"outcome": "selected", "optionId": option}}


def no_answer(frame: Frame) -> None:
    """Leaves every question open."""


@dataclass
class Editor:
    """The client's side of one agent process."""

    process: anyio.abc.Process
    answer: Answer = field(default_factory=lambda: choose("allow-once"))
    #: everything that came, in order
    frames: list[Frame] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    _asked: dict[Any, str] = field(default_factory=dict)
    _next_id: int = 1
    _news: anyio.Event = field(default_factory=anyio.Event)
    _ended: bool = False

    async def read(self) -> None:
        """Take what the agent writes, until it closes its stdout."""
        assert self.process.stdout is not None
        buffer = b""
        async for data in self.process.stdout:
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                await self._take(line)
        assert not buffer, f"the last line was not ended: {buffer[:200]!r}"
        self._ended = True
        self._tell()

    async def read_stderr(self) -> None:
        """Keep what the agent says to people."""
        assert self.process.stderr is not None
        async for data in self.process.stderr:
            self.stderr.append(data.decode(errors="replace"))

    async def _take(self, line: bytes) -> None:
        frame = json.loads(line)
        frames.check(frame, line, self._asked.get(frame.get("id")) if "method" not in frame else None)
        self.frames.append(frame)
        self._tell()
        if "method" in frame and "id" in frame:
            result = self.answer(frame)
            if result is not None:
                await self.send({"jsonrpc": "2.0", "id": frame["id"], "result": result})

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def send(self, frame: Any) -> None:
        """Send one message."""
        await self.send_line(json.dumps(frame).encode())

    async def send_line(self, line: bytes) -> None:
        """Send bytes as one line."""
        assert self.process.stdin is not None
        await self.process.stdin.send(line + b"\n")

    async def begin(self, method: str, params: Any, request_id: Any = None) -> Any:
        """Send a request and do not wait; returns its id."""
        if request_id is None:
            request_id = self._next_id
            self._next_id += 1
        self.expect(request_id, method)
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def expect(self, request_id: Any, method: str) -> None:
        """A request of this id and method goes out in some other way."""
        self._asked[request_id] = method

    async def answered(self, request_id: Any) -> Any:
        """The result of a request. Raises `Refused`."""
        frame = await self.until(
            lambda frame: "method" not in frame and frame.get("id") == request_id,
            f"the answer to {request_id}",
        )
        if "error" in frame:
            raise Refused(frame["error"])
        return frame["result"]

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and wait for its result. Raises `Refused`."""
        return await self.answered(await self.begin(method, params))

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def until(self, wanted: Callable[[Frame], bool], what: str, start: int = 0) -> Frame:
        """The first frame, from number `start` on, that is wanted; `what` names it when it never comes."""
        seen = start
        with anyio.move_on_after(PATIENCE):
            while True:
                news = self._news
                for frame in self.frames[seen:]:
                    if wanted(frame):
                        return frame
                seen = len(self.frames)
                assert not self._ended, f"the agent went before {what} came; stderr: {''.join(self.stderr)}"
                await news.wait()
        raise AssertionError(f"no {what} within {PATIENCE} s; last frames: {self.frames[-5:]}")

    async def update(self, kind: str, start: int = 0, /, **members: Any) -> Frame:
        """The first update of a kind with these members."""

        def wanted(frame: Frame) -> bool:
            update = frame.get("params", {}).get("update", {}) if "method" in frame else {}
            return update.get("sessionUpdate") == kind and all(
                update.get(name) == value for name, value in members.items()
            )

        frame = await self.until(wanted, f"{kind} {members}", start)
        update: Frame = frame["params"]["update"]
        return update

    async def question(self, start: int = 0) -> Frame:
        """The first permission question."""
        return await self.until(
            lambda frame: frame.get("method") == "session/request_permission", "permission question", start
        )

    def updates(self, session_id: str | None = None, start: int = 0) -> list[Frame]:
        """All updates so far, of one session when given."""
        return [
            frame["params"]["update"]
            for frame in self.frames[start:]
            if frame.get("method") == "session/update" and session_id in (None, frame["params"]["sessionId"])
        ]

    def said(self, session_id: str | None = None, start: int = 0) -> str:
        """What the agent said, joined."""
        return "".join(
            update["content"]["text"]
            for update in self.updates(session_id, start)
            if update["sessionUpdate"] == "agent_message_chunk"
        )

    def plans(self, session_id: str | None = None, start: int = 0) -> list[list[Frame]]:
        """The entries of every plan that came."""
        return [
            update["entries"]
            for update in self.updates(session_id, start)
            if update["sessionUpdate"] == "plan"
        ]

    async def initialize(self) -> Frame:
        """Shake hands."""
        result: Frame = await self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return result

    async def new(self, cwd: Path) -> str:
        """Start a session; returns its id."""
        session_id: str = (await self.request("session/new", {"cwd": str(cwd), "mcpServers": []}))[
            "sessionId"
        ]
        return session_id

    async def load(self, session_id: str, cwd: Path) -> Frame:
        """Load a session."""
        result: Frame = await self.request(
            "session/load", {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}
        )
        return result

    async def begin_prompt(self, session_id: str, text: str) -> Any:
        """Send a prompt and do not wait; returns the request's id."""
        return await self.begin(
            "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        )

    async def prompt(self, session_id: str, text: str = "go on") -> str:
        """Send a prompt; returns its stop reason."""
        stop: str = (await self.answered(await self.begin_prompt(session_id, text)))["stopReason"]
        return stop

    async def cancel(self, session_id: str) -> None:
        """Cancel the session's turn."""
        await self.notify("session/cancel", {"sessionId": session_id})

    async def hang_up(self) -> int:
        """Close the agent's stdin and wait for its end; returns the exit status."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        return await self.ended()

    async def ended(self) -> int:
        """Wait for the agent's end; returns the exit status."""
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def editor(
    home: Path, *arguments: str, answer: Answer | None = None, env: dict[str, str] | None = None
) -> AsyncIterator[Editor]:
    """The installed command with `acp` and these arguments, on a data home of its own."""
    command: Sequence[str] = [str(WAYLINE), "acp", *arguments]
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("WAYLINE", "DEEPSEEK"))
    }
    environment = {**clean, "WAYLINE_HOME": str(home), "WAYLINE_INVARIANTS": "1", **(env or {})}
    async with await anyio.open_process(
        command, env=environment, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        client = Editor(process)
        if answer is not None:
            client.answer = answer
        try:
            async with anyio.create_task_group() as reading:
                reading.start_soon(client.read)
                reading.start_soon(client.read_stderr)
                try:
                    yield client
                    if process.returncode is None:
                        await client.hang_up()
                finally:
                    reading.cancel_scope.cancel()
        finally:
            if process.returncode is None:
                process.kill()
