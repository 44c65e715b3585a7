"""The installed command against a provider over HTTP."""

import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.conftest import log_of, of_type
from tests.editor import Editor, Refused, editor
from tests.provider import (
    CUT,
    Answer,
    Gate,
    Provider,
    delta,
    done,
    failure,
    finish,
    provider_thread,
    says,
    tool_call,
)

pytestmark = pytest.mark.anyio

KEY = "k3y-that-nobody-may-see"
Connect = Callable[..., AbstractAsyncContextManager[Editor]]


@pytest.fixture
def connect(home: Path) -> Connect:
    """An editor on an agent with DeepSeek's settings, pointed at a server; retries are quick."""
    home.mkdir()
    (home / "settings.toml").write_text(
        "[limits]\nfirst_delay = 0.01\nlongest_delay = 0.05\n", encoding="utf-8"
    )

    def start(server: Provider, **env: str) -> AbstractAsyncContextManager[Editor]:
        return editor(home, env={"DEEPSEEK_BASE_URL": server.url, "DEEPSEEK_API_KEY": KEY, **env})

    return start


def plan_call(call_id: str, *todos: tuple[str, str]) -> dict[str, Any]:
    listed = [{"content": content, "status": status} for content, status in todos]
    return tool_call(0, call_id, "todo_write", json.dumps({"todos": listed}))


async def test_a_whole_turn_over_http(connect: Connect, workspace: Path, home: Path):
    (workspace / "a").write_text("A!", encoding="utf-8")
    (workspace / "b").write_text("B!", encoding="utf-8")
    first = Answer(
        [
            delta(reasoning_content="I should "),
            delta(reasoning_content="look"),
            delta(content="Looking."),
            tool_call(0, "r1", "read", '{"file_path"'),
            tool_call(0, None, None, ': "a"}'),
            tool_call(1, "r2", "read", '{"file_path": "b"}'),
            finish("tool_calls", prompt_tokens=120, completion_tokens=30, prompt_cache_hit_tokens=20),
            done(),
        ]
    )
    second = Answer([plan_call("t1", ("one", "in_progress")), finish("tool_calls"), done()])
    with provider_thread([first, second, says("All ", "done.")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session, "look") == "end_turn"
            assert client.said(session) == "Looking.All done."
            thoughts = [u for u in client.updates() if u["sessionUpdate"] == "agent_thought_chunk"]
            assert "".join(u["content"]["text"] for u in thoughts) == "I should look"
            assert client.plans() == [[{"content": "one", "priority": "medium", "status": "in_progress"}]]
            usage = await client.update("usage_update")
            assert (usage["used"], usage["size"]) == (150, 1_000_000)
        assert [received.headers["authorization"] for received in server.requests] == [f"Bearer {KEY}"] * 3
        system, user, assistant, one, two = server.requests[1].body["messages"]
        assert (system["role"], user["content"]) == ("system", "look")
        assert assistant["reasoning_content"] == "I should look"
        assert [made["id"] for made in assistant["tool_calls"]] == ["r1", "r2"]
        assert ("A!" in one["content"], "B!" in two["content"]) == (True, True)
    assert KEY not in str(log_of(home, session))


async def test_a_rate_limit_is_waited_out_and_said(connect: Connect, workspace: Path, home: Path):
    with provider_thread(
        [failure(429, "slow down", retry_after="0"), failure(500, "oops"), says("ok")]
    ) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
            assert "slow down" in client.said()
            assert client.said().endswith("ok")
    retries = of_type(log_of(home, session), "llm/retry")
    assert [(retry["attempt"], retry["step"]) for retry in retries] == [(1, 1), (2, 1)]
    assert retries[0]["delayMs"] == 0


async def test_a_provider_that_stays_down_is_an_error_with_its_words(connect: Connect, workspace: Path):
    with provider_thread([*[failure(503, "overloaded today")] * 5, says("ok")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            with pytest.raises(Refused) as refused:
                await client.prompt(session)
            assert refused.value.code == -32603
            assert "overloaded today" in refused.value.details
            assert await client.prompt(session) == "end_turn"


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (failure(401, "Authentication Fails"), -32000, "Authentication Fails"),
        (failure(403, "no"), -32000, "no"),
        (failure(402, "Insufficient Balance"), -32603, "Insufficient Balance"),
        (failure(400, "bad field"), -32603, "bad field"),
    ],
)
async def test_what_the_provider_will_not_take_is_told_at_once(
    connect: Connect, workspace: Path, answer: Answer, code: int, words: str
):
    with provider_thread([answer, says("ok")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            with pytest.raises(Refused) as refused:
                await client.prompt(session)
            assert refused.value.code == code
            assert words in refused.value.details
            assert KEY not in str(refused.value)
            assert await client.prompt(session) == "end_turn"


async def test_an_answer_cut_in_the_middle_is_kept_and_the_next_step_goes_on(
    connect: Connect, workspace: Path, home: Path
):
    with provider_thread([Answer([CUT]), Answer([delta(content="half "), CUT]), says("whole")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
        roles = [message["role"] for message in server.requests[2].body["messages"]]
        assert roles == ["system", "user", "assistant", "user"]
    messages = of_type(log_of(home, session), "assistant/message")
    assert [(m["step"], m.get("interrupted", False)) for m in messages] == [(1, True), (2, False)]


async def test_an_empty_answer_is_asked_for_again(connect: Connect, workspace: Path):
    with provider_thread([Answer([finish("stop"), done()]), says("ok")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"


async def test_a_body_that_never_ends_behind_done_does_not_keep_the_turn(connect: Connect, workspace: Path):
    held = Answer([delta(content="all"), finish("stop"), done(), Gate(), "x"])
    with provider_thread([held, says("more")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            for _ in range(2):
                assert await client.prompt(session) == "end_turn"
            assert client.said() == "allmore"


async def test_a_call_with_bad_arguments_does_not_spoil_the_requests_after_it(
    connect: Connect, workspace: Path
):
    bad = Answer([tool_call(0, "b1", "read", '{"file_path": '), finish("tool_calls"), done()])
    with provider_thread([bad, says("sorry"), says("ok")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            for _ in range(2):
                assert await client.prompt(session) == "end_turn"
        for received in server.requests[1:]:
            made = received.body["messages"][2]["tool_calls"][0]
            assert json.loads(made["function"]["arguments"]) == {"malformed": '{"file_path": '}


async def test_lone_surrogates_from_the_provider_are_replaced(connect: Connect, workspace: Path):
    odd = Answer(['{"choices": [{"delta": {"content": "a\\udfffb"}}]}', finish("stop"), done()])
    with provider_thread([odd]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
            assert client.said() == "a\ufffdb"


async def test_a_cancel_hangs_up_on_a_silent_provider(connect: Connect, workspace: Path):
    silent = Answer([delta(content="x"), Gate(), delta(content="y")])
    with provider_thread([silent, says("ok")]) as server:
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            request_id = await client.begin_prompt(session, "go")
            await client.update("agent_message_chunk")
            await client.cancel(session)
            assert (await client.answered(request_id))["stopReason"] == "cancelled"
            await server.hung_up.wait()
            assert await client.prompt(session) == "end_turn"


async def test_a_key_on_file_counts_from_the_next_session_on(connect: Connect, workspace: Path, home: Path):
    with provider_thread([says("ok")]) as server:
        async with connect(server, DEEPSEEK_API_KEY="") as client:
            await client.initialize()
            for method, params in [
                ("session/new", {"cwd": str(workspace), "mcpServers": []}),
                ("authenticate", {"methodId": "api-key"}),
            ]:
                with pytest.raises(Refused) as refused:
                    await client.request(method, params)
                assert refused.value.code == -32000
                assert "DEEPSEEK_API_KEY" in refused.value.details
            assert (await client.request("session/list", {}))["sessions"] == []
            (home / "credentials.toml").write_text(f'[keys]\ndeepseek = "{KEY}"\n', encoding="utf-8")
            assert await client.request("authenticate", {"methodId": "api-key"}) == {}
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_server_of_ones_own_needs_settings_and_no_key(workspace: Path, home: Path):
    home.mkdir()
    with provider_thread([says("ok")]) as server:
        (home / "settings.toml").write_text(
            f'model = "mine/tiny"\n[providers.mine]\nbase_url = "{server.url}/v1"\nmodels = ["tiny"]\n'
            "context_window = 8000\n",
            encoding="utf-8",
        )
        async with editor(home) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
            assert (await client.update("usage_update"))["size"] == 8000
        assert server.requests[0].path == "/v1/chat/completions"
        assert server.requests[0].body["model"] == "tiny"


async def test_a_hostile_workspace_gets_neither_the_key_nor_a_request(connect: Connect, workspace: Path):
    with provider_thread([says("gotcha")]) as hostile, provider_thread([says("ok")]) as server:
        folder = workspace / ".wayline"
        folder.mkdir()
        (folder / "settings.toml").write_text(
            f'[providers.deepseek]\nbase_url = "{hostile.url}"\nkey_env = "DEEPSEEK_API_KEY"\n',
            encoding="utf-8",
        )
        (workspace / ".env").write_text(f"DEEPSEEK_BASE_URL={hostile.url}\n", encoding="utf-8")
        async with connect(server) as client:
            await client.initialize()
            session = await client.new(workspace)
            assert await client.prompt(session) == "end_turn"
            assert client.said() == "ok"
        assert hostile.requests == []
        said = [line for line in "".join(client.stderr).splitlines() if "ignored" in line]
        assert len(said) == 1, client.stderr
        assert str(folder) in said[0]
        assert KEY not in "".join(client.stderr)


@pytest.mark.live
@pytest.mark.timeout(180)
@pytest.mark.skipif(not os.environ.get("DEEPSEEK_API_KEY"), reason="needs DEEPSEEK_API_KEY")
async def test_deepseek_plans_three_steps(workspace: Path, home: Path):
    async with editor(home, env={"DEEPSEEK_API_KEY": os.environ["DEEPSEEK_API_KEY"]}) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(
            session,
            "Keep a task list of three steps while you do this: write a.txt with the word one, write b.txt "
            "with the word two, then read both back. Say DONE at the end.",
        )
        with anyio.fail_after(150):
            assert (await client.answered(request_id))["stopReason"] == "end_turn"
        assert client.plans(session)
    assert of_type(log_of(home, session), "todo/write")
