"""Whole logs as a session writes them: turns, steps, streams, calls, lists, compactions, refusals."""

from collections.abc import Iterable, Sequence

import msgspec
from hypothesis import strategies as st

from wayline.log.codec import encode
from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    ContentBlock,
    Finish,
    FinishReason,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
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
    PermissionOutcome,
    Replace,
    RequestHeader,
    SessionConfig,
    SessionMode,
    SessionTitle,
    Source,
    Sources,
    Span,
    SteeringMessage,
    StepEnd,
    StepStart,
    SurfaceOp,
    TodoItem,
    TodoWrite,
    ToolCallStarted,
    ToolError,
    ToolProgress,
    ToolResultRecorded,
    Trigger,
    TurnEnd,
    TurnEndKind,
    TurnEndReason,
    TurnStart,
    UserMessage,
)

HEADER = Header(version=0, id="s", created_at=0, cwd="/work", producer={"name": "wayline", "version": "1"})

WORDS = st.text("ab cd\né😀", min_size=1, max_size=8)
TODOS = st.lists(
    st.builds(TodoItem, WORDS, st.sampled_from(["pending", "in_progress", "completed"])), max_size=3
).map(tuple)
OUTSIDE = st.one_of(
    st.builds(SessionTitle, WORDS, st.just(USER)),
    st.builds(SessionMode, st.sampled_from(["ask", "full"])),
    st.builds(SessionConfig, st.sampled_from(["model", "thought"]), WORDS),
    st.builds(Notice, WORDS),
)
ENDS: st.SearchStrategy[TurnEndKind] = st.sampled_from(
    ["completed", "refusal", "aborted", "error", "max-tokens", "interrupted"]
)
ANSWERS: st.SearchStrategy[PermissionOutcome] = st.sampled_from(
    ["allow-once", "allow-session", "reject", "unanswered", "not-offered", "cancelled"]
)


def bytes_of(events: Iterable[Event], header: Header = HEADER) -> bytes:
    """The log as it lies on disk."""
    return b"".join([encode(header), *map(encode, events)])


class Writer:
    """Appends events as a session does, and knows what is on the surface."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.surface: list[int] = []
        self._turn_start = 0
        self._summaries_of_older: set[int] = set()

    def add(
        self, data: Payload, surface_op: SurfaceOp | None = None, sources: Sources | None = None
    ) -> Event:
        seq = len(self.events)
        if surface_op is None and type(data) in SURFACE:
            surface_op = "append"
            self.surface.append(seq)
        event = Event(TYPE_NAMES[type(data)], seq, 1000 + seq, data, surface_op, sources)
        self.events.append(event)
        if isinstance(data, TurnStart):
            self._turn_start = seq
        if isinstance(data, TurnEnd) and data.reason.kind == "refusal":
            self.surface = [kept for kept in self.surface if self._said_before(kept)]
        return event

    def summarize(self, first: int, last: int, text: str) -> None:
        """Put a summary in the place of `surface[first:last + 1]`."""
        shadowed = self.surface[first : last + 1]
        op = Replace("replace", shadowed[0], shadowed[-1])
        summary = self.add(UserMessage((Text(text),), Source("compaction")), op, tuple(shadowed))
        self.surface[first : last + 1] = [summary.seq]
        if self._said_before(shadowed[0]):
            self._summaries_of_older.add(summary.seq)

    def _said_before(self, seq: int) -> bool:
        """Whether something on the surface holds what was said before the open turn."""
        return seq < self._turn_start or seq in self._summaries_of_older


def stream_of(content: Sequence[ContentBlock]) -> list[Chunk]:
    """The chunks that a model sends for a reply: each block in two deltas."""
    chunks: list[Chunk] = []
    for index, block in enumerate(content):
        match block:
            case Text(text=text):
                deltas = [TextDelta(index, piece) for piece in _pieces(text)]
                chunks += [BlockStart(index, "text"), *deltas, BlockEnd(index, block)]
            case Reasoning(text=text):
                chunks += [
                    BlockStart(index, "reasoning"),
                    ReasoningDelta(index, text),
                    BlockEnd(index, block),
                ]
            case ToolCall(id=call_id, name=name, arguments=arguments):
                begun, *more = [ToolCallDelta(index, call_id, piece) for piece in _pieces(arguments)]
                begun = msgspec.structs.replace(begun, name=name)
                chunks += [BlockStart(index, "tool-call"), begun, *more, BlockEnd(index, block)]
            case _:
                raise AssertionError(f"a model does not send {block}")
    return [*chunks, UsageChunk(Usage(10, 5, 3, 1)), Finish(FinishReason("stop"))]


def _pieces(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


@st.composite
def replies(draw: st.DrawFn, prefix: str) -> tuple[ContentBlock, ...]:
    """Text, reasoning and calls, in any order."""
    blocks = draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), min_size=1, max_size=3))
    content: list[ContentBlock] = []
    for index, kind in enumerate(blocks):
        match kind:
            case "text":
                content.append(Text(draw(WORDS)))
            case "reasoning":
                content.append(Reasoning(draw(WORDS)))
            case _:
                content.append(
                    ToolCall(f"{prefix}.{index}", draw(st.sampled_from(["bash", "todo_write"])), "{}")
                )
    return tuple(content)


@st.composite
def conversations(draw: st.DrawFn) -> Writer:
    """A whole session in which everything was closed."""
    log = Writer()
    for turn in range(1, draw(st.integers(0, 3)) + 1):
        for payload in draw(st.lists(OUTSIDE, max_size=2)):
            log.add(payload)
        _turn(draw, log, turn)
    return log


def _turn(draw: st.DrawFn, log: Writer, turn: int) -> None:
    log.add(TurnStart(turn, Trigger("message", USER)))
    log.add(UserMessage((Text(draw(WORDS)),), USER))
    if draw(st.booleans()):
        log.add(ContextMessage((Text(draw(WORDS)),), Source("reminder")))
    for step in range(1, draw(st.integers(0, 2)) + 1):
        _step(draw, log, turn, step)
        if draw(st.booleans()):
            log.add(SteeringMessage(turn, (Text(draw(WORDS)),), USER))
        if draw(st.integers(0, 3)) == 0:
            first = draw(st.integers(0, len(log.surface) - 1))
            log.summarize(first, draw(st.integers(first, len(log.surface) - 1)), draw(WORDS))
    log.add(TurnEnd(turn, TurnEndReason(draw(ENDS))))


def _step(draw: st.DrawFn, log: Writer, turn: int, step: int) -> None:
    log.add(StepStart(turn, step))
    if draw(st.booleans()):
        log.add(RequestHeader("p", draw(WORDS), "system", (), "changed"))
    content = draw(replies(f"{turn}.{step}"))
    chunks = stream_of(content)
    if draw(st.booleans()):
        for chunk in chunks[: draw(st.integers(0, 3))]:
            log.add(AssistantChunk(turn, step, chunk))
        log.add(LlmRetry(turn, step, 1, 10, "cut"))
    deltas = [log.add(AssistantChunk(turn, step, chunk)) for chunk in chunks]
    usage = draw(st.none() | st.builds(Usage, *[st.integers(0, 100)] * 4))
    message = AssistantMessage(turn, step, content, usage)
    log.add(message, sources=Span(deltas[0].seq, deltas[-1].seq))
    for block in content:
        if isinstance(block, ToolCall):
            _call(draw, log, turn, step, block)
    log.add(StepEnd(turn, step))


def _call(draw: st.DrawFn, log: Writer, turn: int, step: int, call: ToolCall) -> None:
    log.add(ToolCallStarted(turn, step, call.id, call.name, call.arguments))
    if draw(st.booleans()):
        log.add(PermissionAsked(call.id, "May I?", "bash:ls"))
        log.add(PermissionDecided(call.id, draw(ANSWERS), draw(st.sampled_from(["bash:ls", "bash:rm"]))))
    for text in draw(st.lists(WORDS, max_size=2)):
        log.add(ToolProgress(call.id, text))
    if call.name == "todo_write":
        log.add(TodoWrite(draw(TODOS)))
    failed = draw(st.booleans())
    meta = draw(
        st.none()
        | st.fixed_dictionaries({"changed": st.booleans()})
        | st.fixed_dictionaries({"seen": st.dictionaries(st.sampled_from(["/a", "/b"]), WORDS)})
    )
    error = ToolError("Failed", "FAILED") if failed else None
    log.add(ToolResultRecorded(turn, step, call.id, (Text(draw(WORDS)),), failed, error, meta))
