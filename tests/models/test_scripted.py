"""Scripts and recorded logs as models."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from wayline.log.codec import encode
from wayline.log.content import (
    BlockStart,
    Chunk,
    Finish,
    FinishReason,
    Message,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from wayline.log.events import (
    TYPE_NAMES,
    AssistantChunk,
    Event,
    Header,
    LlmRetry,
    Payload,
    StepStart,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)
from wayline.models import replay, scripted
from wayline.models.assembler import assemble
from wayline.models.base import (
    ContextOverflow,
    Model,
    ModelError,
    ModelRequest,
    NoCredentials,
    RequestRefused,
    Unavailable,
)

pytestmark = pytest.mark.anyio

LOGS = Path(__file__).parents[3] / "shared" / "recorded-logs"


def request(ordinal: int = 0, session: str = "s", purpose: Any = "turn", turn: int = 1) -> ModelRequest:
    history = (Message("user", (Text("hi"),)),)
    return ModelRequest(session, "", history, (), ordinal=ordinal, turn=turn, step=1, purpose=purpose)


async def play(model: Model, asked: ModelRequest | None = None) -> list[Chunk]:
    with anyio.fail_after(10):
        return [chunk async for chunk in model.stream(asked or request())]


def script(*lines: str) -> scripted.ScriptedModel:
    return scripted.ScriptedModel(scripted.parse(lines, "test"))


async def test_items_become_blocks_usage_and_a_finish():
    model = script(
        '[{"reasoning": "hmm"}, {"text": "so it is"}, {"deltas": ["a", "b"]}, '
        '{"call": {"id": "c", "name": "read", "arguments": {"x": 1}}}, '
        '{"call": {"name": "raw", "arguments": "{not json"}}, '
        '{"usage": {"inputTokens": 3, "outputTokens": 4}}]'
    )
    chunks = await play(model)
    assert assemble(chunks) == (
        Reasoning("hmm"),
        Text("so it is"),
        Text("ab"),
        ToolCall("c", "read", '{"x": 1}'),
        ToolCall("script_0_4", "raw", "{not json"),
    )
    assert chunks[-2:] == [UsageChunk(Usage(3, 4)), Finish(FinishReason("tool-calls"))]
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["so ", "it ", "is", "a", "b"]
    assert [chunk.index for chunk in chunks if isinstance(chunk, BlockStart)] == [0, 1, 2, 3, 4]


async def test_a_request_plays_the_line_of_its_place():
    model = script('[{"text": "one"}]', "", '[{"text": "two"}]')
    assert assemble(await play(model, request(1))) == (Text("two"),)
    with pytest.raises(ModelError, match="2 lines and was asked for line 3"):
        await play(model, request(2))


async def test_lines_for_another_purpose_are_kept_for_it():
    model = script('[{"for": "summary"}, {"text": "short"}]', '[{"text": "one"}]')
    assert assemble(await play(model, request(0))) == (Text("one"),)
    assert assemble(await play(model, request(0, purpose="summary"))) == (Text("short"),)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("AUTH", NoCredentials),
        ("REQUEST_REFUSED", RequestRefused),
        ("CONTEXT_OVERFLOW", ContextOverflow),
        ("UNAVAILABLE", Unavailable),
        ("PROVIDER", ModelError),
    ],
)
async def test_an_error_is_of_its_kind(code: str, error: type[Exception]):
    with pytest.raises(error, match="said so") as raised:
        await play(script(json.dumps([{"error": {"code": code, "message": "said so"}}])))
    assert type(raised.value) is error


async def test_a_cut_stream_has_no_finish():
    chunks = []
    with pytest.raises(Unavailable):
        async for chunk in script('[{"text": "half"}, {"cut": true}]').stream(request()):
            chunks.append(chunk)
    assert assemble(chunks) == (Text("half"),)


async def test_an_error_may_say_when_to_come_back():
    error = {"code": "UNAVAILABLE", "message": "busy", "retry_after": 2.5}
    with pytest.raises(Unavailable, match="busy") as raised:
        await play(script(json.dumps([{"error": error}])))
    assert raised.value.retry_after == 2.5


async def test_what_is_empty_is_not_played():
    chunks = await play(script('[{"text": ""}, {"reasoning": ""}, {"deltas": ["", "a", ""]}]'))
    assert [chunk for chunk in chunks if isinstance(chunk, TextDelta | ReasoningDelta)] == [TextDelta(0, "a")]
    assert [chunk for chunk in chunks if isinstance(chunk, BlockStart)] == [BlockStart(0, "text")]


async def test_a_call_whose_id_an_earlier_one_took_gets_its_own():
    chunks = await play(script(json.dumps([{"call": {"id": "x", "name": "a", "arguments": {}}}] * 2)))
    first, second = assemble(chunks)
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id == "x"
    assert second.id not in ("", "x")
    assert {chunk.id for chunk in chunks if isinstance(chunk, ToolCallDelta)} == {first.id, second.id}


async def test_a_line_of_a_script_ends_at_its_newline_and_nowhere_else(tmp_path: Path):
    path = tmp_path / "script.jsonl"
    path.write_text('[{"text": "a\u2028b\x85c"}]\r\n', encoding="utf-8", newline="")
    assert assemble(await play(scripted.load(path))) == (Text("a\u2028b\x85c"),)


async def test_a_hanging_line_hangs_until_it_is_cancelled():
    seen = []
    with anyio.move_on_after(0.05) as scope:
        async for chunk in script('[{"text": "so"}, {"hang": true}, {"text": "never"}]').stream(request()):
            seen.append(chunk)
    assert scope.cancelled_caught
    assert assemble(seen) == (Text("so"),)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2"),
        ("{}", "line 2"),
        ('[{"txet": "x"}]', "txet"),
        ('[{"text": 7}]', "text"),
        ('[{"text": "a", "pause": 1}]', "exactly one"),
        ("[{}]", "exactly one"),
        ('[{"call": {"name": "x"}}]', "arguments"),
        ('[{"text": "a"}, {"for": "summary"}]', "first item"),
    ],
)
def test_a_script_that_cannot_be_read_is_named_with_line_and_reason(tmp_path: Path, line: str, reason: str):
    path = tmp_path / "script.jsonl"
    path.write_text(f'[{{"text": "fine"}}]\n{line}\n', encoding="utf-8")
    with pytest.raises(scripted.ScriptError, match=reason) as raised:
        scripted.load(path)
    assert f"{path}, line 2" in str(raised.value)


def log_of(path: Path, *payloads: Payload, seed_length: int = 0) -> Path:
    """A log with these events."""
    lines = [encode(Header(version=0, id="x", created_at=0, cwd="/", seed_length=seed_length))]
    lines += [encode(Event(TYPE_NAMES[type(data)], seq, 0, data)) for seq, data in enumerate(payloads)]
    path.write_bytes(b"".join(lines))
    return path


def chunks_of(step: int, chunks: list[Chunk]) -> list[Payload]:
    return [AssistantChunk(1, step, chunk) for chunk in chunks]


def recorded(path: Path, *answers: list[Chunk]) -> Path:
    """A log with these answers, one a step."""
    return log_of(
        path, *(event for step, chunks in enumerate(answers, start=1) for event in chunks_of(step, chunks))
    )


def said(text: str, *, whole: bool = True) -> list[Chunk]:
    chunks: list[Chunk] = [BlockStart(0, "text"), TextDelta(0, text)]
    return [*chunks, Finish(FinishReason("stop"))] if whole else chunks


async def test_a_recorded_answer_is_played_chunk_by_chunk(tmp_path: Path):
    model = replay.load([recorded(tmp_path / "a.jsonl", said("one"), said("two", whole=False))])
    assert await play(model) == said("one")
    with pytest.raises(Unavailable):
        await play(model, request(1))
    with pytest.raises(ModelError, match="holds 2 answers"):
        await play(model, request(2))


async def test_sessions_take_the_logs_in_the_order_they_first_ask(tmp_path: Path):
    paths = [recorded(tmp_path / f"{name}.jsonl", said(name), said(name)) for name in "ab"]
    model = replay.load(paths)
    order = [("x", 0, "a"), ("y", 0, "b"), ("x", 1, "a"), ("y", 1, "b")]
    for session, ordinal, expected in order:
        assert await play(model, request(ordinal, session)) == said(expected)
    alone = replay.load(paths[:1])
    for session in ("x", "y"):
        assert await play(alone, request(0, session)) == said("a")


async def test_an_attempt_that_was_made_again_is_an_answer_of_its_own(tmp_path: Path):
    begun: list[Chunk] = [BlockStart(0, "tool-call"), ToolCallDelta(0, "c", "{", "read")]
    again = LlmRetry(turn=1, step=1, attempt=1, delay_ms=500, error="cut")
    path = log_of(tmp_path / "a.jsonl", *chunks_of(1, begun), again, again, *chunks_of(1, said("one")))
    model = replay.load([path])
    for ordinal in (0, 1):
        with pytest.raises(Unavailable, match=r"^cut$"):
            await play(model, request(ordinal))
    assert await play(model, request(2)) == said("one")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AUTH", NoCredentials),
        ("REQUEST_REFUSED", RequestRefused),
        ("CONTEXT_OVERFLOW", ContextOverflow),
        ("UNAVAILABLE", Unavailable),
        ("PROVIDER", ModelError),
    ],
)
async def test_a_request_that_failed_fails_again(tmp_path: Path, code: str, kind: type[ModelError]):
    end = TurnEnd(1, TurnEndReason("error", step=1, message="the words", code=code))
    path = log_of(tmp_path / "a.jsonl", StepStart(1, 1), end)
    with pytest.raises(ModelError, match=r"^the words$") as raised:
        await play(replay.load([path]))
    assert type(raised.value) is kind


async def test_an_answer_that_was_cancelled_waits_where_it_was_cut(tmp_path: Path):
    begun, end = said("one", whole=False), TurnEnd(1, TurnEndReason("aborted"))
    again: list[Payload] = [StepStart(2, 1), *(AssistantChunk(2, 1, chunk) for chunk in said("two"))]
    model = replay.load([log_of(tmp_path / "a.jsonl", StepStart(1, 1), *chunks_of(1, begun), end, *again)])
    got: list[Chunk] = []
    with anyio.move_on_after(0.05) as scope:
        async for chunk in model.stream(request(0)):
            got.append(chunk)
    assert scope.cancelled_caught
    assert got == begun
    assert await play(model, request(1, turn=2)) == said("two")
    with pytest.raises(ModelError, match="holds 2 turns"):
        await play(model, request(2, turn=3))


async def test_a_turn_that_is_cancelled_sooner_or_later_does_not_move_the_next(tmp_path: Path):
    ends = TurnEnd(1, TurnEndReason("aborted"))
    two = [AssistantChunk(2, 1, chunk) for chunk in said("two")]
    early = replay.load([log_of(tmp_path / "a.jsonl", TurnStart(1, Trigger("message")), ends, *two)])
    with anyio.move_on_after(0.05) as scope:
        await play(early, request(0))
    assert scope.cancelled_caught
    assert await play(early, request(1, turn=2)) == said("two")
    late = replay.load([log_of(tmp_path / "b.jsonl", StepStart(1, 1), ends, *two)])
    assert await play(late, request(0, turn=2)) == said("two")


async def test_what_a_fork_took_over_from_its_parent_is_not_played(tmp_path: Path):
    parents = chunks_of(1, said("parent"))
    path = log_of(tmp_path / "fork.jsonl", *parents, *chunks_of(2, said("child")), seed_length=len(parents))
    assert await play(replay.load([path])) == said("child")


@pytest.mark.parametrize("torn", [b'{"type":"assistant/ch', b"rubbish\n"])
async def test_a_torn_end_was_never_said(tmp_path: Path, torn: bytes):
    path = recorded(tmp_path / "a.jsonl", said("one"))
    path.write_bytes(path.read_bytes() + torn)
    assert await play(replay.load([path])) == said("one")


@pytest.mark.parametrize("purpose", ["title", "summary"])
async def test_a_log_answers_turns_alone(tmp_path: Path, purpose: str):
    paths = [recorded(tmp_path / f"{name}.jsonl", said(name)) for name in "ab"]
    model = replay.load(paths)
    with pytest.raises(ModelError, match=purpose):
        await play(model, request(0, "x", purpose))
    # A session that asked for nothing else has taken no log yet.
    assert await play(model, request(0, "y")) == said("a")


async def test_lone_surrogates_of_a_recorded_answer_become_replacement_characters(tmp_path: Path):
    path = recorded(tmp_path / "a.jsonl", said("a?b"))
    path.write_bytes(path.read_bytes().replace(b"?", b"\\ud800"))
    assert await play(replay.load([path])) == said("a\ufffdb")


async def test_events_of_other_kinds_need_not_be_understood(tmp_path: Path):
    header, *events = recorded(tmp_path / "a.jsonl", said("one")).read_bytes().splitlines(keepends=True)
    foreign = b'{"type":"permission/asked","seq":0,"time":0,"data":{"x":"\\ud800","y":[]}}\n'
    path = tmp_path / "b.jsonl"
    path.write_bytes(b"".join([header, foreign, *events]))
    assert await play(replay.load([path])) == said("one")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1"),
        (b"header\n", "line 1"),
        (b'{"type":"session","version":1,"id":"x","createdAt":0}\n', "format 1"),
        (b'{"type":"session","version":0,"id":"x","createdAt":0}\n', "no answers"),
        (b'{"type":"session","version":0,"id":"x","createdAt":0}\nrubbish\n{}\n', "line 2"),
    ],
)
def test_a_log_that_cannot_be_played_says_why(tmp_path: Path, content: bytes, reason: str):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(replay.ReplayError, match=reason) as raised:
        replay.load([path])
    assert str(path) in str(raised.value)
    with pytest.raises(replay.ReplayError, match="cannot read"):
        replay.load([tmp_path / "none"])


@pytest.mark.skipif(not LOGS.is_dir(), reason="the recorded logs are not here")
@pytest.mark.parametrize("name", ["plan", "shell", "edit"])
async def test_a_log_of_another_program_replays_to_its_last_word(name: str):
    model = replay.load([LOGS / f"{name}.jsonl"])
    ordinal = 0
    while True:
        chunks = await play(model, request(ordinal))
        last = chunks[-1]
        assert isinstance(last, Finish)
        if last.reason.kind == "stop":
            break
        ordinal += 1
    assert assemble(chunks)[-1] == Text("DONE")
