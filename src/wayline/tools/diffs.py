"""What changed in a file, small enough to be shown and kept."""

import difflib
from typing import Any

from wayline.tools.results import size

#: a change is kept whole up to this many bytes of each text, else as hunks
WHOLE = 16 * 1024
#: bytes of all hunks of one change together
HUNKS = 32 * 1024
CONTEXT = 3
#: lines of old x lines of new, and characters of both, that are compared line by line; more is one hunk
COMPARED = 250_000
COMPARED_CHARACTERS = 1_000_000
#: characters that are compared at once
_STEP = 64 * 1024

Diff = dict[str, Any]


def diffs(path: str, old: str | None, new: str) -> list[Diff]:
    """The change as `{path, oldText, newText}`, `oldText` None for a new file.

    Of a file over 16 KB only the changed hunks with 3 lines of context, as many as fit in 32 KB; a text
    of more than 16 KB is cut with a note.
    """
    if old is None:
        return [_diff(path, None, new)]
    if size(old) <= WHOLE and size(new) <= WHOLE:
        return [_diff(path, old, new)]
    kept: list[Diff] = []
    room = HUNKS
    for before, after in _hunks(old, new):
        hunk = _diff(path, before, after)
        room -= size(hunk["oldText"]) + size(hunk["newText"])
        if kept and room < 0:
            break
        kept.append(hunk)
    return kept


def _diff(path: str, old: str | None, new: str) -> Diff:
    return {"path": path, "oldText": None if old is None else _bounded(old), "newText": _bounded(new)}


def _bounded(text: str) -> str:
    if size(text) <= WHOLE:
        return text
    head = text.encode()[:WHOLE].decode(errors="ignore")
    return f"{head}\n[{size(text) - size(head)} bytes more]\n"


def _hunks(old: str, new: str) -> list[tuple[str, str]]:
    """The changed places of two texts, in order, each with its context."""
    if old == new:
        return []
    first = _alike(old, new)
    same_end = _alike_at_end(old[first:], new[first:])
    whole_lines = all(text[: len(text) - same_end][-1:] in ("", "\n") for text in (old, new))
    start = _back(old, first)
    keep_end = len(old) - _forth(old, len(old) - same_end, CONTEXT + (not whole_lines))
    old, new = old[start : len(old) - keep_end], new[start : len(new) - keep_end]
    if len(old) + len(new) > COMPARED_CHARACTERS:
        return [(old, new)]
    lines, others = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(lines) * len(others) > COMPARED:
        return [(old, new)]
    groups = difflib.SequenceMatcher(None, lines, others, autojunk=False).get_grouped_opcodes(CONTEXT)
    return [
        ("".join(lines[group[0][1] : group[-1][2]]), "".join(others[group[0][3] : group[-1][4]]))
        for group in groups
    ]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    shorter = min(len(one), len(other))
    place, step = 0, _STEP
    while place < shorter and step:
        if one[place : place + step] == other[place : place + step]:
            place += step
        else:
            step //= 2
    return min(place, shorter)


def _alike_at_end(one: str, other: str) -> int:
    """How many characters both end with."""
    shorter = min(len(one), len(other))
    count, step = 0, _STEP
    while count < shorter and step:
        end, other_end = len(one) - count, len(other) - count
        if one[max(end - step, 0) : end] == other[max(other_end - step, 0) : other_end]:
            count += step
        else:
            step //= 2
    return min(count, shorter)


def _back(text: str, place: int) -> int:
    """Where the context of the line at `place` begins."""
    for _ in range(CONTEXT + 1):
        place = text.rfind("\n", 0, max(place, 0))
    return place + 1


def _forth(text: str, place: int, lines: int) -> int:
    """Where so many lines from `place` on end."""
    for _ in range(lines):
        place = text.find("\n", place) + 1 or len(text)
    return place
