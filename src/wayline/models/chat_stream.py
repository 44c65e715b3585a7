"""The answer of the chat-completions dialect: its events to chunks.

Servers of the dialect differ in how they send tool calls: without an id, with an empty name in later
fragments, with arguments as an object, with an index that restarts or is missing, or whole in one
event. All of that is taken here, for every server.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from wayline.log.content import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    FinishKind,
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
from wayline.models.base import ContextOverflow, RequestRefused, Unavailable

#: characters of a provider's words that are kept
WORDS = 1000


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_cache_hit_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None

    def as_usage(self) -> Usage:
        """`prompt_tokens` includes cache hits; ours does not."""
        cached = self.prompt_cache_hit_tokens
        if cached is None:
            cached = (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0
        reasoning = (self.completion_tokens_details and self.completion_tokens_details.reasoning_tokens) or 0
        return Usage(max(0, self.prompt_tokens - cached), self.completion_tokens, cached, reasoning)


class Answer(msgspec.Struct):
    """One event of a stream, or a whole answer."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_answers = msgspec.json.Decoder(Answer)


def decode(data: bytes) -> Answer:
    """An event's data. Raises `Unavailable` when it is not what the dialect says."""
    try:
        return _answers.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = str(error)
    # Lone surrogates, which msgspec refuses, become U+FFFD.
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return _answers.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    except (ValueError, msgspec.MsgspecError):
        raise Unavailable(f"the provider sent something that is not an answer: {reason}") from None


class _OpenCall:
    """`given_id` and `given_index` are the server's; `index` is the block's."""

    def __init__(self, index: int, call_id: str, given_id: str | None, given_index: int | None) -> None:
        self.index = index
        self.id = call_id
        self.given_id = given_id
        self.given_index = given_index
        self.name = ""
        self.arguments: list[str] = []

    def is_whole(self) -> bool:
        """Whether its arguments are a JSON object already, so that a new name begins a new call."""
        # Servers that repeat the name with each fragment must not make us parse all of them each time.
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except ValueError:
            return False


class ChunkMaker:
    """Makes the chunks of one answer."""

    def __init__(self) -> None:
        self._blocks = 0
        self._text_kind: type[Text] | type[Reasoning] | None = None
        self._text: list[str] = []
        self._text_index = 0
        self._calls: list[_OpenCall] = []
        self._usage: Usage | None = None
        self._refused = False
        self.finish_reason: str | None = None

    def take(self, answer: Answer) -> Iterator[Chunk]:
        """The chunks of one event. Raises `RequestRefused`, `Unavailable` for an error in it."""
        if answer.error is not None:
            raise in_band(answer.error)
        if answer.usage is not None:
            self._usage = answer.usage.as_usage()
        for choice in answer.choices[:1]:
            delta = choice.delta or choice.message
            if delta is not None:
                yield from self._take_delta(delta)
            self.finish_reason = choice.finish_reason or self.finish_reason

    def _take_delta(self, delta: _Delta) -> Iterator[Chunk]:
        if thought := delta.reasoning_content or delta.reasoning:
            yield from self._take_text(Reasoning, thought)
        if delta.content:
            yield from self._take_text(Text, delta.content)
        if delta.refusal:
            self._refused = True
            yield from self._take_text(Text, delta.refusal)
        for call in delta.tool_calls or ():
            yield from self._take_call(call)

    def _take_text(self, kind: type[Text] | type[Reasoning], text: str) -> Iterator[Chunk]:
        if self._text_kind is not kind:
            yield from self._end_text()
            self._text_kind = kind
            self._text_index = self._next_index()
            yield BlockStart(self._text_index, "text" if kind is Text else "reasoning")
        self._text.append(text)
        yield TextDelta(self._text_index, text) if kind is Text else ReasoningDelta(self._text_index, text)

    def _end_text(self) -> Iterator[Chunk]:
        if self._text_kind is not None:
            yield BlockEnd(self._text_index, self._text_kind("".join(self._text)))
            self._text_kind = None
            self._text = []

    def _next_index(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _take_call(self, fragment: _Call) -> Iterator[Chunk]:
        function = fragment.function or _Function()
        call = self._find(fragment, function.name or "")
        if call is None:
            yield from self._end_text()
            call = self._begin(fragment)
            yield BlockStart(call.index, "tool-call")
        call.name = call.name or function.name or ""
        arguments = "" if function.arguments is None else function.arguments
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        call.arguments.append(arguments)
        yield ToolCallDelta(call.index, call.id, arguments, call.name)

    def _find(self, fragment: _Call, name: str) -> _OpenCall | None:
        """The open call that a fragment goes on with; None when it begins a new one."""
        if fragment.id:
            known = next((call for call in self._calls if call.given_id == fragment.id), None)
            if known is not None and not (name and known.is_whole()):
                return known
            return None
        same = [call for call in self._calls if fragment.index is None or call.given_index == fragment.index]
        if not same or (name and same[-1].is_whole()):
            return None
        return same[-1]

    def _begin(self, fragment: _Call) -> _OpenCall:
        taken = {call.id for call in self._calls}
        own_id = fragment.id or ""
        if not own_id or own_id in taken:
            own_id = f"call_{len(self._calls)}"
        call = _OpenCall(self._next_index(), own_id, fragment.id, fragment.index)
        self._calls.append(call)
        return call

    def end(self) -> Iterator[Chunk]:
        """What closes a whole answer. Raises `Unavailable`, `RequestRefused` for how it ended."""
        kind = self._finish_kind()
        yield from self._end_text()
        for call in self._calls:
            if kind != "max-tokens" or call.is_whole():
                yield BlockEnd(call.index, ToolCall(call.id, call.name, "".join(call.arguments)))
        if not self._blocks:
            raise Unavailable("the provider sent an empty answer")
        if self._usage is not None:
            yield UsageChunk(self._usage)
        yield Finish(FinishReason(kind))

    def _finish_kind(self) -> FinishKind:
        match self.finish_reason:
            case "length":
                return "max-tokens"
            case "content_filter":
                raise RequestRefused("the provider's content filter stopped the answer")
            case "insufficient_system_resource":
                raise Unavailable("the provider ran out of resources during the answer")
            case _ if self._refused:
                return "refusal"
            case _:
                return "tool-calls" if self._calls else "stop"


def in_band(error: Any) -> Exception:
    """An error that came inside an answer with status 200."""
    said = words(error)
    return ContextOverflow(said) if is_overflow(said) else Unavailable(said)


def words(error: Any) -> str:
    """The provider's own words, out of whatever form it gives errors."""
    if isinstance(error, dict):
        inner = error.get("error", error.get("message", error.get("detail")))
        return words(inner) if inner is not None else json.dumps(error)[:WORDS]
    return str(error)[:WORDS]


def is_overflow(said: str) -> bool:
    """Whether an error's words say that the request was too long; there is no code for it that all use."""
    lowered = said.lower()
    return any(
        sign in lowered
        for sign in (
            "context length",
            "context_length",
            "maximum context",
            "context window",
            "too many tokens",
        )
    )
