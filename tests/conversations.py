"""Generated conversations: valid logs of turns, steps, calls, lists, failures, for properties."""

import json

from hypothesis import strategies as st

from wayline.log.codec import encode
from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    ContentBlock,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from wayline.log.events import (
    SURFACE,
    TYPE_NAMES,
    USER,
    AssistantChunk,
    AssistantMessage,
    ContextMessage,
    Event,
    Header,
    LlmRetry,
    Notice,
    Payload,
    PermissionAsked,
    PermissionDecided,
    SessionConfig,
    SessionMode,
    SessionTitle,
    Source,
    StepEnd,
    StepStart,
    TodoItem,
    TodoWrite,
    ToolCallStarted,
    ToolError,
    ToolProgress,
    ToolResultRecorded,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)

HEADER = Header(version=0, id="generated", created_at=1, cwd="/work/place")
WORDS = st.text(max_size=12)
TODOS = st.lists(
    st.builds(TodoItem, WORDS, st.sampled_from(["pending", "in_progress", "completed"])), max_size=3
)


def events(payloads: list[Payload]) -> list[Event]:
    """The payloads in their envelopes."""
    return [
        Event(TYPE_NAMES[type(data)], seq, 1000 + seq, data, "append" if type(data) in SURFACE else None)
        for seq, data in enumerate(payloads)
    ]


def log(payloads: list[Payload]) -> bytes:
    """The payloads as a whole log."""
    return encode(HEADER) + b"".join(encode(event) for event in events(payloads))


@st.composite
def conversations(draw: st.DrawFn) -> list[Payload]:
    """The payloads of some turns, valid in this order."""
    payloads: list[Payload] = []
    for turn in range(1, draw(st.integers(1, 4)) + 1):
        payloads += draw(_outside())
        payloads += draw(_turn(turn))
    return payloads


def _outside() -> st.SearchStrategy[list[Payload]]:
    return st.lists(
        st.one_of(
            st.builds(SessionMode, st.sampled_from(["ask", "full"])),
            st.builds(SessionConfig, st.just("model"), WORDS),
            st.builds(Notice, WORDS),
        ),
        max_size=1,
    )


@st.composite
def _turn(draw: st.DrawFn, turn: int) -> list[Payload]:
    payloads: list[Payload] = [
        TurnStart(turn, Trigger("message", USER)),
        UserMessage((Text(draw(WORDS)),), USER),
    ]
    if draw(st.booleans()):
        payloads.append(SessionTitle(draw(WORDS), Source("prompt")))
    for step in range(1, draw(st.integers(1, 3)) + 1):
        payloads += draw(_step(turn, step))
        if draw(st.booleans()):
            payloads.append(ContextMessage((Text(draw(WORDS)),), Source("retry")))
    kind = draw(st.sampled_from(["completed", "aborted", "refusal", "max-tokens", "error"]))
    return [*payloads, TurnEnd(turn, TurnEndReason(kind))]  # type: ignore[arg-type]


@st.composite
def _step(draw: st.DrawFn, turn: int, step: int) -> list[Payload]:
    payloads: list[Payload] = [StepStart(turn, step)]
    if draw(st.booleans()):
        payloads.append(LlmRetry(turn, step, 1, 10, "down"))
    text = draw(st.text(min_size=1, max_size=8))
    count = draw(st.integers(0, 2))
    calls = [ToolCall(f"c{turn}.{step}.{n}", "todo_write", json.dumps({"n": n})) for n in range(count)]
    content: list[ContentBlock] = [Text(text), *calls]
    chunks: list[Chunk] = [
        BlockStart(0, "text"),
        *(TextDelta(0, letter) for letter in text),
        BlockEnd(0, content[0]),
    ]
    for index, call in enumerate(calls, start=1):
        chunks += [
            BlockStart(index, "tool-call"),
            ToolCallDelta(index, call.id, call.arguments, call.name),
            BlockEnd(index, call),
        ]
    payloads += [AssistantChunk(turn, step, chunk) for chunk in chunks]
    usage = draw(st.one_of(st.none(), st.builds(Usage, st.integers(0, 99), st.integers(0, 99))))
    payloads.append(AssistantMessage(turn, step, tuple(content), usage))
    for call in calls:
        payloads += draw(_call(turn, step, call))
    return [*payloads, StepEnd(turn, step)]


@st.composite
def _call(draw: st.DrawFn, turn: int, step: int, call: ToolCall) -> list[Payload]:
    payloads: list[Payload] = [ToolCallStarted(turn, step, call.id, call.name, call.arguments)]
    if draw(st.booleans()):
        outcome = draw(st.sampled_from(["allow-once", "allow-session", "reject", "unanswered"]))
        payloads += [PermissionAsked(call.id, "title", "grant"), PermissionDecided(call.id, outcome, "grant")]
    if draw(st.booleans()):
        payloads.append(ToolProgress(call.id, draw(WORDS)))
    if draw(st.booleans()):
        payloads.append(TodoWrite(tuple(draw(TODOS))))
    failed = draw(st.booleans())
    error = ToolError("Failed", "TOOL_FAILED") if failed else None
    meta = draw(st.sampled_from([None, {"changed": True}, {"changed": False}, {"seen": {"/a": "1"}}]))
    result = ToolResultRecorded(turn, step, call.id, (Text(draw(WORDS)),), failed, error, meta)
    return [*payloads, result]
