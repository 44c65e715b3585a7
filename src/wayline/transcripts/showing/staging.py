"""From a transcript to its scenes: a fold over the steps.

What a step says in a shape that the protocol does not have becomes a scene with its JSON, so that no
transcript which can be read fails to be shown.
"""

from typing import Any, Literal

import msgspec

from wayline.transcripts.format import (
    TIMEOUT,
    Answer,
    Eof,
    Expect,
    File,
    Forbid,
    Kill,
    LogEvent,
    Meta,
    Need,
    Note,
    PeerError,
    Refuse,
    Restart,
    Running,
    Send,
    SendLine,
    Step,
    Text,
    Transcript,
    Unordered,
)
from wayline.transcripts.showing import cards
from wayline.transcripts.showing.cards import shaped
from wayline.transcripts.showing.foreign import aside, compact
from wayline.transcripts.showing.questions import question, reply
from wayline.transcripts.showing.scenes import (
    Answered,
    AnyOrder,
    FileLook,
    Forbidden,
    Frame,
    LogLook,
    Opening,
    Process,
    Question,
    Raw,
    Replied,
    Reply,
    Request,
    Said,
    Scene,
    Update,
)
from wayline.transcripts.showing.scenes import Note as NoteScene
from wayline.transcripts.showing.updates import Updates, same_name, session_of, speaker


def scenes(transcript: Transcript) -> tuple[Scene, ...]:
    """The scenes of a transcript, in the order of its steps."""
    stage = _Stage(transcript.meta)
    for placed in transcript.steps:
        stage.take(placed.line, placed.step)
    times = {placed.line: getattr(placed.step, "at", None) for placed in transcript.steps}
    return (_opening(transcript), *(_timed(scene, times.get(scene.line)) for scene in stage.done()))


def _timed(scene: Scene, at: float | None) -> Scene:
    if at is None:
        return scene
    return msgspec.structs.replace(scene, aside=" · ".join(filter(None, [scene.aside, f"{at:.2f} s"])))


class _Stage:
    """The scenes so far, and what later ones refer to."""

    def __init__(self, meta: Meta) -> None:
        self._client = meta.client
        self._scenes: list[Scene] = []
        self._updates = Updates()
        self._methods: dict[str, str] = {}
        self._unanswered: list[Question] = []
        #: the speaker, session and aside of a chunk that the next one may go on from
        self._chunk: tuple[str, str, str] | None = None

    def take(self, line: int, step: Step) -> None:
        """Add the scene of one more step."""
        chunk, self._chunk = self._chunk, None
        match step:
            case Expect():
                self._expect(line, step, chunk)
            case Unordered():
                self._unordered(line, step)
            case Answer():
                asked = self._asked(line, step.to)
                self._reply(asked, reply(line, step.answer, asked))
            case Refuse():
                self._reply(self._asked(line, step.to), Reply(line, _error(step.refuse), refused=True))
            case Send():
                self._scenes.append(self._send(line, step))
            case _:
                self._scenes.append(_plain(line, step))

    def done(self) -> list[Scene]:
        """All scenes. Questions that no step answers have what `meta.client` says."""
        return [self._settled(scene) for scene in self._scenes]

    def _settled(self, scene: Scene) -> Scene:
        match scene:
            case AnyOrder():
                return msgspec.structs.replace(scene, scenes=tuple(map(self._settled, scene.scenes)))
            case Question(method=method) if scene in self._unanswered and method in self._client:
                said = self._client[method]
                by_default = Reply(0, said) if isinstance(said, str) else reply(0, said, scene)
                return msgspec.structs.replace(scene, reply=by_default)
        return scene

    def _send(self, line: int, step: Send) -> Scene:
        params = None if step.send.params is msgspec.UNSET else step.send.params
        session = session_of(params)
        if step.name is not None:
            self._methods[step.name] = step.send.method
        if step.send.method == "session/prompt" and isinstance(params, dict) and "prompt" in params:
            said = cards.joined((), cards.cards(params["prompt"]))
            left = {key: params[key] for key in params if key not in ("prompt", "sessionId")}
            return Said(
                line=line,
                session=session,
                aside=aside(left),
                who="person",
                cards=said,
                request=step.name or "",
            )
        text = "" if params is None else compact(params)
        return Request(
            line=line, session=session, method=step.send.method, request=step.name or "", text=text
        )

    def _expect(self, line: int, step: Expect, chunk: tuple[str, str, str] | None) -> None:
        scene = self._frame(line, step)
        if isinstance(scene, Said):
            self._chunk = (scene.who, scene.session, scene.aside)
            last = self._scenes[-1] if self._scenes else None
            if chunk == self._chunk and isinstance(last, Said):
                # Chunks are how text travels, not how it reads.
                whole = cards.joined(last.cards, scene.cards)
                self._scenes[-1] = msgspec.structs.replace(last, cards=whole)
                return
        self._scenes.append(scene)

    def _unordered(self, line: int, step: Unordered) -> None:
        together = tuple(self._frame(line, each) for each in step.unordered)
        self._scenes.append(AnyOrder(line=line, scenes=together))

    def _frame(self, line: int, step: Expect) -> Scene:
        frame = step.expect
        method = frame.get("method")
        scene: Scene | None = None
        if step.to is not None:
            scene = self._answered(line, step.to, frame)
        elif method == "session/update":
            scene = self._updates.scene(line, frame)
        elif isinstance(method, str) and (method in _ASKED or "id" in frame):
            scene = question(line, frame, self._updates.title)
            self._unanswered.append(scene)
        if scene is None:
            return Frame(line=line, aside="exactly this" if step.exact else "", text=compact(frame))
        if step.exact:
            scene = msgspec.structs.replace(scene, aside=aside({}, "exactly this", scene.aside))
            if isinstance(scene, Question):
                self._unanswered[-1] = scene
        return scene

    def _answered(self, line: int, request: str, frame: dict[str, Any]) -> Scene:
        rest = {key: frame[key] for key in frame if key not in ("result", "error", "id", "jsonrpc")}
        outcome: Literal["result", "stopped", "error"] = "result"
        text = compact(frame["result"]) if "result" in frame else "anything"
        if "error" in frame:
            outcome, text = "error", _error(frame["error"])
            rest |= {"result": frame["result"]} if "result" in frame else {}
        elif (turn := shaped(_Turn, frame.get("result"))) is not None:
            outcome, text = "stopped", turn.stop_reason
            rest |= {key: value for key, value in frame["result"].items() if key != "stopReason"}
        method = self._methods.get(request, "")
        return Answered(
            line=line, aside=aside(rest), method=method, request=request, outcome=outcome, text=text
        )

    def _asked(self, line: int, to: dict[str, Any]) -> Question:
        """The first question that is expected, not answered, and like `to` as far as can be told here; else
        the one that `to` itself tells of."""
        session = session_of(to.get("params"))
        for each in self._unanswered:
            if to.get("method", each.method) == each.method and session in ("", each.session):
                return each
        return question(line, to, self._updates.title)

    def _reply(self, asked: Question, answer: Reply) -> None:
        if asked not in self._unanswered:
            self._scenes.append(msgspec.structs.replace(asked, reply=answer))
            return
        self._unanswered.remove(asked)
        if self._scenes[-1] == asked:
            self._scenes[-1] = msgspec.structs.replace(asked, reply=answer)
            return
        self._scenes.append(
            Replied(
                line=answer.line,
                session=asked.session,
                method=asked.method,
                subject=asked.subject,
                reply=answer,
            )
        )


#: what an agent asks of a client
_ASKED = frozenset(
    [
        "session/request_permission",
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    ]
)


class _Turn(msgspec.Struct, rename="camel"):
    stop_reason: str


def _plain(line: int, step: Step) -> Scene:
    match step:
        case Text():
            return _text(line, step)
        case Forbid():
            return Forbidden(line=line, text=compact(step.forbid), until=step.until or "")
        case Need():
            place = f"in the answer to {step.to}" if step.to else f"before the answer to {step.until}"
            return NoteScene(line=line, text=f"Only if there is, {place}: {compact(step.need)}")
        case Running():
            return NoteScene(line=line, text=f"Only if {step.running} has no answer yet.")
        case LogEvent():
            event = step.log.get("type")
            named = isinstance(event, str)
            text = _json({key: value for key, value in step.log.items() if not named or key != "type"})
            return LogLook(
                line=line,
                session=same_name(step.session),
                event=str(event) if named else "",
                text=text,
                times=step.times,
            )
        case File():
            holds = None if step.file.absent else cards.words(step.file.text or "").text
            return FileLook(line=line, path=step.file.path, text=holds)
        case Restart():
            return Process(line=line, event="restart")
        case Kill():
            return Process(line=line, event="kill")
        case Eof():
            return Process(line=line, event="eof")
        case SendLine():
            return Raw(line=line, text=step.line)
        case Note():
            return NoteScene(line=line, text=step.note)
    return Frame(line=line, text=compact(msgspec.to_builtins(step)))


def _text(line: int, step: Text) -> Scene:
    session = same_name(step.session or "")
    until = f"until the answer to {step.until}" if step.until else ""
    if (who := speaker(step.of)) is None:
        return Update(line=line, session=session, aside=until, kind=step.of, text=step.text)
    return Said(
        line=line,
        session=session,
        aside=until,
        who=who,
        cards=(cards.words(step.text),),
        again=who == "person",
    )


def _error(error: Any) -> str:
    if isinstance(error, PeerError):
        error = msgspec.to_builtins(error)
    if (read := shaped(PeerError, error)) is None:
        return compact(error)
    data = "" if read.data is None else f" {compact(read.data)}"
    return f"{read.code} {read.message}{data}"


def _json(rest: dict[str, Any]) -> str:
    return compact(rest) if rest else ""


def _opening(transcript: Transcript) -> Opening:
    meta = transcript.meta
    written = msgspec.to_builtins(meta)
    facts = {key: _fact(value) for key, value in written.items() if key not in ("name", "about", "files")}
    if meta.timeout != TIMEOUT:
        facts["timeout"] = f"{meta.timeout:g} s"
    files = [(f"file {name}", cards.words(text).text) for name, text in meta.files.items()]
    return Opening(line=1, name=meta.name, about=meta.about, facts=(*facts.items(), *files))


def _fact(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)
