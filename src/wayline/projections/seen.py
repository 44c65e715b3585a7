"""Which files the model knows, and in which state: `{absolute path: sha256 of the bytes}`."""

from collections.abc import Mapping

from wayline.log.events import Event, ToolResultRecorded

Seen = Mapping[str, str]


def fold(state: Seen, event: Event) -> Seen:
    """Take one event."""
    match event.data:
        case ToolResultRecorded(meta={"seen": dict() as seen}):
            return {**state, **seen}
        case _:
            return state
