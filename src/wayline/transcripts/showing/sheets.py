"""How scenes are worded: each becomes a sheet, a heading and parts, shown by a terminal and a page alike."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from wayline.transcripts.showing.scenes import (
    Answered,
    AnyOrder,
    Attachment,
    Card,
    Diff,
    Entry,
    FileLook,
    Forbidden,
    Frame,
    Json,
    Listing,
    LogLook,
    Note,
    Opening,
    Output,
    Plan,
    Process,
    Question,
    Raw,
    Replied,
    Reply,
    Request,
    Said,
    Scene,
    ToolCall,
    Update,
    Words,
)

#: what a sheet or a part is about, for its colour
Tone = Literal["plain", "quiet", "person", "agent", "plan", "tool", "question", "good", "bad", "changed"]


class Prose(msgspec.Struct, frozen=True):
    """Text to read: long lines are wrapped."""

    text: str
    tone: Tone = "plain"


class Code(msgspec.Struct, frozen=True):
    """Text whose lines stay as they are: output, files, JSON. `label` says what it is, or is empty."""

    label: str
    text: str


class Changes(msgspec.Struct, frozen=True):
    """A change of a file."""

    path: str
    old: str | None
    new: str


class Item(msgspec.Struct, frozen=True):
    """A line of a list: what stands before it, it, and a remark."""

    mark: str
    text: str
    remark: str
    tone: Tone


class Items(msgspec.Struct, frozen=True):
    """A list."""

    items: tuple[Item, ...]


class Verdict(msgspec.Struct, frozen=True):
    """What is said to a question; `line` 0 when no step says it."""

    line: int
    text: str
    tone: Tone


class Facts(msgspec.Struct, frozen=True):
    """Names and what they stand for."""

    facts: tuple[tuple[str, str], ...]


class Inner(msgspec.Struct, frozen=True):
    """Sheets inside a sheet."""

    sheets: "tuple[Sheet, ...]"


Part = Prose | Code | Changes | Items | Verdict | Facts | Inner


class Sheet(msgspec.Struct, frozen=True):
    """A scene in words: `label` is ours, all else is foreign."""

    line: int
    session: str
    tone: Tone
    label: str
    title: str = ""
    detail: str = ""
    parts: tuple[Part, ...] = ()
    aside: str = ""


def sheet(scene: Scene) -> Sheet:
    """The sheet of a scene."""
    made = _of_agent(scene) or _of_client(scene) or _of_world(scene)
    return msgspec.structs.replace(made, aside=scene.aside)


def sessions(sheets: Iterable[Sheet]) -> set[str]:
    """The sessions that sheets are of."""
    found: set[str] = set()
    for each in sheets:
        found.add(each.session)
        found.update(*(sessions(part.sheets) for part in each.parts if isinstance(part, Inner)))
    return found - {""}


def _of_agent(scene: Scene) -> Sheet | None:
    match scene:
        case Said():
            return _said(scene)
        case Plan():
            return _plan(scene)
        case ToolCall():
            label = "tool" if scene.fresh else "tool, on"
            detail = " · ".join(filter(None, [scene.kind, scene.status]))
            tone: Tone = "bad" if scene.status == "failed" else "tool"
            places = (Items(tuple(Item("@", each, "", "quiet") for each in scene.locations)),)
            parts = (*(places if scene.locations else ()), *map(_part, scene.cards))
            return _sheet(scene, tone, label, scene.title or scene.call, detail, *parts)
        case Update():
            return _sheet(scene, "quiet", "update", scene.kind, scene.text)
        case Question():
            return _question(scene)
        case Answered():
            return _answered(scene)
        case Frame():
            return _sheet(scene, "plain", "agent sends", "", "", Code("", scene.text))
        case AnyOrder():
            inner = Inner(tuple(map(sheet, scene.scenes)))
            return _sheet(scene, "plain", "in any order", "", "", inner)
    return None


def _of_client(scene: Scene) -> Sheet | None:
    match scene:
        case Request():
            label = "client asks" if scene.request else "client tells"
            text = (Code("", scene.text),) if scene.text else ()
            return _sheet(scene, "plain", label, scene.method, scene.request, *text)
        case Replied():
            return _sheet(
                scene, "question", "client answers", scene.method, scene.subject, *_verdict(scene.reply)
            )
        case Raw():
            return _sheet(scene, "plain", "client sends a line", "", "", Code("", scene.text))
    return None


def _of_world(scene: Scene) -> Sheet:
    match scene:
        case Opening():
            about = (Prose(scene.about),) if scene.about else ()
            facts = (Facts(scene.facts),) if scene.facts else ()
            return _sheet(scene, "agent", "transcript", scene.name, "", *about, *facts)
        case Forbidden():
            until = f"before the answer to {scene.until}" if scene.until else "ever"
            return _sheet(scene, "bad", "must not come", until, "", Code("", scene.text))
        case LogLook():
            times = "" if scene.times is None else f"{scene.times} times"
            text = (Code("", scene.text),) if scene.text else ()
            return _sheet(scene, "quiet", "log has", scene.event, times, *text)
        case FileLook(text=None):
            return _sheet(scene, "quiet", "file is not there", scene.path)
        case FileLook(text=text):
            return _sheet(scene, "quiet", "file holds", scene.path, "", Code("", text or "(nothing)"))
        case Process():
            return _sheet(scene, "changed", scene.event, _EVENTS[scene.event])
        case Note():
            return _sheet(scene, "quiet", "note", "", "", Prose(scene.text))
    raise TypeError(f"no sheet for {type(scene).__name__}")


_EVENTS = {
    "restart": "the agent ends and starts again",
    "kill": "the agent is killed and starts again",
    "eof": "the agent's stdin is closed, and it ends",
}


def _sheet(scene: Scene, tone: Tone, label: str, title: str, detail: str = "", *parts: Part) -> Sheet:
    return Sheet(scene.line, scene.session, tone, label, title, detail, parts)


def _said(scene: Said) -> Sheet:
    parts = tuple(map(_part, scene.cards))
    if scene.who == "person":
        label = "you, sent back" if scene.again else "you"
        return _sheet(scene, "person", label, scene.request, "", *parts)
    if scene.who == "thought":
        quiet = [Prose(part.text, "quiet") if isinstance(part, Prose) else part for part in parts]
        return _sheet(scene, "quiet", "thought", "", "", *quiet)
    return _sheet(scene, "agent", "agent", "", "", *parts)


def _plan(scene: Plan) -> Sheet:
    title = "the same again" if scene.same else "" if scene.entries else "empty"
    gone = [Item(" - ", each, "gone", "bad") for each in scene.gone]
    items = (*map(_entry, scene.entries), *gone)
    return _sheet(scene, "plan", "plan", title, "", *((Items(items),) if items else ()))


_BOXES = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}


def _entry(entry: Entry) -> Item:
    unknown = entry.status not in _BOXES
    remarks = [
        entry.priority if entry.priority != "medium" else "",
        (entry.status or "no status") if unknown else "",
        entry.change,
    ]
    tone: Tone = "changed" if entry.change else "quiet" if entry.status == "completed" else "plain"
    return Item(_BOXES.get(entry.status, "[?]"), entry.content, ", ".join(filter(None, remarks)), tone)


def _question(scene: Question) -> Sheet:
    options = tuple(Item("?", each.id, _option(each.name, each.kind), "plain") for each in scene.options)
    parts = (*map(_part, scene.cards), *((Items(options),) if options else ()), *_verdict(scene.reply))
    return _sheet(scene, "question", "agent asks", scene.method, scene.subject, *parts)


def _option(name: str, kind: str) -> str:
    return ", ".join(filter(None, [name, kind]))


def _verdict(reply: Reply | None) -> tuple[Part, ...]:
    if reply is None:
        return ()
    text = reply.text if reply.line else f"{reply.text}, by itself"
    if reply.refused:
        text = f"error {text}"
    said = (Verdict(reply.line, text, "bad" if reply.refused else "good"),) if reply.text else ()
    return (*said, *map(_part, reply.cards))


def _answered(scene: Answered) -> Sheet:
    title = f"{scene.outcome}: {scene.text}" if scene.outcome != "result" else ""
    name = f"{scene.method} ({scene.request})" if scene.method else scene.request
    tones: dict[str, Tone] = {"result": "plain", "stopped": "good", "error": "bad"}
    parts = (Code("", scene.text),) if scene.outcome == "result" else ()
    return _sheet(scene, tones[scene.outcome], "agent answers", title or name, name if title else "", *parts)


def _part(card: Card) -> Part:
    match card:
        case Words(text):
            return Prose(text)
        case Listing(text):
            return Code("", text)
        case Diff(path, old, new):
            return Changes(path, old, new)
        case Output(text, end):
            return Code(f"terminal, {end}", text)
        case Attachment(kind, name):
            return Code(kind, name)
        case Json(label, text):
            return Code(label, text)
