"""A model that plays a recorded session log back: a conversation with a real provider, without a key.

ReplayError    a log that cannot be played; the message names the file and the reason
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from wayline.log.codec import LogError, decode
from wayline.log.content import Chunk, Finish
from wayline.log.events import AssistantChunk
from wayline.models.base import ModelError, ModelRequest, Unavailable


class ReplayError(Exception):
    """A log that cannot be played."""


class ReplayModel:
    """Plays the answers of recorded logs, one for each request, as it was recorded.

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
        """The recorded answer in the place of `request.ordinal`."""
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
    answers: dict[Any, list[Chunk]] = {}
    try:
        lines = path.read_bytes().splitlines()[1:]
        for number, line in enumerate(lines, start=2):
            try:
                data = decode(line).data
            except LogError as error:
                raise ReplayError(f"{path}, line {number}: {error}") from None
            if isinstance(data, AssistantChunk):
                answers.setdefault((data.turn, data.step), []).append(data.chunk)
    except OSError as error:
        raise ReplayError(f"cannot read {path}: {error}") from None
    if not answers:
        raise ReplayError(f"{path} holds no answers: no assistant/chunk event")
    return list(answers.values())
