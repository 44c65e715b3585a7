"""Turns and steps: what the log says of them, what the model is sent, what failures leave behind."""

from typing import Any

import msgspec
import pytest
from inline_snapshot import snapshot

from wayline.log.content import Reasoning, Text
from wayline.log.events import AssistantMessage, LlmRetry, Notice, ToolResultRecorded, TurnEndReason
from wayline.log.memory import MemoryStore
from wayline.log.store import StorageError
from wayline.tools.search import GlobArguments, GlobTool

pytestmark = pytest.mark.anyio

DONE = [{"text": "DONE"}]
DOWN = [{"error": {"code": "UNAVAILABLE", "message": "down"}}]


def call(name: str, call_id: str = "c1", /, **arguments: Any) -> dict[str, Any]:
    return {"call": {"id": call_id, "name": name, "arguments": arguments}}


async def test_a_turn_is_written_down_in_order(conversation: Any):
    talk = conversation([call("todo_write", todos=[{"content": "a", "status": "pending"}])], DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    assert talk.types() == snapshot(
        [
            "turn/start",
            "user/message",
            "session/title",
            "step/start",
            "request/header",
            "assistant/message",
            "tool/call",
            "todo/write",
            "tool/result",
            "step/end",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end",
        ]
    )


async def test_the_model_is_sent_its_call_and_the_short_result_and_not_the_list(conversation: Any):
    talk = conversation([call("todo_write", todos=[{"content": "a", "status": "pending"}])], DONE)
    await talk.prompt("plan it")
    first, second = talk.model.requests
    assert msgspec.json.decode(msgspec.json.encode(list(second.messages))) == snapshot(
        [
            {"role": "user", "content": [{"type": "text", "text": "plan it"}]},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool-call",
                        "id": "c1",
                        "name": "todo_write",
                        "arguments": '{"todos": [{"content": "a", "status": "pending"}]}',
                    }
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "content": [
                            {
                                "type": "text",
                                "text": "Todo list saved: 1 pending, 0 in progress, 0 completed.",
                            }
                        ],
                    }
                ],
            },
        ]
    )
    assert first.system == second.system
    assert [tool.name for tool in first.tools] == snapshot(
        ["read", "write", "edit", "glob", "grep", "bash", "todo_write"]
    )


async def test_the_header_is_written_once_while_nothing_changes(conversation: Any):
    talk = conversation(DONE, DONE)
    await talk.prompt()
    await talk.prompt()
    assert talk.types().count("request/header") == 1
    assert talk.types().count("session/title") == 1


async def test_a_failed_attempt_is_made_again_within_its_step(conversation: Any):
    talk = conversation(DOWN, DOWN, DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    retries = [event.data for event in talk.events() if isinstance(event.data, LlmRetry)]
    assert [(retry.step, retry.attempt, retry.error) for retry in retries] == [(1, 1, "down"), (1, 2, "down")]
    assert talk.types().count("step/start") == 1


async def test_five_failed_attempts_end_the_turn_with_the_providers_words(conversation: Any):
    talk = conversation(*[DOWN] * 5, DONE)
    assert await talk.prompt() == TurnEndReason("error", step=1, message="down", code="UNAVAILABLE")
    assert talk.types().count("llm/retry") == 4
    assert await talk.prompt() == TurnEndReason("completed")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "AUTH", "message": "no"}, "AUTH"),
        ({"code": "REQUEST_REFUSED", "message": "no"}, "REQUEST_REFUSED"),
        ({"code": "CONTEXT_OVERFLOW", "message": "no"}, "CONTEXT_OVERFLOW"),
    ],
)
async def test_what_cannot_work_later_is_not_tried_again(conversation: Any, error: dict[str, str], code: str):
    talk = conversation([{"error": error}], DONE)
    assert await talk.prompt() == TurnEndReason("error", step=1, message="no", code=code)
    assert len(talk.model.requests) == 1
    assert await talk.prompt() == TurnEndReason("completed")


async def test_an_answer_cut_in_the_middle_is_kept_and_the_next_step_goes_on(conversation: Any):
    talk = conversation([{"text": "half an "}, {"cut": True}], DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    messages = [event.data for event in talk.events() if isinstance(event.data, AssistantMessage)]
    assert [(message.step, message.interrupted, message.content) for message in messages] == [
        (1, True, (Text("half an "),)),
        (2, False, (Text("DONE"),)),
    ]
    sent = talk.model.requests[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert "cut off" in str(sent[-1])


async def test_a_call_of_a_cut_answer_is_not_run(conversation: Any):
    talk = conversation([call("write", file_path="x", content="y"), {"cut": True}], DONE)
    talk.mode = "full"
    assert await talk.prompt() == TurnEndReason("completed")
    assert not (talk.workspace / "x").exists()
    (result,) = [event.data for event in talk.events() if isinstance(event.data, ToolResultRecorded)]
    assert result.error is not None
    assert result.error.code == "ABORTED_BEFORE_DISPATCH"


async def test_an_empty_answer_is_asked_for_again(conversation: Any):
    talk = conversation([], [{"text": ""}], DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    assert talk.types().count("llm/retry") == 2


THOUGHT = [{"reasoning": "hmm"}]


@pytest.mark.parametrize("thought", [THOUGHT, [*THOUGHT, {"text": "\n\n"}], [{"text": " "}]])
async def test_an_answer_of_reasoning_alone_is_asked_for_once_more(conversation: Any, thought: Any):
    talk = conversation(thought, DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    messages = [event.data.content for event in talk.events() if isinstance(event.data, AssistantMessage)]
    assert messages == [(Text("DONE"),)]
    (retry,) = [event.data for event in talk.events() if isinstance(event.data, LlmRetry)]
    assert "no answer" in retry.error
    assert talk.types().count("notice") == 0


async def test_reasoning_alone_twice_ends_the_turn_and_the_person_is_told(conversation: Any):
    talk = conversation(THOUGHT, THOUGHT, DONE)
    assert await talk.prompt() == TurnEndReason("completed")
    assert len(talk.model.requests) == 2
    messages = [event.data.content for event in talk.events() if isinstance(event.data, AssistantMessage)]
    assert messages == [(Reasoning("hmm"),)]
    (notice,) = [event.data.text for event in talk.events() if isinstance(event.data, Notice)]
    assert "no answer" in notice


async def test_reasoning_alone_is_asked_for_again_in_each_step_and_never_past_the_tries(conversation: Any):
    talk = conversation(THOUGHT, [call("glob", pattern="*")], THOUGHT, DONE, DOWN, DOWN, THOUGHT, tries=3)
    assert await talk.prompt() == TurnEndReason("completed")
    assert talk.types().count("llm/retry") == 2
    assert await talk.prompt() == TurnEndReason("completed")
    assert talk.types().count("llm/retry") == 4
    assert len(talk.model.requests) == 7


async def test_the_token_limit_ends_the_turn_and_runs_no_call(conversation: Any):
    talk = conversation([call("write", file_path="x", content="y"), {"finish": "max-tokens"}], DONE)
    talk.mode = "full"
    assert await talk.prompt() == TurnEndReason("max-tokens")
    assert not (talk.workspace / "x").exists()
    assert await talk.prompt() == TurnEndReason("completed")


async def test_a_refused_turn_leaves_the_messages_and_stays_in_the_log(conversation: Any):
    talk = conversation([{"text": "I will not"}, {"finish": "refusal"}], DONE)
    assert await talk.prompt("bad") == TurnEndReason("refusal")
    assert await talk.prompt("good") == TurnEndReason("completed")
    assert [str(message.content) for message in talk.model.requests[1].messages] == [str((Text("good"),))]
    assert "assistant/message" in talk.types()


class Failing(MemoryStore):
    """A disk that takes writes and cannot flush from some moment on."""

    dirty = True
    flushes_left = 10**6

    def sync(self) -> None:
        self.flushes_left -= 1
        if self.flushes_left < 0:
            raise StorageError("the disk is gone")


async def test_no_request_is_made_when_it_could_not_be_recorded(conversation: Any):
    store = Failing()
    store.flushes_left = 0
    talk = conversation(DONE, DONE, store=store)
    with pytest.raises(StorageError):
        await talk.prompt()
    assert talk.model.requests == []
    store.flushes_left = 10**6
    assert await talk.prompt() == TurnEndReason("completed")


async def test_no_tool_runs_when_its_call_could_not_be_recorded(conversation: Any):
    store = Failing()
    store.flushes_left = 1
    talk = conversation([call("write", file_path="x", content="y")], DONE, store=store)
    talk.mode = "full"
    with pytest.raises(StorageError):
        await talk.prompt()
    assert not (talk.workspace / "x").exists()
    assert talk.types()[-1] == "turn/end"


async def test_a_permitted_call_does_not_run_when_the_permission_could_not_be_recorded(conversation: Any):
    store = Failing()
    store.flushes_left = 2
    talk = conversation([call("write", file_path="x", content="y")], DONE, store=store)
    with pytest.raises(StorageError):
        await talk.prompt()
    assert not (talk.workspace / "x").exists()


async def test_a_full_disk_ends_the_turn_and_the_next_one_works(conversation: Any):
    class Full(MemoryStore):
        full = False

        def append(self, line: bytes) -> None:
            if self.full and b"turn/end" not in line:
                raise StorageError("the disk is full")
            super().append(line)

    store = Full()
    talk = conversation(DONE, DONE, store=store)
    store.full = True
    with pytest.raises(StorageError):
        await talk.prompt()
    store.full = False
    assert await talk.prompt() == TurnEndReason("completed")


@pytest.mark.parametrize("lines", range(2, 16))
async def test_a_disk_that_fills_up_anywhere_leaves_a_log_that_goes_on(conversation: Any, lines: int):
    class Filling(MemoryStore):
        room = 10**6

        def append(self, line: bytes) -> None:
            self.room -= 1
            if self.room < 0:
                raise StorageError("the disk is full")
            super().append(line)

    store = Filling()
    talk = conversation([call("glob", pattern="*")], DONE, DONE, store=store)
    store.room = lines
    with pytest.raises(StorageError):
        await talk.prompt()
    store.room = 10**6
    await talk.prompt()
    assert talk.types()[-1] == "turn/end"
    assert talk.types().count("turn/start") == talk.types().count("turn/end") == 2


class Unsure(GlobTool):
    """A tool that crashes when it is asked whether it may run beside others."""

    name = "unsure"

    def parallel_safe(self, arguments: GlobArguments) -> bool:
        raise KeyError("unsure")


async def test_a_tool_that_crashes_before_it_runs_is_run_alone(conversation: Any):
    talk = conversation([call("unsure", "a", pattern="*"), call("glob", "b", pattern="*")], DONE)
    talk.tools.add(Unsure())
    assert await talk.prompt() == TurnEndReason("completed")
    kinds = [kind for kind in talk.types() if kind.startswith("tool/")]
    assert kinds == ["tool/call", "tool/result"] * 2


async def test_ids_that_a_provider_repeats_are_made_its_own(conversation: Any):
    talk = conversation([call("glob", "same", pattern="*")], [call("glob", "same", pattern="*")], DONE)
    await talk.prompt()
    ids = [event.data.call_id for event in talk.events() if isinstance(event.data, ToolResultRecorded)]
    assert len(set(ids)) == 2
