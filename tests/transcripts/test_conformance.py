"""`--conformance`: Wayline holds it all, and every row fails for an agent that is wrong there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from wayline.transcripts import conformance
from wayline.transcripts.conformance import FAILS, HOLDS, NO_MODEL, NOT_OFFERED, Column
from wayline.transcripts.format import Transcript, TranscriptError, parse
from wayline.transcripts.playing.agents import Commands

AGENT = Path(__file__).with_name("any_agent.py")
ECHO = Path(__file__).parents[2] / "benchmarks" / "echo_agent.py"
ROWS = {each.path.stem: each for each in conformance.transcripts()}
#: what a turn of Wayline's says; it lasts long enough to be cancelled
SCRIPT: list[list[dict[str, Any]]] = [
    [
        {"text": "Working."},
        {"pause": 1},
        {
            "call": {
                "id": "t1",
                "name": "todo_write",
                "arguments": {"todos": [{"content": "one", "status": "in_progress"}]},
            }
        },
    ],
    [{"text": "Done."}],
    [{"text": "Again."}],
    [{"text": "Again."}],
]


def judged(rows: list[Transcript], *arguments: str, timeout: float = 10, jobs: int = 4) -> Column:
    """The rows of an agent that is this Python with these arguments."""
    replace = msgspec.structs.replace
    timed = [replace(each, meta=replace(each.meta, timeout=timeout)) for each in rows]
    agents = Commands([sys.executable, *arguments], os.environ)

    async def run() -> Column:
        return await conformance.judge(timed, agents, "nameless", jobs=jobs, done=lambda _: None)

    return anyio.run(run)


def reasons(column: Column) -> dict[str, str]:
    """What does not hold, and why."""
    return {
        row.outcome.transcript.path.stem: f"{row.verdict}: {row.why}"
        for row in column.rows
        if row.verdict != HOLDS
    }


def command(*arguments: str, script: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """`wayline transcript run --conformance` with these arguments."""
    model = {} if script is None else {"WAYLINE_MODEL": f"scripted:{script}"}
    return subprocess.run(
        [sys.executable, "-m", "wayline", "transcript", "run", "--conformance", *arguments],
        env={**os.environ, **model},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def test_wayline_holds_what_it_offers(tmp_path: Path):
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in SCRIPT))
    done = command("--in-process", "--jobs", "8", script=script)
    assert done.returncode == 0, done.stdout
    absent = [line for line in done.stdout.splitlines() if line.startswith(NOT_OFFERED)]
    assert all("session/resume" in line or "deleted" in line for line in absent), absent
    assert "0 fails" in done.stdout


def test_an_agent_that_is_right_everywhere_holds_every_row():
    assert reasons(judged(list(ROWS.values()), str(AGENT))) == {}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_fails_for_an_agent_that_is_wrong_there(name: str):
    (row,) = judged([ROWS[name]], str(AGENT), name, timeout=1.5).rows
    assert row.verdict == FAILS, row.why


def test_an_agent_that_wants_a_sign_in_has_no_model_and_no_fault():
    column = judged(list(ROWS.values()), str(AGENT), "no-model")
    assert column.count(FAILS) == 0, reasons(column)
    verdicts = {row.outcome.transcript.path.stem: row.verdict for row in column.rows}
    assert verdicts["prompt-stop-reason"] == verdicts["session-new"] == NO_MODEL
    assert verdicts["initialize-version"] == HOLDS


def test_what_an_agent_does_not_offer_is_no_failure():
    names = ("load-replays", "mode-set", "config-option-set", "cancel-ends-the-turn", "plan-entries")
    column = judged([ROWS[name] for name in names], str(ECHO), jobs=2)
    assert [row.verdict for row in column.rows] == [NOT_OFFERED] * len(names), reasons(column)
    assert column.agent == "nameless"
    assert "loadSession" in column.rows[0].why


def test_a_failure_is_told_and_ends_with_status_1():
    done = command("--agent", f"{sys.executable} {AGENT} session-ids-differ", "--jobs", "8")
    assert done.returncode == 1
    assert done.stdout.startswith("any 1\n")
    assert "\nfails        must    Two sessions have two ids." in done.stdout
    assert "conformance/session-ids-differ.jsonl, line 7" in done.stdout
    assert f"{len(ROWS) - 1} holds, 1 fails, 0 not offered, 0 no model" in done.stdout


def test_markdown_has_a_column_for_each_agent():
    agent = f"{sys.executable} {AGENT}"
    done = command("--agent", agent, "--agent", f"{agent} schema", "--jobs", "8", "--markdown")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["| requirement | level | any 1 | any 1 |", "| --- | --- | --- | --- |"]
    assert len(lines) == 2 + len(ROWS)
    (row,) = (line for line in lines if "schema says" in line)
    assert row.endswith("(https://agentclientprotocol.com/protocol/v1/schema) | must | holds | **fails** |")


def test_conformance_takes_no_files():
    done = command("some.jsonl")
    assert done.returncode == 2
    assert "takes no FILE" in done.stderr


def test_every_row_has_a_sentence_and_a_place_of_its_own():
    wanted = [conformance.requirement(each) for each in ROWS.values()]
    assert len({each.sentence for each in wanted}) == len(ROWS)
    for each in wanted:
        assert each.sentence.endswith(".")
        assert each.spec.startswith(
            ("https://agentclientprotocol.com/protocol/v1/", "https://www.jsonrpc.org/specification#")
        )
    for name, transcript in ROWS.items():
        assert transcript.meta.name == name


def test_a_transcript_without_a_requirement_is_refused():
    with pytest.raises(TranscriptError, match="no requirement, level and spec"):
        conformance.requirement(parse('{"meta": {"name": "x"}}', Path("x.jsonl")))
