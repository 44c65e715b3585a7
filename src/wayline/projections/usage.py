"""Tokens: what the context holds now, and what the session has used."""

import msgspec

from wayline.log.content import Usage
from wayline.log.events import AssistantMessage, Event


class UsageState(msgspec.Struct, frozen=True):
    """`context_tokens` is that of the last request and its answer; `total` adds up all requests."""

    context_tokens: int = 0
    total: Usage = Usage()


def fold(state: UsageState, event: Event) -> UsageState:
    """Take one event."""
    if not isinstance(event.data, AssistantMessage) or event.data.usage is None:
        return state
    used, total = event.data.usage, state.total
    return UsageState(
        used.context_tokens,
        Usage(
            total.input_tokens + used.input_tokens,
            total.output_tokens + used.output_tokens,
            total.cache_read_tokens + used.cache_read_tokens,
            total.reasoning_tokens + used.reasoning_tokens,
        ),
    )
