"""Where the person's files lie: data (session logs) and config (settings, credentials)."""

import os
from pathlib import Path

import msgspec


class Homes(msgspec.Struct, frozen=True):
    """The two folders; neither needs to exist."""

    data: Path
    config: Path


def find() -> Homes:
    """`WAYLINE_HOME` moves everything; else the platform's own places."""
    if home := os.environ.get("WAYLINE_HOME"):
        return Homes(Path(home), Path(home))
    import platformdirs

    return Homes(
        platformdirs.user_data_path("wayline", appauthor=False),
        platformdirs.user_config_path("wayline", appauthor=False),
    )
