"""The end of a process, however it comes: gone within seconds, no child left, the log whole."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.conftest import DONE, Play, Step, call, log_of, of_type
from tests.editor import WAYLINE, Editor, no_answer
from tests.processes import gone, pid_in

pytestmark = pytest.mark.anyio

STREAM: Step = [{"text": "so "}, {"hang": True}]
TOOL: Step = [call("bash", command="echo $$ > pid; sleep 1000 & echo $! > child; wait")]
ASK: Step = [call("write", file_path="x", content="y")]
RETRY: Step = [{"error": {"code": "UNAVAILABLE", "message": "try later", "retry_after": 60}}]


async def in_the_middle(client: Editor, step: Step, workspace: Path) -> tuple[str, list[int]]:
    """Bring a session to where the step hangs; returns it and the processes of its tool."""
    await client.initialize()
    session = await client.new(workspace)
    await client.begin_prompt(session, "go")
    if step is TOOL:
        return session, [await pid_in(workspace / "pid"), await pid_in(workspace / "child")]
    if step is ASK:
        await client.question()
    else:
        await client.update("agent_message_chunk")
    return session, []


def mode_of(step: Step) -> str:
    return "ask" if step is ASK else "full"


@pytest.mark.parametrize("step", [STREAM, TOOL, ASK, RETRY], ids=["stream", "tool", "question", "retry"])
@pytest.mark.parametrize("how", ["eof", "term", "hup"])
async def test_an_end_in_the_middle_of_a_turn_closes_it(
    play: Play, workspace: Path, home: Path, step: Step, how: str
):
    async with play(step, DONE, mode=mode_of(step), answer=no_answer) as client:
        session, pids = await in_the_middle(client, step, workspace)
        if how == "eof":
            status = await client.hang_up()
        else:
            client.process.send_signal(signal.SIGTERM if how == "term" else signal.SIGHUP)
            status = await client.ended()
        assert status == 0
        for pid in pids:
            await gone(pid)
    events = log_of(home, session)
    assert events[-1]["type"] == "turn/end"
    assert events[-1]["data"]["reason"] == {"kind": "aborted", "reason": "the client has gone"}
    assert not (workspace / "x").exists()


@pytest.mark.parametrize("step", [STREAM, TOOL, ASK, RETRY], ids=["stream", "tool", "question", "retry"])
async def test_a_kill_leaves_no_process_and_a_log_that_goes_on(
    play: Play, workspace: Path, home: Path, step: Step
):
    async with play(
        step, [{"text": "after"}], [{"text": "after"}], mode=mode_of(step), answer=no_answer
    ) as client:
        session, pids = await in_the_middle(client, step, workspace)
        told = client.said()
        client.process.kill()
        await client.ended()
        for pid in pids:
            await gone(pid)
    async with play(
        step, [{"text": "after"}], [{"text": "after"}], mode=mode_of(step), answer=no_answer
    ) as client:
        await client.initialize()
        await client.load(session, workspace)
        if step is STREAM:
            assert client.said() == told
        cards = {u["toolCallId"]: u["status"] for u in client.updates() if "toolCallId" in u}
        assert set(cards.values()) <= {"failed"}
        once = log_of(home, session)
        await client.request("session/close", {"sessionId": session})
        await client.load(session, workspace)
        assert log_of(home, session) == once
        assert await client.prompt(session, "go on") == "end_turn"
        assert client.said().endswith("after")
    ends = [end["reason"]["kind"] for end in of_type(log_of(home, session), "turn/end")]
    assert ends == ["interrupted", "completed"]
    codes = [result["error"]["code"] for result in of_type(log_of(home, session), "tool/result")]
    assert codes == {id(TOOL): ["TOOL_OUTCOME_UNKNOWN"], id(ASK): ["TOOL_NOT_STARTED"]}.get(id(step), [])


def talk(home: Path, lines: list[Any], *arguments: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command on fixed input, to its end."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("WAYLINE", "DEEPSEEK"))
    }
    return subprocess.run(
        [str(WAYLINE), "acp", *arguments],
        input=data,
        env={**clean, "WAYLINE_HOME": str(home)},
        capture_output=True,
        timeout=20,
        check=False,
        **how,
    )


INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


def test_a_client_that_closes_its_ears_ends_the_agent(workspace: Path, home: Path, tmp_path: Path):
    script = tmp_path / "script.jsonl"
    script.write_text(
        json.dumps([{"text": "a"}, {"pause": 0.3}, {"text": "b"}, {"hang": True}]), encoding="utf-8"
    )
    process = subprocess.Popen(
        [str(WAYLINE), "acp", "--model", f"scripted:{script}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "WAYLINE_HOME": str(home)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin as to_agent, process.stdout as from_agent:
        for request_id, method, params in [
            (1, "initialize", {"protocolVersion": 1}),
            (2, "session/new", {"cwd": str(workspace), "mcpServers": []}),
        ]:
            frame = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
            to_agent.write(json.dumps(frame).encode() + b"\n")
            to_agent.flush()
            answer = json.loads(from_agent.readline())
        session = answer["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        frame = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt}
        to_agent.write(json.dumps(frame).encode() + b"\n")
        to_agent.flush()
        while b"agent_message_chunk" not in from_agent.readline():
            pass
        from_agent.close()
        assert process.wait(timeout=20) == 0
    assert log_of(home, session)[-1]["type"] == "turn/end"


def test_input_from_a_file_is_answered(home: Path, tmp_path: Path):
    script = tmp_path / "in.jsonl"
    script.write_text(json.dumps(INITIALIZE) + "\n", encoding="utf-8")
    with script.open("rb") as file:
        result = subprocess.run(
            [str(WAYLINE), "acp", "--model", "scripted"],
            stdin=file,
            env={**os.environ, "WAYLINE_HOME": str(home)},
            capture_output=True,
            timeout=20,
            check=False,
        )
    assert result.returncode == 0
    assert json.loads(result.stdout)["result"]["protocolVersion"] == 1


def test_a_last_line_without_a_newline_is_not_taken_for_whole(home: Path):
    result = talk(home, [], "--model", "scripted")
    assert (result.returncode, result.stdout) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "scripted:/no/such/file"], "cannot read the script"),
        (["--model", "replay:/no/such/file"], "cannot read"),
        (["--model", "nonsense"], "no provider is known"),
        (["--mode", "yolo"], "mode"),
    ],
)
def test_a_start_that_cannot_be_says_why_in_one_line(home: Path, arguments: list[str], said: str):
    result = talk(home, [INITIALIZE], *arguments)
    assert result.returncode != 0
    assert result.stdout == b""
    (line,) = result.stderr.decode().splitlines()
    assert said in line


@pytest.mark.parametrize("text", ["model = 7", "modle = 'x'", "model = ", "[limits]\nstep = 3"])
def test_settings_that_cannot_be_used_are_named_with_file_and_reason(home: Path, text: str):
    home.mkdir()
    (home / "settings.toml").write_text(text, encoding="utf-8")
    result = talk(home, [INITIALIZE], "--model", "scripted")
    assert result.returncode != 0
    (line,) = result.stderr.decode().splitlines()
    assert str(home / "settings.toml") in line


async def test_a_print_in_the_process_does_not_reach_the_wire(tmp_path: Path, home: Path):
    """A tool, a plugin or a C library that writes to stdout."""
    program = (
        "import os, sys\n"
        "from wayline.wire import stdio\n"
        "wire_in, wire_out = stdio.claim()\n"
        "print('stray', flush=True)\n"
        "os.write(1, b'stray\\n')\n"
        "os.system('echo stray')\n"
        "os.write(wire_out, b'wire\\n')\n"
        "assert not os.get_inheritable(wire_out)\n"
    )
    result = await anyio.run_process([sys.executable, "-c", program])
    assert result.stdout == b"wire\n"
    assert result.stderr.count(b"stray") == 3
