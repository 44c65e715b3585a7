"""The event vocabulary of a session log: envelope, header and one payload type for each event.

A payload class is bound to its `domain/verb` name by `@event`; `Event.data` is always one of them.
Keys on disk are camelCase: this is format 0 of the DeepSeek Harness session log, whose logs load
unchanged.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec

from wayline.log.content import Chunk, ContentBlock, Image, Text, Usage

FORMAT_VERSION = 0


class Fields(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of everything that is a plain object on disk."""


P = TypeVar("P", bound=type[Fields])

#: payload class -> event type name
TYPE_NAMES: dict[type[Fields], str] = {}
#: event type name -> payload class
PAYLOADS: dict[str, type[Fields]] = {}
#: payload classes whose events become model messages and carry a `surfaceOp`
SURFACE: set[type[Fields]] = set()


def event(name: str, *, surface: bool = False) -> Callable[[P], P]:
    """Bind a payload class to its event type."""

    def bind(payload: P) -> P:
        TYPE_NAMES[payload] = name
        PAYLOADS[name] = payload
        if surface:
            SURFACE.add(payload)
        return payload

    return bind


class Source(Fields, frozen=True):
    """Who caused something: `user`, a plugin, a hook, the retry of a cut answer."""

    kind: str
    plugin: str | None = None


USER = Source("user")


class Trigger(Fields, frozen=True):
    """What opened a turn."""

    kind: Literal["message", "continuation", "injection"]
    source: Source | None = None


@event("turn/start")
class TurnStart(Fields, frozen=True):
    """A turn opens; turns count 1, 2, 3 and so on."""

    turn: int
    trigger: Trigger


TurnEndKind = Literal[
    "completed",
    "aborted",
    "error",
    "max-tokens",
    "max-turn-requests",
    "refusal",
    "rejected",
    "disposed",
    "interrupted",
]


class TurnEndReason(Fields, frozen=True):
    """Why a turn closed.

    `reason` goes with `aborted` and `rejected`; `step`, `message` and `code` with `error`, where
    `code` is a stable word such as `AUTH`, `PROVIDER` or `STORAGE`.
    """

    kind: TurnEndKind
    reason: str | None = None
    step: int | None = None
    message: str | None = None
    code: str | None = None


@event("turn/end")
class TurnEnd(Fields, frozen=True):
    """A turn closes."""

    turn: int
    reason: TurnEndReason


@event("step/start")
class StepStart(Fields, frozen=True):
    """One model request and the tools it called; steps restart at 1 every turn."""

    turn: int
    step: int


@event("step/end")
class StepEnd(Fields, frozen=True):
    """The step closes."""

    turn: int
    step: int


@event("user/message", surface=True)
class UserMessage(Fields, frozen=True):
    """A prompt."""

    content: tuple[ContentBlock, ...]
    source: Source


@event("prompt/blocked")
class PromptBlocked(Fields, frozen=True):
    """A prompt that a hook refused."""

    content: tuple[ContentBlock, ...]
    source: Source
    reason: str


@event("context/message", surface=True)
class ContextMessage(Fields, frozen=True):
    """Text put before the model that no person typed."""

    content: tuple[ContentBlock, ...]
    source: Source


@event("steering/message", surface=True)
class SteeringMessage(Fields, frozen=True):
    """Put in while a turn runs and read between two steps; never an ACP prompt."""

    turn: int
    content: tuple[ContentBlock, ...]
    source: Source


@event("assistant/chunk")
class AssistantChunk(Fields, frozen=True):
    """One stream delta, exactly as the model gave it."""

    turn: int
    step: int
    chunk: Chunk


@event("assistant/message", surface=True)
class AssistantMessage(Fields, frozen=True):
    """The assembled reply of one step; `interrupted` when its stream did not end."""

    turn: int
    step: int
    content: tuple[ContentBlock, ...]
    usage: Usage | None = None
    interrupted: bool = False


@event("tool/call")
class ToolCallStarted(Fields, frozen=True):
    """A call, before it is validated and asked about; `arguments` is the raw JSON string."""

    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


@event("permission/asked")
class PermissionAsked(Fields, frozen=True):
    """What was asked of the person about a call. `grant` is what an answer for the session covers."""

    call_id: str
    title: str
    grant: str


PermissionOutcome = Literal["allow-once", "allow-session", "reject", "cancelled", "unanswered", "not-offered"]


@event("permission/decided")
class PermissionDecided(Fields, frozen=True):
    """The answer; only `allow-once` and `allow-session` let the call run."""

    call_id: str
    outcome: PermissionOutcome
    grant: str


@event("tool/progress")
class ToolProgress(Fields, frozen=True):
    """Output of a call while it runs: what is new since the last one."""

    call_id: str
    text: str


class ToolError(Fields, frozen=True):
    """Why a result is an error: the exception's name and a stable code such as `INVALID_ARGS`."""

    name: str
    code: str


@event("tool/result", surface=True)
class ToolResultRecorded(Fields, frozen=True):
    """What a call gave. `meta.changed` says that it changed something outside the log."""

    turn: int
    step: int
    call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool
    error: ToolError | None = None
    meta: dict[str, Any] | None = None


TodoStatus = Literal["pending", "in_progress", "completed"]


class TodoItem(msgspec.Struct, frozen=True):
    """One task of the list."""

    content: str
    status: TodoStatus


@event("todo/write")
class TodoWrite(Fields, frozen=True):
    """The whole task list, in place of the one before."""

    todos: tuple[TodoItem, ...]


@event("request/header")
class RequestHeader(Fields, frozen=True):
    """What the model is sent beside the messages; written only when it changes."""

    provider: str
    model: str
    system: str
    tools: tuple[dict[str, Any], ...]
    reason: str


@event("session/title")
class SessionTitle(Fields, frozen=True):
    """The session's title and where it came from."""

    title: str
    source: Source


@event("session/mode")
class SessionMode(Fields, frozen=True):
    """The permission mode from here on."""

    mode: str


@event("session/config")
class SessionConfig(Fields, frozen=True):
    """An option chosen by the person."""

    option: str
    value: str


@event("command/run")
class CommandRun(Fields, frozen=True):
    """A slash command begins."""

    name: str
    args: str


@event("command/done")
class CommandDone(Fields, frozen=True):
    """What a slash command answered."""

    text: str


@event("notice")
class Notice(Fields, frozen=True):
    """Said to the person, not to the model."""

    text: str


@event("llm/retry")
class LlmRetry(Fields, frozen=True):
    """Attempt `attempt` failed and is made again after `delay_ms`."""

    turn: int
    step: int
    attempt: int
    delay_ms: int
    error: str


class Unknown(Fields, frozen=True):
    """A payload whose type this reader does not know; kept as it was."""

    fields: dict[str, Any]


Payload = (
    TurnStart
    | TurnEnd
    | StepStart
    | StepEnd
    | UserMessage
    | PromptBlocked
    | ContextMessage
    | SteeringMessage
    | AssistantChunk
    | AssistantMessage
    | ToolCallStarted
    | PermissionAsked
    | PermissionDecided
    | ToolProgress
    | ToolResultRecorded
    | TodoWrite
    | RequestHeader
    | SessionTitle
    | SessionMode
    | SessionConfig
    | CommandRun
    | CommandDone
    | Notice
    | LlmRetry
    | Unknown
)


class Replace(msgspec.Struct, frozen=True):
    """A surface event that takes the place of the run `start` to `end` of surface events."""

    op: Literal["replace"]
    start: int
    end: int


SurfaceOp = Literal["append"] | Replace


class Span(msgspec.Struct, frozen=True, rename={"first": "from", "last": "to"}):
    """A run of event numbers, both ends included."""

    first: int
    last: int


Sources = tuple[int, ...] | Span


class Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One line of the log: the envelope and its payload.

    `time` is Unix epoch milliseconds; order is `seq`, never `time`.
    """

    type: str
    seq: int
    time: int
    data: Payload
    surface_op: SurfaceOp | None = None
    source_event_seqs: Sources | None = None
    ignorable: bool = False


class Header(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="session"):
    """Line 1 of a log. `cwd` may be missing in a log that another program wrote."""

    version: int
    id: str
    created_at: int
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int = 0
    delegation_depth: int = 0
    producer: dict[str, str] | None = None
