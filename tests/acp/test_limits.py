"""No line is too long for an editor, whatever texts, paths, titles and arguments a call has."""

import json
from pathlib import Path

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tools.running import built_in
from wayline.acp import cards, limits
from wayline.acp.bridge import Translator, raw_input
from wayline.acp.schema import SessionUpdate
from wayline.log.content import Text
from wayline.log.events import (
    Event,
    Payload,
    SessionTitle,
    Source,
    ToolCallStarted,
    ToolProgress,
    ToolResultRecorded,
)
from wayline.tools.cards import DiffCard, Location, TerminalCard, TextCard

LINE = 64 * 1024
TEXTS = st.builds(
    lambda piece, count, end: piece * count + end,
    st.text('a`~\x01"\\\n é😀\x7f', min_size=1, max_size=4),
    st.sampled_from([0, 1, 100, 5_000, 40_000, 300_000]),
    st.text("a`~\x01", max_size=3),
)
PATHS = TEXTS.map(lambda text: text.replace("\0", "")[:4096] or "a")
CARDS = st.lists(
    st.builds(TextCard, TEXTS)
    | st.builds(TerminalCard, TEXTS)
    | st.builds(DiffCard, PATHS, st.none() | TEXTS, TEXTS),
    max_size=20,
)
REGISTRY = built_in()


def length(value: object) -> int:
    return len(msgspec.json.encode(value))


@settings(deadline=None)
@given(CARDS)
@example([TerminalCard("`" * 900_000)])
@example([TerminalCard("`~" * 3 + "`" * 30_000 + "~" * 30_000)])
@example([DiffCard("\x01" * 4000, "\x01" * 40_000, "\x02" * 40_000)] * 30)
def test_the_cards_of_an_update_have_their_room(shown):
    assert length(cards.contents(shown, Path("/w"))) <= limits.CARDS


@given(st.lists(st.builds(Location, PATHS, st.none() | st.integers(0, 2**31)), max_size=60))
def test_the_locations_of_an_update_have_their_room(places):
    assert length(cards.locations(places, Path("/w"))) <= limits.LOCATIONS + 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@settings(deadline=None)
@given(JSON.map(json.dumps) | TEXTS)
@example("[" * 100_000)
@example(json.dumps({"a": 10**400}))
def test_raw_input_has_its_room(arguments):
    assert length(raw_input(arguments)) <= limits.RAW


@given(TEXTS, st.integers(70, 2000))
def test_what_is_cut_fits(text, limit):
    for cut in (limits.head, limits.tail, limits.line, limits.beginning):
        assert limits.size(cut(text, limit)) <= limit
        assert len(text) * 6 > limit or cut(text, limit) == text


CALLS = st.one_of(
    st.tuples(st.just("bash"), st.fixed_dictionaries({"command": TEXTS}, optional={"description": TEXTS})),
    st.tuples(st.just("write"), st.fixed_dictionaries({"file_path": PATHS, "content": TEXTS})),
    st.tuples(
        st.just("edit"), st.fixed_dictionaries({"file_path": PATHS, "old_string": TEXTS, "new_string": TEXTS})
    ),
    st.tuples(st.just("grep"), st.fixed_dictionaries({"pattern": TEXTS}, optional={"path": PATHS})),
    st.tuples(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3)),
)
IDS = st.just("c1") | TEXTS


@settings(deadline=None, max_examples=60)
@given(CALLS, IDS, TEXTS, st.lists(st.tuples(PATHS, TEXTS, TEXTS), max_size=4), st.booleans())
def test_every_update_of_a_call_fits_a_line(call, call_id, output, changes, failed):
    name, arguments = call
    diffs = [{"path": path, "oldText": old, "newText": new} for path, old, new in changes]
    translator = Translator(REGISTRY, Path("/w"), 1000)
    payloads: list[Payload] = [
        ToolCallStarted(1, 0, call_id, name, json.dumps(arguments)),
        ToolProgress(call_id, output),
        ToolProgress(call_id, output),
        ToolResultRecorded(1, 0, call_id, (Text(output),), failed, None, {"diffs": diffs}),
        SessionTitle(output, Source("prompt")),
    ]
    updates = translator.live([Event("", seq, 0, data) for seq, data in enumerate(payloads)])
    assert len(updates) == len(payloads)
    for update in updates:
        assert length(SessionUpdate("s" * 128, update)) < LINE - 200
