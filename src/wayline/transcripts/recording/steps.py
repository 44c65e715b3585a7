"""The steps of a transcript from the beats of a conversation: their templates, in the order they stand."""

from collections.abc import Iterator
from typing import Any

import msgspec

from wayline.transcripts.format import (
    Answer,
    Expect,
    Message,
    Note,
    Refuse,
    Send,
    SendLine,
    Step,
    Template,
    Text,
    Unordered,
)
from wayline.transcripts.recording.hearing import Came, Notice, Raw, Refusal, Reply, Request
from wayline.transcripts.recording.selection import Beat, Begun, Run, Together
from wayline.transcripts.recording.volatile import ANY, Names

EARLIER = Note("This session was begun before the recording, and is not there in a run.")
OTHERS = Note("The list named sessions of other conversations; they are left out.")

#: the parameters by which a question is known again, where not all of them are needed
TELLING = {
    "fs/read_text_file": ("sessionId", "path", "line"),
    "fs/write_text_file": ("sessionId", "path"),
    "terminal/create": ("sessionId", "command", "args"),
}
EXPECTED = ("method", "params", "result", "error")
OPENS = frozenset({"session/load", "session/resume", "session/fork"})


class Writing:
    """Writes steps; `wayline` when the agent is, whose model is another in a run."""

    def __init__(self, names: Names, *, wayline: bool) -> None:
        self._names = names
        self._wayline = wayline
        self._sessions: set[str] = set()
        self._latest = ""

    def steps(self, beat: Beat) -> Iterator[Step]:
        """The steps of a beat; more than one when there is something to say about it."""
        at = _time(beat)
        for step in self._steps(beat):
            yield step if isinstance(step, Note) or at is None else msgspec.structs.replace(step, at=at)

    def _steps(self, beat: Beat) -> Iterator[Step]:
        match beat:
            case Request():
                yield from self._request(beat)
            case Notice():
                yield Send(self._message(beat.method, beat.params))
            case Raw():
                yield SendLine(beat.line)
            case Reply():
                yield Answer(self._names.sent(beat.result), self._to(beat.question))
            case Refusal():
                error = beat.error
                message, data = self._names.sent(error.message), self._names.sent(error.data)
                refuse = msgspec.structs.replace(error, message=message, data=data)
                yield Refuse(refuse, self._to(beat.question))
            case Came():
                yield from self._came(beat)
            case Together():
                yield from self._together(beat)
            case Run():
                yield self._text(beat)
            case Begun(first=first):
                yield Expect(self._update_of(first, {"sessionUpdate": first.kind}))
            case Note():
                yield beat

    def _request(self, request: Request) -> Iterator[Step]:
        if request.method in OPENS and request.session not in self._sessions:
            yield EARLIER
        self._latest = request.session
        yield Send(self._message(request.method, request.params), request.name)

    def _message(self, method: str, params: Any) -> Message:
        return Message(method, params if params is msgspec.UNSET else self._names.sent(params))

    def _came(self, came: Came) -> Iterator[Step]:
        if self._lists_others(came):
            yield OTHERS
        yield self._expect(came)

    def _together(self, beat: Together) -> Iterator[Step]:
        if any(map(self._lists_others, beat.came)):
            yield OTHERS
        yield Unordered(tuple(self._expect(each) for each in beat.came))

    def _expect(self, came: Came) -> Expect:
        frame = {name: came.frame[name] for name in EXPECTED if name in came.frame}
        if came.frame.get("method") == "$/cancel_request":
            frame["params"] = {}
        if self._lists_others(came):
            frame["result"] = {}
        expect = self._names.came(frame, timed=came.kind == "tool_call_update")
        if self._wayline:
            expect = _whatever_model(expect)
        if came.request is None:
            return Expect(expect)
        return Expect(self._answer(expect, came, came.request), came.request.name)

    def _answer(self, expect: Template, came: Came, request: Request) -> Template:
        result = came.frame.get("result")
        if request.method == "session/new" and isinstance(result, dict):
            self._sessions.add(str(result.get("sessionId")))
        elif request.method in OPENS and result is not None:
            self._sessions.add(request.session)
        elif request.method == "initialize" and isinstance(result, dict):
            return _without_version(expect)
        return expect

    def _lists_others(self, came: Came) -> bool:
        result = came.frame.get("result")
        if came.request is None or came.request.method != "session/list" or not isinstance(result, dict):
            return False
        listed = result.get("sessions")
        if not isinstance(listed, list):
            return False
        return any(isinstance(each, dict) and each.get("sessionId") not in self._sessions for each in listed)

    def _text(self, run: Run) -> Text:
        # A run is looked for in the session of the latest request, or of the one that `until` names.
        named = run.until is not None or run.session == self._latest
        session = None if named else self._names.came({"sessionId": run.session})["sessionId"]
        return Text(self._names.came_text(run.text), run.first.kind, run.until, session)

    def _update_of(self, came: Came, update: dict[str, Any]) -> Template:
        params = {"sessionId": came.session, "update": update}
        return self._names.came({"method": "session/update", "params": params})

    def _to(self, question: Came) -> Template:
        """A template that finds the question: no more of it than is needed."""
        params = question.frame.get("params")
        if not isinstance(params, dict):
            return self._names.came({"method": question.frame["method"]})
        telling = TELLING.get(question.frame["method"], tuple(params))
        kept = {name: params[name] for name in telling if name in params}
        if question.call is not None:
            kept = {"sessionId": question.session, "toolCall": {"toolCallId": question.call}}
        return self._names.came({"method": question.frame["method"], "params": kept})


def _time(beat: Beat) -> float | None:
    """When it began, in seconds from the start; None for what has no time."""
    match beat:
        case Run(first=first) | Begun(first=first) | Together(came=(first, *_)):
            return round(first.at, 3)
        case Request() | Notice() | Raw() | Reply() | Refusal() | Came():
            return round(beat.at, 3)
        case _:
            return None


def _without_version(expect: Template) -> Template:
    info = expect["result"].get("agentInfo")
    if not isinstance(info, dict) or "version" not in info:
        return expect
    return {**expect, "result": {**expect["result"], "agentInfo": {**info, "version": ANY}}}


def _whatever_model(template: Template) -> Template:
    """The template without what says which model there is, and what that can: in a run it is a replayed
    log."""
    match template:
        case {"id": "model", "currentValue": _}:
            return {**template, "currentValue": ANY, "options": ANY}
        case {"promptCapabilities": {"image": _} as capabilities}:
            return {**template, "promptCapabilities": {**capabilities, "image": ANY}}
        case dict():
            return {name: _whatever_model(each) for name, each in template.items()}
        case list():
            return [_whatever_model(each) for each in template]
        case _:
            return template
