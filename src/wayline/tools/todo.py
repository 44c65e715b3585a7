"""`todo_write`: the model's task list, sent whole each time.

It renders nothing: whoever shows lists listens to the session's `todo/write` events.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from wayline.log.content import Text
from wayline.log.events import TodoItem, TodoStatus
from wayline.permissions.modes import NOTHING, Access
from wayline.tools.base import (
    Arguments,
    Card,
    Denied,
    InvalidArguments,
    PluginContext,
    Presentation,
    ToolOutput,
    ToolRun,
)
from wayline.tools.presentation import text_cards

name = "todo"
inject: tuple[str, ...] = ()


class Todo(BaseModel):
    """One task as the model sends it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    content: str
    status: TodoStatus


class TodoArguments(Arguments):
    """The whole list."""

    todos: Annotated[tuple[Todo, ...], Field(description="The whole list, in order; [] clears it")]


class TodoWriteTool:
    """Replaces the calling session's task list.

    With `allow_parallel` several tasks may be in progress at once.
    """

    name = "todo_write"
    description = (
        "Keep the person's view of your plan. Use it when the work takes three or more real steps; skip it "
        "for less. Send the whole list every call: it replaces the one before. While work remains, exactly "
        "one task is in_progress. Mark a task completed as soon as it is done, not in a batch later; never "
        "while tests fail or it is half done: then keep it in_progress, or add a task for what is in the "
        "way. Each content is short, unique and says what will be true. Give the final answer only after the "
        "last write."
    )
    arguments = TodoArguments
    timeout = None

    def __init__(self, *, allow_parallel: bool = False) -> None:
        self._allow_parallel = allow_parallel

    def access(self, arguments: TodoArguments, run: ToolRun) -> Access:
        """Nothing outside the log: it is never asked about."""
        return NOTHING

    def parallel_safe(self, arguments: TodoArguments) -> bool:
        """Lists replace each other, so their order counts."""
        return False

    def present_call(self, arguments: TodoArguments, workspace: Path) -> Presentation:
        """The same card for every list."""
        return Presentation("Update todo list")

    def present_result(
        self, arguments: TodoArguments, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """A refusal's reason; an accepted list shows itself."""
        return text_cards(output) if output.is_error else ()

    async def run(self, arguments: TodoArguments, run: ToolRun) -> ToolOutput:
        """Check the list and hand it to the session. A refusal leaves the list before as it is."""
        if run.todos is None:
            raise Denied("todo_write works only in a session of its own; this call has none.")
        todos = checked(arguments.todos, allow_parallel=self._allow_parallel)
        await run.todos.write(todos)
        return ToolOutput((Text(f"Todo list saved: {counts(todos)}."),))


def checked(todos: tuple[Todo, ...], *, allow_parallel: bool) -> tuple[TodoItem, ...]:
    """The list with trimmed contents. Raises `InvalidArguments` for what the schema cannot say."""
    items = tuple(TodoItem(todo.content.strip(), todo.status) for todo in todos)
    for index, item in enumerate(items):
        if not item.content:
            raise InvalidArguments(f"todos[{index}].content is empty: say what the task is, or leave it out.")
    repeated = [content for content, count in Counter(item.content for item in items).items() if count > 1]
    if repeated:
        raise InvalidArguments(
            f"content must be unique, but {repeated[0]!r} is there more than once: reword or drop one."
        )
    active = [item.content for item in items if item.status == "in_progress"]
    if len(active) > 1 and not allow_parallel:
        raise InvalidArguments(
            f"Only one task may be in_progress, but {len(active)} are: {', '.join(map(repr, active))}. "
            "Keep the one you work on now and set the others to pending."
        )
    return items


def counts(todos: tuple[TodoItem, ...]) -> str:
    """`2 pending, 1 in progress, 0 completed`."""
    by_status = Counter(item.status for item in todos)
    return (
        f"{by_status['pending']} pending, {by_status['in_progress']} in progress, "
        f"{by_status['completed']} completed"
    )


def apply(ctx: PluginContext, config: Mapping[str, Any]) -> None:
    """Offer `todo_write`. Setting `allow_parallel`: several tasks may be in progress, off by default."""
    ctx.tool(TodoWriteTool(allow_parallel=bool(config.get("allow_parallel", False))))
