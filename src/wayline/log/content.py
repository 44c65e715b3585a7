"""The words of a conversation: content blocks, stream chunks, token usage and messages.

They are the vocabulary that log events, models and tools share, so they live in the lowest room.
On disk their keys are camelCase and the kind of a block or chunk is its `type`.
"""

from typing import Literal

import msgspec

BlockType = Literal["text", "reasoning", "tool-call", "image"]
FinishKind = Literal["stop", "tool-calls", "max-tokens", "refusal"]


class Word(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type"):
    """Base of every tagged piece of content."""


class Text(Word, frozen=True, tag="text"):
    """Plain text, from a person, a model or a tool."""

    text: str


class Reasoning(Word, frozen=True, tag="reasoning"):
    """What a model thought before it answered; `signature` is the provider's, when it gives one."""

    text: str
    signature: str | None = None


class ToolCall(Word, frozen=True, tag="tool-call"):
    """A call the model asks for; `arguments` is the raw JSON string, valid or not."""

    id: str
    name: str
    arguments: str


class Image(Word, frozen=True, tag="image"):
    """An image: base64 `data` or a `url`."""

    data: str | None = None
    url: str | None = None
    mime_type: str | None = None


class ToolResult(Word, frozen=True, tag="tool-result"):
    """The result of one call, as a block of a message."""

    tool_call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False


ContentBlock = Text | Reasoning | ToolCall | ToolResult | Image


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """Tokens of one request. `input_tokens` is without the cached ones; `reasoning_tokens` is part of
    `output_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        """How much of the context window the request and its answer take together."""
        return self.input_tokens + self.cache_read_tokens + self.output_tokens


class BlockStart(Word, frozen=True, tag="block-start"):
    """A block opens at `index`; its deltas follow."""

    index: int
    block_type: BlockType


class TextDelta(Word, frozen=True, tag="text-delta"):
    """More text of block `index`."""

    index: int
    text: str


class ReasoningDelta(Word, frozen=True, tag="reasoning-delta"):
    """More reasoning of block `index`."""

    index: int
    text: str


class ToolCallDelta(Word, frozen=True, tag="tool-call-delta"):
    """More of the call at block `index`; `name` comes whole, `arguments_delta` in pieces."""

    index: int
    id: str
    arguments_delta: str
    name: str | None = None


class BlockEnd(Word, frozen=True, tag="block-end"):
    """Block `index` is whole; `block` is what its deltas add up to."""

    index: int
    block: ContentBlock


class UsageChunk(Word, frozen=True, tag="usage"):
    """Tokens of this request, once, before `finish`."""

    usage: Usage


class FinishReason(msgspec.Struct, frozen=True, rename="camel"):
    """Why the model stopped."""

    kind: FinishKind


class Finish(Word, frozen=True, tag="finish"):
    """The reply is whole; nothing comes after it."""

    reason: FinishReason


Chunk = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish


class Message(msgspec.Struct, frozen=True):
    """One message of the history that a model is sent.

    A `user` message holds text and images, an `assistant` message text, reasoning and calls, a `tool`
    message exactly one `ToolResult`.
    """

    role: Literal["user", "assistant", "tool"]
    content: tuple[ContentBlock, ...]
