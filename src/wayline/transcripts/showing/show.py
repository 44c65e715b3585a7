"""A transcript for a terminal.

Everything in it is foreign. Text becomes harmless in one place, where rows become lines, and only there are
colours put around it: no escape character of a transcript reaches the terminal.
"""

import textwrap
from collections.abc import Iterator

import msgspec

from wayline.transcripts.format import Transcript
from wayline.transcripts.showing.differences import hunks
from wayline.transcripts.showing.foreign import harmless, lines_of, shortened
from wayline.transcripts.showing.sheets import (
    Changes,
    Code,
    Facts,
    Inner,
    Item,
    Items,
    Part,
    Prose,
    Sheet,
    Verdict,
    sessions,
    sheet,
)
from wayline.transcripts.showing.staging import scenes

#: lines shown of one text; characters of one of its lines, of a heading or an aside
LINES, LINE, HEADING = 60, 1000, 300
#: columns that text always has, however narrow the terminal is
NARROWEST = 20

_COLOURS = {
    "plain": "",
    "quiet": "2",
    "person": "1;36",
    "agent": "1",
    "plan": "1;35",
    "tool": "1;34",
    "question": "1;33",
    "good": "32",
    "bad": "31",
    "changed": "33",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}


class Span(msgspec.Struct, frozen=True):
    """A piece of a row in one colour."""

    text: str
    colour: str = "plain"


class Row(msgspec.Struct, frozen=True):
    """A row before it is fit to a width: the number of the step's line, an indent, and spans, of which the
    last is wrapped unless the row is `fixed`."""

    line: int
    indent: int
    spans: tuple[Span, ...]
    fixed: bool = False


def shown(transcript: Transcript, *, colour: bool, width: int) -> str:
    """The transcript as text for a terminal, with colours or without, `width` columns wide."""
    sheets = [sheet(scene) for scene in scenes(transcript)]
    several = len(sessions(sheets)) > 1
    gutter = len(str(max(each.line for each in sheets)))
    lines: list[str] = []
    for each in sheets:
        for row in _sheet(each, 0, several):
            lines += _fit(row, gutter, max(width - gutter - 2 - row.indent, NARROWEST), colour)
        lines.append("")
    return "\n".join(lines)


def _fit(row: Row, gutter: int, room: int, colour: bool) -> Iterator[str]:
    """The lines of a row."""
    number = f"{row.line or '':>{gutter}}"
    *before, last = [Span(_one_line(span.text), span.colour) for span in row.spans]
    start = "".join(_painted(span, colour) for span in before)
    taken = sum(len(span.text) for span in before)
    for count, text in enumerate([last.text] if row.fixed else _wrapped(last.text, room, taken)):
        margin = _painted(Span(number if not count else " " * gutter, "quiet"), colour)
        lead = start if not count else " " * min(taken, room // 2)
        line = f"{margin}  {' ' * row.indent}{lead}{_painted(Span(text, last.colour), colour)}"
        yield line.rstrip()


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", "␊")


def _wrapped(text: str, room: int, taken: int) -> list[str]:
    if len(text) + taken <= room:
        return [text]
    taken = min(taken, room // 2)
    wrapper = textwrap.TextWrapper(
        width=room - taken, expand_tabs=False, replace_whitespace=False, break_on_hyphens=False
    )
    return wrapper.wrap(text) or [""]


def _painted(span: Span, colour: bool) -> str:
    code = _COLOURS[span.colour]
    return f"\x1b[{code}m{span.text}\x1b[0m" if colour and code and span.text.strip() else span.text


def _sheet(each: Sheet, indent: int, several: bool) -> Iterator[Row]:
    session = (Span(f" [{_heading(each.session)}]", "quiet"),) if several and each.session else ()
    title = (Span(f"  {_heading(each.title)}"),) if each.title else ()
    detail = (Span(f"  {_heading(each.detail)}", "quiet"),) if each.detail else ()
    yield Row(each.line, indent, (Span(each.label, each.tone), *session, *title, *detail))
    for part in each.parts:
        yield from _part(part, indent + 2, several)
    if each.aside:
        yield Row(0, indent + 2, (Span(_heading(each.aside), "quiet"),))


def _heading(text: str) -> str:
    return shortened(text, HEADING)


def _part(part: Part, indent: int, several: bool) -> Iterator[Row]:
    match part:
        case Prose(text, tone):
            yield from (Row(0, indent, (Span(line, tone),)) for line in lines_of(text, LINES, LINE))
        case Code():
            yield from _code(part, indent)
        case Changes():
            yield from _changes(part, indent)
        case Items(items):
            yield from (_item(item, indent) for item in items)
        case Verdict(line, text, tone):
            yield Row(line, indent, (Span("> ", tone), Span(_heading(text), tone)))
        case Facts(facts):
            for name, text in facts:
                yield from _code(Code(name, text), indent)
        case Inner(sheets):
            for each in sheets:
                yield from _sheet(each, indent, several)


def _code(code: Code, indent: int) -> Iterator[Row]:
    lines = lines_of(code.text, LINES, LINE)
    if len(lines) == 1:
        label = (Span(f"{_heading(code.label)}: ", "quiet"),) if code.label else ()
        yield Row(0, indent, (*label, Span(lines[0])))
        return
    if code.label:
        yield Row(0, indent, (Span(f"{_heading(code.label)}:", "quiet"),))
        indent += 2
    yield from (Row(0, indent, (Span(line),), fixed=True) for line in lines)


def _changes(change: Changes, indent: int) -> Iterator[Row]:
    new = "new text of " if change.old is None else "change of "
    yield Row(0, indent, (Span(new, "quiet"), Span(_heading(change.path))))
    found = hunks(change.old, change.new)
    if not found:
        yield Row(0, indent, (Span("(nothing changed)", "quiet"),))
    text = "\n".join(line for hunk in found for line in (hunk.header, *hunk.rows))
    for line in lines_of(text, LINES, LINE) if found else ():
        yield Row(0, indent, (Span(line, _DIFF.get(line[:1], "plain")),), fixed=True)


_DIFF = {"+": "added", "-": "removed", "@": "hunk", "\\": "quiet", "[": "quiet"}


def _item(item: Item, indent: int) -> Row:
    remark = (Span(f"  ({_heading(item.remark)})", "quiet"),) if item.remark else ()
    text = Span(shortened(item.text, LINE), item.tone)
    return Row(0, indent, (Span(f"{item.mark} ", item.tone), text, *remark))
