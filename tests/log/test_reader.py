"""Reading a whole log: what was written whole, what was torn, what is damaged, what is not known."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from tests.log.conversations import HEADER, Writer, bytes_of, conversations, stream_of
from wayline.log.codec import UnknownHeader, decode, encode, is_delta
from wayline.log.content import Text, ToolCall
from wayline.log.events import (
    USER,
    AssistantChunk,
    AssistantMessage,
    Event,
    Header,
    LlmRetry,
    Notice,
    StepStart,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)
from wayline.log.reader import DamagedLog, Reading, read
from wayline.projections.state import fold_all


@pytest.fixture
def streaming() -> Writer:
    """A session that stopped in the middle of its second answer."""
    log = Writer()
    log.add(TurnStart(1, Trigger("message", USER)))
    log.add(UserMessage((Text("hello 😀"),), USER))
    log.add(StepStart(1, 1))
    for chunk in stream_of((Text("first"), ToolCall("c", "bash", "{}"))):
        log.add(AssistantChunk(1, 1, chunk))
    log.add(LlmRetry(1, 1, 1, 10, "cut"))
    for chunk in stream_of((Text("sécond"),))[:3]:
        log.add(AssistantChunk(1, 1, chunk))
    return log


def lines_of(log: Writer) -> list[bytes]:
    return bytes_of(log.events).splitlines(keepends=True)


@given(conversations())
def test_a_log_whose_deltas_are_skipped_adds_up_to_the_same(log: Writer):
    reading = read(bytes_of(log.events))
    assert fold_all(reading.events) == fold_all(log.events)
    assert reading.events == [event for event in log.events if not is_delta(event)]
    assert (reading.next_seq, reading.torn, reading.open_deltas) == (len(log.events), 0, [])
    assert reading.fault is None


def test_the_deltas_of_an_answer_that_did_not_end_are_kept(streaming: Writer):
    assert read(bytes_of(streaming.events)).open_deltas == streaming.events[-3:]


def test_deltas_that_another_program_spells_otherwise_are_the_same_deltas(streaming: Writer):
    spelled = [json.dumps(dict(reversed(json.loads(line).items()))).encode() for line in lines_of(streaming)]
    reading = read(lines_of(streaming)[0] + b"\n".join(spelled[1:]) + b"\n")
    assert reading.open_deltas == streaming.events[-3:]
    assert reading.events == [event for event in streaming.events if not is_delta(event)]


def check_torn(whole: bytes, cut: int) -> None:
    """Cut at any byte, a log has lost its unfinished line and nothing else."""
    reading = read(whole[:cut])
    kept = whole[:cut].rfind(b"\n") + 1
    assert (reading.length, reading.torn) == (kept, cut - kept)
    assert reading.next_seq == whole[:kept].count(b"\n") - 1
    assert reading.fault is None


def test_torn_at_any_byte_a_log_has_lost_its_last_line_and_nothing_else(streaming: Writer):
    whole = bytes_of(streaming.events)
    for cut in range(len(encode(HEADER)), len(whole) + 1):
        check_torn(whole, cut)


def test_a_recorded_log_can_be_torn_at_any_byte_of_its_last_lines(recorded: Path):
    whole = recorded.read_bytes()
    for cut in range(len(whole) - 2000, len(whole) + 1):
        check_torn(whole, cut)


@pytest.mark.parametrize("rubbish", [b"\n", b'{"type":"noti\n', b"\0\0\0\0\n", b"\0\0\0\0", b"\xff\xff\n"])
def test_a_last_line_that_does_not_parse_was_torn(streaming: Writer, rubbish: bytes):
    whole = bytes_of(streaming.events)
    reading = read(whole + rubbish)
    assert (reading.length, reading.torn) == (len(whole), len(rubbish))


def test_damage_in_the_middle_names_its_line(streaming: Writer):
    for number, line in enumerate(lines_of(streaming)[1:-1], start=2):
        if b"chunk" in line:
            continue
        lines = lines_of(streaming)
        lines[number - 1] = line[:-5] + b"\n"
        with pytest.raises(DamagedLog, match=f"^line {number}: "):
            read(b"".join(lines))


def test_a_damaged_delta_that_is_still_needed_names_its_line(streaming: Writer):
    lines = lines_of(streaming)
    lines[-2] = lines[-2][:-5] + b"\n"
    with pytest.raises(DamagedLog, match=f"^line {len(lines) - 1}: "):
        read(b"".join(lines))


def test_a_delta_that_is_missing_makes_the_log_read_only(streaming: Writer):
    del streaming.events[4]
    fault = read(bytes_of(streaming.events)).fault
    assert fault == "event 5: seq must be contiguous, 4 comes next"


def test_a_log_that_breaks_a_rule_is_read_to_its_end_and_says_which(streaming: Writer):
    streaming.events.insert(1, streaming.events[0])
    reading = read(bytes_of(streaming.events))
    assert reading.fault == "event 0 (turn/start): seq must be contiguous, 1 comes next"
    assert len(reading.events) == 5
    assert fold_all(reading.events).meta.title == "hello 😀"


def test_a_log_that_replaces_what_was_never_said_is_read_only_and_still_adds_up():
    log = Writer()
    log.add(TurnStart(1, Trigger("message", USER)))
    log.add(UserMessage((Text("hello"),), USER))
    replacing = b'"surfaceOp":{"op":"replace","start":7,"end":9}'
    reading = read(bytes_of(log.events).replace(b'"surfaceOp":"append"', replacing))
    assert reading.fault == "event 1 (user/message): the ends of a replace are on the surface"
    assert len(fold_all(reading.events).messages.history) == 1


def unknown(seq: int, *, ignorable: bool) -> bytes:
    return json.dumps(
        {"type": "weather/changed", "seq": seq, "time": 1, "data": {}, "ignorable": ignorable}
    ).encode()


def with_unknown(log: Writer, header: Header = HEADER, *, ignorable: bool = False) -> Reading:
    """The log with an event of an unknown type in its turn, read."""
    lines = [encode(header), *map(encode, log.events[:2]), unknown(2, ignorable=ignorable) + b"\n"]
    later = [msgspec.structs.replace(event, seq=event.seq + 1) for event in log.events[2:]]
    return read(b"".join([*lines, *map(encode, later)]))


@pytest.mark.parametrize(
    ("producer", "writer"),
    [
        ({"name": "meteo", "version": "7"}, "meteo 7"),
        ({}, "an unnamed program"),
        (None, "an unnamed program"),
    ],
)
def test_an_unknown_event_makes_the_log_read_only_and_is_named_with_its_writer(
    streaming: Writer, producer: dict[str, str] | None, writer: str
):
    reading = with_unknown(streaming, msgspec.structs.replace(HEADER, producer=producer))
    assert reading.fault == (
        f"event 2 has type 'weather/changed', written by {writer}, which this version does not know"
    )
    assert len(reading.events) == 5


def test_an_unknown_event_that_may_be_skipped_is_no_fault(streaming: Writer):
    reading = with_unknown(streaming, ignorable=True)
    assert reading.fault is None
    assert reading.next_seq == len(streaming.events) + 1
    assert fold_all(reading.events).messages.history == fold_all(streaming.events).messages.history


@pytest.mark.parametrize("data", [b"", b"\n", b"\0" * 100, b"\x7fELF\n\n", b'{"type":"session"}\n'])
def test_what_does_not_begin_with_a_header_is_refused(data: bytes):
    with pytest.raises(UnknownHeader):
        read(data)


def test_a_header_alone_is_a_log():
    reading = read(encode(HEADER))
    assert (reading.events, reading.next_seq, reading.fault) == ([], 0, None)


def test_the_rules_go_on_where_the_log_ends(streaming: Writer):
    rules = read(bytes_of(streaming.events)).rules
    rules.check(Event("notice", len(streaming.events), 1, Notice("next")))
    assert (rules.turn, rules.step) == (1, 1)


def test_a_recorded_log_is_read_whole_and_breaks_no_rule(recorded: Path):
    reading = read(recorded.read_bytes())
    assert (reading.fault, reading.torn, reading.open_deltas) == (None, 0, [])
    assert isinstance(reading.events[-1].data, TurnEnd)
    assert reading.events[-1].data.reason == TurnEndReason("completed")


def test_a_recorded_log_is_written_again_as_it_was(recorded: Path):
    for line in recorded.read_bytes().splitlines()[1:]:
        assert json.loads(encode(decode(line))) == json.loads(line)


def test_the_messages_of_a_recorded_log_are_what_their_deltas_add_up_to(recorded: Path):
    events = [decode(line) for line in recorded.read_bytes().splitlines()[1:]]
    messages = [event for event in events if isinstance(event.data, AssistantMessage)]
    assert messages
    for event in messages:
        assert isinstance(event.source_event_seqs, tuple)
        assert all(is_delta(events[seq]) for seq in event.source_event_seqs)
