"""What `session/new` and `session/load` say of the workspace: its folder, and servers for it."""

from pathlib import Path
from typing import Any

import msgspec

from wayline.acp.schema import NewSession
from wayline.wire.errors import InvalidParams


def workspace(params: NewSession) -> Path:
    """The working directory, links resolved. Raises `InvalidParams`."""
    directories = _lenient_list(params.additional_directories)
    if any(isinstance(directory, str) for directory in directories):
        raise InvalidParams(
            "additional directories are not supported; open them as sessions of their own",
            path="params.additionalDirectories",
        )
    path = absolute(params.cwd)
    try:
        if path.is_dir():
            return path.resolve()
    except OSError as error:
        raise InvalidParams(f"{params.cwd[:500]}: {error.strerror}", path="params.cwd") from None
    raise InvalidParams(f"{params.cwd} is not an existing directory", path="params.cwd")


def absolute(cwd: str) -> Path:
    """A path that is absolute. Raises `InvalidParams`."""
    path = Path(cwd)
    if "\0" in cwd or not path.is_absolute():
        raise InvalidParams(f"{cwd!r} is not an absolute path", path="params.cwd")
    return path


def _lenient_list(raw: msgspec.Raw) -> list[Any]:
    """A list whose form the schema lets us be lenient about (`x-deserialize-default-on-error`)."""
    try:
        return msgspec.json.decode(raw, type=list[Any])
    except msgspec.MsgspecError:
        return []


def mcp_notices(params: NewSession) -> list[str]:
    """Servers are accepted and not started yet; the person is told which."""
    servers = [server for server in _lenient_list(params.mcp_servers) if isinstance(server, dict)]
    names = [str(server.get("name", "unnamed")) for server in servers]
    if not names:
        return []
    return [f"MCP servers are not supported yet, so these were not started: {', '.join(names)}"]
