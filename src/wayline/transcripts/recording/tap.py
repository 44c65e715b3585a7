"""The recorder: between a client and an agent, it passes every byte on as it comes, and tells a writer.

Each direction is a thread that reads what there is and writes it before it reads again: a slow reader
stops the reading, and no more than one piece of each direction is held. The agent keeps our stderr and our
process group. The writer is a process in a session of its own, since editors end an agent by SIGKILL to its
group; it sees the end of the pipe, and writes the transcript all the same.
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from types import FrameType
from typing import IO

import msgspec

from wayline.transcripts.recording import snapshot
from wayline.transcripts.recording.tape import Copying, Ended, Entry, Passed, Workspace, encode

PIECE = 64 * 1024
#: bytes that a process which the agent left behind may still say on its stdout when the agent is gone
LAST_WORDS = 1024 * 1024
#: bytes that wait for the writer where a pipe can be made so large
PIPE = 1024 * 1024
#: seconds that the conversation waits for the writer before it goes on without it
PATIENCE = 5.0
#: seconds that the end waits for the transcript
LAST_PATIENCE = 20.0
#: bytes of a line that are looked at for the request of a session
LOOKED_AT = 1024 * 1024

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

OpenSession = {"session/new", "session/load", "session/resume", "session/fork"}


def record(out: Path, command: Sequence[str]) -> int:
    """Run `command` as an agent on our stdin and stdout, and record the conversation into `out`.

    Returns the agent's exit status, 128 and its number for a signal, 127 or 126 for a command that could
    not be started.
    """
    signals = _Signals()
    try:
        agent = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        _say(f"{command[0]} cannot be started: {error.strerror or error}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    signals.go_to(agent)
    try:
        writer, tape = _start_writer(out, agent.pid)
        status = _pass_on(agent, tape, signals)
    finally:
        agent.kill()
        agent.wait()
    if writer is not None:
        tape.keep(Ended(status))
        tape.close()
        _wait_for(writer, out)
    return status


def _pass_on(agent: subprocess.Popen[bytes], tape: "Tape", signals: "_Signals") -> int:
    """Pass everything on until the agent is gone and its last words are said; its exit status, as a shell
    says it."""
    gone, tell_gone = os.pipe()
    # Daemons: one may hang in a read of a stdin that never ends, when there is nobody to read for.
    threading.Thread(target=_to_agent, args=(agent, tape), daemon=True).start()
    coming = threading.Thread(target=_from_agent, args=(agent, gone, tape), daemon=True)
    coming.start()
    status = agent.wait()
    signals.let_go()
    os.close(tell_gone)
    coming.join()
    os.close(gone)
    return 128 - status if status < 0 else status


def _to_agent(agent: subprocess.Popen[bytes], tape: "Tape") -> None:
    assert agent.stdin is not None
    first = FirstSession()
    while data := _read(0):
        for cwd in first.asked_for(data):
            _copy_workspace(cwd, tape)
        tape.keep(Passed("client", tape.time(), data))
        if not _write(agent.stdin.fileno(), data):
            # The agent reads no more, and the client shall see that as it would without us.
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.close(nothing)
            break
    agent.stdin.close()


def _from_agent(agent: subprocess.Popen[bytes], gone: int, tape: "Tape") -> None:
    assert agent.stdout is not None
    source = agent.stdout.fileno()
    os.set_blocking(source, False)
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(gone, select.POLLIN)
    left = LAST_WORDS
    while left > 0:
        ended = gone in dict(poll.poll())
        try:
            data = os.read(source, PIECE)
        except BlockingIOError:
            if ended:
                return
            continue
        if not data:
            return
        left -= len(data) if ended else 0
        tape.keep(Passed("agent", tape.time(), data))
        if not _write(1, data):
            # The client reads no more, and the agent shall see that as it would without us.
            agent.stdout.close()
            return


def _read(fd: int) -> bytes:
    """What there is to read, waiting for it; empty at the end, also that of a peer that broke off."""
    while True:
        try:
            return os.read(fd, PIECE)
        except BlockingIOError:
            # Whoever started us made it so, and others may share it: it is left like that.
            _wait_until(fd, select.POLLIN)
        except OSError:
            return b""


def _write(fd: int, data: bytes) -> bool:
    """Write all of it, however long the reader takes; False when there is none any more."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            _wait_until(fd, select.POLLOUT)
        except OSError:
            return False
    return True


def _wait_until(fd: int, event: int, seconds: float | None = None) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


class _SessionParams(msgspec.Struct, frozen=True):
    cwd: str


class _SessionRequest(msgspec.Struct, frozen=True):
    """As much of a client's request for a session as is needed here."""

    method: str
    params: _SessionParams


class FirstSession:
    """Looks in what the client says for its first request of a session in a folder that there is."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._too_long = False
        self._found = False

    def asked_for(self, data: bytes) -> Sequence[Path]:
        """The folder of that request, once: when `data` holds the end of its line."""
        if self._found:
            return ()
        *ended, rest = data.split(b"\n")
        for end in ended:
            self._add(end)
            cwd = None if self._too_long else _folder(self._line)
            self._line.clear()
            self._too_long = False
            if cwd is not None:
                self._found = True
                return (cwd,)
        self._add(rest)
        return ()

    def _add(self, part: bytes) -> None:
        self._too_long = self._too_long or len(self._line) + len(part) > LOOKED_AT
        if not self._too_long:
            self._line += part


def _folder(line: bytearray) -> Path | None:
    if b'"cwd"' not in line:
        return None
    try:
        request = msgspec.json.decode(line, type=_SessionRequest)
        folder = Path(request.params.cwd)
        there = request.method in OpenSession and folder.is_absolute() and folder.is_dir()
    except (msgspec.MsgspecError, ValueError, OSError):
        return None
    return folder if there else None


def _copy_workspace(cwd: Path, tape: "Tape") -> None:
    if not tape.runs:
        return
    missing = None
    try:
        resolved, copied = cwd.resolve(), Path(mkdtemp(prefix="wayline-workspace-"))
    except OSError as error:
        tape.keep(Workspace(str(cwd), str(cwd), None, f"it could not be copied: {error}"))
        return
    tape.keep(Copying(str(copied)))
    try:
        snapshot.copy(resolved, copied)
    except snapshot.TooLarge:
        missing = f"it has more than {snapshot.MAX_FILES} files or {snapshot.MAX_BYTES // 1_000_000} MB"
    except (OSError, ValueError) as error:
        missing = f"it could not be copied: {error}"
    tape.keep(Workspace(str(cwd), str(resolved), None if missing else str(copied), missing))


class Tape:
    """The pipe to the writer. Recording ends when the writer does not keep up or is gone; the
    conversation does not."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pipe = pipe
        self._began = time.monotonic()
        self._one_at_a_time = threading.RLock()
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                # A person's pipes may be limited together; the smaller one does, too.
                with contextlib.suppress(OSError):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)

    @property
    def runs(self) -> bool:
        """Whether anything is recorded."""
        return self._pipe is not None

    def time(self) -> float:
        """Seconds since the start."""
        return round(time.monotonic() - self._began, 6)

    def keep(self, entry: Entry) -> None:
        """Tell the writer."""
        with self._one_at_a_time:
            if self._pipe is None:
                return
            try:
                self._write(self._pipe.fileno(), encode(entry))
            except OSError as error:
                self.close()
                _say(f"the conversation is not recorded any more: {error.strerror or error}")

    def _write(self, pipe: int, data: bytes) -> None:
        """Raises `OSError`, `TimeoutError` among them."""
        left = memoryview(data)
        deadline = time.monotonic() + PATIENCE
        while left:
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                if not _wait_until(pipe, select.POLLOUT, max(deadline - time.monotonic(), 0)):
                    raise TimeoutError(f"the writer took nothing for {PATIENCE:g} seconds") from None

    def close(self) -> None:
        """Let the writer see the end."""
        with self._one_at_a_time:
            if self._pipe is not None:
                self._pipe.close()
                self._pipe = None


class _Signals:
    """Signals that are for the agent."""

    def __init__(self) -> None:
        self._agent: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        # What is ignored on purpose, as by nohup, stays so.
        self._taken = [number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
        for number in self._taken:
            signal.signal(number, self._forward)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._agent is None:
            self._early.append(number)
        else:
            self._agent.send_signal(number)

    def go_to(self, agent: subprocess.Popen[bytes]) -> None:
        """There is an agent now; it gets what came before, too."""
        self._agent = agent
        for number in self._early:
            agent.send_signal(number)

    def let_go(self) -> None:
        """The agent is gone: signals are for us again, and end us."""
        for number in self._taken:
            signal.signal(number, signal.SIG_DFL)


def _start_writer(out: Path, agent: int) -> tuple[subprocess.Popen[bytes] | None, Tape]:
    # -P: the folder we run in is somebody's workspace, and may hold modules of any name.
    module = [sys.executable, "-P", "-m", "wayline.transcripts.recording.writer"]
    command = [*module, str(out), str(os.getpid()), str(agent)]
    try:
        writer = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        _say(f"the conversation is not recorded: {error.strerror or error}")
        return None, Tape(None)
    assert writer.stdin is not None
    return writer, Tape(writer.stdin)


def _wait_for(writer: subprocess.Popen[bytes], out: Path) -> None:
    try:
        status = writer.wait(LAST_PATIENCE)
    except subprocess.TimeoutExpired:
        _say(f"{out} is still being written")
    else:
        if status < 0:
            _say(f"{out} was not written: the writer was ended by signal {-status}")


def _say(words: str) -> None:
    try:
        sys.stderr.write(f"wayline: {words}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody listens
