"""What runs without asking, what is asked about, and what each answer does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import DONE, Play, call, log_of, of_type
from tests.editor import Editor, choose, no_answer

pytestmark = pytest.mark.anyio

WRITE = call("write", file_path="new.txt", content="hello\n")
RUN = call("bash", command="echo ran > ran.txt")


def questions(client: Editor) -> list[dict[str, Any]]:
    return [f["params"] for f in client.frames if f.get("method") == "session/request_permission"]


@pytest.mark.parametrize(
    ("mode", "item", "asked", "happens"),
    [
        ("ask", WRITE, True, True),
        ("ask", RUN, True, True),
        ("accept-edits", WRITE, False, True),
        ("accept-edits", RUN, True, True),
        ("plan", WRITE, False, False),
        ("plan", RUN, False, False),
        ("full", WRITE, False, True),
        ("full", RUN, False, True),
    ],
)
async def test_the_mode_decides(
    play: Play, workspace: Path, mode: str, item: dict[str, Any], asked: bool, happens: bool
):
    async with play([item], DONE, mode=mode) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert bool(questions(client)) is asked
    assert any(workspace.iterdir()) is happens


async def test_reading_inside_the_workspace_and_the_list_are_never_asked_about(play: Play, workspace: Path):
    (workspace / "a.txt").write_text("a", encoding="utf-8")
    items = [
        call("read", "1", file_path="a.txt"),
        call("glob", "2", pattern="*"),
        call("grep", "3", pattern="a"),
        call("todo_write", "4", todos=[]),
    ]
    async with play(items, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert questions(client) == []
        done = [u["status"] for u in client.updates() if u["sessionUpdate"] == "tool_call_update"]
        assert done == ["completed"] * 4


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "plan"])
async def test_whatever_lies_outside_the_workspace_is_asked_about_links_resolved(
    play: Play, workspace: Path, tmp_path: Path, mode: str
):
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (workspace / "link").symlink_to(tmp_path)
    items = [
        call("read", "1", file_path="link/secret.txt"),
        call("read", "2", file_path="../secret.txt"),
        call("read", "3", file_path=str(tmp_path / "secret.txt")),
        call("grep", "4", pattern="secret", path=".."),
    ]
    async with play(items, DONE, mode=mode, answer=choose("reject")) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert len(questions(client)) == 4
        assert "secret" not in client.said()
        done = [u["status"] for u in client.updates() if u.get("status") in ("completed", "failed")]
        assert done == ["failed"] * 4


@pytest.mark.parametrize("mode", ["ask", "accept-edits"])
async def test_a_write_through_a_link_that_leaves_the_workspace_is_asked_about(
    play: Play, workspace: Path, tmp_path: Path, mode: str
):
    (workspace / "link").symlink_to(tmp_path)
    item = call("write", file_path="link/out.txt", content="x")
    async with play([item], DONE, mode=mode, answer=choose("reject")) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        assert len(questions(client)) == 1
    assert not (tmp_path / "out.txt").exists()


async def test_the_question_carries_enough_to_decide_and_comes_after_its_card(play: Play, workspace: Path):
    async with play([RUN], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        assert question["toolCall"]["title"] == "echo ran > ran.txt"
        assert question["toolCall"]["kind"] == "execute"
        assert question["toolCall"]["rawInput"] == {"command": "echo ran > ran.txt"}
        assert [option["kind"] for option in question["options"]] == [
            "allow_once",
            "allow_always",
            "reject_once",
        ]
        assert "echo ran > ran.txt" in question["options"][1]["name"]
        kinds = [
            f.get("method") if "id" in f else f["params"]["update"].get("status")
            for f in client.frames
            if "method" in f
            and ("id" in f or f["params"]["update"]["sessionUpdate"] in ("tool_call", "tool_call_update"))
        ]
        assert kinds[:4] == ["in_progress", "pending", "session/request_permission", "in_progress"]


def texts(question: dict[str, Any]) -> list[str]:
    return [c["content"]["text"] for c in question["toolCall"].get("content", ()) if c["type"] == "content"]


HIDDEN = [
    ("echo hi\nrm -rf important", "echo hi …", "```\necho hi\nrm -rf important\n```"),
    (
        "echo safe" + " " * 150 + "; rm -rf important",
        "echo safe ; rm -rf important",
        "```\necho safe" + " " * 150 + "; rm -rf important\n```",
    ),
    (
        "echo safe #\rrm \x1b[2K\u202eimportant",
        "echo safe #\\rrm \\x1b[2K\\u202eimportant",
        "```\necho safe #\\rrm \\x1b[2K\\u202eimportant\n```",
    ),
    ("echo ```\nrm important", "echo ``` …", "~~~\necho ```\nrm important\n~~~"),
    ("x" * 230, "x" * 119 + "…", "```\n" + "x" * 230 + "\n```"),
]


@pytest.mark.parametrize(("command", "title", "card"), HIDDEN)
async def test_all_of_a_command_is_in_the_question(
    play: Play, workspace: Path, command: str, title: str, card: str
):
    async with play([call("bash", command=command)], DONE, answer=choose("reject")) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        (begun,) = [u for u in client.updates() if u["sessionUpdate"] == "tool_call"]
    for shown in (question["toolCall"], begun):
        assert shown["title"] == title
        assert texts({"toolCall": shown}) == [card]
    assert question["options"][1]["name"] == "Allow for this session: exactly this command"


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "x" * 17_000 + "\nrm -rf important" + " " * 2_000,
        "\U000e0041" * 2_000,
        "`" * 9_000 + "~" * 9_000,
        "\x01" * 100_000,
    ],
)
async def test_a_command_too_long_to_be_shown_says_so_and_is_allowed_once_at_most(
    play: Play, workspace: Path, command: str
):
    async with play([call("bash", command=command)], DONE, answer=choose("allow-session")) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        (card,) = texts(question)
        assert card.startswith(f"**This command is too long to be shown: it has {len(command)} characters.**")
        assert "It ends:" in card
        assert [option["optionId"] for option in question["options"]] == ["allow-once", "reject"]
        assert "was not offered" in json.dumps(client.updates())


@pytest.mark.parametrize("length", [1_000, 16_000])
async def test_a_long_command_stands_whole_beside_what_it_is_for(play: Play, workspace: Path, length: int):
    (workspace / "sub").mkdir()
    command = f"echo {'x' * length}\nprintf '%65536s' x"
    item = call("bash", command=command, description="why " * 5_000, workdir="sub")
    async with play([item], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        why, where, whole = texts(question)
        assert why.startswith("why why")
        assert where == "In sub"
        assert whole == f"```\n{command}\n```"
        last = [u for u in client.updates() if u.get("status") == "completed"][-1]
        assert texts({"toolCall": last})[:3] == [why, where, whole]


async def test_what_cannot_be_seen_in_a_path_is_shown(play: Play, workspace: Path):
    item = call("write", file_path="a\u202e\n.txt", content="x\n")
    async with play([item], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        assert question["toolCall"]["title"] == "Write a\\u202e\\n.txt"
        assert question["options"][1]["name"] == "Allow for this session: this tool, exactly this path"
        (diff,) = question["toolCall"]["content"]
        assert (diff["oldText"], diff["newText"]) == (None, "x\n")


async def test_the_question_about_an_edit_carries_its_diff(play: Play, workspace: Path):
    (workspace / "a.txt").write_text("old\n", encoding="utf-8")
    edit = call("edit", "c2", file_path="a.txt", old_string="old", new_string="new")
    async with play([call("read", file_path="a.txt")], [edit], DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
        (question,) = questions(client)
        (diff,) = question["toolCall"]["content"]
        assert (diff["path"], diff["oldText"], diff["newText"]) == (str(workspace / "a.txt"), "old", "new")
        assert question["options"][1]["name"] == f"Allow for this session: edit {workspace / 'a.txt'}"


async def test_allowed_once_is_asked_again_and_allowed_for_the_session_is_not(
    play: Play, workspace: Path, home: Path
):
    same = [call("bash", str(n), command="echo x >> log.txt") for n in range(3)]
    other = call("bash", "9", command="echo x >> other.txt")
    async with play(same, DONE) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        assert len(questions(client)) == 3
    async with play([*same, other], DONE, answer=choose("allow-session")) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
        assert len(questions(client)) == 2
    assert (workspace / "log.txt").read_text(encoding="utf-8") == "x\n" * 6
    outcomes = [decided["outcome"] for decided in of_type(log_of(home, session), "permission/decided")]
    assert outcomes == ["allow-session", "allow-session"]


async def test_what_was_allowed_for_the_session_holds_after_a_load(play: Play, workspace: Path):
    steps = ([RUN], DONE, [call("bash", "c2", command="echo ran > ran.txt")], DONE)
    async with play(*steps, answer=choose("allow-session")) as client:
        await client.initialize()
        session = await client.new(workspace)
        await client.prompt(session)
    async with play(*steps, answer=choose("reject")) as client:
        await client.initialize()
        await client.load(session, workspace)
        assert await client.prompt(session) == "end_turn"
        assert questions(client) == []


async def test_a_refusal_is_a_result_the_model_reads(play: Play, workspace: Path, home: Path):
    async with play([WRITE], DONE, answer=choose("reject")) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert not (workspace / "new.txt").exists()
    (result,) = of_type(log_of(home, session), "tool/result")
    assert result["error"]["code"] == "DENIED"
    assert "refused" in result["content"][0]["text"]


@pytest.mark.parametrize(
    "answer",
    [
        {"outcome": {"outcome": "selected", "optionId": "no-such-option"}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": "yes"},
        {},
        [],
        "yes",
    ],
)
async def test_anything_but_a_clear_yes_is_a_no(play: Play, workspace: Path, answer: Any):
    async with play([WRITE], DONE, answer=lambda frame: answer) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert not (workspace / "new.txt").exists()


@pytest.mark.parametrize(
    "outcome", [{"outcome": "selected", "optionId": "no-such-option"}, {"outcome": "selected"}]
)
async def test_an_option_that_was_not_offered_is_not_told_as_the_persons_refusal(
    play: Play, workspace: Path, home: Path, outcome: dict[str, str]
):
    async with play([WRITE], DONE, answer=lambda frame: {"outcome": outcome}) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert not (workspace / "new.txt").exists()
    (decided,) = of_type(log_of(home, session), "permission/decided")
    assert decided["outcome"] == "not-offered"
    (result,) = of_type(log_of(home, session), "tool/result")
    assert result["error"]["code"] == "DENIED"
    assert "answer that was not offered" in result["content"][0]["text"]
    assert "refused" not in result["content"][0]["text"]


async def test_a_question_nobody_answers_is_a_no_after_its_bound(play: Play, workspace: Path, home: Path):
    home.mkdir()
    (home / "settings.toml").write_text("[permissions]\npatience = 0.2\n", encoding="utf-8")
    async with play([WRITE], DONE, answer=lambda frame: None) as client:
        await client.initialize()
        session = await client.new(workspace)
        assert await client.prompt(session) == "end_turn"
    assert not (workspace / "new.txt").exists()
    assert of_type(log_of(home, session), "permission/decided")[0]["outcome"] == "unanswered"


async def test_a_mode_set_in_the_middle_counts_for_the_next_call(play: Play, workspace: Path):
    async with play([WRITE, RUN], DONE, answer=lambda frame: None) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        question = await client.question()
        await client.request("session/set_mode", {"sessionId": session, "modeId": "full"})
        yes = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
        assert len(questions(client)) == 1
    assert (workspace / "ran.txt").exists()


@pytest.mark.parametrize("members", [{}, {"error": None}, {"result": None}])
async def test_an_answer_that_says_nothing_is_a_no_at_once(
    play: Play, workspace: Path, members: dict[str, Any]
):
    async with play([WRITE], DONE, answer=lambda frame: None) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        question = await client.question()
        await client.send({"jsonrpc": "2.0", "id": question["id"], **members})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
    assert not (workspace / "new.txt").exists()


async def test_a_load_shows_a_call_as_pending_while_its_question_is_open(play: Play, workspace: Path):
    calls = [call("read", "r", file_path="a"), call("write", "w", file_path="x", content="y")]
    async with play(calls, DONE, answer=no_answer) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        question = await client.question()
        start = len(client.frames)
        await client.load(session, workspace)
        shown = [u for u in client.updates(session, start) if u["sessionUpdate"] == "tool_call"]
        assert [(u["toolCallId"], u["status"]) for u in shown] == [("r", "in_progress"), ("w", "pending")]
        yes = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
        later = [u["status"] for u in client.updates(session, start) if u.get("toolCallId") == "w"]
        assert later == ["pending", "in_progress", "completed"]


async def test_a_load_shows_no_call_as_pending_when_its_question_was_withdrawn(play: Play, workspace: Path):
    async with play([WRITE], DONE, answer=no_answer) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        await client.question()
        await client.cancel(session)
        assert (await client.answered(request_id))["stopReason"] == "cancelled"
        start = len(client.frames)
        await client.load(session, workspace)
        again = [u["status"] for u in client.updates(session, start) if "toolCallId" in u]
        assert again == ["in_progress", "failed"]


async def test_plan_mode_chosen_while_a_question_is_open_counts_for_that_call(play: Play, workspace: Path):
    async with play([WRITE], DONE, answer=lambda frame: None) as client:
        await client.initialize()
        session = await client.new(workspace)
        request_id = await client.begin_prompt(session, "go")
        question = await client.question()
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        yes = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
        assert (await client.answered(request_id))["stopReason"] == "end_turn"
    assert not (workspace / "new.txt").exists()
