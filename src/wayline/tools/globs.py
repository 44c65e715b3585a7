"""Glob patterns: `*`, `?`, `[a-z]`, `{a,b}`, `**` for any folders between, `!` in front for all others."""

import re
from pathlib import PurePosixPath

#: alternatives that the braces of one pattern may stand for
ALTERNATIVES = 256

_BRACES = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(r"/\*\*/|^\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]/]*\]|.", re.DOTALL)


class Glob:
    """A pattern for paths below a folder; one without `/` fits names at any depth.

    One that begins with `!` fits all but what the rest of it means, read as a line of a `.gitignore` is:
    a folder with all that is in it, and no files when it ends with `/`.

    Raises `ValueError` for a pattern that cannot be understood.
    """

    def __init__(self, pattern: str) -> None:
        self._excludes = pattern.startswith("!")
        pattern = pattern.removeprefix("!").removeprefix("./")
        self._folders_only = self._excludes and pattern.endswith("/")
        if self._excludes:
            pattern = pattern.rstrip("/")
        self._names_only = "/" not in pattern
        if self._excludes:
            pattern = pattern.removeprefix("/")
        alternatives = (_regex(one) for one in _alternatives(pattern))
        try:
            self._regex = re.compile("|".join(alternatives), re.DOTALL)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no glob pattern: {error}") from error

    def fits(self, path: PurePosixPath) -> bool:
        """Whether the file at `path`, relative to the folder, is meant."""
        if not self._excludes:
            return self._means(path)
        folders = [folder for folder in path.parents if folder.name]
        return not any(map(self._means, folders if self._folders_only else [path, *folders]))

    def _means(self, path: PurePosixPath) -> bool:
        return self._regex.fullmatch(path.name if self._names_only else str(path)) is not None


def _alternatives(pattern: str) -> list[str]:
    """The patterns that the braces of one stand for, the innermost braces first."""
    patterns = [pattern]
    while any(_BRACES.search(one) for one in patterns):
        patterns = [
            one[: braces.start()] + choice + one[braces.end() :] if braces else one
            for one in patterns
            for braces in [_BRACES.search(one)]
            for choice in (braces.group(1).split(",") if braces else [""])
        ]
        if len(patterns) > ALTERNATIVES:
            raise ValueError(f"{pattern!r} stands for more than {ALTERNATIVES} patterns")
    return patterns


def _regex(pattern: str) -> str:
    return "".join(_token(match.group()) for match in _TOKEN.finditer(pattern))


def _token(token: str) -> str:
    match token:
        case "/**/":
            return "/(?:.+/)?"
        case "**/":
            return "(?:.+/)?"
        case "/**":
            return "/.+"
        case "?":
            return "[^/]"
        case _ if token.startswith("*"):
            return "[^/]*"
        case _ if token.startswith("[") and len(token) > 1:
            negated = token[1] in "!^"
            inner = (
                token[2 if negated else 1 : -1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
            )
            return f"(?!/)[{'^' if negated else ''}{inner}]"
        case _:
            return re.escape(token)
