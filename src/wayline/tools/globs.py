"""Glob patterns: `*`, `?`, `[a-z]`, `{a,b}`, `**` for any folders between, `!` in front for all others.

A pattern becomes a regular expression that never tries anything twice: what stands between two stars has a
fixed length, so the first place where it fits is as good as any other, and is final (an atomic group). Time
grows with the path times the pattern, whatever the pattern.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

#: characters of a pattern; paths are no longer either
LONGEST = 4096
#: alternatives that the braces of one pattern may stand for, and characters of all of them
ALTERNATIVES = 256
CHARACTERS = 32 * 1024

_CLASS = re.compile(r"(?s)\[(?>([!^]?))(.[^\]]*)\]")
_CLASS_WITH_ESCAPES = re.compile(r"(?s)\[(?>([!^]?))((?:\\.|[^\\])(?:\\.|[^\]\\])*)\]")


class Glob:
    """A pattern for paths below a folder; one without `/` fits names at any depth.

    One that begins with `!` fits all but what the rest of it means, read as a line of a `.gitignore` is:
    a folder with all that is in it, and no files when it ends with `/`.

    Raises `ValueError` for a pattern that cannot be understood.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise ValueError(f"a glob pattern may have {LONGEST} characters, not {len(pattern)}")
        self._excludes = pattern.startswith("!")
        pattern = pattern.removeprefix("!").removeprefix("./")
        self._folders_only = self._excludes and pattern.endswith("/")
        if self._excludes:
            pattern = pattern.rstrip("/")
        self._names_only = "/" not in pattern
        if self._excludes:
            pattern = pattern.removeprefix("/")
        try:
            self._regex = re.compile("|".join(map(regex_of, _alternatives(pattern))))
        except ValueError as error:
            raise ValueError(f"{pattern!r} is no glob pattern: {error}") from error

    def fits(self, path: PurePosixPath) -> bool:
        """Whether the file at `path`, relative to the folder, is meant."""
        if not self._excludes:
            return self._means(path)
        folders = [folder for folder in path.parents if folder.name]
        return not any(map(self._means, folders if self._folders_only else [path, *folders]))

    def _means(self, path: PurePosixPath) -> bool:
        return self._regex.fullmatch(path.name if self._names_only else str(path)) is not None


def regex_of(pattern: str, *, escapes: bool = False) -> str:
    """A regular expression for the whole paths that `pattern` means; braces are nothing special in it.

    With `escapes`, as in a `.gitignore`, a backslash makes what follows it nothing special either, and a
    class needs its end. Raises `ValueError`.
    """
    groups: list[list[str]] = [[]]  # the names between one `**` and the next
    for name in pattern.split("/"):
        if name != "**":
            groups[-1].append(_name(name, escapes))
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    first, *others = groups
    if not others:
        return _folders(first[:-1]) + first[-1]
    *between, last = others
    anywhere = "".join(f"(?>(?:[^/]+/)*?{_folders(names)})" for names in between)
    rest = "(?:[^/]+/)*" + _folders(last[:-1]) + last[-1] if last else "(?s:.+)"
    return _folders(first) + anywhere + rest


def _folders(names: Sequence[str]) -> str:
    return "".join(f"(?>{name}/)" for name in names)


def _name(pattern: str, escapes: bool) -> str:
    """The regular expression for one name."""
    parts = [""]  # what stands between one star and the next, each of a fixed length
    place = 0
    while place < len(pattern):
        token = _token(pattern, place, escapes)
        place += len(token)
        if token != "*":
            parts[-1] += _one(token, escapes)
        elif parts[-1] or len(parts) == 1:
            parts.append("")
    first, *others = parts
    if not others:
        return first
    *between, last = others
    return first + "".join(f"(?>[^/]*?{part})" for part in between) + "[^/]*" + last


def _token(pattern: str, place: int, escapes: bool) -> str:
    """What stands there for one character, or for any with a star."""
    if pattern[place] == "\\" and escapes:
        if place + 1 == len(pattern):
            raise ValueError("a backslash ends it")
        return pattern[place : place + 2]
    if pattern[place] == "[":
        if found := (_CLASS_WITH_ESCAPES if escapes else _CLASS).match(pattern, place):
            return found.group()
        if escapes:
            raise ValueError("a class has no end")
    return pattern[place]


def _one(token: str, escapes: bool) -> str:
    """The regular expression for one character."""
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 1:
        return _class(token, escapes)
    return re.escape(token[-1])


def _class(token: str, escapes: bool) -> str:
    found = (_CLASS_WITH_ESCAPES if escapes else _CLASS).fullmatch(token)
    assert found is not None
    mark, inner = found.groups()
    characters = re.findall(r"(?s)\\.|.", inner) if escapes else list(inner)
    ranges: list[str] = []
    place = 0
    while place < len(characters):
        low = high = characters[place][-1]
        if characters[place + 1 : place + 2] == ["-"] and place + 2 < len(characters):
            place += 2
            high = characters[place][-1]
        place += 1
        if low > high:
            raise ValueError(f"{low}-{high} is no range")
        ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    return f"(?!/)[{'^' if mark else ''}{''.join(ranges)}]"


def _alternatives(pattern: str) -> list[str]:
    """The patterns that the braces of one stand for; a brace without a partner stands for itself."""
    tokens = re.split(r"([{},])", pattern)
    partnered = _partnered(tokens)
    around: list[tuple[list[str], list[str]]] = []  # of each open pair: what is before it, choices so far
    choices: list[str] = []
    now, text = [""], ""
    for index, token in enumerate(tokens):
        if not (index in partnered or (token == "," and around)):
            text += token
            continue
        now, text = _each(now, [text]), ""
        if token == "{":
            around.append((now, choices))
            now, choices = [""], []
        elif token == ",":
            choices, now = choices + now, [""]
        else:
            inner = choices + now
            before, choices = around.pop()
            now = _each(before, inner)
    return _each(now, [text])


def _partnered(tokens: Sequence[str]) -> set[int]:
    """The places of the braces that belong to another."""
    pairs: set[int] = set()
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token == "{":
            opened.append(index)
        elif token == "}" and opened:
            pairs |= {opened.pop(), index}
    return pairs


def _each(heads: list[str], tails: list[str]) -> list[str]:
    """Each head with each tail."""
    if len(heads) * len(tails) > ALTERNATIVES:
        raise ValueError(f"it stands for more than {ALTERNATIVES} patterns")
    if len(heads) * sum(map(len, tails)) + len(tails) * sum(map(len, heads)) > CHARACTERS:
        raise ValueError(f"it stands for patterns of more than {CHARACTERS} characters")
    return [head + tail for head in heads for tail in tails]
