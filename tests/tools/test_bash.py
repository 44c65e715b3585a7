"""bash: real commands, and nothing of them left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.tools.running import Session, alive, eventually, words
from wayline.tools.environment import scrub

pytestmark = pytest.mark.anyio


async def test_it_runs_in_the_workspace_and_says_what_was_printed(session: Session):
    output = await session.call("bash", command="pwd; echo to stderr >&2; cat")
    assert words(output) == f"{session.workspace}\nto stderr"
    assert output.meta == {"changed": True, "exitCode": 0}


async def test_an_exit_code_is_an_answer_and_no_error(session: Session):
    output = await session.call("bash", command="echo no; exit 3")
    assert (output.is_error, output.meta["exitCode"]) == (False, 3)
    assert words(output) == "no\n[exit code 3]"
    killed = await session.call("bash", command="kill -9 $$")
    assert killed.meta["signal"] == "SIGKILL"
    assert words(await session.call("bash", command="true")) == "(no output)"


async def test_output_is_reported_while_it_runs(session: Session):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            lambda: session.call("bash", command="echo first; while [ ! -e go ]; do :; done; echo last")
        )
        await eventually(lambda: "first" in "".join(session.reports))
        assert "last" not in "".join(session.reports)
        (session.workspace / "go").touch()


async def test_out_of_time_it_is_ended_with_its_children_and_keeps_its_output(session: Session):
    command = "trap '' TERM; echo before; sleep 1000 & echo $! > child; wait; sleep 1000"
    output = await session.call("bash", command=command, timeout=1)
    assert (output.is_error, output.error_code) == (True, "TOOL_TIMEOUT")
    assert "before" in words(output)
    assert "1 s" in words(output)
    assert not alive(int((session.workspace / "child").read_text(encoding="utf-8")))


async def test_what_is_left_in_the_background_ends_with_the_call(session: Session):
    output = await session.call(
        "bash", command="sleep 1000 & echo $! > child; (setsid sleep 1000 & echo $! > other)"
    )
    assert "background" in words(output)
    for name in ("child", "other"):
        assert not alive(int((session.workspace / name).read_text(encoding="utf-8")))


async def test_cancelled_nothing_of_it_runs_on(session: Session):
    pids = session.workspace / "pids"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            lambda: session.call(
                "bash", command="echo $$ > pids; sleep 1000 & echo $! >> pids; echo ok >> pids; wait"
            )
        )
        await eventually(lambda: pids.exists() and pids.read_text(encoding="utf-8").endswith("ok\n"))
        tasks.cancel_scope.cancel()
    for pid in pids.read_text(encoding="utf-8").split()[:2]:
        assert not alive(int(pid))


AGENT = """
import anyio, sys
from pathlib import Path
from tests.tools.running import Session
async def main(folder):
    session = Session(folder, folder / "spilled")
    await session.call("bash", command=
        "echo $$ > pids; (trap '' HUP TERM; sleep 1000) & echo $! >> pids; "
        "sh -c 'sleep 1000' & echo $! >> pids; echo ok >> pids; wait")
anyio.run(main, Path(sys.argv[1]))
"""


async def test_a_killed_agent_takes_its_commands_with_it(session: Session):
    """SIGKILL, so that nothing of ours can clean up: the watchdog must."""
    pids = session.workspace / "pids"
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", AGENT, str(session.workspace)], cwd=root) as agent:
        await eventually(lambda: pids.exists() and pids.read_text(encoding="utf-8").endswith("ok\n"))
        agent.send_signal(signal.SIGKILL)
        agent.wait(timeout=10)
    left = [int(pid) for pid in pids.read_text(encoding="utf-8").split()[:3]]
    await eventually(lambda: not any(alive(pid) for pid in left))


async def test_a_flood_of_output_is_bounded_and_keeps_its_ends(session: Session):
    output = await session.call("bash", command="echo first; yes | head -c 20000000; echo last")
    said = words(output)
    assert len(said.encode()) < 60_000
    assert said.startswith("first")
    assert "last" in said


async def test_colours_and_progress_bars_are_not_for_the_model(session: Session):
    output = await session.call("bash", command=r"printf '\033[31mred\033[0m\n10%%\r100%%\n'")
    assert words(output).splitlines()[0] == "red"
    assert "\033" not in words(output)


async def test_a_folder_of_its_own_is_asked_about_outside(session: Session, tmp_path: Path):
    (session.workspace / "sub").mkdir()
    assert words(await session.call("bash", command="pwd", workdir="sub")) == f"{session.workspace}/sub"
    session.mode = "accept-edits"
    output = await session.call("bash", command="pwd", workdir=str(tmp_path))
    assert output.error_code == "DENIED"
    assert (await session.call("bash", command="pwd", workdir="none")).is_error


def test_what_looks_like_a_secret_is_not_handed_on():
    secret = [
        "DEEPSEEK_API_KEY",
        "GH_TOKEN",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "WAYLINE_HOME",
        "my_passphrase",
    ]
    plain = ["PATH", "HOME", "LANG", "KEYBOARD", "SSH_AUTH_SOCK", "MONKEY"]
    assert sorted(scrub(dict.fromkeys([*secret, *plain], "x"))) == sorted(plain)
    assert os.environ.keys() >= scrub(os.environ).keys()


async def test_a_command_that_cannot_be_started_says_why(session: Session):
    output = await session.call("bash", command="echo " + "x" * 200_000)
    assert output.error_code == "TOOL_FAILED"
    assert "could not be started" in words(output)
    assert "file" in words(output)


def test_a_url_with_a_password_is_a_secret_whatever_its_name():
    secret = {
        "DATABASE_URL": "postgres://u:p@h/d",
        "HTTPS_PROXY": "http://u:p@h:1",
        "MYSQL_PWD": "x",
        "SENTRY_DSN": "x",
        "X_PSWD": "x",
    }
    plain = {"PWD": "/home/you", "OLDPWD": "/", "HOMEPAGE": "http://h:80/a@b", "PROXY": "http://h:80"}
    assert scrub({**secret, **plain}) == plain
