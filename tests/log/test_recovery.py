"""A log that stopped anywhere is made whole, and only once."""

from hypothesis import given
from hypothesis import strategies as st

from tests.conversations import conversations, events, log
from wayline.log.content import ReasoningDelta, Text, TextDelta
from wayline.log.events import (
    AssistantChunk,
    AssistantMessage,
    Payload,
    PermissionAsked,
    PermissionDecided,
    ToolCallStarted,
    ToolResultRecorded,
    TurnEnd,
)
from wayline.log.invariants import Invariants
from wayline.log.reader import read
from wayline.log.recovery import AFTER_CRASH, repair
from wayline.models.assembler import assemble


@given(conversations(), st.data())
def test_a_log_that_stopped_anywhere_is_closed_and_keeps_every_rule(
    payloads: list[Payload], data: st.DataObject
):
    kept = payloads[: data.draw(st.integers(0, len(payloads)))]
    reading = read(log(kept))
    closing = repair(reading.events, reading.open_deltas, assemble)
    rules = Invariants()
    for event in events([*kept, *closing]):
        rules.check(event)
    assert rules.turn == 0
    again = read(log([*kept, *closing]))
    assert repair(again.events, again.open_deltas, assemble) == []
    if closing:
        last = closing[-1]
        assert isinstance(last, TurnEnd)
        assert last.reason.kind == "interrupted"
        check_answers(kept, closing)
        check_words(kept, closing)


def check_answers(kept: list[Payload], closing: list[Payload]) -> None:
    """Each answer that repair gave says truly whether its call had begun."""
    begun = {payload.call_id for payload in kept if isinstance(payload, ToolCallStarted)}
    asked = {payload.call_id for payload in kept if isinstance(payload, PermissionAsked)}
    allowed = {p.call_id for p in kept if isinstance(p, PermissionDecided) and p.outcome.startswith("allow")}
    for payload in closing:
        if isinstance(payload, ToolResultRecorded):
            assert payload.error is not None
            running = payload.call_id in begun and payload.call_id not in asked - allowed
            code, _ = AFTER_CRASH.begun if running else AFTER_CRASH.not_begun
            assert payload.error.code == code


def check_words(kept: list[Payload], closing: list[Payload]) -> None:
    """No word that was streamed is lost."""
    streamed = said = ""
    for payload in [*kept, *closing]:
        if isinstance(payload, AssistantChunk) and isinstance(payload.chunk, TextDelta | ReasoningDelta):
            streamed += payload.chunk.text
        if isinstance(payload, AssistantMessage):
            said += "".join(block.text for block in payload.content if isinstance(block, Text))
    assert said == streamed
