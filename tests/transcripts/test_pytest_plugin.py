"""Transcripts as test items, in a project of its own that only installs the plugin."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: an agent of somebody else: says its name, and nothing else
AGENT = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"agentInfo": {"name": "theirs"}}}
    print(json.dumps(answer), flush=True)
"""


def transcript(name: str) -> str:
    """One that an agent of this name passes."""
    steps: list[dict[str, Any]] = [
        {"meta": {"name": "its-name", "timeout": 5}},
        {"send": {"method": "initialize", "params": {"protocolVersion": 1}}, "as": "init"},
        {"expect": {"result": {"agentInfo": {"name": name}}}, "to": "init"},
    ]
    return "".join(json.dumps(step) + "\n" for step in steps)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a transcript in a folder `transcripts`, another beside it, and a log."""
    folder = tmp_path / "tests" / "transcripts"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(transcript("wayline"), encoding="utf-8")
    (folder / "a.log.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "tests" / "b.transcript.jsonl").write_text(transcript("wayline"), encoding="utf-8")
    (tmp_path / "tests" / "data.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in the project, with whatever plugins are installed."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def test_transcripts_are_collected_where_they_belong_and_run_in_process(project: Path):
    done = run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests/transcripts/a.jsonl::in-process PASSED" in done.stdout
    assert "tests/b.transcript.jsonl::in-process PASSED" in done.stdout
    assert "2 passed" in done.stdout


def test_each_way_is_an_item(project: Path):
    done = run(project, "--transcript-ways", "in-process,command,schema", "tests/transcripts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [way for way in ("in-process", "command", "schema") if f"::{way} PASSED" in done.stdout] == [
        "in-process",
        "command",
        "schema",
    ]


def test_an_agent_of_the_projects_own_is_named_in_its_settings(project: Path):
    (project / "pytest.ini").write_text(
        f"[pytest]\ntranscript_agent = {sys.executable} {project / 'agent.py'}\n", encoding="utf-8"
    )
    done = run(project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "tests/transcripts/a.jsonl::command FAILED" in done.stdout
    assert 'at result.agentInfo.name: expected "wayline", got "theirs"' in done.stdout
    assert "Traceback" not in done.stdout
    for path in project.rglob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace("wayline", "theirs"), encoding="utf-8")
    assert run(project).returncode == 0


def test_what_the_agent_says_is_held_against_the_protocol(project: Path):
    (project / "tests" / "transcripts" / "a.jsonl").write_text(transcript("theirs"), encoding="utf-8")
    agent = f"{sys.executable} {project / 'agent.py'}"
    done = run(project, "--transcript-agent", agent, "--transcript-ways", "schema", "tests/transcripts")
    assert done.returncode == 1
    assert "a frame is not what the protocol says" in done.stdout
    assert "protocolVersion" in done.stdout


def test_a_file_that_is_no_transcript_is_refused_with_file_line_and_reason(project: Path):
    (project / "tests" / "transcripts" / "a.jsonl").write_text(
        transcript("wayline") + '{"expect": {}, "to": "nobody"}\n', encoding="utf-8"
    )
    done = run(project)
    assert done.returncode == 2
    assert "a.jsonl, line 4: no earlier request is named 'nobody'" in done.stdout


def test_a_way_that_does_not_exist_is_said(project: Path):
    done = run(project, "--transcript-ways", "sideways")
    assert done.returncode != 0
    assert "'sideways' is none of in-process, command, schema" in done.stdout + done.stderr


def test_the_plugin_costs_a_project_without_transcripts_nothing():
    """pytest loads it in every run."""
    listed = subprocess.run(
        [sys.executable, "-c", "import sys, wayline.transcripts.pytest_plugin; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    ).stdout.split()
    assert not {"msgspec", "pydantic", "acp", "anyio", "httpx2"} & set(listed)
