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


async def test_an_edit_of_a_large_file_that_is_cancelled(play: Play, workspace: Path):
    (workspace / "f").write_text("a\n" * 10_000_000, encoding="utf-8")
    edit = call("edit", "c2", file_path="f", old_string="a", new_string="bb", replace_all=True)
    async with play([call("read", file_path="f")], [edit], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.update("tool_call", toolCallId="c2")
        await client.cancel(session)
        await client.request("session/list", {})
        assert (await client.answered(request_id))["stopReason"] == "cancelled"
    assert (workspace / "f").stat().st_size in (20_000_000, 30_000_000)
