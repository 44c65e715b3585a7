"""Each kind of step, passing and failing, against small agents that are real processes."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from wayline.transcripts.format import Transcript, dump_step, parse
from wayline.transcripts.playing import report, schema
from wayline.transcripts.playing.agents import Agents, Commands, wayline_acp
from wayline.transcripts.playing.in_process import InProcess
from wayline.transcripts.playing.player import Outcome, play

pytestmark = pytest.mark.anyio

#: what every agent of these tests can do; what it does is written below it
AGENT = """
import json, os, signal, sys
from pathlib import Path

def say(**frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

def update(kind, session="s", **members):
    update = {"sessionUpdate": kind, **members}
    say(method="session/update", params={"sessionId": session, "update": update})

def chunk(text, message="1", session="s", kind="agent_message_chunk"):
    update(kind, session, messageId=message, content={"type": "text", "text": text})

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)

def forever():
    while True:
        hear()

"""

Play = Callable[..., Awaitable[Outcome]]

ASK = {"send": {"method": "ask", "params": {"sessionId": "s"}}, "as": "ask"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def transcript(folder: Path, *steps: object, **meta: Any) -> Transcript:
    lines = [{"meta": {"name": "t", "timeout": 5, **meta}}, *steps]
    return parse("\n".join(json.dumps(line, ensure_ascii=True) for line in lines), folder / "t.jsonl")


@pytest.fixture
def against(tmp_path: Path) -> Play:
    """Plays steps against an agent that does what is written."""

    def start(body: str, *steps: object, update: bool = False, check: Any = None, **meta: Any) -> Any:
        source = tmp_path / "agent.py"
        source.write_text(AGENT + body, encoding="utf-8")
        agents = Commands([sys.executable, "-IS", str(source)], os.environ)
        return play(transcript(tmp_path, *steps, **meta), agents, update=update, check=check)

    return start


def reason(outcome: Outcome) -> str:
    """Why it failed, with the number of the line."""
    assert outcome.failure is not None, "it passed"
    placed = outcome.failure.placed
    return f"{placed.line if placed else '-'}: {outcome.failure.reason}"


def expect(_to: str | None = None, /, **frame: Any) -> dict[str, Any]:
    return {"expect": frame, **({"to": _to} if _to else {})}


def updated(kind: str, **members: Any) -> dict[str, Any]:
    return expect(method="session/update", params={"update": {"sessionUpdate": kind, **members}})


SAYS = """
asked = hear()
chunk("Hel")
chunk("lo")
update("plan", entries=[])
chunk("!", "2")
say(id=asked["id"], result={"stopReason": "end_turn", "n": 1})
forever()
"""


@pytest.mark.parametrize(
    ("step", "failing", "why"),
    [
        (expect("ask", result={"n": 1}), expect("ask", result={"n": 2}), "3: at result.n: expected 2, got 1"),
        (
            {**expect("ask", result={"stopReason": "end_turn", "n": 1}), "exact": True},
            {**expect("ask", result={"n": 1}), "exact": True},
            '3: at result.stopReason: expected nothing, got "end_turn"',
        ),
        (
            updated("plan", entries=[]),
            updated("plan", entries=[1]),
            "3: waited 0.4 s for session/update plan; the nearest differs at params.update.entries[0]",
        ),
        (updated("plan"), updated("usage_update"), "3: waited 0.4 s for session/update usage_update"),
        ({"text": "Hello!", "until": "ask"}, {"text": "Hello", "until": "ask"}, "3: the text is another"),
        ({"text": "Hello"}, {"text": "Hello!"}, "3: the text is another"),
        ({"text": "${any}o"}, {"text": "Hel"}, "3: the text is another"),
        (
            {"text": "", "of": "agent_thought_chunk", "until": "ask"},
            {"text": "x", "of": "agent_thought_chunk", "until": "ask"},
            "3: the text is another",
        ),
        (
            {"text": "Hello", "session": "s"},
            {"text": "Hello", "session": "other"},
            "3: waited 0.4 s for agent_message_chunk in session other",
        ),
        (
            {"unordered": [expect("ask", result={}), updated("plan")]},
            {"unordered": [expect("ask", result={}), updated("plan"), updated("plan")]},
            "3: waited 0.4 s for session/update plan",
        ),
        (
            {"forbid": {"method": "session/update", "params": {"sessionId": "other"}}, "until": "ask"},
            {"forbid": {"method": "session/update", "params": {"sessionId": "s"}}, "until": "ask"},
            "3: a forbidden frame came",
        ),
        (
            {"file": {"path": "a.txt", "text": "a${any}"}},
            {"file": {"path": "a.txt", "text": "b"}},
            "3: the file a.txt holds another text",
        ),
        (
            {"file": {"path": "b.txt", "absent": True}},
            {"file": {"path": "a.txt", "absent": True}},
            "3: the file a.txt is there",
        ),
        ({"note": "words"}, {"file": {"path": "b.txt", "text": ""}}, "3: the file b.txt cannot be read: No "),
        (
            {"file": {"path": "a.txt", "text": "a\n"}},
            {"log": {"type": "x"}, "session": "s"},
            "3: there is no log of session s; only Wayline keeps one",
        ),
    ],
)
async def test_a_step_holds_or_fails_with_its_line_and_why(
    against: Play, step: dict[str, Any], failing: dict[str, Any], why: str
):
    files = {"a.txt": "a\n"}
    passed = await against(SAYS, ASK, step, files=files)
    assert passed.failure is None, reason(passed)
    failed = await against(SAYS, ASK, failing, files=files, timeout=0.4)
    assert reason(failed).startswith(why), reason(failed)
    told = report.of_failure(failed)
    assert f"t.jsonl, line {why.partition(':')[0]}: " in told
    assert "frames around it (→ sent, ← came):" in told


async def test_frames_of_one_session_come_in_their_order_and_those_of_two_in_any(against: Play):
    body = """
asked = hear()
update("plan", "one")
update("plan", "two")
update("usage_update", "one")
say(id=asked["id"], result={})
forever()
"""

    def of(session: str, kind: str) -> dict[str, Any]:
        return expect(
            method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind}}
        )

    free = await against(body, ASK, of("two", "plan"), of("one", "plan"), of("one", "usage_update"))
    assert free.failure is None
    wrong = await against(body, ASK, of("one", "usage_update"), of("one", "plan"), timeout=0.4)
    assert reason(wrong).startswith("4: waited 0.4 s for session/update plan;")


async def test_an_answer_that_comes_before_a_frame_of_an_earlier_step_fails(against: Play):
    body = 'asked = hear()\nsay(id=asked["id"], result={})\nupdate("plan")\nforever()\n'
    outcome = await against(body, ASK, updated("plan"), expect("ask", result={}))
    assert reason(outcome) == "4: the answer to ask came before a frame that an earlier step names"


async def test_a_capture_is_a_variable_from_then_on(against: Play):
    body = """
first = hear()
say(id=first["id"], result={"sessionId": "s-42", "made": {"a": [1]}})
second = hear()
say(id=second["id"], result=second["params"])
forever()
"""
    again = {"send": {"method": "again", "params": {"id": "${id}", "made": "${made}"}}, "as": "again"}
    taken = expect("ask", result={"sessionId": "s-${id:=/[0-9]+/}", "made": "${made:=…}"})
    good = expect("again", result={"id": "42", "made": {"a": [1]}})
    assert (await against(body, ASK, taken, again, good)).failure is None
    bad = await against(body, ASK, taken, again, expect("again", result={"id": "${id}!"}))
    assert reason(bad) == '5: at result.id: expected "${id}!", got "42"'


async def test_a_notification_and_a_line_are_sent_as_they_are(against: Play):
    body = """
one = sys.stdin.buffer.readline()
two = sys.stdin.buffer.readline()
say(method="got", params={"one": json.loads(one), "two": two.hex()})
forever()
"""
    notice = {"send": {"method": "hello", "params": {"text": "é\ud800"}}}
    got = {
        "one": {"jsonrpc": "2.0", "method": "hello", "params": {"text": "é\ud800"}},
        "two": b"\xff{ \xc3\xa9\n".hex(),
    }
    outcome = await against(body, notice, {"line": "\udcff{ é"}, expect(method="got", params=got))
    assert outcome.failure is None, reason(outcome)


ASKS = """
asked = hear()
say(id=7, method="session/request_permission", params={"sessionId": "s", "toolCall": {"toolCallId": "c1"},
    "options": [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]})
answer = hear()
answer.pop("jsonrpc")
say(id=asked["id"], result={"got": answer})
forever()
"""
QUESTION = {"method": "session/request_permission"}


@pytest.mark.parametrize(
    ("meta", "step", "got"),
    [
        ({}, {"answer": {"outcome": "${cwd}"}, "to": QUESTION}, {"result": {"outcome": "${cwd}"}}),
        (
            {},
            {"answer": "${call}", "to": {"params": {"toolCall": {"toolCallId": "${call:=…}"}}}},
            {"result": "c1"},
        ),
        (
            {},
            {"refuse": {"code": -1, "message": "no"}, "to": QUESTION},
            {"error": {"code": -1, "message": "no"}},
        ),
        (
            {"client": {"session/request_permission": "reject"}},
            {"answer": "by a step", "to": QUESTION},
            {"result": "by a step"},
        ),
        (
            {"client": {"session/request_permission": "allow"}},
            {"note": "-"},
            {"result": {"outcome": {"outcome": "selected", "optionId": "y"}}},
        ),
        (
            {"client": {"session/request_permission": "reject"}},
            {"note": "-"},
            {"result": {"outcome": {"outcome": "selected", "optionId": "n"}}},
        ),
        (
            {"client": {"session/request_permission": "cancel"}},
            {"note": "-"},
            {"result": {"outcome": {"outcome": "cancelled"}}},
        ),
        (
            {"client": {"session/request_permission": {"mine": "${cwd}"}}},
            {"note": "-"},
            {"result": {"mine": "${cwd}"}},
        ),
    ],
)
async def test_a_question_is_answered_by_a_step_or_else_by_the_client_of_meta(
    against: Play, meta: dict[str, Any], step: dict[str, Any], got: dict[str, Any]
):
    outcome = await against(ASKS, ASK, step, expect("ask", result={"got": {"id": 7, **got}}), **meta)
    assert outcome.failure is None, reason(outcome)


async def test_a_question_that_nobody_answers_is_named_with_what_waited(against: Play):
    outcome = await against(ASKS, ASK, expect("ask", result={}), timeout=0.3)
    assert reason(outcome) == (
        "3: waited 0.3 s for the answer to ask (ask); the agent waits for an answer to "
        "session/request_permission, which no step gives"
    )
    other = {"answer": {}, "to": {"method": "fs/read_text_file"}}
    assert reason(await against(ASKS, ASK, other, timeout=0.3)).startswith(
        "3: waited 0.3 s for fs/read_text_file; the agent waits for an answer to session/request_permission"
    )


async def test_the_client_of_meta_reads_and_writes_the_workspace_and_nothing_else(against: Play):
    body = """
asked = hear()
got = []
for number, (method, params) in enumerate(asked["params"]["questions"]):
    say(id=number, method=method, params=params)
    answer = hear()
    got.append(answer.get("result", answer.get("error", {}).get("code")))
say(id=asked["id"], result={"got": got})
forever()
"""
    questions = [
        ["fs/read_text_file", {"path": "${cwd}/a.txt"}],
        ["fs/read_text_file", {"path": "${cwd}/a.txt", "line": 2, "limit": 1}],
        ["fs/write_text_file", {"path": "${cwd}/b.txt", "content": "new\n"}],
        ["fs/read_text_file", {"path": "${cwd}/missing.txt"}],
        ["fs/read_text_file", {"path": "/etc/hostname"}],
        ["fs/write_text_file", {"path": "${cwd}/../../out.txt", "content": "x"}],
    ]
    ask = {"send": {"method": "ask", "params": {"questions": questions}}, "as": "ask"}
    got = [{"content": "1\n2\n3\n"}, {"content": "2\n"}, {}, -32002, -32602, -32602]
    outcome = await against(
        body,
        ask,
        expect("ask", result={"got": got}),
        {"file": {"path": "b.txt", "text": "new\n"}},
        files={"a.txt": "1\n2\n3\n"},
        client={"fs/read_text_file": "workspace", "fs/write_text_file": "workspace"},
    )
    assert outcome.failure is None, reason(outcome)


RUNS = """
home = Path(os.environ["WAYLINE_HOME"]) / "runs"
runs = home.read_text() + "x" if home.exists() else "x"
home.write_text(runs)
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
while True:
    line = sys.stdin.readline()
    if not line:
        home.write_text(runs + "e")
        break
    say(id=json.loads(line)["id"], result={"runs": runs})
"""


@pytest.mark.parametrize(("how", "runs"), [("restart", "xex"), ("kill", "xx")])
async def test_an_agent_is_ended_and_started_anew_on_the_same_home(against: Play, how: str, runs: str):
    again = {"send": {"method": "again"}, "as": "again"}
    first = (ASK, expect("ask", result={"runs": "x"}), {how: True}, again)
    passed = await against(RUNS, *first, expect("again", result={"runs": runs}))
    assert passed.failure is None, reason(passed)
    failed = await against(RUNS, *first, expect("again", result={"runs": "x"}))
    assert reason(failed) == f'6: at result.runs: expected "x", got "{runs}"'
    stale = await against(RUNS, ASK, {how: True}, expect("ask", result={"runs": "x"}, error={}))
    assert reason(stale).startswith("4: ")


async def test_what_was_asked_of_a_run_that_ended_cannot_come(against: Play):
    outcome = await against("forever()", ASK, {"kill": True}, expect("ask", result={}))
    assert reason(outcome) == (
        "4: the answer to ask (ask) cannot come: it went to a run of the agent that has ended"
    )


async def test_an_agent_that_does_not_end_with_its_input_is_named_and_killed(against: Play, tmp_path: Path):
    body = f"""
Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()) + "\\n")
for line in sys.stdin:
    pass
print("bye", file=sys.stderr, flush=True)
os.close(1)
signal.pause()
"""
    for step in ({"eof": True}, {"restart": True}):
        outcome = await against(body, step, {"note": "more"}, timeout=0.3)
        assert reason(outcome) == "2: the agent did not end within 0.3 s after its stdin was closed"
        assert outcome.stderr == "bye\n"
        pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_the_end_of_input_ends_the_agent_and_what_it_did_then_counts(against: Play):
    body = 'for line in sys.stdin: pass\nPath("end.txt").write_text("over")\n'
    end = {"file": {"path": "end.txt", "text": "over"}}
    assert (await against(body, {"eof": True}, end)).failure is None
    gone = await against(body, {"eof": True}, ASK)
    assert reason(gone) == "3: the agent had gone before this could be sent"


async def test_an_agent_that_dies_is_said_with_what_it_told_people(against: Play):
    body = 'asked = hear()\nprint("no memory left", file=sys.stderr)\nsys.exit(3)\n'
    outcome = await against(body, ASK, expect("ask", result={}))
    assert reason(outcome) == "3: the agent went before the answer to ask (ask) came"
    assert outcome.stderr == "no memory left\n"
    assert "the agent's stderr:\n  no memory left" in report.of_failure(outcome)


async def test_a_command_that_cannot_be_started_is_said(tmp_path: Path):
    agents = Commands([str(tmp_path / "no-such-agent")], os.environ)
    outcome = await play(transcript(tmp_path, ASK), agents)
    assert reason(outcome) == f"-: {tmp_path / 'no-such-agent'}: No such file or directory"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("print('debug: hello', flush=True)", "wrote a line that is not JSON: b'debug: hello'"),
        ("print('[1]', flush=True)", "wrote a line that is no JSON-RPC message: b'[1]'"),
        ("print('{}', flush=True)", "wrote a line that is no JSON-RPC message: b'{}'"),
        (
            "sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()",
            "wrote a line that is not JSON: b'\\xff'",
        ),
        ("say(id=asked['id'], result={})", "answered ask (ask) twice"),
        (
            "print('{\"half\":', end='', flush=True); sys.exit()",
            "wrote a line that is not JSON: b'{\"half\":'",
        ),
    ],
)
async def test_what_is_no_message_fails_at_once(against: Play, line: str, why: str):
    body = f'asked = hear()\nsay(id=asked["id"], result={{}})\n{line}\nforever()\n'
    outcome = await against(body, ASK, expect("ask", result={}), updated("plan"))
    assert reason(outcome).partition(": ")[2] == f"the agent {why}"
    assert outcome.seconds < 4


async def test_what_is_no_message_fails_also_when_nothing_is_waited_for(against: Play):
    body = 'asked = hear()\nprint("debug", flush=True)\nsay(id=asked["id"], result={})\nforever()\n'
    outcome = await against(body, ASK, {"eof": True})
    assert reason(outcome) == "3: the agent wrote a line that is not JSON: b'debug'"


async def test_empty_lines_and_a_last_line_without_an_end_are_taken(against: Play):
    body = """
asked = hear()
print("\\n ")
sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}))
"""
    assert (await against(body, ASK, expect("ask", result={}))).failure is None


async def test_an_agent_that_does_not_read_is_named(against: Play):
    big = {"send": {"method": "big", "params": {"text": "${repeat:1000000:x}"}}}
    outcome = await against("signal.pause()", big, big, timeout=0.3)
    assert reason(outcome) == "2: the agent did not read what was sent within 0.3 s"


async def test_strict_fails_for_a_frame_that_no_step_names_wherever_it_stands(against: Play):
    named = (ASK, {"text": "Hello"}, updated("plan"), {"text": "!"}, expect("ask", result={}))
    assert (await against(SAYS, *named, strict=True)).failure is None
    middle = await against(SAYS, *(step for step in named if step != named[2]), strict=True)
    assert reason(middle) == "4: a frame that no step names: session/update plan"
    after = SAYS.replace("forever()", 'for line in sys.stdin: pass\nupdate("plan")\n')
    late = await against(after, *named, strict=True)
    assert reason(late) == "-: a frame that no step names: session/update plan"
    assert (await against(after, *named)).failure is None


async def test_a_forbidden_frame_is_the_reason_rather_than_the_wait_that_it_broke(against: Play):
    forbidden = {"forbid": {"method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}}}
    outcome = await against(SAYS, ASK, forbidden, updated("usage_update"), timeout=0.3)
    assert reason(outcome) == "3: a forbidden frame came"


async def test_what_is_forbidden_until_an_answer_waits_for_it_and_may_come_later(against: Play):
    late = """
asked = hear()
update("plan") if asked["params"].get("early") else None
say(id=asked["id"], result={})
update("plan")
forever()
"""
    forbidden = {"forbid": {"method": "session/update"}, "until": "ask"}
    assert (await against(late, ASK, forbidden)).failure is None
    early = {"send": {"method": "ask", "params": {"sessionId": "s", "early": True}}, "as": "ask"}
    assert reason(await against(late, early, forbidden)) == "3: a forbidden frame came"
    never = await against("forever()", ASK, forbidden, timeout=0.3)
    assert reason(never) == "-: waited 0.3 s for the answer to ask (ask)"


@pytest.mark.parametrize(
    ("step", "adopted"),
    [
        (
            expect("ask", result={"n": 2, "stopReason": "${any}"}),
            expect("ask", result={"n": 1, "stopReason": "${any}"}),
        ),
        (updated("plan", entries=[1]), updated("plan", entries=[])),
        ({"text": "Hullo"}, {"text": "Hello"}),
        ({"text": "Hello", "until": "ask"}, {"text": "Hello!", "until": "ask"}),
        (
            {**expect("ask", result={"n": 1}), "exact": True},
            {**expect("ask", result={"stopReason": "end_turn", "n": 1}), "exact": True},
        ),
    ],
)
async def test_an_update_makes_a_step_fit_what_came(
    against: Play, step: dict[str, Any], adopted: dict[str, Any]
):
    outcome = await against(SAYS, ASK, step, expect(method="session/update"), update=True, timeout=0.4)
    fitted = {line: json.loads(dump_step(made)) for line, made in outcome.adopted.items()}
    assert fitted[3] == adopted
    again = await against(SAYS, ASK, fitted[3])
    assert again.failure is None
    assert not again.adopted


async def test_an_update_cannot_make_up_a_frame_that_did_not_come(against: Play):
    outcome = await against(SAYS, ASK, updated("usage_update"), update=True, timeout=0.3)
    assert reason(outcome) == "3: waited 0.3 s for session/update usage_update"
    assert not outcome.adopted


async def test_frames_are_held_against_the_protocol_when_that_is_wanted(against: Play):
    body = """
asked = hear()
update("plan", entries=[{"content": "a"}])
say(id=asked["id"], result={})
forever()
"""
    steps = (ASK, expect("ask", result={}))
    assert (await against(body, *steps)).failure is None
    outcome = await against(body, *steps, check=schema.check)
    assert reason(outcome).startswith("3: a frame is not what the protocol says: ")


async def test_what_an_agent_writes_does_not_steer_the_terminal(against: Play):
    body = """
asked = hear()
print("\\x1b[2Jred", file=sys.stderr, flush=True)
say(id=asked["id"], result={"text": "\\x1b[2J\\x9b\\ud800"})
forever()
"""
    outcome = await against(body, ASK, expect("ask", result={"text": "x"}))
    told = report.of_failure(outcome)
    assert [char for char in told if not char.isprintable() and char != "\n"] == []
    told.encode()


SCRIPT = [[{"text": "one"}], [{"text": "two"}]]
TALK: list[dict[str, Any]] = [
    {"send": {"method": "session/new", "params": {"cwd": "${cwd}"}}, "as": "new"},
    expect("new", result={"sessionId": "${session:=…}"}),
    {
        "send": {
            "method": "session/prompt",
            "params": {"sessionId": "${session}", "prompt": [{"type": "text", "text": "go"}]},
        },
        "as": "p1",
    },
    expect("p1", result={"stopReason": "end_turn"}),
]


@pytest.fixture(params=["in-process", "command"])
def wayline(request: pytest.FixtureRequest) -> Agents:
    if request.param == "in-process":
        return InProcess(os.environ)
    return Commands(wayline_acp(), os.environ)


@pytest.mark.parametrize(
    ("step", "failing", "why"),
    [
        (
            {"log": {"type": "assistant/message", "data": {"content": [{"type": "text", "text": "one"}]}}},
            {"log": {"type": "assistant/message", "data": {"content": [{"type": "text", "text": "two"}]}}},
            "6: the log has 0 such events, not at least one, among 1 of type assistant/message",
        ),
        (
            {"log": {"type": "turn/start"}, "times": 1},
            {"log": {"type": "turn/start"}, "times": 2},
            "6: the log has 1 such events, not 2, among 1 of type turn/start",
        ),
        (
            {"log": {"type": "todo/write"}, "times": 0},
            {"log": {"type": "turn/start"}, "times": 0},
            "6: the log has 1 such events, not 0, among 1 of type turn/start",
        ),
    ],
)
async def test_the_log_of_wayline_is_looked_at(
    wayline: Agents, tmp_path: Path, step: dict[str, Any], failing: dict[str, Any], why: str
):
    passed = await play(transcript(tmp_path, *TALK, step, script=SCRIPT[:1]), wayline)
    assert passed.failure is None, reason(passed)
    failed = await play(transcript(tmp_path, *TALK, failing, script=SCRIPT[:1]), wayline)
    assert reason(failed) == why


async def test_lines_of_the_script_that_no_session_reached_fail(wayline: Agents, tmp_path: Path):
    outcome = await play(transcript(tmp_path, *TALK, script=SCRIPT), wayline)
    assert reason(outcome) == "-: the model's script has 2 lines, and no session came further than 1"


async def test_settings_that_cannot_be_are_said(wayline: Agents, tmp_path: Path):
    outcome = await play(transcript(tmp_path, *TALK, script=SCRIPT, settings={"colour": "red"}), wayline)
    assert outcome.failure is not None
    assert "unknown field `colour`" in f"{outcome.failure.reason} {outcome.stderr}"


async def test_arguments_are_for_commands(tmp_path: Path):
    outcome = await play(transcript(tmp_path, ASK, args=["--mode", "full"]), InProcess(os.environ))
    assert reason(outcome).startswith("-: meta.args is for commands: in process, use")
