"""A session that stopped anywhere is made whole, and only once."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from tests.log.conversations import Writer, bytes_of, conversations, stream_of
from wayline.log.content import BlockEnd, Chunk, Reasoning, ReasoningDelta, Text, TextDelta, ToolCall
from wayline.log.events import (
    USER,
    AssistantChunk,
    AssistantMessage,
    Event,
    Payload,
    PermissionAsked,
    PermissionDecided,
    PermissionOutcome,
    StepEnd,
    StepStart,
    ToolCallStarted,
    ToolProgress,
    ToolResultRecorded,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)
from wayline.log.invariants import Invariants
from wayline.log.reader import read
from wayline.log.recovery import AFTER_CANCEL, AFTER_FAILURE, Wording, close_step, repair
from wayline.models.assembler import assemble

BASH = ToolCall("c1", "bash", '{"command": "ls"}')


def closing(events: list[Event]) -> list[Payload]:
    """What a crash right here makes necessary."""
    reading = read(bytes_of(events))
    return repair(reading.events, reading.open_deltas, assemble)


def continued(events: list[Event], payloads: Iterable[Payload]) -> list[Event]:
    log = Writer()
    log.events = list(events)
    for payload in payloads:
        log.add(payload)
    return log.events


@settings(max_examples=40)
@given(conversations())
def test_a_session_that_stops_behind_any_event_is_made_whole(log: Writer):
    for size in range(len(log.events) + 1):
        events = log.events[:size]
        repaired = continued(events, closing(events))
        check_rules(repaired)
        check_answers(repaired)
        check_words(repaired)
        assert closing(repaired) == []


def check_rules(events: list[Event]) -> None:
    rules = Invariants()
    for event in events:
        rules.check(event)
    assert rules.turn == 0


def check_answers(events: list[Event]) -> None:
    """Each call of a message is announced and answered once."""
    asked = [
        block.id
        for event in events
        if isinstance(event.data, AssistantMessage)
        for block in event.data.content
        if isinstance(block, ToolCall)
    ]
    announced = [event.data.call_id for event in events if isinstance(event.data, ToolCallStarted)]
    answered = [event.data.call_id for event in events if isinstance(event.data, ToolResultRecorded)]
    assert sorted(asked) == sorted(announced) == sorted(answered)


def check_words(events: list[Event]) -> None:
    """No word that was streamed is lost; those of an attempt that was made again count no more."""
    attempts: list[str] = []
    for event in events:
        match event.data:
            case AssistantChunk(chunk=TextDelta(text=text) | ReasoningDelta(text=text)):
                attempts[-1] += text
            case AssistantMessage(content=content):
                said = "".join(block.text for block in content if isinstance(block, Text | Reasoning))
                assert said == attempts[-1]
            case _ if event.type in ("step/start", "llm/retry"):
                attempts.append("")


@pytest.fixture
def log() -> Writer:
    """A session whose first step is open."""
    log = Writer()
    log.add(TurnStart(1, Trigger("message", USER)))
    log.add(UserMessage((Text("go"),), USER))
    log.add(StepStart(1, 1))
    return log


def stream(log: Writer, chunks: Iterable[Chunk]) -> None:
    for chunk in chunks:
        log.add(AssistantChunk(1, 1, chunk))


def codes(payloads: list[Payload]) -> list[str]:
    errors = [payload.error for payload in payloads if isinstance(payload, ToolResultRecorded)]
    return [error.code for error in errors if error is not None]


def test_a_session_without_an_open_turn_needs_nothing(log: Writer):
    assert closing([]) == []
    log.add(StepEnd(1, 1))
    log.add(TurnEnd(1, TurnEndReason("completed")))
    assert closing(log.events) == []


def test_a_turn_between_two_steps_is_closed_as_interrupted(log: Writer):
    log.add(StepEnd(1, 1))
    assert closing(log.events) == [TurnEnd(1, TurnEndReason("interrupted"))]


def test_a_step_that_heard_nothing_is_closed_without_a_message(log: Writer):
    assert closing(log.events) == [StepEnd(1, 1), TurnEnd(1, TurnEndReason("interrupted"))]


def test_an_answer_that_stopped_is_kept_as_interrupted(log: Writer):
    stream(log, stream_of((Reasoning("why"), Text("hello"))))
    assert closing(log.events)[0] == AssistantMessage(
        1, 1, (Reasoning("why"), Text("hello")), interrupted=True
    )


def test_a_call_whose_block_did_not_end_is_not_kept(log: Writer):
    chunks = stream_of((Text("hello"), BASH))
    stream(log, chunks[: chunks.index(BlockEnd(1, BASH))])
    assert closing(log.events) == [
        AssistantMessage(1, 1, (Text("hello"),), interrupted=True),
        StepEnd(1, 1),
        TurnEnd(1, TurnEndReason("interrupted")),
    ]


def test_an_answer_of_nothing_but_an_unfinished_call_leaves_no_message(log: Writer):
    chunks = stream_of((BASH,))
    stream(log, chunks[: chunks.index(BlockEnd(0, BASH))])
    assert closing(log.events) == [StepEnd(1, 1), TurnEnd(1, TurnEndReason("interrupted"))]


def test_a_call_that_was_never_written_is_written_and_was_not_started(log: Writer):
    log.add(AssistantMessage(1, 1, (BASH,)))
    call, answer, *_ = closing(log.events)
    assert call == ToolCallStarted(1, 1, "c1", "bash", BASH.arguments)
    assert codes([answer]) == ["TOOL_NOT_STARTED"]


def test_a_call_that_was_written_may_have_done_anything(log: Writer):
    log.add(AssistantMessage(1, 1, (BASH,)))
    log.add(ToolCallStarted(1, 1, "c1", "bash", BASH.arguments))
    log.add(ToolProgress("c1", "half"))
    answer, *rest = closing(log.events)
    assert codes([answer]) == ["TOOL_OUTCOME_UNKNOWN"]
    assert rest == [StepEnd(1, 1), TurnEnd(1, TurnEndReason("interrupted"))]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (None, "TOOL_NOT_STARTED"),
        ("reject", "TOOL_NOT_STARTED"),
        ("cancelled", "TOOL_NOT_STARTED"),
        ("unanswered", "TOOL_NOT_STARTED"),
        ("not-offered", "TOOL_NOT_STARTED"),
        ("allow-once", "TOOL_OUTCOME_UNKNOWN"),
        ("allow-session", "TOOL_OUTCOME_UNKNOWN"),
    ],
)
def test_a_call_that_was_asked_about_had_begun_only_when_it_was_allowed(
    log: Writer, outcome: PermissionOutcome | None, code: str
):
    log.add(AssistantMessage(1, 1, (BASH,)))
    log.add(ToolCallStarted(1, 1, "c1", "bash", BASH.arguments))
    log.add(PermissionAsked("c1", "May I?", "bash:ls"))
    if outcome is not None:
        log.add(PermissionDecided("c1", outcome, "bash:ls"))
    assert codes(closing(log.events)) == [code]


def test_a_call_that_was_answered_is_left_alone(log: Writer):
    log.add(AssistantMessage(1, 1, (BASH, ToolCall("c2", "bash", "{}"))))
    log.add(ToolCallStarted(1, 1, "c1", "bash", BASH.arguments))
    log.add(ToolResultRecorded(1, 1, "c1", (), False))
    answers = [payload for payload in closing(log.events) if isinstance(payload, ToolResultRecorded)]
    assert [answer.call_id for answer in answers] == ["c2"]


def test_a_call_that_another_program_wrote_without_a_message_is_answered(log: Writer):
    log.add(ToolCallStarted(1, 1, "c1", "bash", "{}"))
    assert codes(closing(log.events)) == ["TOOL_OUTCOME_UNKNOWN"]
    check_rules(continued(log.events, closing(log.events)))


@pytest.mark.parametrize("wording", [AFTER_CANCEL, AFTER_FAILURE], ids=["cancel", "failure"])
def test_a_step_that_is_ended_says_which_calls_had_begun(log: Writer, wording: Wording):
    log.add(AssistantMessage(1, 1, (BASH, ToolCall("c2", "bash", "{}"))))
    log.add(ToolCallStarted(1, 1, "c1", "bash", BASH.arguments))
    payloads = close_step(log.events, [], assemble, wording)
    assert codes(payloads) == ["ABORTED", "ABORTED_BEFORE_DISPATCH"]
    assert payloads[-1] == StepEnd(1, 1)


def test_no_step_is_closed_when_none_is_open(log: Writer):
    log.add(StepEnd(1, 1))
    assert close_step(log.events, [], assemble, AFTER_CANCEL) == []
