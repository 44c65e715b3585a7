"""Replaying a log gives what living through it gave."""

from hypothesis import given
from hypothesis import strategies as st

from tests.log.conversations import Writer, bytes_of, conversations
from wayline.log.events import AssistantMessage, Event, TodoWrite, ToolResultRecorded, TurnStart
from wayline.log.reader import read
from wayline.projections.state import State, fold, fold_all


@given(conversations())
def test_replay_equals_live(log: Writer):
    live = State()
    for event in log.events:
        live = fold(live, event)
    assert fold_all(log.events) == live
    assert fold_all(read(bytes_of(log.events)).events) == live


@given(conversations(), st.data())
def test_a_fold_can_be_continued_anywhere(log: Writer, data: st.DataObject):
    size = data.draw(st.integers(0, len(log.events)))
    assert fold_all(log.events[size:], fold_all(log.events[:size])) == fold_all(log.events)


@given(conversations())
def test_folding_on_changes_no_earlier_state(log: Writer):
    states = [State()]
    for event in log.events:
        states.append(fold(states[-1], event))
    for size, state in enumerate(states):
        assert state == fold_all(log.events[:size])


@given(conversations(), st.data())
def test_two_futures_of_one_state_do_not_meet(log: Writer, data: st.DataObject):
    """A fold that steps back, as a rewind does, leaves alone what went on from there."""
    size = data.draw(st.integers(0, len(log.events)))
    past = fold_all(log.events[:size])
    first = fold_all(log.events[size:], past)
    assert fold_all(log.events[size:], past) == first == fold_all(log.events)


@given(conversations())
def test_the_history_is_the_surface(log: Writer):
    assert list(fold_all(log.events).messages.seqs) == log.surface


@given(conversations())
def test_every_message_of_the_history_says_which_event_it_is_from(log: Writer):
    messages = fold_all(log.events).messages
    assert len(messages.history) == len(messages.seqs)
    roles = {AssistantMessage: "assistant", ToolResultRecorded: "tool"}
    for message, seq in zip(messages.history, messages.seqs, strict=True):
        assert message.role == roles.get(type(log.events[seq].data), "user")


@given(conversations())
def test_the_list_is_the_last_one_written(log: Writer):
    todos = fold_all(log.events).todos
    writes = [event for event in log.events if isinstance(event.data, TodoWrite)]
    if not writes:
        assert (todos.items, todos.seq, todos.turn) == (None, -1, 0)
        return
    last = writes[-1]
    assert (todos.items, todos.seq) == (last.data.todos, last.seq)  # type: ignore[union-attr]
    assert todos.turn == max(turn for turn in turns(log.events[: last.seq]))
    assert todos.changes == sum(changed(event) for event in log.events[last.seq :])


def turns(events: list[Event]) -> list[int]:
    return [event.data.turn for event in events if isinstance(event.data, TurnStart)]


def changed(event: Event) -> bool:
    data = event.data
    return isinstance(data, ToolResultRecorded) and not data.is_error and data.meta == {"changed": True}
