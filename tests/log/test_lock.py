"""One writer: real processes on one session."""

import os
import subprocess
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from wayline.log.lock import LOCK_NAME, HeldElsewhere, SessionLock

HOLDER = """
import sys
from pathlib import Path
from wayline.log.lock import SessionLock
lock = SessionLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holding(folder: Path) -> Popen[str]:
    """A process that has the lock when this returns."""
    holder = Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_process_is_told_who_holds_it(tmp_path: Path):
    with holding(tmp_path) as holder:
        with pytest.raises(HeldElsewhere) as held:
            SessionLock(tmp_path)
        assert held.value.pid == holder.pid
        assert f"process {holder.pid}" in str(held.value)
        holder.communicate()
    SessionLock(tmp_path).release()


def test_the_lock_of_a_killed_process_is_none(tmp_path: Path):
    with holding(tmp_path) as holder:
        holder.kill()
        holder.wait(10)
        lock = SessionLock(tmp_path)
        assert (tmp_path / LOCK_NAME).read_text(encoding="utf-8") == f"{os.getpid()}\n"
        lock.release()


def test_what_a_holder_starts_does_not_hold_it(tmp_path: Path):
    lock = SessionLock(tmp_path)
    with Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        lock.release()
        SessionLock(tmp_path).release()
        child.communicate()


def test_a_lock_that_says_no_process_is_held_by_another(tmp_path: Path):
    lock = SessionLock(tmp_path)
    (tmp_path / LOCK_NAME).write_text("?", encoding="utf-8")
    with pytest.raises(HeldElsewhere, match="another process"):
        SessionLock(tmp_path)
    lock.release()


def test_it_is_its_owners_alone(tmp_path: Path):
    SessionLock(tmp_path).release()
    assert (tmp_path / LOCK_NAME).stat().st_mode & 0o777 == 0o600
