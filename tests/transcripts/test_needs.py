"""Lists whose length is the agent's, and transcripts that end where the agent offers no more."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from wayline.transcripts.format import TranscriptError, parse
from wayline.transcripts.playing import report
from wayline.transcripts.playing.agents import Commands
from wayline.transcripts.playing.matching import compare
from wayline.transcripts.playing.player import Outcome, play

AGENT = Path(__file__).with_name("any_agent.py")
INIT = (
    '{"meta": {"name": "x", "timeout": 5}}\n'
    '{"send": {"method": "initialize", "params": {"protocolVersion": 1}}, "as": "init"}\n'
)


def played(*lines: str) -> Outcome:
    """A transcript that begins with `initialize`."""
    transcript = parse(INIT + "\n".join(lines), Path("x.jsonl"))
    return anyio.run(play, transcript, Commands([sys.executable, str(AGENT)], os.environ))


@pytest.mark.parametrize(
    ("template", "value", "fits"),
    [
        (["${rest}"], [], True),
        ([1, "${rest}"], [1, 2, "x"], True),
        ([1, "${rest}"], [], False),
        ([1, "${rest}"], [2, 1], False),
        ([{"a": "${/x+/}"}, "${more}"], [{"a": "x"}, {"a": "xx", "b": 1}], True),
        ([{"a": "${/x+/}"}, "${more}"], [{"a": "x"}, {"a": "y"}], False),
        ([{"a": "${/x+/}"}, "${more}"], [], False),
        ("${rest}", "x", False),
        (["${rest}", 1], [2, 1], False),
    ],
)
def test_further_items(template: object, value: object, fits: bool):
    assert compare(template, value, {}).fits == fits


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"expect": {"result": ["a${rest}"]}, "to": "init"}', "stands alone"),
        ('{"send": {"method": "a/b", "params": ["${rest}"]}, "as": "b"}', "cannot hold a pattern"),
        ('{"need": {"result": {}}}', 'a need has a "to" or an "until"'),
        ('{"need": {"result": {}}, "to": "gone"}', "no earlier request is named 'gone'"),
        ('{"running": "gone"}', "no earlier request is named 'gone'"),
    ],
)
def test_what_is_refused(line: str, reason: str):
    with pytest.raises(TranscriptError, match=reason):
        parse(INIT + line, Path("x.jsonl"))


def test_a_need_that_is_met_goes_on_with_what_it_captured():
    outcome = played(
        '{"need": {"result": {"agentInfo": {"name": "${name:=…}"}}}, "to": "init"}',
        '{"expect": {"result": {"agentInfo": {"name": "x${name}"}}}, "to": "init"}',
    )
    assert outcome.not_offered is None
    assert outcome.failure is not None


def test_a_need_that_is_not_met_ends_the_transcript():
    outcome = played(
        '{"need": {"result": {"agentCapabilities": {"wings": true}}}, "to": "init"}',
        '{"expect": {"error": {}}, "to": "init"}',
    )
    assert outcome.failure is None
    assert outcome.not_offered == (
        "in the answer to init, at result.agentCapabilities.wings: expected true, got nothing"
    )
    assert "not offered" in report.line_of(outcome)
    assert report.summary([outcome], 1) == "0 passed, 1 not offered in 1.0 s"


def test_an_error_in_the_place_of_what_is_needed_is_a_failure():
    outcome = played(
        '{"send": {"method": "odd", "params": {}}, "as": "odd"}', '{"need": {"result": {}}, "to": "odd"}'
    )
    assert outcome.not_offered is None
    assert "an error came in place of a result" in str(outcome.failure)


def test_a_request_that_was_answered_is_not_running():
    outcome = played('{"expect": {}, "to": "init"}', '{"running": "init"}')
    assert outcome.not_offered == "init was answered before"
