"""Nothing of a command is left, whatever group or session it moved to."""

import os
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from tests.tools.running import Session, alive, eventually, words
from wayline.tools import watchdog

pytestmark = pytest.mark.anyio

#: `timeout` moves to a process group of its own, `setsid` to a session of its own, and a daemon also
#: loses its parent
WANDERERS = """
timeout 1000 sleep 1001 & echo $! >> pids
setsid sleep 1002 & echo $! >> pids
(sleep 1003 & echo $! >> pids; wait) &
echo $! >> pids
(setsid sh -c 'sleep 1004 & echo $! >> pids; exec sleep 1005' &)
"""
UNTIL_ALL_RUN = "until [ $(wc -l < pids) = 5 ]; do :; done\n"
WAITING = WANDERERS + "wait\n"


async def started(folder: Path) -> list[int]:
    pids = folder / "pids"
    await eventually(lambda: pids.exists() and pids.read_text(encoding="utf-8").count("\n") == 5)
    return [int(pid) for pid in pids.read_text(encoding="utf-8").split()]


async def test_members_are_found_wherever_they_went(tmp_path: Path):
    environ = {**os.environ, watchdog.MARK: "a-mark"}
    with Popen(["/bin/bash", "-c", WAITING], cwd=tmp_path, env=environ, start_new_session=True) as shell:
        pids = await started(tmp_path)
        assert watchdog.members(shell.pid, "a-mark") >= {shell.pid, *pids}
        watchdog.send(9, watchdog.members(shell.pid, "a-mark"))
        await eventually(lambda: not any(map(alive, pids)))


async def test_out_of_time_they_all_end(session: Session):
    output = await session.call("bash", command=WAITING, timeout=1)
    assert output.error_code == "TOOL_TIMEOUT"
    pids = await started(session.workspace)
    assert not any(map(alive, pids))


async def test_when_the_command_ends_they_all_end(session: Session):
    output = await session.call("bash", command=WANDERERS + UNTIL_ALL_RUN)
    assert not output.is_error
    assert "processes it left in the background were stopped" in words(output)
    pids = await started(session.workspace)
    assert not any(map(alive, pids))


AGENT = """
import anyio, sys
from pathlib import Path
from tests.tools.running import Session
folder = Path(sys.argv[1])
session = Session(folder, folder / "spilled")
anyio.run(lambda: session.call("bash", command=sys.argv[2]))
"""


async def test_a_killed_agent_leaves_no_wanderer(session: Session):
    root = Path(__file__).parents[2]
    with Popen([sys.executable, "-c", AGENT, str(session.workspace), WAITING], cwd=root) as agent:
        pids = await started(session.workspace)
        agent.kill()
    await eventually(lambda: not any(map(alive, pids)))


async def test_a_command_does_not_see_what_the_agent_has_open(session: Session):
    with (session.workspace / "wire").open("w", encoding="utf-8") as wire:
        output = await session.call("bash", command=f"ls /proc/$$/fd; readlink /proc/$$/fd/{wire.fileno()}")
    assert output.meta["exitCode"] == 1
    said = output.content[0].text  # type: ignore[union-attr]
    assert said.splitlines() == ["0", "1", "2", "[exit code 1]"]
