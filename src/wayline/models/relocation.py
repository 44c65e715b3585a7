"""What a model said in one workspace, as it would have said it in another: its paths are put right."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from wayline.log.content import (
    BlockEnd,
    Chunk,
    ContentBlock,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)

Rewrite = Callable[[str], str]


def relocated(chunks: Sequence[Chunk], before: str, after: str) -> Sequence[Chunk]:
    """The chunks with the workspace `after` wherever they name the workspace `before`.

    A path may be cut anywhere between two deltas, so that the deltas of a block which names it become one.
    """
    if before == after or not before.strip("/"):
        return chunks
    rewrite = _rewrite(before, after)
    said: defaultdict[int, list[str]] = defaultdict(list)
    for chunk in chunks:
        if isinstance(chunk, TextDelta | ReasoningDelta | ToolCallDelta):
            said[chunk.index].append(_delta(chunk))
    whole = {index: "".join(deltas) for index, deltas in said.items()}
    changed = {index: put for index, text in whole.items() if (put := rewrite(text)) != text}
    return list(_chunks(chunks, rewrite, changed))


def _rewrite(before: str, after: str) -> Rewrite:
    # In arguments, which are JSON, a path may be escaped, and follow an escaped line end.
    forms = {_escaped(before): _escaped(after), before: after}
    paths = "|".join(re.escape(path) for path in forms)
    # A name that goes on is another folder beside it.
    pattern = re.compile(rf"(?:(?<![\w.-])|(?<=\\[nrt]))(?:{paths})(?![\w-]|\.\w)")
    return lambda text: pattern.sub(lambda match: forms[match[0]], text)


def _escaped(path: str) -> str:
    return json.dumps(path)[1:-1]


def _chunks(chunks: Sequence[Chunk], rewrite: Rewrite, changed: dict[int, str]) -> Iterator[Chunk]:
    told: set[int] = set()
    for chunk in chunks:
        match chunk:
            case TextDelta() | ReasoningDelta() | ToolCallDelta() if chunk.index in changed:
                if chunk.index not in told:
                    told.add(chunk.index)
                    yield _with_delta(chunk, changed[chunk.index])
            case BlockEnd(block=block):
                yield msgspec.structs.replace(chunk, block=_block(block, rewrite))
            case _:
                yield chunk


def _delta(chunk: TextDelta | ReasoningDelta | ToolCallDelta) -> str:
    return chunk.arguments_delta if isinstance(chunk, ToolCallDelta) else chunk.text


def _with_delta(chunk: TextDelta | ReasoningDelta | ToolCallDelta, text: str) -> Chunk:
    if isinstance(chunk, ToolCallDelta):
        return msgspec.structs.replace(chunk, arguments_delta=text)
    return msgspec.structs.replace(chunk, text=text)


def _block(block: ContentBlock, rewrite: Rewrite) -> ContentBlock:
    match block:
        case Text() | Reasoning():
            return msgspec.structs.replace(block, text=rewrite(block.text))
        case ToolCall():
            return msgspec.structs.replace(block, arguments=rewrite(block.arguments))
        case _:
            return block
