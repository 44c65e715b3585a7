"""A model that plays a script: one JSON list a line, a line for each request of a session.

    ScriptError    a script that cannot be read; the message names file, line and reason
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    FinishReason,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from wayline.models.base import ModelError, ModelRequest, NoCredentials, Unavailable

DEMO = Path(__file__).with_name("demo.jsonl")


class ScriptError(Exception):
    """A script that cannot be read."""


def load_script(path: Path) -> list[list[dict[str, Any]]]:
    """The steps of a script file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


class ScriptedModel:
    """Plays its steps; a session's place in them is the number of requests it made before."""

    provider = "scripted"
    takes_images = True

    def __init__(self, steps: Sequence[Sequence[dict[str, Any]]], name: str = "scripted") -> None:
        self._steps = steps
        self.name = name
        self.context_window: int | None = 100_000

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        if request.ordinal >= len(self._steps):
            raise ModelError(f"request {request.ordinal + 1} of a script with {len(self._steps)} lines")
        index, calls, usage = 0, False, Usage()
        for item in self._steps[request.ordinal]:
            if "text" in item:
                for chunk in _text(index, item["text"]):
                    yield chunk
                index += 1
            elif "reasoning" in item:
                yield BlockStart(index, "reasoning")
                yield ReasoningDelta(index, item["reasoning"])
                yield BlockEnd(index, Reasoning(item["reasoning"]))
                index += 1
            elif "call" in item:
                calls = True
                call = item["call"]
                arguments = call["arguments"]
                raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
                yield BlockStart(index, "tool-call")
                yield ToolCallDelta(index, call["id"], raw, call["name"])
                yield BlockEnd(index, ToolCall(call["id"], call["name"], raw))
                index += 1
            elif "usage" in item:
                usage = Usage(item["usage"]["inputTokens"], item["usage"]["outputTokens"])
            elif "pause" in item:
                await anyio.sleep(item["pause"])
            elif "hang" in item:
                await anyio.sleep_forever()
            elif "error" in item:
                kinds = {"AUTH": NoCredentials, "UNAVAILABLE": Unavailable}
                raise kinds.get(item["error"]["code"], ModelError)(item["error"]["message"])
        yield UsageChunk(usage)
        yield Finish(FinishReason("tool-calls" if calls else "stop"))


def _text(index: int, text: str) -> Iterator[Chunk]:
    yield BlockStart(index, "text")
    for piece in re.findall(r"\S+\s*|\s+", text):
        yield TextDelta(index, piece)
    yield BlockEnd(index, Text(text))
