"""The person's settings: built in, `settings.toml`, environment, command line; later ones win.

Only the person's own files are read. What a workspace brings along (`.wayline/`) does not count: a
hostile repository must not be able to set a base URL and take a key.

    SettingsError    a file that cannot be used; the message names the file, the place and the reason
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from wayline.homes import Homes
from wayline.loop.base import Limits
from wayline.models.catalog import DEFAULT_MODEL, PROVIDERS, ProviderConfig
from wayline.permissions.modes import Mode

SETTINGS_FILE = "settings.toml"
CREDENTIALS_FILE = "credentials.toml"
WORKSPACE_FOLDER = ".wayline"

T = TypeVar("T")


class SettingsError(Exception):
    """A settings or credentials file that cannot be used."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every table: an unknown key is a typing mistake, and said."""


class PermissionSettings(Table, frozen=True):
    """`[permissions]`: how many seconds a question waits for the person."""

    patience: Annotated[float, msgspec.Meta(gt=0, le=30 * 86_400)] = 30 * 60


class TodoSettings(Table, frozen=True):
    """`[todo]`: whether models are offered the task list; `models` says it for single ones, by their id."""

    enabled: bool = True
    models: dict[str, bool] = {}

    def enabled_for(self, model: str) -> bool:
        """Whether this model keeps a list."""
        return self.models.get(model, self.enabled)


class TodoPlugin(Table, frozen=True):
    """`[plugins.todo]`: whether several tasks may be in progress."""

    allow_parallel: bool = False


class PluginSettings(Table, frozen=True):
    """`[plugins]`: a table for each built-in plugin that has settings."""

    todo: TodoPlugin = TodoPlugin()


class Settings(Table, frozen=True):
    """`settings.toml`."""

    model: str = DEFAULT_MODEL
    mode: Mode = "ask"
    providers: dict[str, ProviderConfig] = {}
    limits: Limits = Limits()
    permissions: PermissionSettings = PermissionSettings()
    todo: TodoSettings = TodoSettings()
    plugins: PluginSettings = PluginSettings()


class Credentials(Table, frozen=True):
    """`credentials.toml`: `[keys]`, a key for each provider's name."""

    keys: dict[str, str] = {}


def load(
    homes: Homes, environ: Mapping[str, str] = os.environ, model: str | None = None, mode: str | None = None
) -> Settings:
    """The settings in force; `model` and `mode` are the command line's. Raises `SettingsError`."""
    settings = _read(homes.config / SETTINGS_FILE, Settings)
    chosen: dict[str, Any] = {
        "model": model or environ.get("WAYLINE_MODEL"),
        "mode": mode or environ.get("WAYLINE_MODE"),
    }
    asked = {name: value for name, value in chosen.items() if value}
    try:
        return msgspec.convert({**_shallow(settings), **asked}, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"command line or environment: {error}") from None


def _shallow(settings: Settings) -> dict[str, Any]:
    return msgspec.structs.asdict(settings)


def read_credentials(homes: Homes) -> Credentials:
    """The keys on file; none when there is no file. Raises `SettingsError`."""
    return _read(homes.config / CREDENTIALS_FILE, Credentials)


def _read(path: Path, kind: type[T]) -> T:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return kind()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    import tomllib

    try:
        return msgspec.convert(_over_built_in(tomllib.loads(text)), kind)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"{path}: {error}") from None


def _over_built_in(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables, with what they leave out of a known provider as it is built in."""
    providers = tables.get("providers")
    if not isinstance(providers, dict):
        return tables
    whole = {
        name: {**msgspec.to_builtins(PROVIDERS[name]), **table}
        if name in PROVIDERS and isinstance(table, dict)
        else table
        for name, table in providers.items()
    }
    return {**tables, "providers": whole}


def ignored_in(workspace: Path) -> list[str]:
    """One line about what of a workspace is left out, none when it brings nothing."""
    folder = workspace / WORKSPACE_FOLDER
    if not folder.exists():
        return []
    return [f"{folder} is ignored: settings, hooks, skills and servers of a workspace do not count yet"]
