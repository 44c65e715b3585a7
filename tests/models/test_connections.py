"""What happens on the connection: streaming, ends, cuts, reuse, limits, and who hangs up when."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest

from tests.models.rules import check
from tests.provider import (
    CUT,
    RESET,
    Answer,
    Gate,
    Provider,
    done,
    failure,
    finish,
    provider,
    says,
    stream,
    text,
    tool_call,
    usage,
    whole,
)
from wayline.log.content import Chunk, Finish, Message, Text, TextDelta, ToolCall
from wayline.models import openai_chat
from wayline.models.assembler import assemble
from wayline.models.base import ModelRequest, RequestRefused, Unavailable
from wayline.models.catalog import ProviderConfig
from wayline.models.openai_chat import ChatModel, StreamedAnswer, WholeAnswer

pytestmark = pytest.mark.anyio

PATIENCE = 20.0


@pytest.fixture(autouse=True)
def an_unhurried_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine must not look like a server that forgets to end its body."""
    monkeypatch.setattr(openai_chat, "DRAIN", PATIENCE / 2)


def request(session: str = "s") -> ModelRequest:
    return ModelRequest(session, "", (Message("user", (Text("hi"),)),), (), ordinal=0, turn=1, step=1)


@asynccontextmanager
async def facing(answers: Sequence[Answer], **config: Any) -> AsyncIterator[tuple[ChatModel, Provider]]:
    """A model and the server it asks; every wait inside is bounded."""
    async with provider(answers) as server:
        settings = {"read_timeout": 10.0, "quirks": ("ends_with_done",), **config}
        model = ChatModel("test", "m-1", ProviderConfig(base_url=server.url, **settings), lambda: None)
        try:
            with anyio.fail_after(PATIENCE):
                yield model, server
        finally:
            await model.aclose()


async def ask(model: ChatModel) -> list[Chunk]:
    return [chunk async for chunk in model.stream(request())]


async def test_each_word_is_given_on_before_the_next_one_comes():
    gates = [Gate(), Gate()]
    answer = stream(text("one"), gates[0], text("two"), gates[1], finish(), done())
    async with facing([answer]) as (model, _), aclosing(model.stream(request())) as chunks:
        seen: list[Chunk] = []
        for word, gate in zip(["one", "two"], gates, strict=True):
            async for chunk in chunks:
                seen.append(chunk)
                if isinstance(chunk, TextDelta):
                    break
            assert seen[-1] == TextDelta(0, word)
            await gate.reached.wait()
            gate.opened.set()
        seen += [chunk async for chunk in chunks]
    check(seen)


async def test_answers_one_after_the_other_share_a_connection():
    async with facing([says("a"), failure(500, "oops"), failure(429, "slow"), says("b")]) as (model, server):
        await ask(model)
        for _ in range(2):
            with pytest.raises(Unavailable):
                await ask(model)
        await ask(model)
        assert server.connections == 1


@pytest.mark.parametrize("end", [CUT, RESET])
async def test_a_connection_that_broke_is_not_used_again(end: Any):
    async with facing([stream(text("half"), end), says("b")]) as (model, server):
        with pytest.raises(Unavailable):
            await ask(model)
        assert assemble(await ask(model)) == (Text("b"),)
        assert server.connections == 2


@pytest.mark.parametrize(
    "parts",
    [
        [CUT],
        [text("half"), CUT],
        [b": comment\n\n", CUT],
        [b"data: {", CUT],
        [tool_call(0, "a", "read", '{"x'), CUT],
        [finish(), usage(1, 1), CUT],
        [text("all"), finish(), CUT],
        [text("all"), finish()],
    ],
)
async def test_an_answer_without_its_end_was_cut_wherever_it_broke(parts: list[Any]):
    async with facing([stream(*parts)]) as (model, _):
        seen: list[Chunk] = []
        with pytest.raises(Unavailable):
            async for chunk in model.stream(request()):
                seen.append(chunk)
    check(seen, cut=True)


@pytest.mark.parametrize("end", [CUT, RESET, Gate()])
async def test_after_done_it_does_not_matter_how_the_body_ends(end: Any, monkeypatch: pytest.MonkeyPatch):
    """The answer is whole; a server that forgets to end its body must not cost it, nor much time."""
    monkeypatch.setattr(openai_chat, "DRAIN", 0.01)
    answer = stream(text("all"), finish(), done(), end)
    async with facing([answer], read_timeout=PATIENCE * 2) as (model, _):
        chunks = await ask(model)
    check(chunks)
    assert assemble(chunks) == (Text("all"),)


async def test_the_finish_does_not_wait_for_the_end_of_the_body():
    gate = Gate()
    answer = stream(text("all"), finish(), done(), gate)
    async with facing([answer]) as (model, _), aclosing(model.stream(request())) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Finish):
                break
        assert isinstance(chunk, Finish)
        assert not gate.opened.is_set()


async def test_a_body_that_ends_a_little_later_leaves_its_connection_for_the_next_request():
    gate = Gate()
    async with facing([stream(text("a"), finish(), done(), gate), says("b")]) as (model, server):
        async for chunk in model.stream(request()):
            if isinstance(chunk, Finish):
                gate.opened.set()
        await ask(model)
        assert server.connections == 1


async def test_a_cancelled_request_hangs_up_while_the_provider_is_silent():
    gate = Gate()
    async with facing([stream(gate), says("b")]) as (model, server):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, model)
            await gate.reached.wait()
            group.cancel_scope.cancel()
        await server.hung_up.wait()
        assert assemble(await ask(model)) == (Text("b"),)


async def test_a_request_cancelled_in_mid_answer_hangs_up():
    gate = Gate()
    async with facing([stream(text("a"), gate), says("b")]) as (model, server):
        with anyio.CancelScope() as scope:
            async for chunk in model.stream(request()):
                if isinstance(chunk, TextDelta):
                    scope.cancel()
        await server.hung_up.wait()
        assert assemble(await ask(model)) == (Text("b"),)


@pytest.mark.parametrize("before", [(), (text("half"),), (b": alive\n\n",)])
async def test_silence_ends_the_request_after_its_limit(before: tuple[Any, ...]):
    async with facing([stream(*before, Gate())], read_timeout=0.1) as (model, server):
        with pytest.raises(Unavailable, match="in time"):
            await ask(model)
        await server.hung_up.wait()


async def test_signs_of_life_keep_a_slow_answer_going():
    signs = [Gate() for _ in range(3)]
    answer = stream(*[part for sign in signs for part in (b": alive\n\n", sign)], text("a"), finish(), done())
    async with facing([answer]) as (model, _), anyio.create_task_group() as group:

        async def open_gates() -> None:
            for sign in signs:
                await sign.reached.wait()
                sign.opened.set()

        group.start_soon(open_gates)
        assert assemble(await ask(model)) == (Text("a"),)


async def test_more_requests_than_a_pool_holds_by_default_run_at_once():
    count = 120
    gates = [Gate() for _ in range(count)]
    answers = [stream(text("a"), gate, finish(), done()) for gate in gates]
    whole_answers = []
    async with facing(answers) as (model, server):

        async def one(session: int) -> None:
            chunks = [chunk async for chunk in model.stream(request(str(session)))]
            whole_answers.append(assemble(chunks))

        async with anyio.create_task_group() as group:
            for session in range(count):
                group.start_soon(one, session)
            for gate in gates:
                await gate.reached.wait()
            for gate in gates:
                gate.opened.set()
        assert server.connections == count
    assert whole_answers == [(Text("a"),)] * count


async def test_nothing_is_asked_to_be_compressed_and_the_method_is_post():
    async with facing([says("a")]) as (model, server):
        await ask(model)
        (received,) = server.requests
    assert received.headers["accept-encoding"] == "identity"
    assert received.method == "POST"
    assert json.loads(received.raw) == received.body


async def test_a_blank_line_before_the_answer_says_nothing_about_what_it_is():
    message = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    for answer in (
        stream(b"\n", b" \r\n", json.dumps(message).encode()),
        stream(b"\n", b"\n\n", text("ok"), finish(), done()),
    ):
        async with facing([answer]) as (model, _):
            assert assemble(await ask(model)) == (Text("ok"),)


async def test_a_whole_answer_with_everything_in_it():
    message = {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    }
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}}
    async with facing([whole(body)]) as (model, _):
        chunks = await ask(model)
    check(chunks)
    assert assemble(chunks)[-1] == ToolCall("a", "read", "{}")


@pytest.mark.parametrize(
    ("header", "expected"), [("2", 2.0), ("0", 0.0), ("1.5", 1.5), (" 3 ", 3.0), ("-4", 0.0)]
)
async def test_seconds_to_wait_are_read(header: str, expected: float):
    async with facing([failure(429, "slow down", retry_after=header)]) as (model, _):
        with pytest.raises(Unavailable) as raised:
            await ask(model)
    assert raised.value.retry_after == expected


@pytest.mark.parametrize(
    "header", ["soon", "", "nan", "inf", "1e999", "9" * 400, "Wed, 99 Oct 2099 07:28:00 GMT"]
)
async def test_a_wait_that_is_no_number_is_left_out(header: str):
    async with facing([failure(503, "busy", retry_after=header)]) as (model, _):
        with pytest.raises(Unavailable) as raised:
            await ask(model)
    assert raised.value.retry_after is None


@pytest.mark.parametrize("body", [b"", b"<html>" + b"x" * 200_000, b"\xff\xfe\x00", b"[1, 2]", b'"words"'])
async def test_an_error_without_a_form_is_told_briefly(body: bytes):
    async with facing([Answer(status=400, body=body)]) as (model, _):
        with pytest.raises(RequestRefused, match="answered 400") as raised:
            await ask(model)
    assert len(str(raised.value)) < 1200


async def test_of_an_error_that_never_ends_the_beginning_is_read():
    endless = Answer((b"x" * 70_000, Gate()), status=400)
    async with facing([endless]) as (model, server):
        with pytest.raises(RequestRefused, match="answered 400: xxx"):
            await ask(model)
        await server.hung_up.wait()


def test_what_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openai_chat, "_MOST", 1000)
    endless: list[tuple[StreamedAnswer | WholeAnswer, bytes]] = [
        (StreamedAnswer("test", ends_with_done=True), b"data: " + b"x" * 90),
        (StreamedAnswer("test", ends_with_done=True), b"data: " + b"x" * 90 + b"\n"),
        (WholeAnswer("test"), b"{" * 90),
    ]
    for answer, piece in endless:
        with pytest.raises(Unavailable, match="test sent"):
            for _ in range(20):
                list(answer.feed(piece))


def test_signs_of_life_do_not_add_up_to_too_much(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openai_chat, "_MOST", 1000)
    answer = StreamedAnswer("test", ends_with_done=True)
    for _ in range(1000):
        assert list(answer.feed(b": alive\n\n")) == []


async def test_many_requests_leave_no_connection_open():
    async with facing([says("a")] * 30) as (model, server):
        for _ in range(30):
            await ask(model)
        assert server.connections == 1
        await model.aclose()
