"""What each projection makes of its events."""

from typing import Any

import msgspec
import pytest

from tests.log.conversations import Writer
from wayline.log.content import ContentBlock, Image, Message, Reasoning, Text, ToolCall, ToolResult, Usage
from wayline.log.events import (
    USER,
    AssistantMessage,
    CommandDone,
    ContextMessage,
    Event,
    LlmRetry,
    Notice,
    PermissionDecided,
    PermissionOutcome,
    PromptBlocked,
    RequestHeader,
    SessionConfig,
    SessionMode,
    SessionTitle,
    Source,
    SteeringMessage,
    StepStart,
    TodoItem,
    TodoWrite,
    ToolCallStarted,
    ToolError,
    ToolResultRecorded,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    Unknown,
    UserMessage,
)
from wayline.projections.state import State, fold, fold_all

COMPLETED = TurnEndReason("completed")
REFUSED = TurnEndReason("refusal")


@pytest.fixture
def log() -> Writer:
    """A session whose first turn is open."""
    log = Writer()
    turn(log, 1)
    return log


def turn(log: Writer, number: int) -> None:
    log.add(TurnStart(number, Trigger("message", USER)))


def say(log: Writer, *texts: str) -> None:
    for text in texts:
        log.add(UserMessage((Text(text),), USER))


def state(log: Writer) -> State:
    return fold_all(log.events)


def history(log: Writer) -> list[str]:
    """The texts of the history."""
    return [block.text for message in state(log).messages.history for block in message.content]  # type: ignore[union-attr]


def result(*, is_error: bool = False, meta: dict[str, Any] | None = None) -> ToolResultRecorded:
    error = ToolError("Failed", "FAILED") if is_error else None
    return ToolResultRecorded(1, 1, "c1", (Text("out"),), is_error, error, meta)


class TestMessages:
    def test_each_kind_of_surface_event_has_its_role(self, log: Writer):
        image = Image(url="https://example.org/a.png")
        reply: tuple[ContentBlock, ...] = (Reasoning("why"), Text("hi"), ToolCall("c1", "bash", "{}"))
        log.add(UserMessage((Text("hello"), image), USER))
        log.add(AssistantMessage(1, 1, reply))
        log.add(result(is_error=True))
        log.add(SteeringMessage(1, (Text("stop that"),), USER))
        assert list(state(log).messages.history) == [
            Message("user", (Text("hello"), image)),
            Message("assistant", reply),
            Message("tool", (ToolResult("c1", (Text("out"),), True),)),
            Message("user", (Text("stop that"),)),
        ]

    def test_what_no_person_typed_is_marked(self, log: Writer):
        log.add(ContextMessage((Text("keep the list current"),), Source("reminder")))
        assert history(log) == ['<context source="reminder">', "keep the list current", "</context>"]

    def test_nothing_else_reaches_the_model(self, log: Writer):
        log.add(TodoWrite((TodoItem("a", "pending"),)))
        log.add(Notice("to the person"))
        log.add(PromptBlocked((Text("no"),), USER, "a hook"))
        log.add(ToolCallStarted(1, 1, "c1", "bash", "{}"))
        log.add(CommandDone("done"))
        log.add(TurnEnd(1, COMPLETED))
        assert history(log) == []

    def test_a_refused_turn_leaves_the_history_and_only_it(self, log: Writer):
        say(log, "first")
        log.add(TurnEnd(1, COMPLETED))
        turn(log, 2)
        say(log, "second")
        log.add(AssistantMessage(2, 1, (Text("I will not"),)))
        log.add(TurnEnd(2, REFUSED))
        turn(log, 3)
        say(log, "third")
        assert history(log) == ["first", "third"]

    @pytest.mark.parametrize(
        ("first", "last", "left"),
        [
            (0, 0, ["summary", "b"]),
            (0, 1, ["summary"]),
            (1, 2, ["a", "summary"]),
            (0, 3, ["summary"]),
            (2, 2, ["a", "b"]),
            (2, 3, ["a", "b"]),
        ],
    )
    def test_a_refusal_after_a_compaction_takes_what_was_said_in_its_turn(
        self, log: Writer, first: int, last: int, left: list[str]
    ):
        say(log, "a", "b")
        log.add(TurnEnd(1, COMPLETED))
        turn(log, 2)
        say(log, "c", "d")
        log.summarize(first, last, "summary")
        log.add(TurnEnd(2, REFUSED))
        assert history(log) == left

    def test_a_summary_stands_in_the_place_of_what_it_sums_up(self, log: Writer):
        say(log, "a", "b", "c", "d")
        log.summarize(1, 2, "b and c")
        say(log, "e")
        assert history(log) == ["a", "b and c", "d", "e"]
        log.summarize(0, 2, "a to d")
        assert history(log) == ["a to d", "e"]
        assert list(state(log).messages.seqs) == log.surface


class TestTodos:
    def test_there_is_none_until_one_is_written(self, log: Writer):
        assert state(log).todos.items is None
        log.add(TodoWrite(()))
        assert state(log).todos.items == ()

    def test_the_last_list_wins_and_knows_where_it_was_written(self, log: Writer):
        log.add(TodoWrite((TodoItem("a", "pending"), TodoItem("b", "in_progress"))))
        log.add(TurnEnd(1, COMPLETED))
        turn(log, 2)
        written = log.add(TodoWrite((TodoItem("a", "completed"),)))
        turn(log, 3)
        todos = state(log).todos
        assert (todos.items, todos.seq, todos.turn) == ((TodoItem("a", "completed"),), written.seq, 2)
        assert todos.current_turn == 3

    def test_it_counts_the_results_that_changed_something_since(self, log: Writer):
        log.add(result(meta={"changed": True}))
        log.add(TodoWrite(()))
        assert state(log).todos.changes == 0
        log.add(result(meta={"changed": True}))
        log.add(result(meta={"changed": True, "seen": {}}))
        log.add(result(meta={"changed": False}))
        log.add(result(meta={}))
        log.add(result())
        log.add(result(is_error=True, meta={"changed": True}))
        assert state(log).todos.changes == 2

    def test_a_refusal_does_not_take_the_list(self, log: Writer):
        log.add(TodoWrite((TodoItem("a", "pending"),)))
        log.add(TurnEnd(1, REFUSED))
        assert state(log).todos.items == (TodoItem("a", "pending"),)


class TestTranscript:
    def test_a_person_reads_on_in_log_order_what_a_compaction_took_from_the_model(self, log: Writer):
        say(log, "a", "b")
        log.summarize(0, 1, "a and b")
        say(log, "c")
        assert [event.data for event in state(log).transcript] == [
            UserMessage((Text(text),), USER) for text in ("a", "b", "c")
        ]

    def test_a_person_reads_what_was_refused(self, log: Writer):
        say(log, "a")
        log.add(TurnEnd(1, REFUSED))
        assert [event.type for event in state(log).transcript] == ["user/message", "turn/end"]

    def test_lists_context_and_settings_are_no_part_of_it(self, log: Writer):
        log.add(TodoWrite(()))
        log.add(ContextMessage((Text("a"),), Source("reminder")))
        log.add(SessionMode("full"))
        log.add(SessionTitle("t", USER))
        assert list(state(log).transcript) == []


class TestMeta:
    @pytest.mark.parametrize(
        ("prompt", "title"),
        [
            ((Text("fix the bug"),), "fix the bug"),
            ((Text("  fix\tthe   bug  \nplease"),), "fix the bug"),
            ((Text("\n\n fix it"),), "fix it"),
            ((Text("fix"), Text("it")), "fix it"),
            ((Image(url="x"), Text("what is this?")), "what is this?"),
            ((Image(url="x"),), None),
            ((Text(" \n "),), None),
            ((Text("x" * 80),), "x" * 80),
            ((Text("x" * 81),), "x" * 80 + "…"),
            ((Text("word " * 40),), ("word " * 16).strip() + "…"),
        ],
    )
    def test_a_title_is_the_first_words_of_the_first_prompt(
        self, log: Writer, prompt: tuple[ContentBlock, ...], title: str | None
    ):
        log.add(UserMessage(prompt, USER))
        assert state(log).meta.title == title

    def test_a_later_prompt_does_not_change_the_title_and_a_title_does(self, log: Writer):
        say(log, "first", "second")
        assert state(log).meta.title == "first"
        log.add(SessionTitle("chosen", USER))
        say(log, "third")
        assert state(log).meta.title == "chosen"

    def test_mode_model_and_header_are_the_last_ones(self, log: Writer):
        for mode in ("ask", "full"):
            log.add(SessionMode(mode))
        for model in ("a", "b"):
            log.add(SessionConfig("model", model))
        log.add(SessionConfig("thought", "deep"))
        headers = [RequestHeader("p", "m", system, (), "changed") for system in ("one", "two")]
        for header in headers:
            log.add(header)
        meta = state(log).meta
        assert (meta.mode, meta.model, meta.header) == ("full", "b", headers[1])

    def test_it_counts_turns_and_requests_and_knows_when_it_was(self, log: Writer):
        log.add(StepStart(1, 1))
        log.add(LlmRetry(1, 1, 1, 10, "cut"))
        log.add(LlmRetry(1, 1, 2, 10, "cut"))
        log.add(TurnEnd(1, COMPLETED))
        turn(log, 2)
        log.add(StepStart(2, 1))
        last = log.add(Notice("bye"))
        meta = state(log).meta
        assert (meta.turns, meta.requests, meta.updated_at) == (2, 4, last.time)


def test_usage_is_that_of_the_last_request_and_the_sum_of_all(log: Writer):
    log.add(AssistantMessage(1, 1, (Text("a"),), Usage(100, 10, 50, 5)))
    log.add(AssistantMessage(1, 2, (Text("b"),), Usage(20, 30, 200, 7)))
    log.add(AssistantMessage(1, 3, (Text("c"),)))
    usage = state(log).usage
    assert usage.context_tokens == 20 + 30 + 200
    assert usage.total == Usage(120, 40, 250, 12)


@pytest.mark.parametrize(
    ("outcome", "granted"),
    [("allow-session", True), ("allow-once", False), ("reject", False), ("cancelled", False)],
)
def test_only_an_answer_for_the_session_is_a_grant(log: Writer, outcome: PermissionOutcome, granted: bool):
    log.add(PermissionDecided("c1", outcome, "bash:ls"))
    log.add(TurnEnd(1, COMPLETED))
    assert state(log).grants == ({"bash:ls"} if granted else set())


def test_what_was_seen_last_of_a_file_counts(log: Writer):
    log.add(result(meta={"seen": {"/a": "1", "/b": "1"}}))
    log.add(result(meta={"seen": {"/a": "2"}}))
    log.add(result(meta={"seen": None}))
    log.add(result())
    assert state(log).seen == {"/a": "2", "/b": "1"}


def test_an_event_that_nobody_knows_changes_nothing_but_the_time(log: Writer):
    say(log, "hello")
    before = state(log)
    after = fold(before, Event("weather/changed", 2, 5000, Unknown({"sky": "grey"}), "append"))
    assert after == msgspec.structs.replace(
        before, meta=msgspec.structs.replace(before.meta, updated_at=5000)
    )
