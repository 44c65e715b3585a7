"""What a `.gitignore` says, where ripgrep is not there to read it."""

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from wayline.tools.globs import LONGEST, regex_of

#: bytes of a `.gitignore` that are looked at
MOST = 1024 * 1024


class _Rule(NamedTuple):
    """One line."""

    ignores: bool
    folders_only: bool
    names_only: bool
    regex: re.Pattern[str]

    def means(self, path: PurePosixPath, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(path.name if self.names_only else str(path)) is not None


class IgnoreRules(NamedTuple):
    """The `.gitignore` of `folder`, its last line first."""

    folder: Path
    rules: tuple[_Rule, ...]

    def decision(self, path: Path, is_folder: bool) -> bool | None:
        """Whether git ignores what is at `path`; None when no line speaks of it."""
        within = PurePosixPath(path.relative_to(self.folder))
        return next((rule.ignores for rule in self.rules if rule.means(within, is_folder)), None)


def rules_in(folder: Path) -> IgnoreRules | None:
    """The rules of a folder, None when it has none, or none that may be read: git goes on without them."""
    file = folder / ".gitignore"
    try:
        if not file.is_file():  # a pipe would have no end
            return None
        with file.open("rb") as opened:
            text = opened.read(MOST).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    except OSError:
        return None
    rules = [rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r")))]
    return IgnoreRules(folder, tuple(reversed(rules)))


def _rule(line: str) -> _Rule | None:
    """None for a line that says nothing: a comment, an empty one, or one that is no pattern."""
    if line.startswith("#") or len(line) > LONGEST:
        return None
    bare = line.rstrip(" ")
    if len(bare) < len(line) and (len(bare) - len(bare.rstrip("\\"))) % 2:
        bare += " "
    ignores = not bare.startswith("!")
    pattern = bare if ignores else bare[1:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    names_only = "/" not in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    try:
        return _Rule(ignores, folders_only, names_only, re.compile(regex_of(pattern, escapes=True)))
    except ValueError:
        return None
