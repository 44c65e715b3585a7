"""A copy of a small workspace: its files and folders, and the links that stay inside it.

TooLarge    there is more than a transcript should carry
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

MAX_FILES = 1000
MAX_BYTES = 5_000_000
#: a repository's history is no part of what an agent is shown
LEFT_OUT = frozenset({".git"})


class TooLarge(Exception):
    """There is more than a transcript should carry."""


def copy(source: Path, target: Path) -> None:
    """Copy the folder `source` into the folder `target`. Raises `TooLarge`, `OSError`.

    Nothing is followed: a link is copied as a link when it stays inside the folder, else it is left out,
    as are pipes, sockets and what cannot be read.
    """
    found = list(_found(source))
    for entry in found:
        place = target / entry.relative_to(source)
        if entry.is_symlink():
            if _stays_inside(entry, source):
                place.symlink_to(entry.readlink())
        elif entry.is_dir():
            place.mkdir(mode=0o700)
        else:
            _copy_file(entry, place)


def _found(source: Path) -> Iterator[Path]:
    """Everything in the folder, each folder before what is in it. Raises `TooLarge`.

    Folders count like files, so that a tree of empty ones has an end, too.
    """
    count = size = 0
    waiting = [source]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.name in LEFT_OUT:
                continue
            folder = entry.is_dir(follow_symlinks=False)
            if not (folder or entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                continue
            count += 1
            size += 0 if folder else entry.stat(follow_symlinks=False).st_size
            if count > MAX_FILES or size > MAX_BYTES:
                raise TooLarge
            if folder:
                waiting.append(Path(entry.path))
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return []


def _stays_inside(link: Path, source: Path) -> bool:
    """Whether a relative link leads to a place in the folder: the copy's links must not lead out of it."""
    target = link.readlink()
    inside = Path(os.path.normpath(link.parent / target)).is_relative_to(source)
    return not target.is_absolute() and inside


def _copy_file(source: Path, target: Path) -> None:
    try:
        # A file may have become a pipe or a link since it was found.
        reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(reading, "rb") as content:
        mode = 0o700 if os.fstat(reading).st_mode & 0o100 else 0o600
        target.touch(mode)
        with target.open("wb") as copied:
            # A file may have grown, too.
            copied.write(content.read(MAX_BYTES))
    shutil.copystat(source, target, follow_symlinks=False)
    target.chmod(mode)
