"""Templates held against what came: a pure comparison, with the variables it captures."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import msgspec

from wayline.transcripts.format import Template
from wayline.transcripts.placeholders import Any_, Capture, Further, Part, Regex, Variable, literal, parts

Variables = Mapping[str, Any]

#: members of a frame that its template need not name, also when it is exact: what is sent has none either
ENVELOPE = ("jsonrpc", "id")


class Missing:
    """What stands in the place of a member that is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


class Mismatch(msgspec.Struct, frozen=True):
    """One place where a value is not what a template says; `path` such as `params.update.entries[0]`."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"at {self.path or 'the top'}: expected {_short(self.expected)}, got {_short(self.got)}"


class Comparison(msgspec.Struct, frozen=True):
    """What came of holding a value against a template. `captured` counts only without mismatches."""

    mismatches: tuple[Mismatch, ...]
    captured: dict[str, Any]

    @property
    def fits(self) -> bool:
        """Whether the value is what the template says."""
        return not self.mismatches


def compare(template: Template, value: Any, variables: Variables, *, exact: bool = False) -> Comparison:
    """Hold `value` against `template`. Members that the template does not name may be anything, unless
    `exact`; then only those of the envelope, which are the runner's. Lists have the same length."""
    captured: dict[str, Any] = {}
    mismatches = tuple(_mismatches(template, value, _Scope(variables, captured), "", exact))
    return Comparison(mismatches, captured)


def fill(template: Template, variables: Variables) -> Any:
    """The value to send: every variable in its place."""
    match template:
        case str():
            return _filled(parts(template), variables)
        case dict():
            return {name: fill(each, variables) for name, each in template.items()}
        case list():
            return [fill(each, variables) for each in template]
        case _:
            return template


def adopt(template: Template, value: Any, variables: Variables, *, exact: bool = False) -> Template:
    """The template, changed as little as makes it fit `value`: placeholders that fit stay."""
    if isinstance(template, dict) and isinstance(value, dict):
        names = value if exact else [name for name in template if name in value]
        return {
            name: adopt(template[name], value[name], variables, exact=exact)
            if name in template
            else as_template(value[name])
            for name in names
        }
    if isinstance(template, list) and isinstance(value, list) and len(template) == len(value):
        return [adopt(*pair, variables, exact=exact) for pair in zip(template, value, strict=True)]
    return template if compare(template, value, variables).fits else as_template(value)


def as_template(value: Any) -> Template:
    """The template that stands for exactly this value."""
    match value:
        case str():
            return literal(value)
        case dict():
            return {name: as_template(each) for name, each in value.items()}
        case list():
            return [as_template(each) for each in value]
        case _:
            return value


class _Scope:
    """The variables in force: those captured in this very comparison come first."""

    def __init__(self, given: Variables, captured: dict[str, Any]) -> None:
        self._given = given
        self.captured = captured

    def get(self, name: str) -> Any:
        return self.captured[name] if name in self.captured else self._given.get(name, MISSING)


def _mismatches(template: Template, value: Any, scope: _Scope, path: str, exact: bool) -> Iterator[Mismatch]:
    match template:
        case dict() if isinstance(value, dict):
            yield from _in_object(template, value, scope, path, exact)
        case list() if isinstance(value, list):
            yield from _in_list(template, value, scope, path, exact)
        case str():
            if not _fits(template, value, scope):
                yield Mismatch(path, template, value)
        case _:
            if not _same(template, value):
                yield Mismatch(path, template, value)


def _in_object(
    template: dict[str, Any], value: dict[str, Any], scope: _Scope, path: str, exact: bool
) -> Iterator[Mismatch]:
    free = () if path else ENVELOPE
    unnamed = [name for name in value if name not in template and name not in free] if exact else []
    for name in [*template, *unnamed]:
        place = f"{path}.{name}" if path else name
        if name in template and name in value:
            yield from _mismatches(template[name], value[name], scope, place, exact)
        else:
            yield Mismatch(place, template.get(name, MISSING), value.get(name, MISSING))


def _in_list(
    template: list[Any], value: list[Any], scope: _Scope, path: str, exact: bool
) -> Iterator[Mismatch]:
    for number, (each, got) in enumerate(zip_longest(*_paired(template, value), fillvalue=MISSING)):
        place = f"{path}[{number}]"
        if each is MISSING or got is MISSING:
            yield Mismatch(place, each, got)
        else:
            yield from _mismatches(each, got, scope, place, exact)


def _paired(template: list[Any], value: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both without what the last item of the template stands for: further items."""
    last = _parts(template[-1]) if template and isinstance(template[-1], str) else ()
    match last:
        case (Further(alike=False),):
            return template[:-1], value[: len(template) - 1]
        case (Further(),):
            named = template[:-1]
            return named + named[-1:] * (len(value) - len(named)), value
        case _:
            return template, value


def _same(template: Any, value: Any) -> bool:
    """Equal as JSON: `true` is no 1."""
    return isinstance(template, bool) == isinstance(value, bool) and bool(template == value)


def _fits(template: str, value: Any, scope: _Scope) -> bool:
    """A string that is one placeholder stands for any JSON value, any other for strings."""
    taken = _parts(template)
    if len(taken) == 1 and not isinstance(taken[0], str):
        return _fits_whole(taken[0], value, scope)
    if not isinstance(value, str):
        return False
    if all(isinstance(part, str) for part in taken):
        return "".join(map(str, taken)) == value
    match = re.fullmatch("".join(_pattern(part, scope) for part in taken), value, re.DOTALL)
    if match is None:
        return False
    scope.captured.update(match.groupdict())
    return True


def _fits_whole(part: Part, value: Any, scope: _Scope) -> bool:
    match part:
        case Variable(name):
            return _same(scope.get(name), value)
        case Regex(regex):
            return isinstance(value, str) and re.fullmatch(regex, value, re.DOTALL) is not None
        case Capture(name, regex):
            if regex is not None and not _fits_whole(Regex(regex), value, scope):
                return False
            scope.captured[name] = value
            return True
        case Further():
            return False
        case _:
            return True


def _pattern(part: Part, scope: _Scope) -> str:
    match part:
        case str():
            return re.escape(part)
        case Variable(name):
            return re.escape(str(scope.get(name)))
        case Regex(regex):
            return f"(?:{regex})"
        case Capture(name, regex):
            return f"(?P<{name}>{'.+?' if regex is None else regex})"
        case Any_() | Further():
            return ".*"


@lru_cache(maxsize=4096)
def _parts(template: str) -> tuple[Part, ...]:
    return tuple(parts(template))


def _filled(taken: list[Part], variables: Variables) -> Any:
    if len(taken) == 1 and isinstance(taken[0], Variable):
        return variables[taken[0].name]
    return "".join(str(variables[part.name]) if isinstance(part, Variable) else str(part) for part in taken)


def _short(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    # Escaped where it must be: what an agent wrote may hold lone surrogates and control characters.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text if text.isprintable() else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= 200 else f"{text[:100]} … {text[-60:]}"
