"""Placeholders in the strings of a template.

${name}          the value of a variable
${name:=…}       matches anything and keeps it as a variable; ${name:=/regex/} what the regex matches
${any}           matches anything
${rest}          as the last item of a list: any further items
${more}          as the last item of a list: any further items like the one before it
${/regex/}       matches what the regex matches
${repeat:N:text} `text` N times
$${              a dollar sign and a brace
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{(?P<inside>(?:/(?:[^/\\]|\\.)*/|[^}])*?)\}", re.DOTALL)
_CAPTURE = re.compile(r"(?P<name>[A-Za-z]\w*):=(?:…|\.\.\.|/(?P<regex>.*)/|)", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z]\w*")
_REPEAT = re.compile(r"repeat:(?P<times>\d+):(?P<text>.*)", re.DOTALL)


class Variable(msgspec.Struct, frozen=True):
    """`${name}`."""

    name: str


class Capture(msgspec.Struct, frozen=True):
    """`${name:=…}`; `regex` None for anything."""

    name: str
    regex: str | None


class Any_(msgspec.Struct, frozen=True):  # noqa: N801 - `Any` is taken
    """`${any}`."""


class Regex(msgspec.Struct, frozen=True):
    """`${/regex/}`."""

    regex: str


class Further(msgspec.Struct, frozen=True):
    """`${rest}` and `${more}`, the latter `alike`. It matches as the last item of a list alone."""

    alike: bool


Part = str | Variable | Capture | Any_ | Regex | Further

#: the words of `Further`
FURTHER = {"rest": Further(alike=False), "more": Further(alike=True)}


def parts(text: str) -> list[Part]:
    """A string of a template, taken apart; literal text as `str`. Raises `ValueError`."""
    found: list[Part] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        if match.start() > end:
            found.append(text[end : match.start()])
        found.append("${" if match["inside"] is None else _part(match["inside"]))
        end = match.end()
    if end < len(text):
        found.append(text[end:])
    if len(found) > 1 and any(isinstance(part, Further) for part in found):
        raise ValueError(f"{text!r}: what stands for further items stands alone")
    names = [part.name for part in found if isinstance(part, Capture)]
    if len(set(names)) < len(names):
        raise ValueError(f"{text!r} captures one variable twice")
    return found


def literal(text: str) -> str:
    """The template that stands for exactly this text."""
    return text.replace("${", "$${")


def _part(inside: str) -> Part:
    if inside == "any":
        return Any_()
    if inside in FURTHER:
        return FURTHER[inside]
    if len(inside) > 1 and inside.startswith("/") and inside.endswith("/"):
        return Regex(_regex(inside[1:-1]))
    if match := _CAPTURE.fullmatch(inside):
        return Capture(match["name"], None if match["regex"] is None else _regex(match["regex"]))
    if match := _REPEAT.fullmatch(inside):
        return match["text"] * int(match["times"])
    if _VARIABLE.fullmatch(inside):
        return Variable(inside)
    raise ValueError(f"${{{inside}}} is no placeholder; a literal one is written $${{{inside}}}")


def _regex(pattern: str) -> str:
    try:
        # In a group, as it will be: flags for the whole expression cannot stand there.
        compiled = re.compile(f"(?:{pattern})")
    except re.error as error:
        raise ValueError(f"the regex /{pattern}/ is wrong: {error}") from None
    if compiled.groupindex:
        raise ValueError(f"the regex /{pattern}/ names a group; name a variable instead: ${{name:=/…/}}")
    return pattern


def strings(value: Any) -> Iterator[str]:
    """All strings in a value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)
