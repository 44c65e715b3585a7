"""One test a rule: it raises, and names the event and the rule."""

import msgspec
import pytest
from hypothesis import given

from tests.log.conversations import Writer, conversations
from wayline.log.content import Text, TextDelta, ToolCall
from wayline.log.events import (
    USER,
    AssistantChunk,
    AssistantMessage,
    Event,
    Notice,
    Payload,
    PermissionAsked,
    Replace,
    SessionMode,
    SessionTitle,
    Span,
    StepEnd,
    StepStart,
    TodoWrite,
    ToolCallStarted,
    ToolError,
    ToolResultRecorded,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    Unknown,
    UserMessage,
)
from wayline.log.invariants import InvariantBroken, Invariants

TURN = TurnStart(1, Trigger("message", USER))
STEP = StepStart(1, 1)
HELLO = UserMessage((Text("hello"),), USER)
COMPLETED = TurnEndReason("completed")


def refused(log: Writer) -> str:
    """What the rules say of the last event; the ones before are allowed."""
    rules = Invariants()
    *before, last = log.events
    for event in before:
        rules.check(event)
    with pytest.raises(InvariantBroken) as broken:
        rules.check(last)
    message = str(broken.value)
    assert message.startswith(f"event {last.seq} ({last.type}): ")
    return message.partition(": ")[2]


@pytest.fixture
def log() -> Writer:
    return Writer()


@pytest.fixture
def in_turn(log: Writer) -> Writer:
    log.add(TURN)
    log.add(HELLO)
    return log


@pytest.fixture
def in_step(in_turn: Writer) -> Writer:
    in_turn.add(STEP)
    return in_turn


@given(conversations())
def test_what_a_session_writes_breaks_no_rule(log: Writer):
    rules = Invariants()
    for event in log.events:
        rules.check(event)
    assert rules.next_seq == len(log.events)


@pytest.mark.parametrize("seq", [-1, 0, 2, 10**12])
def test_numbers_have_no_gap(log: Writer, seq: int):
    log.add(Notice("a"))
    log.events.append(Event("notice", seq, 0, Notice("b")))
    assert refused(log) == "seq must be contiguous, 1 comes next"


def test_the_number_of_a_delta_has_no_gap_either(in_step: Writer):
    rules = Invariants()
    for event in in_step.events:
        rules.check(event)
    rules.check_delta(3)
    with pytest.raises(InvariantBroken, match="event 5: seq must be contiguous, 4 comes next"):
        rules.check_delta(5)


@pytest.mark.parametrize(
    "payload", [HELLO, STEP, TodoWrite(()), TurnEnd(0, COMPLETED), PermissionAsked("c", "t", "g")]
)
def test_an_event_stands_inside_a_turn(log: Writer, payload: Payload):
    log.add(payload)
    assert refused(log) == "it stands outside any turn"


def test_a_list_is_written_inside_an_open_turn(in_turn: Writer):
    in_turn.add(TodoWrite(()))
    in_turn.add(TurnEnd(1, COMPLETED))
    in_turn.add(TodoWrite(()))
    assert refused(in_turn) == "it stands outside any turn"


def test_a_delta_stands_inside_a_turn():
    with pytest.raises(InvariantBroken, match="event 0: a delta stands outside any turn"):
        Invariants().check_delta(0)


def test_an_unknown_event_stands_inside_a_turn(log: Writer):
    log.events.append(Event("weather/changed", 0, 0, Unknown({}), ignorable=True))
    assert refused(log) == "it stands outside any turn"


@pytest.mark.parametrize(
    "event",
    [
        Event("notice", 0, 0, Notice("a")),
        Event("session/mode", 0, 0, SessionMode("ask")),
        Event("session/title", 0, 0, SessionTitle("t", USER)),
        Event("session/painted", 0, 0, Unknown({})),
        Event("hook/invoked", 0, 0, Unknown({})),
    ],
    ids=lambda event: event.type,
)
def test_what_is_of_the_session_may_stand_outside(event: Event):
    Invariants().check(event)


def test_a_turn_opens_when_none_is_open(in_turn: Writer):
    in_turn.add(TurnStart(2, Trigger("message", USER)))
    assert refused(in_turn) == "a turn opens while another is open"


@pytest.mark.parametrize("turn", [0, 1, 3])
def test_turns_have_no_gap(in_turn: Writer, turn: int):
    in_turn.add(TurnEnd(1, COMPLETED))
    in_turn.add(TurnStart(turn, Trigger("message", USER)))
    assert refused(in_turn) == "turn 2 comes next"


def test_the_turn_that_ends_is_the_open_one(in_turn: Writer):
    in_turn.add(TurnEnd(2, COMPLETED))
    assert refused(in_turn) == "the open turn is 1"


def test_a_turn_does_not_end_while_a_step_is_open(in_step: Writer):
    in_step.add(TurnEnd(1, COMPLETED))
    assert refused(in_step) == "step 1 is still open"


def test_a_step_opens_when_none_is_open(in_step: Writer):
    in_step.add(StepStart(1, 2))
    assert refused(in_step) == "step 1 is still open"


def test_a_step_opens_in_the_open_turn(in_turn: Writer):
    in_turn.add(StepStart(2, 1))
    assert refused(in_turn) == "the open turn is 1"


@pytest.mark.parametrize("step", [0, 1, 3])
def test_steps_have_no_gap(in_step: Writer, step: int):
    in_step.add(StepEnd(1, 1))
    in_step.add(StepStart(1, step))
    assert refused(in_step) == "step 2 comes next"


def test_steps_restart_at_one_in_every_turn(in_step: Writer):
    in_step.add(StepEnd(1, 1))
    in_step.add(TurnEnd(1, COMPLETED))
    in_step.add(TurnStart(2, Trigger("message", USER)))
    in_step.add(StepStart(2, 2))
    assert refused(in_step) == "step 1 comes next"


@pytest.mark.parametrize("end", [StepEnd(1, 2), StepEnd(2, 1)])
def test_the_step_that_ends_is_the_open_one(in_step: Writer, end: StepEnd):
    in_step.add(end)
    assert refused(in_step) == "that step is not open"


def test_a_step_does_not_end_when_none_is_open(in_turn: Writer):
    in_turn.add(StepEnd(1, 0))
    assert refused(in_turn) == "that step is not open"


def test_a_surface_event_says_how_it_enters_the_history(in_turn: Writer):
    in_turn.events[-1] = msgspec.structs.replace(in_turn.events[-1], surface_op=None)
    assert refused(in_turn) == "a surface event has a surfaceOp"


def test_a_list_is_not_on_the_surface(in_turn: Writer):
    in_turn.add(TodoWrite(()), "append")
    assert refused(in_turn) == "only a surface event has a surfaceOp"


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1, 4), (2, 1), (1, 10**18)])
def test_a_replacement_begins_and_ends_on_the_surface(in_turn: Writer, start: int, end: int):
    in_turn.add(HELLO)
    in_turn.add(Notice("not on it"))
    in_turn.add(HELLO, Replace("replace", start, end), Span(0, 10**18))
    assert refused(in_turn) == "the ends of a replace are on the surface"


@pytest.mark.parametrize("sources", [None, (), (1, 3), Span(2, 3)])
def test_a_replacement_names_all_it_shadows(in_turn: Writer, sources: tuple[int, ...] | Span | None):
    in_turn.add(HELLO)
    in_turn.add(HELLO)
    in_turn.add(HELLO, Replace("replace", 1, 3), sources)
    assert refused(in_turn) == "its sources name all it shadows"


def test_what_was_replaced_is_no_longer_on_the_surface(in_turn: Writer):
    in_turn.add(HELLO)
    in_turn.summarize(0, 1, "summary")
    in_turn.add(HELLO, Replace("replace", 1, 2), Span(1, 2))
    assert refused(in_turn) == "the ends of a replace are on the surface"


def test_a_summary_can_be_replaced_together_with_what_was_said_after_it(in_turn: Writer):
    in_turn.add(HELLO)
    in_turn.summarize(0, 0, "summary of the first")
    summary, kept = in_turn.surface
    assert summary > kept
    in_turn.add(HELLO, Replace("replace", summary, kept), (summary, kept))
    rules = Invariants()
    for event in in_turn.events:
        rules.check(event)


def test_what_was_refused_is_no_longer_on_the_surface(in_turn: Writer):
    in_turn.add(TurnEnd(1, TurnEndReason("refusal")))
    in_turn.add(TurnStart(2, Trigger("message", USER)))
    in_turn.add(HELLO, Replace("replace", 1, 1), (1,))
    assert refused(in_turn) == "the ends of a replace are on the surface"


@pytest.mark.parametrize(
    ("first", "last"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]
)
def test_a_refusal_takes_what_was_said_in_its_turn_whatever_was_summarized_in_it(
    in_turn: Writer, first: int, last: int
):
    in_turn.add(HELLO)
    in_turn.add(TurnEnd(1, COMPLETED))
    in_turn.add(TurnStart(2, Trigger("message", USER)))
    in_turn.add(HELLO)
    in_turn.add(HELLO)
    in_turn.summarize(first, last, "summary")
    in_turn.add(TurnEnd(2, TurnEndReason("refusal")))
    in_turn.add(TurnStart(3, Trigger("message", USER)))
    in_turn.add(HELLO)
    rules = Invariants()
    for event in in_turn.events:
        rules.check(event)
    shadowed = in_turn.surface
    in_turn.add(HELLO, Replace("replace", shadowed[0], shadowed[-1]), tuple(shadowed))
    rules.check(in_turn.events[-1])


def test_how_an_unknown_event_enters_the_history_is_not_judged(in_turn: Writer):
    rules = Invariants()
    for event in in_turn.events:
        rules.check(event)
    rules.check(Event("weather/changed", 2, 0, Unknown({}), "append", ignorable=True))


def result(call_id: str, code: str | None = None) -> ToolResultRecorded:
    return ToolResultRecorded(1, 1, call_id, (), code is not None, ToolError("E", code) if code else None)


def test_a_result_answers_a_call(in_step: Writer):
    in_step.add(ToolCallStarted(1, 1, "c1", "bash", "{}"))
    in_step.add(result("c1"))
    in_step.add(result("c2"))
    assert refused(in_step) == "no call 'c2' of this step is open"


def test_a_result_answers_a_call_of_its_own_step(in_step: Writer):
    in_step.add(ToolCallStarted(1, 1, "c1", "bash", "{}"))
    in_step.add(StepEnd(1, 1))
    in_step.add(StepStart(1, 2))
    in_step.add(result("c1"))
    assert refused(in_step) == "no call 'c1' of this step is open"


@pytest.mark.parametrize(("code", "allowed"), [("interrupted", True), ("FAILED", False), (None, False)])
def test_only_an_interrupted_result_may_answer_a_call_that_was_never_written(
    in_step: Writer, code: str | None, allowed: bool
):
    in_step.add(AssistantMessage(1, 1, (ToolCall("c1", "bash", "{}"),)))
    in_step.add(result("c1", code))
    if allowed:
        rules = Invariants()
        for event in in_step.events:
            rules.check(event)
    else:
        assert refused(in_step) == "no call 'c1' of this step is open"


def test_judging_an_event_changes_nothing(in_step: Writer):
    rules = Invariants()
    for event in in_step.events:
        rules.allow(event)
        rules.allow(event)
        rules.take(event)
    delta = Event("assistant/chunk", 3, 0, AssistantChunk(1, 1, TextDelta(0, "x")))
    with pytest.raises(InvariantBroken):
        rules.allow(msgspec.structs.replace(delta, seq=4))
    rules.check(delta)
