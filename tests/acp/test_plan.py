"""The plan: one for each write, in its place, and again when the session is loaded."""

import json
from pathlib import Path

import pytest

from tests.acp.conftest import DONE, Play, call, log_of, of_type, todos
from tests.editor import Editor, editor

pytestmark = pytest.mark.anyio

THREE = (("read the code", "in_progress"), ("write the fix", "pending"), ("run the tests", "pending"))
LOGS = Path(__file__).parents[3] / "shared" / "recorded-logs"


def entries(*items: tuple[str, str]) -> list[dict[str, str]]:
    return [{"content": text, "priority": "medium", "status": status} for text, status in items]


def kinds_around_the_plan(client: Editor) -> list[str]:
    kinds = [update["sessionUpdate"] for update in client.updates()]
    first = kinds.index("tool_call")
    return kinds[first : first + 3]


async def test_a_write_sends_the_plan_between_the_call_and_its_result(
    play: Play, workspace: Path, home: Path
):
    async with play([todos(*THREE)], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert kinds_around_the_plan(client) == ["tool_call", "plan", "tool_call_update"]
        assert client.plans() == [entries(*THREE)]
        card = await client.update("tool_call")
        assert (card["title"], card["kind"], card["status"]) == ("Update todo list", "other", "in_progress")
        assert (await client.update("tool_call_update"))["status"] == "completed"
    written = of_type(log_of(home, session), "todo/write")
    assert written == [{"todos": [{"content": text, "status": status} for text, status in THREE]}]
    assert "medium" not in json.dumps(log_of(home, session))


async def test_the_plan_is_on_the_wire_before_the_answer_and_nothing_after_it(play: Play, workspace: Path):
    async with play([todos(*THREE)], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.update("available_commands_update")
        request_id = await client.begin_prompt(session, "go")
        await client.answered(request_id)
        last = client.frames[-1]
        assert last.get("id") == request_id, last


async def test_a_fresh_process_loads_the_transcript_and_exactly_one_plan(
    play: Play, workspace: Path, home: Path
):
    later = (("read the code", "completed"), ("write the fix", "in_progress"))
    steps = ([todos(*THREE)], [todos(*later, call_id="t2")], DONE)
    async with play(*steps) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session, "do three things")
        assert client.plans() == [entries(*THREE), entries(*later)]
    before = log_of(home, session)
    async with play(*steps) as client:
        await client.initialize()
        await client.load(session, workspace)
        kinds = [update["sessionUpdate"] for update in client.updates()]
        assert kinds.count("plan") == 1
        assert client.plans() == [entries(*later)]
        assert kinds.index("plan") == len(kinds) - 1
        assert kinds[0] == "user_message_chunk"
        assert client.said() == "DONE"
        assert kinds.count("tool_call") == kinds.count("tool_call_update") == 2
        await client.load(session, workspace)
        assert client.plans() == [entries(*later)] * 2
    assert log_of(home, session) == before


async def test_an_empty_list_clears_the_plan_live_and_on_load(play: Play, workspace: Path):
    steps = ([todos(*THREE)], [todos(call_id="t2")], DONE)
    async with play(*steps) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        assert client.plans()[-1] == []
    async with play(*steps) as client:
        await client.initialize()
        await client.load(session, workspace)
        assert client.plans() == [[]]


async def test_a_session_without_a_list_loads_without_a_plan(play: Play, workspace: Path):
    async with play(DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
    async with play(DONE) as client:
        await client.initialize()
        await client.load(session, workspace)
        assert client.plans() == []
        assert client.said() == "DONE"


async def test_the_same_list_written_twice_is_sent_twice(play: Play, workspace: Path):
    async with play([todos(*THREE)], [todos(*THREE, call_id="t2")], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        assert client.plans() == [entries(*THREE)] * 2


@pytest.mark.parametrize(
    "bad",
    [
        [{"content": " ", "status": "pending"}],
        [{"content": "a", "status": "pending"}, {"content": " a ", "status": "pending"}],
        [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}],
        [{"content": "a", "status": "done"}],
        [{"content": "a", "status": "pending", "priority": "high"}],
        [{"content": "a"}],
    ],
)
async def test_a_refused_write_sends_no_plan_and_leaves_the_list(
    play: Play, workspace: Path, home: Path, bad: list[dict[str, str]]
):
    async with play([todos(*THREE)], [call("todo_write", "t2", todos=bad)], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert client.plans() == [entries(*THREE)]
        assert (await client.update("tool_call_update", toolCallId="t2"))["status"] == "failed"
    assert len(of_type(log_of(home, session), "todo/write")) == 1


async def test_switched_off_for_a_model_it_is_not_offered_and_the_person_is_told_once(
    play: Play, workspace: Path, home: Path, tmp_path: Path
):
    home.mkdir()
    (home / "settings.toml").write_text(
        f'[todo.models]\n"scripted:{tmp_path / "script.jsonl"}" = false\n', encoding="utf-8"
    )
    async with play([todos(*THREE)], DONE, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert "task list is off" in client.said()
        assert client.plans() == []
        start = len(client.frames)
        await client.prompt(session)
        assert "task list is off" not in client.said(start=start)
    events = log_of(home, session)
    assert of_type(events, "tool/result")[0]["error"]["code"] == "UNKNOWN_TOOL"
    (header,) = of_type(events, "request/header")
    assert "todo_write" not in json.dumps(header)


async def test_two_sessions_at_once_never_mix_their_plans(play: Play, tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with play([todos(*THREE)], DONE) as client:
        await client.initialize()
        first, second = await client.new(one), await client.new(two)
        prompts = [await client.begin_prompt(first, "a"), await client.begin_prompt(second, "b")]
        for request_id in prompts:
            assert (await client.answered(request_id))["stopReason"] == "end_turn"
        assert client.plans(first) == client.plans(second) == [entries(*THREE)]
        assert client.said(first) == client.said(second) == "DONE"


@pytest.mark.skipif(not LOGS.is_dir(), reason="the recorded logs are not here")
@pytest.mark.parametrize("name", ["plan", "shell", "edit"])
async def test_a_recorded_log_replays_through_the_real_tools(name: str, workspace: Path, home: Path):
    (workspace / "config.txt").write_text("mode=DEBUG\nlevel=info\n", encoding="utf-8")
    async with editor(home, "--model", f"replay:{LOGS / name}.jsonl") as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert client.said(session).endswith("DONE")
        if name == "plan":
            assert client.plans() == [entries(*THREE)]
            assert kinds_around_the_plan(client) == ["tool_call", "plan", "tool_call_update"]
        if name == "edit":
            assert (workspace / "config.txt").read_text(encoding="utf-8") == "mode=RELEASE\nlevel=info\n"
    if name == "shell":
        (result,) = of_type(log_of(home, session), "tool/result")
        assert "SNAPSHOT_OK" in result["content"][0]["text"]
