"""All sessions of a data home: make, open, list, close.

RegistryError
├── UnknownSession    no session of that id
└── WrongWorkspace    it was started in another working directory
"""

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import anyio.to_thread
import msgspec

from wayline import __version__
from wayline.log.codec import LogError, encode
from wayline.log.events import FORMAT_VERSION, Header, ToolCallStarted
from wayline.log.folders import LOG_NAME, SessionFolders
from wayline.log.invariants import Invariants
from wayline.log.reader import DamagedLog, Reading, read
from wayline.log.recovery import repair
from wayline.log.store import LogFile, Store
from wayline.models.assembler import assemble
from wayline.projections import meta
from wayline.projections.state import State, fold_all
from wayline.sessions.session import Clock, Session, system_clock

PRODUCER = {"name": "wayline", "version": __version__}


class OpenLog(Protocol):
    """Opens the store of a log; raises as `LogFile` does."""

    def __call__(self, path: Path, *, create: bool) -> Store: ...


class RegistryError(Exception):
    """A session cannot be had; the message is for the person."""


class UnknownSession(RegistryError):
    """There is no session of that id."""


class WrongWorkspace(RegistryError):
    """The session belongs to another working directory."""


class Listed(msgspec.Struct, frozen=True):
    """One session of the list; `damage` says what is wrong with its log."""

    id: str
    cwd: str | None
    title: str | None = None
    updated_at: int = 0
    damage: str | None = None


class Registry:
    """Sessions on disk, and those of them that are open here."""

    def __init__(self, data_home: Path, clock: Clock = system_clock, open_log: OpenLog = LogFile) -> None:
        self._folders = SessionFolders(data_home)
        self._clock = clock
        self._open_log = open_log

    def new(self, cwd: Path) -> Session:
        """Start a session; its header is on disk when this returns. Raises `OSError`, `StorageError`."""
        header = Header(
            version=FORMAT_VERSION,
            id=str(uuid.uuid4()),
            created_at=self._clock(),
            cwd=str(cwd),
            producer=PRODUCER,
        )
        folder = self._folders.for_session(str(cwd), header.id)
        store = self._open_log(folder / LOG_NAME, create=True)
        try:
            store.append(encode(header))
        except LogError:
            store.close()
            raise
        return Session(header, store, folder, cwd, rules=_checked(Invariants()), clock=self._clock)

    async def open(self, session_id: str, cwd: Path) -> Session:
        """Open a session that was closed, closing what a crash left open in its log.

        Raises `UnknownSession`, `WrongWorkspace`, `LogError`, `OSError`.
        """
        folder = self._folders.find(session_id)
        if folder is None:
            raise UnknownSession(f"there is no session {session_id}")
        store = self._open_log(folder / LOG_NAME, create=False)
        try:
            return await self._open(store, folder, cwd)
        except BaseException:
            store.close()
            raise

    async def _open(self, store: Store, folder: Path, cwd: Path) -> Session:
        reading, state = await anyio.to_thread.run_sync(_fold, store, folder)
        check_workspace(reading.header, cwd)
        if reading.torn and reading.fault is None:
            store.truncate(reading.length)
        session = Session(
            reading.header,
            store,
            folder,
            cwd,
            state=state,
            next_seq=reading.next_seq,
            call_ids=[
                event.data.call_id for event in reading.events if isinstance(event.data, ToolCallStarted)
            ],
            fault=reading.fault,
            rules=_checked(reading.rules),
            clock=self._clock,
        )
        if reading.fault is None:
            for payload in repair(reading.events, reading.open_deltas, assemble):
                session.append(payload)
            await session.checkpoint()
        return session

    async def list(self, cwd: Path | None) -> Sequence[Listed]:
        """All sessions with a turn, newest first; of one working directory when `cwd` is given."""
        return await anyio.to_thread.run_sync(self._list, cwd)

    def _list(self, cwd: Path | None) -> Sequence[Listed]:
        found = [listed for log in self._folders.logs() if (listed := _listed(log)) is not None]
        if cwd is not None:
            found = [listed for listed in found if listed.cwd is not None and same_folder(listed.cwd, cwd)]
        return sorted(found, key=lambda listed: (-listed.updated_at, listed.id))


def _fold(store: Store, folder: Path) -> tuple[Reading, State]:
    """Read a log and fold it: work for a thread, since other sessions stream meanwhile."""
    reading = _read(store.read(), folder)
    return reading, fold_all(reading.events)


def _checked(rules: Invariants) -> Invariants | None:
    """The rules when appends are to be held against them: in development and in tests."""
    return rules if os.environ.get("WAYLINE_INVARIANTS") == "1" else None


def _listed(log: Path) -> Listed | None:
    """The list's line for one log; None for a session that was never prompted."""
    try:
        if not log.is_file():
            # A pipe would never end.
            raise DamagedLog("the log is not a regular file")
        reading = _read(log.read_bytes(), log.parent)
    except (LogError, OSError) as error:
        return Listed(id=log.parent.name, cwd=None, damage=str(error))
    return _summary(reading)


def _read(data: bytes, folder: Path) -> Reading:
    """A log, which must be that of the session its folder names: a copy would be the same session twice."""
    reading = read(data)
    if reading.header.id != folder.name:
        raise DamagedLog(f"the folder is that of session {folder.name}, the log of {reading.header.id}")
    return reading


def _summary(reading: Reading) -> Listed | None:
    state = meta.Meta()
    for event in reading.events:
        state = meta.fold(state, event)
    if not state.turns:
        return None
    return Listed(reading.header.id, reading.header.cwd, state.title, state.updated_at, reading.fault)


def check_workspace(header: Header, cwd: Path) -> None:
    """Raises `WrongWorkspace` unless the session was started in `cwd`."""
    if header.cwd is None or not same_folder(header.cwd, cwd):
        raise WrongWorkspace(f"session {header.id} was started in {header.cwd}, not in {cwd}")


def same_folder(stored: str, given: Path) -> bool:
    """Whether two paths name one folder: links, trailing slashes and folded case do not count."""
    path = Path(stored)
    if path == given:
        return True
    try:
        return path.is_absolute() and path.samefile(given)
    except (OSError, ValueError):
        return False
