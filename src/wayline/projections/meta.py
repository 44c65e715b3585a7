"""What a session is called, how it is set, and where it stands."""

import msgspec

from wayline.log.content import Text
from wayline.log.events import (
    Event,
    LlmRetry,
    RequestHeader,
    SessionConfig,
    SessionMode,
    SessionTitle,
    StepStart,
    TurnStart,
    UserMessage,
)

TITLE_LENGTH = 80


class Meta(msgspec.Struct, frozen=True):
    """`turns` counts turns begun, `requests` model requests begun (steps and retries); `header` is what
    the model was last sent beside the messages; `updated_at` is epoch milliseconds."""

    title: str | None = None
    mode: str | None = None
    model: str | None = None
    updated_at: int = 0
    turns: int = 0
    requests: int = 0
    header: RequestHeader | None = None


def fold(state: Meta, event: Event) -> Meta:
    """Take one event."""
    state = _fold_data(state, event)
    return msgspec.structs.replace(state, updated_at=event.time)


def _fold_data(state: Meta, event: Event) -> Meta:
    replace = msgspec.structs.replace
    match event.data:
        case TurnStart(turn=turn):
            return replace(state, turns=turn)
        case StepStart() | LlmRetry():
            return replace(state, requests=state.requests + 1)
        case UserMessage(content=content) if state.title is None:
            return replace(state, title=first_words(content))
        case SessionTitle(title=title):
            return replace(state, title=title)
        case SessionMode(mode=mode):
            return replace(state, mode=mode)
        case SessionConfig(option="model", value=value):
            return replace(state, model=value)
        case RequestHeader():
            return replace(state, header=event.data)
        case _:
            return state


def first_words(content: tuple[object, ...]) -> str | None:
    """The first line of a prompt, cut at a word, as a title; None when it has no text."""
    text = " ".join(block.text for block in content if isinstance(block, Text))
    line = " ".join(text.strip().split("\n", 1)[0].split())
    if len(line) <= TITLE_LENGTH:
        return line or None
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
