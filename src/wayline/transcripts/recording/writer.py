"""The recorder's second process: it takes down what passes, and at the end writes the transcript.

It outlives the recorder, whatever happens to that, and sees to it that the agent does not.
"""

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryFile, gettempdir, mkstemp
from typing import BinaryIO

import msgspec

from wayline import homes
from wayline.log.folders import LOG_NAME, SessionFolders
from wayline.transcripts.format import Note, Step, dump
from wayline.transcripts.recording import tape
from wayline.transcripts.recording.recording import WAYLINE, recording
from wayline.transcripts.recording.volatile import Surroundings

PIECE = 256 * 1024
#: seconds that an agent whose recorder was killed has to see that, and to end by itself
GRACE = 2.5


def main() -> int:
    """Take the conversation from stdin until its end, then write the transcript."""
    out, recorder, agent = Path(sys.argv[1]), int(sys.argv[2]), Agent(int(sys.argv[3]))
    try:
        with TemporaryFile() as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool, PIECE)
            whole = _ended(spool)
            cut = not whole and not agent.ended_after(recorder)
            write(out, spool, homes.find().data, cut=cut)
    except (OSError, shutil.Error) as error:
        sys.stderr.write(f"wayline: {out} was not written: {error}\n")
        return 1
    return 0


class Agent:
    """The process of the agent."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        try:
            # Its number may be another's when we need it; this stays it.
            self._handle: int | None = os.pidfd_open(pid) if sys.platform == "linux" else None
        except OSError:
            self._handle = None

    def ended_after(self, recorder: int) -> bool:
        """See to it that the agent ends when the recorder did; False while the recorder is there."""
        if not self._ends_within(GRACE) and os.getppid() != recorder:
            self._kill()
            self._ends_within(GRACE)
        return os.getppid() != recorder

    def _ends_within(self, seconds: float) -> bool:
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                os.kill(self._pid, 0)
            except OSError:
                return True
            time.sleep(0.02)
        return False

    def _kill(self) -> None:
        try:
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            else:
                os.kill(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended just now


def _entries(spool: BinaryIO) -> Iterator[tape.Entry]:
    spool.seek(0)
    return tape.entries(spool)


def _ended(spool: BinaryIO) -> bool:
    return any(isinstance(entry, tape.Ended) for entry in _entries(spool))


def write(out: Path, spool: BinaryIO, data: Path, *, cut: bool) -> None:
    """Write a transcript of what the spool holds, with what it needs beside it; `data` is the data home
    that a Wayline would have kept its logs in. Raises `OSError`."""
    copies = [entry.folder for entry in _entries(spool) if isinstance(entry, tape.Copying)]
    try:
        _write(out, spool, data, cut)
    finally:
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)


def _write(out: Path, spool: BinaryIO, data: Path, cut: bool) -> None:
    """What the transcript names first, itself last, so that a transcript which is there is whole."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out = _free(out)
    workspace = next((entry for entry in _entries(spool) if isinstance(entry, tape.Workspace)), None)
    passed = (entry for entry in _entries(spool) if isinstance(entry, tape.Passed))
    recorded = recording(tape.lines(passed), _surroundings(workspace, data), out.stem)
    notes = list(_notes(workspace))
    meta = recorded.meta
    if workspace is not None and workspace.folder is not None and any(Path(workspace.folder).iterdir()):
        meta = msgspec.structs.replace(meta, workspace=_keep_workspace(Path(workspace.folder), out))
    if recorded.agent == WAYLINE:
        logs = _keep_logs(recorded.prompted, data, out)
        if logs:
            meta = msgspec.structs.replace(meta, model=f"replay:{','.join(logs)}")
        elif recorded.has_model:
            # Nothing is asked of it, but without one there is no session.
            meta = msgspec.structs.replace(meta, script=())
    steps = [*notes, *recorded.steps, *_last_notes(_entries(spool), cut)]
    _replace(out, dump(meta, steps).encode("utf-8", "replace"))


def _free(out: Path) -> Path:
    """The path, numbered when there is something already: an editor starts its agent again and again."""
    numbered = (out.with_name(f"{out.stem}-{number}{out.suffix}") for number in count(2))
    return next(path for path in chain([out], numbered) if not path.exists())


def _surroundings(workspace: tape.Workspace | None, data: Path) -> Surroundings:
    tmp = gettempdir()
    return Surroundings(
        workspace=() if workspace is None else (workspace.path, workspace.resolved),
        home=(str(data), os.path.realpath(data)),
        tmp=(tmp, os.path.realpath(tmp)),
    )


def _notes(workspace: tape.Workspace | None) -> Iterator[Step]:
    if workspace is not None and workspace.missing is not None:
        yield Note(f"The workspace is not beside this transcript: {workspace.missing}.")


def _last_notes(entries: Iterator[tape.Entry], cut: bool) -> Iterator[Step]:
    if cut:
        yield Note("The recording breaks off here; the conversation went on.")
    for entry in entries:
        if isinstance(entry, tape.Ended) and entry.status:
            yield Note(f"The agent ended with status {entry.status}.")


def _keep_workspace(copy: Path, out: Path) -> str:
    kept = out.with_name(f"{out.stem}.workspace")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.move(copy, kept)
    return kept.name


def _keep_logs(sessions: Sequence[str], data: Path, out: Path) -> list[str]:
    """Copy the sessions' logs beside the transcript; the names of those in which a model was asked."""
    kept: list[str] = []
    for session in sessions:
        folder = SessionFolders(data).find(session)
        log = b"" if folder is None else (folder / LOG_NAME).read_bytes()
        if b'"step/start"' not in log:
            continue
        # A comma stands between two logs.
        beside = out.with_name(f"{out.stem.replace(',', '_')}.{len(kept) + 1}.log.jsonl")
        _replace(beside, log)
        kept.append(beside.name)
    return kept


def _replace(path: Path, content: bytes) -> None:
    """Write a private file at once: before, there is the old one or none."""
    descriptor, name = mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
