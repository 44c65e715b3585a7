"""What changed in a file, small enough to be shown and kept."""

import difflib
from typing import Any

from wayline.tools.results import size

#: a change is kept whole up to this many bytes of each text, else as hunks
WHOLE = 16 * 1024
#: bytes of all hunks of one change together
HUNKS = 32 * 1024
CONTEXT = 3
#: lines of old x lines of new that are compared line by line; more is one hunk
COMPARED = 1_000_000

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
    for before, after in _hunks(old.splitlines(keepends=True), new.splitlines(keepends=True)):
        hunk = _diff(path, "".join(before), "".join(after))
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


def _hunks(old: list[str], new: list[str]) -> list[tuple[list[str], list[str]]]:
    """The changed places of two texts, in order, each with its context."""
    shorter = min(len(old), len(new))
    first = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    same_end = next((i for i in range(shorter - first) if old[-1 - i] != new[-1 - i]), shorter - first)
    start = max(first - CONTEXT, 0)
    keep_end = max(same_end - CONTEXT, 0)
    old, new = old[start : len(old) - keep_end], new[start : len(new) - keep_end]
    if len(old) * len(new) > COMPARED:
        return [(old, new)]
    groups = difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT)
    return [(old[group[0][1] : group[-1][2]], new[group[0][3] : group[-1][4]]) for group in groups]
