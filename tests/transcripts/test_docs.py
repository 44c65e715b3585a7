"""The first steps of docs/transcripts.md, done as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "transcripts.md"


def blocks(heading: str) -> list[str]:
    """The code blocks below a step of the page."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split(f"**{heading}")[1].split("\n**")[0].split("\n## ")[0]
    return re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What a stranger has after step 3; step 1 would install what these tests run with."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "echo_agent.py").write_text(blocks("2.")[0], encoding="utf-8")
    folder = tmp_path / "tests" / "transcripts"
    folder.mkdir(parents=True)
    (folder / "echo.jsonl").write_text(blocks("3.")[0], encoding="utf-8")
    return tmp_path


def shell(project: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A line of the page in a shell."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=project,
        env={**os.environ, "PWD": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def test_the_transcript_runs_and_fails_as_shown(project: Path):
    (line, shown) = blocks("4.")
    done = shell(project, line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert timeless(done.stdout) == timeless(shown)
    path = project / "tests" / "transcripts" / "echo.jsonl"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"text": "hello", "until"', '"text": "hullo", "until"')
    )
    done = shell(project, line)
    assert done.returncode == 1
    assert "echo.jsonl, line 7: the text is another" in done.stdout
    assert '"hullo"' in done.stdout
    assert re.search(r'^! "hullo" +\| "hello"$', done.stdout, re.MULTILINE)


def timeless(text: str) -> str:
    """Output without its times."""
    return re.sub(r"[0-9.]+ s", "… s", text)


def test_pytest_runs_it_too(project: Path):
    settings, line = blocks("5.")
    (project / "pytest.ini").write_text(settings, encoding="utf-8")
    done = shell(project, f"{line.strip()} -p no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_every_kind_of_step_and_every_member_of_meta_is_on_the_page():
    from wayline.transcripts.format import KINDS, Meta

    text = PAGE.read_text(encoding="utf-8")
    missing = [kind for kind in KINDS if f'{{"{kind}":' not in text]
    missing += [name for name in Meta.__struct_fields__ if f"`{name}`" not in text]
    assert not missing
