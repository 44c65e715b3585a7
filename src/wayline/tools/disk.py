"""Files as the tools touch them: read whole, replaced at once."""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wayline.tools.base import Failed, ToolRun
from wayline.tools.paths import is_folder, missing, shown

#: bytes of a file that a tool takes into memory
MOST = 20 * 1024 * 1024
_WRITE = os.O_WRONLY | os.O_CLOEXEC


def sha256(raw: bytes) -> str:
    """How the bytes of a file are remembered in `seen`."""
    return hashlib.sha256(raw).hexdigest()


def content_of(path: Path, workspace: Path) -> bytes:
    """The bytes of a regular file. Raises `Failed` for what is none, is not there or is too large."""
    name = shown(path, workspace)
    try:
        # Non-blocking, so that a pipe without a writer is opened, seen to be no file, and refused.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise missing(path, workspace) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise (
            is_folder(path, workspace)
            if stat.S_ISDIR(status.st_mode)
            else Failed(f"{name} is not a regular file.")
        )
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MOST:
            raise Failed(
                f"{name} is too large ({status.st_size} bytes): use grep, or a command such as head or sed."
            )
        return file.read()


def content_if_any(path: Path, workspace: Path) -> bytes | None:
    """The bytes of a regular file, None when there is nothing at `path`. Raises as `content_of`."""
    return content_of(path, workspace) if os.path.lexists(path) else None


def known(path: Path, raw: bytes, run: ToolRun) -> None:
    """Raises `Failed` unless `raw` is what the model last saw of the file."""
    name = shown(path, run.workspace)
    seen = run.seen.get(str(path))
    if seen is None:
        raise Failed(f"{name} exists and was not read in this session: read it first.")
    if seen != sha256(raw):
        raise Failed(f"{name} changed on disk since it was read: read it again.")


def put(path: Path, raw: bytes) -> None:
    """Make `raw` the content of `path` in one step that a crash cannot halve; its mode stays.

    A file that has other names, or is somebody else's, is written over instead: a new file in its place
    would part the names, or change the owner. Missing folders are made. Raises `OSError`, also for a file
    that may not be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        status = path.stat()
        if status.st_nlink > 1 or status.st_uid != os.geteuid():
            _write_over(path, raw)
            return
    fresh = path.with_name(f".wayline-{secrets.token_hex(8)}.tmp")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    try:
        _make(fresh, raw, mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _make(fresh: Path, raw: bytes, mode: int | None) -> None:
    """A new file, whole. Where the system can, it gets its name last, so that a kill leaves none behind."""
    if hasattr(os, "O_TMPFILE"):
        with suppress(OSError):  # file systems differ: then it has its name from the start
            with _filled(os.open(fresh.parent, _WRITE | os.O_TMPFILE, 0o666), raw, mode) as file:
                # What is in /proc is a link; Python follows it only when it is given some `src_dir_fd`.
                os.link(f"/proc/self/fd/{file}", fresh, src_dir_fd=file, follow_symlinks=True)
            return
    with _filled(os.open(fresh, _WRITE | os.O_CREAT | os.O_EXCL, 0o666), raw, mode):
        pass


@contextmanager
def _filled(descriptor: int, raw: bytes, mode: int | None) -> Iterator[int]:
    """The descriptor with `raw` on disk; closed at the end."""
    with os.fdopen(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(raw)
        file.flush()
        os.fsync(descriptor)
        yield descriptor


def _write_over(path: Path, raw: bytes) -> None:
    with path.open("r+b") as file:
        file.write(raw)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """The new name is on disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
