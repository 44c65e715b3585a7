"""The files below a folder that a search looks at: not those git ignores, nor links, nor `.git`.

ripgrep lists them when it is there. Otherwise Python does: both look at the `.gitignore` of the folder,
of those below it, and of those above it as far as the repository goes.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

import anyio.to_thread
from pathspec import GitIgnoreSpec

from wayline.tools.line_process import ProgramFailed, run_lines

#: files that one search looks at
MOST_FILES = 100_000

#: what makes ripgrep look at `.gitignore` alone, also outside a repository and at hidden files
RIPGREP_FILES = [
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-messages",
    "--glob=!.git",
]


def ripgrep() -> str | None:
    """Where ripgrep is, None when it is not."""
    return shutil.which("rg")


@dataclass
class Missed:
    """What a search did not look at."""

    too_many: bool = False
    unread: bool = False

    def notes(self) -> list[str]:
        """The same for the model."""
        too_many = "(there are too many files to look at all: give a path)"
        unread = "(not all could be searched: some files or folders may not be read)"
        return [too_many] * self.too_many + [unread] * self.unread


async def run_ripgrep(
    argv: Sequence[str], take: Callable[[bytes], bool], missed: Missed, *, separator: bytes = b"\n"
) -> None:
    """Give each line that ripgrep prints to `take`. Raises `ProgramFailed` for a pattern it refuses."""
    try:
        await run_lines(argv, take, separator=separator)
    except ProgramFailed as failure:
        # After all others, files that it may not read make it fail, without a word (`--no-messages`).
        if str(failure) or failure.status != 2:
            raise
        missed.unread = True


async def files_below(root: Path, missed: Missed) -> list[Path]:
    """The files below `root`, in the order of their paths. A `root` that is a file is the only one."""
    if root.is_file():
        return [root]
    program = ripgrep()
    found = await (_by_ripgrep(program, root, missed) if program else _by_python(root, missed))
    missed.too_many = len(found) > MOST_FILES
    return sorted(found[:MOST_FILES], key=lambda path: path.parts)


async def _by_ripgrep(program: str, root: Path, missed: Missed) -> list[Path]:
    found: list[Path] = []

    def take(name: bytes) -> bool:
        found.append(Path(os.fsdecode(name)))
        return len(found) <= MOST_FILES

    argv = [program, "--files", "--null", *RIPGREP_FILES, str(root)]
    await run_ripgrep(argv, take, missed, separator=b"\0")
    return found


async def _by_python(root: Path, missed: Missed) -> list[Path]:
    stop = threading.Event()

    def listed() -> list[Path]:
        found: list[Path] = []
        for path in walk(root, missed):
            found.append(path)
            if stop.is_set() or len(found) > MOST_FILES:
                break
        return found

    try:
        return await anyio.to_thread.run_sync(listed, abandon_on_cancel=True)
    finally:
        stop.set()


class Rules(NamedTuple):
    """What the `.gitignore` in `folder` says."""

    folder: Path
    spec: GitIgnoreSpec


def walk(root: Path, missed: Missed) -> Iterator[Path]:
    """The files below `root` that are not ignored, by Python alone; folders it may not read are left out."""
    yield from _walk(root, _rules_above(root), missed)


def _walk(folder: Path, rules: tuple[Rules, ...], missed: Missed) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        missed.unread = True  # it is gone, or not ours to read: ripgrep goes on too
        return
    if any(entry.name == ".git" for entry in entries):
        rules = ()  # a repository within: the rules of the one around it do not reach into it
    rules = (*_rules_in(folder), *rules)
    for entry in entries:
        path = folder / entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or not (is_folder or entry.is_file(follow_symlinks=False)):
            continue
        if _ignored(path, is_folder, rules):
            continue
        if is_folder:
            yield from _walk(path, rules, missed)
        else:
            yield path


def _ignored(path: Path, is_folder: bool, rules: tuple[Rules, ...]) -> bool:
    """Whether git ignores it; the nearest file that says anything about it decides."""
    for folder, spec in rules:
        name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
        if (decision := spec.check_file(name).include) is not None:
            return decision
    return False


def _rules_above(root: Path) -> tuple[Rules, ...]:
    """The rules of the folders above, the nearest first, as far as the repository goes. Rules that ignore
    `root` itself do not count: it was asked for by name."""
    above: list[Rules] = []
    folder = root
    while folder != folder.parent and not (folder / ".git").exists():
        folder = folder.parent
        above.extend(rules for rules in _rules_in(folder) if not _ignored(root, True, (rules,)))
    return tuple(above)


def _rules_in(folder: Path) -> tuple[Rules, ...]:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()  # none here, or none that may be read: git goes on without it too
    return (
        Rules(folder, GitIgnoreSpec.from_lines(line for line in lines if line.strip() not in ("!", "/"))),
    )


def relative(path: Path, root: Path) -> PurePath:
    """`path` below `root`; the name of a `root` that is a file."""
    return PurePath(path.name) if path == root else path.relative_to(root)
