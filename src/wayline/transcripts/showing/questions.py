"""What an agent asks of a client, and what the client says to it."""

from collections.abc import Callable
from typing import Any

import msgspec

from wayline.transcripts.showing import cards
from wayline.transcripts.showing.cards import shaped
from wayline.transcripts.showing.foreign import aside, compact
from wayline.transcripts.showing.scenes import Card, Listing, Option, Question, Reply
from wayline.transcripts.showing.updates import session_of

#: the title of a tool call, from its session and its id
Titles = Callable[[str, str], str]


class _Way(msgspec.Struct, rename="camel"):
    option_id: str
    name: str = ""
    kind: str = ""


class _Call(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    title: str = ""
    content: Any = ()


class _Permission(msgspec.Struct, rename="camel"):
    tool_call: _Call = msgspec.field(default_factory=_Call)
    options: list[_Way] = []


class _File(msgspec.Struct):
    path: str
    content: str | None = None


class _Command(msgspec.Struct):
    command: str
    args: list[str] = []


class _Terminal(msgspec.Struct, rename="camel"):
    terminal_id: str


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: str
    option_id: str | None = None


class _Decision(msgspec.Struct):
    outcome: _Outcome


class _Content(msgspec.Struct):
    content: str


class _Seen(msgspec.Struct):
    """What is shown of a question's params, and which keys that were."""

    subject: str
    keys: tuple[str, ...]
    options: tuple[Option, ...] = ()
    cards: tuple[Card, ...] = ()


def question(line: int, frame: dict[str, Any], title: Titles) -> Question:
    """The scene of a frame in which an agent asks."""
    method = frame.get("method")
    params = frame.get("params", {})
    session = session_of(params)
    scene = Question(
        line=line, session=session, method=method if isinstance(method, str) else compact(method), subject=""
    )
    if not isinstance(params, dict):
        return msgspec.structs.replace(scene, aside=aside({"params": params}))
    seen = _seen(scene.method, params, lambda call: title(session, call))
    left = {key: params[key] for key in params if key not in (*seen.keys, "sessionId")}
    if "toolCall" in seen.keys and isinstance(call := params.get("toolCall"), dict):
        left |= {key: call[key] for key in call if key not in ("toolCallId", "title", "content")}
    return msgspec.structs.replace(
        scene,
        subject=seen.subject,
        options=seen.options,
        cards=seen.cards,
        aside=aside(left),
    )


def _seen(method: str, params: dict[str, Any], title: Callable[[str], str]) -> _Seen:
    match method:
        case "session/request_permission" if asked := shaped(_Permission, params):
            options = tuple(Option(way.option_id, way.name, way.kind) for way in asked.options)
            call = asked.tool_call
            subject = call.title or title(call.tool_call_id)
            shown = cards.cards(call.content) if call.content else ()
            return _Seen(subject, ("options", "toolCall"), options, shown)
        case "fs/read_text_file" | "fs/write_text_file" if file := shaped(_File, params):
            content: tuple[Card, ...] = () if file.content is None else (_listing(file.content),)
            return _Seen(file.path, ("path", "content"), cards=content)
        case "terminal/create" if run := shaped(_Command, params):
            return _Seen(" ".join(["$", run.command, *run.args]), ("command", "args"))
        case _ if method.startswith("terminal/") and (terminal := shaped(_Terminal, params)):
            return _Seen(terminal.terminal_id, ("terminalId",))
    return _Seen("", ())


def reply(line: int, result: Any, asked: Question) -> Reply:
    """What the client answers to a question."""
    match asked.method:
        case "session/request_permission" if decision := shaped(_Decision, result):
            return Reply(line, _decided(decision.outcome, asked))
        case "terminal/output" if printed := cards.output(result):
            return Reply(line, "", cards=(printed,))
        case "fs/read_text_file" if read := shaped(_Content, result):
            return Reply(line, "", cards=(_listing(read.content),))
    return Reply(line, compact(result))


def _listing(text: str) -> Listing:
    return Listing(cards.words(text).text)


def _decided(outcome: _Outcome, asked: Question) -> str:
    if outcome.option_id is None:
        return outcome.outcome
    name = next((way.name for way in asked.options if way.id == outcome.option_id), "")
    return f"{outcome.option_id} ({name})" if name else outcome.option_id
