"""The tap between real processes: bytes compared on both sides, and what is left when one of them dies."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import anyio.abc
import pytest

from tests.editor import PATIENCE, WAYLINE, Editor
from tests.processes import gone, pid_in
from wayline.transcripts.format import Note, Send, SendLine, Transcript, read
from wayline.transcripts.recording import snapshot

pytestmark = pytest.mark.anyio

#: says back what it is told, as it comes, and keeps it in a file
ECHO = """
    import os, sys
    with open("got", "wb", buffering=0) as got:
        while data := os.read(0, 65536):
            got.write(data)
            while data:
                data = data[os.write(1, data):]
"""
#: says back one line, then lives for ever, whatever becomes of its stdin and stdout
STUBBORN = """
    import os, signal
    with open("pid", "w") as pid:
        pid.write(f"{os.getpid()}\\n")
    os.write(1, os.read(0, 100))
    while True:
        signal.pause()
"""
NEW = '{"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "%s", "mcpServers": []}}\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Recorder:
    """A recorder around an agent of the test's, from the client's side."""

    def __init__(self, process: anyio.abc.Process, out: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self.out = process, out
        self.stdin, self.stdout, self._stderr = process.stdin, process.stdout, process.stderr

    async def receive(self, count: int) -> bytes:
        """Exactly so many bytes."""
        got = b""
        with anyio.fail_after(PATIENCE):
            while len(got) < count:
                got += await self.stdout.receive(count - len(got))
        return got

    async def rest(self) -> bytes:
        """All that comes until the end of stdout."""
        with anyio.fail_after(PATIENCE):
            return b"".join([data async for data in self.stdout])

    async def stderr(self) -> str:
        """All that was said to people until the end."""
        with anyio.fail_after(PATIENCE):
            return b"".join([data async for data in self._stderr]).decode()

    async def said(self, words: str) -> str:
        """What was said to people, once it ends with these words."""
        got = ""
        with anyio.fail_after(PATIENCE):
            while not got.endswith(words):
                got += (await self._stderr.receive()).decode()
        return got

    async def ended(self) -> int:
        """The exit status."""
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()

    async def hang_up(self) -> int:
        """Close stdin; the exit status."""
        await self.stdin.aclose()
        return await self.ended()

    def transcript(self) -> Transcript:
        """What was written."""
        return read(self.out)

    def notes(self) -> list[str]:
        """What the transcript says to its reader."""
        return [placed.step.note for placed in self.transcript().steps if isinstance(placed.step, Note)]


def command_of(folder: Path, agent: str, out: Path) -> list[str]:
    """The command of a recorder around an agent of this source."""
    script = folder / "agent.py"
    script.write_text(dedent(agent), encoding="utf-8")
    return [str(WAYLINE), "transcript", "record", str(out), "--", sys.executable, str(script)]


@asynccontextmanager
async def recorder(folder: Path, agent: str, out: Path | None = None) -> AsyncIterator[Recorder]:
    """A recorder around an agent of this source, running in `folder`."""
    where = out or folder / "out" / "it.jsonl"
    async with await anyio.open_process(
        command_of(folder, agent, where), stderr=subprocess.PIPE, cwd=folder, start_new_session=True
    ) as process:
        try:
            yield Recorder(process, where)
        finally:
            if process.returncode is None:
                process.kill()


def lines_of(transcript: Transcript) -> list[str]:
    """The lines of the client's that are no messages."""
    return [placed.step.line for placed in transcript.steps if isinstance(placed.step, SendLine)]


async def appears(path: Path) -> None:
    """Wait until there is such a file."""
    with anyio.fail_after(PATIENCE):
        while not path.exists():
            await anyio.lowlevel.checkpoint()


async def test_megabytes_of_anything_pass_unchanged_in_both_directions(tmp_path: Path):
    noise = random.Random(7)
    sent = noise.randbytes(3_000_000) + b'\n\n{"jsonrpc"' + b"x" * 1_500_000 + b'\r\n{"half": '
    async with recorder(tmp_path, ECHO) as talk, anyio.create_task_group() as tasks:
        tasks.start_soon(talk.stdin.send, sent)
        assert await talk.receive(len(sent)) == sent
        assert await talk.hang_up() == 0
    assert (tmp_path / "got").read_bytes() == sent
    lines = lines_of(talk.transcript())
    assert [line.encode("utf-8", "surrogateescape") for line in lines] == [
        line for line in sent.split(b"\n") if line.strip()
    ]


async def test_half_a_line_passes_as_it_comes(tmp_path: Path):
    async with recorder(tmp_path, ECHO) as talk:
        for piece in (b"a", b"bc", b"\xff", b"\n", b"no end"):
            await talk.stdin.send(piece)
            assert await talk.receive(len(piece)) == piece
        assert await talk.hang_up() == 0


async def test_stderr_passes_as_it_is(tmp_path: Path):
    async with recorder(tmp_path, 'import os; os.write(2, b"\\xc3\\xa4 and no newline")') as talk:
        assert await talk.stderr() == "ä and no newline"
        assert await talk.ended() == 0


@pytest.mark.parametrize(
    ("agent", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
    ],
)
async def test_the_agents_status_is_ours(tmp_path: Path, agent: str, status: int):
    async with recorder(tmp_path, agent) as talk:
        assert await talk.ended() == status
    assert talk.notes() == [f"The agent ended with status {status}."]


async def test_a_command_that_is_not_there(tmp_path: Path):
    command = [str(WAYLINE), "transcript", "record", "out.jsonl", "--", str(tmp_path / "none")]
    with anyio.fail_after(PATIENCE):
        done = await anyio.run_process(command, check=False, cwd=tmp_path)
    assert done.returncode == 127
    assert (
        done.stderr.decode() == f"wayline: {tmp_path / 'none'} cannot be started: No such file or directory\n"
    )
    assert list(tmp_path.iterdir()) == []


async def test_an_agent_that_dies_in_the_middle_of_a_line(tmp_path: Path):
    agent = """
        import os
        os.write(1, b'{"jsonrpc": "2.0", "method": "a"}\\n{"json')
        os.read(0, 100)
        os.kill(os.getpid(), 9)
    """
    async with recorder(tmp_path, agent) as talk:
        await talk.stdin.send(b'{"jsonrpc": "2.0", "method": "hello"}\n')
        assert await talk.rest() == b'{"jsonrpc": "2.0", "method": "a"}\n{"json'
        assert await talk.ended() == 137
    assert len(talk.notes()) == 2
    assert [step.step.send.method for step in talk.transcript().steps if isinstance(step.step, Send)] == [
        "hello"
    ]


async def test_what_an_agent_said_last_comes_even_when_the_client_reads_late(tmp_path: Path):
    agent = """
        import os
        os.write(1, b"x" * 60_000)
        with open("pid", "w") as pid:
            pid.write(f"{os.getpid()}\\n")
    """
    async with recorder(tmp_path, agent) as talk:
        await gone(await pid_in(tmp_path / "pid"))
        assert await talk.rest() == b"x" * 60_000
        assert await talk.ended() == 0


async def child_of(pid: int, words: str) -> int:
    """A child of a process, known by words of its command line."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    (found,) = [
        int(child)
        for child in children
        if words in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8")
    ]
    return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts a recorder on bare pipes, of which each end can be closed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(agent: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command_of(tmp_path, agent, tmp_path / "it.jsonl"),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(PATIENCE)
        for pipe in filter(None, (process.stdin, process.stdout)):
            pipe.close()


def test_a_client_that_dies_ends_the_conversation(
    tmp_path: Path, client: Callable[[str], subprocess.Popen[bytes]]
):
    process = client(ECHO)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"last words")
    assert process.stdout.read(4) == b"last"
    process.stdout.close()
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert (tmp_path / "got").read_bytes() == b"last words"
    assert (tmp_path / "it.jsonl").exists()


def test_an_agent_sees_that_nobody_reads(client: Callable[[str], subprocess.Popen[bytes]]):
    process = client(
        """
        import os
        os.read(0, 100)
        try:
            while True:
                os.write(1, b"x" * 4096)
        except BrokenPipeError:
            raise SystemExit(5)
        """
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(b"go")
    assert process.wait(PATIENCE) == 5


async def test_a_client_sees_that_nobody_listens(tmp_path: Path):
    agent = """
        import os, signal
        os.close(0)
        signal.pause()
    """
    async with recorder(tmp_path, agent) as talk:
        with pytest.raises(anyio.BrokenResourceError), anyio.fail_after(PATIENCE):
            while True:
                await talk.stdin.send(b"x" * 65536)
        talk.process.terminate()
        assert await talk.ended() == 128 + signal.SIGTERM


async def test_a_slow_client_slows_the_agent(tmp_path: Path):
    """The agent says how much it could write before nobody took more for a while."""
    agent = """
        import os, select, sys
        os.set_blocking(1, False)
        poll, written = select.poll(), 0
        poll.register(1, select.POLLOUT)
        while poll.poll(300):
            written += os.write(1, b"x" * 65536)
        sys.stderr.write(f"{written}\\n")
        sys.stderr.flush()
    """
    async with recorder(tmp_path, agent) as talk:
        written = int(await talk.said("\n"))
        assert written < 1_000_000
        assert await talk.rest() == b"x" * written
        assert await talk.ended() == 0


async def test_a_slow_agent_slows_the_client(tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    agent = "import os; open('go').read()\n" + dedent(ECHO)
    taken = 0
    async with recorder(tmp_path, agent) as talk:
        with anyio.move_on_after(0.3):
            while True:
                await talk.stdin.send(b"y" * 65536)
                taken += 65536
        assert taken < 1_000_000
        (tmp_path / "go").write_text("", encoding="utf-8")
        got = await talk.receive(taken)
        await talk.stdin.aclose()
        got += await talk.rest()
        assert set(got) == {ord("y")}
        assert await talk.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_signals_are_for_the_agent(tmp_path: Path, number: signal.Signals):
    agent = f"""
        import signal, sys
        signal.signal({int(number)}, lambda *_: sys.exit(9))
        print("ready", flush=True)
        while True:
            signal.pause()
    """
    async with recorder(tmp_path, agent) as talk:
        assert await talk.receive(6) == b"ready\n"
        talk.process.send_signal(number)
        assert await talk.ended() == 9
    assert talk.out.exists()


async def test_a_kill_of_the_group_leaves_the_transcript_and_no_agent(tmp_path: Path):
    async with recorder(tmp_path, STUBBORN) as talk:
        await talk.stdin.send(b"not a message\n")
        assert await talk.receive(14) == b"not a message\n"
        os.killpg(talk.process.pid, signal.SIGKILL)
        await talk.ended()
        await gone(await pid_in(tmp_path / "pid"))
        await appears(talk.out)
    assert lines_of(talk.transcript()) == ["not a message"]
    assert len(talk.notes()) == 1


async def test_a_kill_of_the_recorder_alone_leaves_no_agent_either(tmp_path: Path):
    async with recorder(tmp_path, STUBBORN) as talk:
        await talk.stdin.send(b"not a message\n")
        assert await talk.receive(14) == b"not a message\n"
        talk.process.kill()
        await gone(await pid_in(tmp_path / "pid"))
        await appears(talk.out)
    assert lines_of(talk.transcript()) == ["not a message"]
    assert len(talk.notes()) == 1


async def test_a_writer_that_is_gone_ends_the_recording_and_not_the_conversation(tmp_path: Path):
    async with recorder(tmp_path, ECHO) as talk:
        await talk.stdin.send(b"one\n")
        assert await talk.receive(4) == b"one\n"
        writer = await child_of(talk.process.pid, "wayline.transcripts.recording.writer")
        os.kill(writer, signal.SIGKILL)
        await talk.stdin.send(b"two\n")
        assert await talk.receive(4) == b"two\n"
        assert await talk.hang_up() == 0
        assert "wayline: the conversation is not recorded any more" in await talk.stderr()
    assert not talk.out.exists()


async def test_a_transcript_that_cannot_be_written_is_said_and_ends_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    async with recorder(tmp_path, ECHO, tmp_path / "file" / "out.jsonl") as talk:
        await talk.stdin.send(b"one\n")
        assert await talk.receive(4) == b"one\n"
        assert await talk.hang_up() == 0
        assert "file/out.jsonl was not written" in await talk.stderr()


async def test_the_transcript_is_private_and_leaves_an_older_one_alone(tmp_path: Path):
    out = tmp_path / "it.jsonl"
    out.write_text("old", encoding="utf-8")
    async with recorder(tmp_path, ECHO, out) as talk:
        assert await talk.hang_up() == 0
    assert out.read_text(encoding="utf-8") == "old"
    made = tmp_path / "it-2.jsonl"
    assert made.stat().st_mode & 0o777 == 0o600
    assert read(made).meta.name == "it-2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.py", "got", "it-2.jsonl", "it.jsonl"]


async def test_modules_in_the_workspace_are_not_ours(tmp_path: Path):
    for name in ("msgspec", "json", "wayline"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)", encoding="utf-8")
    async with recorder(tmp_path, "") as talk:
        assert await talk.ended() == 0
    assert talk.out.exists()


async def test_the_workspace_comes_along_as_it_was_before_the_agent_saw_it(tmp_path: Path):
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("secret", encoding="utf-8")
    (work / "src" / "a.py").write_text("before", encoding="utf-8")
    (work / "run").write_text("#!/bin/sh", encoding="utf-8")
    (work / "run").chmod(0o755)
    (work / "link").symlink_to("src/a.py")
    (work / "out").symlink_to("../secret")
    (work / "away").symlink_to("/etc/passwd")
    os.mkfifo(work / "pipe")
    agent = f"""
        import pathlib, sys
        for line in sys.stdin:
            pathlib.Path({str(work / "src" / "a.py")!r}).write_text("after")
            print(line, end="", flush=True)
    """
    line = (NEW % work).encode()
    async with recorder(tmp_path, agent) as talk:
        for piece in (line[:20], line[20:]):
            await talk.stdin.send(piece)
        assert await talk.receive(len(line)) == line
        assert await talk.hang_up() == 0
    transcript = talk.transcript()
    assert transcript.meta.workspace == "it.workspace"
    copy = talk.out.parent / "it.workspace"
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*")) == [
        "link",
        "run",
        "src",
        "src/a.py",
    ]
    assert (copy / "src" / "a.py").read_text(encoding="utf-8") == "before"
    assert (copy / "link").readlink() == Path("src/a.py")
    assert copy.stat().st_mode & 0o777 == 0o700
    assert (copy / "run").stat().st_mode & 0o777 == 0o700
    send = next(placed.step for placed in transcript.steps if isinstance(placed.step, Send))
    assert send.send.params == {"cwd": "${cwd}", "mcpServers": []}


async def test_a_large_workspace_stays_where_it_is_and_that_is_said(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "big").write_bytes(b"x" * (snapshot.MAX_BYTES + 1))
    async with recorder(tmp_path, ECHO) as talk:
        await talk.stdin.send((NEW % work).encode())
        assert await talk.hang_up() == 0
    assert talk.transcript().meta.workspace is None
    assert talk.notes() == [
        "The workspace is not beside this transcript: it has more than 1000 files or 5 MB."
    ]
    assert sorted(path.name for path in talk.out.parent.iterdir()) == ["it.jsonl"]


async def test_an_empty_workspace_needs_no_folder(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    async with recorder(tmp_path, ECHO) as talk:
        await talk.stdin.send((NEW % work).encode())
        assert await talk.hang_up() == 0
    assert talk.transcript().meta.workspace is None
    assert [path.name for path in talk.out.parent.iterdir()] == ["it.jsonl"]


def test_so_many_files_are_too_many(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "copy").mkdir()
    for number in range(snapshot.MAX_FILES + 1):
        (tmp_path / "work" / str(number)).touch()
    with pytest.raises(snapshot.TooLarge):
        snapshot.copy(tmp_path / "work", tmp_path / "copy")
    (tmp_path / "work" / "7").unlink()
    snapshot.copy(tmp_path / "work", tmp_path / "copy")
    assert len(list((tmp_path / "copy").iterdir())) == snapshot.MAX_FILES


@asynccontextmanager
async def wayline_recorded(folder: Path, script: list[Any]) -> AsyncIterator[Editor]:
    """An editor on the installed agent, with the recorder in between."""
    (folder / "work").mkdir()
    (folder / "work" / "a.txt").write_text("one\n", encoding="utf-8")
    lines = folder / "script.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in script), encoding="utf-8")
    agent = [str(WAYLINE), "acp", "--model", f"scripted:{lines}", "--mode", "accept-edits"]
    command = [str(WAYLINE), "transcript", "record", str(folder / "it.jsonl"), "--", *agent]
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("WAYLINE", "DEEPSEEK"))
    }
    async with await anyio.open_process(
        command,
        env={**environ, "WAYLINE_HOME": str(folder / "home")},
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        client = Editor(process)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.read)
                tasks.start_soon(client.read_stderr)
                yield client
                tasks.cancel_scope.cancel()
        finally:
            if process.returncode is None:
                process.kill()


async def is_green(path: Path) -> None:
    """Run it against the installed agent, which gets no key."""
    with anyio.fail_after(2 * PATIENCE):
        done = await anyio.run_process(
            [str(WAYLINE), "transcript", "run", "--schema", str(path)], check=False
        )
    assert done.returncode == 0, done.stdout.decode()


SCRIPT: list[Any] = [
    [
        {"text": "I look."},
        {"call": {"name": "read", "arguments": {"file_path": "a.txt"}}},
        {"call": {"name": "bash", "arguments": {"command": "pwd; cat a.txt"}}},
    ],
    [
        {
            "call": {
                "name": "edit",
                "arguments": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
            }
        }
    ],
    [{"text": "DONE"}],
    [{"text": "on and on"}, {"hang": True}],
]


async def test_an_editor_at_work_is_recorded_and_the_run_is_green(tmp_path: Path):
    async with wayline_recorded(tmp_path, SCRIPT) as client:
        await client.initialize()
        session = await client.new(tmp_path / "work")
        assert await client.prompt(session) == "end_turn"
        assert await client.hang_up() == 0
    names = ["it.1.log.jsonl", "it.jsonl", "it.workspace"]
    assert sorted(path.name for path in tmp_path.glob("it.*")) == names
    transcript = read(tmp_path / "it.jsonl")
    assert (transcript.meta.model, transcript.meta.mode) == ("replay:it.1.log.jsonl", "accept-edits")
    assert (tmp_path / "it.workspace" / "a.txt").read_text(encoding="utf-8") == "one\n"
    await is_green(tmp_path / "it.jsonl")


async def test_an_editor_that_kills_its_agent_has_a_transcript_all_the_same(tmp_path: Path):
    async with wayline_recorded(tmp_path, SCRIPT) as client:
        await client.initialize()
        session = await client.new(tmp_path / "work")
        assert await client.prompt(session) == "end_turn"
        await client.begin_prompt(session, "more")
        await client.until(lambda frame: "on and on" in json.dumps(frame), "the last words")
        os.killpg(client.process.pid, signal.SIGKILL)
        await client.ended()
        await appears(tmp_path / "it.jsonl")
    assert read(tmp_path / "it.jsonl").meta.model == "replay:it.1.log.jsonl"
    await is_green(tmp_path / "it.jsonl")


#: an agent of somebody else's: other ids, times and pieces each time, and a question
THEIRS = """
    import datetime, json, random, sys, tempfile, uuid
    def put(**frame):
        print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)
    def update(kind, **members):
        params = {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
        put(method="session/update", params=params)
    for line in sys.stdin:
        frame = json.loads(line)
        if frame.get("method") == "initialize":
            info = {"name": "theirs", "version": "1"}
            put(id=frame["id"], result={"protocolVersion": 1, "agentInfo": info})
        elif frame.get("method") == "session/new":
            session, cwd = f"sess_{uuid.uuid4().hex}", frame["params"]["cwd"]
            put(id=frame["id"], result={"sessionId": session})
        elif frame.get("method") == "session/prompt":
            prompt, message, call = frame["id"], str(uuid.uuid4()), str(uuid.uuid4())
            text = f"You said {frame['params']['prompt'][0]['text']} in {cwd} and {tempfile.mktemp()}."
            while text:
                size = random.randint(1, 9)
                content = {"type": "text", "text": text[:size]}
                update("agent_message_chunk", messageId=message, content=content)
                text = text[size:]
            now = datetime.datetime.now().isoformat()
            update("tool_call", toolCallId=call, title="t", rawInput={"now": now})
            for _ in range(random.randint(0, 3)):
                update("tool_call_update", toolCallId=call, status="in_progress")
            yes = {"optionId": call + "-yes", "name": "Yes", "kind": "allow_once"}
            asked = {"sessionId": session, "toolCall": {"toolCallId": call}, "options": [yes]}
            put(id=7, method="session/request_permission", params=asked)
        elif frame.get("id") == 7:
            update("tool_call_update", toolCallId=call, status="completed", rawOutput=frame["result"])
            put(id=prompt, result={"stopReason": "end_turn"})
"""


async def test_an_agent_of_somebody_else_is_recorded_and_the_run_is_green(tmp_path: Path):
    async with recorder(tmp_path, THEIRS) as talk:
        client = Editor(
            talk.process,
            answer=lambda asked: {
                "outcome": {"outcome": "selected", "optionId": asked["params"]["options"][0]["optionId"]}
            },
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.read)
            await client.initialize()
            session = await client.new(tmp_path)
            for text in ("hello ${world}", "again"):
                assert await client.prompt(session, text) == "end_turn"
            assert await client.hang_up() == 0
    agent = f"{sys.executable} {tmp_path / 'agent.py'}"
    command = [str(WAYLINE), "transcript", "run", "--agent", agent, str(talk.out)]
    with anyio.fail_after(2 * PATIENCE):
        done = await anyio.run_process(command, check=False)
    assert done.returncode == 0, done.stdout.decode()


async def test_a_transcript_that_is_there_is_not_written_over(tmp_path: Path):
    out = tmp_path / "out.jsonl"
    for _ in range(3):
        done = subprocess.run(
            [str(WAYLINE), "transcript", "record", str(out), "--", "cat"],
            input=b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n',
            capture_output=True,
            check=False,
            timeout=30,
        )
        assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        "out-2.jsonl",
        "out-3.jsonl",
        "out.jsonl",
    ]
