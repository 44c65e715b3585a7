"""What a turn is run with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wayline.loop.base import Asker, Limits
from wayline.models.base import Model
from wayline.permissions.modes import Mode
from wayline.tools.registry import ToolRegistry


@dataclass(frozen=True)
class Parts:
    """The parts of one turn. `mode` is asked before each call, since the person can change it; `environ`
    is what commands inherit of."""

    model: Model
    tools: ToolRegistry
    asker: Asker
    mode: Callable[[], Mode]
    limits: Limits
    environ: Mapping[str, str]
