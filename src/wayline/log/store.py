"""Where a log's bytes lie: the `Store` protocol and the JSONL file behind it.

A store knows nothing of events. It appends whole lines, makes them durable on request, and gives
its bytes back.
"""

import os
import stat
from pathlib import Path
from typing import Protocol

from wayline.log.codec import LogError
from wayline.log.lock import SessionLock


class StorageError(LogError):
    """Bytes could not be written or made durable: whatever they were to record must not happen."""


class Store(Protocol):
    """The bytes of one log."""

    def read(self) -> bytes:
        """All bytes so far."""

    def append(self, line: bytes) -> None:
        """Add one line, whole or not at all. Raises `StorageError`."""

    @property
    def dirty(self) -> bool:
        """Whether something was appended that is not durable yet."""

    def sync(self) -> None:
        """Block until everything appended is durable. Raises `StorageError`."""

    def truncate(self, size: int) -> None:
        """Drop what lies behind the first `size` bytes. Raises `StorageError`."""

    def close(self) -> None:
        """Free the store; it is not used again."""


#: In place of a descriptor that was closed: its number may soon be another file's.
_CLOSED = -1


class LogFile:
    """A log in a file, readable by its owner alone (file 0600, folders 0700), and locked while it is open."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open for append.

        Raises `FileExistsError` (create), `FileNotFoundError`, `OSError`, `HeldElsewhere`.
        """
        if create:
            _make_private(path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        self.path = path
        self._fd = os.open(path, flags, 0o600)
        try:
            status = os.fstat(self._fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            self._lock = SessionLock(path.parent)
        except (LogError, OSError):
            os.close(self._fd)
            raise
        self._size = status.st_size
        self.dirty = create
        self._torn = False

    def read(self) -> bytes:
        return self.path.read_bytes()

    def append(self, line: bytes) -> None:
        if self._torn:
            self._undo()
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError(f"only {written} of {len(line)} bytes could be written")
        except OSError as error:
            self._torn = True
            raise StorageError(f"cannot write {self.path}: {error}") from error
        self._size += written
        self.dirty = True

    def _undo(self) -> None:
        """Drop a half-written line, so that this append starts on a fresh one."""
        self.truncate(self._size)
        self._torn = False

    def sync(self) -> None:
        if not self.dirty:
            return
        self.dirty = False
        try:
            os.fsync(self._fd)
            if not os.fstat(self._fd).st_nlink:
                raise OSError("the file was deleted")
        except (OSError, ValueError) as error:
            # ValueError: it was closed.
            self.dirty = True
            raise StorageError(f"cannot flush {self.path}: {error}") from error

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise StorageError(f"cannot shorten {self.path}: {error}") from error
        self._size = size
        self.dirty = True

    def close(self) -> None:
        descriptor, self._fd = self._fd, _CLOSED
        if descriptor != _CLOSED:
            os.close(descriptor)
            self._lock.release()


def _make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner alone."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
