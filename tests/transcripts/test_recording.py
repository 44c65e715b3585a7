"""What is recorded: the steps of single conversations, and of generated ones, which are green in a run."""

import io
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.editor import PATIENCE
from wayline.transcripts.format import (
    Answer,
    Expect,
    Meta,
    Note,
    Refuse,
    Send,
    SendLine,
    Step,
    Text,
    Transcript,
    Unordered,
    dump,
    parse,
    read,
)
from wayline.transcripts.placeholders import literal
from wayline.transcripts.playing import places, report
from wayline.transcripts.playing.agents import RunningAgent
from wayline.transcripts.playing.in_process import InProcess
from wayline.transcripts.playing.matching import compare, fill
from wayline.transcripts.playing.places import Place
from wayline.transcripts.playing.player import Outcome, play
from wayline.transcripts.recording import snapshot, tape, writer
from wayline.transcripts.recording.recording import Recording, recording
from wayline.transcripts.recording.tape import Tapped
from wayline.transcripts.recording.volatile import Surroundings

AROUND = Surroundings(workspace=("/home/me/code", "/data/code"), home=("/home/me/.local",), tmp=("/tmp",))
SESSION = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"

Frame = dict[str, Any]


def client(*frames: Frame) -> list[Tapped]:
    """Messages of the client's."""
    return [Tapped("client", 0.0, json.dumps({"jsonrpc": "2.0", **frame}).encode()) for frame in frames]


def agent(*frames: Frame) -> list[Tapped]:
    """Messages of the agent's."""
    return [Tapped("agent", 0.0, json.dumps({"jsonrpc": "2.0", **frame}).encode()) for frame in frames]


def asks(number: int, method: str, **params: Any) -> list[Tapped]:
    """A request of the client's."""
    return client({"id": number, "method": method, "params": params})


def answers(number: Any, result: Any) -> list[Tapped]:
    """An answer of the agent's."""
    return agent({"id": number, "result": result})


def update(kind: str, session: str = SESSION, **members: Any) -> list[Tapped]:
    """An update of a session."""
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
    return agent({"method": "session/update", "params": params})


def chunk(text: str, message: str = "m1", kind: str = "agent_message_chunk") -> list[Tapped]:
    """A piece of a message."""
    return update(kind, content={"type": "text", "text": text}, messageId=message)


def prompts(number: int, text: str = "hello", session: str = SESSION) -> list[Tapped]:
    """A prompt."""
    return asks(number, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


def begun(session: str = SESSION) -> list[Tapped]:
    """A session is made, by the request with number 1."""
    return [
        *asks(1, "session/new", cwd="/home/me/code", mcpServers=[]),
        *answers(1, {"sessionId": session}),
    ]


def recorded(*lines: Sequence[Tapped]) -> Recording:
    """What is recorded of these lines, without its times; it can be read again as it is."""
    it = recording([line for some in lines for line in some], AROUND, "it")
    assert [placed.step for placed in parse(dump(it.meta, list(it.steps)), Path("it.jsonl")).steps] == [
        *it.steps
    ]
    return replace(it, steps=tuple(timeless(it.steps)))


def timeless(steps: Iterable[Step]) -> list[Step]:
    """Steps without the times they were recorded at."""
    return [replace(step, at=None) if hasattr(step, "at") else step for step in steps]


def after_begin(*lines: Sequence[Tapped]) -> list[Step]:
    """The steps of a conversation after its session was made."""
    return [*recorded(begun(), *lines).steps[2:]]


def expects(update: Frame, session: str = "${session}") -> Expect:
    """An update of the first session is expected."""
    return Expect({"method": "session/update", "params": {"sessionId": session, "update": update}})


def test_each_step_has_the_time_of_its_first_line():
    lines = [
        *asks(1, "session/new", cwd="/home/me/code", mcpServers=[]),
        *answers(1, {"sessionId": SESSION}),
        *prompts(2),
        *chunk("Hel"),
        *chunk("lo"),
        *answers(2, {"stopReason": "end_turn"}),
    ]
    timed = [replace(line, time=number / 2) for number, line in enumerate(lines)]
    steps = recording(timed, AROUND, "it").steps
    assert [getattr(step, "at", None) for step in steps] == [0.0, 0.5, 1.0, 1.5, 2.5]


def test_a_plain_turn():
    steps = recorded(
        begun(), prompts(2), chunk("Hel"), chunk("lo"), answers(2, {"stopReason": "end_turn"})
    ).steps
    assert [json.loads(line) for line in dump(Meta("it"), [*steps]).splitlines()][1:] == [
        {"send": {"method": "session/new", "params": {"cwd": "${cwd}", "mcpServers": []}}, "as": "new"},
        {"expect": {"result": {"sessionId": "${session:=…}"}}, "to": "new"},
        {
            "send": {
                "method": "session/prompt",
                "params": {"sessionId": "${session}", "prompt": [{"type": "text", "text": "hello"}]},
            },
            "as": "prompt",
        },
        {"text": "Hello", "of": "agent_message_chunk", "until": "prompt"},
        {"expect": {"result": {"stopReason": "end_turn"}}, "to": "prompt"},
    ]


def test_a_run_ends_where_another_frame_comes_or_another_message_begins():
    assert after_begin(
        prompts(2),
        chunk("a", "m1", "agent_thought_chunk"),
        chunk("b"),
        chunk("c", "m2"),
        update("plan", entries=[]),
        chunk("d"),
        update("available_commands_update", availableCommands=[]),
        update("usage_update", used=1, size=2),
        update("session_info_update", title="x"),
        chunk("e"),
        answers(2, {"stopReason": "end_turn"}),
    )[1:-1] == [
        Text("a", "agent_thought_chunk"),
        Text("b"),
        Text("c"),
        expects({"sessionUpdate": "plan", "entries": []}),
        Text("de", until="prompt"),
    ]


def test_of_a_call_its_begin_and_its_end_are_expected():
    steps = after_begin(
        prompts(2),
        update("tool_call", toolCallId="c1", title="x", status="in_progress"),
        update("tool_call_update", toolCallId="c1", content=["some"]),
        update("tool_call_update", toolCallId="c1", status="pending"),
        update("tool_call_update", toolCallId="c1", status="completed", content=["took 1.25 s, v1.5"]),
        answers(2, {}),
    )
    assert steps[1:-1] == [
        expects(
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "${call1:=…}",
                "title": "x",
                "status": "in_progress",
            }
        ),
        expects(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "${call1}",
                "status": "completed",
                "content": [r"took ${/[\d.]+/} s, v1.5"],
            }
        ),
    ]


def test_calls_that_overlap_end_in_any_order():
    def begins(call: str) -> list[Tapped]:
        return update("tool_call", toolCallId=call)

    def ends(call: str) -> list[Tapped]:
        return update("tool_call_update", toolCallId=call, status="completed")

    steps = after_begin(
        begins("alone"), ends("alone"), begins("a"), begins("b"), ends("b"), ends("a"), begins("c"), ends("c")
    )
    assert [type(step) for step in steps] == [Expect, Expect, Unordered, Expect, Expect]
    assert isinstance(steps[2], Unordered)
    assert [each.expect["params"]["update"]["toolCallId"] for each in steps[2].unordered] == [
        "${call2:=…}",
        "${call3:=…}",
        "${call3}",
        "${call2}",
    ]


def question(number: Any, method: str, **params: Any) -> list[Tapped]:
    """A question of the agent's."""
    return agent({"id": number, "method": method, "params": {"sessionId": SESSION, **params}})


def test_what_the_client_answered_stands_where_it_did():
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    steps = after_begin(
        prompts(2),
        update("tool_call", toolCallId="c1"),
        question(
            1, "session/request_permission", toolCall={"toolCallId": "c1", "title": "x"}, options=options
        ),
        client({"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}),
        question("1", "fs/read_text_file", path="/home/me/code/a", line=1, limit=9),
        client({"id": "1", "error": {"code": -32002, "message": "no /home/me/code/a", "more": 1}}),
    )
    assert isinstance(steps[2], Expect)
    assert steps[2].expect["params"]["toolCall"] == {"toolCallId": "${call1}", "title": "x"}
    about = {"sessionId": "${session}", "toolCall": {"toolCallId": "${call1}"}}
    assert steps[3] == Answer(
        {"outcome": {"outcome": "selected", "optionId": "yes"}},
        {"method": "session/request_permission", "params": about},
    )
    assert isinstance(steps[5], Refuse)
    assert steps[5].refuse.message == "no ${cwd}/a"
    assert steps[5].to == {
        "method": "fs/read_text_file",
        "params": {"sessionId": "${session}", "path": "${cwd}/a", "line": 1},
    }


def test_a_cancelled_message_has_only_begun():
    steps = after_begin(
        prompts(2),
        chunk("one "),
        chunk("two "),
        client({"method": "session/cancel", "params": {"sessionId": SESSION}}),
        chunk("three"),
        update("tool_call", toolCallId="late"),
        update("tool_call_update", toolCallId="late", status="failed"),
        answers(2, {"stopReason": "cancelled"}),
        prompts(3),
        chunk("four"),
        answers(3, {"stopReason": "end_turn"}),
    )
    assert steps[1] == expects({"sessionUpdate": "agent_message_chunk"})
    assert isinstance(steps[2], Send)
    assert steps[2].send.method == "session/cancel"
    assert steps[3] == Expect({"result": {"stopReason": "cancelled"}}, "prompt")
    assert steps[5] == Text("four", until="prompt2")


def test_a_request_is_withdrawn_by_the_number_that_a_run_gives_it():
    steps = after_begin(
        client({"id": "mine", "method": "session/prompt", "params": {"sessionId": SESSION, "prompt": []}}),
        client({"method": "$/cancel_request", "params": {"requestId": "mine"}}),
        agent({"id": "mine", "error": {"code": -32800, "message": "Request cancelled"}}),
    )
    assert isinstance(steps[1], Send)
    assert steps[1].send.params == {"requestId": 2}
    assert steps[2] == Expect({"error": {"code": -32800, "message": "Request cancelled"}}, "prompt")


def test_an_answer_in_the_middle_of_a_message_comes_after_it():
    steps = after_begin(
        prompts(2),
        chunk("a"),
        asks(3, "session/set_mode", sessionId=SESSION, modeId="x"),
        answers(3, {}),
        chunk("b"),
        answers(2, {}),
    )
    assert steps[2:] == [
        Text("ab", until="prompt"),
        Unordered((Expect({"result": {}}, "set_mode"), Expect({"result": {}}, "prompt"))),
    ]


def test_garbage_of_both_sides():
    bad = b'{"jsonrpc": "2.0", "id": 4.5, "method": "x"}'
    lines = [Tapped("client", 0.0, line) for line in (b"\xff{", b"[1]", bad, b'{"jsonrpc": "2.0", "id": 1}')]
    said = [Tapped("agent", 0.0, line) for line in (b"Loading...", b"[]", b'{"jsonrpc": "2.0", "id": 1}')]
    steps = recorded(
        lines, said, agent({"id": None, "error": {"code": -32700, "message": "Parse error"}})
    ).steps
    assert steps[:4] == tuple(
        SendLine(line) for line in ("\udcff{", "[1]", bad.decode(), lines[3].line.decode())
    )
    assert all(isinstance(step, Note) for step in steps[4:7])
    assert steps[7:] == (Expect({"error": {"code": -32700, "message": "Parse error"}}),)


@pytest.mark.parametrize(
    ("came", "template"),
    [
        ("/home/me/code", "${cwd}"),
        ("see /data/code/a.py, /home/me/code.", "see ${cwd}/a.py, ${cwd}."),
        ("/home/me/codeshop /home/me/code.bak /home/me/code-2 x/home/me/code", None),
        ("/home/me/.local/sessions/work-0a1b2c3d/x/log", "${home}/sessions/${any}/x/log"),
        ("made /tmp/abc/def-1 and /tmp", "made ${any} and ${any}"),
        ("/tmpfiles", None),
        (f"in {SESSION}/x", "in ${session}/x"),
        ("of 0a000000-8b86-4d01-b42d-00cf4fc964ff", "of ${any}"),
        ("at 2026-01-02T03:04:05.678Z on 2026-01-02", "at ${any} on 2026-01-02"),
        ("costs ${HOME} $", "costs $${HOME} $"),
        ("$/home/me/code", "${repeat:1:$}${cwd}"),
        ("$$$/home/me/code", "${repeat:3:$}${cwd}"),
    ],
)
def test_volatile_words_become_placeholders(came: str, template: str | None):
    (step,) = after_begin(update("plan", entries=[{"content": came}]))
    expected = came if template is None else template
    assert step == expects({"sessionUpdate": "plan", "entries": [{"content": expected}]})


def test_volatile_members_become_placeholders():
    (step,) = after_begin(
        update("x", updatedAt=5, createdAt="now", messageId="m7", other=SESSION, _meta={"a": 1}, id="c1")
    )
    members = {"updatedAt": "${any}", "createdAt": "${any}", "messageId": "${message1:=…}"}
    assert step == expects({"sessionUpdate": "x", **members, "other": "${session}", "id": "c1"})


def test_what_the_client_said_first_is_no_placeholder():
    steps = recorded(
        asks(1, "session/load", sessionId="earlier-1", cwd="/home/me/code"),
        update("plan", session="earlier-1", entries=[]),
        answers(1, {}),
    ).steps
    assert isinstance(steps[0], Note)
    assert steps[2] == expects({"sessionUpdate": "plan", "entries": []}, session="earlier-1")


def test_sessions_of_other_conversations_are_nobodys_business():
    mine, other = {"sessionId": SESSION, "updatedAt": "x"}, {"sessionId": "other", "cwd": "/secret"}
    steps = after_begin(asks(2, "session/list"), answers(2, {"sessions": [mine, other]}))
    assert isinstance(steps[1], Note)
    assert steps[2] == Expect({"result": {}}, "list")
    assert after_begin(asks(2, "session/list"), answers(2, {"sessions": [mine]}))[1] == Expect(
        {"result": {"sessions": [{"sessionId": "${session}", "updatedAt": "${any}"}]}}, "list"
    )


def test_the_version_and_the_model_are_anything():
    told = {
        "agentInfo": {"name": "wayline", "version": "9"},
        "agentCapabilities": {"promptCapabilities": {"image": True}},
    }
    options = [{"id": "model", "currentValue": "a/b", "options": [1, 2]}, {"id": "mode", "currentValue": "x"}]
    it = recorded(
        asks(0, "initialize", protocolVersion=1),
        answers(0, told),
        asks(1, "session/new", cwd="/home/me/code"),
        answers(1, {"sessionId": SESSION, "modes": {"currentModeId": "plan"}, "configOptions": options}),
        asks(2, "session/set_config_option", sessionId=SESSION, configId="model", value="a/b"),
        answers(2, {"configOptions": options}),
        prompts(3),
    )
    assert (it.agent, it.meta.mode, it.prompted) == ("wayline", "plan", (SESSION,))
    first, second = it.steps[1], it.steps[3]
    assert isinstance(first, Expect)
    assert isinstance(second, Expect)
    assert first.expect["result"]["agentInfo"]["version"] == "${any}"
    assert first.expect["result"]["agentCapabilities"]["promptCapabilities"]["image"] == "${any}"
    assert second.expect["result"]["configOptions"] == [
        {"id": "model", "currentValue": "${any}", "options": "${any}"},
        {"id": "mode", "currentValue": "x"},
    ]
    assert isinstance(it.steps[4], Note)
    assert isinstance(it.steps[5], Send)
    assert it.steps[5].send.method == "session/prompt"


# Generated conversations

words = st.text(
    st.sampled_from("ab ${}/.\n\\\"'…\u2028é") | st.characters(codec="utf-8"), max_size=12
) | st.sampled_from(
    [
        "${cwd}",
        "$${",
        "$",
        "/home/me/code",
        "/home/me/codeshop",
        "$/home/me/code",
        SESSION,
        "${any}",
        "/data/code/$",
    ]
)
content = st.lists(words, max_size=4).map("".join)
plain = st.none() | st.booleans() | st.integers(-9, 9) | content | st.just("in $/tmp/x at 2026-01-01T00:00Z")
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
said = (
    st.builds(chunk, content)
    | st.builds(lambda text: chunk(text, "m2"), content)
    | st.builds(lambda text: chunk(text, "m1", "agent_thought_chunk"), content)
    | st.builds(lambda value: update("plan", entries=value), values)
    | st.builds(
        lambda call, value: update("tool_call", toolCallId=call, rawInput=value),
        st.sampled_from("xyz"),
        values,
    )
    | st.builds(
        lambda call, value: update("tool_call_update", toolCallId=call, status="completed", rawOutput=value),
        st.sampled_from("xyz"),
        values,
    )
    | st.builds(
        lambda value: agent({"method": "_theirs", "params": value}),
        st.dictionaries(words, values, max_size=2),
    )
)


@st.composite
def turns(draw: st.DrawFn) -> list[Tapped]:
    """Turns of one session, with questions."""
    lines = begun()
    for number in range(2, 2 + draw(st.integers(0, 3))):
        lines += prompts(number, draw(content))
        for one in draw(st.lists(said, max_size=6)):
            lines += one
        if draw(st.booleans()):
            lines += question(number, "_ask", value=draw(values)) + client(
                {"id": number, "result": draw(values)}
            )
        lines += answers(number, {"stopReason": "end_turn", "more": draw(values)})
    return lines


GIVEN = {"cwd": "/home/me/code", "home": "/home/me/.local", "tmp": "/tmp"}


@given(turns())
def test_with_the_placeholders_put_back_it_is_what_was_on_the_wire(lines: list[Tapped]):
    # One path means the workspace here: with two, it cannot be known which of them to put back.
    around = Surroundings(workspace=("/home/me/code",), home=("/home/me/.local",), tmp=("/tmp",))
    steps = recording(lines, around, "it").steps
    frames = {
        side: [json.loads(line.line) for line in lines if line.side == side] for side in ("client", "agent")
    }
    variables: Frame = dict(GIVEN)
    texts = ""

    def take(expect: Frame) -> None:
        for frame in frames["agent"]:
            bare = {name: frame[name] for name in frame if name not in ("jsonrpc", "id")}
            comparison = compare(expect, bare, variables, exact=True)
            if comparison.fits:
                variables.update(comparison.captured)
                frames["agent"].remove(frame)
                return
        raise AssertionError(f"not on the wire: {expect}")

    for step in steps:
        match step:
            case Send():
                frame = frames["client"].pop(0)
                assert frame["method"] == step.send.method
                assert fill(step.send.params, variables) == frame["params"]
            case Answer():
                assert fill(step.answer, variables) == frames["client"].pop(0)["result"]
            case Expect():
                take(step.expect)
            case Unordered():
                for each in step.unordered:
                    take(each.expect)
            case Text():
                texts += str(fill(step.text, variables))
    assert frames["client"] == []
    updates = [frame["params"].get("update", {}) for frame in frames["agent"] if "params" in frame]
    assert texts == "".join(update["content"]["text"] for update in updates if "messageId" in update)


# Recorded and run: the agent is Wayline in this process, and every byte is that of its wire


class Recorded:
    """A client of an agent in this process; what passes is kept as the tap would keep it."""

    def __init__(self, agent: RunningAgent, place: Place, replies: Sequence[str]) -> None:
        self._agent = agent
        self.place = place
        self._replies = list(replies)
        self._numbers = 0
        self._answered: dict[int, Frame] = {}
        self.entries: list[tape.Entry] = []
        self.updates = 0

    async def send(self, frame: Frame) -> None:
        await self.line(json.dumps({"jsonrpc": "2.0", **frame}).encode())

    async def line(self, line: bytes) -> None:
        self.entries.append(tape.Passed("client", 0.0, line + b"\n"))
        await self._agent.send(line)

    async def begin(self, method: str, **params: Any) -> int:
        """Send a request; its number."""
        self._numbers += 1
        await self.send({"id": self._numbers, "method": method, "params": params})
        return self._numbers

    async def request(self, method: str, **params: Any) -> Frame:
        """The answer to a request."""
        return await self.answer(await self.begin(method, **params))

    async def answer(self, number: int) -> Frame:
        with anyio.fail_after(PATIENCE):
            while number not in self._answered:
                await self.take()
        return self._answered.pop(number)

    async def take(self) -> None:
        """Take one frame, and answer it when it is a question: with what comes next of the replies."""
        line = await self._agent.receive()
        assert line is not None
        self.entries.append(tape.Passed("agent", 0.0, line + b"\n"))
        frame = json.loads(line)
        self.updates += "update" in frame.get("params", ())
        if "method" not in frame:
            self._answered[frame["id"]] = frame
        elif "id" in frame:
            reply = self._replies.pop(0) if self._replies else "allow-once"
            outcome = (
                {"outcome": "cancelled"}
                if reply == "cancelled"
                else {"outcome": "selected", "optionId": reply}
            )
            await self.send({"id": frame["id"], "result": {"outcome": outcome}})

    async def new(self) -> str:
        answer = await self.request("session/new", cwd=str(self.place.workspace), mcpServers=[])
        return str(answer["result"]["sessionId"])

    async def prompt(self, session: str, text: str) -> int:
        return await self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


Talk = Callable[[Recorded], Awaitable[None]]
FILES = {"a.txt": "one\ntwo\n", "src/b.py": "x = 1\n"}


async def record_and_run(
    folder: Path, script: Sequence[Any], talk: Talk, *, mode: str | None = None, replies: Sequence[str] = ()
) -> Outcome:
    """Record a conversation with a scripted Wayline, and run what was recorded."""
    meta = msgspec.convert({"name": "it", "script": script, "mode": mode, "files": FILES}, Meta)
    agents = InProcess({})
    with places.fresh(Transcript(folder / "x", meta, ())) as place:
        copy = folder / "copy"
        copy.mkdir()
        snapshot.copy(place.workspace, copy)
        async with agents.start(place) as agent:
            talking = Recorded(agent, place, replies)
            await talking.request("initialize", protocolVersion=1, clientCapabilities={})
            await talk(talking)
        around = tape.Workspace(str(place.workspace), str(place.workspace), str(copy))
        spool = io.BytesIO(b"".join(map(tape.encode, [around, *talking.entries, tape.Ended(0)])))
        writer.write(folder / "it.jsonl", spool, place.home, cut=False)
    transcript = read(folder / "it.jsonl")
    # A frame that does not come is waited for: in this process not for long.
    return await play(
        msgspec.structs.replace(transcript, meta=msgspec.structs.replace(transcript.meta, timeout=3)), agents
    )


def green(script: Sequence[Any], talk: Talk, **more: Any) -> list[Step]:
    """The steps of a conversation that was recorded, and was green in a run; without their times."""

    async def both() -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            return await record_and_run(Path(folder), script, talk, **more)

    outcome = anyio.run(both)
    assert outcome.failure is None, report.of_failure(outcome)
    return timeless(placed.step for placed in outcome.transcript.steps)


def call(name: str, **arguments: Any) -> Frame:
    return {"call": {"name": name, "arguments": arguments}}


CALLS = [
    call("read", file_path="${cwd}/a.txt"),
    call("read", file_path="a.txt"),
    call("read", file_path="none"),
    call("read", file_path="src/b.py"),
    call("glob", pattern="**/*"),
    call("grep", pattern="o"),
    call("bash", command="pwd; echo x >&2; ls; exit 3", description="look"),
    call("bash", command="for i in 1 2 3; do echo $i; done", description="count"),
    call("write", file_path="new.txt", content="$${cwd} ${cwd} $"),
    call("edit", file_path="a.txt", old_string="one", new_string="1"),
    call("nothing"),
    call("todo_write", todos=[{"content": "do $${it}", "status": "in_progress"}]),
    call("todo_write", todos=[]),
    call("todo_write", todos="bad"),
]
#: an answer without a word or a call is asked for again after a pause, so that each has one
spoken = st.builds(lambda text: {"text": literal(text) + " in ${cwd}/a."}, content)
thought = st.builds(lambda text: {"reasoning": literal(text)}, content)
answer = st.tuples(
    st.lists(spoken | thought | st.sampled_from(CALLS), max_size=3), spoken | st.sampled_from(CALLS)
).map(lambda parts: [*parts[0], parts[1]])


@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    scripts=st.lists(answer, max_size=5),
    prompted=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3), content), max_size=3),
    mode=st.sampled_from([None, "ask", "full", "plan"]),
    replies=st.lists(st.sampled_from(["allow-once", "allow-session", "reject"]), max_size=4),
)
def test_what_is_recorded_is_green(
    scripts: list[Any], prompted: list[tuple[int, int, str]], mode: str | None, replies: list[str]
):
    async def talk(talking: Recorded) -> None:
        sessions = [await talking.new(), await talking.new()]
        # One session at a time: they share files, and who comes first is another each time.
        for who, times, text in prompted:
            for number in [await talking.prompt(sessions[who], text or "x") for _ in range(times)]:
                await talking.answer(number)

    green([*scripts, [{"text": "DONE"}]], talk, mode=mode, replies=replies)


def test_two_sessions_at_once():
    async def talk(talking: Recorded) -> None:
        begun = [await talking.prompt(await talking.new(), "go") for _ in range(2)]
        for number in begun:
            await talking.answer(number)

    reads = [call("read", file_path="a.txt"), call("read", file_path="${cwd}/src/b.py")]
    steps = green([[{"text": "one"}, {"pause": 0.05}, *reads], [{"text": "DONE"}]], talk)
    assert sum(isinstance(step, Text) for step in steps) == 4


@pytest.mark.parametrize(
    "answer",
    [
        [{"text": "on and on "}, {"hang": True}],
        [{"reasoning": "hm"}, {"text": "on"}, {"pause": 0.01}, {"text": " and on"}, {"hang": True}],
        [call("bash", command="echo begun; sleep 60", description="wait")],
    ],
)
def test_a_cancelled_turn(answer: list[Any]):
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        number = await talking.prompt(session, "go")
        while not talking.updates:
            await talking.take()
        await talking.send({"method": "session/cancel", "params": {"sessionId": session}})
        await talking.answer(number)
        await talking.answer(await talking.prompt(session, "again"))

    steps = green([answer, [{"text": "DONE"}]], talk, mode="full")
    assert Text("DONE", until="prompt2") in steps


def test_a_turn_cancelled_before_a_word_was_said():
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        number = await talking.prompt(session, "go")
        await talking.send({"method": "$/cancel_request", "params": {"requestId": number}})
        await talking.answer(number)
        await talking.answer(await talking.prompt(session, "again"))

    # Whether the first prompt came so far as to ask the model is not known.
    steps = green([[{"text": "DONE"}], [{"text": "DONE"}]], talk)
    assert Text("DONE", until="prompt2") in steps


def test_a_question_that_cancels():
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        for _ in range(2):
            await talking.answer(await talking.prompt(session, "go"))

    steps = green(
        [[call("write", file_path="x", content="")], [{"text": "DONE"}]], talk, replies=["cancelled"]
    )
    assert Answer in map(type, steps)


@pytest.mark.parametrize("code", ["AUTH", "REQUEST_REFUSED", "CONTEXT_OVERFLOW", "PROVIDER"])
def test_a_failing_model(code: str):
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        for _ in range(2):
            await talking.answer(await talking.prompt(session, "go"))

    failure = [{"text": "I "}, {"error": {"code": code, "message": "not in /home/today"}}]
    steps = green([failure, [{"text": "DONE"}]], talk)
    assert any(isinstance(step, Expect) and "error" in step.expect for step in steps)


def test_attempts_that_are_made_again():
    async def talk(talking: Recorded) -> None:
        await talking.answer(await talking.prompt(await talking.new(), "go"))

    down = {"error": {"code": "UNAVAILABLE", "message": "down (for now)"}}
    green([[down], [{"text": "I was"}, {"cut": True}], [{"text": "DONE"}]], talk)


def test_a_session_that_is_loaded_again():
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        await talking.answer(await talking.prompt(session, "look ${at} this"))
        cwd = str(talking.place.workspace)
        await talking.request("session/load", sessionId=session, cwd=cwd, mcpServers=[])
        await talking.request("session/list", cwd=cwd)
        await talking.request("session/set_mode", sessionId=session, modeId="full")
        await talking.request("session/close", sessionId=session)
        await talking.request("session/load", sessionId="none", cwd=cwd, mcpServers=[])

    green([[{"text": "I look."}, *CALLS[:5]], [{"text": "DONE"}]], talk)


def test_lines_that_are_no_messages():
    async def talk(talking: Recorded) -> None:
        session = await talking.new()
        await talking.line(b"this is not json")
        await talking.line(b'{"jsonrpc": "2.0", "id": 4.5, "method": "x"}')
        await talking.take()
        await talking.take()
        await talking.answer(await talking.prompt(session, "go"))
        await talking.request("session/unknown")

    steps = green([[{"text": "DONE"}]], talk)
    assert sum(isinstance(step, SendLine) for step in steps) == 2


def test_a_conversation_without_a_prompt():
    async def talk(talking: Recorded) -> None:
        await talking.new()

    green([], talk)
