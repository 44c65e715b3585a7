"""The rules every log keeps, checked on load and, when asked for, on append.

LogError
└── InvariantBroken    an event breaks a rule; the message names both
"""

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
    Span,
    StepEnd,
    StepStart,
    TodoWrite,
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
    """Checks events one after the other. It only reads; after it raised, it is not used again."""

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

    def check(self, event: Event) -> None:
        """Take the next event. Raises `InvariantBroken`."""
        self.check_seq(event.seq)
        self._check_surface(event)
        self._check_place(event)
        match event.data:
            case TurnStart(turn=turn):
                self._require(not self.turn, event, "a turn opens while another is open")
                self._require(turn == self._last_turn + 1, event, f"turn {self._last_turn + 1} comes next")
                self.turn = self._last_turn = turn
                self._last_step = 0
            case TurnEnd(turn=turn):
                self._require(turn == self.turn, event, f"the open turn is {self.turn}")
                self._require(not self.step, event, f"step {self.step} is still open")
                self.turn = 0
            case StepStart(turn=turn, step=step):
                self._require(not self.step, event, f"step {self.step} is still open")
                self._require(turn == self.turn, event, f"the open turn is {self.turn}")
                self._require(step == self._last_step + 1, event, f"step {self._last_step + 1} comes next")
                self.step = self._last_step = step
                self._calls, self._message_calls = set(), set()
            case StepEnd(turn=turn, step=step):
                self._require((turn, step) == (self.turn, self.step), event, "that step is not open")
                self.step = 0
            case AssistantMessage(content=content):
                self._message_calls = {block.id for block in content if isinstance(block, ToolCall)}
            case ToolCallStarted(call_id=call_id):
                self._calls.add(call_id)
            case ToolResultRecorded():
                self._check_answer(event, event.data)
            case _:
                pass

    def check_seq(self, seq: int) -> None:
        """Take the number of the next event; for a delta, which needs no more. Raises."""
        if seq != self.next_seq:
            raise InvariantBroken(f"event {seq}: seq must be contiguous, {self.next_seq} comes next")
        self.next_seq = seq + 1

    def _require(self, holds: bool, event: Event, rule: str) -> None:
        if not holds:
            raise InvariantBroken(f"event {event.seq} ({event.type}): {rule}")

    def _check_place(self, event: Event) -> None:
        free = isinstance(event.data, _ANYWHERE) or event.type.startswith(("session/", "hook/"))
        self._require(bool(self.turn) or free, event, "it stands outside any turn")
        if isinstance(event.data, TodoWrite):
            self._require(bool(self.turn), event, "a list is written inside an open turn")

    def _check_surface(self, event: Event) -> None:
        op = event.surface_op
        if isinstance(event.data, Unknown):
            return
        if type(event.data) not in SURFACE:
            self._require(op is None, event, "only a surface event has a surfaceOp")
            return
        self._require(op is not None, event, "a surface event has a surfaceOp")
        if isinstance(op, Replace):
            self._check_replace(event, op)
        else:
            self._surface.append(event.seq)

    def _check_replace(self, event: Event, op: Replace) -> None:
        ends_known = op.start in self._surface and op.end in self._surface and op.start <= op.end
        self._require(ends_known, event, "the ends of a replace are on the surface")
        first, last = self._surface.index(op.start), self._surface.index(op.end)
        shadowed = self._surface[first : last + 1]
        sources = event.source_event_seqs
        named = (
            set(range(sources.first, sources.last + 1)) if isinstance(sources, Span) else set(sources or ())
        )
        self._require(named.issuperset(shadowed), event, "its sources name all it shadows")
        self._surface[first : last + 1] = [event.seq]

    def _check_answer(self, event: Event, result: ToolResultRecorded) -> None:
        interrupted = result.error is not None and result.error.code == "interrupted"
        known = result.call_id in self._calls or (interrupted and result.call_id in self._message_calls)
        self._require(known, event, f"no call {result.call_id!r} of this step is open")
