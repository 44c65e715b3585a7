"""One suite that every store passes, and what only a file can do."""

import resource
import subprocess
import sys
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
