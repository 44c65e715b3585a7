"""Nothing a model asks for stops the agent: others are answered meanwhile, and the call ends."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import DONE, Play, call

pytestmark = pytest.mark.anyio

STARS = "*a" * 12 + "*b"


@pytest.mark.parametrize("path", ["", None], ids=["ripgrep", "python"])
@pytest.mark.parametrize(
    "item",
    [call("glob", pattern=STARS), call("glob", pattern=f"!{STARS}"), call("grep", pattern="x", glob=STARS)],
)
async def test_a_hostile_glob(play: Play, workspace: Path, item: dict[str, Any], path: str | None):
    (workspace / ("a" * 80)).touch()
    (workspace / ".gitignore").write_text(f"{STARS}\n", encoding="utf-8")
    env = {} if path is None else {"PATH": path}
    async with play([item], DONE, env=env) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.request("session/list", {})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"


@pytest.mark.parametrize("output", ["'\\r' * 500_000", "'\\x1b]' * 500_000", "'a' * 500_000 + '\\r'"])
async def test_hostile_output(play: Play, workspace: Path, output: str):
    item = call("bash", command=f'{sys.executable} -c "print({output})"')
    async with play([item], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.request("session/list", {})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
