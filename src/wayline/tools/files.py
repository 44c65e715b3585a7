"""The plugin of the file tools: `read`, `write` and `edit`."""

from collections.abc import Mapping
from typing import Any

from wayline.tools.base import PluginContext
from wayline.tools.read import ReadTool
from wayline.tools.write import EditTool, WriteTool

name = "files"
inject: tuple[str, ...] = ()


def apply(ctx: PluginContext, config: Mapping[str, Any]) -> None:
    """Offer the file tools; they have no settings."""
    for tool in (ReadTool(), WriteTool(), EditTool()):
        ctx.tool(tool)
