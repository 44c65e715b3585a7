"""An agent process, driven line by line with as little in between as possible."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAYLINE = [str(Path(sys.executable).with_name("wayline")), "acp"]
ECHO = [sys.executable, str(Path(__file__).with_name("echo_agent.py"))]
TICK = os.sysconf("SC_CLK_TCK")


class Agent:
    """A running agent; `started` is when it was spawned."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self._next_id = 0

    def ask(self, method: str, params: dict[str, Any], until: bytes | None = None) -> float:
        """Send a request; seconds until its answer, or until a line that holds `until`."""
        assert self.process.stdin is not None
        self._next_id += 1
        frame = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        begun = time.perf_counter()
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()
        self.answer = self._wait(until)
        return time.perf_counter() - begun

    def _wait(self, until: bytes | None) -> dict[str, Any]:
        assert self.process.stdout is not None
        own = [b'"id":%d' % self._next_id, b'"id": %d' % self._next_id]
        while line := self.process.stdout.readline():
            if until is not None:
                if until in line:
                    return {}
            elif b'"method"' not in line and any(mark in line for mark in own):
                answer: dict[str, Any] = json.loads(line)
                if "error" in answer:
                    raise SystemExit(f"{answer['error']}")
                return answer
        raise SystemExit("the agent went away")

    def finish(self) -> None:
        """Wait for the answer of the last request."""
        self._wait(None)

    def prompt(self, session: str, text: str, until: bytes | None = None) -> float:
        """Prompt; seconds until the answer, or the line."""
        content = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"sessionId": session, "prompt": content}, until)

    def new(self, cwd: Path) -> str:
        """Shake hands and start a session."""
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.ask("session/new", {"cwd": str(cwd), "mcpServers": []})
        session: str = self.answer["result"]["sessionId"]
        return session

    def processor_seconds(self) -> float:
        """What the process tree has used so far."""
        return sum(_ticks(pid) for pid in _tree(self.process.pid)) / TICK

    def peak_megabytes(self) -> float:
        """The most memory the process tree held."""
        return sum(_peak_kilobytes(pid) for pid in _tree(self.process.pid)) / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="utf-8").split():
            yield from _tree(int(child))


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(int(fields[place]) for place in (11, 12, 13, 14))


def _peak_kilobytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@contextmanager
def agent(command: list[str], home: Path, base_url: str = "http://127.0.0.1:1") -> Iterator[Agent]:
    """A process with a home of its own. Bytecode may be kept, as on a person's machine."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("WAYLINE", "PYTHON"))}
    env |= {"HOME": str(home), "DEEPSEEK_API_KEY": "not-a-key", "DEEPSEEK_BASE_URL": base_url}
    running = Agent(command, env)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


@contextmanager
def provider(chunks: int, seconds: float = 0.0) -> Iterator[str]:
    """A provider process; gives its base URL."""
    command = [sys.executable, "-m", "benchmarks.provider", str(chunks), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()
