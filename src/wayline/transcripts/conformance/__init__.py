"""Which requirements of the protocol an agent holds: transcripts that assume nothing of its model.

Each file beside this one is one requirement: `meta.requirement` says it, `meta.level` how
strongly the protocol does, `meta.spec` where. What comes of one is a verdict:

    HOLDS         it came true
    FAILS         it did not
    NOT_OFFERED   it is about something that this agent does not have, or that did not come about
    NO_MODEL      the agent wants to be signed in first, so that nothing can be said
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from wayline.transcripts.format import Transcript, TranscriptError, parse
from wayline.transcripts.playing import report
from wayline.transcripts.playing.agents import Agents
from wayline.transcripts.playing.player import Outcome, play_all

Verdict = Literal["holds", "fails", "not offered", "no model"]
HOLDS: Verdict = "holds"
FAILS: Verdict = "fails"
NOT_OFFERED: Verdict = "not offered"
NO_MODEL: Verdict = "no model"
VERDICTS = (HOLDS, FAILS, NOT_OFFERED, NO_MODEL)

#: the error by which an agent says that it wants a sign-in
AUTHENTICATION_REQUIRED = -32000
#: what an agent may refuse without one
MODEL_METHODS = frozenset({"session/new", "session/load", "session/resume", "session/prompt"})


class Requirement(msgspec.Struct, frozen=True):
    """A sentence, how strongly the protocol says it, and the address of the place."""

    sentence: str
    level: Literal["must", "should"]
    spec: str


class Row(msgspec.Struct, frozen=True):
    """What came of one requirement, and why it is not that it holds."""

    requirement: Requirement
    verdict: Verdict
    why: str
    outcome: Outcome


class Column(msgspec.Struct, frozen=True):
    """One agent, as it calls itself, and its rows."""

    agent: str
    rows: tuple[Row, ...]

    def count(self, verdict: Verdict) -> int:
        """How many rows have it."""
        return sum(row.verdict == verdict for row in self.rows)


def transcripts() -> tuple[Transcript, ...]:
    """The transcripts of the set, by name."""
    found = {each.name: each for each in resources.files(__name__).iterdir() if each.name.endswith(".jsonl")}
    return tuple(
        parse(found[name].read_text(encoding="utf-8"), Path("conformance", name)) for name in sorted(found)
    )


def requirement(transcript: Transcript) -> Requirement:
    """What a transcript stands for. Raises `TranscriptError`."""
    meta = transcript.meta
    if meta.requirement is None or meta.level is None or meta.spec is None:
        raise TranscriptError(f"{transcript.path}, line 1: no requirement, level and spec")
    return Requirement(meta.requirement, meta.level, meta.spec)


async def judge(
    of: Sequence[Transcript], agents: Agents, name: str, *, jobs: int, done: Callable[[Outcome], None]
) -> Column:
    """Play the transcripts against one agent, `jobs` at once; `done` is told of each when it ends. `name` is
    what the agent is called if it does not say it."""
    outcomes = await play_all(of, agents, jobs=jobs, done=done)
    return Column(_name(outcomes) or name, tuple(map(row, outcomes)))


def row(outcome: Outcome) -> Row:
    """The verdict on what came of a transcript."""
    wanted = requirement(outcome.transcript)
    if outcome.not_offered is not None:
        return Row(wanted, NOT_OFFERED, outcome.not_offered, outcome)
    if outcome.failure is None:
        return Row(wanted, HOLDS, "", outcome)
    return Row(wanted, NO_MODEL if _lacks_model(outcome) else FAILS, outcome.failure.reason, outcome)


def _lacks_model(outcome: Outcome) -> bool:
    """Whether the agent refused a session or a prompt as one that needs a sign-in."""
    return any(
        heard.asked is not None
        and heard.asked.method in MODEL_METHODS
        and _member(heard.frame, "error", "code") == AUTHENTICATION_REQUIRED
        for heard in outcome.heard
    )


def _name(outcomes: Sequence[Outcome]) -> str | None:
    """The agent's name and version, as it says them."""
    for outcome in outcomes:
        for heard in outcome.heard:
            name = _member(heard.frame, "result", "agentInfo", "name")
            if isinstance(name, str):
                version = _member(heard.frame, "result", "agentInfo", "version")
                return f"{name} {version}" if isinstance(version, str) else name
    return None


def _member(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(columns: Sequence[Column]) -> str:
    """A table for a terminal, one for each agent, and why rows fail."""
    return "\n\n".join("\n".join(_lines(column)) for column in columns)


def _lines(column: Column) -> Iterator[str]:
    yield column.agent
    yield ""
    widest = max(len(row.requirement.sentence) for row in column.rows)
    for each in column.rows:
        wanted = each.requirement
        yield f"{each.verdict:<11}  {wanted.level:<6}  {wanted.sentence:<{widest}}  {wanted.spec}"
    for each in column.rows:
        if each.verdict == FAILS:
            yield f"\n{each.requirement.sentence}\n{report.of_failure(each.outcome)}"
    yield ""
    yield ", ".join(f"{column.count(verdict)} {verdict}" for verdict in VERDICTS)


def markdown(columns: Sequence[Column]) -> str:
    """The table of a page: a row for each requirement, a column for each agent."""
    return "\n".join(_markdown(columns))


def _markdown(columns: Sequence[Column]) -> Iterator[str]:
    yield _cells("requirement", "level", *(column.agent for column in columns))
    yield _cells(*["---"] * (2 + len(columns)))
    for rows in zip(*(column.rows for column in columns), strict=True):
        wanted = rows[0].requirement
        verdicts = (f"**{row.verdict}**" if row.verdict == FAILS else row.verdict for row in rows)
        yield _cells(f"[{wanted.sentence}]({wanted.spec})", wanted.level, *verdicts)


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
