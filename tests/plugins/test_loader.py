"""A plugin has one way in, and goes out whole."""

import json
from types import ModuleType
from typing import Any

import pytest

from tests.tools.running import Session, words
from wayline.plugins.context import Context
from wayline.plugins.loader import BUILT_IN, PluginRefused, load, load_built_in
from wayline.tools.read import ReadTool
from wayline.tools.registry import ToolRegistry
from wayline.tools.write import EditTool, WriteTool


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def session(tmp_path) -> Session:
    workspace = tmp_path.resolve() / "workspace"
    workspace.mkdir()
    return Session(workspace, tmp_path.resolve() / "spilled", ToolRegistry())


def todo_module(**more: Any) -> ModuleType:
    """The real plugin of `todo_write`, and whatever a test adds to it."""
    from wayline.tools import todo

    module = ModuleType("copy_of_todo")
    module.__dict__.update({name: value for name, value in vars(todo).items() if not name.startswith("__")})
    module.__dict__.update(more)
    return module


@pytest.mark.anyio
async def test_todo_write_comes_in_through_the_loader_and_goes_out_again(session: Session):
    loaded = load("wayline.tools.todo", {}, session.registry)
    output = await session.call_raw(
        "todo_write", json.dumps({"todos": [{"content": "a", "status": "pending"}]})
    )
    assert words(output) == "Todo list saved: 1 pending, 0 in progress, 0 completed."
    assert session.todos is not None
    assert len(session.todos.lists) == 1
    loaded.dispose()
    assert session.registry.names() == ()
    assert (await session.call_raw("todo_write", '{"todos": []}')).error_code == "UNKNOWN_TOOL"


@pytest.mark.parametrize("stray", ["default", "plugin", "Plugin", "setup", "register"])
def test_a_second_way_in_is_refused_and_nothing_stays(session: Session, stray: str):
    with pytest.raises(PluginRefused, match=stray):
        load(todo_module(**{stray: lambda ctx: None}), {}, session.registry)
    assert session.registry.names() == ()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"inject": "log"}, "inject"),
        ({"apply": None}, "apply"),
    ],
)
def test_what_is_no_plugin_is_refused_by_name(session: Session, more: dict[str, Any], said: str):
    with pytest.raises(PluginRefused, match=said):
        load(todo_module(**more), {}, session.registry)


def test_an_entry_that_names_an_attribute_is_refused(session: Session):
    with pytest.raises(PluginRefused, match="whole module"):
        load("wayline.tools.todo:apply", {}, session.registry)
    with pytest.raises(PluginRefused, match="cannot be imported"):
        load("wayline.tools.no_such", {}, session.registry)


def test_what_a_failing_plugin_had_registered_is_undone(session: Session):
    module = todo_module()
    apply = module.apply

    def half(ctx: Context, config: Any) -> None:
        apply(ctx, config)
        raise RuntimeError("half-way")

    module.apply = half  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError):
        load(module, {}, session.registry)
    assert session.registry.names() == ()


def test_all_built_in_tools_come_in_this_way_and_leave_in_reverse():
    registry = ToolRegistry()
    loaded = load_built_in(registry)
    assert len(loaded) == len(BUILT_IN)
    for plugin in reversed(loaded):
        plugin.dispose()
    assert registry.names() == ()


def test_each_part_is_undone_the_last_first_also_when_one_cannot_be(session: Session):
    registry = session.registry
    context = Context("several", registry)
    order: list[tuple[str, ...]] = []
    for tool in (ReadTool(), WriteTool(), EditTool()):
        context.tool(tool)
    context._undo.append(lambda: order.append(("registered last", *registry.names())))
    context._undo.insert(0, lambda: order.append(("registered first", *registry.names())))
    registry.remove("write")  # somebody else's mistake
    with pytest.raises(ExceptionGroup, match="several") as raised:
        context.dispose()
    assert [type(error) for error in raised.value.exceptions] == [KeyError]
    assert order == [("registered last", "read", "edit"), ("registered first",)]
    context.dispose()


@pytest.mark.parametrize("missing", ["name", "inject", "apply"])
def test_what_is_missing_is_named(session: Session, missing: str):
    module = todo_module()
    delattr(module, missing)
    with pytest.raises(PluginRefused, match=missing):
        load(module, {}, session.registry)


def test_an_apply_that_takes_the_wrong_arguments_is_refused(session: Session):
    async def later(ctx: Context, config: Any) -> None: ...

    for wrong in (lambda ctx: None, lambda ctx, config, more: None, later):
        with pytest.raises(PluginRefused, match="apply"):
            load(todo_module(apply=wrong), {}, session.registry)


def test_settings_reach_the_plugin_they_name():
    registry = ToolRegistry()
    load_built_in(registry, {"todo": {"allow_parallel": True}})
    assert registry.names() == ("read", "write", "edit", "glob", "grep", "bash", "todo_write")
