"""Runs of message chunks: their joined text, since chunk boundaries are not promised."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from wayline.transcripts.format import ASIDE
from wayline.transcripts.playing.conversation import Heard


class Run(msgspec.Struct, frozen=True):
    """The chunks of a run, and whether a frame after it shows that it is over."""

    chunks: Sequence[Heard]
    complete: bool

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(_text(chunk) for chunk in self.chunks)


def run_of(frames: Iterable[Heard], kind: str) -> Run:
    """The first run of chunks of a kind that stand together in the frames of one session.

    What an agent sends at times of its own may come in the middle of a message, and does not end it.
    """
    chunks: list[Heard] = []
    for heard in frames:
        if _kind(heard) in ASIDE:
            continue
        if _kind(heard) == kind and (not chunks or _message_id(heard) == _message_id(chunks[0])):
            chunks.append(heard)
        elif chunks:
            return Run(chunks, complete=True)
    return Run(chunks, complete=False)


def all_of(frames: Iterable[Heard], kind: str) -> Run:
    """All chunks of a kind, whatever stands between them."""
    return Run([heard for heard in frames if _kind(heard) == kind], complete=True)


def _update(heard: Heard) -> dict[str, Any]:
    params = heard.frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return update if isinstance(update, dict) else {}


def _kind(heard: Heard) -> Any:
    return _update(heard).get("sessionUpdate")


def _message_id(heard: Heard) -> Any:
    return _update(heard).get("messageId")


def _text(heard: Heard) -> str:
    content = _update(heard).get("content")
    return str(content.get("text", "")) if isinstance(content, dict) else ""
