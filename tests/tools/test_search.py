"""glob and grep, with ripgrep where it is and without."""

import shutil

import pytest

from tests.tools.running import Session, words

pytestmark = pytest.mark.anyio

FILES = {
    "a.py": "import os\nprint('needle')\n",
    "src/b.py": "# Needle\nx = 1\n",
    "src/deep/c.txt": "needle here\nneedle there\n",
    "ignored/d.py": "needle\n",
    "src/e.log": "needle\n",
    ".gitignore": "ignored/\n*.log\n",
    ".git/config": "needle\n",
    ".hidden.py": "needle\n",
}


@pytest.fixture(params=["ripgrep", "python"])
def place(request, session: Session, monkeypatch) -> Session:
    if request.param == "python":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    for name, content in FILES.items():
        path = session.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (session.workspace / "x.bin").write_bytes(b"needle\0\1\2")
    return session


async def test_glob_finds_by_name_and_leaves_out_what_is_ignored(place: Session):
    found = words(await place.call("glob", pattern="**/*.py")).splitlines()
    assert sorted(found) == [".hidden.py", "a.py", "src/b.py"]
    assert words(await place.call("glob", pattern="*.txt", path="src/deep")).strip() == "src/deep/c.txt"
    assert "src/e.log" not in words(await place.call("glob", pattern="**/*"))


async def test_grep_finds_lines_with_their_numbers(place: Session):
    said = words(await place.call("grep", pattern="needle"))
    assert "a.py" in said
    assert "2" in said
    assert "print('needle')" in said
    assert "needle there" in said
    for left_out in ("ignored/d.py", "e.log", ".git/config", "x.bin", "b.py"):
        assert left_out not in said


async def test_grep_takes_its_options(place: Session):
    assert "src/b.py" in words(await place.call("grep", pattern="needle", ignore_case=True))
    only = words(await place.call("grep", pattern="needle", glob="*.txt"))
    assert "c.txt" in only
    assert "a.py" not in only
    assert "import os" in words(await place.call("grep", pattern="needle", path="a.py", context=1))


async def test_nothing_found_is_said_and_is_no_error(place: Session):
    for output in (await place.call("grep", pattern="haystack"), await place.call("glob", pattern="*.rs")):
        assert not output.is_error
        assert words(output).strip()


async def test_a_pattern_that_is_none_says_why(place: Session):
    output = await place.call("grep", pattern="(")
    assert output.is_error


async def test_a_place_that_is_not_there_is_an_error(place: Session):
    assert (await place.call("grep", pattern="x", path="nowhere")).is_error
    assert (await place.call("glob", pattern="*", path="nowhere")).is_error


async def test_results_are_bounded_and_say_so(place: Session):
    for number in range(600):
        (place.workspace / f"many{number:04}.md").write_text("needle\n" * 5, encoding="utf-8")
    globbed = words(await place.call("glob", pattern="*.md"))
    grepped = words(await place.call("grep", pattern="needle", glob="*.md"))
    assert len(globbed.encode()) < 52_000
    assert len(grepped.encode()) < 52_000
    assert len(grepped.splitlines()) < 3000
