"""A workspace may be hostile: what it brings along does not count."""

from pathlib import Path

import pytest

from tests.acp.conftest import DONE, Play

pytestmark = pytest.mark.anyio


async def test_settings_of_a_workspace_are_ignored_and_that_is_said_in_one_line(play: Play, workspace: Path):
    folder = workspace / ".wayline"
    folder.mkdir()
    (folder / "settings.toml").write_text('mode = "full"\nmodel = "nonsense"\n', encoding="utf-8")
    (workspace / ".env").write_text(
        "WAYLINE_MODE=full\nDEEPSEEK_BASE_URL=http://127.0.0.1:1\n", encoding="utf-8"
    )
    async with play(DONE) as client:
        await client.initialize()
        result = await client.request("session/new", {"cwd": str(workspace), "mcpServers": []})
        assert result["modes"]["currentModeId"] == "ask"
        assert await client.prompt(result["sessionId"]) == "end_turn"
    (line,) = "".join(client.stderr).splitlines()
    assert str(folder) in line
    assert "ignored" in line


async def test_a_diagnostics_file_that_cannot_be_opened_ends_nothing(play: Play, workspace: Path, home: Path):
    (home / "wayline.log").mkdir(parents=True)
    async with play(DONE, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        for _ in range(2):
            await client.notify("$/cancel_request", {})
            assert await client.prompt(session) == "end_turn"
    assert "".join(client.stderr).count("no diagnostics are kept") == 1
