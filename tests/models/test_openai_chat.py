"""The chat dialect over real HTTP: what is sent, what comes of each answer, what each failure means."""

import json
from typing import Any

import anyio
import pytest

from tests.provider import (
    CUT,
    Answer,
    Gate,
    Provider,
    Request,
    delta,
    done,
    failure,
    finish,
    provider_thread,
    says,
    tool_call,
    whole,
)
from wayline.log.content import (
    BlockEnd,
    Chunk,
    Finish,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UsageChunk,
)
from wayline.models.assembler import assemble
from wayline.models.base import (
    ContextOverflow,
    ModelError,
    ModelRequest,
    NoCredentials,
    RequestRefused,
    ToolSpec,
    Unavailable,
)
from wayline.models.catalog import PROVIDERS, ProviderConfig
from wayline.models.openai_chat import ChatModel

pytestmark = pytest.mark.anyio

KEY = "k3y-that-nobody-may-see"


def request(*messages: Message, session: str = "s", tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    history = messages or (Message("user", (Text("hi"),)),)
    return ModelRequest(session, "be good", history, tools, ordinal=0, turn=1, step=1)


def model_of(server: Provider, **config: Any) -> ChatModel:
    settings: dict[str, Any] = {"base_url": server.url, "key_env": "SOME_KEY", "read_timeout": 5.0, **config}
    return ChatModel("test", "m-1", ProviderConfig(**settings), lambda: KEY)


async def ask(server: Provider, asked: ModelRequest | None = None, **config: Any) -> list[Chunk]:
    model = model_of(server, **config)
    try:
        with anyio.fail_after(20):
            return [chunk async for chunk in model.stream(asked or request())]
    finally:
        await model.aclose()


async def answer_of(*events: Any, **config: Any) -> tuple[Any, ...]:
    with provider_thread([Answer(events)]) as server:
        return assemble(await ask(server, **config))


async def sent(asked: ModelRequest, **config: Any) -> Request:
    with provider_thread([says("ok")]) as server:
        await ask(server, asked, **config)
        return server.requests[0]


async def test_a_request_says_what_the_dialect_says():
    tool = ToolSpec("read", "Reads.", {"type": "object"})
    received = await sent(request(tools=(tool,)), extra_body={"thinking": {"type": "disabled"}})
    assert received.path == "/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {
        "model": "m-1",
        "stream": True,
        "stream_options": {"include_usage": True},
        "thinking": {"type": "disabled"},
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}},
            }
        ],
        "messages": [{"role": "system", "content": "be good"}, {"role": "user", "content": "hi"}],
    }


HISTORY = (
    Message("user", (Text("do it"),)),
    Message("assistant", (Reasoning("hmm"), Text("so"), ToolCall("c1", "read", "{}"))),
    Message("tool", (ToolResult("c1", (Text("content"),)),)),
    Message("assistant", (Reasoning("done"), Text("there"))),
    Message("assistant", (Reasoning("only thought"),)),
    Message("user", (Text("more"),)),
)


async def test_reasoning_goes_back_on_messages_with_calls_and_nowhere_else():
    received = await sent(request(*HISTORY), quirks=("wants_reasoning_back",))
    call_made = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    assert received.body["messages"][1:] == [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": "so", "tool_calls": [call_made], "reasoning_content": "hmm"},
        {"role": "tool", "tool_call_id": "c1", "content": "content"},
        {"role": "assistant", "content": "there"},
        {"role": "user", "content": "more"},
    ]
    assert "wants_reasoning_back" in PROVIDERS["deepseek"].quirks


async def test_a_provider_that_does_not_ask_for_reasoning_gets_none():
    received = await sent(request(*HISTORY), quirks=("no_stream_options",))
    assert "reasoning_content" not in json.dumps(received.body)
    assert "stream_options" not in received.body


async def test_images_are_sent_to_those_that_take_them():
    history = Message("user", (Text("see"), Image(data="AAAA", mime_type="image/png")))
    received = await sent(request(history), takes_images=True)
    assert received.body["messages"][1]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    received = await sent(request(history))
    assert "AAAA" not in json.dumps(received.body)


async def test_text_and_reasoning_become_blocks_and_usage_is_without_cache_hits():
    with provider_thread(
        [
            Answer(
                [
                    delta(role="assistant", content=None, reasoning_content=""),
                    delta(reasoning_content="let me "),
                    delta(reasoning_content="think"),
                    delta(content="an"),
                    delta(content="swer"),
                    finish("stop"),
                    {
                        "choices": [],
                        "usage": {
                            "prompt_tokens": 100,
                            "prompt_cache_hit_tokens": 64,
                            "completion_tokens": 30,
                            "completion_tokens_details": {"reasoning_tokens": 20},
                        },
                    },
                    done(),
                ]
            )
        ]
    ) as server:
        chunks = await ask(server)
    assert assemble(chunks) == (Reasoning("let me think"), Text("answer"))
    assert [chunk for chunk in chunks if isinstance(chunk, UsageChunk)] == [UsageChunk(Usage(36, 30, 64, 20))]
    assert isinstance(chunks[-1], Finish)
    assert chunks[-1].reason.kind == "stop"


@pytest.mark.parametrize(
    "events",
    [
        [
            tool_call(0, "a", "read", '{"x"'),
            tool_call(0, None, None, ": 1}"),
            tool_call(1, "b", "glob", "{}"),
        ],
        [
            tool_call(0, "a", "read", '{"x"'),
            tool_call(1, "b", "glob", "{}"),
            tool_call(0, None, None, ": 1}"),
        ],
        [tool_call(0, "a", "read", '{"x": 1}'), tool_call(0, "b", "glob", "{}")],
        [tool_call(0, "a", "read", ""), tool_call(0, "a", "", '{"x": 1}'), tool_call(1, "b", "glob", "{}")],
        [tool_call(None, "a", "read", '{"x": 1}'), tool_call(None, "b", "glob", "{}")],
        [tool_call(0, "a", "read", {"x": 1}), tool_call(1, "b", "glob", {})],
    ],
    ids=["fragments", "interleaved", "index restarts", "empty name later", "no index", "objects"],
)
async def test_calls_are_put_together_however_they_come(events: list[dict[str, Any]]):
    assert await answer_of(*events, finish("tool_calls"), done()) == (
        ToolCall("a", "read", '{"x": 1}'),
        ToolCall("b", "glob", "{}"),
    )


async def test_calls_without_ids_or_with_one_id_get_their_own():
    none = await answer_of(tool_call(0, None, "a", "{}"), tool_call(1, "", "b", "{}"), finish("tool_calls"))
    same = await answer_of(tool_call(0, "x", "a", "{}"), tool_call(1, "x", "b", "{}"), finish("tool_calls"))
    for first, second in (none, same):
        assert (first.name, second.name) == ("a", "b")
        assert first.id
        assert second.id
        assert first.id != second.id


async def test_two_whole_calls_without_index_and_id_are_two():
    calls = await answer_of(
        tool_call(None, None, "a", '{"n": 1}'), tool_call(None, None, "b", '{"n": 2}'), finish("stop")
    )
    assert [(made.name, made.arguments) for made in calls] == [("a", '{"n": 1}'), ("b", '{"n": 2}')]


async def test_a_call_makes_the_finish_tool_calls_whatever_the_server_says():
    with provider_thread([Answer([tool_call(0, "a", "read", "{}"), finish("stop"), done()])]) as server:
        chunks = await ask(server)
    assert isinstance(chunks[-1], Finish)
    assert chunks[-1].reason.kind == "tool-calls"


async def test_at_the_token_limit_half_built_calls_are_dropped():
    with provider_thread(
        [Answer([delta(content="so"), tool_call(0, "a", "read", '{"x'), finish("length"), done()])]
    ) as server:
        chunks = await ask(server)
    assert assemble(chunks) == (Text("so"),)
    assert isinstance(chunks[-1], Finish)
    assert chunks[-1].reason.kind == "max-tokens"


async def test_a_refusal_is_text_and_a_finish_of_its_own():
    with provider_thread([Answer([delta(refusal="I will not"), finish("stop"), done()])]) as server:
        chunks = await ask(server)
    assert assemble(chunks) == (Text("I will not"),)
    assert isinstance(chunks[-1], Finish)
    assert chunks[-1].reason.kind == "refusal"


@pytest.mark.parametrize(
    "events",
    [
        [
            b": a comment\n\n",
            b"data: ",
            json.dumps(delta(content="ok")).encode(),
            b"\r\n\r\n",
            finish("stop"),
            done(),
        ],
        [b"\xef\xbb\xbfdata:" + json.dumps(delta(content="ok")).encode() + b"\n\n", finish("stop"), done()],
        [
            b"event: message\nid: 7\nretry: 10\ndata: " + json.dumps(delta(content="ok")).encode() + b"\n\n",
            finish("stop"),
            done(),
        ],
        [delta(content="ok"), finish("stop"), b"data: [DONE]"],
        [delta(reasoning="thinking"), delta(content="ok"), finish("eos")],
        [delta(content="ok", reasoning_content=None, tool_calls=None), finish("stop")],
    ],
    ids=["comment and CRLF", "BOM", "other fields", "no last newline", "reasoning, no DONE", "nulls"],
)
async def test_servers_differ_and_are_understood(events: list[Any]):
    assert (await answer_of(*events))[-1] == Text("ok")


async def test_a_whole_answer_as_json_is_taken():
    body = {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}
    with provider_thread([whole(body)]) as server:
        assert assemble(await ask(server)) == (Text("ok"),)


async def test_lone_surrogates_become_replacement_characters():
    assert await answer_of('{"choices": [{"delta": {"content": "a\\ud800b"}}]}', finish("stop"), done()) == (
        Text("a\ufffdb"),
    )


@pytest.mark.parametrize(
    "answer",
    [
        Answer([done()]),
        Answer([delta(content=""), finish("stop"), done()]),
        Answer([]),
        Answer(["not json"]),
        Answer(['{"choices": 7}']),
        Answer([{"error": {"message": "overloaded"}}]),
        Answer([delta(content="x"), finish("insufficient_system_resource"), done()]),
        Answer([delta(content="half"), CUT]),
        Answer([CUT]),
        Answer([delta(content="half")]),
        failure(429, "slow down"),
        failure(500, "oops"),
        failure(503, "overloaded"),
    ],
)
async def test_what_may_work_later_is_unavailable(answer: Answer):
    with provider_thread([answer]) as server, pytest.raises(Unavailable):
        await ask(server)


async def test_without_its_end_an_answer_counts_as_cut_where_a_provider_sends_one():
    events = [delta(content="all of it"), finish("stop")]
    assert await answer_of(*events) == (Text("all of it"),)
    with pytest.raises(Unavailable, match="cut"):
        await answer_of(*events, quirks=("ends_with_done",))


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (failure(401, "bad key"), NoCredentials, "bad key"),
        (failure(403, "not yours"), NoCredentials, "not yours"),
        (failure(402, "Insufficient Balance"), RequestRefused, "balance"),
        (failure(400, "no such parameter"), RequestRefused, "no such parameter"),
        (failure(404, "no such model"), RequestRefused, "no such model"),
        (
            failure(400, "This model's maximum context length is 100 tokens"),
            ContextOverflow,
            "maximum context",
        ),
        (failure(500, "oops"), Unavailable, "oops"),
        (whole(b"<html>Bad Gateway</html>", 502), Unavailable, "Bad Gateway"),
        (failure(401, f"the key {KEY} is wrong"), NoCredentials, "is wrong"),
        (Answer([finish("content_filter"), done()]), RequestRefused, "content filter"),
        (Answer([{"error": {"message": "context_length_exceeded"}}]), ContextOverflow, "context_length"),
    ],
)
async def test_failures_are_told_in_the_providers_words_and_never_with_the_key(
    answer: Answer, error: type[Exception], words: str
):
    with provider_thread([answer]) as server, pytest.raises(error) as raised:
        await ask(server)
    assert words in str(raised.value)
    assert KEY not in str(raised.value)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("7", 7, 7), ("Wed, 21 Oct 2099 07:28:00 GMT", 10**9, 10**10), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0)],
)
async def test_retry_after_is_understood_in_both_forms(header: str, least: float, most: float):
    with (
        provider_thread([failure(429, "later", retry_after=header)]) as server,
        pytest.raises(Unavailable) as raised,
    ):
        await ask(server)
    assert raised.value.retry_after is not None
    assert least <= raised.value.retry_after <= most


async def test_a_retry_after_that_says_nothing_is_none():
    with (
        provider_thread([failure(429, "later", retry_after="soon")]) as server,
        pytest.raises(Unavailable) as raised,
    ):
        await ask(server)
    assert raised.value.retry_after is None


async def test_nobody_there_is_unavailable():
    with provider_thread([]) as server:
        url = server.url
    model = ChatModel("test", "m", ProviderConfig(base_url=url), lambda: None)
    with pytest.raises(Unavailable, match="no connection"):
        async for _ in model.stream(request()):
            pass
    await model.aclose()


async def test_silence_is_unavailable_after_its_limit():
    silent = Answer([Gate(), delta(content="x")])
    with provider_thread([silent]) as server, pytest.raises(Unavailable, match="in time"):
        await ask(server, read_timeout=0.2)


async def asked_with(server: Provider, key: str | None, **config: Any) -> list[Chunk]:
    settings: dict[str, Any] = {"base_url": server.url, "key_env": "SOME_KEY", **config}
    model = ChatModel("test", "m-1", ProviderConfig(**settings), lambda: key)
    try:
        with anyio.fail_after(20):
            return [chunk async for chunk in model.stream(request())]
    finally:
        await model.aclose()


async def test_blanks_around_a_key_are_not_part_of_it():
    with provider_thread([says("ok")]) as server:
        await asked_with(server, f" {KEY}\n")
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["k3y-that…", "k3y\nthat", "k3y\x00that"])
async def test_a_key_that_cannot_be_sent_is_refused_without_a_word_of_it(key: str):
    with provider_thread([says("ok")]) as server:
        with pytest.raises(NoCredentials, match="SOME_KEY") as raised:
            await asked_with(server, key)
        assert "k3y" not in str(raised.value)
        assert server.requests == []


async def test_a_header_that_cannot_be_sent_is_refused_without_a_word_of_it():
    with provider_thread([says("ok")]) as server, pytest.raises(RequestRefused) as raised:
        await asked_with(server, KEY, headers={"x-token": "s3cret\n"})
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "answer",
    [
        Answer([{"error": {"message": f"bad key {KEY}"}}]),
        whole({"error": {"message": f"bad key {KEY}"}}),
        failure(500, f"bad key {KEY}"),
        failure(401, "x" * 990 + KEY),
        whole(b"<p>" + b"x" * 990 + KEY.encode(), 403),
    ],
    ids=["event", "whole", "status", "at the end of what is kept", "no JSON"],
)
async def test_a_key_that_the_provider_repeats_is_taken_out_of_its_words(answer: Answer):
    with provider_thread([answer]) as server, pytest.raises(ModelError) as raised:
        await ask(server)
    assert KEY[:5] not in str(raised.value)


async def test_a_redirect_is_not_followed_and_says_where_to():
    moved = Answer(status=308, headers={"location": "https://elsewhere.example/v1"}, body=b"")
    with provider_thread([moved, says("never")]) as server:
        with pytest.raises(RequestRefused, match="elsewhere"):
            await ask(server)
        assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["localhost/v1", "ftp://localhost", "http://[::1/v1"])
async def test_a_url_that_cannot_be_asked_is_refused_and_not_tried_again(url: str):
    with provider_thread([]) as server, pytest.raises(RequestRefused, match="not a URL"):
        await asked_with(server, KEY, base_url=url)


async def test_bytes_that_cannot_be_decoded_are_unavailable():
    garbled = Answer([delta(content="x")], headers={"content-encoding": "gzip"})
    with provider_thread([garbled]) as server, pytest.raises(Unavailable, match="decoded"):
        await ask(server)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream"])
async def test_what_an_answer_is_shows_in_its_bytes_not_in_its_content_type(kind: str):
    message = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    at_once = Answer(body=json.dumps(message).encode(), headers={"content-type": kind})
    streamed = Answer([delta(content="ok"), finish("stop"), done()], headers={"content-type": kind})
    for answer in (at_once, streamed):
        with provider_thread([answer]) as server:
            assert assemble(await ask(server)) == (Text("ok"),)


async def test_without_a_key_nothing_is_sent_and_the_variable_is_named():
    with provider_thread([says("ok")]) as server:
        config = ProviderConfig(base_url=server.url, key_env="SOME_KEY")
        model = ChatModel("test", "m", config, lambda: None)
        with pytest.raises(NoCredentials, match="SOME_KEY"):
            async for _ in model.stream(request()):
                pass
        await model.aclose()
        assert server.requests == []


async def test_a_local_server_needs_no_key_and_is_sent_none():
    with provider_thread([says("ok")]) as server:
        await ask(server, key_env=None)
        assert "authorization" not in server.requests[0].headers


async def test_closing_the_stream_hangs_up():
    with provider_thread([Answer([delta(content="x"), Gate(), delta(content="y")])]) as server:
        model = model_of(server)
        stream = model.stream(request())
        with anyio.fail_after(20):
            await anext(stream)
            await stream.aclose()
            await server.hung_up.wait()
        await model.aclose()


async def test_messages_are_encoded_once_and_anew_when_the_history_changed():
    with provider_thread([says("ok")] * 5) as server:
        model = model_of(server)
        first = [Message("user", (Text(f"m{number}"),)) for number in range(3)]
        for history in (
            first,
            [*first, Message("user", (Text("m3"),))],
            [Message("user", (Text("summary"),))],
            first,
        ):
            async for _ in model.stream(request(*history)):
                pass
        async for _ in model.stream(request(Message("user", (Text("other"),)), session="t")):
            pass
        await model.aclose()
    said = [[message["content"] for message in received.body["messages"][1:]] for received in server.requests]
    assert said == [["m0", "m1", "m2"], ["m0", "m1", "m2", "m3"], ["summary"], ["m0", "m1", "m2"], ["other"]]


async def test_every_block_that_is_opened_is_ended_with_what_its_deltas_add_up_to():
    with provider_thread(
        [
            Answer(
                [
                    delta(reasoning_content="a"),
                    delta(content="b"),
                    tool_call(0, "x", "y", "{"),
                    tool_call(0, None, None, "}"),
                    finish("tool_calls"),
                    done(),
                ]
            )
        ]
    ) as server:
        chunks = await ask(server)
    ends = [chunk for chunk in chunks if isinstance(chunk, BlockEnd)]
    assert [end.index for end in ends] == [0, 1, 2]
    assert tuple(end.block for end in ends) == (Reasoning("a"), Text("b"), ToolCall("x", "y", "{}"))
