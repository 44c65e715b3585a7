"""Whatever comes in, the answer says what was wrong, and the next request works."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import DONE, Play, call, log_of, of_type
from tests.editor import Editor, Refused

pytestmark = pytest.mark.anyio


async def still_works(client: Editor, workspace: Path) -> None:
    session = await client.new(workspace)
    assert await client.prompt(session) == "end_turn"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"', -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]', -32600),
        (b"42", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "1.0", "id": null, "method": "initialize"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "initialize"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": 7}', -32600),
    ],
)
async def test_a_line_that_is_no_request_gets_an_error_with_id_null(
    play: Play, workspace: Path, line: bytes, code: int
):
    async with play(DONE) as client:
        await client.initialize()
        await client.send_line(line)
        frame = await client.until(lambda frame: frame.get("error", {}).get("code") == code, "the error")
        assert frame["id"] is None
        await still_works(client, workspace)


@pytest.mark.parametrize(
    ("method", "params", "code", "path"),
    [
        ("no/such", {}, -32601, None),
        ("initialize", {}, -32602, "params"),
        ("initialize", {"protocolVersion": "one"}, -32602, "params.protocolVersion"),
        ("initialize", {"protocolVersion": -1}, -32602, "params.protocolVersion"),
        ("initialize", None, -32602, "params"),
        ("authenticate", {"methodId": "magic"}, -32602, "params.methodId"),
        ("session/new", {"mcpServers": []}, -32602, "params"),
        ("session/new", {"cwd": 7, "mcpServers": []}, -32602, "params.cwd"),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602, "params.cwd"),
        ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}, -32602, "params.cwd"),
        ("session/new", {"cwd": "/a\0b", "mcpServers": []}, -32602, "params.cwd"),
        (
            "session/new",
            {"cwd": "/", "additionalDirectories": ["/x"]},
            -32602,
            "params.additionalDirectories",
        ),
        ("session/load", {"sessionId": "nope", "cwd": "/", "mcpServers": []}, -32002, None),
        ("session/load", {"sessionId": "../..", "cwd": "/", "mcpServers": []}, -32002, None),
        ("session/load", {"cwd": "/", "mcpServers": []}, -32602, "params"),
        ("session/prompt", {"sessionId": "nope", "prompt": [{"type": "text", "text": "x"}]}, -32002, None),
        ("session/close", {"sessionId": "nope"}, -32002, None),
        ("session/set_mode", {"sessionId": "nope", "modeId": "ask"}, -32002, None),
        (
            "session/set_config_option",
            {"sessionId": "nope", "configId": "mode", "value": "ask"},
            -32002,
            None,
        ),
        ("session/list", {"cursor": "rubbish"}, -32602, "params.cursor"),
        ("session/list", {"cwd": "relative"}, -32602, "params.cwd"),
    ],
)
async def test_a_request_that_does_not_fit_says_where(
    play: Play, workspace: Path, method: str, params: Any, code: int, path: str | None
):
    async with play(DONE) as client:
        await client.initialize()
        with pytest.raises(Refused) as refused:
            await client.request(method, params)
        assert refused.value.code == code
        assert refused.value.details
        if path is not None:
            assert refused.value.data["path"] == path
        await still_works(client, workspace)


@pytest.mark.parametrize(
    "prompt",
    [
        [],
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": " \n"}],
        [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}],
        [{"type": "hologram"}],
        [{"type": "text"}],
        [{"type": "resource", "resource": {"uri": "file:///x", "blob": "AA=="}}],
        "hello",
    ],
)
async def test_a_prompt_that_cannot_be_taken_is_refused_and_leaves_no_turn(
    play: Play, workspace: Path, home: Path, prompt: Any
):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        with pytest.raises(Refused) as refused:
            await client.request("session/prompt", {"sessionId": session, "prompt": prompt})
        assert refused.value.code == -32602
        assert log_of(home, session) == []
        assert await client.prompt(session) == "end_turn"


async def test_unknown_values_of_options_are_refused_with_the_known_ones(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("session/set_mode", {"modeId": "yolo"}),
            ("session/set_config_option", {"configId": "mode", "value": "yolo"}),
            ("session/set_config_option", {"configId": "model", "value": "yolo"}),
            ("session/set_config_option", {"configId": "colour", "value": "red"}),
            ("session/set_config_option", {"configId": "mode", "value": True, "type": "boolean"}),
        ]
        for method, params in wrong:
            with pytest.raises(Refused) as refused:
                await client.request(method, {"sessionId": session, **params})
            assert refused.value.code == -32602
        assert await client.prompt(session) == "end_turn"


async def test_ids_come_back_as_they_came(play: Play):
    async with play(DONE) as client:
        for request_id in ["seven", 7, 0, -1, 2**53, "", "ünï"]:
            await client.begin("initialize", {"protocolVersion": 1}, request_id)
            assert (await client.answered(request_id))["protocolVersion"] == 1
        await client.send_line(b'{"jsonrpc": "2.0", "id": null, "method": "no/such"}')
        frame = await client.until(lambda frame: frame.get("error", {}).get("code") == -32601, "the error")
        assert frame["id"] is None


async def test_any_version_is_answered_with_the_latest_spoken(play: Play):
    async with play(DONE) as client:
        for version in [0, 1, 2, 65535]:
            result = await client.request(
                "initialize", {"protocolVersion": version, "clientCapabilities": "?"}
            )
            assert result["protocolVersion"] == 1


async def test_notifications_and_answers_to_nothing_are_ignored(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        await client.notify("no/such", {"a": 1})
        await client.notify("session/cancel", {"sessionId": "nope"})
        await client.notify("session/cancel", {})
        await client.notify("$/cancel_request", {"requestId": 99})
        await client.notify("$/cancel_request", {"requestId": {}})
        await client.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        await client.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}})
        await client.send({"jsonrpc": "2.0", "id": {}, "error": "?"})
        await still_works(client, workspace)
        assert not [frame for frame in client.frames if "error" in frame]


async def test_a_prompt_of_5_mb_is_kept_whole_and_comes_back_in_small_lines(
    play: Play, workspace: Path, home: Path
):
    text = ("räksmörgås " * 500_000)[:5_000_000]
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session, text) == "end_turn"
    (message,) = of_type(log_of(home, session), "user/message")
    assert message["content"][0]["text"] == text
    async with play(DONE) as client:
        await client.initialize()
        await client.load(session, workspace)
        chunks = [u for u in client.updates() if u["sessionUpdate"] == "user_message_chunk"]
        assert "".join(chunk["content"]["text"] for chunk in chunks) == text
        assert len({chunk["messageId"] for chunk in chunks}) == 1


async def test_an_answer_of_300_kb_without_a_newline_arrives_whole(play: Play, workspace: Path):
    answer = 'x"\x01é' * 75_000
    async with play([{"text": answer}]) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert client.said(session) == answer
    async with play(DONE) as client:
        await client.initialize()
        await client.load(session, workspace)
        assert client.said(session) == answer


async def test_lone_surrogates_in_a_prompt_become_replacement_characters(
    play: Play, workspace: Path, home: Path
):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session, "a\ud800b") == "end_turn"
    (message,) = of_type(log_of(home, session), "user/message")
    assert message["content"][0]["text"] == "a\ufffdb"


async def test_lines_that_end_in_cr_lf_are_taken(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.begin("initialize", {"protocolVersion": 1}, "warm")
        frame = {"jsonrpc": "2.0", "id": "crlf", "method": "initialize", "params": {"protocolVersion": 1}}
        client.expect("crlf", "initialize")
        await client.send_line(json.dumps(frame).encode() + b"\r")
        assert (await client.answered("crlf"))["protocolVersion"] == 1


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (call("teleport"), "UNKNOWN_TOOL"),
        (call(""), "UNKNOWN_TOOL"),
        ({"call": {"id": "c1", "name": "read", "arguments": "{not json"}}, "INVALID_ARGS"),
        ({"call": {"id": "c1", "name": "read", "arguments": "[]"}}, "INVALID_ARGS"),
        (call("read"), "INVALID_ARGS"),
        (call("read", file_path="x", colour="red"), "INVALID_ARGS"),
        (call("read", file_path="missing.txt"), "TOOL_FAILED"),
    ],
)
async def test_a_call_that_cannot_be_run_is_an_error_the_model_reads(
    play: Play, workspace: Path, home: Path, item: dict[str, Any], code: str
):
    async with play([item], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert (await client.update("tool_call_update"))["status"] == "failed"
    (result,) = of_type(log_of(home, session), "tool/result")
    assert result["isError"] is True
    assert result["error"]["code"] == code
    assert result["content"][0]["text"]


async def test_two_calls_with_one_id_become_two_cards(play: Play, workspace: Path, home: Path):
    (workspace / "a").write_text("A", encoding="utf-8")
    (workspace / "b").write_text("B", encoding="utf-8")
    same = [call("read", "same", file_path="a"), call("read", "same", file_path="b")]
    async with play(same, [call("read", "same", file_path="a")], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        begun = [u["toolCallId"] for u in client.updates() if u["sessionUpdate"] == "tool_call"]
        ended = [u["toolCallId"] for u in client.updates() if u["sessionUpdate"] == "tool_call_update"]
        assert begun == ended
        assert len(set(begun)) == 3
    results = of_type(log_of(home, session), "tool/result")
    assert [("A" in str(r["content"]), "B" in str(r["content"])) for r in results[:2]] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    "arguments", ["[" * 1_000, "[" * 1_000 + "]" * 1_000, '{"file_path":' + '{"a":' * 600 + "1" + "}" * 601]
)
async def test_arguments_without_a_bottom_end_one_call_and_the_log_loads(
    play: Play, workspace: Path, arguments: str
):
    step = [{"call": {"id": "c1", "name": "read", "arguments": arguments}}]
    async with play(step, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        card = await client.update("tool_call_update", status="failed")
        assert card["rawOutput"]["error"] == "INVALID_ARGS"
    async with play() as client:
        await client.initialize()
        await client.load(session, workspace)
        assert client.said(session) == "DONE"


@pytest.mark.parametrize("time", [10**18, -(10**18), 10**30])
async def test_a_log_of_another_age_is_listed_and_loads(play: Play, workspace: Path, home: Path, time: int):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
    (path,) = home.glob("sessions/*/*/log.jsonl")
    head, last = path.read_text(encoding="utf-8").rstrip("\n").rsplit("\n", 1)
    event = json.loads(last)
    path.write_text(f"{head}\n{json.dumps({**event, 'time': time})}\n", encoding="utf-8")
    async with play() as client:
        await client.initialize()
        await client.new(workspace)
        listed = await client.request("session/list", {})
        known = [entry["sessionId"] for entry in listed["sessions"]]
        damaged = [
            entry["sessionId"] for entry in listed.get("_meta", {}).get("wayline", {}).get("damaged", [])
        ]
        assert session in known + damaged
        if session in known:
            await client.load(session, workspace)
            assert client.said(session) == "DONE"


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("session/new", {"cwd": "/" + "a" * 5_000, "mcpServers": []}, "params.cwd"),
        ("session/list", {"cursor": "9" * 5_000 + ":x"}, "params.cursor"),
    ],
)
async def test_what_is_too_long_is_a_wrong_parameter(
    play: Play, workspace: Path, method: str, params: dict[str, Any], path: str
):
    async with play(DONE) as client:
        await client.initialize()
        with pytest.raises(Refused) as refused:
            await client.request(method, params)
        assert refused.value.code == -32602
        assert refused.value.data["path"] == path
        await still_works(client, workspace)


async def test_a_load_that_fails_on_its_way_leaves_nothing_open(play: Play, workspace: Path, home: Path):
    """Withdrawn in the middle of a long transcript."""
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session, "x" * 10_000_000)
    async with play(DONE) as client:
        await client.initialize()
        params = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        load = await client.begin("session/load", params)
        await client.update("user_message_chunk")
        await client.notify("$/cancel_request", {"requestId": load})
        with pytest.raises(Refused) as refused:
            await client.answered(load)
        assert refused.value.code == -32800
        with pytest.raises(Refused) as refused:
            await client.prompt(session)
        assert refused.value.code == -32002
        await client.load(session, workspace)
