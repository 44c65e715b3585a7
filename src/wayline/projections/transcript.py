"""What a person reads, in log order: for load and export.

Messages and results come once each, whole; deltas, progress and the historic lists are left out.
"""

from wayline.log.events import (
    AssistantMessage,
    CommandDone,
    Event,
    LlmRetry,
    Notice,
    PromptBlocked,
    SteeringMessage,
    ToolCallStarted,
    ToolResultRecorded,
    TurnEnd,
    UserMessage,
)
from wayline.projections.vector import Vector

Transcript = Vector[Event]
EMPTY: Transcript = Vector()

_READ = (
    AssistantMessage,
    CommandDone,
    LlmRetry,
    Notice,
    PromptBlocked,
    SteeringMessage,
    ToolCallStarted,
    ToolResultRecorded,
    TurnEnd,
    UserMessage,
)


def fold(state: Transcript, event: Event) -> Transcript:
    """Take one event. A replacing `user/message` is a compaction's summary, which nobody typed."""
    if not isinstance(event.data, _READ):
        return state
    if isinstance(event.data, UserMessage) and event.surface_op != "append":
        return state
    return state.append(event)
