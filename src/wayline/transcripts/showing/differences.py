"""What differs between two texts, as the hunks of a unified diff."""

import collections
import difflib
import io

import msgspec

CONTEXT = 3
#: steps that difflib may take for a comparison at worst, some seconds; texts that need more are one hunk
COMPARED = 20_000_000


class Hunk(msgspec.Struct, frozen=True):
    """A place that changed. Each row begins with a space, `-`, `+`, or a backslash for a remark."""

    header: str
    rows: tuple[str, ...]


def hunks(old: str | None, new: str) -> list[Hunk]:
    """The changed places in their order; of a new text (`old` None) all of it."""
    before, after = _lines(old or ""), _lines(new)
    start, end = _same_ends(before, after)
    old_part, new_part = before[start : len(before) - end], after[start : len(after) - end]
    if _steps(old_part, new_part) > COMPARED:
        groups = [[("replace", 0, len(old_part), 0, len(new_part))]]
    else:
        matcher = difflib.SequenceMatcher(None, old_part, new_part)
        groups = [list(group) for group in matcher.get_grouped_opcodes(CONTEXT)]
    return [_hunk(group, old_part, new_part, start) for group in groups]


def _steps(old: list[str], new: list[str]) -> int:
    """What a comparison costs at worst: each round looks at all lines of old and where they stand in new."""
    counts = collections.Counter(new)
    # Of long texts difflib passes over lines that are more than a hundredth of them.
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    places = sum(counts[line] for line in old if counts[line] <= popular)
    return (len(old) + places) * min(len(old), len(new))


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline="\n"))


def _same_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the start and at the end need not be compared, context excepted."""
    shorter = min(len(old), len(new))
    first = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    last = next((i for i in range(shorter - first) if old[-1 - i] != new[-1 - i]), shorter - first)
    return max(first - CONTEXT, 0), max(last - CONTEXT, 0)


def _hunk(group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str], offset: int) -> Hunk:
    rows: list[str] = []
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            rows += _rows(" ", old[i1:i2])
        else:
            rows += [*_rows("-", old[i1:i2]), *_rows("+", new[j1:j2])]
    was = _range(group[0][1] + offset, group[-1][2] + offset)
    now = _range(group[0][3] + offset, group[-1][4] + offset)
    return Hunk(f"@@ -{was} +{now} @@", tuple(rows))


def _rows(mark: str, lines: list[str]) -> list[str]:
    rows = [mark + line.removesuffix("\n") for line in lines]
    if lines and not lines[-1].endswith("\n"):
        rows.append("\\ no newline at the end")
    return rows


def _range(start: int, end: int) -> str:
    # As diff has it: lines from 1, and an empty range names the line before it.
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
