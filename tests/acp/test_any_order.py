"""Whatever is asked in whatever order, and without waiting, every request gets its answer."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Play, todos
from tests.editor import Refused
from wayline.log.reader import read

pytestmark = pytest.mark.anyio

#: enough lines for every request of every turn
SCRIPT = [[todos(("a", "pending"))], [{"text": "words "}]] * 400
ROUNDS = 12
REQUESTS = 40


def requests(session: str, workspace: Path, chance: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Requests about one session, in no sensible order."""
    of_session = {"sessionId": session}
    place = {"cwd": str(workspace), "mcpServers": []}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("session/prompt", {**of_session, "prompt": [{"type": "text", "text": "go"}]}),
        ("session/load", {**of_session, **place}),
        ("session/close", of_session),
        ("session/set_mode", {**of_session, "modeId": "full"}),
        ("session/set_config_option", {**of_session, "configId": "mode", "value": "ask"}),
        ("session/list", {}),
        ("session/cancel", of_session),
        ("$/cancel_request", {"requestId": chance.randrange(REQUESTS)}),
    ]
    return chance.choices(kinds, weights=[6, 4, 3, 2, 1, 1, 1, 1], k=REQUESTS)


@pytest.mark.parametrize("seed", range(3))
async def test_requests_about_one_session_in_any_order(play: Play, workspace: Path, home: Path, seed: int):
    chance = random.Random(seed)
    async with play(*SCRIPT) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        for number in range(ROUNDS):
            lines, ids = [], []
            for index, (method, params) in enumerate(requests(session, workspace, chance)):
                frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
                if method not in ("session/cancel", "$/cancel_request"):
                    frame["id"] = f"{number}.{index}"
                    ids.append(frame["id"])
                    client.expect(frame["id"], method)
                lines.append(json.dumps(frame))
            await client.send_line("\n".join(lines).encode())
            for request_id in ids:
                try:
                    await client.answered(request_id)
                except Refused as refused:
                    assert refused.code in (-32002, -32800), refused
        await client.load(session, workspace)
        assert await client.prompt(session) in ("end_turn", "max_turn_requests")
    (path,) = home.glob(f"sessions/*/{session}/log.jsonl")
    assert read(path.read_bytes()).fault is None
