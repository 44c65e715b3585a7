"""Where the person's files lie: data (session logs) and config (settings, credentials)."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec


class Homes(msgspec.Struct, frozen=True):
    """The two folders; neither needs to exist."""

    data: Path
    config: Path


def find(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Homes:
    """`WAYLINE_HOME` moves everything; else the platform's own places.

    Those are Application Support on macOS, and elsewhere what the XDG Base Directory Specification says.
    """
    if home := environ.get("WAYLINE_HOME"):
        return Homes(Path(home).absolute(), Path(home).absolute())
    person = Path(environ.get("HOME") or Path.home())
    if platform == "darwin":
        support = person / "Library" / "Application Support" / "wayline"
        return Homes(support, support)
    return Homes(
        _xdg(environ, "XDG_DATA_HOME", person / ".local" / "share"),
        _xdg(environ, "XDG_CONFIG_HOME", person / ".config"),
    )


def _xdg(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """A variable that holds no absolute path does not count, says the specification."""
    chosen = Path(environ.get(name, ""))
    return (chosen if chosen.is_absolute() else default) / "wayline"
