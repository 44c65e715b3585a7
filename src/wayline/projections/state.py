"""All projections of one session, folded together."""

from collections.abc import Iterable, Mapping

import msgspec

from wayline.log.events import Event
from wayline.projections import grants, messages, meta, seen, todos, transcript, usage
from wayline.projections.messages import Messages
from wayline.projections.meta import Meta
from wayline.projections.todos import Todos
from wayline.projections.transcript import EMPTY, Transcript
from wayline.projections.usage import UsageState


class State(msgspec.Struct, frozen=True):
    """What a log adds up to."""

    messages: Messages = Messages()
    todos: Todos = Todos()
    transcript: Transcript = EMPTY
    usage: UsageState = UsageState()
    meta: Meta = Meta()
    grants: frozenset[str] = frozenset()
    seen: Mapping[str, str] = msgspec.field(default_factory=dict)


def fold(state: State, event: Event) -> State:
    """Take one event. Deltas change nothing and need not be given."""
    return State(
        messages.fold(state.messages, event),
        todos.fold(state.todos, event),
        transcript.fold(state.transcript, event),
        usage.fold(state.usage, event),
        meta.fold(state.meta, event),
        grants.fold(state.grants, event),
        seen.fold(state.seen, event),
    )


def fold_all(events: Iterable[Event], state: State | None = None) -> State:
    """Take them all."""
    state = state or State()
    for event in events:
        state = fold(state, event)
    return state
