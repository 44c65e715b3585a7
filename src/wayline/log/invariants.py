"""The rules every log keeps, checked on load and, when asked for, on append.

LogError
└── InvariantBroken    an event breaks a rule; the message names both
"""

from collections.abc import Container

from wayline.log.codec import LogError
from wayline.log.content import ToolCall
from wayline.log.events import (
    SURFACE,
    AssistantMessage,
    Event,
    Notice,
    Replace,
    SessionConfig,
    SessionMode,
    SessionTitle,
    Sources,
    Span,
    StepEnd,
    StepStart,
    ToolCallStarted,
    ToolResultRecorded,
    TurnEnd,
    TurnStart,
    Unknown,
)


class InvariantBroken(LogError):
    """An event that the log's rules do not allow at its place."""


#: Payloads that may stand outside a turn, besides every `session/*` and `hook/*` type.
_ANYWHERE = (Notice, SessionTitle, SessionMode, SessionConfig, TurnStart)


class Invariants:
    """Judges events one after the other. After `check` raised, it is not used again."""

    def __init__(self) -> None:
        self.next_seq = 0
        #: the open turn and step, 0 when none is
        self.turn = 0
        self.step = 0
        self._last_turn = 0
        self._last_step = 0
        self._calls: set[str] = set()
        self._message_calls: set[str] = set()
        self._surface: list[int] = []
        #: how many events the surface had when the open turn began
        self._turn_begins = 0

    def check(self, event: Event) -> None:
        """Take the next event if the rules allow it. Raises `InvariantBroken`."""
        self.allow(event)
        self.take(event)

    def check_delta(self, seq: int) -> None:
        """Take a delta, of which no more than its number need be known. Raises `InvariantBroken`."""
        self._require(seq == self.next_seq, seq, f"seq must be contiguous, {self.next_seq} comes next")
        self._require(bool(self.turn), seq, "a delta stands outside any turn")
        self.next_seq += 1

    def allow(self, event: Event) -> None:
        """Raises `InvariantBroken` when the event may not come next; changes nothing."""
        self._require(
            event.seq == self.next_seq, event, f"seq must be contiguous, {self.next_seq} comes next"
        )
        self._allow_surface(event)
        free = isinstance(event.data, _ANYWHERE) or event.type.startswith(("session/", "hook/"))
        self._require(bool(self.turn) or free, event, "it stands outside any turn")
        match event.data:
            case TurnStart(turn=turn):
                self._require(not self.turn, event, "a turn opens while another is open")
                self._require(turn == self._last_turn + 1, event, f"turn {self._last_turn + 1} comes next")
            case TurnEnd(turn=turn):
                self._require(turn == self.turn, event, f"the open turn is {self.turn}")
                self._require(not self.step, event, f"step {self.step} is still open")
            case StepStart(turn=turn, step=step):
                self._require(not self.step, event, f"step {self.step} is still open")
                self._require(turn == self.turn, event, f"the open turn is {self.turn}")
                self._require(step == self._last_step + 1, event, f"step {self._last_step + 1} comes next")
            case StepEnd(turn=turn, step=step):
                is_open = self.step != 0 and (turn, step) == (self.turn, self.step)
                self._require(is_open, event, "that step is not open")
            case ToolResultRecorded():
                self._allow_answer(event, event.data)
            case _:
                pass

    def take(self, event: Event) -> None:
        """Go on behind an event that is allowed."""
        self.next_seq += 1
        self._take_surface(event)
        match event.data:
            case TurnStart(turn=turn):
                self.turn = self._last_turn = turn
                self._last_step = 0
                self._turn_begins = len(self._surface)
            case TurnEnd(reason=reason):
                self.turn = 0
                if reason.kind == "refusal":
                    del self._surface[self._turn_begins :]
            case StepStart(step=step):
                self.step = self._last_step = step
                self._calls, self._message_calls = set(), set()
            case StepEnd():
                self.step = 0
            case AssistantMessage(content=content):
                self._message_calls = {block.id for block in content if isinstance(block, ToolCall)}
            case ToolCallStarted(call_id=call_id):
                self._calls.add(call_id)
            case _:
                pass

    def _require(self, holds: bool, event: Event | int, rule: str) -> None:
        if not holds:
            name = f"event {event.seq} ({event.type})" if isinstance(event, Event) else f"event {event}"
            raise InvariantBroken(f"{name}: {rule}")

    def _allow_surface(self, event: Event) -> None:
        op = event.surface_op
        if isinstance(event.data, Unknown):
            return
        if type(event.data) not in SURFACE:
            self._require(op is None, event, "only a surface event has a surfaceOp")
            return
        self._require(op is not None, event, "a surface event has a surfaceOp")
        if isinstance(op, Replace):
            run = self._run(op)
            self._require(run is not None, event, "the ends of a replace are on the surface")
            named = _numbers(event.source_event_seqs)
            shadowed = self._surface[run] if run else []
            self._require(all(seq in named for seq in shadowed), event, "its sources name all it shadows")

    def _take_surface(self, event: Event) -> None:
        op = event.surface_op
        if type(event.data) not in SURFACE:
            return
        if isinstance(op, Replace) and (run := self._run(op)) is not None:
            self._surface[run] = [event.seq]
            if run.start < self._turn_begins:
                self._turn_begins = max(run.start + 1, self._turn_begins - (run.stop - run.start - 1))
        else:
            self._surface.append(event.seq)

    def _run(self, op: Replace) -> slice | None:
        """Where on the surface the run from `start` to `end` lies; a summary stands before older events."""
        try:
            run = slice(self._surface.index(op.start), self._surface.index(op.end) + 1)
        except ValueError:
            return None
        return run if run.start < run.stop else None

    def _allow_answer(self, event: Event, result: ToolResultRecorded) -> None:
        interrupted = result.error is not None and result.error.code == "interrupted"
        known = result.call_id in self._calls or (interrupted and result.call_id in self._message_calls)
        self._require(known, event, f"no call {result.call_id!r} of this step is open")


def _numbers(sources: Sources | None) -> Container[int]:
    return range(sources.first, sources.last + 1) if isinstance(sources, Span) else set(sources or ())
