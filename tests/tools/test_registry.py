"""The one way to call a tool: whatever goes wrong is a result the model can act on."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.tools.running import Session, words
from wayline.log.content import Text
from wayline.permissions.modes import NOTHING, Access
from wayline.tools.base import Arguments, Failed, Presentation, ToolOutput, ToolRun
from wayline.tools.cards import Card
from wayline.tools.presentation import text_cards
from wayline.tools.registry import NameTaken

pytestmark = pytest.mark.anyio


class Nothing(Arguments):
    """No arguments."""


class Odd:
    """A tool that does what a test says."""

    name = "odd"
    description = "Does something odd."
    arguments = Nothing
    timeout: float | None = None

    def __init__(self, run: Callable[[ToolRun], Awaitable[ToolOutput]]) -> None:
        self._run = run

    def access(self, arguments: Nothing, run: ToolRun) -> Access:
        return NOTHING

    def parallel_safe(self, arguments: Nothing) -> bool:
        return True

    def present_call(self, arguments: Nothing, workspace: Path) -> Presentation:
        return Presentation("Odd")

    def present_result(self, arguments: Nothing, output: ToolOutput, workspace: Path) -> tuple[Card, ...]:
        return ()

    async def run(self, arguments: Nothing, run: ToolRun) -> ToolOutput:
        return await self._run(run)


async def test_an_unknown_tool_is_told_which_there_are(session: Session):
    for name in ("teleport", ""):
        output = await session.call_raw(name, "{}")
        assert (output.is_error, output.error_code) == (True, "UNKNOWN_TOOL")
        assert "read" in words(output)
        assert "todo_write" in words(output)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("{", "line 1"),
        ("[]", "object"),
        ('{"file_path": 7}', "file_path"),
        ("{}", "file_path"),
        ('{"file_path": "x", "colour": "red"}', "colour"),
        ('{"file_path": "x", "offset": 0}', "offset"),
        ('{"file_path": ""}', "empty"),
        ('{"file_path": "a\\u0000b"}', "NUL"),
    ],
)
async def test_arguments_that_do_not_fit_say_where_and_why(session: Session, raw: str, said: str):
    output = await session.call_raw("read", raw)
    assert output.error_code == "INVALID_ARGS"
    assert said in words(output)


async def test_a_tool_that_raises_is_a_failed_result(session: Session, caplog):
    async def crash(run: ToolRun) -> ToolOutput:
        raise KeyError("oops")

    session.registry.add(Odd(crash))
    output = await session.call("odd")
    assert (output.is_error, output.error_code) == (True, "TOOL_FAILED")
    assert "KeyError" in words(output)
    assert "Traceback" not in words(output)


class Unshowable(Odd):
    """A tool that crashes whatever it is asked about a call, and runs well."""

    def __init__(self) -> None:
        async def fine(run: ToolRun) -> ToolOutput:
            return ToolOutput((Text("fine"),))

        super().__init__(fine)

    def access(self, arguments: Nothing, run: ToolRun) -> Access:
        return Access("write", (run.workspace / "x",), "odd")

    def parallel_safe(self, arguments: Nothing) -> bool:
        raise RecursionError("parallel")

    def present_call(self, arguments: Nothing, workspace: Path) -> Presentation:
        raise KeyError("call")

    def present_result(self, arguments: Nothing, output: ToolOutput, workspace: Path) -> tuple[Card, ...]:
        raise AssertionError("result")


async def test_a_tool_that_cannot_show_its_calls_still_runs_and_is_shown_plainly(session: Session, caplog):
    registry = session.registry
    registry.add(Unshowable())
    session.mode, session.answer = "ask", "allow-once"
    output = await session.call("odd")
    assert words(output) == "fine"
    assert [question.title for question in session.questions] == ["odd"]
    assert registry.present_call("odd", "{}", session.workspace) == Presentation("odd")
    assert registry.present_result("odd", "{}", output, session.workspace) == text_cards(output)
    assert not registry.parallel_safe("odd", "{}")
    assert [record.getMessage() for record in caplog.records] == ["tool odd cannot show a call"] * 4
    assert [type(record.exc_info[1]).__name__ for record in caplog.records if record.exc_info] == [
        "KeyError",
        "KeyError",
        "AssertionError",
        "RecursionError",
    ]


async def test_a_tool_that_prints_is_none_of_the_results_business(session: Session, capsys):
    async def talk(run: ToolRun) -> ToolOutput:
        print("stray")  # noqa: T201
        return ToolOutput((Text("fine"),))

    session.registry.add(Odd(talk))
    assert words(await session.call("odd")) == "fine"
    assert capsys.readouterr().out == "stray\n"


async def test_a_tool_that_takes_too_long_is_stopped(session: Session):
    import anyio

    async def sleep(run: ToolRun) -> ToolOutput:
        await anyio.sleep_forever()
        raise AssertionError

    tool = Odd(sleep)
    tool.timeout = 0.05
    session.registry.add(tool)
    output = await session.call("odd")
    assert output.error_code == "TOOL_TIMEOUT"
    assert "0.05" in words(output)


async def test_a_large_result_keeps_its_ends_and_spills_all_of_it(session: Session):
    whole = "\n".join(f"line {number}" for number in range(20_000))

    async def much(run: ToolRun) -> ToolOutput:
        return ToolOutput((Text(whole),))

    session.registry.add(Odd(much))
    said = words(await session.call("odd"))
    assert len(said.encode()) < 60_000
    assert said.startswith("line 0\n")
    assert "line 19999" in said
    (spilled,) = session.spilled.iterdir()
    assert str(spilled) in said
    assert spilled.read_text(encoding="utf-8") == whole
    session.mode = "ask"
    assert "line 0" in words(await session.call("read", file_path=str(spilled)))
    assert session.questions == []


async def test_lone_surrogates_in_a_result_are_replaced(session: Session):
    async def odd(run: ToolRun) -> ToolOutput:
        return ToolOutput((Text("a\ud800b"),))

    session.registry.add(Odd(odd))
    assert words(await session.call("odd")) == "a\ufffdb"


async def test_a_name_is_taken_once_and_free_again(session: Session):
    async def fine(run: ToolRun) -> ToolOutput:
        return ToolOutput((Text("fine"),))

    session.registry.add(Odd(fine))
    with pytest.raises(NameTaken):
        session.registry.add(Odd(fine))
    session.registry.remove("odd")
    assert (await session.call("odd")).error_code == "UNKNOWN_TOOL"


async def test_a_refusal_stops_the_call(session: Session):
    session.mode = "ask"
    output = await session.call("write", file_path="x", content="y")
    assert output.error_code == "DENIED"
    assert [question.title for question in session.questions] == ["Write x"]
    assert list(session.workspace.iterdir()) == []


async def test_a_link_that_moves_while_the_person_thinks_does_not_move_the_write(
    session: Session, tmp_path: Path
):
    session.mode, session.answer = "ask", "allow-once"
    inside, outside = session.workspace / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    link = session.workspace / "link"
    link.symlink_to(inside)

    def swap() -> None:
        link.unlink()
        link.symlink_to(outside)

    session.while_asked = swap
    output = await session.call("write", file_path="link/x", content="y")
    assert list(outside.iterdir()) == []
    assert output.is_error or (inside / "x").read_text(encoding="utf-8") == "y"


def test_what_the_model_is_told_is_small_and_closed(session: Session):
    import json

    offers = session.registry.specs()
    assert [offer.name for offer in offers] == ["read", "write", "edit", "glob", "grep", "bash", "todo_write"]
    assert all(offer.parameters["additionalProperties"] is False for offer in offers)
    told = json.dumps([[offer.name, offer.description, offer.parameters] for offer in offers])
    assert len(told) < 7_000
    assert "$ref" not in told
    assert '"title"' not in told


def test_calls_that_make_no_sense_can_still_be_shown(session: Session):
    for name, raw in [("nobody", "{}"), ("read", "{"), ("", "x"), ("bash", "[]")]:
        assert session.registry.present_call(name, raw, session.workspace).title
        shown = session.registry.present_result(name, raw, ToolOutput((Text("words"),)), session.workspace)
        assert "words" in str(shown)
        assert not session.registry.parallel_safe(name, raw)


async def test_a_folder_that_becomes_a_link_while_the_person_thinks_is_refused(
    session: Session, tmp_path: Path
):
    session.mode, session.answer = "ask", "allow-once"
    folder, outside = session.workspace / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()

    def swap() -> None:
        folder.rmdir()
        folder.symlink_to(outside)

    session.while_asked = swap
    output = await session.call("write", file_path="folder/x", content="y")
    assert "leads to another file" in words(output)
    assert list(outside.iterdir()) == []


async def test_a_mode_that_denies_is_not_asked(session: Session):
    session.mode, session.answer = "plan", "allow-once"
    for name, arguments in [("write", {"file_path": "x", "content": "y"}), ("bash", {"command": "touch x"})]:
        output = await session.call(name, **arguments)
        assert output.error_code == "DENIED"
        assert "plan" in words(output)
    assert session.questions == []
    assert list(session.workspace.iterdir()) == []


async def test_lone_surrogates_in_arguments_are_replaced(session: Session):
    for raw in (r'{"file_path": "x", "content": "a\ud83d b"}', '{"file_path": "y", "content": "a\ud83d b"}'):
        assert not (await session.call_raw("write", raw)).is_error
    assert (session.workspace / "x").read_text(encoding="utf-8") == "a\ufffd b"
    assert (session.workspace / "y").read_text(encoding="utf-8") == "a\ufffd b"
    whole = r'{"file_path": "z", "content": "\ud83d\ude00"}'
    assert not (await session.call_raw("write", whole)).is_error
    assert (session.workspace / "z").read_text(encoding="utf-8") == "😀"


async def test_the_one_error_of_a_group_is_told_itself(session: Session):
    import anyio

    async def fail() -> None:
        raise Failed("mend this")

    async def grouped(run: ToolRun) -> ToolOutput:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail)
        raise AssertionError

    session.registry.add(Odd(grouped))
    output = await session.call("odd")
    assert (output.error_code, words(output)) == ("TOOL_FAILED", "mend this")


async def test_a_result_that_cannot_be_spilled_is_still_a_result(session: Session):
    session.spilled.write_text("no folder", encoding="utf-8")

    async def much(run: ToolRun) -> ToolOutput:
        return ToolOutput((Text("x\n" * 30_000),), meta={"changed": True})

    session.registry.add(Odd(much))
    output = await session.call("odd")
    assert (output.is_error, output.meta["changed"]) == (False, True)
    assert "could not be kept" in words(output)


async def test_an_answer_for_the_session_holds_for_one_command_in_one_folder(session: Session):
    session.mode, session.answer = "ask", "allow-session"
    (session.workspace / "sub").mkdir()
    for arguments in [
        {"command": "pwd"},
        {"command": "pwd"},
        {"command": "pwd", "workdir": "sub"},
        {"command": "pwd "},
        {"command": "pwd", "workdir": "sub"},
    ]:
        await session.call("bash", **arguments)
    assert [question.grant for question in session.questions] == [
        "bash: pwd",
        f'bash in "{session.workspace}/sub": pwd',
        "bash: pwd ",
    ]


async def test_cancelling_passes_through(session: Session):
    import anyio

    async def sleep(run: ToolRun) -> ToolOutput:
        await anyio.sleep_forever()
        raise AssertionError

    session.registry.add(Odd(sleep))
    with anyio.move_on_after(0.05) as scope:
        await session.call("odd")
    assert scope.cancelled_caught
