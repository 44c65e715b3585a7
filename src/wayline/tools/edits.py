"""Putting one string in place of another in a text; pure.

Files are up to 20 MiB and edits may touch each of their characters, so whatever goes over all of a text is
one step of `str`, or a loop that can be stopped: `go_on` raises when nobody waits for the edit any more.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from wayline.tools.base import Failed, InvalidArguments
from wayline.tools.text_files import TextFile, unix

#: a line is near to another from this likeness on, of 1
NEAR = 0.6
#: how much of a file is searched for a near miss, how many lines of it are compared letter by letter, and
#: how much of one is shown
SEARCHED_LINES = 20_000
SEARCHED_WIDTH = 400
COMPARED_LINES = 200
SHOWN_LINES = 12
#: characters that an edit may make of a file
MOST = 40 * 1024 * 1024
#: places that are replaced across line ends in a file that has both kinds of them
MIXED_PLACES = 100_000


@dataclass(frozen=True)
class Edited:
    """The new text, and the 1-based numbers of the lines where it was changed."""

    text: str
    lines: tuple[int, ...]


def edited(
    file: TextFile, old: str, new: str, *, replace_all: bool, go_on: Callable[[], None] = lambda: None
) -> Edited:
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
    any_end = "\n" in old and "\r\n" in file.text
    searched = unix(file.text) if any_end else file.text
    count = searched.count(old)
    if not count:
        raise Failed(_not_found(searched, old, go_on))
    lines = _lines(searched, old)
    first = searched.find(old)
    if not replace_all and (count > 1 or searched.find(old, first + 1) >= 0):
        raise Failed(
            f"old_string is there more than once (at lines {', '.join(map(str, lines))}): "
            "add lines around it until it is unique, or set replace_all."
        )
    replacement = file.ended(new)
    if len(file.text) + count * (len(replacement) - len(old)) > MOST:
        raise Failed(f"The file would have more than {MOST} characters. Nothing was changed.")
    if not any_end:
        text = file.text.replace(old, replacement)
    elif file.text.count("\r\n") == file.text.count("\n"):
        text = file.text.replace(old.replace("\n", "\r\n"), replacement)
    elif count <= MIXED_PLACES:
        text = _replaced(file.text, searched, old, replacement, go_on)
    else:
        raise Failed(f"old_string is there {count} times, in a file of mixed line ends: use a command.")
    return Edited(text, lines if count == len(lines) else ())


def _lines(text: str, old: str) -> tuple[int, ...]:
    """The numbers of the first lines where `old` is."""
    lines: list[int] = []
    number, counted = 1, 0
    place = text.find(old)
    while place >= 0 and len(lines) < SHOWN_LINES:
        number += text.count("\n", counted, place)
        lines.append(number)
        counted = place
        place = text.find(old, place + len(old))
    return tuple(lines)


def _replaced(text: str, plain: str, old: str, new: str, go_on: Callable[[], None]) -> str:
    """`text` with `new` wherever `old` is in `plain`, which is `text` with `\\n` for each `\\r\\n`."""
    kept: list[str] = []
    done = done_plain = 0
    place = plain.find(old)
    while place >= 0:
        go_on()
        start = _after(text, done, place - done_plain)
        kept += [text[done:start], new]
        done_plain = place + len(old)
        done = _after(text, start, len(old))
        place = plain.find(old, done_plain)
    return "".join([*kept, text[done:]])


def _after(text: str, start: int, count: int) -> int:
    """The place in `text` that is so many characters after `start`, a `\\r\\n` being one."""
    place = start
    while count:
        end = place + count
        if text[end - 1 : end + 1] == "\r\n":
            end += 1
        count -= end - place - text.count("\r\n", place, end)
        place = end
    return place


def _not_found(text: str, old: str, go_on: Callable[[], None]) -> str:
    """Why `old` is not there: the closest lines, numbered."""
    wanted = old.split("\n")
    lines = unix(text).split("\n", SEARCHED_LINES + len(wanted))
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    best = _closest(lines[:SEARCHED_LINES], wanted[anchor], go_on)
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


def _closest(lines: list[str], wanted: str, go_on: Callable[[], None]) -> int | None:
    """The index of the line most like `wanted`, among those that have the most letters in common with it."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.strip()[:SEARCHED_WIDTH])
    promising: list[tuple[float, int]] = []
    for index, line in enumerate(lines):
        go_on()
        matcher.set_seq1(line.strip()[:SEARCHED_WIDTH])
        if matcher.real_quick_ratio() > NEAR and (quick := matcher.quick_ratio()) > NEAR:
            promising.append((-quick, index))
    best, likeness = None, NEAR
    for negative, index in sorted(promising)[:COMPARED_LINES]:
        go_on()
        if -negative <= likeness:
            break
        matcher.set_seq1(lines[index].strip()[:SEARCHED_WIDTH])
        if (ratio := matcher.ratio()) > likeness:
            best, likeness = index, ratio
    return best
