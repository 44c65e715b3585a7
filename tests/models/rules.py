"""The chunk contract of `wayline.models.base` as assertions."""

from collections.abc import Sequence

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    BlockType,
    Chunk,
    ContentBlock,
    Finish,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    UsageChunk,
)


def check(chunks: Sequence[Chunk], *, cut: bool = False) -> None:
    """Fail when the chunks of one answer break a rule; `cut` when its stream raised `Unavailable`."""
    _check_ends(chunks, cut)
    open_blocks: dict[int, tuple[BlockType, list[TextDelta | ReasoningDelta | ToolCallDelta]]] = {}
    opened = 0
    ids: list[str] = []
    for chunk in chunks:
        match chunk:
            case BlockStart(index=index, block_type=kind):
                assert index == opened, "indexes count 0, 1, 2 in the order of opening"
                opened += 1
                open_blocks[index] = (kind, [])
            case TextDelta() | ReasoningDelta() | ToolCallDelta():
                assert chunk.index in open_blocks, "deltas come between a block's start and its end"
                kind, deltas = open_blocks[chunk.index]
                _check_delta(chunk, kind, first=not deltas)
                deltas.append(chunk)
            case BlockEnd(index=index, block=block):
                kind, deltas = open_blocks.pop(index)
                assert block == _joined(kind, deltas), "a block is what its deltas add up to"
                if isinstance(block, ToolCall):
                    ids.append(block.id)
    assert cut or not open_blocks, "every block that opened ends"
    assert all(ids)
    assert len(set(ids)) == len(ids), "call ids are unique within the reply"


def _check_ends(chunks: Sequence[Chunk], cut: bool) -> None:
    finishes = [at for at, chunk in enumerate(chunks) if isinstance(chunk, Finish)]
    usages = [at for at, chunk in enumerate(chunks) if isinstance(chunk, UsageChunk)]
    assert finishes == ([] if cut else [len(chunks) - 1]), "finish once, and nothing after it"
    assert len(usages) <= 1, "usage at most once"
    assert cut or not usages or usages == [len(chunks) - 2], "usage, then finish"


def _check_delta(chunk: TextDelta | ReasoningDelta | ToolCallDelta, kind: str, *, first: bool) -> None:
    match chunk:
        case TextDelta(text=text):
            assert kind == "text"
            assert text, "no empty deltas"
        case ReasoningDelta(text=text):
            assert kind == "reasoning"
            assert text, "no empty deltas"
        case ToolCallDelta(arguments_delta=arguments):
            assert kind == "tool-call"
            assert arguments or first, "no empty deltas"


def _joined(kind: str, deltas: Sequence[TextDelta | ReasoningDelta | ToolCallDelta]) -> ContentBlock:
    assert deltas, "no empty blocks"
    texts = [delta.text for delta in deltas if not isinstance(delta, ToolCallDelta)]
    if kind == "text":
        return Text("".join(texts))
    if kind == "reasoning":
        return Reasoning("".join(texts))
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert len({delta.id for delta in calls}) == 1
    name = next(delta.name for delta in calls if delta.name)
    return ToolCall(calls[0].id, name, "".join(delta.arguments_delta for delta in calls))
