"""A model that plays a recorded session log back: a conversation with a real provider, without a key.

ReplayError    a log that cannot be played; the message names the file and the reason
"""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec

from wayline.log.codec import LogError, decode, decode_header
from wayline.log.content import Chunk, Finish
from wayline.log.events import AssistantChunk
from wayline.models.base import ModelError, ModelRequest, Unavailable


class ReplayError(Exception):
    """A log that cannot be played."""


class _Line(msgspec.Struct, frozen=True):
    """As much of a log's line as says whether it matters here."""

    type: str
    seq: int


class ReplayModel:
    """Plays the answers of recorded logs, one for each request of a turn, as it was recorded.

    A session plays one log: the first session to ask plays the first log, the next the second, and
    with one log every session plays that.
    """

    provider = "replay"
    context_window: int | None = None
    takes_images = True

    def __init__(self, name: str, logs: Sequence[Sequence[Sequence[Chunk]]]) -> None:
        self.name = name
        self._logs = logs
        self._bound: dict[str, int] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The recorded answer in the place of `request.ordinal`.

        Raises `ModelError` where the log has none, `Unavailable` where the recorded answer was cut.
        """
        if request.purpose != "turn":
            raise ModelError(f"{self.name} holds the answers of turns, not one for a {request.purpose}")
        log = self._logs[
            self._bound.setdefault(request.session_id, min(len(self._bound), len(self._logs) - 1))
        ]
        if request.ordinal >= len(log):
            raise ModelError(
                f"{self.name} holds {len(log)} answers and was asked for number {request.ordinal + 1}"
            )
        chunks = log[request.ordinal]
        for chunk in chunks:
            yield chunk
        if not isinstance(chunks[-1], Finish):
            raise Unavailable("the recorded answer was cut here")


def load(paths: Sequence[Path]) -> ReplayModel:
    """A model of recorded logs. Raises `ReplayError`."""
    return ReplayModel("replay:" + ",".join(map(str, paths)), [_answers(path) for path in paths])


def _answers(path: Path) -> list[list[Chunk]]:
    """The answers of a log, in order. Raises `ReplayError`."""
    try:
        # What follows the last newline was torn off and never acknowledged.
        head, *lines = path.read_bytes().split(b"\n")[:-1] or [b""]
    except OSError as error:
        raise ReplayError(f"cannot read {path}: {error}") from None
    try:
        seed_length = decode_header(head).seed_length
    except LogError as error:
        raise ReplayError(f"{path}: {error}") from None
    answers: dict[tuple[int, int, int], list[Chunk]] = {}
    retries = 0
    for number, line in enumerate(lines, start=2):
        try:
            kind = _kind(line, seed_length)
            # An attempt that gave nothing of use was made again in its step: it is an answer of its own.
            retries += kind == "llm/retry"
            data = decode(line).data if kind == "assistant/chunk" else None
        except (LogError, msgspec.MsgspecError, ValueError, RecursionError) as error:
            if number == len(lines) + 1:
                break  # a last line that does not parse was torn, too
            raise ReplayError(f"{path}, line {number}: {error}") from None
        if isinstance(data, AssistantChunk):
            answers.setdefault((data.turn, data.step, retries), []).append(data.chunk)
    if not answers:
        raise ReplayError(f"{path} holds no answers: no assistant/chunk event")
    return list(answers.values())


def _kind(line: bytes, seed_length: int) -> str | None:
    """The type of a line's event; None for one that a fork took over from its parent."""
    try:
        event = msgspec.json.decode(line, type=_Line)
    except msgspec.MsgspecError:
        # msgspec refuses lone surrogates even in what it skips; `json` reads them.
        event = msgspec.convert(json.loads(line), _Line)
    return event.type if event.seq >= seed_length else None
