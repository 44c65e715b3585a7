"""The answer of the chat-completions dialect: its events to chunks.

Servers of the dialect differ in how they send tool calls: without an id, with an empty name in later
fragments, with arguments as an object, with an index that restarts or is missing, or whole in one
event. All of that is taken here, for every server.
"""

import json
import re
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
from wayline.models.base import ModelError, RequestRefused, Unavailable
from wayline.models.chat_errors import in_band

#: what tells how deep a place in JSON is; escapes are taken whole, so that their quotes do not count
_MARK = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


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
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None

    def as_usage(self) -> Usage:
        """`prompt_tokens` includes cache hits; ours does not."""
        cached = self.prompt_cache_hit_tokens
        if cached is None:
            cached = (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0
        reasoning = (self.completion_tokens_details and self.completion_tokens_details.reasoning_tokens) or 0
        return Usage(
            max(0, (self.prompt_tokens or 0) - cached), self.completion_tokens or 0, cached, reasoning
        )


def _usage(counts: Any) -> Usage | None:
    """Usage as a server counts it; None when it counts in a way nobody knows, which is no reason to fail."""
    try:
        return msgspec.convert(counts, _Usage, strict=False).as_usage()
    except msgspec.ValidationError:
        return None


class Answer(msgspec.Struct):
    """One event of a stream, or a whole answer. `message` and `detail` are words of servers that send an
    error as the event itself."""

    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    code: Any = None
    message: Any = None
    detail: Any = None

    def failed(self) -> ModelError | None:
        """The error in it."""
        if self.error is not None:
            return in_band(self.error)
        said = self.message or self.detail
        return in_band({"code": self.code, "message": said}) if said and not self.choices else None


_answers = msgspec.json.Decoder(Answer)


def decode(data: bytes) -> Answer:
    """An event's data. Raises `Unavailable` when it is not what the dialect says."""
    try:
        return _answers.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
    # Lone surrogates, which msgspec refuses, become U+FFFD.
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return _answers.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    except (ValueError, RecursionError, msgspec.MsgspecError):
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
        self._unread: list[str] = []
        self._depth = 0
        self._begun = False
        self._in_string = False

    def add(self, arguments: str) -> None:
        """More of its arguments."""
        self.arguments.append(arguments)
        self._unread.append(arguments)

    def is_whole(self) -> bool:
        """Whether its arguments are a closed object already, so that a new name begins a new call.

        Reads what came since the last look and no more: some servers repeat the name with each fragment.
        """
        text = "".join(self._unread)
        end = 0
        for mark in _MARK.finditer(text):
            end = mark.end()
            if mark[0] == '"':
                self._in_string = not self._in_string
            elif mark[0] in ("{", "[") and not self._in_string:
                self._depth += 1
                self._begun = True
            elif mark[0] in ("}", "]") and not self._in_string:
                self._depth -= 1
        # The other half of an escape is on the way.
        self._unread = ["\\"] if text.endswith("\\") and end < len(text) else []
        return self._begun and self._depth <= 0 and not self._in_string


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
        """The chunks of one event. Raises `ModelError` for an error in it."""
        if (error := answer.failed()) is not None:
            raise error
        if answer.usage is not None:
            self._usage = _usage(answer.usage)
        for choice in (answer.choices or ())[:1]:
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
        arguments = "" if function.arguments is None else function.arguments
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        call = self._find(fragment, function.name or "", arguments)
        begins = call is None
        if call is None:
            yield from self._end_text()
            call = self._begin(fragment)
            yield BlockStart(call.index, "tool-call")
        named = bool(function.name) and not call.name
        call.name = call.name or function.name or ""
        call.add(arguments)
        if begins or named or arguments:
            yield ToolCallDelta(call.index, call.id, arguments, call.name)

    def _find(self, fragment: _Call, name: str, arguments: str) -> _OpenCall | None:
        """The open call that a fragment goes on with; None when it begins a new one."""
        by_id = next((call for call in reversed(self._calls) if call.given_id == fragment.id), None)
        if fragment.id and by_id is not None:
            return None if name and arguments and by_id.is_whole() else by_id
        at = fragment.index
        last = next((call for call in reversed(self._calls) if at is None or call.given_index == at), None)
        # Without a name it goes on, even with an id of its own: some servers make one up for each fragment.
        if last is None or not name or not last.name:
            return last
        return None if fragment.id or last.is_whole() else last

    def _begin(self, fragment: _Call) -> _OpenCall:
        taken = {call.id for call in self._calls}
        own_id = fragment.id or ""
        number = len(taken)
        while not own_id or own_id in taken:
            own_id = f"call_{number}"
            number += 1
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
        if not self._blocks and kind != "max-tokens":
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
