"""A request of the chat-completions dialect, as bytes.

Each message is encoded once: a request joins what was encoded before with what is new, so that its cost
does not grow with the length of the session.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from wayline.log.content import ContentBlock, Image, Message, Reasoning, Text, ToolCall, ToolResult
from wayline.models.base import ModelRequest
from wayline.models.catalog import ProviderConfig

#: sessions whose encoded messages are kept
_SESSIONS = 64
_encode = msgspec.json.Encoder().encode


class _Encoded:
    """The messages of one session that were encoded, and their bytes; b"" for one that is not sent."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.pieces: list[bytes] = []

    def keep(self, history: Sequence[Message]) -> int:
        """Forget all from the first message on that the history no longer has there; how many are left.

        Each is looked at, since a summary, or one result in the place of another, changes the middle.
        """
        kept = min(len(self.messages), len(history))
        for place, (ours, theirs) in enumerate(zip(self.messages, history, strict=False)):
            if ours is not theirs:
                kept = place
                break
        del self.messages[kept:]
        del self.pieces[kept:]
        return kept


class RequestEncoder:
    """Encodes the requests of one model."""

    def __init__(self, model: str, config: ProviderConfig) -> None:
        self._model = model
        self._config = config
        self._sessions: OrderedDict[str, _Encoded] = OrderedDict()

    def body(self, request: ModelRequest) -> bytes:
        """The body of a streamed request."""
        options: dict[str, Any] = {"model": self._model, "stream": True}
        if "no_stream_options" not in self._config.quirks:
            options["stream_options"] = {"include_usage": True}
        if request.tools:
            options["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        options.update(self._config.extra_body)
        system = _encode({"role": "system", "content": request.system})
        messages = b",".join([system, *(piece for piece in self._pieces(request) if piece)])
        return _encode(options)[:-1] + b',"messages":[' + messages + b"]}"

    def _pieces(self, request: ModelRequest) -> list[bytes]:
        encoded = self._sessions.setdefault(request.session_id, _Encoded())
        self._sessions.move_to_end(request.session_id)
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        for message in request.messages[encoded.keep(request.messages) :]:
            encoded.messages.append(message)
            encoded.pieces.append(self._piece(message))
        return encoded.pieces

    def _piece(self, message: Message) -> bytes:
        match message.role:
            case "user":
                return _encode({"role": "user", "content": self._user_content(message.content)})
            case "assistant":
                return self._assistant(message.content)
            case "tool":
                (result,) = message.content
                assert isinstance(result, ToolResult)
                return _encode(
                    {"role": "tool", "tool_call_id": result.tool_call_id, "content": _plain(result.content)}
                )

    def _user_content(self, content: Sequence[ContentBlock]) -> str | list[dict[str, Any]]:
        if not self._config.takes_images or not any(isinstance(block, Image) for block in content):
            return _plain(content)
        return [_part(block) for block in content if isinstance(block, Text | Image)]

    def _assistant(self, content: Sequence[ContentBlock]) -> bytes:
        """An assistant message; one with neither text nor calls would be refused and is left out."""
        calls = [block for block in content if isinstance(block, ToolCall)]
        text = "".join(block.text for block in content if isinstance(block, Text))
        if not calls and not text:
            return b""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name or "unknown", "arguments": _object(call.arguments)},
                }
                for call in calls
            ]
            if "wants_reasoning_back" in self._config.quirks:
                message["reasoning_content"] = "".join(
                    block.text for block in content if isinstance(block, Reasoning)
                )
        return _encode(message)


def _object(arguments: str) -> str:
    """Arguments as an object. Servers that read them to fill a template refuse a history with others, and
    with it every later request of the session."""
    if not arguments.strip():
        return "{}"
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    return arguments if is_object else json.dumps({"malformed": arguments}, ensure_ascii=False)


def _plain(content: Sequence[ContentBlock]) -> str:
    """Content as text; an image that cannot be sent is named."""
    return "\n".join(
        block.text if isinstance(block, Text) else "[an image that this model cannot be shown]"
        for block in content
        if isinstance(block, Text | Image)
    )


def _part(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    url = block.url or f"data:{block.mime_type};base64,{block.data}"
    return {"type": "image_url", "image_url": {"url": url}}
