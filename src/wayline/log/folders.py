"""Where logs lie under the data home: `sessions/<folder for the cwd>/<session id>/log.jsonl`."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

LOG_NAME = "log.jsonl"
#: What may be a session id on disk. Ids come from clients, and must not name another folder.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class SessionFolders:
    """The folder tree of all sessions of a data home."""

    def __init__(self, data_home: Path) -> None:
        self.root = data_home / "sessions"

    def for_session(self, cwd: str, session_id: str) -> Path:
        """The folder of a session of that working directory, whether it exists or not."""
        return self.root / _folder_name(cwd) / session_id

    def find(self, session_id: str) -> Path | None:
        """The folder of a session, wherever it was started; None when there is no such session."""
        if not _ID.fullmatch(session_id):
            return None
        return next((log.parent for log in self.logs() if log.parent.name == session_id), None)

    def logs(self) -> Iterator[Path]:
        """Every log file of the tree, in no order."""
        yield from self.root.glob(f"*/*/{LOG_NAME}")


def _folder_name(cwd: str) -> str:
    """Readable, and short enough for any file system. Two paths may share a folder: ids keep sessions
    apart, and each log names its own cwd."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(cwd).name)[-48:]
    return f"{readable}-{zlib.crc32(cwd.encode(errors='surrogateescape')):08x}"
