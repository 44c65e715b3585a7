"""What a plugin registers with, and what undoes it."""

from collections.abc import Callable
from typing import Any

from wayline.tools.base import Tool
from wayline.tools.registry import ToolRegistry


class Context:
    """Owns everything one plugin registered.

    It is the `PluginContext` that `apply` is given.
    """

    def __init__(self, plugin: str, registry: ToolRegistry) -> None:
        self.plugin = plugin
        self._registry = registry
        self._undo: list[Callable[[], None]] = []

    def tool(self, tool: Tool[Any]) -> None:
        """Offer a tool until the plugin goes. Raises `NameTaken`."""
        self._registry.add(tool)
        self._undo.append(lambda: self._registry.remove(tool.name))

    def dispose(self) -> None:
        """Undo it all, the last first; doing so again does nothing.

        Each part is undone even when another cannot be: what they raised comes after, as one
        `ExceptionGroup`.
        """
        errors: list[Exception] = []
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except Exception as error:  # noqa: BLE001 - the others must be undone first; raised below
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"plugin {self.plugin!r} could not be undone whole", errors)
