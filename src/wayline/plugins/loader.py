"""The one way a plugin comes in: a module with `name`, `inject` and `apply`, and nothing else to enter by."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from wayline.plugins.context import Context
from wayline.tools.registry import ToolRegistry

#: the tools that Wayline brings, in the order a model is told of them
BUILT_IN: tuple[str, ...] = (
    "wayline.tools.files",
    "wayline.tools.search",
    "wayline.tools.shell",
    "wayline.tools.todo",
)

#: other usual names of an entry. A module with one of these next to `apply` has two ways in, and the one
#: that is taken by mistake brings no `inject`.
STRAY_ENTRIES = ("default", "plugin", "Plugin", "setup", "register")

Config = Mapping[str, Any]


class PluginRefused(Exception):
    """A module that is no plugin; the message says how to make it one."""


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin that is in; `inject` names the services it needs."""

    name: str
    inject: tuple[str, ...]
    context: Context

    def dispose(self) -> None:
        """Take it out again. Raises what `Context.dispose` raises."""
        self.context.dispose()


@dataclass(frozen=True)
class _Entry:
    name: str
    inject: tuple[str, ...]
    apply: Callable[[Context, Config], None]


def load(plugin: ModuleType | str, config: Config, registry: ToolRegistry) -> LoadedPlugin:
    """Bring in a module, or the one of that dotted name.

    Raises `PluginRefused`, and what `apply` raises, after what it had registered is undone.
    """
    entry = _entry(_imported(plugin) if isinstance(plugin, str) else plugin)
    context = Context(entry.name, registry)
    try:
        entry.apply(context, config)
    except BaseException:
        context.dispose()
        raise
    return LoadedPlugin(entry.name, entry.inject, context)


def load_built_in(
    registry: ToolRegistry, config: Mapping[str, Config] | None = None
) -> tuple[LoadedPlugin, ...]:
    """Bring in Wayline's own tools; `config` holds the settings of each plugin under its name."""
    settings = config or {}
    modules = [_imported(dotted) for dotted in BUILT_IN]
    return tuple(load(module, settings.get(_entry(module).name, {}), registry) for module in modules)


def _imported(dotted: str) -> ModuleType:
    if ":" in dotted:
        module, _, attribute = dotted.partition(":")
        raise PluginRefused(
            f"{dotted!r} names the attribute {attribute!r}: a plugin is a whole module. Write {module!r}."
        )
    try:
        return importlib.import_module(dotted)
    except ImportError as error:
        raise PluginRefused(f"plugin {dotted!r} cannot be imported: {error}") from error


def _entry(module: ModuleType) -> _Entry:
    """What the module says of itself. Raises `PluginRefused` with the part that is missing or wrong."""
    where = f"plugin module {module.__name__!r}"
    strays = [name for name in STRAY_ENTRIES if hasattr(module, name)]
    if strays:
        raise PluginRefused(
            f"{where} has a second way in, {', '.join(map(repr, strays))}: its only entry is `apply`. "
            "Rename it with a leading underscore, or move it to a module of its own."
        )
    name, inject, apply = (getattr(module, part, None) for part in ("name", "inject", "apply"))
    if not (isinstance(name, str) and name):
        raise PluginRefused(f'{where} needs `name`, a non-empty string: name = "my-plugin"')
    if not (isinstance(inject, tuple) and all(isinstance(service, str) for service in inject)):
        raise PluginRefused(f"{where} needs `inject`, a tuple of service names: inject = () for none")
    if not callable(apply) or not _takes_two(apply):
        raise PluginRefused(f"{where} needs `apply`, a function: def apply(ctx, config): ...")
    if inspect.iscoroutinefunction(apply):
        raise PluginRefused(f"{where} has an async `apply`: make it a plain function")
    return _Entry(name, inject, apply)


def _takes_two(apply: Callable[..., object]) -> bool:
    try:
        inspect.signature(apply).bind(None, None)
    except TypeError:
        return False
    return True
