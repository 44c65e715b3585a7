"""The end of a command and of everything it started, also when the agent is gone.

A command leads a session of its own. In that session a shell waits on a pipe whose write end only the
agent holds; when the agent is gone, for whatever reason, the pipe ends and the shell becomes this file,
run as a program, which kills the session. So the common case costs two forks of `/bin/sh` (about 2 ms)
and Python starts only when there is something to clear up. A parent-death signal alone would leave
grandchildren, and a process group alone would leave those that `timeout` or a shell with job control
moved to a group of their own. Daemons, which leave the session and have lost their parent, are known by a
mark in the environment that they inherit; only Linux lets us look there.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: Run as `/bin/sh -c LAUNCH sh PYTHON WATCHDOG SHELL COMMAND` with the read end of the pipe as its stdin.
#: The doubled subshell keeps the watchdog from being a child of the command, which might wait for it.
LAUNCH = """\
exec 3<&0 </dev/null
( (
  trap '' HUP INT QUIT TERM
  read -r _ <&3
  exec "$1" -I -S "$2" "$$"
) >/dev/null 2>&1 & )
exec 3<&-
exec "$3" -c "$4"
"""

#: seconds between two looks at a session that is being killed, and how often is looked
PAUSE = 0.005
LOOKS = 400

#: the variable of the environment that holds the mark of a command
MARK = "WAYLINE_COMMAND"

LINUX = sys.platform == "linux"


@dataclass(frozen=True)
class Process:
    """A process as the system knows it."""

    pid: int
    parent: int
    ended: bool


def members(session: int, mark: str) -> frozenset[int]:
    """The live processes of a command, wherever they went; without the caller.

    Those of its session, those that carry its mark, and the descendants of both.
    """
    found = {pid for pid in _pids() if _session(pid) == session or _carries(pid, mark)}
    if not found:
        return frozenset()
    processes = [_from_proc(pid) for pid in found] if len(found) == 1 and LINUX else _table()
    known = [process for process in processes if process is not None]
    while more := {process.pid for process in known if process.parent in found} - found:
        found |= more
    live = {process.pid for process in known if process.pid in found and not process.ended}
    return frozenset(live - {os.getpid()})


def send(signal_number: int, pids: frozenset[int]) -> frozenset[int]:
    """Signal the processes; those that were still there and could be signalled."""
    return frozenset(pid for pid in pids if _signalled(pid, signal_number))


def _signalled(pid: int, signal_number: int) -> bool:
    try:
        os.kill(pid, signal_number)
    except (ProcessLookupError, PermissionError):
        return False  # it ended by itself, or is another user's: nothing more can be done
    return True


def _pids() -> list[int]:
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - names only
    return [process.pid for process in _table() if process is not None]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None  # it ended while we looked, or is another user's


def _carries(pid: int, mark: str) -> bool:
    """See proc(5), `/proc/pid/environ`: the environment that a process started with."""
    if not LINUX:
        return False
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # it ended while we looked, or is another user's
    return f"{MARK}={mark}\0".encode() in environ


def _table() -> list[Process | None]:
    if LINUX:
        return [_from_proc(pid) for pid in _pids()]
    listing = subprocess.run(["ps", "-axo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return [Process(int(pid), int(parent), state.startswith("Z")) for pid, parent, state, *_ in rows]


def _from_proc(pid: int) -> Process | None:
    """See proc(5), `/proc/pid/stat`; None for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return Process(pid, int(parent), state in "ZX")


def main() -> None:
    """Kill the command whose session is named on the command line; this process is part of it."""
    session = int(sys.argv[1])
    for _ in range(LOOKS):
        if not send(signal.SIGKILL, members(session, os.environ[MARK])):
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
