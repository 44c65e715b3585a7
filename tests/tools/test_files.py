"""read, write and edit on real files."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.running import Session, words
from wayline.log.content import Image

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def put(session: Session, name: str, content: str | bytes) -> Path:
    path = session.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


async def test_read_numbers_lines_and_goes_on_where_it_stopped(session: Session):
    put(session, "a.txt", "".join(f"line {number}\n" for number in range(1, 3001)))
    first = words(await session.call("read", file_path="a.txt"))
    assert first.startswith("     1\tline 1\n")
    assert "  2000\tline 2000\n" in first
    assert "line 2001\n" not in first
    assert "offset 2001" in first
    rest = words(await session.call("read", file_path="a.txt", offset=2001))
    assert rest.splitlines()[-1] == "  3000\tline 3000"
    assert words(await session.call("read", file_path="a.txt", offset=7, limit=1)).startswith(
        "     7\tline 7\n"
    )
    past = await session.call("read", file_path="a.txt", offset=3001)
    assert past.is_error
    assert "3000" in words(past)


async def test_read_stays_within_its_bytes_and_cuts_long_lines(session: Session):
    put(session, "wide.txt", "x" * 100_000 + "\n" + "y\n")
    said = words(await session.call("read", file_path="wide.txt"))
    assert len(said) < 3000
    assert "98000 more characters" in said
    put(session, "big.txt", ("z" * 1000 + "\n") * 200)
    assert len(words(await session.call("read", file_path="big.txt")).encode()) <= 51 * 1024


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\x02\x01\x01\0\0", "not text"),
        (b"PK\x03\x04\0\0\0\0", "not text"),
        (b"a\0b" * 100, "not text"),
    ],
)
async def test_read_refuses_what_is_not_text(session: Session, content: bytes, said: str):
    put(session, "x.bin", content)
    output = await session.call("read", file_path="x.bin")
    assert output.error_code == "TOOL_FAILED"
    assert said in words(output)


async def test_read_shows_images_as_images(session: Session):
    put(session, "x.png", PNG)
    output = await session.call("read", file_path="x.png")
    (image,) = [block for block in output.content if isinstance(block, Image)]
    assert image.mime_type == "image/png"


async def test_read_of_what_is_not_there_suggests_what_is(session: Session):
    put(session, "config.txt", "x")
    output = await session.call("read", file_path="confg.txt")
    assert "config.txt" in words(output)
    folder = await session.call("read", file_path=".")
    assert "is a folder" in words(folder)
    os.mkfifo(session.workspace / "pipe")
    assert (await session.call("read", file_path="pipe")).is_error


async def test_write_makes_folders_and_says_what_changed(session: Session):
    output = await session.call("write", file_path="a/b/c.txt", content="hello\n")
    assert (session.workspace / "a/b/c.txt").read_text(encoding="utf-8") == "hello\n"
    assert output.meta["changed"] is True
    path = str(session.workspace / "a/b/c.txt")
    assert output.meta["diffs"] == [{"path": path, "oldText": None, "newText": "hello\n"}]


async def test_an_existing_file_must_have_been_read_and_not_have_changed_since(session: Session):
    path = put(session, "a.txt", "one\n")
    for name, arguments in [
        ("write", {"content": "two\n"}),
        ("edit", {"old_string": "one", "new_string": "two"}),
    ]:
        refused = await session.call(name, file_path="a.txt", **arguments)
        assert "read it first" in words(refused)
        await session.call("read", file_path="a.txt")
        path.write_text("other\n", encoding="utf-8")
        changed = await session.call(name, file_path="a.txt", **arguments)
        assert "changed on disk" in words(changed)
        assert path.read_text(encoding="utf-8") == "other\n"
        path.write_text("one\n", encoding="utf-8")
        session.seen.clear()
    await session.call("read", file_path="a.txt")
    await session.call("edit", file_path="a.txt", old_string="one", new_string="two")
    again = await session.call("edit", file_path="a.txt", old_string="two", new_string="three")
    assert not again.is_error
    assert path.read_text(encoding="utf-8") == "three\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\n", "a\nb", "a\nc", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("å\n".encode("utf-16"), "å", "ä", "ä\n".encode("utf-16")),
        ("å caf\xe9\n".encode("latin-1"), "caf\xe9", "th\xe9", "å th\xe9\n".encode("latin-1")),
        (b"no newline", "newline", "end", b"no end"),
    ],
    ids=["CRLF", "BOM", "UTF-16", "Latin-1", "no last newline"],
)
async def test_edit_keeps_encoding_and_line_ends(
    session: Session, before: bytes, old: str, new: str, after: bytes
):
    path = put(session, "a.txt", before)
    await session.call("read", file_path="a.txt")
    output = await session.call("edit", file_path="a.txt", old_string=old, new_string=new)
    assert not output.is_error, words(output)
    assert path.read_bytes() == after


async def test_edit_needs_one_exact_place(session: Session):
    path = put(session, "a.py", "def f():\n    return 1\n\ndef g():\n    return 1\n")
    await session.call("read", file_path="a.py")
    twice = await session.call("edit", file_path="a.py", old_string="return 1", new_string="return 2")
    assert twice.is_error
    assert "2" in words(twice)
    near = await session.call("edit", file_path="a.py", old_string="def f():\n  return 1", new_string="x")
    assert near.is_error
    assert "    return 1" in words(near)
    for wrong in [{"old_string": "", "new_string": "x"}, {"old_string": "def", "new_string": "def"}]:
        assert (await session.call("edit", file_path="a.py", **wrong)).is_error
    assert path.read_text(encoding="utf-8").count("return 1") == 2
    every = await session.call(
        "edit", file_path="a.py", old_string="return 1", new_string="return 2", replace_all=True
    )
    assert not every.is_error
    assert path.read_text(encoding="utf-8").count("return 2") == 2


async def test_a_write_keeps_the_mode_and_goes_through_links(session: Session):
    path = put(session, "run.sh", "one\n")
    path.chmod(0o750)
    (session.workspace / "link").symlink_to("run.sh")
    await session.call("read", file_path="link")
    output = await session.call("write", file_path="link", content="two\n")
    assert not output.is_error, words(output)
    assert path.read_text(encoding="utf-8") == "two\n"
    assert path.stat().st_mode & 0o777 == 0o750
    assert (session.workspace / "link").is_symlink()
    assert sorted(entry.name for entry in session.workspace.iterdir()) == ["link", "run.sh"]


async def test_a_write_that_changes_nothing_says_so(session: Session):
    put(session, "a.txt", "same\n")
    await session.call("read", file_path="a.txt")
    output = await session.call("write", file_path="a.txt", content="same\n")
    assert output.meta["changed"] is False


async def test_a_large_file_shows_only_what_changed(session: Session):
    put(session, "big.txt", "".join(f"line {number}\n" for number in range(5000)))
    await session.call("read", file_path="big.txt")
    output = await session.call("edit", file_path="big.txt", old_string="line 2500\n", new_string="changed\n")
    (diff,) = output.meta["diffs"]
    assert diff["oldText"].splitlines() == [f"line {n}" for n in range(2497, 2504)]
    assert "changed" in diff["newText"]


async def test_an_image_that_is_too_large_is_refused_with_its_size(session: Session):
    put(session, "big.png", PNG + b"\0" * (5 * 1024 * 1024))
    output = await session.call("read", file_path="big.png")
    assert output.is_error
    assert "5242880" in words(output)
    put(session, "huge.txt", b"x" * (20 * 1024 * 1024 + 1))
    assert "too large" in words(await session.call("read", file_path="huge.txt"))


async def test_a_crash_while_writing_leaves_the_file_whole(session: Session):
    """A folder that takes no new file: the write fails, the old content stays, nothing lies about."""
    path = put(session, "a.txt", "old\n")
    await session.call("read", file_path="a.txt")
    output = await session.call("write", file_path="a.txt/b", content="new\n")
    assert output.is_error
    too_long = await session.call("write", file_path="x" * 300, content="new\n")
    assert "too long" in words(too_long)
    assert path.read_text(encoding="utf-8") == "old\n"
    assert [entry.name for entry in session.workspace.iterdir()] == ["a.txt"]


KILLED = """
import resource, signal, sys
from pathlib import Path
from wayline.tools.disk import put
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
put(Path(sys.argv[1]), b"x" * 5_000_000)
"""


@pytest.mark.parametrize("before", ["old\n", None])
def test_a_kill_in_the_middle_of_a_write_leaves_nothing(session: Session, before: str | None):
    """The process is killed by the kernel when the file becomes larger than it may."""
    try:
        os.close(os.open(session.workspace, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        pytest.skip("there are no files without a name here")
    path = session.workspace / "a.txt" if before is None else put(session, "a.txt", before)
    result = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=30)
    assert result.returncode == -signal.SIGXFSZ
    left = {entry.name: entry.read_text(encoding="utf-8") for entry in session.workspace.iterdir()}
    assert left == ({} if before is None else {"a.txt": before})


async def test_where_no_file_is_without_a_name_a_write_is_still_one_step(session: Session, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = put(session, "a.txt", "old\n")
    path.chmod(0o750)
    reader = path.open(encoding="utf-8")
    await session.call("read", file_path="a.txt")
    assert not (await session.call("write", file_path="a.txt", content="new\n")).is_error
    with reader:
        assert reader.read() == "old\n"
    assert path.read_text(encoding="utf-8") == "new\n"
    assert path.stat().st_mode & 0o777 == 0o750
    assert list(session.workspace.iterdir()) == [path]


async def test_a_write_over_windows_lines_keeps_them_and_latin_1_becomes_utf_8_when_it_must(session: Session):
    windows = put(session, "w.txt", b"a\r\nb\r\n")
    latin = put(session, "l.txt", "caf\xe9\n".encode("latin-1"))
    for name, content in (("w.txt", "c\nd\n"), ("l.txt", "caf\xe9 5 €\n")):
        await session.call("read", file_path=name)
        output = await session.call("write", file_path=name, content=content)
    assert windows.read_bytes() == b"c\r\nd\r\n"
    assert latin.read_bytes() == "caf\xe9 5 €\n".encode()
    assert "UTF-8 now" in words(output)


async def test_a_file_with_two_names_keeps_both(session: Session):
    path = put(session, "a.txt", "one\ntwo\n")
    other = session.workspace / "b.txt"
    other.hardlink_to(path)
    await session.call("read", file_path="a.txt")
    output = await session.call("edit", file_path="a.txt", old_string="two\n", new_string="")
    assert not output.is_error, words(output)
    assert other.read_text(encoding="utf-8") == "one\n"
    assert path.samefile(other)


READ_ONLY = """
import anyio, sys
from pathlib import Path
from tests.tools.running import Session, words
async def main(folder):
    session = Session(folder, folder / "spilled")
    await session.call("read", file_path="a.txt")
    print(words(await session.call("edit", file_path="a.txt", old_string="one", new_string="two")))
anyio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everything")
async def test_a_read_only_file_is_not_changed(session: Session):
    path = put(session, "a.txt", "one\n")
    path.chmod(0o444)
    drop = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [*drop, sys.executable, "-c", READ_ONLY, str(session.workspace)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert "Permission denied" in result.stdout
    assert path.read_text(encoding="utf-8") == "one\n"


async def test_a_link_that_goes_round_does_not_hide_what_else_is_in_a_folder(session: Session):
    put(session, "a.txt", "x")
    (session.workspace / "loop").symlink_to("loop")
    said = words(await session.call("read", file_path="."))
    assert "a.txt" in said
    assert "is a folder" in said
