"""What a stream adds up to, whole and cut."""

from hypothesis import given
from hypothesis import strategies as st

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    ContentBlock,
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
from wayline.models.assembler import Assembler, assemble

PIECES = st.lists(st.text(min_size=1), min_size=1, max_size=4)
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), PIECES),
        st.tuples(st.just("reasoning"), PIECES),
        st.tuples(st.just("call"), PIECES),
    ),
    max_size=5,
)


def stream(blocks: list[tuple[str, list[str]]]) -> tuple[list[Chunk], tuple[ContentBlock, ...]]:
    """The chunks of these blocks, and what they add up to."""
    chunks: list[Chunk] = []
    whole: list[ContentBlock] = []
    for index, (kind, pieces) in enumerate(blocks):
        joined = "".join(pieces)
        if kind == "call":
            chunks.append(BlockStart(index, "tool-call"))
            chunks += [ToolCallDelta(index, f"c{index}", piece, "tool") for piece in pieces]
            whole.append(ToolCall(f"c{index}", "tool", joined))
        elif kind == "text":
            chunks.append(BlockStart(index, "text"))
            chunks += [TextDelta(index, piece) for piece in pieces]
            whole.append(Text(joined))
        else:
            chunks.append(BlockStart(index, "reasoning"))
            chunks += [ReasoningDelta(index, piece) for piece in pieces]
            whole.append(Reasoning(joined))
        chunks.append(BlockEnd(index, whole[-1]))
    return chunks, tuple(whole)


@given(BLOCKS)
def test_a_whole_stream_is_its_block_ends(blocks: list[tuple[str, list[str]]]):
    chunks, whole = stream(blocks)
    assembler = Assembler()
    for chunk in [*chunks, UsageChunk(Usage(1, 2)), Finish(FinishReason("stop"))]:
        assembler.feed(chunk)
    reply = assembler.reply()
    assert (reply.content, reply.usage, reply.finish) == (whole, Usage(1, 2), "stop")


@given(BLOCKS, st.integers(0, 50))
def test_a_cut_stream_keeps_every_word_and_no_unfinished_call(blocks: list[tuple[str, list[str]]], cut: int):
    chunks, _ = stream(blocks)
    seen = chunks[:cut]
    content = assemble(seen)
    words = "".join(chunk.text for chunk in seen if isinstance(chunk, TextDelta | ReasoningDelta))
    assert "".join(block.text for block in content if isinstance(block, Text | Reasoning)) == words
    ended = [
        chunk.block for chunk in seen if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolCall)
    ]
    assert [block for block in content if isinstance(block, ToolCall)] == ended


def test_at_the_token_limit_a_call_that_is_no_object_is_left_out():
    assembler = Assembler()
    for chunk in (
        BlockEnd(0, ToolCall("a", "x", '{"a": 1}')),
        BlockEnd(1, ToolCall("b", "x", '{"a": ')),
        BlockEnd(2, ToolCall("c", "x", "[]")),
        Finish(FinishReason("max-tokens")),
    ):
        assembler.feed(chunk)
    assert assembler.reply().content == (ToolCall("a", "x", '{"a": 1}'),)
