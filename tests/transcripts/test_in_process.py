"""Wayline in this process: dropped at any moment, it is gone, and nothing of it is written any more."""

import json
import os
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.processes import gone, pid_in
from wayline.transcripts.format import Transcript, parse
from wayline.transcripts.playing import places
from wayline.transcripts.playing.agents import RunningAgent
from wayline.transcripts.playing.in_process import InProcess
from wayline.transcripts.playing.player import play

pytestmark = pytest.mark.anyio

COMMAND = "echo $$ > pid; sleep 1000 & echo $! > child; wait"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def transcript(tmp_path: Path, meta: object, *steps: object) -> Transcript:
    lines = [{"meta": meta}, *steps]
    return parse("\n".join(map(json.dumps, lines)), tmp_path / "t.jsonl")


TURN = [
    {"send": {"method": "initialize", "params": {"protocolVersion": 1}}, "as": "init"},
    {"send": {"method": "session/new", "params": {"cwd": "${cwd}", "mcpServers": []}}, "as": "new"},
    {"expect": {"result": {"sessionId": "${session:=…}"}}, "to": "new"},
    {
        "send": {
            "method": "session/prompt",
            "params": {"sessionId": "${session}", "prompt": [{"type": "text", "text": "go"}]},
        },
        "as": "p1",
    },
]


async def test_given_up_at_any_moment_of_a_turn_it_ends(tmp_path: Path):
    whole = transcript(
        tmp_path,
        {
            "name": "words",
            "script": [
                [
                    {"deltas": ["word "] * 20},
                    {"call": {"id": "t1", "name": "todo_write", "arguments": {"todos": []}}},
                ],
                [{"text": "DONE"}],
            ],
        },
        *TURN,
        {"expect": {"result": {"stopReason": "end_turn"}}, "to": "p1"},
    )
    agents = InProcess(os.environ)
    assert (await play(whole, agents)).failure is None
    for moments in range(0, 160, 2):
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(play, whole, agents)
                for _ in range(moments):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()


async def test_a_kill_ends_its_commands_and_nothing_more_is_written(tmp_path: Path):
    call = {"call": {"id": "b1", "name": "bash", "arguments": {"command": COMMAND}}}
    with places.fresh(transcript(tmp_path, {"name": "tool", "script": [[call]], "mode": "full"})) as place:
        async with InProcess(os.environ).start(place) as agent:
            await agent.send(request(0, "initialize", {"protocolVersion": 1}))
            await agent.send(request(1, "session/new", {"cwd": str(place.workspace)}))
            session = json.loads(await answer(agent, 1))["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
            await agent.send(request(2, "session/prompt", prompt))
            pids = [await pid_in(place.workspace / "pid"), await pid_in(place.workspace / "child")]
            (log,) = place.home.glob("sessions/*/*/log.jsonl")
            before = log.read_bytes()
            await agent.kill()
            for pid in pids:
                await gone(pid)
            assert log.read_bytes() == before
            assert json.loads(before.splitlines()[-1])["type"] == "tool/call"
            assert not agent.stderr


def request(number: int, method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


async def answer(agent: RunningAgent, number: int) -> bytes:
    while (line := await agent.receive()) is not None:
        if json.loads(line).get("id") == number:
            return line
    raise AssertionError("the agent went")
