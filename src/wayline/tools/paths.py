"""Paths as models write them, and the files they lead to."""

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from wayline.tools.base import Failed, ToolRun

#: names suggested for a missing file, and entries shown of a folder
NEAR_NAMES = 3
ENTRIES = 20
#: characters of a path; systems take no longer ones (PATH_MAX)
LONGEST = 4096


def _sound(path: str) -> str:
    if not path.strip():
        raise ValueError("a path may not be empty")
    if "\0" in path:
        raise ValueError("a path may not hold a NUL character")
    if len(path) > LONGEST:
        raise ValueError(f"a path may have {LONGEST} characters")
    return path


#: a path argument: relative to the workspace, absolute, or from the home folder with `~`
PathArgument = Annotated[str, AfterValidator(_sound)]


def absolute(path: str, workspace: Path) -> Path:
    """`path` seen from the workspace; `..` folded, links not followed: pure, for showing."""
    return Path(os.path.normpath(workspace / os.path.expanduser(path)))  # noqa: PTH111 - raises not for ~nobody


def resolved(path: str, workspace: Path) -> Path:
    """`path` with every link followed, also when its end does not exist yet: for the permission check."""
    return Path(os.path.realpath(workspace / os.path.expanduser(path)))  # noqa: PTH111 - as above


def shown(path: Path, workspace: Path) -> str:
    """`path` as people read it: relative inside the workspace, absolute outside."""
    return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else str(path)


def permitted(run: ToolRun) -> Path:
    """The one path the call may touch. Raises `Failed` when a link now leads elsewhere from there."""
    (path,) = run.paths
    if os.path.realpath(path) != str(path):
        raise Failed(f"{path} leads to another file than when permission was asked. Call again.")
    return path


@contextmanager
def explained(path: Path, workspace: Path) -> Iterator[None]:
    """Turns an `OSError` within into a `Failed` that names the file as the model knows it."""
    try:
        yield
    except OSError as error:
        raise Failed(f"{shown(path, workspace)}: {error.strerror or error}.") from error


def missing(path: Path, workspace: Path) -> Failed:
    """There is no such file; with names near to it."""
    text = f"{shown(path, workspace)} does not exist."
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, NEAR_NAMES)
    if near:
        text += f" Did you mean {' or '.join(shown(path.parent / name, workspace) for name in near)}?"
    elif not path.parent.is_dir():
        text += f" Its folder {shown(path.parent, workspace)} does not exist either."
    return Failed(text)


def is_folder(path: Path, workspace: Path) -> Failed:
    """It is a folder where a file is needed; with what is in it."""
    # Links are not followed: one that leads nowhere, or round, must not hide the others.
    entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(path)]
    names = sorted(f"{name}/" if folder else name for name, folder in entries)
    listing = ", ".join(names[:ENTRIES]) + (
        f" and {len(names) - ENTRIES} more" if len(names) > ENTRIES else ""
    )
    return Failed(
        f"{shown(path, workspace)} is a folder. It holds: {listing or 'nothing'}. Use glob to list more."
    )
