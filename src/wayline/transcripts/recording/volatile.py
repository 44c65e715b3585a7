"""Values of a conversation as templates: what is another each time becomes a placeholder.

Pure, but for what it must remember: which ids were seen, and what they are called.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from wayline.transcripts.format import Template
from wayline.transcripts.placeholders import literal

#: members that hold an id of the agent's, and how such ids are called
IDS = {"sessionId": "session", "toolCallId": "call", "messageId": "message", "terminalId": "terminal"}
ANY = "${any}"

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TIME = r"(?<![\w-])\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?![\w-])"
#: ids of this length are known by themselves, wherever they stand
_TOKEN = r"(?<![\w-])[\w-]{8,}"
#: how long something took, as test runners say it
_SECONDS = r"(?<![\w.])\d+\.\d+(?= ?(?:ms|s|secs?|seconds)\b)"
#: what Wayline says of an attempt that it makes again: why, and when
_AGAIN = r"(?<=The answer was cut off \()[^\n]*?(?=\); asking again)|(?<=Asking again in )\d+\.\d+(?= s)"
_IN_PATH = r"[^\s\"'`,;:)\]}>]"


class Surroundings(msgspec.Struct, frozen=True):
    """The paths that mean the workspace, the data home, and the place for temporary files."""

    workspace: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    tmp: tuple[str, ...] = ()


class Names:
    """Makes templates of values, in the order of the steps they stand in."""

    def __init__(self, around: Surroundings) -> None:
        named = [*((path, "cwd") for path in around.workspace), *((path, "home") for path in around.home)]
        self._places = {path: name for path, name in named if path.strip("/")}
        self._tmp = tuple(path for path in around.tmp if path.strip("/"))
        self._home = tuple(path for path in around.home if path.strip("/"))
        self._volatile = self._pattern(timed=False)
        self._timed = self._pattern(timed=True)
        self._known: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._said: set[str] = set()

    def _pattern(self, *, timed: bool) -> re.Pattern[str]:
        # Longer paths first: one may be inside another.
        places = sorted(self._places, key=len, reverse=True)
        kinds = {
            # Wayline names the folder of a working directory's sessions after its path.
            "sessions": _path(self._home, r"/sessions/[^/\s]+-[0-9a-f]{8}(?![\w-])"),
            "place": _path(places, r"(?![\w-]|\.\w)"),
            "tmp": _path(self._tmp, rf"(?![\w.-])(?:/{_IN_PATH}*)?"),
            "again": _AGAIN,
            "time": _TIME,
            "seconds": _SECONDS if timed else None,
            # Some ids are made of others, by a word put behind them.
            "uuid": rf"(?<![\w-]){_UUID}(?!\w)",
            "token": _TOKEN,
        }
        return re.compile("|".join(f"(?P<{kind}>{regex})" for kind, regex in kinds.items() if regex))

    def sent(self, value: Any, key: str = "") -> Template:
        """What a client said: exactly this again, but with the ids and places of that run."""
        match value:
            case str() if key in IDS and value in self._known:
                return _variable(self._known[value])
            case str():
                self._said.add(value)
                return _templated(value, self._volatile, self._of_client)
            case dict():
                return {name: self.sent(each, name) for name, each in value.items()}
            case list():
                return [self.sent(each, key) for each in value]
            case _:
                return value

    def came(self, value: Any, key: str = "", *, timed: bool = False) -> Template:
        """What an agent said; `timed` when it may tell how long things took. An id that was not seen
        before is captured."""
        match value:
            case dict():
                # What `_meta` holds is between the two that spoke.
                members = ((name, each) for name, each in value.items() if name != "_meta")
                return {name: self.came(each, name, timed=timed) for name, each in members}
            case list():
                return [self.came(each, key, timed=timed) for each in value]
            case _ if key.endswith("At") and value is not None:
                return ANY
            case str() if key in IDS or re.fullmatch(_UUID, value):
                return self._id(value, IDS.get(key, "id"))
            case str():
                return _templated(value, self._timed if timed else self._volatile, self._of_agent)
            case _:
                return value

    def came_text(self, text: str) -> str:
        """Text that an agent said."""
        return _templated(text, self._volatile, self._of_agent)

    def _id(self, value: str, kind: str) -> str:
        if value in self._known:
            return _variable(self._known[value])
        if value in self._said or not value:
            # The client's own word, which it will say again.
            return _templated(value, self._volatile, self._of_client)
        self._counts[kind] += 1
        number = self._counts[kind]
        # One session is the common case, and reads better without a number.
        self._known[value] = kind if (kind, number) == ("session", 1) else f"{kind}{number}"
        return f"${{{self._known[value]}:=…}}"

    def _of_client(self, match: re.Match[str]) -> str | None:
        found = match[0]
        match match.lastgroup:
            case "place":
                return _variable(self._places[found])
            case "sessions":
                home = self._home_of(found)
                return _variable("home") + literal(found.removeprefix(home))
            case "tmp":
                self._said.add(found)
                return self._below_tmp(found)
            case "uuid" | "token" if found in self._known:
                return _variable(self._known[found])
        return None

    def _of_agent(self, match: re.Match[str]) -> str | None:
        found = match[0]
        match match.lastgroup:
            case "sessions":
                return f"{_variable('home')}/sessions/{ANY}"
            case "tmp":
                return self._below_tmp(found) if found in self._said else ANY
            case "time":
                return None if found in self._said else ANY
            case "again":
                return ANY
            case "seconds":
                return r"${/[\d.]+/}"
            case "uuid" if found not in self._known and found not in self._said:
                return ANY
        return self._of_client(match)

    def _home_of(self, found: str) -> str:
        return max((path for path in self._home if found.startswith(path)), key=len)

    def _below_tmp(self, found: str) -> str:
        root = max((path for path in self._tmp if found.startswith(path)), key=len)
        return _variable("tmp") + literal(found.removeprefix(root))


def _path(roots: tuple[str, ...] | list[str], rest: str) -> str | None:
    """A regex for one of these paths and what follows; None when there is no path."""
    if not roots:
        return None
    return rf"(?<![\w.-])(?:{'|'.join(map(re.escape, roots))}){rest}"


def _templated(
    text: str, pattern: re.Pattern[str], placeholder: Callable[[re.Match[str]], str | None]
) -> str:
    """The text with placeholders where `placeholder` gives one, and all else as it is."""
    written, end = "", 0
    for match in pattern.finditer(text):
        put = placeholder(match)
        if put is not None:
            written += _before_placeholder(text[end : match.start()]) + put
            end = match.end()
    return written + literal(text[end:])


def _before_placeholder(text: str) -> str:
    """Literal text that a placeholder follows: a dollar sign at its end must not join with that."""
    rest = text.rstrip("$")
    dollars = len(text) - len(rest)
    return literal(rest) + (f"${{repeat:{dollars}:$}}" if dollars else "")


def _variable(name: str) -> str:
    return f"${{{name}}}"
