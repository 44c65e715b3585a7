"""`todo_write`, to the letter."""

import pytest

from tests.tools.running import Session, built_in, words
from wayline.log.events import TodoItem

pytestmark = pytest.mark.anyio


def item(content: str, status: str = "pending", **more: str) -> dict[str, str]:
    return {"content": content, "status": status, **more}


async def test_a_write_replaces_the_list_and_answers_with_counts(session: Session):
    first = await session.call(
        "todo_write", todos=[item("a", "completed"), item(" b ", "in_progress"), item("c")]
    )
    assert words(first) == "Todo list saved: 1 pending, 1 in progress, 1 completed."
    assert session.todos is not None
    assert session.todos.lists == [
        (TodoItem("a", "completed"), TodoItem("b", "in_progress"), TodoItem("c", "pending"))
    ]
    await session.call("todo_write", todos=[])
    assert session.todos.lists[-1] == ()
    assert not first.meta.get("changed")


async def test_the_same_list_is_written_again(session: Session):
    for _ in range(2):
        await session.call("todo_write", todos=[item("a")])
    assert session.todos is not None
    assert len(session.todos.lists) == 2


@pytest.mark.parametrize(
    ("todos", "said"),
    [
        ([item("")], "empty"),
        ([item(" \t")], "empty"),
        ([item("a"), item("a ")], "a"),
        ([item("a", "in_progress"), item("b", "in_progress")], "in_progress"),
        ([item("a", "done")], "status"),
        ([item("a", priority="high")], "priority"),
        ([{"content": "a"}], "status"),
        ([{"status": "pending"}], "content"),
        ("a", "todos"),
        ([item("a"), "b"], "todos"),
    ],
)
async def test_what_is_not_a_list_is_refused_and_says_what_to_change(session: Session, todos, said: str):
    output = await session.call("todo_write", todos=todos)
    assert (output.is_error, output.error_code) == (True, "INVALID_ARGS")
    assert said in words(output)
    assert session.todos is not None
    assert session.todos.lists == []


async def test_a_call_that_no_session_owns_is_refused(session: Session):
    session.todos = None
    output = await session.call("todo_write", todos=[item("a")])
    assert (output.is_error, output.error_code) == (True, "DENIED")


async def test_several_at_once_can_be_allowed(session: Session):
    session.registry = built_in(todo={"allow_parallel": True})
    output = await session.call("todo_write", todos=[item("a", "in_progress"), item("b", "in_progress")])
    assert not output.is_error


async def test_it_is_never_asked_about_and_its_card_is_plain(session: Session):
    session.mode = "plan"
    assert not (await session.call("todo_write", todos=[item("a")])).is_error
    assert session.questions == []
    shown = session.registry.present_call("todo_write", '{"todos": []}', session.workspace)
    assert (shown.title, shown.kind, shown.cards) == ("Update todo list", "other", ())


def test_its_description_is_short_and_its_schema_is_acps_statuses(session: Session):
    (offer,) = [offer for offer in session.registry.specs() if offer.name == "todo_write"]
    assert len(offer.description) < 800
    entry = offer.parameters["properties"]["todos"]["items"]
    assert entry["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]
    assert sorted(entry["required"]) == ["content", "status"]
    assert entry["additionalProperties"] is False
