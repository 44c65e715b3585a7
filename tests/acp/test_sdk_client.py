"""The whole of it through the Python SDK's own client."""

import os
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from tests.editor import WAYLINE
from wayline.models.scripted import DEMO

pytestmark = pytest.mark.anyio


class Client:
    """Keeps what it is told and allows what it is asked."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, **kwargs: Any) -> schema.RequestPermissionResponse:
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id="allow-once")
        )

    def plans(self) -> list[list[str]]:
        return [
            [entry.status for entry in update.entries]
            for update in self.updates
            if isinstance(update, schema.AgentPlanUpdate)
        ]


def agent(client: Client, home: Path, model: str) -> Any:
    env = {**os.environ, "WAYLINE_HOME": str(home), "WAYLINE_INVARIANTS": "1"}
    return acp.spawn_agent_process(cast(acp.Client, client), str(WAYLINE), "acp", "--model", model, env=env)


async def test_the_demo_task_is_planned_done_and_loaded(workspace: Path, home: Path):
    from wayline.demo import FILES

    for name, text in FILES.items():
        (workspace / name).write_text(text, encoding="utf-8")
    client = Client()
    async with agent(client, home, f"scripted:{DEMO}") as (connection, _):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=str(workspace), mcp_servers=[])
        answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("mend it")])
        assert answer.stop_reason == "end_turn"
    assert client.plans()[0] == ["in_progress", "pending", "pending"]
    assert client.plans()[-1] == ["completed", "completed", "completed"]
    assert "price - price" in (workspace / "pricing.py").read_text(encoding="utf-8")
    again = Client()
    async with agent(again, home, f"scripted:{DEMO}") as (connection, _):
        await connection.initialize(protocol_version=1)
        listed = await connection.list_sessions(cwd=str(workspace))
        assert [entry.session_id for entry in listed.sessions] == [session.session_id]
        await connection.load_session(cwd=str(workspace), session_id=session.session_id, mcp_servers=[])
    assert again.plans() == [["completed", "completed", "completed"]]
