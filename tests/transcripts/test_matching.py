"""Templates held against frames: what fits, what does not and where, what is captured, what is adopted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayline.transcripts.playing.conversation import Heard
from wayline.transcripts.playing.matching import adopt, as_template, compare, fill
from wayline.transcripts.playing.runs import all_of, run_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({}, {"a": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": {"b": None}}, {"a": {"b": None, "c": 3}}),
        ([1, {"a": 1}], [1, {"a": 1, "b": 2}]),
        (1, 1.0),
        ("", ""),
        ("${any}", "x"),
        ("${any}", {"a": 1}),
        ("${any}", None),
        ("a${any}", "a"),
        ("${any}b${any}", "1\nb\n2"),
        ("${/[0-9]+/}", "42"),
        ("id ${/[a-f]{2}|x}y/}!", "id x}y!"),
        (r"${/a\/b/}", "a/b"),
        ("${/.*/}", "two\nlines"),
        ("${name}", "value"),
        ("${name}", "value"),
        ("is ${name}.", "is value."),
        ("${number}", 7),
        ("no. ${number}", "no. 7"),
        ("${repeat:3:ab}", "ababab"),
        ("${repeat:0:ab}!", "!"),
        ("$${name}", "${name}"),
        ("$${any} ${any}", "${any} x"),
        ("${x:=…}", {"a": [1]}),
        ("${x:=/[a-z]+/}", "abc"),
        ("a.b*", "a.b*"),
        ("a.b*${any}", "a.b*"),
    ],
)
def test_fits(template: Any, value: Any):
    assert compare(template, value, {"name": "value", "number": 7}).fits


@pytest.mark.parametrize(
    ("template", "value", "path"),
    [
        ({"a": 1}, {"b": 1}, "a"),
        ({"a": None}, {}, "a"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]"),
        ([1, 2], [1], "[1]"),
        ([1], [1, 2], "[1]"),
        ([], {}, ""),
        ({}, [], ""),
        (True, 1, ""),
        (0, False, ""),
        (1, "1", ""),
        ("1", 1, ""),
        ("x", None, ""),
        ("a${any}", "ba", ""),
        ("a${any}", 7, ""),
        ("${/[0-9]+/}", "4 2", ""),
        ("${/[0-9]+/}", 42, ""),
        ("${name}", "other", ""),
        ("${flag}", 1, ""),
        ("no. ${number}", "no. 77", ""),
        ("${repeat:3:ab}", "abab", ""),
        ("${x:=/[a-z]+/}", "ABC", ""),
        ("x ${x:=…}", "x ", ""),
        ("a.c", "abc", ""),
        ("a.c${any}", "abc", ""),
    ],
)
def test_differs_and_says_where(template: Any, value: Any, path: str):
    comparison = compare(template, value, {"name": "value", "number": 7, "flag": True})
    assert not comparison.fits
    assert comparison.mismatches[0].path == path


def test_a_mismatch_is_told_in_a_line():
    (mismatch,) = compare({"a": "x"}, {}, {}).mismatches
    assert str(mismatch) == 'at a: expected "x", got nothing'
    (mismatch,) = compare("x", "y" * 1000, {}).mismatches
    assert len(str(mismatch)) < 300
    (mismatch,) = compare("x", "a\ud800b", {}).mismatches
    assert str(mismatch) == r'at the top: expected "x", got "a\ud800b"'
    (mismatch,) = compare("x", "\x1b[2J\x9b\u202e", {}).mismatches
    assert str(mismatch).isprintable()


def test_exact_names_every_member_but_those_of_the_envelope():
    frame = {"jsonrpc": "2.0", "id": 3, "result": {"a": 1}}
    assert compare({"result": {"a": 1}}, frame, {}, exact=True).fits
    assert not compare({"result": {"a": 1}, "id": 4}, frame, {}, exact=True).fits
    inner = compare({"result": {}}, frame, {}, exact=True)
    assert [each.path for each in inner.mismatches] == ["result.a"]
    assert not compare({"result": {}}, {"result": {"id": 1}}, {}, exact=True).fits


def test_a_variable_that_is_not_set_fits_nothing():
    for value in (None, "", "nothing", 0):
        assert not compare("${unknown}", value, {}).fits


def test_captures_count_in_the_same_frame_and_any_json_value_is_one():
    comparison = compare({"a": "${x:=…}", "b": "${x}"}, {"a": {"k": 1}, "b": {"k": 1}}, {})
    assert comparison.fits
    assert comparison.captured == {"x": {"k": 1}}
    assert not compare({"a": "${x:=…}", "b": "${x}"}, {"a": 1, "b": 2}, {"x": 2}).fits
    two = compare("${one:=/[a-z]+/}-${two:=…}!", "ab-cd!", {})
    assert two.captured == {"one": "ab", "two": "cd"}


def test_filling_keeps_the_type_of_a_lone_variable_and_patterns_of_text():
    variables = {"id": 7, "name": "x", "made": {"a": [1]}}
    template = {"id": "${id}", "text": "<${name}:${id}>", "all": ["${made}", "$${name}", "${repeat:2:ab}"]}
    assert fill(template, variables) == {
        "id": 7,
        "text": "<x:7>",
        "all": [{"a": [1]}, "${name}", "abab"],
    }


def test_adopting_changes_only_what_does_not_fit():
    template = {"id": "${any}", "a": {"name": "${name}", "n": 1}, "list": [1, "${any}"], "gone": 1}
    value = {"id": 9, "a": {"name": "x", "n": 2, "more": 3}, "list": [1, 2], "other": "${y}"}
    adopted = adopt(template, value, {"name": "x"})
    assert adopted == {"id": "${any}", "a": {"name": "${name}", "n": 2}, "list": [1, "${any}"]}
    assert compare(adopted, value, {"name": "x"}).fits
    exact = adopt(template, value, {"name": "x"}, exact=True)
    assert exact["other"] == "$${y}"
    assert compare(exact, value, {"name": "x"}, exact=True).fits


@given(JSON)
def test_a_value_is_fitted_by_its_own_template_and_by_no_other(value: Any):
    template = as_template(value)
    assert compare(template, value, {}, exact=True).fits
    assert fill(template, {}) == value
    assert not compare([template], value, {}).fits or isinstance(value, list)


@given(JSON, JSON)
def test_what_is_adopted_fits(template: Any, value: Any):
    for exact in (False, True):
        adopted = adopt(as_template(template), value, {}, exact=exact)
        assert compare(adopted, value, {}, exact=exact).fits


def chunk(number: int, text: str, message: str | None = None, kind: str = "agent_message_chunk") -> Heard:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    update |= {} if message is None else {"messageId": message}
    return Heard(number, {"method": "session/update", "params": {"update": update}}, "s", None)


def test_a_run_is_the_chunks_of_one_message_whatever_an_agent_says_aside():
    aside = chunk(2, "", kind="available_commands_update")
    frames = [chunk(0, "t", kind="agent_thought_chunk"), chunk(1, "a", "1"), aside, chunk(3, "b", "1")]
    begun = run_of(frames, "agent_message_chunk")
    assert (begun.text, begun.complete) == ("ab", False)
    for last in (chunk(4, "c", "2"), chunk(4, "c", "1", "agent_thought_chunk"), chunk(4, "", None, "plan")):
        over = run_of([*frames, last], "agent_message_chunk")
        assert (over.text, over.complete) == ("ab", True)
    assert all_of([*frames, chunk(4, "c", "2")], "agent_message_chunk").text == "abc"
    assert run_of([], "agent_message_chunk").chunks == []
