"""The reference: the smallest agent on `agent-client-protocol` that answers and echoes."""

import asyncio
from typing import Any, cast
from uuid import uuid4

import acp


class Echo:
    """Says back what it was told. Of `acp.Agent` it has what the benchmark calls."""

    def on_connect(self, conn: acp.interfaces.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, prompt: list[Any], session_id: str, **kwargs: Any) -> acp.PromptResponse:
        for block in prompt:
            await self._client.session_update(session_id, acp.update_agent_message(block))
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, Echo())))
