"""The tools of an agent, and the one way to call them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec

from wayline.permissions.modes import decide
from wayline.tools.base import (
    Arguments,
    Card,
    Denied,
    Presentation,
    Question,
    TimedOut,
    Tool,
    ToolFailure,
    ToolOutput,
    ToolRun,
    UnknownTool,
)
from wayline.tools.presentation import in_one_line, text_cards
from wayline.tools.results import failed, fitted
from wayline.tools.schema import parameters, parse

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Offer:
    """A tool as a model is told of it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class NameTaken(Exception):
    """Two tools want one name; the message is for the person."""


class ToolRegistry:
    """Tools by name, in the order they were added."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        self._offers: dict[str, Offer] = {}

    def add(self, tool: Tool[Any]) -> None:
        """Offer `tool` from now on. Raises `NameTaken`."""
        if tool.name in self._tools:
            raise NameTaken(f"there is a tool named {tool.name!r} already")
        self._offers[tool.name] = Offer(tool.name, tool.description, parameters(tool.arguments))
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """Offer it no more; a call that runs goes on. Raises `KeyError` when it is not there."""
        del self._tools[name]
        del self._offers[name]

    def without(self, name: str) -> "ToolRegistry":
        """The same tools, as they are now, but this one."""
        others = ToolRegistry()
        for tool in self._tools.values():
            if tool.name != name:
                others.add(tool)
        return others

    def names(self) -> tuple[str, ...]:
        """What is offered."""
        return tuple(self._tools)

    def specs(self) -> tuple[Offer, ...]:
        """What a model is told."""
        return tuple(self._offers.values())

    async def execute(self, name: str, raw_arguments: str, run: ToolRun) -> ToolOutput:
        """Parse, validate, ask, run, check the size.

        Whatever goes wrong is an output with `is_error`, an `error_code` and a text that tells the model
        how to mend it. Only cancellation passes through.
        """
        try:
            tool = self._find(name)
            arguments = parse(tool.arguments, raw_arguments)
            permitted = await _permitted(
                tool, arguments, run, lambda: self.present_call(name, raw_arguments, run.workspace).title
            )
            return fitted(await _in_time(tool, arguments, permitted), run.spill)
        except Exception as error:  # noqa: BLE001 - a crashing tool must become a result the model reads
            return fitted(_as_result(name, error), run.spill)

    def parallel_safe(self, name: str, raw_arguments: str) -> bool:
        """Whether the call may run beside others; not when it is invalid."""
        return self._told(name, raw_arguments, lambda tool, parsed: tool.parallel_safe(parsed), False)

    def present_call(self, name: str, arguments: str, workspace: Path) -> Presentation:
        """How the call is shown before its result; an invalid one by its name alone."""
        plain = Presentation(name or "unnamed tool")
        shown = self._told(name, arguments, lambda tool, parsed: tool.present_call(parsed, workspace), plain)
        return msgspec.structs.replace(shown, title=in_one_line(shown.title))

    def present_result(
        self, name: str, arguments: str, output: ToolOutput, workspace: Path
    ) -> tuple[Card, ...]:
        """The cards of the finished call, in place of those of `present_call`; of an invalid one its text."""

        def ask(tool: Tool[Any], parsed: Arguments) -> tuple[Card, ...] | None:
            return tool.present_result(parsed, output, workspace)

        cards = self._told(name, arguments, ask, None)
        return text_cards(output) if cards is None else cards

    def _told(
        self, name: str, raw_arguments: str, ask: Callable[[Tool[Any], Arguments], T], otherwise: T
    ) -> T:
        """What a tool says of a call; `otherwise` when the call is invalid, or the tool crashes."""
        try:
            tool = self._find(name)
            return ask(tool, parse(tool.arguments, raw_arguments))
        except ToolFailure:
            return otherwise
        except Exception:
            logger.exception("tool %s cannot show a call", name)
            return otherwise

    def _find(self, name: str) -> Tool[Any]:
        if name not in self._tools:
            raise UnknownTool(f"There is no tool named {name!r}. Tools: {', '.join(self._tools) or 'none'}.")
        return self._tools[name]


async def _permitted(
    tool: Tool[Any], arguments: Arguments, run: ToolRun, title: Callable[[], str]
) -> ToolRun:
    """The run with the paths it may touch; `title` is what the person is shown. Raises `Denied`."""
    access = tool.access(arguments, run)
    decision = decide(run.mode(), access, run.workspace, run.grants)
    if decision == "ask":
        outcome = await run.ask(Question(title(), access.grant))
        if outcome not in ("allow-once", "allow-session"):
            raise Denied(_refusals[outcome])
        # The person may have chosen a stricter mode while the question was open.
        decision = decide(run.mode(), access, run.workspace, run.grants)
    if decision == "deny":
        raise Denied(f"Mode {run.mode()!r} does not allow this call. Go on without it, or say what you need.")
    return replace(run, paths=access.paths)


_refusals = {
    "reject": "The person refused this call. Do not try it another way: go on without it, or ask.",
    "cancelled": "The person cancelled the turn when asked about this call.",
    "not-offered": "The editor gave an answer that was not offered, so it may not run. Go on without it.",
    "unanswered": "Nobody answered the question about this call, so it may not run. Go on without it.",
}


async def _in_time(tool: Tool[Any], arguments: Arguments, run: ToolRun) -> ToolOutput:
    """Run it under its time limit. Raises `TimedOut` and what the tool raises."""
    if tool.timeout is None:
        return await tool.run(arguments, run)
    with anyio.move_on_after(tool.timeout):
        return await tool.run(arguments, run)
    raise TimedOut(f"{tool.name} took longer than {tool.timeout:g} s and was stopped.")


def _as_result(name: str, error: Exception) -> ToolOutput:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ToolFailure):
        return failed(error, error.code, str(error))
    logger.error("tool %s crashed", name, exc_info=error)
    return failed(error, "TOOL_FAILED", f"{name} failed: {type(error).__name__}: {error}")
