"""What of a conversation a transcript holds, and in which order. Pure.

A step expects what an agent does again when the same is said to it, and nothing else. So text is joined,
the progress of a tool call is left out, calls that overlap may come in any order, and what an agent sends
at times of its own (its commands, a title, its usage) is left out. What streams when the client cancels is
not expected either: how far it comes is another each time.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from wayline.transcripts.format import ASIDE, Note
from wayline.transcripts.recording.hearing import Came, Garbage, Item, Notice, Request

CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
#: requests that are answered after all that belongs to them
WHOLE = frozenset({"session/prompt", "session/load", "session/resume", "session/fork"})
#: how a tool call ends
OVER = frozenset({"completed", "failed"})

GARBAGE = Note("The agent wrote a line here that is no JSON-RPC message. It is left out; a run fails at one.")


class Run(msgspec.Struct, frozen=True):
    """Chunks of one message; `until` is the request whose answer shows that it is over."""

    first: Came
    texts: tuple[str, ...]
    until: str | None = None

    @property
    def session(self) -> str:
        """The session it is of."""
        return self.first.session

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(self.texts)


class Begun(msgspec.Struct, frozen=True):
    """That a message has begun, whatever it says."""

    first: Came


class Together(msgspec.Struct, frozen=True):
    """Messages of the agent that come in any order."""

    came: tuple[Came, ...]


Beat = Item | Run | Begun | Together | Note


def beats(items: Sequence[Item | Note]) -> Iterator[Beat]:
    """What a transcript holds, in its order."""
    selection = _Selection(_last_updates(items))
    kept = [beat for item in items for beat in selection.take(item)]
    kept += selection.rest()
    windows = _Windows(items)
    coming: list[Came] = []
    for beat in kept:
        if isinstance(beat, Came):
            coming.append(beat)
            continue
        yield from windows.grouped(coming)
        coming = []
        yield beat
    yield from windows.grouped(coming)


def _last_updates(items: Iterable[Item | Note]) -> dict[tuple[str, str], int]:
    """The number of the update that ends each tool call."""
    return {
        (item.session, item.call): item.number
        for item in items
        if isinstance(item, Came)
        and item.kind == "tool_call_update"
        and item.call is not None
        and item.update.get("status") in OVER
    }


class _Selection:
    """The messages that are open, and what is held back until they are over."""

    def __init__(self, last_updates: dict[tuple[str, str], int]) -> None:
        self._last_updates = last_updates
        self._runs: dict[str, list[Came]] = {}
        self._held: dict[str, list[Came]] = {}
        self._prompts: dict[str, set[str]] = {}
        self._cancelled: set[str] = set()
        self._calls: set[tuple[str, str]] = set()

    def take(self, item: Item | Note) -> Iterator[Beat]:
        match item:
            case Garbage():
                yield GARBAGE
            case Came() if item.request is not None:
                yield from self._answer(item, item.request)
            case Came():
                yield from self._message(item)
            case Request(method="session/prompt"):
                self._prompts.setdefault(item.session, set()).add(item.name)
                yield item
            case Notice(method="session/cancel" | "$/cancel_request"):
                yield from self._cancel(item)
            case _:
                yield item

    def rest(self) -> Iterator[Beat]:
        """What is still open at the end."""
        for session in list(self._runs):
            yield from self._cut(session)

    def _answer(self, came: Came, request: Request) -> Iterator[Beat]:
        session = came.session
        if request.method in WHOLE:
            yield from self._close(session, until=request.name)
            open_prompts = self._prompts.get(session, set())
            open_prompts.discard(request.name)
            if not open_prompts:
                self._cancelled.discard(session)
        elif session in self._runs:
            # It comes anywhere in the message; behind it, it is looked for nowhere else.
            self._held.setdefault(session, []).append(came)
            return
        yield came

    def _message(self, came: Came) -> Iterator[Beat]:
        session, cancelled = came.session, came.session in self._cancelled
        if came.kind in ASIDE or self._is_progress(came):
            return
        if came.kind in CHUNKS:
            if not cancelled:
                run = self._runs.get(session)
                if run is not None and _alike(run[0], came):
                    run.append(came)
                else:
                    yield from self._close(session)
                    self._runs[session] = [came]
            return
        if came.kind == "tool_call" and came.call is not None and not cancelled:
            self._calls.add((session, came.call))
        ends_a_call = (session, came.call) in self._calls
        if cancelled and not (came.is_question or ends_a_call):
            return
        yield from self._close(session)
        yield came

    def _is_progress(self, came: Came) -> bool:
        if came.kind != "tool_call_update" or came.call is None:
            return False
        return self._last_updates.get((came.session, came.call)) != came.number

    def _cancel(self, notice: Notice) -> Iterator[Beat]:
        sessions = [notice.session] if notice.method == "session/cancel" else self._of_request(notice)
        for session in sessions:
            yield from self._cut(session)
            if self._prompts.get(session):
                self._cancelled.add(session)
        yield notice

    def _of_request(self, notice: Notice) -> list[str]:
        return [session for session, prompts in self._prompts.items() if notice.withdraws in prompts]

    def _close(self, session: str, until: str | None = None) -> Iterator[Beat]:
        run = self._runs.pop(session, None)
        if run is not None and any(texts := tuple(_text(chunk) for chunk in run)):
            yield Run(run[0], texts, until)
        yield from self._held.pop(session, ())

    def _cut(self, session: str) -> Iterator[Beat]:
        run = self._runs.pop(session, None)
        if run is not None:
            yield Begun(run[0])
        yield from self._held.pop(session, ())


def _alike(one: Came, other: Came) -> bool:
    """Whether two chunks are of one message."""
    return (one.kind, one.update.get("messageId")) == (other.kind, other.update.get("messageId"))


def _text(chunk: Came) -> str:
    content = chunk.update.get("content")
    return str(content.get("text", "")) if isinstance(content, dict) else ""


class _Windows:
    """The stretches of each session in which tool calls overlap, and of each request until its answer."""

    def __init__(self, items: Iterable[Item | Note]) -> None:
        self._calls: dict[str, list[tuple[int, int]]] = {}
        self._asked: dict[str, int] = {}
        begun: dict[tuple[str, str], int] = {}
        number = 0
        for item in items:
            match item:
                case Request():
                    self._asked[item.name] = number
                case Came():
                    number = item.number
                    if item.call is None:
                        continue
                    if item.kind == "tool_call":
                        begun.setdefault((item.session, item.call), number)
                    elif item.update.get("status") in OVER and (item.session, item.call) in begun:
                        start = begun.pop((item.session, item.call))
                        self._calls.setdefault(item.session, []).append((start, number))
        self._overlaps = {session: list(_overlaps(sorted(calls))) for session, calls in self._calls.items()}

    def grouped(self, came: Sequence[Came]) -> Iterator[Came | Together]:
        """Messages with nothing of the client's in between; those of one session in their order, but where
        that is not fixed."""
        for session in dict.fromkeys(each.session for each in came):
            group: list[Came] = []
            for each in came:
                if each.session != session:
                    continue
                if group and not self._any_order(group[-1], each):
                    yield _together(group)
                    group = []
                group.append(each)
            yield _together(group)

    def _any_order(self, one: Came, other: Came) -> bool:
        if one.request is not None and other.request is not None:
            return self._asked[other.request.name] < one.number
        if one.request is not None or other.request is not None:
            return False
        overlaps = self._overlaps.get(one.session, ())
        return any(start <= one.number and other.number <= end for start, end in overlaps)


def _overlaps(calls: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches of at least two calls that overlap, of calls sorted by their begin."""
    start = end = count = 0
    for begin, over in calls:
        if count and begin < end:
            end, count = max(end, over), count + 1
            continue
        if count > 1:
            yield start, end
        start, end, count = begin, over, 1
    if count > 1:
        yield start, end


def _together(group: Sequence[Came]) -> Came | Together:
    return Together(tuple(group)) if len(group) > 1 else group[0]
