"""The updates that an agent sends during a session, as scenes."""

import re
from typing import Any, Literal

import msgspec

from wayline.transcripts.showing import cards
from wayline.transcripts.showing.cards import shaped
from wayline.transcripts.showing.foreign import aside, compact
from wayline.transcripts.showing.scenes import Card, Entry, Json, Plan, Said, Scene, ToolCall, Update

_NAME = re.compile(r"\$\{([A-Za-z]\w*)(?::=.*)?\}", re.DOTALL)


class _Entry(msgspec.Struct):
    content: str
    status: str = ""
    priority: str = ""


class _Plan(msgspec.Struct):
    entries: list[_Entry]


class _Place(msgspec.Struct):
    path: str
    line: int | str | None = None


class _Call(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    locations: list[_Place] | None = None


def same_name(text: str) -> str:
    """A name for an id of a template: what captures `${a:=…}` and what reads `${a}` mean the same."""
    found = _NAME.fullmatch(text)
    return found[1] if found else text


def session_of(params: Any) -> str:
    """The name of the session that a message is about, or empty."""
    session = params.get("sessionId") if isinstance(params, dict) else None
    return same_name(session) if isinstance(session, str) else ""


def speaker(kind: object) -> Literal["person", "agent", "thought"] | None:
    """Who speaks in a kind of chunk."""
    match kind:
        case "user_message_chunk":
            return "person"
        case "agent_message_chunk":
            return "agent"
        case "agent_thought_chunk":
            return "thought"
    return None


class Updates:
    """Makes the scenes, and remembers plans and calls so that changes can be told."""

    def __init__(self) -> None:
        self._plans: dict[str, tuple[Entry, ...]] = {}
        self._calls: dict[tuple[str, str], ToolCall] = {}

    def title(self, session: str, call: str) -> str:
        """The title of a call as last heard, else its id."""
        known = self._calls.get((session, same_name(call)))
        return (known.title if known else "") or call

    def scene(self, line: int, frame: dict[str, Any]) -> Scene | None:
        """The scene of a `session/update` frame; None when it has no shape that is known."""
        params = frame.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(update, dict):
            return None
        session = session_of(params)
        left = {key: params[key] for key in params if key not in ("update", "sessionId")}
        made = self._made(line, session, update)
        if made is None:
            return None
        scene, shown = made
        left |= {key: update[key] for key in update if key not in (*shown, "sessionUpdate")}
        return msgspec.structs.replace(scene, aside=aside(left))

    def _made(self, line: int, session: str, update: dict[str, Any]) -> tuple[Scene, tuple[str, ...]] | None:
        """The scene, and the keys of the update that are in it."""
        kind = update.get("sessionUpdate")
        who = speaker(kind)
        if who is not None and "content" in update:
            said = (cards.card(update["content"]),)
            scene = Said(line=line, session=session, who=who, cards=said, again=who == "person")
            return scene, ("content",)
        match kind:
            case "plan" if plan := shaped(_Plan, update):
                return self._plan(line, session, plan), ("entries",)
            case "tool_call" | "tool_call_update" if call := shaped(_Call, update):
                return self._call(line, session, update, call), _CALL_KEYS
            case str():
                return _other(line, session, kind, update)
        return None

    def _plan(self, line: int, session: str, plan: _Plan) -> Plan:
        before = self._plans.get(session)
        entries = tuple(
            Entry(cards.words(each.content).text, each.status, each.priority) for each in plan.entries
        )
        self._plans[session] = entries
        if before is None:
            return Plan(line=line, session=session, entries=entries)
        was = {each.content: each.status for each in before}
        marked = tuple(msgspec.structs.replace(each, change=_change(each, was)) for each in entries)
        kept = {each.content for each in entries}
        gone = tuple(each.content for each in before if each.content not in kept)
        return Plan(line=line, session=session, entries=marked, gone=gone, same=before == entries)

    def _call(self, line: int, session: str, update: dict[str, Any], call: _Call) -> ToolCall:
        name = same_name(call.tool_call_id)
        known = self._calls.get((session, name))
        scene = ToolCall(
            line=line,
            session=session,
            call=name,
            title=_heard(call.title, known.title if known else ""),
            kind=_heard(call.kind, known.kind if known else ""),
            status=call.status or "",
            fresh=update.get("sessionUpdate") == "tool_call",
            locations=tuple(map(_place, call.locations or ())),
            cards=_call_cards(update),
        )
        self._calls[session, name] = scene
        return scene


_CALL_KEYS = ("toolCallId", "title", "kind", "status", "locations", "content", "rawInput", "rawOutput")


def _call_cards(update: dict[str, Any]) -> tuple[Card, ...]:
    content = update.get("content")
    shown = () if content is None else cards.cards(content)
    return (*_raw("in", update.get("rawInput")), *shown, *_raw("out", update.get("rawOutput")))


def _raw(label: str, value: Any) -> tuple[Card, ...]:
    return () if value is None else (Json(label, compact(value)),)


def _heard(now: str | None, before: str) -> str:
    return before if now is None else now


def _place(place: _Place) -> str:
    return place.path if place.line is None else f"{place.path}:{place.line}"


def _change(entry: Entry, was: dict[str, str]) -> str:
    if entry.content not in was:
        return "new"
    before = was[entry.content]
    return "" if before == entry.status else f"was {before or 'without a status'}"


def _other(line: int, session: str, kind: str, update: dict[str, Any]) -> tuple[Scene, tuple[str, ...]]:
    """The scene of an update that has a name and a time, or one value; of others the JSON is the aside."""
    values = {key: update[key] for key in _VALUES.get(kind, ()) if isinstance(update.get(key), str)}
    text = ", ".join(values.values())
    return Update(line=line, session=session, kind=kind, text=text), tuple(values)


_VALUES = {"session_info_update": ("title", "updatedAt"), "current_mode_update": ("currentModeId",)}
