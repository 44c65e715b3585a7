"""The files below a folder that a search looks at: not those git ignores, nor links, nor `.git`.

ripgrep lists them when it is there. Otherwise Python does: both look at the `.gitignore` of the folder,
of those below it, and of those above it as far as the repository goes.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import anyio.to_thread

from wayline.tools.ignore_rules import IgnoreRules, rules_in
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
    if program := ripgrep():
        found = await _by_ripgrep(program, root, missed)
    else:
        found = await gathered(walk(root, missed), most=MOST_FILES + 1)
    missed.too_many = len(found) > MOST_FILES
    return await anyio.to_thread.run_sync(lambda: sorted(found[:MOST_FILES], key=lambda path: path.parts))


async def _by_ripgrep(program: str, root: Path, missed: Missed) -> list[Path]:
    found: list[Path] = []

    def take(name: bytes) -> bool:
        found.append(Path(os.fsdecode(name)))
        return len(found) <= MOST_FILES

    argv = [program, "--files", "--null", *RIPGREP_FILES, str(root)]
    await run_ripgrep(argv, take, missed, separator=b"\0")
    return found


async def gathered(
    paths: Iterable[Path], wanted: Callable[[Path], bool] = lambda path: True, most: int = MOST_FILES
) -> list[Path]:
    """The first `most` of the paths that are wanted, found in a thread while others get their turn."""
    stop = threading.Event()

    def taken() -> list[Path]:
        found: list[Path] = []
        for path in paths:
            if stop.is_set() or len(found) == most:
                break
            if wanted(path):
                found.append(path)
        return found

    try:
        return await anyio.to_thread.run_sync(taken, abandon_on_cancel=True)
    finally:
        stop.set()


def walk(root: Path, missed: Missed) -> Iterator[Path]:
    """The files below `root` that are not ignored, by Python alone; folders it may not read are left out."""
    yield from _walk(root, _rules_above(root), missed)


def _walk(folder: Path, rules: tuple[IgnoreRules, ...], missed: Missed) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        missed.unread = True  # it is gone, or not ours to read: ripgrep goes on too
        return
    if any(entry.name == ".git" for entry in entries):
        rules = ()  # a repository within: the rules of the one around it do not reach into it
    if own := rules_in(folder):
        rules = (own, *rules)
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


def _ignored(path: Path, is_folder: bool, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether git ignores it; the nearest file that says anything about it decides."""
    decisions = (of_folder.decision(path, is_folder) for of_folder in rules)
    return next((decision for decision in decisions if decision is not None), False)


def _rules_above(root: Path) -> tuple[IgnoreRules, ...]:
    """The rules of the folders above, the nearest first, as far as the repository goes. That they ignore
    `root` itself, or what it is in, does not count: it was asked for by name."""
    above: list[IgnoreRules] = []
    folder = root
    while folder != folder.parent and not (folder / ".git").exists():
        folder = folder.parent
        if rules := rules_in(folder):
            above.append(rules)
    return tuple(above)


def relative(path: Path, root: Path) -> PurePath:
    """`path` below `root`; the name of a `root` that is a file."""
    return PurePath(path.name) if path == root else path.relative_to(root)
