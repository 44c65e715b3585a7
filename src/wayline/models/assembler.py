"""Chunks to the reply they add up to: a fold, O(1) a delta."""

import json
from collections.abc import Iterable

import msgspec

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    ContentBlock,
    Finish,
    FinishKind,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageChunk,
)


class Reply(msgspec.Struct, frozen=True):
    """Content in the order its blocks opened; `finish` is None when the stream was cut."""

    content: tuple[ContentBlock, ...]
    usage: Usage | None
    finish: FinishKind | None


class Assembler:
    """Takes the chunks of one stream."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}
        self._kinds: dict[int, type[Text] | type[Reasoning]] = {}
        self._blocks: dict[int, ContentBlock | None] = {}
        self._usage: Usage | None = None
        self._finish: FinishKind | None = None

    def feed(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        match chunk:
            case TextDelta(index=index, text=text):
                self._add(index, Text, text)
            case ReasoningDelta(index=index, text=text):
                self._add(index, Reasoning, text)
            case BlockStart(index=index) | ToolCallDelta(index=index):
                self._blocks.setdefault(index, None)
            case BlockEnd(index=index, block=block):
                self._blocks[index] = block
            case UsageChunk(usage=usage):
                self._usage = usage
            case Finish(reason=reason):
                self._finish = reason.kind

    def _add(self, index: int, kind: type[Text] | type[Reasoning], text: str) -> None:
        self._blocks.setdefault(index, None)
        self._kinds[index] = kind
        self._texts.setdefault(index, []).append(text)

    def reply(self) -> Reply:
        """What came so far; calls whose block did not end are left out."""
        blocks = [self._block(index) for index in self._blocks]
        kept = tuple(block for block in blocks if block is not None)
        if self._finish == "max-tokens":
            kept = tuple(block for block in kept if not _half_built(block))
        return Reply(kept, self._usage, self._finish)

    def _block(self, index: int) -> ContentBlock | None:
        whole = self._blocks[index]
        if whole is not None or index not in self._kinds:
            return whole
        return self._kinds[index]("".join(self._texts[index]))


def _half_built(block: ContentBlock) -> bool:
    if not isinstance(block, ToolCall):
        return False
    try:
        return not isinstance(json.loads(block.arguments), dict)
    except (ValueError, RecursionError):
        return True


def assemble(chunks: Iterable[Chunk]) -> tuple[ContentBlock, ...]:
    """The content of a stream that may have been cut."""
    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.reply().content
