"""What is loaded before a session is answered, and what happens right after."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editor import WAYLINE

#: What may be imported before `session/new` is answered, besides the standard library and Wayline's own
#: modules. Whoever adds to this list measures the start first (`python -m benchmarks start`).
ALLOWED = {"anyio", "msgspec", "sniffio", "idna", "typing_extensions"}
#: Parts of Wayline that only a prompt or a load needs.
LATER = {
    "wayline.loop.loop",
    "wayline.loop.dispatch",
    "wayline.tools.base",
    "wayline.tools.registry",
    "wayline.plugins.loader",
    "wayline.models.openai_chat",
    "wayline.demo",
}
#: Standard library modules that are slow to import and not needed.
HEAVY = {
    "importlib.metadata",
    "tomllib",
    "http.client",
    "urllib.request",
    "email.message",
    "hashlib",
}

PROBE = """
import sys
before = set(sys.modules)
from wayline.wire.jsonrpc import Connection
answer = Connection._send
def probe(self, message):
    answer(self, message)
    if "sessionId" in (message.get("result") or {}):
        sys.stderr.write("LOADED " + " ".join(sorted(set(sys.modules) - before)) + "\\n")
        sys.stderr.flush()
Connection._send = probe
from wayline.cli import main
raise SystemExit(main(["acp"]))
"""


def conversation(workspace: Path) -> bytes:
    frames = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": {"cwd": str(workspace), "mcpServers": []}},
    ]
    return b"".join(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n" for frame in frames)


@pytest.fixture
def loaded(tmp_path: Path) -> set[str]:
    """The modules there are the moment the first session is answered."""
    env = {**os.environ, "HOME": str(tmp_path), "DEEPSEEK_API_KEY": "not-a-key"}
    env.pop("WAYLINE_HOME", None)
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=conversation(tmp_path),
        env=env,
        capture_output=True,
        timeout=30,
        check=True,
    )
    (line,) = [line for line in result.stderr.decode().splitlines() if line.startswith("LOADED ")]
    return set(line.split()[1:])


def test_only_what_a_session_needs_is_loaded_before_it_is_answered(loaded: set[str]):
    packages = {name.partition(".")[0] for name in loaded}
    foreign = {name for name in packages if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert foreign - {"wayline"} <= ALLOWED
    assert not loaded & LATER
    assert not loaded & HEAVY


def test_initialize_needs_no_credentials_and_no_home(tmp_path: Path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "none")}
    result = subprocess.run(
        [str(WAYLINE), "acp"],
        input=conversation(tmp_path),
        env=env,
        capture_output=True,
        timeout=30,
        check=True,
    )
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["result"]["protocolVersion"] == 1
    assert second["error"]["code"] == -32000
    assert "DEEPSEEK_API_KEY" in second["error"]["data"]["details"]
    assert not (tmp_path / "none").exists()
