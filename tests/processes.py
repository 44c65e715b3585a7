"""Looking for real processes, as the system knows them."""

import os
from pathlib import Path

import anyio
import anyio.lowlevel

from tests.editor import PATIENCE


async def pid_in(file: Path) -> int:
    """The process id that a command writes into a file; waits until it did."""
    with anyio.fail_after(PATIENCE):
        while not (file.exists() and file.read_text(encoding="utf-8").endswith("\n")):
            await anyio.lowlevel.checkpoint()
    return int(file.read_text(encoding="utf-8"))


async def gone(pid: int) -> None:
    """Wait until there is no such process."""
    with anyio.fail_after(PATIENCE):
        while alive(pid):
            await anyio.lowlevel.checkpoint()


def alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie that nobody has buried."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    try:
        return state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
