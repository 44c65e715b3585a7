"""The model's task list: the last `todo/write` wins."""

import msgspec

from wayline.log.events import Event, TodoItem, TodoWrite, ToolResultRecorded, TurnStart


class Todos(msgspec.Struct, frozen=True):
    """`items` is None until a list was written; `seq` and `turn` are those of the write, and `changes`
    counts the tool results since then that changed something."""

    items: tuple[TodoItem, ...] | None = None
    seq: int = -1
    turn: int = 0
    changes: int = 0
    current_turn: int = 0


def fold(state: Todos, event: Event) -> Todos:
    """Take one event."""
    match event.data:
        case TurnStart(turn=turn):
            return msgspec.structs.replace(state, current_turn=turn)
        case TodoWrite(todos=todos):
            return Todos(todos, event.seq, state.current_turn, 0, state.current_turn)
        case ToolResultRecorded(is_error=False, meta={"changed": True}):
            return msgspec.structs.replace(state, changes=state.changes + 1)
        case _:
            return state
