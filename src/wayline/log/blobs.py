"""Files kept beside a log, named by their content: spilled results, file snapshots."""

import hashlib
import os
from pathlib import Path

BLOBS = "blobs"


def keep_blob(folder: Path, data: bytes) -> Path:
    """Keep bytes beside the log in `folder`; the same bytes are kept once. Raises `OSError`."""
    blobs = folder / BLOBS
    blobs.mkdir(mode=0o700, exist_ok=True)
    path = blobs / hashlib.sha256(data).hexdigest()
    if path.exists():
        return path
    half_written = path.with_suffix(f".{os.getpid()}")
    with open(half_written, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)
    half_written.rename(path)
    return path
