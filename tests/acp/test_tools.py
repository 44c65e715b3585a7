"""Tools as an editor sees them, and text that is not as it should be."""

from pathlib import Path

import pytest

from tests.acp.conftest import DONE, Play, call, log_of, of_type

pytestmark = pytest.mark.anyio


async def test_a_command_streams_its_output_into_its_card(play: Play, workspace: Path):
    command = "echo first; while [ ! -e go ]; do read -t 0.05 < /dev/zero || :; done; echo second"
    async with play([call("bash", command=command)], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.until(
            lambda f: "first" in str(f.get("params", {}).get("update", {}).get("content", "")),
            "the first line",
        )
        assert "second" not in str([u.get("content") for u in client.updates()])
        (workspace / "go").touch()
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
        card = await client.update("tool_call_update", status="completed")
        assert "first\nsecond" in card["content"][-1]["content"]["text"]


async def test_an_edit_shows_its_diff_with_absolute_paths(play: Play, workspace: Path):
    (workspace / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    steps = (
        [call("read", "1", file_path="a.txt")],
        [call("edit", "2", file_path="a.txt", old_string="two", new_string="three")],
        DONE,
    )
    async with play(*steps) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        done = await client.update("tool_call_update", toolCallId="2", status="completed")
        assert done["content"] == [
            {
                "type": "diff",
                "path": str(workspace / "a.txt"),
                "oldText": "one\ntwo\n",
                "newText": "one\nthree\n",
            }
        ]
        begun = await client.update("tool_call", toolCallId="2")
        assert begun["kind"] == "edit"
        assert begun["locations"][0]["path"] == str(workspace / "a.txt")
        live = [u for u in client.updates() if u["sessionUpdate"] == "tool_call"]
        live_ends = [u for u in client.updates() if u.get("status") == "completed"]
        start = len(client.frames)
        await client.load(session, workspace)
        assert [u for u in client.updates(start=start) if u["sessionUpdate"] == "tool_call"] == live
        assert [u for u in client.updates(start=start) if u.get("status") == "completed"] == live_ends


async def test_a_file_with_cr_lf_keeps_it(play: Play, workspace: Path):
    (workspace / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    steps = (
        [call("read", "1", file_path="a.txt")],
        [call("edit", "2", file_path="a.txt", old_string="one\ntwo", new_string="one\n2")],
        DONE,
    )
    async with play(*steps, mode="accept-edits") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert (workspace / "a.txt").read_bytes() == b"one\r\n2\r\n"


async def test_bytes_that_are_no_text_become_replacement_characters(play: Play, workspace: Path, home: Path):
    command = r"printf 'a\xed\xa0\x80b\xffc'"
    async with play([call("bash", command=command)], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    (result,) = of_type(log_of(home, session), "tool/result")
    text = result["content"][0]["text"]
    assert text.startswith("a\ufffd")
    assert text.rstrip().endswith("\ufffdc")


async def test_a_lone_surrogate_in_a_call_is_replaced(play: Play, workspace: Path, home: Path):
    item = {"call": {"id": "c1", "name": "write", "arguments": '{"file_path": "x", "content": "a\\ud800b"}'}}
    async with play([item], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert (workspace / "x").read_text(encoding="utf-8") == "a\ufffdb"


async def test_a_command_that_floods_its_output_stays_in_small_lines_and_is_kept(
    play: Play, workspace: Path, home: Path
):
    async with play([call("bash", command="yes 0123456789 | head -c 3000000")], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    (result,) = of_type(log_of(home, session), "tool/result")
    assert len(result["content"][0]["text"]) < 60_000
    progress = of_type(log_of(home, session), "tool/progress")
    assert sum(len(event["text"]) for event in progress) <= 64 * 1024


async def test_big_arguments_and_files_stay_in_small_lines(play: Play, workspace: Path):
    big = "\x01é" * 200_000
    items = [
        call("write", "1", file_path="big.txt", content=big),
        call(
            "todo_write",
            "2",
            todos=[{"content": f"{n} {'x' * 400}", "status": "pending"} for n in range(300)],
        ),
    ]
    async with play(items, [call("read", "3", file_path="big.txt")], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert len(client.plans()[0]) == 300
    assert (workspace / "big.txt").read_text(encoding="utf-8") == big


async def test_calls_that_only_read_run_side_by_side_and_answer_in_order(
    play: Play, workspace: Path, home: Path
):
    for name in "abc":
        (workspace / name).write_text(name, encoding="utf-8")
    items = [call("read", name, file_path=name) for name in "abc"]
    async with play(items, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    kinds = [
        (event["type"], event["data"]["callId"])
        for event in log_of(home, session)
        if event["type"] in ("tool/call", "tool/result")
    ]
    assert kinds == [("tool/call", n) for n in "abc"] + [("tool/result", n) for n in "abc"]


async def test_calls_that_change_run_one_after_the_other(play: Play, workspace: Path, home: Path):
    items = [call("bash", str(n), command=f"echo {n} >> order; cat order") for n in range(3)]
    async with play(items, DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    kinds = [e["type"] for e in log_of(home, session) if e["type"] in ("tool/call", "tool/result")]
    assert kinds == ["tool/call", "tool/result"] * 3
    assert (workspace / "order").read_text(encoding="utf-8") == "0\n1\n2\n"


async def test_the_environment_of_a_command_holds_no_secret(play: Play, workspace: Path):
    env = {"DEEPSEEK_API_KEY": "s3cret-value", "MY_TOKEN": "s3cret-value", "PLAIN": "plain-value"}
    async with play([call("bash", command="env")], DONE, mode="full", env=env) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        shown = str(client.frames)
        assert "plain-value" in shown
        assert "s3cret-value" not in shown


async def test_the_step_limit_ends_the_turn(play: Play, workspace: Path, home: Path):
    home.mkdir()
    (home / "settings.toml").write_text("[limits]\nsteps = 2\n", encoding="utf-8")
    async with play(*([call("glob", str(n), pattern="*")] for n in range(3))) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "max_turn_requests"


async def test_endless_paths_and_ids_stay_out_of_the_lines(play: Play, workspace: Path, home: Path):
    """The editor's harness fails on any line of 64 KB."""
    items = [
        call("read", "i" * 70_000, file_path="a/" * 30_000),
        call("glob", "g", pattern="*", path="b" * 70_000),
    ]
    async with play(items, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    codes = [result["error"]["code"] for result in of_type(log_of(home, session), "tool/result")]
    assert codes == ["INVALID_ARGS"] * 2


async def test_a_session_whose_log_is_deleted_does_nothing_more(play: Play, workspace: Path, home: Path):
    """No effect without its record."""
    import shutil

    from tests.editor import Refused

    async with play(DONE, [call("write", file_path="x", content="y")], DONE, mode="full") as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        shutil.rmtree(home / "sessions")
        with pytest.raises(Refused) as refused:
            await client.prompt(session)
        assert "deleted" in refused.value.details
        assert refused.value.data["code"] == "STORAGE"
    assert not (workspace / "x").exists()


async def test_what_is_said_again_is_another_message(play: Play, workspace: Path):
    async with play([{"reasoning": "first"}], [{"reasoning": "second"}, *DONE]) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        thoughts = [each for each in client.updates() if each["sessionUpdate"] == "agent_thought_chunk"]
        assert [each["content"]["text"] for each in thoughts] == ["first", "second"]
        assert thoughts[0]["messageId"] != thoughts[1]["messageId"]
