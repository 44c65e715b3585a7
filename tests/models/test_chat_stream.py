"""What servers of the dialect send, oddities and all, and what is made of it."""

import json
from typing import Any

import pytest

from tests.models.rules import check
from tests.provider import Part, delta, done, event, finish, reasoning, text, tool_call, usage
from wayline.log.content import (
    BlockEnd,
    Chunk,
    Finish,
    Reasoning,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from wayline.models.assembler import assemble
from wayline.models.base import ContextOverflow, ModelError, NoCredentials, RequestRefused, Unavailable
from wayline.models.chat_stream import _OpenCall
from wayline.models.openai_chat import StreamedAnswer


def bare(part: Part) -> bytes:
    """An event without the framing of its HTTP chunk."""
    assert isinstance(part, dict | str | bytes)
    return event(part).split(b"\r\n", 1)[1][:-2]


def chunks_of(*parts: Part) -> list[Chunk]:
    answer = StreamedAnswer("test", ends_with_done=True)
    chunks = [chunk for part in parts for chunk in answer.feed(bare(part))]
    return [*chunks, *answer.end()]


def calls_of(*fragments: Part) -> list[tuple[str, str, str]]:
    """The calls that come of these fragments, by name, arguments and id; the contract is checked."""
    chunks = chunks_of(*fragments, finish("tool_calls"), usage(1, 1), done())
    check(chunks)
    return [(made.name, made.arguments, made.id) for made in assemble(chunks) if isinstance(made, ToolCall)]


def usage_of(**counts: Any) -> Usage:
    chunks = chunks_of(text("x"), finish(), {"choices": [], "usage": counts}, done())
    (chunk,) = [chunk for chunk in chunks if isinstance(chunk, UsageChunk)]
    return chunk.usage


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(6, 5, 4)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(6, 5, 4),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 9},
            },
            Usage(6, 5, 4),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(10, 5, 0, 3),
        ),
        ({"prompt_tokens": 3, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(0, 5, 4)),
        ({"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None}, Usage()),
        ({"prompt_tokens": "10", "total_tokens": 12, "who_knows": {"x": []}}, Usage(10)),
        ({}, Usage()),
    ],
)
def test_usage_is_counted_the_same_however_it_is_said(counts: dict[str, Any], expected: Usage):
    assert usage_of(**counts) == expected


def test_usage_on_the_finish_event_or_twice_is_sent_once_and_the_last_counts():
    ending = {**finish(), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    chunks = chunks_of(text("x"), ending, usage(7, 8), done())
    check(chunks)
    assert [chunk for chunk in chunks if isinstance(chunk, UsageChunk)] == [UsageChunk(Usage(7, 8))]


@pytest.mark.parametrize("counts", [None, 7, [], {"prompt_tokens": "many"}, {"prompt_tokens_details": 7}])
def test_without_usage_that_can_be_read_there_is_no_usage(counts: Any):
    chunks = chunks_of(text("x"), {**finish(), "usage": counts}, done())
    check(chunks)
    assert not [chunk for chunk in chunks if isinstance(chunk, UsageChunk)]


@pytest.mark.parametrize("choices", [None, [], [{"delta": None}], [{}], [{"delta": {}}]])
def test_events_that_say_nothing_are_passed_over(choices: Any):
    chunks = chunks_of({"choices": choices, "usage": None}, text("x"), {"id": "c"}, finish(), done())
    assert assemble(chunks) == (Text("x"),)


def test_a_second_choice_is_not_mixed_into_the_first():
    both = {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}
    assert assemble(chunks_of(both, finish(), done())) == (Text("a"),)


def test_what_comes_after_done_is_not_read():
    assert assemble(chunks_of(text("x"), finish(), done(), text("y"), "rubbish")) == (Text("x"),)


def test_thoughts_and_words_that_take_turns_are_blocks_of_their_own():
    chunks = chunks_of(reasoning("a"), text("b"), reasoning("c"), text("d"), finish(), done())
    check(chunks)
    assert assemble(chunks) == (Reasoning("a"), Text("b"), Reasoning("c"), Text("d"))


def test_words_after_a_call_are_a_new_block():
    chunks = chunks_of(
        text("a"), tool_call(0, "c", "read", "{"), text("b"), tool_call(0, arguments="}"), done()
    )
    check(chunks)
    assert assemble(chunks) == (Text("a"), ToolCall("c", "read", "{}"), Text("b"))


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([tool_call(0, "a", "read", '{"x"'), tool_call(0, "a", "read", ": 1}")], [("read", '{"x": 1}', "a")]),
        (
            [tool_call(0, "a", "read", '{"x": 1}'), tool_call(0, "a", "read", "")],
            [("read", '{"x": 1}', "a")],
        ),
        ([tool_call(0, "a", "read", ""), tool_call(0, "b", None, "{}")], [("read", "{}", "a")]),
        ([tool_call(0, None, None, ""), tool_call(0, "a", "read", "{}")], [("read", "{}", "call_0")]),
        (
            [tool_call(0, "a", "read", '{"x": {}'), tool_call(0, "a", "read", ', "y": {}}')],
            [("read", '{"x": {}, "y": {}}', "a")],
        ),
        (
            [tool_call(0, "a", "read", '{"x": "}'), tool_call(0, "a", "read", '"}')],
            [("read", '{"x": "}"}', "a")],
        ),
        (
            [
                tool_call(0, "a", "read", '{"x": "\\'),
                tool_call(0, "a", "read", '"}'),
                tool_call(0, "a", "read", '"}'),
            ],
            [("read", '{"x": "\\"}"}', "a")],
        ),
        (
            [tool_call(0, "call_1", "read", "{}"), tool_call(1, None, "glob", "{}")],
            [("read", "{}", "call_1"), ("glob", "{}", "call_2")],
        ),
        (
            [
                tool_call(0, "a", "read", "{}"),
                tool_call(0, "a", "glob", "{}"),
                tool_call(0, "a", "grep", "{}"),
            ],
            [("read", "{}", "a"), ("glob", "{}", "call_1"), ("grep", "{}", "call_2")],
        ),
        (
            [
                tool_call(5, "a", "read", '{"x"'),
                tool_call(9, "b", "glob", "{}"),
                tool_call(5, None, None, ": 1}"),
            ],
            [("read", '{"x": 1}', "a"), ("glob", "{}", "b")],
        ),
        (
            [tool_call(0, "a", "read", {}), tool_call(1, "b", "glob", {})],
            [("read", "{}", "a"), ("glob", "{}", "b")],
        ),
        ([tool_call(0, "a", "read")], [("read", "", "a")]),
        (
            [tool_call(0, "a", "read", ""), tool_call(0, "b", "glob", "{}")],
            [("read", "", "a"), ("glob", "{}", "b")],
        ),
    ],
    ids=[
        "name and id with each fragment",
        "an empty fragment after the whole",
        "a new id with each fragment",
        "id and name late",
        "objects inside",
        "a brace in a string",
        "an escape in two halves",
        "a made-up id that is taken",
        "one id for three",
        "indexes with gaps",
        "objects",
        "no arguments at all",
        "an index that restarts before the first arguments",
    ],
)
def test_calls_are_told_apart(fragments: list[Part], expected: list[tuple[str, str, str]]):
    assert calls_of(*fragments) == expected


def test_several_fragments_of_one_event_are_taken_in_order():
    one, two = (tool_call(at, name, "read", "{}") for at, name in enumerate("ab"))
    both = one["choices"][0]["delta"]["tool_calls"] + two["choices"][0]["delta"]["tool_calls"]
    assert [made[2] for made in calls_of(delta(tool_calls=both))] == ["a", "b"]


def test_fragments_that_say_nothing_make_no_deltas():
    chunks = chunks_of(
        tool_call(0, "a", "read", ""),
        tool_call(0, "a", "", ""),
        tool_call(0, None, "read", None),
        tool_call(0, None, None, "{}"),
        finish(),
        done(),
    )
    check(chunks)
    deltas = [chunk.arguments_delta for chunk in chunks if isinstance(chunk, ToolCallDelta)]
    assert deltas == ["", "{}"]


def test_a_call_of_many_fragments_that_repeat_its_name_is_read_once():
    """What looks for the end of a call must not read all of it again for each fragment."""
    call = _OpenCall(0, "a", "a", 0)
    read = 0
    for _ in range(2000):
        call.add('{"x": {}},')
        read += sum(map(len, call._unread))
        call.is_whole()
    assert read == 2000 * len('{"x": {}},')


@pytest.mark.parametrize("kind", ["stop", "tool_calls", "", "eos", "function_call"])
def test_how_an_answer_ended_is_told_by_what_is_in_it(kind: str):
    with_call = chunks_of(tool_call(0, "a", "read", "{}"), finish(kind), done())
    without = chunks_of(text("x"), finish(kind), done())
    for chunks, expected in ((with_call, "tool-calls"), (without, "stop")):
        assert isinstance(chunks[-1], Finish)
        assert chunks[-1].reason.kind == expected


def test_the_token_limit_before_any_word_is_no_empty_answer():
    """Asking again would spend the same tokens on the same thoughts."""
    chunks = chunks_of(finish("length"), usage(5, 100), done())
    check(chunks)
    assert isinstance(chunks[-1], Finish)
    assert chunks[-1].reason.kind == "max-tokens"


def test_a_call_that_the_token_limit_left_half_built_does_not_end():
    chunks = chunks_of(
        tool_call(0, "a", "read", "{}"), tool_call(1, "b", "read", '{"x'), finish("length"), done()
    )
    ended = [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)]
    assert ended == [ToolCall("a", "read", "{}")]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"error": {"message": "overloaded"}}, Unavailable, "overloaded"),
        ({"error": "overloaded"}, Unavailable, "overloaded"),
        ({"error": {"error": {"message": "deep"}}}, Unavailable, "deep"),
        ({"error": {"code": 429, "message": "slow down"}}, Unavailable, "slow down"),
        ({"error": {"code": "401", "message": "who are you"}}, NoCredentials, "who are you"),
        ({"error": {"code": 402, "message": "no money"}}, RequestRefused, "no money"),
        ({"error": {"code": 400, "message": "maximum context length"}}, ContextOverflow, "maximum"),
        ({"error": {"what": 7}}, Unavailable, '"what": 7'),
        ({"object": "error", "code": 400, "message": "bad field"}, RequestRefused, "bad field"),
        ({"detail": "not now"}, Unavailable, "not now"),
        ({"choices": 7}, Unavailable, "not an answer"),
        ("not json", Unavailable, "not an answer"),
        ("[" * 100_000, Unavailable, "not an answer"),
        ('{"error": ' + "[" * 100_000, Unavailable, "not an answer"),
        (b"data: \xff\xfe\n\n", Unavailable, "not an answer"),
    ],
)
def test_an_error_inside_an_answer_is_told_in_its_words(data: Part, error: type[ModelError], words: str):
    answer = StreamedAnswer("test", ends_with_done=True)
    assert list(answer.feed(bare(text("half"))))
    with pytest.raises(error, match=words) as raised:
        list(answer.feed(bare(data)))
    assert type(raised.value) is error
    assert len(str(raised.value)) < 2000


@pytest.mark.parametrize("odd", ["a\\ud800b", "a\\udfffb", "a\\ud800\\u0041b"])
def test_a_lone_surrogate_becomes_a_replacement_and_a_pair_stays(odd: str):
    raw = '{"choices": [{"delta": {"content": "%s"}}]}'
    chunks = chunks_of(raw % odd, raw % "\\ud83c\\udf89", finish(), done())
    (block,) = assemble(chunks)
    assert isinstance(block, Text)
    assert (
        block.text
        == json.loads(f'"{odd}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace") + "🎉"
    )
    assert block.text.isprintable() or "\ufffd" in block.text


def test_an_answer_of_many_pieces_is_joined_once_at_its_end():
    chunks = chunks_of(*[text("x")] * 5000, finish(), done())
    assert sum(isinstance(chunk, TextDelta) for chunk in chunks) == 5000
    assert assemble(chunks) == (Text("x" * 5000),)
