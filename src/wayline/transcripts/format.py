"""The format of a transcript: one JSON object a line, the first one `{"meta": …}`, each further one a step.

Templates (what is sent and what is expected) are JSON with placeholders in their strings: see
`placeholders`. The variables `cwd`, `tmp` and `home` are there from the start.

    TranscriptError  a file that is no transcript; the message names file, line and reason
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from wayline.transcripts.placeholders import Any_, Capture, Further, Part, Regex, Variable, parts, strings

#: seconds that one wait for a frame may take
TIMEOUT = 10.0
#: variables that are there from the start
GIVEN = frozenset({"cwd", "tmp", "home"})


#: what goes from a client to an agent and waits for an answer
REQUESTS = frozenset(
    [
        "initialize",
        "authenticate",
        "logout",
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
        "session/list",
        "session/close",
        "session/delete",
        "session/prompt",
        "session/set_mode",
        "session/set_config_option",
    ]
)

#: updates that come at times of their own
ASIDE = frozenset({"available_commands_update", "session_info_update", "usage_update"})

Template = Any
Frame = dict[str, Any]


class TranscriptError(Exception):
    """A file that is no transcript."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of what a line holds: an unknown key is a typing mistake, and said."""


class Meta(_Strict, frozen=True):
    """What a transcript needs around it.

    `model` names a script file beside the transcript, or `replay:LOG[,LOG…]`; `script` is one, inline.
    `workspace` names a folder beside the transcript whose copy is the workspace; `files` are put into it.
    The strings of `script` and the texts of `files` are templates like those that are sent.
    `settings` are the agent's `settings.toml`. `client` says what is answered to questions that no step
    answers: a result for each method; for `session/request_permission` also `"allow"`, `"reject"` or
    `"cancel"`. `timeout` is in seconds. `strict`: a frame that no step names fails. `schema`: every frame
    is held against the protocol's models. `requirement`, `level` and `spec` are what a transcript of the
    conformance set stands for: a sentence, how strongly the protocol says it, and the address of the place.
    """

    name: str
    about: str = ""
    model: str | None = None
    script: tuple[tuple[dict[str, Any], ...], ...] | None = None
    mode: str | None = None
    workspace: str | None = None
    files: dict[str, str] = {}
    env: dict[str, str] = {}
    settings: dict[str, Any] = {}
    args: tuple[str, ...] = ()
    timeout: Annotated[float, msgspec.Meta(gt=0)] = TIMEOUT
    strict: bool = False
    schema: bool = False
    client: dict[str, Any] = {}
    requirement: str | None = None
    level: Literal["must", "should"] | None = None
    spec: str | None = None


class _Timed(_Strict, frozen=True, kw_only=True):
    """Base of what comes and goes. `at` is when it did in a recording, in seconds from its start; it is for
    people, and nothing is held against it."""

    at: float | None = None


class Message(_Strict, frozen=True):
    """What is sent; `jsonrpc` and `id` are put on by the runner."""

    method: str
    params: Template | msgspec.UnsetType = msgspec.UNSET


class Send(_Timed, frozen=True, rename={"name": "as"}):
    """A request when it is named by `as`, else a notification."""

    send: Message
    name: str | None = None


class SendLine(_Timed, frozen=True):
    """A line as it is, JSON or not. Lone surrogates U+DC80 to U+DCFF stand for bytes that are no UTF-8."""

    line: str


class Expect(_Timed, frozen=True):
    """A frame; `to` names the request that it answers. Keys that are not named may be anything, unless
    `exact`, which leaves only `jsonrpc` and `id` to the runner."""

    expect: dict[str, Template]
    to: str | None = None
    exact: bool = False


class Text(_Timed, frozen=True):
    """The joined text of a run of chunks: all up to the answer to `until`, or those that stand together."""

    text: str
    of: str = "agent_message_chunk"
    until: str | None = None
    session: str | None = None


class Forbid(_Strict, frozen=True):
    """A frame that must not come: until the answer to `until`, or at all."""

    forbid: dict[str, Template]
    until: str | None = None


class Need(_Strict, frozen=True):
    """What the steps behind it depend on: the answer to `to` is like this, or a frame like this comes
    before the answer to `until`. If not, the transcript ends here, and counts as not offered."""

    need: dict[str, Template]
    to: str | None = None
    until: str | None = None


class Running(_Strict, frozen=True):
    """A request that has no answer yet. If it has, the transcript ends here, and counts as not offered."""

    running: str


class Answer(_Timed, frozen=True):
    """The result that the client gives to a question like `to`."""

    answer: Template
    to: dict[str, Template]


class PeerError(_Strict, frozen=True):
    """An error of JSON-RPC."""

    code: int
    message: str
    data: Any = None


class Refuse(_Timed, frozen=True):
    """The error that the client gives to a question like `to`."""

    refuse: PeerError
    to: dict[str, Template]


class Unordered(_Timed, frozen=True):
    """Frames that come in any order."""

    unordered: tuple[Expect, ...]


class LogEvent(_Strict, frozen=True):
    """An event of the session's log, anywhere in it: at least one like this, or exactly `times`."""

    log: dict[str, Template]
    session: str = "${session}"
    times: int | None = None


class FileState(_Strict, frozen=True):
    """A file of the workspace: its text, or that it is not there."""

    path: str
    text: str | None = None
    absent: bool = False


class File(_Strict, frozen=True):
    """What a file holds now."""

    file: FileState


class Restart(_Strict, frozen=True):
    """The agent's stdin is closed, it ends, and is started again on the same data home. With `force` one
    that does not end in a few seconds is killed, which is what an editor does."""

    restart: Literal[True]
    force: bool = False


class Kill(_Strict, frozen=True):
    """The agent gets SIGKILL and is started again on the same data home."""

    kill: Literal[True]


class Eof(_Strict, frozen=True):
    """The agent's stdin is closed, and it ends."""

    eof: Literal[True]


class Note(_Strict, frozen=True):
    """Words for the reader."""

    note: str


Step = (
    Send
    | SendLine
    | Expect
    | Text
    | Forbid
    | Need
    | Running
    | Answer
    | Refuse
    | Unordered
    | LogEvent
    | File
    | Restart
    | Kill
    | Eof
    | Note
)
KINDS: dict[str, type[Step]] = {
    "send": Send,
    "line": SendLine,
    "expect": Expect,
    "text": Text,
    "forbid": Forbid,
    "need": Need,
    "running": Running,
    "answer": Answer,
    "refuse": Refuse,
    "unordered": Unordered,
    "log": LogEvent,
    "file": File,
    "restart": Restart,
    "kill": Kill,
    "eof": Eof,
    "note": Note,
}


class Placed(msgspec.Struct, frozen=True):
    """A step and the number of its line, counted from 1."""

    line: int
    step: Step


class Transcript(msgspec.Struct, frozen=True):
    """A transcript; `path` is where it was read from, and what the files it names are beside."""

    path: Path
    meta: Meta
    steps: tuple[Placed, ...]


def read(path: Path) -> Transcript:
    """Read a transcript file. Raises `TranscriptError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TranscriptError(f"{path}: {error}") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Transcript:
    """A transcript from its text. Raises `TranscriptError`."""
    # Not splitlines(): JSON strings may hold the other line ends of Unicode as they are.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise TranscriptError(f'{path}: empty; the first line is {{"meta": {{"name": …}}}}')
    number = 0
    try:
        number, first = lines[0]
        meta = _meta(first)
        steps = []
        names = _Names()
        for number, line in lines[1:]:
            step = _step(line)
            names.take(step)
            steps.append(Placed(number, step))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise TranscriptError(f"{path}, line {number}: {error}") from None
    return Transcript(path, meta, tuple(steps))


def dump(meta: Meta, steps: list[Step]) -> str:
    """The text of a transcript."""
    head = json.dumps({"meta": msgspec.to_builtins(meta)}, ensure_ascii=False)
    return "\n".join([head, *map(dump_step, steps)]) + "\n"


def dump_step(step: Step) -> str:
    """The line of a step, without its newline. Lone surrogates are escaped, all else is as it is."""
    line = json.dumps(msgspec.to_builtins(step), ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(step))
    return line


def _object(line: str) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("a line is a JSON object")
    return value


def _meta(line: str) -> Meta:
    value = _object(line)
    if set(value) != {"meta"}:
        raise ValueError('the first line is {"meta": {"name": …}} and nothing else')
    meta = msgspec.convert(value["meta"], Meta)
    if meta.model is not None and meta.script is not None:
        raise ValueError("meta has a model or a script, not both")
    for text, part in _placeholders([meta.script, meta.files]):
        _check_given(part, text)
    return meta


def _check_given(part: Part, text: str) -> None:
    """What is there before the first step is filled with what is given. Raises `ValueError`."""
    match part:
        case Variable(name) if name not in GIVEN:
            raise ValueError(f"${{{name}}} is not known before the first step; a literal one is $${{{name}}}")
        case Capture() | Any_() | Regex() | Further():
            raise ValueError(f"meta cannot hold a pattern: {text!r}")


def _step(line: str) -> Step:
    value = _object(line)
    kinds = [name for name in value if name in KINDS]
    # `text` and `answer` are no keys of other kinds, so that one name says what a line is.
    if len(kinds) != 1:
        raise ValueError(f"a step has exactly one of {', '.join(KINDS)}; this one has {kinds or list(value)}")
    return msgspec.convert(value, KINDS[kinds[0]])


class _Names:
    """What is named so far: requests, and variables."""

    def __init__(self) -> None:
        self._requests: set[str] = set()
        self._variables = set(GIVEN)

    def take(self, step: Step) -> None:
        """Check what a step refers to, and learn what it names. Raises `ValueError`."""
        match step:
            case Send():
                self._take_send(step)
            case Expect(to=to) | Text(until=to) | Forbid(until=to) | Running(running=to) if to is not None:
                self._check_request(to)
            case Need(to=to, until=until):
                if (to is None) == (until is None):
                    raise ValueError('a need has a "to" or an "until"')
                self._check_request(str(to or until))
            case SendLine():
                # A lone surrogate that stands for no byte cannot be sent as it is.
                step.line.encode("utf-8", "surrogateescape")
            case File(file=state) if (state.text is None) == (not state.absent):
                raise ValueError("a file has a text, or is absent")
            case Unordered():
                for each in step.unordered:
                    self.take(each)
                return
        self._take_placeholders(step)

    def _take_send(self, step: Send) -> None:
        if step.name is None:
            if step.send.method in REQUESTS:
                raise ValueError(f'{step.send.method} is a request: name it by "as"')
            return
        if step.name in self._requests:
            raise ValueError(f"{step.name!r} is the name of an earlier request")
        self._requests.add(step.name)

    def _check_request(self, name: str) -> None:
        if name not in self._requests:
            raise ValueError(f"no earlier request is named {name!r}")

    def _take_placeholders(self, step: Step) -> None:
        match step:
            case SendLine() | Note():
                return
            case Send(send=sent):
                self._fills(sent)
            case Answer(answer=sent, to=to) | Refuse(refuse=sent, to=to):
                # What the question holds is known when it is answered.
                self._holds(to)
                self._fills(sent)
            case Forbid():
                self._holds(step, captures=False)
            case LogEvent(log=event, session=session, times=times):
                self._fills(session)
                self._holds(event, captures=times != 0)
            case Text(text=text, session=session):
                self._fills(session)
                self._holds(text)
            case File(file=state):
                self._fills(state.path)
                self._holds(state.text)
            case _:
                self._holds(step)

    def _fills(self, template: Any) -> None:
        for text, part in _placeholders(template):
            self._check_variable(part)
            if isinstance(part, Capture | Any_ | Regex | Further):
                raise ValueError(f"what is sent cannot hold a pattern: {text!r}")

    def _holds(self, template: Any, *, captures: bool = True) -> None:
        for text, part in _placeholders(template):
            self._check_variable(part)
            if not isinstance(part, Capture):
                continue
            if not captures:
                raise ValueError(f"what must not come captures nothing: {text!r}")
            if part.name in GIVEN:
                raise ValueError(f"${{{part.name}}} is set from the start")
            self._variables.add(part.name)

    def _check_variable(self, part: Part) -> None:
        if isinstance(part, Variable) and part.name not in self._variables:
            raise ValueError(f"${{{part.name}}} is not set by an earlier step")


def _placeholders(template: Any) -> Iterator[tuple[str, Part]]:
    """Each part of the strings of a template, and the string it stands in."""
    for text in strings(msgspec.to_builtins(template)):
        for part in parts(text):
            yield text, part
