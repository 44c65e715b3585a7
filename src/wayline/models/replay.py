"""A model that plays a recorded session log back: a conversation with a real provider, without a key.

ReplayError    a log that cannot be played; the message names the file and the reason
"""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import anyio
import msgspec

from wayline.log.codec import LogError, decode, decode_header
from wayline.log.content import Chunk, Finish
from wayline.log.events import AssistantChunk, LlmRetry, Payload, StepStart, TurnEnd, TurnStart
from wayline.models.base import (
    ContextOverflow,
    ModelError,
    ModelRequest,
    NoCredentials,
    RequestRefused,
    Unavailable,
)
from wayline.models.relocation import relocated

#: the events that say what was asked of the model and how it answered
PLAYED = frozenset({"turn/start", "step/start", "assistant/chunk", "llm/retry", "turn/end"})
#: ways a turn ends in the middle of an answer, without a fault of the model
BROKEN_OFF = frozenset({"aborted", "disposed", "interrupted"})
CUT = "the recorded answer was cut here"


class ReplayError(Exception):
    """A log that cannot be played."""


class _Line(msgspec.Struct, frozen=True):
    """As much of a log's line as says whether it matters here."""

    type: str
    seq: int


class Recorded(msgspec.Struct):
    """The answer to one request. One that is not whole ended by `failure`, or by the end of its turn."""

    step: int
    attempt: int
    chunks: list[Chunk] = []
    failure: ModelError | None = None

    @property
    def whole(self) -> bool:
        """Whether the model said all it had to say."""
        return bool(self.chunks) and isinstance(self.chunks[-1], Finish)


class RecordedTurn(msgspec.Struct):
    """The answers of one turn; `broken_off` when it ended in the middle, without a fault of the model."""

    number: int
    answers: list[Recorded] = []
    broken_off: bool = False


class RecordedLog(msgspec.Struct, frozen=True):
    """The turns of one log, and the workspace that they were in."""

    workspace: str
    turns: Sequence[RecordedTurn]


class ReplayModel:
    """Plays the answers of recorded logs, one for each request of a turn, as it was recorded.

    One that failed fails again. One that the person cancelled waits where it was cut, to be cancelled; a
    turn may be cancelled sooner or later than it was, and the next one begins in its place all the same.
    Paths in the workspace that a log was recorded in become those of the workspace it is played in.

    A session plays one log: the first session to ask plays the first log, the next the second, and
    with one log every session plays that.
    """

    provider = "replay"
    context_window: int | None = None
    takes_images = True

    def __init__(self, name: str, logs: Sequence[RecordedLog]) -> None:
        self.name = name
        self._logs = logs
        self._bound: dict[str, int] = {}
        self._asked: Counter[tuple[str, int]] = Counter()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The recorded answer in this place of its turn.

        Raises `ModelError` where the log has none, and what the recorded answer failed with.
        """
        if request.purpose != "turn":
            raise ModelError(f"{self.name} holds the answers of turns, not one for a {request.purpose}")
        log = self._logs[
            self._bound.setdefault(request.session_id, min(len(self._bound), len(self._logs) - 1))
        ]
        if request.turn > len(log.turns):
            raise ModelError(f"{self.name} holds {len(log.turns)} turns and was asked in turn {request.turn}")
        turn = log.turns[request.turn - 1]
        place = self._asked[request.session_id, request.turn]
        self._asked[request.session_id, request.turn] += 1
        answer = turn.answers[place] if place < len(turn.answers) else None
        if answer is not None:
            for chunk in relocated(answer.chunks, log.workspace, request.workspace or log.workspace):
                yield chunk
            if answer.whole:
                return
        if turn.broken_off:
            await anyio.sleep_forever()
        if answer is None:
            raise ModelError(
                f"{self.name} holds {len(turn.answers)} answers of turn {request.turn} and was asked for "
                f"number {place + 1}"
            )
        raise answer.failure or Unavailable(CUT)


def load(paths: Sequence[Path]) -> ReplayModel:
    """A model of recorded logs. Raises `ReplayError`."""
    return ReplayModel("replay:" + ",".join(map(str, paths)), [_answers(path) for path in paths])


def _answers(path: Path) -> RecordedLog:
    """The answers of a log, in order. Raises `ReplayError`."""
    try:
        # What follows the last newline was torn off and never acknowledged.
        head, *lines = path.read_bytes().split(b"\n")[:-1] or [b""]
    except OSError as error:
        raise ReplayError(f"cannot read {path}: {error}") from None
    try:
        header = decode_header(head)
    except LogError as error:
        raise ReplayError(f"{path}: {error}") from None
    answers = _Answers()
    for number, line in enumerate(lines, start=2):
        try:
            if _kind(line, header.seed_length) in PLAYED:
                answers.take(decode(line).data)
        except (LogError, msgspec.MsgspecError, ValueError, RecursionError) as error:
            if number == len(lines) + 1:
                break  # a last line that does not parse was torn, too
            raise ReplayError(f"{path}, line {number}: {error}") from None
    if not any(turn.answers for turn in answers.turns):
        raise ReplayError(f"{path} holds no answers: no request was made of a model")
    return RecordedLog(header.cwd or "", answers.turns)


class _Answers:
    """A fold over the events of a log: an answer for each step, and for each attempt that a step made."""

    def __init__(self) -> None:
        self.turns: list[RecordedTurn] = []
        self._attempt = 0

    def take(self, payload: Payload) -> None:
        match payload:
            case TurnStart(turn=turn):
                self._turn(turn)
            case StepStart(turn=turn, step=step):
                self._answer(turn, step)
            case AssistantChunk(turn=turn, step=step, chunk=chunk):
                self._answer(turn, step).chunks.append(chunk)
            case LlmRetry(turn=turn, step=step, error=error):
                self._answer(turn, step).failure = Unavailable(error)
                self._attempt += 1
                self._answer(turn, step)
            case TurnEnd(turn=turn, reason=reason) if reason.kind in BROKEN_OFF:
                self._turn(turn).broken_off = True
            case TurnEnd(turn=turn, reason=reason) if reason.kind == "error" and self._turn(turn).answers:
                self._turn(turn).answers[-1].failure = _failure(reason.code, reason.message or CUT)

    def _turn(self, number: int) -> RecordedTurn:
        """The turn that is on; a fork's log begins with a later one than the first."""
        if not self.turns or self.turns[-1].number != number:
            self.turns.append(RecordedTurn(number))
        return self.turns[-1]

    def _answer(self, turn: int, step: int) -> Recorded:
        """The answer that is being given; logs of other programs do not say that a step starts."""
        answers = self._turn(turn).answers
        if not answers or (answers[-1].step, answers[-1].attempt) != (step, self._attempt):
            answers.append(Recorded(step, self._attempt))
        return answers[-1]


def _failure(code: str | None, message: str) -> ModelError:
    kinds = (NoCredentials, RequestRefused, ContextOverflow, Unavailable)
    return next((kind for kind in kinds if kind.code == code), ModelError)(message)


def _kind(line: bytes, seed_length: int) -> str | None:
    """The type of a line's event; None for one that a fork took over from its parent."""
    try:
        event = msgspec.json.decode(line, type=_Line)
    except msgspec.MsgspecError:
        # msgspec refuses lone surrogates even in what it skips; `json` reads them.
        event = msgspec.convert(json.loads(line), _Line)
    return event.type if event.seq >= seed_length else None
