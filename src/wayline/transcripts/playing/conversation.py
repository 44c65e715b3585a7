"""What was heard of an agent: its frames in order, where each session is, and waits that have a bound.

Failed    a step did not come true; it holds all that a report needs
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import anyio
import msgspec

from wayline.transcripts.format import Frame, Placed
from wayline.transcripts.playing.agents import AgentGone, RunningAgent
from wayline.transcripts.playing.matching import MISSING

#: frames that belong to no session
CONNECTION = ""


#: holds a frame against the protocol: the frame, its line, the method it answers; raises `ValueError`
Check = Callable[[Frame, bytes, str | None], None]


class Failed(Exception):
    """A step did not come true.

    `expected` is the template that was not met, `got` the frame that came nearest, and `value` what is held
    against the template: that frame, unless it is said.
    """

    def __init__(
        self, reason: str, *, expected: Any = None, got: "Heard | None" = None, value: Any = MISSING
    ) -> None:
        super().__init__(reason)
        self.value = value if got is None or value is not MISSING else got.frame
        self.reason = reason
        self.expected = expected
        self.got = got
        self.placed: Placed | None = None


class Asked(msgspec.Struct, frozen=True):
    """A request of ours; `run` numbers the agent's run that it went to, `heard` how many frames had come."""

    id: int
    name: str
    method: str
    session: str
    run: int
    heard: int


class Heard(msgspec.Struct, frozen=True):
    """A frame that came. `session` is that of its parameters, or of the request it answers."""

    number: int
    frame: Frame
    session: str
    asked: Asked | None

    @property
    def is_question(self) -> bool:
        """Whether the agent waits for an answer to it."""
        return "method" in self.frame and "id" in self.frame


class Conversation:
    """The frames of all runs of one agent, and our place among them."""

    def __init__(self, timeout: float, check: Check | None) -> None:
        self.heard: list[Heard] = []
        self.sent: list[tuple[int, bytes]] = []
        self.asked: dict[str, Asked] = {}
        self.latest: Asked | None = None
        self.open_questions: dict[int, Heard] = {}
        self.named: set[int] = set()
        self.timeout = timeout
        self._check = check
        self._by_id: dict[Any, Asked] = {}
        self._answers: dict[str, Heard] = {}
        self._places: dict[str, int] = {}
        self._next_id = 1
        self._run = 0
        self._over = True
        self._fault: Failed | None = None
        self._news = anyio.Event()
        self._agent: RunningAgent | None = None

    def begin(self, agent: RunningAgent) -> None:
        """From now on we talk to this run of the agent."""
        self._agent, self._over = agent, False
        self._run += 1

    async def listen(self, agent: RunningAgent, question: Callable[[Heard], Awaitable[None]]) -> None:
        """Take what one run of the agent writes, to its end; each of its questions goes to `question`."""
        while (line := await agent.receive()) is not None:
            try:
                heard = self._take(line)
                if heard is not None and heard.is_question:
                    self.open_questions[heard.number] = heard
                    await question(heard)
            except Failed as fault:
                self._fault = fault
                break
            self._tell()
        self._over = True
        self.open_questions.clear()
        self._tell()

    def _take(self, line: bytes) -> Heard | None:
        if not line.strip():
            return None
        try:
            frame = json.loads(line)
        except ValueError:
            raise Failed(f"the agent wrote a line that is not JSON: {line[:300]!r}") from None
        if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0":
            raise Failed(f"the agent wrote a line that is no JSON-RPC message: {line[:300]!r}")
        asked = self._by_id.get(_key(frame)) if "method" not in frame else None
        heard = Heard(len(self.heard), frame, _session(frame, asked), asked)
        self.heard.append(heard)
        if asked is not None and self._answers.setdefault(asked.name, heard) is not heard:
            raise Failed(f"the agent answered {asked.name} ({asked.method}) twice", got=heard)
        if self._check is not None:
            try:
                self._check(frame, line, None if asked is None else asked.method)
            except ValueError as error:
                raise Failed(f"a frame is not what the protocol says: {error}", got=heard) from None
        return heard

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def request(self, name: str, method: str, params: Any) -> None:
        """Send a request. Raises `Failed`."""
        session = str(params.get("sessionId", CONNECTION)) if isinstance(params, dict) else CONNECTION
        asked = Asked(self._next_id, name, method, session, self._run, len(self.heard))
        self._next_id += 1
        self.asked[name] = self._by_id[asked.id] = asked
        self.latest = asked
        await self.send({"jsonrpc": "2.0", "id": asked.id, **_message(method, params)})

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises `Failed`."""
        await self.send({"jsonrpc": "2.0", **_message(method, params)})

    async def respond(self, question: Heard, member: str, value: Any) -> None:
        """Answer a question of the agent by `result` or `error`. Raises `Failed`."""
        del self.open_questions[question.number]
        await self.send({"jsonrpc": "2.0", "id": question.frame["id"], member: value})

    async def send(self, frame: Frame) -> None:
        """Send a frame. Raises `Failed`."""
        try:
            line = json.dumps(frame, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            line = json.dumps(frame).encode()  # a lone surrogate, which only an escape can say
        await self.send_line(line)

    async def send_line(self, line: bytes) -> None:
        """Send a line as it is. Raises `Failed`."""
        assert self._agent is not None
        self.sent.append((len(self.heard), line))
        try:
            with anyio.fail_after(self.timeout):
                await self._agent.send(line)
        except AgentGone:
            raise Failed("the agent had gone before this could be sent") from None
        except TimeoutError:
            raise Failed(f"the agent did not read what was sent within {self.timeout:g} s") from None

    async def until(self, look: Callable[[], bool]) -> bool:
        """Wait until `look` says yes; False when the agent has gone, or the time is over, before that.

        Raises `Failed` when the agent writes what is no frame.
        """
        with anyio.move_on_after(self.timeout):
            while True:
                news = self._news
                self.check()
                if look():
                    return True
                if self._over:
                    return False
                await news.wait()
        return look()

    def check(self) -> None:
        """Raises `Failed` when the agent wrote what is no frame."""
        if self._fault is not None:
            raise self._fault

    @property
    def over(self) -> bool:
        """Whether the agent has closed its stdout."""
        return self._over

    @property
    def run(self) -> int:
        """The number of the agent's run, from 1."""
        return self._run

    def answer_to(self, name: str) -> Heard | None:
        """The answer to a request of ours, when it has come."""
        return self._answers.get(name)

    def ahead(self, start: int = 0) -> Iterator[Heard]:
        """The frames, from number `start` on, that come after our place in their session."""
        return (heard for heard in self.heard[start:] if self.is_ahead(heard))

    def is_ahead(self, heard: Heard) -> bool:
        """Whether our place in the frame's session is before it."""
        return heard.number >= self._places.get(heard.session, 0)

    def pass_by(self, heard: Heard) -> Sequence[Heard]:
        """Move our place behind a frame; the frames of its session that are skipped by that."""
        place = self._places.get(heard.session, 0)
        self._places[heard.session] = max(place, heard.number + 1)
        self.named.add(heard.number)
        return [
            each
            for each in self.heard[place : heard.number]
            if each.session == heard.session and each.number not in self.named
        ]

    def unnamed(self) -> Sequence[Heard]:
        """The frames that no step named."""
        return [heard for heard in self.heard if heard.number not in self.named]


def summary(frame: Any) -> str:
    """A frame, or a template of one, in a few words."""
    if not isinstance(frame, dict):
        return "a frame"
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    words = [str(frame["method"])] if "method" in frame else []
    words += [str(update["sessionUpdate"])] if isinstance(update, dict) and "sessionUpdate" in update else []
    words += [member for member in ("result", "error") if member in frame]
    return " ".join(words) or "a frame"


def _message(method: str, params: Any) -> Mapping[str, Any]:
    return {"method": method} if params is msgspec.UNSET else {"method": method, "params": params}


def _key(frame: Frame) -> Any:
    """The id of a response, when it can be one of ours: they are integers."""
    number = frame.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _session(frame: Frame, asked: Asked | None) -> str:
    if asked is not None:
        return asked.session
    params = frame.get("params")
    return str(params.get("sessionId", CONNECTION)) if isinstance(params, dict) else CONNECTION
