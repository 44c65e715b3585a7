"""glob and grep, with ripgrep where it is and without."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from tests.tools.running import Session, words
from wayline.tools import watchdog

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


@pytest.mark.parametrize(
    ("glob", "left"),
    [
        ("!*.py", ["src/deep/c.txt"]),
        ("!c.txt", [".hidden.py", "a.py", "src/b.py"]),
        ("!src", [".hidden.py", "a.py"]),
        ("!/src/", [".hidden.py", "a.py"]),
        ("!deep/", [".hidden.py", "a.py", "src/b.py"]),
        ("!a.py/", [".hidden.py", "a.py", "src/b.py", "src/deep/c.txt"]),
        ("!/b.py", [".hidden.py", "a.py", "src/b.py", "src/deep/c.txt"]),
        ("!src/**", [".hidden.py", "a.py"]),
        ("!{a,b}.py", [".hidden.py", "src/deep/c.txt"]),
        ("!.", [".hidden.py", "a.py", "src/b.py", "src/deep/c.txt"]),
        ("!*", []),
        ("!**", []),
    ],
)
async def test_a_pattern_after_a_mark_leaves_out_what_fits(place: Session, glob: str, left: list[str]):
    (place.workspace / ".gitignore").write_text("*.log\n/ignored\n.gitignore\nx.bin\n", encoding="utf-8")
    grepped = words(await place.call("grep", pattern="needle", ignore_case=True, glob=glob)).splitlines()
    globbed = words(await place.call("glob", pattern=glob)).splitlines()
    assert [line for line in grepped if line[0] != " "] == (left or ["No matches."])
    assert globbed == (left or ["No files fit."])


async def test_a_mark_goes_before_a_whole_path_too(place: Session):
    said = words(await place.call("grep", pattern="needle", glob=f"!{place.workspace}/src/**"))
    assert "a.py" in said
    assert "c.txt" not in said


async def test_what_the_glob_leaves_out_is_not_searched(place: Session):
    """A pattern that takes for ever in Python on one file, and is quick on the others."""
    (place.workspace / "astray.txt").write_text("a" * 60 + "b\n", encoding="utf-8")
    for glob in ("!astray.txt", "*.py"):
        with anyio.fail_after(20):
            assert "a.py" in words(await place.call("grep", pattern="(a+)+$|needle", glob=glob))


async def test_more_files_than_fit_on_one_command_line_are_searched(place: Session):
    folder = place.workspace / ("long" * 50)
    folder.mkdir()
    for number in range(1200):
        (folder / f"{number:04}.md").write_text("needle\n" if number % 400 == 0 else "", encoding="utf-8")
    found = words(await place.call("grep", pattern="needle", glob="*.md")).splitlines()
    assert [line.rpartition("/")[2] for line in found if "/" in line] == ["0000.md", "0400.md", "0800.md"]


async def test_nothing_found_is_said_and_is_no_error(place: Session):
    for output in (await place.call("grep", pattern="haystack"), await place.call("glob", pattern="*.rs")):
        assert not output.is_error
        assert words(output).strip()


async def test_a_pattern_that_is_none_says_why(place: Session):
    for glob in (None, "*.py", "!*"):
        output = await place.call("grep", pattern="(", glob=glob)
        assert output.error_code == "INVALID_ARGS"


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


@pytest.mark.skipif(not Path("/proc/sys/vm").is_dir(), reason="needs files that nobody may read")
async def test_files_that_may_not_be_read_are_passed_over(place: Session):
    output = await place.call("grep", pattern="^[0-9]+$", path="/proc/sys/vm", max_results=1000)
    assert not output.is_error, words(output)
    assert "/proc/sys/vm/swappiness" in words(output)


BLOCKED = """
import anyio, sys
from pathlib import Path
from tests.tools.running import Session, words
async def main(folder):
    session = Session(folder, folder / "spilled")
    for arguments in ({}, {"glob": "*.txt"}, {"glob": "!b*"}):
        print(words(await session.call("grep", pattern="needle", **arguments)))
    for pattern in ("*.txt", "*.rs"):
        print(words(await session.call("glob", pattern=pattern)))
anyio.run(main, Path(sys.argv[1]))
"""
UNREAD = "(not all could be searched: some files or folders may not be read)"


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
@pytest.mark.parametrize("way", ["ripgrep", "python"])
async def test_what_may_not_be_read_is_told_beside_what_was_found(session: Session, way: str):
    if way == "ripgrep" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    for name in ("a.txt", "b.txt", "closed/c.txt"):
        (session.workspace / name).parent.mkdir(exist_ok=True)
        (session.workspace / name).write_text("needle\n", encoding="utf-8")
    (session.workspace / "b.txt").chmod(0)
    (session.workspace / "closed").chmod(0)
    drop = [str(shutil.which("setpriv")), "--bounding-set=-dac_override,-dac_read_search"]
    result = subprocess.run(
        [*(drop if os.geteuid() == 0 else []), sys.executable, "-c", BLOCKED, str(session.workspace)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **({"PATH": ""} if way == "python" else {})},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    (session.workspace / "closed").chmod(0o700)
    found = ["a.txt", "    1: needle", UNREAD]
    assert result.stdout.splitlines() == [*found * 3, "a.txt", "b.txt", UNREAD, "No files fit.", UNREAD]


async def test_an_astray_pattern_ends_when_the_call_is_cancelled(place: Session):
    """`(a+)+$` takes for ever in Python, holding its lock: it must not be in our process."""
    (place.workspace / "a.txt").write_text("a" * 60 + "b\n", encoding="utf-8")
    with anyio.move_on_after(1):
        await place.call("grep", pattern="(a+)+$", path="a.txt")
    assert not [pid for pid in watchdog._pids() if _command_line(pid).endswith("(a+)+$\0-\0" + "0\0")]


def _command_line(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


TREE = {
    ".gitignore": "*.tmp\n/build/\n!keep.tmp\nname with space\n",
    "keep.tmp": "needle keep\n",
    "drop.tmp": "needle drop\n",
    "build/out.txt": "needle build\n",
    "sub/build/in.txt": "first\nneedle sub build\nlast\nmore\nmore\nNeedle\n",
    "sub/.gitignore": "!drop.tmp\nsecret*\n",
    "sub/drop.tmp": "needle back again\r\nnext\r\n",
    "sub/secret.txt": "needle secret\n",
    "sub/deeper/secret/x.txt": "needle in a secret folder\n",
    "sub/deeper/ünïcode.txt": "ä needle ö\n",
    "name with space": "needle\n",
    "wide.txt": "x" * 3000 + "needle" + "y" * 3000 + "\n",
    "empty.txt": "",
    "vendor/.git": "gitdir: elsewhere\n",
    "vendor/drop.tmp": "needle of another repository\n",
    ".github/ci.yml": "needle: 1\n",
}
QUESTIONS = [
    ("glob", {"pattern": "**"}),
    ("glob", {"pattern": "*.{txt,tmp}"}),
    ("glob", {"pattern": "sub/**/*.txt"}),
    ("glob", {"pattern": "*.txt", "path": "sub"}),
    ("glob", {"pattern": "[!a-m]*.txt"}),
    ("grep", {"pattern": "needle"}),
    ("grep", {"pattern": "needle", "context": 1, "ignore_case": True}),
    ("grep", {"pattern": "^needle (keep|back)", "glob": "*.tmp"}),
    ("grep", {"pattern": "needle", "path": "sub/deeper"}),
    ("grep", {"pattern": "needle", "path": "build"}),
    ("grep", {"pattern": "needle", "max_results": 3}),
    ("grep", {"pattern": "needle", "max_results": 3, "glob": "!*.tmp"}),
    ("grep", {"pattern": "needle", "glob": "!sub"}),
    ("grep", {"pattern": "needle", "glob": "sub/**/*.t*", "context": 1}),
    ("grep", {"pattern": "needle", "path": "sub/deeper", "glob": "!{x,y}.txt"}),
    ("glob", {"pattern": "!*.{txt,tmp}"}),
]


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS)
async def test_both_ways_find_the_same(session: Session, monkeypatch, tool: str, arguments: dict):
    for name, content in TREE.items():
        path = session.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    (session.workspace / "link.txt").symlink_to("keep.tmp")
    (session.workspace / "latin.txt").write_bytes(b"caf\xe9 needle\n")
    (session.workspace / "late.bin").write_bytes(b"needle\n" * 20_000 + b"\0")
    (session.workspace / "wide16.txt").write_bytes("needle wide\n".encode("utf-16"))
    by_ripgrep = words(await session.call(tool, **arguments))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert words(await session.call(tool, **arguments)) == by_ripgrep
    assert "No " not in by_ripgrep


async def test_what_has_no_end_is_not_searched(place: Session):
    os.mkfifo(place.workspace / "pipe")
    for name in ("grep", "glob"):
        output = await place.call(name, pattern="x", path="pipe")
        assert output.error_code == "TOOL_FAILED"
        assert "regular file" in words(output)


async def test_a_line_of_megabytes_is_found(place: Session):
    (place.workspace / "min.js").write_text("y" * 5_000_000 + "needle", encoding="utf-8")
    assert "min.js" in words(await place.call("grep", pattern="needle", path="min.js"))
