"""What is said of a transcript that failed: the step, expected and got side by side, the frames around."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from wayline.transcripts.format import Frame, dump_step
from wayline.transcripts.playing.conversation import Failed, Heard
from wayline.transcripts.playing.conversation import summary as summary_of
from wayline.transcripts.playing.matching import MISSING
from wayline.transcripts.playing.player import Outcome

#: frames shown before and after the one that differs
NEIGHBOURS = 4
#: lines of either side, and of stderr, that are shown
LINES = 60
STDERR_LINES = 25


def line_of(outcome: Outcome) -> str:
    """One line: passed or failed, and the time."""
    word = "FAIL" if outcome.failure else "----" if outcome.not_offered else "ok  "
    why = f": not offered: {outcome.not_offered}" if outcome.not_offered else ""
    return f"{word} {outcome.transcript.path} ({outcome.seconds:.2f} s){why}"


def of_failure(outcome: Outcome, width: int | None = None) -> str:
    """The whole report of a failed transcript."""
    assert outcome.failure is not None
    columns = width or min(shutil.get_terminal_size((120, 40)).columns, 160)
    return "\n".join(_report(outcome, outcome.failure, columns))


def _report(outcome: Outcome, failure: Failed, width: int) -> Iterator[str]:
    placed = failure.placed
    place = f"{outcome.transcript.path}" + (f", line {placed.line}" if placed else "")
    yield "\n".join(map(_printable, f"{place}: {failure.reason}".split("\n")))
    if placed is not None:
        yield f"  step: {_cut(dump_step(placed.step), width - 8)}"
    if failure.expected is not None:
        yield ""
        yield from _side_by_side(failure.expected, failure.value, width)
    yield ""
    yield from _neighbours(outcome, failure.got, width)
    if outcome.stderr.strip():
        yield ""
        yield "the agent's stderr:"
        yield from (f"  {_printable(line)}" for line in outcome.stderr.splitlines()[-STDERR_LINES:])


def _side_by_side(expected: Any, got: Any, width: int) -> Iterator[str]:
    """Two columns; `!` marks the lines that differ."""
    half = max((width - 5) // 2, 20)
    # Only what the template names: the rest of the frame is not what differs.
    left, right = (
        _lines(expected, half),
        ["nothing"] if got is MISSING else _lines(_like(expected, got), half),
    )
    yield f"  {'expected':<{half}} | got"
    for one, other in list(zip_longest(left, right, fillvalue=""))[:LINES]:
        yield f"{' ' if one == other else '!'} {one:<{half}} | {other}".rstrip()


def _like(template: Any, value: Any) -> Any:
    """The value, with members in the order of the template and those it does not name left out."""
    if isinstance(template, dict) and isinstance(value, dict):
        return {name: _like(each, value[name]) for name, each in template.items() if name in value}
    if isinstance(template, list) and isinstance(value, list):
        return [
            _like(each, value[place]) for place, each in enumerate(template) if place < len(value)
        ] + value[len(template) :]
    return value


def _lines(value: Any, width: int) -> list[str]:
    text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    return [
        piece
        for line in text.splitlines()
        for piece in textwrap.wrap(_printable(line), width, subsequent_indent="    ", drop_whitespace=False)
    ]


def _neighbours(outcome: Outcome, got: Heard | None, width: int) -> Iterator[str]:
    """What was sent and what came, around the frame that differs or else at the end."""
    frames: list[tuple[int, str]] = []
    centre = 0
    said = list(outcome.sent)
    for heard in outcome.heard:
        while said and said[0][0] <= heard.number:
            frames.append((len(frames), f"  → {_cut(_text(said.pop(0)[1]), width - 4)}"))
        if heard is got:
            centre = len(frames)
        mark = "▶" if heard is got else " "
        frames.append((len(frames), f"{mark} ← {_cut(_told(heard.frame), width - 4)}"))
    frames += [(len(frames), f"  → {_cut(_text(line), width - 4)}") for _, line in said]
    if got is None:
        centre = len(frames)
    first = max(centre - NEIGHBOURS, 0)
    yield "frames around it (→ sent, ← came):" if frames else "nothing was sent and nothing came"
    yield from (text for _, text in frames[first : centre + NEIGHBOURS + 1])


def _told(frame: Frame) -> str:
    """A frame in one line: what it is, then what it holds."""
    params = frame.get("params")
    body = params.get("update", params) if isinstance(params, dict) else params
    held = frame.get("result", frame.get("error", body))
    number = f"{frame['id']}: " if "id" in frame else ""
    return f"{number}{summary_of(frame)} {json.dumps(held, ensure_ascii=False)}"


def _text(line: bytes) -> str:
    return line.decode(errors="replace")


def _cut(text: str, width: int) -> str:
    text = _printable(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _printable(text: str) -> str:
    """What an agent wrote must not steer the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else f"\\x{ord(char):02x}" for char in text)


def summary(outcomes: Sequence[Outcome], seconds: float) -> str:
    """How many of them passed."""
    failed = sum(outcome.failure is not None for outcome in outcomes)
    absent = sum(outcome.not_offered is not None for outcome in outcomes)
    others = "".join(
        f", {count} {word}" for count, word in ((failed, "failed"), (absent, "not offered")) if count
    )
    return f"{len(outcomes) - failed - absent} passed{others} in {seconds:.1f} s"
