"""Sessions: made, listed, loaded, closed, several at once, each with its own."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import DONE, Play, call, log_of, of_type
from tests.editor import Editor, Refused

pytestmark = pytest.mark.anyio


async def listed(client: Editor, **params: str) -> list[str]:
    return [entry["sessionId"] for entry in (await client.request("session/list", params))["sessions"]]


async def test_what_is_advertised_is_what_there_is(play: Play):
    async with play(DONE) as client:
        result = await client.initialize()
        assert result["agentInfo"]["name"] == "wayline"
        assert result["agentCapabilities"] == {
            "loadSession": True,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {"list": {}, "close": {}},
        }
        assert [method["id"] for method in result["authMethods"]] == ["api-key"]
        assert await client.request("authenticate", {"methodId": "api-key"}) == {}


async def test_a_new_session_brings_its_options_and_no_update_before_its_answer(play: Play, workspace: Path):
    async with play(DONE, mode="plan") as client:
        await client.initialize()
        result = await client.request("session/new", {"cwd": str(workspace), "mcpServers": []})
        assert client.updates() == []
        assert result["modes"]["currentModeId"] == "plan"
        assert [mode["id"] for mode in result["modes"]["availableModes"]] == [
            "ask",
            "accept-edits",
            "plan",
            "full",
        ]
        mode, model = result["configOptions"]
        assert (mode["id"], mode["category"], mode["currentValue"]) == ("mode", "mode", "plan")
        assert (model["id"], model["category"]) == ("model", "model")
        assert "deepseek" in [group["group"] for group in model["options"]]
        await client.update("available_commands_update")


async def test_a_session_is_listed_once_it_was_prompted_newest_first(play: Play, tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with play(DONE) as client:
        await client.initialize()
        first, second, never = await client.new(one), await client.new(two), await client.new(two)
        assert await listed(client) == []
        await client.prompt(first, "the first\nand more")
        await client.prompt(second, "the second")
        assert await listed(client) == [second, first]
        assert await listed(client, cwd=str(one)) == [first]
        (entry,) = (await client.request("session/list", {"cwd": f"{one}/"}))["sessions"]
        assert entry["title"] == "the first"
        assert entry["cwd"] == str(one)
        await client.load(never, two)


async def test_the_list_comes_in_pages(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        sessions = [await client.new(workspace) for _ in range(53)]
        for session in sessions:
            await client.prompt(session, "x" * 200)
        first = await client.request("session/list", {})
        assert len(first["sessions"]) == 50
        rest = await client.request("session/list", {"cursor": first["nextCursor"]})
        assert "nextCursor" not in rest
        ids = [entry["sessionId"] for entry in first["sessions"] + rest["sessions"]]
        assert ids == list(reversed(sessions))


async def test_whatever_the_log_does_not_take_has_one_code(play: Play, workspace: Path, home: Path):
    """A log with an event of the future is only read; one without a header not even that."""
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
    (log,) = home.glob("sessions/*/*/log.jsonl")
    whole = log.read_bytes()
    future = {"type": "x/new", "seq": len(whole.splitlines()) - 1, "time": 1, "data": {}}
    log.write_bytes(whole + json.dumps(future).encode() + b"\n")
    async with play(DONE) as client:
        await client.initialize()
        await client.load(session, workspace)
        asked: list[tuple[str, dict[str, Any]]] = [
            ("session/prompt", {"prompt": [{"type": "text", "text": "go"}]}),
            ("session/set_mode", {"modeId": "plan"}),
            ("session/set_config_option", {"configId": "mode", "value": "plan"}),
        ]
        for method, params in asked:
            with pytest.raises(Refused, match="only be read") as refused:
                await client.request(method, {"sessionId": session, **params})
            assert refused.value.data["code"] == "STORAGE"
        await client.request("session/close", {"sessionId": session})
        log.write_bytes(b"{}\n")
        with pytest.raises(Refused, match="cannot be opened") as refused:
            await client.load(session, workspace)
        assert refused.value.data["code"] == "STORAGE"
        shutil.rmtree(home / "sessions")
        (home / "sessions").write_text("no folder", encoding="utf-8")
        with pytest.raises(Refused, match="cannot be made") as refused:
            await client.new(workspace)
        assert refused.value.data["code"] == "STORAGE"


async def test_a_damaged_log_is_named_and_breaks_nothing(play: Play, workspace: Path, home: Path):
    async with play(DONE, DONE) as client:
        await client.initialize()
        good, bad = await client.new(workspace), await client.new(workspace)
        await client.prompt(good)
        await client.prompt(bad)
        (path,) = home.glob(f"sessions/*/{bad}/log.jsonl")
        lines = path.read_bytes().splitlines(keepends=True)
        lines[2] = b"rubbish\n"
        path.write_bytes(b"".join(lines))
        await client.request("session/close", {"sessionId": bad})
        result = await client.request("session/list", {})
        assert [entry["sessionId"] for entry in result["sessions"]] == [good]
        (damaged,) = result["_meta"]["wayline"]["damaged"]
        assert damaged["sessionId"] == bad
        assert "line 3" in damaged["reason"]
        with pytest.raises(Refused) as refused:
            await client.load(bad, workspace)
        assert refused.value.code == -32603
        assert "line 3" in refused.value.details
        assert await client.prompt(good) == "end_turn"
    assert path.read_bytes() == b"".join(lines)


async def test_a_load_needs_the_folder_the_session_was_started_in(
    play: Play, workspace: Path, tmp_path: Path
):
    link = tmp_path / "link"
    link.symlink_to(workspace)
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(link)
        await client.prompt(session)
    async with play(DONE) as client:
        await client.initialize()
        with pytest.raises(Refused) as refused:
            await client.load(session, tmp_path)
        assert refused.value.code == -32602
        assert str(workspace) in refused.value.details
        for cwd in (link, workspace, Path(f"{workspace}/")):
            await client.load(session, cwd)
        assert client.said() == "DONE" * 3


async def test_a_load_during_a_turn_shows_it_up_to_now_and_then_goes_on(play: Play, workspace: Path):
    slow = [{"deltas": ["one ", "two "]}, {"pause": 1.0}, {"text": "three"}]
    async with play(slow) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.until(lambda f: "two" in str(f), "the first words")
        start = len(client.frames)
        await client.load(session, workspace)
        loaded = len(client.frames)
        assert client.said(start=start) == "one two "
        await client.answered(request_id)
        assert client.said(start=loaded) == "three"


async def test_closed_and_loaded_again_it_goes_on(play: Play, workspace: Path, home: Path):
    async with play([{"text": "one"}], [{"text": "two"}]) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session, "first")
        assert await client.request("session/close", {"sessionId": session}) == {}
        with pytest.raises(Refused) as refused:
            await client.prompt(session)
        assert refused.value.code == -32002
        await client.load(session, workspace)
        start = len(client.frames)
        await client.prompt(session, "second")
        assert client.said(start=start) == "two"
    assert [end["reason"]["kind"] for end in of_type(log_of(home, session), "turn/end")] == ["completed"] * 2


async def test_a_close_during_a_turn_ends_it(play: Play, workspace: Path, home: Path):
    async with play([{"text": "so "}, {"hang": True}]) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.update("agent_message_chunk")
        await client.request("session/close", {"sessionId": session})
        assert (await client.answered(request_id))["stopReason"] == "cancelled"
    reason = of_type(log_of(home, session), "turn/end")[0]["reason"]
    assert reason == {"kind": "aborted", "reason": "the session was closed"}


async def test_a_prompt_sent_right_behind_its_load_finds_the_session(play: Play, workspace: Path):
    async with play([{"text": "one"}], [{"text": "two"}]) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
    async with play([{"text": "one"}], [{"text": "two"}]) as client:
        params = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        await client.begin("initialize", {"protocolVersion": 1})
        await client.begin("session/load", params)
        assert await client.prompt(session) == "end_turn"
        assert client.said().endswith("two")


async def test_options_are_set_told_and_kept(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"}) == {}
        await client.update("current_mode_update", currentModeId="plan")
        await client.update("config_option_update")
        result = await client.request(
            "session/set_config_option",
            {"sessionId": session, "configId": "model", "value": "deepseek/deepseek-v4-pro"},
        )
        values = {option["id"]: option["currentValue"] for option in result["configOptions"]}
        assert values == {"mode": "plan", "model": "deepseek/deepseek-v4-pro"}
        with pytest.raises(Refused) as refused:
            await client.prompt(session)
        assert refused.value.code == -32000
        assert "DEEPSEEK_API_KEY" in refused.value.details
        await client.request("session/close", {"sessionId": session})
        result = await client.load(session, workspace)
        values = {option["id"]: option["currentValue"] for option in result["configOptions"]}
        assert values == {"mode": "plan", "model": "deepseek/deepseek-v4-pro"}


async def test_mcp_servers_are_taken_and_named_as_not_started(play: Play, workspace: Path):
    async with play(DONE, DONE) as client:
        await client.initialize()
        server = {"name": "files", "command": "/bin/false", "args": [], "env": []}
        session = (await client.request("session/new", {"cwd": str(workspace), "mcpServers": [server]}))[
            "sessionId"
        ]
        await client.prompt(session)
        assert "files" in client.said()
        start = len(client.frames)
        await client.prompt(session)
        assert client.said(start=start) == "DONE"
        await client.request("session/new", {"cwd": str(workspace), "mcpServers": "?"})
        await client.request("session/new", {"cwd": str(workspace)})


async def test_links_and_embedded_text_reach_the_model(play: Play, workspace: Path, home: Path):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        prompt = [
            {"type": "text", "text": "look at"},
            {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"},
            {"type": "resource", "resource": {"uri": "file:///b.py", "text": "print(1)"}},
        ]
        await client.request("session/prompt", {"sessionId": session, "prompt": prompt})
    (message,) = of_type(log_of(home, session), "user/message")
    assert [block["text"] for block in message["content"]] == [
        "look at",
        "[a.py](file:///a.py)",
        '<resource uri="file:///b.py">\nprint(1)\n</resource>',
    ]


async def test_twenty_sessions_stream_at_once_and_never_mix(play: Play, tmp_path: Path, home: Path):
    async with play(
        [call("bash", command="pwd > where.txt")], [{"text": "words " * 200}], mode="full"
    ) as client:
        await client.initialize()
        folders = [tmp_path / f"w{number}" for number in range(20)]
        for folder in folders:
            folder.mkdir()
        sessions = [await client.new(folder) for folder in folders]
        prompts = [await client.begin_prompt(session, f"prompt {n}") for n, session in enumerate(sessions)]
        for request_id in prompts:
            assert (await client.answered(request_id))["stopReason"] == "end_turn"
        for number, (folder, session) in enumerate(zip(folders, sessions, strict=True)):
            assert client.said(session) == "words " * 200
            assert (folder / "where.txt").read_text(encoding="utf-8").strip() == str(folder)
            (message,) = of_type(log_of(home, session), "user/message")
            assert message["content"][0]["text"] == f"prompt {number}"


async def test_a_load_that_is_cancelled_leaves_the_session_usable(play: Play, workspace: Path):
    """The load of a long session is withdrawn while its transcript is on the way."""
    async with play([{"text": "words " * 400_000}], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        start = len(client.frames)
        params = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        request_id = await client.begin("session/load", params)
        await client.notify("$/cancel_request", {"requestId": request_id})
        with pytest.raises(Refused) as refused:
            await client.answered(request_id)
        assert refused.value.code == -32800
        assert client.said(start=start) != "words " * 400_000
        assert await client.prompt(session) == "end_turn"


async def test_a_prompt_behind_a_load_that_fails_is_told_so(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        params = {"sessionId": "nope", "cwd": str(workspace), "mcpServers": []}
        load = await client.begin("session/load", params)
        prompt = await client.begin_prompt("nope", "go")
        for request_id in (load, prompt):
            with pytest.raises(Refused) as refused:
                await client.answered(request_id)
            assert refused.value.code == -32002
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"


async def test_two_processes_do_not_write_one_session(play: Play, workspace: Path):
    async with play(DONE, DONE) as first:
        await first.initialize()
        session = await first.new(workspace)
        assert await first.prompt(session) == "end_turn"
        async with play(DONE, DONE) as second:
            await second.initialize()
            with pytest.raises(Refused) as refused:
                await second.load(session, workspace)
            assert refused.value.data["code"] == "HELD_ELSEWHERE"
            assert refused.value.data["pid"] == first.process.pid
            listed = await second.request("session/list", {})
            assert [entry["sessionId"] for entry in listed["sessions"]] == [session]
            own = await second.new(workspace)
            assert await second.prompt(own) == "end_turn"
            await first.request("session/close", {"sessionId": session})
            await second.load(session, workspace)
            assert await second.prompt(session) == "end_turn"
