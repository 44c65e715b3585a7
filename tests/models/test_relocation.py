"""Paths of a recorded workspace in the one where the log is played."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from wayline.models.assembler import assemble
from wayline.models.relocation import relocated

BEFORE, AFTER = "/home/me/wörk", "/tmp/x"


def answer(text: str, thought: str, arguments: str, size: int) -> list[Chunk]:
    """Three blocks, interleaved, in deltas of so many characters."""

    def pieces(whole: str) -> list[str]:
        return [whole[start : start + size] for start in range(0, len(whole), size)]

    return [
        BlockStart(0, "text"),
        BlockStart(1, "reasoning"),
        *(TextDelta(0, piece) for piece in pieces(text)),
        *(ReasoningDelta(1, piece) for piece in pieces(thought)),
        BlockStart(2, "tool-call"),
        *(ToolCallDelta(2, "c", piece, "read") for piece in pieces(arguments)),
        BlockEnd(1, Reasoning(thought)),
        BlockEnd(0, Text(text)),
        BlockEnd(2, ToolCall("c", "read", arguments)),
        Finish(FinishReason("tool-calls")),
    ]


@given(st.integers(1, 40), st.booleans())
def test_paths_are_put_right_however_they_are_cut(size: int, ascii_only: bool):
    path = f"{BEFORE}/a.py"
    arguments = json.dumps({"path": path, "command": f"cd\n{path}"}, ensure_ascii=ascii_only)
    chunks = relocated(answer(f"See {path}.", f"{BEFORE}?", arguments, size), BEFORE, AFTER)
    text, thought, call = assemble(chunks)
    assert text == Text(f"See {AFTER}/a.py.")
    assert thought == Reasoning(f"{AFTER}?")
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"path": f"{AFTER}/a.py", "command": f"cd\n{AFTER}/a.py"}
    deltas = [chunk for chunk in chunks if isinstance(chunk, TextDelta)]
    assert "".join(delta.text for delta in deltas) == text.text
    assert chunks[-1] == Finish(FinishReason("tool-calls"))


@pytest.mark.parametrize("text", [f"{BEFORE}-2", f"{BEFORE}shop", f"{BEFORE}.bak", f"x{BEFORE}", "nothing"])
def test_other_paths_stay_as_they_are_in_their_deltas(text: str):
    chunks = answer(text, text, json.dumps(text), 3)
    assert relocated(chunks, BEFORE, AFTER) == chunks


@pytest.mark.parametrize(("before", "after"), [("", "/x"), ("/", "/x"), (BEFORE, BEFORE)])
def test_without_two_workspaces_nothing_changes(before: str, after: str):
    chunks = answer(BEFORE, "/", "{}", 5)
    assert relocated(chunks, before, after) is chunks
