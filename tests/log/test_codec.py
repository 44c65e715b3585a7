import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.strategies import HEADERS, UNKNOWN_EVENTS, events
from wayline.log.codec import (
    DamagedLine,
    UnknownHeader,
    decode,
    decode_header,
    delta_seq,
    encode,
    is_delta,
)
from wayline.log.content import Text, TextDelta
from wayline.log.events import (
    PAYLOADS,
    USER,
    AssistantChunk,
    Event,
    Header,
    Notice,
    Span,
    Unknown,
    UserMessage,
)


def line(**fields: object) -> bytes:
    """An event's line as another program may write it."""
    return json.dumps({"type": "notice", "seq": 0, "time": 1, "data": {"text": "hi"}} | fields).encode()


@pytest.mark.parametrize("name", sorted(PAYLOADS))
@given(data=st.data())
def test_every_event_comes_back_as_it_was(name: str, data: st.DataObject):
    event = data.draw(events(name))
    assert decode(encode(event)) == event


@given(UNKNOWN_EVENTS)
def test_an_event_of_an_unknown_type_comes_back_as_it_was(event: Event):
    assert decode(encode(event)) == event
    assert json.loads(encode(event))["data"] == event.data.fields  # type: ignore[union-attr]


@given(HEADERS)
def test_every_header_comes_back_as_it_was(header: Header):
    assert decode_header(encode(header)) == header


@given(events())
def test_an_event_is_one_line_of_camel_case_json(event: Event):
    encoded = encode(event)
    assert encoded.index(b"\n") == len(encoded) - 1
    assert list(json.loads(encoded))[:4] == ["type", "seq", "time", "data"]
    assert b"_seqs" not in encoded.split(b'"data"')[0]


@given(events())
def test_the_number_of_a_delta_is_known_without_decoding_it(event: Event):
    assert delta_seq(encode(event)) == (event.seq if is_delta(event) else None)


def test_the_keys_on_disk_are_those_of_the_format():
    assert encode(Event("user/message", 3, 5, UserMessage((Text("hi"),), USER), "append", Span(1, 2))) == (
        b'{"type":"user/message","seq":3,"time":5,"data":{"content":[{"type":"text","text":"hi"}],'
        b'"source":{"kind":"user"}},"surfaceOp":"append","sourceEventSeqs":{"from":1,"to":2}}\n'
    )
    assert encode(Header(version=0, id="s", created_at=7, cwd="/w")) == (
        b'{"type":"session","version":0,"id":"s","createdAt":7,"cwd":"/w"}\n'
    )


def test_what_a_newer_version_adds_to_a_known_payload_is_no_reason_to_refuse_it():
    assert decode(line(data={"text": "hi", "colour": "red"}, more=1)).data == Notice("hi")


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_unknown_type_keeps_its_payload_and_says_whether_it_may_be_skipped(ignorable: bool):
    event = decode(line(type="weather/changed", data={"sky": "grey"}, ignorable=ignorable))
    assert (event.data, event.ignorable) == (Unknown({"sky": "grey"}), ignorable)


@pytest.mark.parametrize(
    "text",
    [r"\ud800", r"a\udfffb", r"\uD83D alone", r"\udc00\ud800"],
    ids=["high", "low", "upper case", "swapped"],
)
def test_lone_surrogates_of_another_program_become_replacement_characters(text: str):
    event = decode(line(data={"text": "TEXT"}).replace(b"TEXT", text.encode()))
    assert "\ufffd" in event.data.text  # type: ignore[union-attr]
    assert decode(encode(event)) == event


def test_escaped_pairs_of_surrogates_are_the_character_they_stand_for():
    assert decode(line(data={"text": "😀"})).data == Notice("😀")


def test_a_header_with_a_lone_surrogate_can_be_read():
    assert (
        decode_header(b'{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/\\udc80"}').cwd
        == "/\ufffd"
    )


def test_a_lone_surrogate_does_not_keep_an_event_from_being_written():
    assert decode(encode(Event("notice", 0, 1, Notice("file \udc80")))).data == Notice("file \ufffd")


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\0\0\0",
        b"null",
        b"[]",
        b"hello",
        b'{"type":"notice","seq":0,"time":1,"data":{"text":"\xff"}}',
        line(seq="0"),
        line(seq=1.5),
        line(data=None),
        line(data={}),
        line(data={"text": 7}),
        line(type="weather/changed", data=[1]),
        line(surfaceOp="prepend"),
        line(surfaceOp={"op": "remove", "start": 0, "end": 0}),
        line(type="turn/end", data={"turn": 1, "reason": {"kind": "bored"}}),
        b'{"type":"notice","seq":0,"time":1,"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"assistant/chunk","seq":' + b"9" * 5000 + b',"time":1,"data":{}}',
    ],
)
def test_a_line_that_is_no_event_is_damaged(damaged: bytes):
    assert delta_seq(damaged) is None
    with pytest.raises(DamagedLine, match=r"."):
        decode(damaged)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{}",
        b"hello",
        b"\xff\xfe",
        b'{"type":"notice","seq":0,"time":1,"data":{"text":"hi"}}',
        b'{"type":"session","version":0}',
        b'{"type":"session","version":0,"id":7,"createdAt":1}',
        b'{"type":"session","version":0,"id":"s","createdAt":1,"x":' + b"[" * 100_000 + b"}",
    ],
)
def test_a_first_line_that_is_no_header_is_refused(header: bytes):
    with pytest.raises(UnknownHeader, match="line 1 is not a session header"):
        decode_header(header)


def test_a_header_of_another_format_is_refused_by_its_number():
    with pytest.raises(UnknownHeader, match="the log has format 1; this reader knows 0"):
        decode_header(b'{"type":"session","version":1,"id":"s","createdAt":1}')


def test_the_header_of_a_log_without_a_working_directory_can_be_read():
    assert decode_header(b'{"type":"session","version":0,"id":"s","createdAt":1}').cwd is None


def test_a_delta_is_written_so_that_it_can_be_skipped():
    assert delta_seq(encode(Event("assistant/chunk", 12, 1, AssistantChunk(1, 1, TextDelta(0, "x"))))) == 12
