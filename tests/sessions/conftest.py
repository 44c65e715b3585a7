"""Sessions in files, and a data home of them."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.log.conversations import HEADER
from wayline.log.codec import encode
from wayline.log.invariants import Invariants
from wayline.log.store import LogFile
from wayline.sessions.registry import Registry
from wayline.sessions.session import Clock, Session

#: seconds any single wait may take
PATIENCE = 20.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def clock() -> Clock:
    """A clock that moves on each time it is looked at."""
    return count(1000).__next__


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file of `session`."""
    return tmp_path / "s" / "log.jsonl"


@pytest.fixture
def session(log: Path, workspace: Path, clock: Clock) -> Iterator[Session]:
    """A new session in a file, whose every event is held against the rules."""
    store = LogFile(log, create=True)
    store.append(encode(HEADER))
    session = Session(HEADER, store, log.parent, workspace, rules=Invariants(), clock=clock)
    yield session
    session.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def registry(home: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Registry]]:
    """Makes a registry of the home, as a new process would."""
    monkeypatch.setenv("WAYLINE_INVARIANTS", "1")
    yield lambda: Registry(home, clock)
