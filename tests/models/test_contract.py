"""What the docstring of `wayline.models.base` promises of every adapter, checked on each of them."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.rules import check
from tests.provider import (
    CUT,
    Answer,
    delta,
    done,
    finish,
    provider_thread,
    tool_call,
)
from wayline.log.codec import encode
from wayline.log.content import Chunk, ContentBlock, Message, Reasoning, Text, ToolCall
from wayline.log.events import AssistantChunk, Event, Header
from wayline.models import replay, scripted
from wayline.models.assembler import Assembler
from wayline.models.base import Model, ModelRequest, Unavailable
from wayline.models.catalog import ProviderConfig
from wayline.models.openai_chat import ChatModel, StreamedAnswer

pytestmark = pytest.mark.anyio

Scene = Literal["words", "calls", "cut"]
WHOLE: dict[Scene, tuple[ContentBlock, ...]] = {
    "words": (Reasoning("let me think"), Text("so it is")),
    "calls": (Text("look"), ToolCall("a", "read", '{"x": 1}'), ToolCall("b", "glob", "{}")),
    "cut": (Text("half of"),),
}
SCRIPT: dict[Scene, str] = {
    "words": '[{"reasoning": "let me think"}, {"text": "so it is"}, {"usage": {"inputTokens": 3}}]',
    "calls": """[{"deltas": ["lo", "ok"]}, {"usage": {"inputTokens": 3}},
        {"call": {"id": "a", "name": "read", "arguments": {"x": 1}}},
        {"call": {"id": "b", "name": "glob", "arguments": {}}}]""",
    "cut": '[{"text": "half of"}, {"cut": true}]',
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 1}
EVENTS: dict[Scene, Answer] = {
    "words": Answer(
        [
            delta(role="assistant", content="", reasoning_content=""),
            delta(reasoning_content="let me "),
            delta(reasoning_content="think"),
            delta(content="so it"),
            delta(content=" is"),
            finish("stop"),
            {"choices": [], "usage": USAGE},
            done(),
        ]
    ),
    "calls": Answer(
        [
            delta(content="look"),
            tool_call(0, "a", "read", ""),
            tool_call(0, None, None, '{"x"'),
            tool_call(1, "b", "glob", "{}"),
            tool_call(0, None, None, ": 1}"),
            finish("tool_calls", **USAGE),
            done(),
        ]
    ),
    "cut": Answer([delta(content="half"), delta(content=" of"), CUT]),
}


@asynccontextmanager
async def a_script(scene: Scene, folder: Path) -> AsyncIterator[Model]:
    yield scripted.ScriptedModel(scripted.parse([SCRIPT[scene]], "test"))


@asynccontextmanager
async def a_recorded_log(scene: Scene, folder: Path) -> AsyncIterator[Model]:
    """A log of what the chat adapter gave."""
    async with a_server(scene, folder) as model:
        chunks, _ = await answer(model)
    events = [
        Event("assistant/chunk", seq, 0, AssistantChunk(1, 1, chunk)) for seq, chunk in enumerate(chunks)
    ]
    path = folder / "log.jsonl"
    path.write_bytes(encode(Header(version=0, id="x", created_at=0)) + b"".join(map(encode, events)))
    yield replay.load([path])


@asynccontextmanager
async def a_server(scene: Scene, folder: Path) -> AsyncIterator[Model]:
    with provider_thread([EVENTS[scene]]) as server:
        model = ChatModel("test", "m", ProviderConfig(base_url=server.url, read_timeout=5.0), lambda: None)
        yield model
        await model.aclose()


Adapter = Callable[[Scene, Path], AbstractAsyncContextManager[Model]]
every_adapter = pytest.mark.parametrize("adapter", [a_script, a_recorded_log, a_server])


async def answer(model: Model) -> tuple[list[Chunk], bool]:
    """The chunks of one answer, and whether it was cut."""
    asked = ModelRequest("s", "", (Message("user", (Text("hi"),)),), (), ordinal=0, turn=1, step=1)
    chunks: list[Chunk] = []
    with anyio.fail_after(20):
        try:
            async for chunk in model.stream(asked):
                chunks.append(chunk)
        except Unavailable:
            return chunks, True
    return chunks, False


def content(chunks: list[Chunk]) -> tuple[ContentBlock, ...]:
    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.reply().content


@every_adapter
@pytest.mark.parametrize("scene", ["words", "calls"])
async def test_a_whole_answer_keeps_the_contract(adapter: Adapter, scene: Scene, tmp_path: Path):
    async with adapter(scene, tmp_path) as model:
        chunks, cut = await answer(model)
    assert not cut
    check(chunks)
    assert content(chunks) == WHOLE[scene]


@every_adapter
async def test_a_cut_answer_raises_after_what_came(adapter: Adapter, tmp_path: Path):
    async with adapter("cut", tmp_path) as model:
        chunks, cut = await answer(model)
    assert cut
    check(chunks, cut=True)
    assert content(chunks) == WHOLE["cut"]


@every_adapter
async def test_a_model_says_who_it_is(adapter: Adapter, tmp_path: Path):
    async with adapter("words", tmp_path) as model:
        assert model.provider
        assert model.name
        assert model.context_window is None or model.context_window > 0
        assert isinstance(model.takes_images, bool)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ARGUMENTS = st.dictionaries(WORDS, st.integers() | WORDS, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["read", "glob"]), ARGUMENTS), max_size=3)
#: how a server sends its calls: with an index, without, or with one that restarts; with ids or without
Index = Literal["counts", "restarts", "missing"]
Form = Literal["fragments", "whole", "object"]


@contextmanager
def _described(**how: object) -> Iterator[None]:
    """Says how the answer was sent when it did not come out as it went in."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"sent: {how}")
        raise


def fragments(
    calls: list[tuple[str, dict[str, object]]], index: Index, form: Form, ids: bool
) -> Iterator[dict[str, object]]:
    for number, (name, arguments) in enumerate(calls):
        at = {"counts": number, "restarts": 0, "missing": None}[index]
        call_id = f"c{number}" if ids else None
        raw = json.dumps(arguments, ensure_ascii=False)
        if form == "fragments":
            half = len(raw) // 2
            yield tool_call(at, call_id, name, raw[:half])
            yield tool_call(at, None, None, raw[half:])
        else:
            yield tool_call(at, call_id, name, arguments if form == "object" else raw)


@given(
    st.lists(WORDS, max_size=4),
    st.lists(WORDS, max_size=4),
    CALLS,
    st.sampled_from(["counts", "restarts", "missing"]),
    st.sampled_from(["fragments", "whole", "object"]),
    st.booleans(),
    st.lists(st.integers(0, 10**6), max_size=6),
)
def test_an_answer_comes_out_as_it_went_in_however_it_was_sent(
    thoughts: list[str],
    words: list[str],
    calls: list[tuple[str, dict[str, object]]],
    index: Index,
    form: Form,
    ids: bool,
    cuts: list[int],
):
    events = [
        *(delta(reasoning_content=piece) for piece in thoughts),
        *(delta(content=piece) for piece in words),
        *fragments(calls, index, form, ids),
        finish("tool_calls" if calls else "stop", **USAGE),
    ]
    raw = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    places = sorted({cut % len(raw) for cut in cuts})
    streamed = StreamedAnswer("test", ends_with_done=True)
    chunks: list[Chunk] = []
    for start, stop in zip([0, *places], [*places, len(raw)], strict=True):
        chunks += streamed.feed(raw[start:stop])
    if not thoughts and not words and not calls:
        with pytest.raises(Unavailable, match="empty"):
            list(streamed.end())
        return
    chunks += streamed.end()
    with _described(index=index, form=form, ids=ids):
        check(chunks)
        blocks = content(chunks)
        assert "".join(block.text for block in blocks if isinstance(block, Reasoning)) == "".join(thoughts)
        assert "".join(block.text for block in blocks if isinstance(block, Text)) == "".join(words)
        made = [block for block in blocks if isinstance(block, ToolCall)]
        assert [(block.name, json.loads(block.arguments)) for block in made] == calls
