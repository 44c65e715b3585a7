"""One writer: the operating system's lock on a session, held by the process that has it open.

It is a lock of `flock(2)` on a file beside the log, so that it goes with its process, however that ends. The
file stays, and holds the process id of whoever has, or had, the lock.

    HeldElsewhere    somebody else has the session open
"""

import errno
import fcntl
import logging
import os
from pathlib import Path

from wayline.log.codec import LogError

logger = logging.getLogger(__name__)

LOCK_NAME = "lock"
#: what file systems say that have no locks
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class HeldElsewhere(LogError):
    """Somebody else has the session open; `pid` is their process, None when it cannot be told."""

    def __init__(self, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{who} has it open; close it there first")
        self.pid = pid


class SessionLock:
    """The right to write one session, until `release`."""

    def __init__(self, folder: Path) -> None:
        """Take it. Raises `HeldElsewhere`, `OSError`."""
        path = folder / LOCK_NAME
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid(self._fd)
            os.close(self._fd)
            raise HeldElsewhere(pid) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(self._fd)
                raise
            logger.warning("%s: no locks here, so that nothing keeps two processes apart: %s", path, error)
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give it back; it is not used again."""
        os.close(self._fd)


def _pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None
