"""Pages of `session/list`: newest first, an opaque cursor, sized to fit a line."""

from collections.abc import Sequence
from typing import Any

import msgspec

from wayline.acp.bridge import timestamp
from wayline.sessions.registry import Listed
from wayline.wire.errors import InvalidParams

PAGE = 50
#: bytes of one page, so that the line stays under 64 KB
PAGE_BYTES = 40 * 1024
_DAMAGED_SHOWN = 20
#: of a time in a cursor
_DIGITS = 30


def page(sessions: Sequence[Listed], cursor: str | None) -> dict[str, Any]:
    """The page behind `cursor`; damaged logs stand in `_meta`, on the first page. Raises `InvalidParams`."""
    whole = [listed for listed in sessions if listed.cwd is not None]
    start = 0 if cursor is None else _behind(whole, cursor)
    entries: list[dict[str, Any]] = []
    size = 0
    for listed in whole[start : start + PAGE]:
        entry = _entry(listed)
        size += len(msgspec.json.encode(entry))
        if entries and size > PAGE_BYTES:
            break
        entries.append(entry)
    answer: dict[str, Any] = {"sessions": entries}
    if start + len(entries) < len(whole):
        answer["nextCursor"] = _cursor(whole[start + len(entries) - 1])
    damaged = [listed for listed in sessions if listed.damage is not None]
    if damaged and cursor is None:
        answer["_meta"] = {"wayline": {"damaged": [_damage(listed) for listed in damaged[:_DAMAGED_SHOWN]]}}
    return answer


def _entry(listed: Listed) -> dict[str, Any]:
    return {
        "sessionId": listed.id,
        "cwd": listed.cwd,
        "title": listed.title,
        "updatedAt": timestamp(listed.updated_at),
    }


def _damage(listed: Listed) -> dict[str, Any]:
    return {"sessionId": listed.id, "reason": (listed.damage or "")[:500]}


def _cursor(listed: Listed) -> str:
    return f"{listed.updated_at}:{listed.id}"


def _behind(sessions: Sequence[Listed], cursor: str) -> int:
    """Where the page begins: behind the entry the cursor names, also when that one is gone or newer."""
    updated_at, separator, session_id = cursor.partition(":")
    if not separator or not updated_at.isdecimal() or len(updated_at) > _DIGITS:
        raise InvalidParams(f"{cursor[:100]!r} is not a cursor of this agent", path="params.cursor")
    place = (-int(updated_at), session_id)
    return sum((-listed.updated_at, listed.id) <= place for listed in sessions)
