"""Reading a whole log: what was written whole, what was torn, what is damaged."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conversations import HEADER, conversations, events, log
from wayline.log.codec import encode
from wayline.log.events import (
    USER,
    AssistantChunk,
    Event,
    Notice,
    Payload,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)
from wayline.log.reader import DamagedLog, read
from wayline.projections.state import fold_all

TURN: list[Payload] = [
    TurnStart(1, Trigger("message", USER)),
    Notice("first"),
    TurnEnd(1, TurnEndReason("completed")),
]


@given(conversations())
def test_a_whole_log_is_read_without_its_finished_deltas(payloads: list[Payload]):
    reading = read(log(payloads))
    whole = events(payloads)
    assert reading.fault is None
    assert reading.events == [event for event in whole if not isinstance(event.data, AssistantChunk)]
    assert (reading.next_seq, reading.torn, reading.open_deltas) == (len(whole), 0, [])
    assert fold_all(reading.events) == fold_all(whole)


@settings(max_examples=25)
@given(conversations(), st.data())
def test_cut_at_any_byte_it_loses_only_what_was_not_whole(payloads: list[Payload], data: st.DataObject):
    whole = log(payloads)
    start = len(encode(HEADER))
    cut = data.draw(st.integers(start, len(whole)))
    reading = read(whole[:cut])
    kept = whole[: reading.length]
    assert whole[:cut].startswith(kept)
    assert kept.endswith(b"\n")
    assert reading.torn == cut - len(kept) < len(max(whole.splitlines(keepends=True), key=len)) + 1
    assert reading.fault is None
    assert reading.next_seq == kept.count(b"\n") - 1


def test_a_last_line_that_ends_and_does_not_parse_was_torn():
    whole = log(TURN)
    reading = read(whole + b'{"type":"noti\n')
    assert (reading.length, reading.next_seq) == (len(whole), 3)


def test_damage_before_the_end_names_its_line():
    lines = log(TURN).splitlines(keepends=True)
    lines[2] = b'{"type":"noti\n'
    with pytest.raises(DamagedLog, match="line 3"):
        read(b"".join(lines))


def test_a_gap_in_the_numbers_makes_it_read_only():
    whole = events(TURN)
    reading = read(encode(HEADER) + encode(whole[0]) + encode(whole[2]))
    assert reading.fault is not None
    assert "contiguous" in reading.fault


def test_an_unknown_event_makes_it_read_only_and_is_named_with_its_writer():
    line = b'{"type":"other/thing","seq":0,"time":1,"data":{}}\n'
    header = (
        b'{"type":"session","version":0,"id":"x","createdAt":1,"cwd":"/","producer":{"name":"elsewhere"}}\n'
    )
    fault = read(header + line).fault
    assert fault is not None
    assert "other/thing" in fault
    assert "elsewhere" in fault
    turn = encode(Event("turn/start", 0, 1, TURN[0]))
    ignorable = b'{"type":"other/thing","seq":1,"time":1,"data":{},"ignorable":true}\n'
    assert read(header + turn + ignorable).fault is None
