"""One suite that every store passes, and what only a file can do."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wayline.log.blobs import keep_blob
from wayline.log.folders import SessionFolders
from wayline.log.memory import MemoryStore
from wayline.log.store import LogFile, StorageError, Store


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    made: Store = (
        LogFile(tmp_path / "s" / "log.jsonl", create=True) if request.param == "file" else MemoryStore()
    )
    yield made
    made.close()


def test_it_gives_back_what_was_appended_in_order(store: Store):
    store.append(b"one\n")
    store.append(b"two\n")
    assert store.read() == b"one\ntwo\n"


def test_it_forgets_what_is_cut_off_and_goes_on(store: Store):
    store.append(b"one\n")
    store.append(b"torn")
    store.truncate(4)
    store.append(b"two\n")
    assert store.read() == b"one\ntwo\n"


def test_a_sync_may_be_asked_for_at_any_time(store: Store):
    store.sync()
    store.append(b"one\n")
    store.sync()
    store.sync()
    assert store.read() == b"one\n"


def test_a_file_is_its_owners_alone_and_made_only_once(tmp_path: Path):
    path = tmp_path / "a" / "b" / "log.jsonl"
    file = LogFile(path, create=True)
    file.append(b"one\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(FileExistsError):
        LogFile(path, create=True)
    file.close()
    with pytest.raises(StorageError):
        file.append(b"two\n")
    again = LogFile(path)
    again.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    again.close()
    with pytest.raises(FileNotFoundError):
        LogFile(tmp_path / "none")


FULL = """
import resource, signal, sys
from pathlib import Path
from wayline.log.store import LogFile, StorageError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = LogFile(Path(sys.argv[1]), create=True)
file.append(b"x" * 90 + b"\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    file.append(b"y" * 90 + b"\\n")
except StorageError as error:
    print("refused", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.append(b"z\\n")
"""


def test_a_line_that_only_half_fits_is_not_there_when_there_is_room_again(tmp_path: Path):
    """A real limit on the size of files, as a full disk would be."""
    path = tmp_path / "log.jsonl"
    result = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert "refused" in result.stdout
    assert path.read_bytes() == b"x" * 90 + b"\n" + b"z\n"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.fixture
def file(tmp_path: Path) -> Iterator[LogFile]:
    made = LogFile(tmp_path / "s" / "log.jsonl", create=True)
    yield made
    made.close()


def test_what_is_closed_writes_nowhere(file: LogFile, tmp_path: Path):
    """The number of its descriptor may be another file's by then."""
    file.close()
    other = (tmp_path / "other").open("wb")
    with other:
        with pytest.raises(StorageError):
            file.append(b"one\n")
        with pytest.raises(StorageError):
            file.truncate(0)
        file.close()
        other.write(b"still open")
    assert (tmp_path / "other").read_bytes() == b"still open"
    assert file.path.read_bytes() == b""


def test_what_could_not_be_flushed_is_tried_again(file: LogFile):
    file.append(b"one\n")
    file.close()
    for _ in range(2):
        with pytest.raises(StorageError, match="cannot flush"):
            file.sync()


def test_what_is_opened_again_goes_on_at_its_end(file: LogFile):
    file.append(b"one\n")
    file.close()
    again = LogFile(file.path)
    again.append(b"two\n")
    again.close()
    assert file.path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_no_log(tmp_path: Path, make: Callable[[Path], None]):
    make(tmp_path / "log.jsonl")
    with pytest.raises(OSError, match=r"log\.jsonl"):
        LogFile(tmp_path / "log.jsonl")


def test_folders_that_were_there_stay_as_they_are(tmp_path: Path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    LogFile(shared / "sessions" / "s" / "log.jsonl", create=True).close()
    modes = [
        folder.stat().st_mode & 0o777 for folder in (shared, shared / "sessions", shared / "sessions" / "s")
    ]
    assert modes == [0o755, 0o700, 0o700]


@pytest.mark.parametrize(
    "name", ["", "..", ".", "../x", "a/b", "/etc", "a\0b", "x" * 300, "-x", ".hidden", "a\nb"]
)
def test_an_id_that_would_lead_elsewhere_is_unknown(tmp_path: Path, name: str):
    folders = SessionFolders(tmp_path)
    (tmp_path / "sessions" / "place-1" / "x").mkdir(parents=True)
    (tmp_path / "sessions" / "place-1" / "x" / "log.jsonl").touch()
    (tmp_path / "sessions" / "place-1" / "log.jsonl").touch()
    assert folders.find("x") is not None
    assert folders.find(name) is None


@pytest.mark.parametrize("name", [".hidden", "-x", "a b"])
def test_a_folder_that_no_session_made_is_none(tmp_path: Path, name: str):
    (tmp_path / "sessions" / "place-1" / name).mkdir(parents=True)
    (tmp_path / "sessions" / "place-1" / name / "log.jsonl").touch()
    assert SessionFolders(tmp_path).find(name) is None


def test_folders_are_readable_short_and_apart(tmp_path: Path):
    folders = SessionFolders(tmp_path)
    one, two = folders.for_session("/home/me/a b/Ünï", "x"), folders.for_session("/home/you/a b/Ünï", "x")
    assert one != two
    assert one.parent.name.isascii()
    assert len(folders.for_session("/" + "long" * 900, "x").parent.name) < 100


def test_a_blob_is_kept_once_and_privately(tmp_path: Path):
    path = keep_blob(tmp_path, b"content")
    assert keep_blob(tmp_path, b"content") == path
    assert path.read_bytes() == b"content"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
