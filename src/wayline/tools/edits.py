"""Putting one string in place of another in a text; pure."""

import difflib
import re
from dataclasses import dataclass

from wayline.tools.base import Failed, InvalidArguments
from wayline.tools.text_files import TextFile, lines_of, unix

#: a line is near to another from this likeness on, of 1
NEAR = 0.6
#: how much of a file is searched for a near miss, and how much of one is shown
SEARCHED_LINES = 20_000
SEARCHED_WIDTH = 400
SHOWN_LINES = 12


@dataclass(frozen=True)
class Edited:
    """The new text, and the 1-based numbers of the lines where it was changed."""

    text: str
    lines: tuple[int, ...]


def edited(file: TextFile, old: str, new: str, *, replace_all: bool) -> Edited:
    """`file` with `old` replaced by `new`, which gets the line ends of the file.

    A `\\n` of `old` also fits a `\\r\\n` of the file. Raises `InvalidArguments` when the strings make no
    edit, `Failed` when `old` is not there, or more than once without `replace_all`.
    """
    old = unix(old)
    if not old:
        raise InvalidArguments(
            "old_string is empty: give the text to replace, or use write for a whole file."
        )
    if old == unix(new):
        raise InvalidArguments("old_string and new_string are the same: there is nothing to change.")
    pattern = re.compile(r"\r?\n".join(map(re.escape, old.split("\n"))))
    found = list(pattern.finditer(file.text))
    if not found:
        raise Failed(_not_found(file.text, old))
    lines = tuple(file.text.count("\n", 0, match.start()) + 1 for match in found[:SHOWN_LINES])
    overlapping = pattern.search(file.text, found[0].start() + 1) is not None
    if not replace_all and (len(found) > 1 or overlapping):
        raise Failed(
            f"old_string is there more than once (at lines {', '.join(map(str, lines))}): "
            "add lines around it until it is unique, or set replace_all."
        )
    replacement = file.ended(new)
    return Edited(pattern.sub(lambda _: replacement, file.text), lines if len(found) == len(lines) else ())


def _not_found(text: str, old: str) -> str:
    """Why `old` is not there: the closest lines, numbered."""
    lines = lines_of(text)
    wanted = old.split("\n")
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    best = _closest(lines[:SEARCHED_LINES], wanted[anchor])
    if best is None:
        return "old_string is not in the file, and nothing like it. Read the file again."
    start = max(best - anchor, 0)
    window = lines[start : start + len(wanted)]
    same_words = [line.split() for line in window] == [line.split() for line in wanted]
    reason = "It differs in white space only. " if same_words else ""
    near = "\n".join(
        f"{start + i + 1:>6}\t{line[:SEARCHED_WIDTH]}" for i, line in enumerate(window[:SHOWN_LINES])
    )
    return f"old_string is not in the file. {reason}The closest lines are:\n{near}"


def _closest(lines: list[str], wanted: str) -> int | None:
    """The index of the line most like `wanted`."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.strip()[:SEARCHED_WIDTH])
    best, likeness = None, NEAR
    for index, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:SEARCHED_WIDTH])
        if matcher.real_quick_ratio() <= likeness or matcher.quick_ratio() <= likeness:
            continue
        if (ratio := matcher.ratio()) > likeness:
            best, likeness = index, ratio
    return best
