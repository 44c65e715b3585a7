"""Appending to a session, and following it."""

from pathlib import Path

import anyio
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.log.conversations import HEADER
from tests.sessions.conftest import PATIENCE
from wayline.log.codec import decode
from wayline.log.content import Text, TextDelta
from wayline.log.events import (
    USER,
    AssistantChunk,
    AssistantMessage,
    Event,
    LlmRetry,
    Notice,
    Replace,
    StepEnd,
    StepStart,
    ToolCallStarted,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)
from wayline.log.invariants import InvariantBroken, Invariants
from wayline.log.memory import MemoryStore
from wayline.log.store import StorageError
from wayline.projections.state import fold_all
from wayline.sessions.session import Cursor, ReadOnlySession, Session

pytestmark = pytest.mark.anyio

TURN = TurnStart(1, Trigger("message", USER))
HELLO = UserMessage((Text("hello"),), USER)


def on_disk(log: Path) -> list[Event]:
    return [decode(line) for line in log.read_bytes().splitlines()[1:]]


def open_step(session: Session) -> None:
    session.append(TURN)
    session.append(HELLO)
    session.append(StepStart(1, 1))


def delta(text: str) -> AssistantChunk:
    return AssistantChunk(1, 1, TextDelta(0, text))


def test_an_event_is_in_the_file_when_append_returns(session: Session, log: Path):
    open_step(session)
    event = session.append(delta("x"))
    assert on_disk(log)[-1] == event
    assert [event.seq for event in on_disk(log)] == [0, 1, 2, 3]
    assert [event.time for event in on_disk(log)] == [1000, 1001, 1002, 1003]


async def test_an_event_is_in_the_file_before_anybody_hears_of_it(session: Session, log: Path):
    cursor = session.subscribe()
    seen: list[tuple[int, int]] = []

    async def follow() -> None:
        while len(seen) < 3:
            for event in await cursor.take():
                seen.append((event.seq, len(on_disk(log))))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            for payload in (TURN, HELLO, Notice("hi")):
                session.append(payload)
                await anyio.lowlevel.checkpoint()
    assert all(lines > seq for seq, lines in seen)


def test_surface_events_enter_the_history_unless_they_say_otherwise(session: Session):
    session.append(TURN)
    first = session.append(HELLO)
    assert first.surface_op == "append"
    op = Replace("replace", first.seq, first.seq)
    summary = session.append(HELLO, surface_op=op, sources=(first.seq,))
    assert (summary.surface_op, summary.source_event_seqs) == (op, (first.seq,))
    assert session.append(Notice("hi")).surface_op is None


def test_its_state_is_the_fold_of_its_log(session: Session, log: Path):
    open_step(session)
    session.append(delta("hi"))
    session.append(AssistantMessage(1, 1, (Text("hi"),)))
    session.append(StepEnd(1, 1))
    session.append(TurnEnd(1, TurnEndReason("completed")))
    assert session.state == fold_all(on_disk(log))


def test_it_knows_what_the_open_turn_holds_and_which_deltas_no_message_has(session: Session):
    session.append(Notice("before"))
    open_step(session)
    session.append(delta("a"))
    session.append(LlmRetry(1, 1, 1, 10, "cut"))
    assert session.open_deltas == []
    kept = session.append(delta("b"))
    assert session.open_deltas == [kept]
    assert [event.type for event in session.turn_events] == [
        "turn/start",
        "user/message",
        "step/start",
        "llm/retry",
    ]
    session.append(AssistantMessage(1, 1, (Text("b"),)))
    assert session.open_deltas == []
    session.append(delta("c"))
    session.append(StepEnd(1, 1))
    assert session.open_deltas == []


def test_it_knows_every_call_id(session: Session):
    open_step(session)
    session.append(ToolCallStarted(1, 1, "c1", "bash", "{}"))
    assert session.call_ids == {"c1"}


def test_what_breaks_a_rule_is_not_written_and_the_next_event_is(session: Session, log: Path):
    with pytest.raises(InvariantBroken, match=r"event 0 \(user/message\): it stands outside any turn"):
        session.append(HELLO)
    assert on_disk(log) == []
    open_step(session)
    assert [event.type for event in on_disk(log)] == ["turn/start", "user/message", "step/start"]
    assert session.state == fold_all(on_disk(log))


class FullStore(MemoryStore):
    """A disk that can be full."""

    full = False

    def append(self, line: bytes) -> None:
        if self.full:
            raise StorageError("no space left")
        super().append(line)


async def test_what_could_not_be_written_has_not_happened(tmp_path: Path):
    store = FullStore()
    session = Session(HEADER, store, tmp_path, tmp_path, rules=Invariants())
    cursor = session.subscribe()
    session.append(TURN)
    store.full = True
    with pytest.raises(StorageError):
        session.append(HELLO)
    assert session.state.meta.title is None
    store.full = False
    assert session.append(Notice("there is room again")).seq == 1
    assert [event.type for event in await cursor.take()] == ["turn/start", "notice"]


def test_a_session_with_a_fault_is_not_written_to(tmp_path: Path):
    store = MemoryStore()
    session = Session(HEADER, store, tmp_path, tmp_path, fault="event 3 is strange")
    with pytest.raises(ReadOnlySession, match="session s can only be read: event 3 is strange"):
        session.append(TURN)
    assert store.read() == b""


def test_a_closed_session_is_not_written_to(session: Session, log: Path):
    session.close()
    with pytest.raises(ReadOnlySession, match="it was closed"):
        session.append(TURN)
    assert on_disk(log) == []


async def test_a_checkpoint_that_is_cancelled_still_happens(session: Session):
    session.append(TURN)
    outcome = "cancelled before it happened"
    with anyio.CancelScope() as scope:
        scope.cancel()
        await session.checkpoint()
        outcome = "durable"
    assert outcome == "durable"


async def test_a_checkpoint_that_fails_says_so(session: Session):
    session.append(TURN)
    session._store.close()
    with pytest.raises(StorageError, match="cannot flush"):
        await session.checkpoint()


async def test_a_cursor_begins_behind_the_last_event_and_waits_for_the_next(session: Session):
    session.append(Notice("before"))
    cursor = session.subscribe()
    taken: list[Event] = []

    async def follow() -> None:
        taken.extend(await cursor.take())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            assert taken == []
            event = session.append(Notice("after"))
    assert taken == [event]


async def test_a_cursor_whose_wait_is_cancelled_misses_nothing(session: Session):
    cursor = session.subscribe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cursor.take)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    event = session.append(Notice("a"))
    assert await cursor.take() == [event]


class Followers(RuleBasedStateMachine):
    """Any number of cursors, each as slow as it likes: every one sees each event once, in order."""

    @initialize()
    def begin(self) -> None:
        self.session = Session(HEADER, MemoryStore(), Path("/"), Path("/"))
        self.events: list[Event] = []
        self.seen: dict[Cursor, tuple[int, list[Event]]] = {}

    @rule(count=st.sampled_from([1, 2, 700, 1500]))
    def append(self, count: int) -> None:
        for _ in range(count):
            self.events.append(self.session.append(Notice("x")))

    @rule()
    def subscribe(self) -> None:
        self.seen[self.session.subscribe()] = (len(self.events), [])

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        behind = [cursor for cursor in self.seen if cursor.behind]
        if behind:
            cursor = data.draw(st.sampled_from(behind))
            self.seen[cursor][1].extend(anyio.run(cursor.take))

    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        if self.seen:
            cursor = data.draw(st.sampled_from(list(self.seen)))
            del self.seen[cursor]
            self.session.unsubscribe(cursor)

    @invariant()
    def each_cursor_has_seen_all_up_to_its_place(self) -> None:
        for cursor, (start, seen) in self.seen.items():
            assert seen == self.events[start : cursor.position]
            assert cursor.behind == len(self.events) - cursor.position

    @invariant()
    def what_all_have_taken_is_forgotten(self) -> None:
        needed = max((cursor.behind for cursor in self.seen), default=0)
        assert len(self.session._tail) < needed + 1024


TestFollowers = Followers.TestCase


async def test_an_event_that_everybody_took_is_forgotten_at_once(session: Session):
    cursors = [session.subscribe(), session.subscribe()]
    session.append(TURN)
    for cursor in cursors:
        assert len(session._tail) == 1
        await cursor.take()
    assert session._tail == []


async def test_nobody_is_waited_for_while_all_are_near(session: Session):
    session.subscribe()
    for _ in range(3):
        session.append(Notice("x"))
    with anyio.fail_after(PATIENCE):
        await session.wait_for_followers(3)


async def waiting(session: Session, done: list[str], name: str = "waited") -> None:
    await session.wait_for_followers(2)
    done.append(name)


@pytest.mark.parametrize("leaves", [False, True], ids=["catches up", "leaves"])
async def test_all_who_wait_go_on_when_the_slowest_follower_catches_up_or_leaves(
    session: Session, leaves: bool
):
    slow, quick = session.subscribe(), session.subscribe()
    for _ in range(3):
        session.append(Notice("x"))
    done: list[str] = []
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting, session, done, "first")
            tasks.start_soon(waiting, session, done, "second")
            await anyio.wait_all_tasks_blocked()
            await quick.take()
            await anyio.wait_all_tasks_blocked()
            assert done == []
            if leaves:
                session.unsubscribe(slow)
            else:
                await slow.take()
    assert sorted(done) == ["first", "second"]
